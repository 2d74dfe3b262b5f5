/* compress_mstopk.c: MSTopk: exactly k elements of a layer that are nearly its k largest, without a sort.
 *
 * A bisection of `rounds` steps between the mean and the largest magnitude finds two thresholds: the lowest tested one
 * that at most k numbers reach, and the highest tested one that more than k reach. All numbers that reach the first are
 * sent. To complete k, consecutive ones of those between the two are added, starting at a random one. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

enum { ROUNDS = SG_SHARE_PARAMS, PARAMS };

struct pair {
    float high, low; /* thresholds: at most k numbers reach the first, more than k the second */
    size_t above;    /* how many reach the first */
};

static struct pair bisect(const struct sg_worker *w, const float *x, size_t n, size_t k) {
    const struct sg_shared *shared = w->shared;
    const double mean = sg_mean(x, n, true, 0);
    struct pair found = {INFINITY, 0, 0};
    size_t below = n;
    double low = 0, high = 1;
    if (!isfinite(mean))
        return found;
    const double most = (double)shared->kernels->max_abs(&shared->exec, x, n);
    for (double i = 0; i < shared->param[ROUNDS]; i++) {
        const double rho = low + (high - low) / 2;
        const float t = sg_threshold_at(mean + rho * (most - mean));
        const size_t count = sg_count_at_least(x, n, t);
        *(count <= k ? &high : &low) = rho;
        if (count <= k && count > found.above) {
            found.high = t;
            found.above = count;
        } else if (count > k && count < below) {
            found.low = t;
            below = count;
        }
    }
    return found;
}

static size_t choose(const struct sg_worker *w, size_t layer, const float *x, size_t n, size_t begin, sg_rng *rng,
                     uint32_t *to) {
    const size_t k = sg_share_in(w->shared, layer, n);
    const struct pair t = bisect(w, x, n, k);
    const size_t between = sg_count_at_least(x, n, t.low) - t.above, missing = k - t.above;
    const size_t first = missing > 0 && between > missing ? (size_t)sg_rng_below(rng, between - missing + 1) : 0;
    for (size_t i = 0, found = 0, passed = 0; i < n && found < k; i++) {
        const float a = fabsf(x[i]);
        const bool is_above = a >= t.high, is_between = !is_above && !(a < t.low);
        if (is_above || (is_between && passed >= first && passed < first + missing))
            to[found++] = (uint32_t)(begin + i);
        passed += is_between;
    }
    return k;
}

static int select_mstopk(struct sg_worker *w, struct sg_select *s) {
    return sg_positions_select(w, s, choose);
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [ROUNDS] = {"rounds", 1, 1000, 30, true, "steps of bisection"},
};

const struct sg_compressor_ops sg_compress_mstopk = {
    .name = "mstopk",
    .summary = "k of every layer, nearly the largest, by bisection of the threshold",
    .source = "Shi et al., MLSys 2021",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_positions_open,
    .select = select_mstopk,
};
