/* compress_threshold.c: the hard-threshold sparsifier (eq. 5), one lambda for all layers. */
#include "compressor_private.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LAMBDA, PARAMS };

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    if (isnan(param[LAMBDA]))
        return sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda'");
    return SG_OK;
}

static sg_status open_threshold(sg_compressor *c, struct sg_error *err) {
    c->state = malloc((c->layout.n_layers + 1) * sizeof(float)); /* tau; + 1: never of size 0 */
    return c->state ? SG_OK : sg_fail_memory(err, "hard-threshold");
}

/* Elsewhere g is 0 and p = e, which the last step left below the same threshold. A threshold of 0 sends even zeros, and
 * rounding to halves may leave more than the threshold. On a GPU many small passes cost more than one large. */
static bool may_skip_untouched(const sg_compressor *c) {
    const bool kept = c->feedback.form == SG_FEEDBACK_GRADIENT && c->feedback.decay == 1 && c->precision == SG_FP32;
    return c->touched != NULL && c->exec.device == NULL && (float)c->param[LAMBDA] > 0 &&
           (kept || c->feedback.form == SG_FEEDBACK_NONE);
}

static int compress_touched(const sg_compressor *c, struct sg_select *s, const float *tau) {
    size_t sent = 0, layer = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    for (size_t i = 0; i < c->touched->count; i++) {
        const struct sg_range *range = &c->touched->range[i];
        for (size_t at = range->begin, end; at < range->end; at = end) {
            while (s->offset[layer + 1] <= at)
                layer++;
            end = range->end < s->offset[layer + 1] ? range->end : s->offset[layer + 1];
            size_t found;
            const struct sg_select part = {.exec = s->exec,
                                           .n_layers = 1,
                                           .offset = (const size_t[]){0, end - at},
                                           .g = s->g + at,
                                           .e = s->e != NULL ? s->e + at : NULL,
                                           .scale = s->scale,
                                           .decay = s->decay,
                                           .index = s->index + sent,
                                           .value = s->value + sent,
                                           .count = &found};
            const int status = c->kernels->select_threshold(&part, &tau[layer]);
            if (status != SG_KERNEL_OK) {
                s->count[0] = layer;
                return status;
            }
            for (size_t j = sent; j < sent + found; j++)
                s->index[j] += (uint32_t)at;
            s->count[layer] += found;
            sent += found;
        }
    }
    return SG_KERNEL_OK;
}

/* Algorithm 1 thresholds p / gamma in the update form, that is p at lambda gamma: rounded once, to the kernel's float.
 */
static int compress(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step) {
    (void)step;
    const double lambda = c->param[LAMBDA];
    float *tau = c->state;
    for (size_t l = 0; l < s->n_layers; l++)
        tau[l] = (float)(c->feedback.form == SG_FEEDBACK_UPDATE ? lambda * gamma : lambda);
    return may_skip_untouched(c) ? compress_touched(c, s, tau) : c->kernels->select_threshold(s, tau);
}

/* Every element left behind is below lambda. */
static double bound(const double *param, size_t n) {
    return (double)n * param[LAMBDA] * param[LAMBDA];
}

static const struct sg_parameter params[PARAMS] = {
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false,
                "threshold on the gradient's scale: sends where |p / gamma| >= lambda"},
};

const struct sg_compressor_ops sg_compress_hard_threshold = {
    .name = "hard-threshold",
    .summary = "every element at least lambda in magnitude",
    .source = "section 4, eq. 5; Strom, Interspeech 2015; Dutta et al., AAAI 2020",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .open = open_threshold,
    .compress = compress,
    .bound = bound,
};
