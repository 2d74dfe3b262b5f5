/* compress_switch.c: Top-k up to a step and hard-threshold from it on, or the other way round, with one residual.
 *
 * An experiment, and no method of a publication: it tells what a compressor does to the early steps of a run from what
 * it does to the late ones. Both compressors are those of compress_topk.c and compress_threshold.c, and the residual is
 * handed on as it is. The number of the step alone decides, so there is nothing to keep from step to step. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>

enum { LAMBDA = SG_SHARE_PARAMS, AT, PARAMS };

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    return isnan(param[LAMBDA]) || isnan(param[AT])
               ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda', and 'at', the step of the switch")
               : sg_share_check(param, d, err);
}

/* Top-k's hints about the next k-th magnitude may be any numbers: here their room holds the thresholds. */
static int select_threshold(struct sg_worker *w, struct sg_select *s) {
    struct sg_topk *t = w->scratch;
    for (size_t l = 0; l < s->n_layers; l++)
        t->guess[l] = (float)(w->shared->param[LAMBDA] * w->unit);
    return w->shared->kernels->select_threshold(s, t->guess);
}

static int select_in_turn(struct sg_worker *w, struct sg_select *s, bool threshold_first) {
    const bool early = (double)method_step_number(w->shared) < w->shared->param[AT];
    return early == threshold_first ? select_threshold(w, s) : sg_topk_select(w, s);
}

static int select_topk_first(struct sg_worker *w, struct sg_select *s) {
    return select_in_turn(w, s, false);
}

static int select_threshold_first(struct sg_worker *w, struct sg_select *s) {
    return select_in_turn(w, s, true);
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false, "sends where |p / gamma| >= lambda"},
    [AT] = {"at", 1, 1e15, NAN, true, "first step of the second compressor, from 0"},
};

/* No class holds for a whole run: Top-k is relative, hard-threshold is absolute. */
const struct sg_compressor_ops sg_compress_topk_then_threshold = {
    .name = "topk-then-threshold",
    .summary = "Top-k before a step, hard-threshold from it on",
    .source = "the project's own, to tell early steps from late ones",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .select = select_topk_first,
};

const struct sg_compressor_ops sg_compress_threshold_then_topk = {
    .name = "threshold-then-topk",
    .summary = "hard-threshold before a step, Top-k from it on",
    .source = "the project's own, to tell early steps from late ones",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .select = select_threshold_first,
};
