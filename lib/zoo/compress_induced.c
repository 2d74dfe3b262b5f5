/* compress_induced.c: an unbiased compressor made of a biased one: the k largest magnitudes of a layer as they are, and
 * an unbiased random-k of the rest, scaled. What random-k could not represent well is then not left to chance. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>

#include "sg_rng.h"

enum { REST = SG_SHARE_PARAMS, PARAMS };

/* How many of the n numbers beside the k largest are drawn. */
static size_t drawn_of(double share, size_t k, size_t n) {
    const size_t drawn = (size_t)floor(share * (double)k);
    return k + (drawn < 1 ? 1 : drawn) < n ? (drawn < 1 ? 1 : drawn) : n - k;
}

static size_t encode_layer(const struct sg_worker *w, size_t l, const float *x, sg_rng *rng, uint32_t *subset,
                           uint32_t *index, float *value) {
    const struct sg_shared *s = w->shared;
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    const size_t k = sg_share_in(s, l, n);
    if (n == 0)
        return 0;
    const size_t drawn = drawn_of(s->param[REST], k, n);
    const float factor = drawn > 0 ? (float)((double)(n - k) / (double)drawn) : 1;
    struct sg_largest of = sg_largest_of(x, n, k);
    size_t sent = 0;
    sg_rng_subset(rng, subset, drawn, n - k);
    for (size_t i = 0, rest = 0, next = 0; i < n; i++) {
        const bool is_largest = sg_is_largest(&of, x[i]);
        const bool is_drawn = !is_largest && next < drawn && subset[next] == rest;
        rest += !is_largest;
        next += is_drawn;
        if (is_largest || is_drawn) {
            index[sent] = (uint32_t)(begin + i);
            value[sent++] = is_largest ? x[i] : fmaxf(-FLT_MAX, fminf(FLT_MAX, factor * x[i]));
        }
    }
    return sent;
}

static void encode_induced(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    size_t sent = 0;
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, w->number, s->step);
    (void)round;
    for (size_t l = 0; l < s->layout.n_layers; l++) { /* w->data has room for a random subset */
        w->count[l] = encode_layer(w, l, p + s->layout.offset[l], &rng, w->data, w->index + sent, w->value + sent);
        sent += w->count[l];
    }
    method_send_floats(w, method_elements(s), sent, w->index, w->value, 64.0 * (double)sent, out);
}

/* (1 - k / n) omega of the rest, omega = (n - k) / drawn - 1, written as 1 - delta. */
static double bound(const double *param, size_t n) {
    const size_t k = n > 0 ? (size_t)rint(sg_share_delta(param, n) * (double)n) : 0,
                 drawn = drawn_of(param[REST], k, n);
    return n > k ? 1 - (1 - (double)k / (double)n) * ((double)(n - k) / (double)drawn - 1) : 1;
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [REST] = {"rest", 0.001, 1e6, 1, false, "random elements for each of the largest"},
};

const struct sg_compressor_ops sg_compress_induced = {
    .name = "induced",
    .summary = "the k largest magnitudes of every layer and an unbiased random subset of the rest",
    .source = "Horvath and Richtarik, ICLR 2021",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .encode = encode_induced,
    .bound = bound,
};
