/* compress_terngrad.c: TernGrad (Wen et al., NeurIPS 2017): every element as -s, 0 or s, s the largest magnitude of its
 * layer, at random without bias. That is the code `levels` of one level, with the largest magnitude of a layer as one
 * bucket. Layers may be clipped first, which is a bias. */
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

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    static const double one_level[] = {1, 4294967295.0, 1};
    const struct sg_layout *layout = &w->shared->layout;
    const double clip = w->shared->param[CLIP];
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t begin = layout->offset[l];
        w->count[l] = layout->offset[l + 1] - begin;
        if (clip > 0)
            clip_layer(w->value + begin, p + begin, w->count[l], clip);
    }
    out->n = out->count = layout->offset[layout->n_layers];
    method_write(w, &sg_code_levels,
                 (struct sg_numbers){.value = clip > 0 ? w->value : p, .count = out->count, .param = one_level}, out);
    (void)round;
}

/* E|x - C(x)|^2 = s |x|_1 - |x|^2 <= omega |x|^2 with omega = (sqrt(n) - 1) / 2, which (1, a, ..., a) with a = 1 / (1 +
 * sqrt(n)) attains, written as 1 - delta. */
static double bound(const double *param, size_t n) {
    return param[CLIP] > 0 ? (double)NAN : n > 0 ? 1 - (sqrt((double)n) - 1) / 2 : 1;
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
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .encode = encode,
    .bound = bound,
};
