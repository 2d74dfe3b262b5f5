/* compress_threshold.c: the hard-threshold sparsifier (section 4.2), one lambda for all layers: constant, or steered by
 * the controller of a budget (control_budget.c). */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <float.h>
#include <math.h>

enum { LAMBDA, BUDGET, PARAMS };

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    if (isnan(param[LAMBDA]) == isnan(param[BUDGET]))
        return sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda' or 'budget', one of them");
    if (param[BUDGET] == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "'budget' must be above 0");
    return SG_OK;
}

static const struct sg_controller_ops *controller(const double *param, double *out) {
    out[0] = param[BUDGET];
    return isnan(param[BUDGET]) ? NULL : &sg_control_budget;
}

/* Returns whether the pass may skip elements outside `touched`. There g is 0 and p = e, which is below the same
 * threshold since the last step. Exceptions: a threshold of 0 sends even zeros; rounding to halves may leave residuals
 * above the threshold; on a GPU many small passes cost more than one large pass. */
static bool may_skip_untouched(const struct sg_worker *w) {
    const bool kept = w->shared->feedback.rule == &sg_feedback_gradient && w->shared->feedback.decay == 1 &&
                      w->shared->code == &sg_code_fp32;
    return w->touched && !w->shared->exec.device && !w->shared->controlled && (float)w->shared->param[LAMBDA] > 0 &&
           (kept || !w->shared->feedback.rule->keeps);
}

static int select_touched(const struct sg_worker *w, struct sg_select *s, const float *tau) {
    size_t sent = 0, layer = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    for (size_t i = 0; i < w->touched->count; i++) {
        const struct sg_range *range = &w->touched->range[i];
        for (size_t at = range->begin, end; at < range->end; at = end) {
            while (s->offset[layer + 1] <= at)
                layer++;
            end = range->end < s->offset[layer + 1] ? range->end : s->offset[layer + 1];
            size_t found;
            const struct sg_select part = {.exec = s->exec,
                                           .n_layers = 1,
                                           .offset = (const size_t[]){0, end - at},
                                           .g = s->g + at,
                                           .e = s->e ? s->e + at : NULL,
                                           .scale = s->scale,
                                           .decay = s->decay,
                                           .index = s->index + sent,
                                           .value = s->value + sent,
                                           .count = &found};
            const int status = w->shared->kernels->select_threshold(&part, &tau[layer]);
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
static int select_threshold(struct sg_worker *w, struct sg_select *s) {
    float *tau = w->scratch;
    for (size_t l = 0; l < s->n_layers; l++)
        tau[l] = (float)(w->shared->knob[l] * w->unit);
    for (size_t l = 0; l < s->n_layers && w->counted; l++)
        tau[l] = fmaxf(tau[l], FLT_MIN);
    return may_skip_untouched(w) ? select_touched(w, s, tau) : w->shared->kernels->select_threshold(s, tau);
}

/* Every element that stays is below lambda. With a budget lambda is not known beforehand. */
static double bound(const double *param, size_t n) {
    return (double)n * param[LAMBDA] * param[LAMBDA];
}

static const struct sg_parameter params[PARAMS] = {
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false, "sends where |p / gamma| >= lambda"},
    [BUDGET] = {"budget", 0, 1e18, NAN, false, "steers lambda, as total of the controller budget"},
};

const struct sg_compressor_ops sg_compress_hard_threshold = {
    .name = "hard-threshold",
    .summary = "every element at least lambda in magnitude",
    .source = "section 4.2; Strom, Interspeech 2015; Dutta et al., AAAI 2020",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = method_first_knob,
    .open = sg_estimate_open,
    .select = select_threshold,
    .bound = bound,
    .controller = controller,
};
