/* compress_terngrad.c: TernGrad (Wen et al., NeurIPS 2017): every element as -s, 0 or s, s the largest magnitude of its
 * layer, at random without bias. That is the code `levels` of one level, with the largest magnitude of a layer as one
 * bucket. Layers may be clipped first, which is a bias. Workers may share the s of each layer, the largest of all. */
#include <float.h>
#include <math.h>

#include "method_private.h"

enum { CLIP, PARAMS, LANES = 16 };

/* The sum of x[i] - mean, or of its square: element i is added in lane i mod 16, and then lane after lane. */
static double sum_shifted(const float *x, size_t n, double mean, bool squares) {
    double lane[LANES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double y = (double)x[i] - mean;
        lane[i % LANES] += squares ? y * y : y;
    }
    for (size_t k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

/* to [n] <- x, at most `clip` standard deviations of the layer in magnitude. */
static void clip_layer(float *to, const float *x, size_t n, double clip) {
    const double mean = n > 0 ? sum_shifted(x, n, 0, false) / (double)n : 0;
    const double deviation = n > 0 ? sqrt(sum_shifted(x, n, mean, true) / (double)n) : 0;
    const float most = (float)fmin(clip * deviation, (double)FLT_MAX);
    for (size_t i = 0; i < n; i++)
        to[i] = fminf(fmaxf(x[i], -most), most);
}

/* Returns p, or p clipped in the worker's room, and counts the elements of each layer. */
static const float *clipped(struct sg_worker *w, const float *p) {
    const struct sg_layout *layout = &w->shared->layout;
    const double clip = w->shared->param[CLIP];
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t begin = layout->offset[l];
        w->count[l] = layout->offset[l + 1] - begin;
        if (clip > 0)
            clip_layer(w->value + begin, p + begin, w->count[l], clip);
    }
    return clip > 0 ? w->value : p;
}

static void encode(struct sg_worker *w, const float *scale, const float *p, struct sg_message *out) {
    static const double one_level[] = {1, 4294967295.0, 1};
    const float *value = clipped(w, p);
    out->n = out->count = w->shared->layout.offset[w->shared->layout.n_layers];
    w->status =
        method_write(w, &sg_code_levels,
                     (struct sg_numbers){.value = value, .count = out->count, .param = one_level, .scale = scale}, out);
}

static void encode_own(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    encode(w, NULL, p, out);
}

/* ---- one s for all workers: round 0 sends every worker's largest magnitude of each layer to a place of its own ---- */

static size_t length(const struct sg_shared *s, unsigned round) {
    const size_t layers = s->layout.n_layers;
    return round == 0 ? s->workers * layers : s->layout.offset[layers];
}

static size_t floats(const struct sg_layout *layout) {
    return layout->n_layers;
}

static void encode_largest(struct sg_worker *w, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const float *value = clipped(w, p);
    float *largest = w->data;
    const size_t layers = s->layout.n_layers;
    for (size_t l = 0; l < layers; l++) {
        largest[l] = s->kernels->max_abs(&s->exec, value + s->layout.offset[l], w->count[l]);
        w->index[l] = (uint32_t)(w->number * layers + l);
        w->count[l] = 1;
    }
    out->code = &sg_code_fp32;
    out->n = s->workers * layers;
    out->count = layers;
    out->index = w->index;
    out->data = largest;
    out->bytes = layers * sizeof *largest;
    out->bits = 32.0 * (double)layers;
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
    const size_t layers = s->layout.n_layers;
    for (size_t l = 0; round == 0 && l < layers; l++) {
        s->memory[l] = 0;
        for (size_t w = 0; w < s->workers; w++)
            s->memory[l] = fmaxf(s->memory[l], sum[w * layers + l]);
    }
}

/* The room may hold another worker's message by now, but the same draws make this worker's again. */
static void keep(struct sg_worker *w, float *e, const float *sum) {
    struct sg_message sent = {0};
    encode(w, w->shared->memory, e, &sent);
    sg_message_add(e, &sent, -1, &w->shared->exec);
    (void)sum;
}

static sg_status open_shared(struct sg_worker *w, struct sg_error *err) {
    const struct sg_shared *s = w->shared;
    const size_t d = s->layout.offset[s->layout.n_layers];
    return length(s, 0) <= d ? SG_OK
                             : sg_fail(err, SG_ERR_ARGUMENT,
                                       "terngrad-shared: the largest magnitudes of %zu layers by %zu workers are more "
                                       "numbers than the %zu parameters",
                                       s->layout.n_layers, s->workers, d);
}

static const struct sg_rounds rounds = {
    .count = 2, .length = length, .floats = floats, .combine = take_largest, .keep = keep};

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
    [CLIP] = {"clip", 0, 1e6, 0, false,
              "before, elements are clipped at so many standard deviations of their layer, which is a bias (the "
              "publication: 2.5); 0 = never"},
};

const struct sg_compressor_ops sg_compress_terngrad = {
    .name = "terngrad",
    .summary = "every element rounded at random to 0 or the largest magnitude of its layer, with its sign",
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
    .summary = "terngrad with the largest magnitude of all workers, which they exchange first",
    .source = "Wen et al., NeurIPS 2017",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM,
    .traits_of = traits_of_shared,
    .params = params,
    .n_params = PARAMS,
    .open = open_shared,
    .encode = encode_shared,
    .rounds = &rounds,
};
