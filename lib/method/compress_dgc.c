/* compress_dgc.c: the selection of deep gradient compression: a threshold from a sample of the layer, repaired until
 * about as many numbers reach it as wanted.
 *
 * The sample is every stride-th number from a random one on, at least one in a hundred and 2 / density of them. Its
 * threshold is the least of its largest ceil(density m) magnitudes. If more than 1.3 k numbers reach that, the k
 * largest are sent; if more than k, the k that come first; if fewer than 0.8 k, the threshold falls by a fifth, at most
 * ten times. Momentum and its masking are a feedback rule (feedback_momentum.c). */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

enum { SAMPLE = SG_SHARE_PARAMS, PARAMS };
enum { REPAIRS = 10 };

static bool is_density(const struct sg_worker *w) {
    return sg_share_knob(w->shared->param) == SG_SHARE_DENSITY;
}

/* How many of n numbers are wanted: k, or ceil(density n), as the authors' code rounds. */
static size_t wanted(const struct sg_worker *w, size_t layer, size_t n) {
    const double knob = w->shared->knob[layer];
    return sg_share_of(is_density(w) ? ceil(knob * (double)n) : knob, false, n);
}

/* The distance between the numbers of the sample; 1 = it is the whole layer. */
static size_t stride_of(size_t n, double share, double sample) {
    const double least = fmax(ceil(sample * (double)n), ceil(2 / share));
    if ((double)n <= ceil(2 / share) || sample >= 1)
        return 1;
    size_t stride = (size_t)ceil((double)n / least / 32) * 32 + 1;
    while ((double)(n / stride) < least)
        stride -= 8;
    return stride;
}

/* Writes the positions of layer x, `begin` and on, to `to`; returns how many, at most k. */
static size_t choose(const float *x, size_t n, size_t k, float t, size_t begin, uint32_t *to) {
    const bool exact = (double)sg_count_at_least(x, n, t) > 1.3 * (double)k;
    struct sg_largest of = exact ? sg_largest_of(x, n, k) : (struct sg_largest){0, 0};
    size_t found = 0;
    for (size_t i = 0; i < n && found < k; i++)
        if (exact ? sg_is_largest(&of, x[i]) : !(fabsf(x[i]) < t))
            to[found++] = (uint32_t)(begin + i);
    return found;
}

static size_t choose_layer(const struct sg_worker *w, size_t layer, const float *x, size_t n, size_t begin, sg_rng *rng,
                           uint32_t *to) {
    const size_t k = wanted(w, layer, n);
    const double share = is_density(w) ? w->shared->knob[layer] : (double)k / (double)n;
    const size_t stride = stride_of(n, share, w->shared->param[SAMPLE]);
    const size_t start = (size_t)sg_rng_below(rng, stride), top = (size_t)ceil((double)(n / stride) * share);
    float t = sg_kth_magnitude(x + start, n - start, stride, top);
    for (size_t i = 0; i < REPAIRS && stride > 1; i++) {
        if ((double)sg_count_at_least(x, n, t) >= 0.8 * (double)k)
            break;
        t *= 0.8F;
    }
    return choose(x, n, k, t, begin, to);
}

static int select_dgc(struct sg_worker *w, struct sg_select *s) {
    return sg_positions_select(w, s, choose_layer);
}

static const struct sg_parameter params[PARAMS] = {
    [SG_SHARE_K] = SG_SHARE_K_PARAMETER,
    [SG_SHARE_DENSITY] = {"density", 0, 1, NAN, false, "fraction c of a layer's n elements: about ceil(c n)"},
    [SAMPLE] = {"sample", 0.0001, 1, 0.01, false, "fraction of a layer's elements that gives the threshold"},
};

const struct sg_compressor_ops sg_compress_dgc = {
    .name = "dgc",
    .summary = "at most k of every layer, above a sampled threshold",
    .source = "Lin et al., ICLR 2018, as in the authors' code",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_positions_open,
    .select = select_dgc,
};
