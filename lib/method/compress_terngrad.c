/* compress_terngrad.c: TernGrad (Wen et al., NeurIPS 2017): every element as -s, 0 or s, s the largest magnitude of its
 * layer, at random without bias. That is the code `levels` of one level, with the largest magnitude of a layer as one
 * bucket. Layers may be clipped first, which is a bias. Workers may share the s of each layer, the largest of all. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "sg_compressor_parts.h"

enum { CLIP, PARAMS };

/* to [n] <- x, at most `clip` standard deviations of the layer in magnitude. */
static void clip_layer(float *to, const float *x, size_t n, double clip) {
    const double mean = sg_mean(x, n, false, 0);
    const double deviation = n > 0 ? sqrt(sg_squares_around(x, n, false, mean) / (double)n) : 0;
    const float most = (float)fmin(clip * deviation, (double)FLT_MAX);
    for (size_t i = 0; i < n; i++)
        to[i] = fminf(fmaxf(x[i], -most), most);
}

/* Returns p, or p clipped in the worker's room, and counts the elements of each layer. */
static const float *clipped(struct sg_worker *w, const float *p) {
    const size_t *offset = w->shared->layout.offset;
    const double clip = w->shared->param[CLIP];
    method_count_all(w);
    for (size_t l = 0; clip > 0 && l < w->shared->layout.n_layers; l++)
        clip_layer(w->value + offset[l], p + offset[l], w->count[l], clip);
    return clip > 0 ? w->value : p;
}

static void encode(struct sg_worker *w, const float *scale, const float *p, struct sg_message *out) {
    static const double one_level[] = {1, 4294967295.0, 1};
    const float *value = clipped(w, p);
    out->n = out->count = method_elements(w->shared);
    w->status =
        method_write(w, &sg_code_levels,
                     (struct sg_numbers){.value = value, .count = out->count, .param = one_level, .scale = scale}, out);
}

static void encode_own(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    encode(w, NULL, p, out);
}

/* ---- one s for all workers: round 0 sends every worker's largest magnitude of each layer to a place of its own --- */

static size_t length(const struct sg_shared *s, unsigned round) {
    const size_t layers = s->layout.n_layers;
    return round == 0 ? s->workers * layers : s->layout.offset[layers];
}

static void encode_largest(struct sg_worker *w, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const float *value = clipped(w, p);
    const size_t layers = s->layout.n_layers;
    float *largest = w->data; /* w->value may have the clipped elements */
    for (size_t l = 0; l < layers; l++)
        largest[l] = s->kernels->max_abs(&s->exec, value + s->layout.offset[l], w->count[l]);
    memcpy(w->value, largest, layers * sizeof *largest);
    sg_integers_agree(w, layers, 0, out);
    for (size_t l = 0; l < layers; l++)
        w->count[l] = 1;
}

static void encode_shared(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    if (round == 0) {
        encode_largest(w, p, out);
        return;
    }
    encode(w, w->shared->memory, p, out);
    out->bits = 2.0 * (double)out->count; /* every worker knows s */
}

static void take_largest(const struct sg_shared *s, unsigned round, float *sum) {
    for (size_t l = 0; round == 0 && l < s->layout.n_layers; l++)
        s->memory[l] = sg_integers_agreed(s, sum, s->layout.n_layers, l);
}

/* The buffers may hold another worker's message, so this worker's message is computed again from the same draws. */
static void keep(struct sg_worker *w, float *e, const float *sum) {
    struct sg_message sent = {0};
    encode(w, w->shared->memory, e, &sent);
    sg_message_add(e, &sent, -1, &w->shared->exec);
    (void)sum;
}

static sg_status open_shared(struct sg_worker *w, struct sg_error *err) {
    return sg_integers_open(w, w->shared->layout.n_layers, true, "terngrad-shared", err);
}

static const struct sg_rounds rounds = {.count = 2,
                                        .length = length,
                                        .integers = true,
                                        .floats = method_float_a_layer,
                                        .combine = take_largest,
                                        .keep = keep};

/* ---- the rows ---- */

/* E|x - C(x)|^2 = s |x|_1 - |x|^2 <= omega |x|^2 with omega = (sqrt(n) - 1) / 2, which (1, a, ..., a) with a = 1 / (1 +
 * sqrt(n)) attains, written as 1 - delta. */
static double bound(const double *param, size_t n) {
    return param[CLIP] > 0 ? (double)NAN : n > 0 ? 1 - (sqrt((double)n) - 1) / 2 : 1;
}

/* Clipping is a bias, and is done on the host. */
static unsigned traits_of(const double *param) {
    return SG_TRAIT_DENSE | SG_TRAIT_RANDOM |
           (param[CLIP] > 0 ? 0 : SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_GPU);
}

static unsigned traits_of_shared(const double *param) {
    return traits_of(param) & ~(unsigned)(SG_TRAIT_RELATIVE | SG_TRAIT_GPU);
}

static const struct sg_parameter params[PARAMS] = {
    [CLIP] =
        {"clip", 0, 1e6, 0, false,
         "clips elements first, with bias, at so many standard deviations of their layer (published: 2.5); 0: never"},
};

const struct sg_compressor_ops sg_compress_terngrad = {
    .name = "terngrad",
    .summary = "every element rounded at random to 0 or its layer's largest magnitude with its sign",
    .source = "Wen et al., NeurIPS 2017",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM | SG_TRAIT_GPU,
    .traits_of = traits_of,
    .params = params,
    .n_params = PARAMS,
    .encode = encode_own,
    .bound = bound,
};

/* With the largest s of all workers one worker may lose more than with its own, so there is no bound. */
const struct sg_compressor_ops sg_compress_terngrad_shared = {
    .name = "terngrad-shared",
    .summary = "terngrad with the largest magnitude over all workers, exchanged first",
    .source = "Wen et al., NeurIPS 2017",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM,
    .traits_of = traits_of_shared,
    .params = params,
    .n_params = PARAMS,
    .open = open_shared,
    .encode = encode_shared,
    .rounds = &rounds,
};
