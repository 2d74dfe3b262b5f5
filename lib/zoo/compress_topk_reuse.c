/* compress_topk_reuse.c: Top-k with a threshold that is computed only every `refresh` steps. At such a step a layer
 * sends its k largest magnitudes; at the other steps all magnitudes that reach the smallest of these. A worker that
 * sends nothing at such a step computes it for its next message.
 *
 * Dynamic communication thresholding (DCT) keeps it for 1000 iterations, Ok-Topk's local selection for 32. In the
 * update form of error feedback the threshold follows the learning rate, as lambda gamma does. It is a selector and not
 * a controller of hard-threshold's lambda, because a controller sees no vector and so no k-th magnitude. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>

enum { REFRESH = SG_SHARE_PARAMS, PARAMS };

/* A worker keeps the scale of p at its last refresh, 0 before the first, that step's number divided by `refresh` and
 * rounded down, and then the thresholds of that step. */
enum { SCALE, PERIOD, THRESHOLDS };

static size_t worker_doubles(const struct sg_layout *layout) {
    return THRESHOLDS + layout->n_layers;
}

static double period(const struct sg_worker *w) {
    return (double)(method_step_number(w->shared) / (uint64_t)w->shared->param[REFRESH]);
}

static int refresh(struct sg_worker *w, struct sg_select *s) {
    struct sg_topk *t = w->scratch;
    const int status = sg_topk_select(w, s);
    w->state[SCALE] = w->unit;
    w->state[PERIOD] = period(w);
    for (size_t l = 0; l < s->n_layers && status == SG_KERNEL_OK; l++)
        w->state[THRESHOLDS + l] = (double)fmaxf(t->guess[l], FLT_TRUE_MIN); /* zeros are not worth sending */
    return status;
}

static int select_reuse(struct sg_worker *w, struct sg_select *s) {
    struct sg_topk *t = w->scratch;
    if (w->state[SCALE] == 0 || w->state[PERIOD] != period(w))
        return refresh(w, s);
    for (size_t l = 0; l < s->n_layers; l++)
        t->guess[l] = fmaxf((float)(w->state[THRESHOLDS + l] * (w->unit / w->state[SCALE])), FLT_TRUE_MIN);
    return w->shared->kernels->select_threshold(s, t->guess);
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [REFRESH] = {"refresh", 1, 1e9, 32, true, "steps between exact thresholds"},
};

const struct sg_compressor_ops sg_compress_topk_reuse = {
    .name = "topk-reuse",
    .summary = "the k largest magnitudes at every R-th step; in between those that reach the least of them (DCT)",
    .source = "Gupta et al., KDD 2021; Li and Hoefler, PPoPP 2022",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .worker_doubles = worker_doubles,
    .open = sg_topk_open,
    .select = select_reuse,
};
