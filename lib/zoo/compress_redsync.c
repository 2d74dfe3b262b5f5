/* compress_redsync.c: RedSync's threshold: the mean magnitude of a layer plus a part rho of the way to the largest one.
 *
 * The search halves the interval in which rho lies until between k and 2 k numbers are above the threshold, or until
 * the interval is no longer than `epsilon`; what was tested last is sent. `trim` begins near the largest magnitude and
 * takes steps of epsilon down until at least k numbers are above. The publication then sends the k largest of these,
 * which is exact Top-k; its authors' code and this compressor send them all. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

enum { EPSILON = SG_SHARE_PARAMS, TRIM, PARAMS };

static float search(const float *x, size_t n, size_t k, double mean, double most, double epsilon) {
    double low = 0, high = 1;
    float t = INFINITY;
    while (high - low > epsilon) {
        const double rho = low + (high - low) / 2;
        t = sg_threshold_above(mean + rho * (most - mean));
        const size_t count = sg_count_at_least(x, n, t);
        if (count > k && count < 2 * k)
            break;
        if (2 * count < k)
            high = rho;
        else
            low = rho;
    }
    return t;
}

/* Ends at the mean, if not before. */
static float trim(const float *x, size_t n, size_t k, double mean, double most, double epsilon) {
    float t = INFINITY;
    for (double step = 1, rho; (rho = 1 - step * epsilon) >= 0; step++) {
        t = sg_threshold_above(mean + rho * (most - mean));
        if (sg_count_at_least(x, n, t) >= k)
            break;
    }
    return t;
}

static float estimate(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k) {
    const struct sg_shared *shared = w->shared;
    const double mean = sg_mean(x, n, true, 0);
    (void)layer;
    if (!isfinite(mean))
        return INFINITY;
    const double most = (double)shared->kernels->max_abs(&shared->exec, x, n);
    return (shared->param[TRIM] > 0 ? trim : search)(x, n, k, mean, most, shared->param[EPSILON]);
}

static int select_redsync(struct sg_worker *w, struct sg_select *s) {
    return sg_estimate_select(w, s, estimate);
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [EPSILON] = {"epsilon", 0.001, 0.999, 0.2, false, "precision of the search; the step of trim"},
    [TRIM] = {"trim", 0, 1, 0, true, "1: lowers the threshold until k numbers are above it"},
};

const struct sg_compressor_ops sg_compress_redsync = {
    .name = "redsync",
    .summary = "about k of every layer, above a threshold searched between mean and largest magnitude",
    .source = "Fang et al., JPDC 2019",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_estimate_open,
    .select = select_redsync,
};
