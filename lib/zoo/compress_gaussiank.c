/* compress_gaussiank.c: Gaussian-k: the threshold that a normal distribution with the layer's mean and deviation
 * exceeds with probability k / n. It is corrected at most three times by counting the elements that exceed it. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

enum { MAGNITUDES = SG_SHARE_PARAMS, PARAMS };
enum { TESTS = 3 };

/* z with P(|N(0, 1)| > z) = share; 0 < share <= 1. */
static double two_sided_quantile(double share) {
    double low = 0, high = 40; /* beyond which no double has a probability */
    for (int i = 0; i < 100; i++) {
        const double middle = low + (high - low) / 2;
        *(erfc(middle / sqrt(2)) > share ? &low : &high) = middle;
    }
    return high;
}

float sg_gaussian_threshold(const float *x, size_t n, size_t k, double mean, double deviation) {
    double threshold = mean + two_sided_quantile((double)k / (double)n) * deviation;
    float t = INFINITY;
    for (int i = 0; i < TESTS; i++) {
        t = sg_threshold_above(threshold);
        const size_t count = sg_count_at_least(x, n, t);
        if (3 * count < 2 * k)
            threshold *= 0.5;
        else if (3 * count > 4 * k)
            threshold *= 1.5;
        else
            break;
    }
    return t;
}

/* The mean of the numbers counts by its size, so that -p is given the threshold of p. */
static float estimate(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k) {
    const bool magnitudes = w->shared->param[MAGNITUDES] > 0;
    const double mean = sg_mean(x, n, magnitudes, 0);
    (void)layer;
    return sg_gaussian_threshold(x, n, k, fabs(mean), sqrt(sg_variance(x, n, magnitudes, mean)));
}

static int select_gaussiank(struct sg_worker *w, struct sg_select *s) {
    return sg_estimate_select(w, s, estimate);
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [MAGNITUDES] = {"magnitudes", 0, 1, 0, true, "1: fits the distribution to |p|, as SIDCo's authors' code, not to p"},
};

const struct sg_compressor_ops sg_compress_gaussiank = {
    .name = "gaussian-k",
    .summary = "about k of every layer, beyond a normal distribution's quantile",
    .source = "Shi et al., arXiv 1911.08772",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_estimate_open,
    .select = select_gaussiank,
};
