/* feedback_ef21.c: EF21 (Richtarik, Sokolov, Fatkhullin, NeurIPS 2021).
 *
 * Every worker and the receivers share an estimate h of its gradient, and the worker sends C(g - h), which both add to
 * h. The optimizer is given the sum of all workers' h. Written with the residual e = g - h that is left after a step:
 * the next g' - h is e + (g' - g), so a worker keeps e and its last g, and the receivers keep the sum of all h.
 *
 * EF21-SGDM (Fatkhullin, Tyurin, Richtarik, NeurIPS 2023) does the same with v in the place of g, a worker's moving
 * mean v <- (1 - eta) v + eta g. The first v is g. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

/* vector[0] is the last gradient; here it becomes g minus that, and p = e + it. */
static const float *before(const struct sg_feedback_state *s, const float *g) {
    method_combine(s, s->vector[0], -1, g);
    return s->vector[0];
}

enum { ETA, SGDM_PARAMS };

/* vector[0] is v and vector[1] how much it changed. */
static const float *before_sgdm(const struct sg_feedback_state *s, const float *g) {
    const float eta = s->shared->step > 0 ? (float)s->param[ETA] : 1, rest = 1 - eta;
    float *v = s->vector[0], *change = s->vector[1];
    s->kernels->copy(s->exec, change, v, s->d);
    s->kernels->mix(s->exec, v, rest, v, eta, g, s->d);
    s->kernels->mix(s->exec, change, 1, v, -1, change, s->d);
    return change;
}

static void after(const struct sg_feedback_state *s, const float *g, const struct sg_message *sent) {
    (void)sent;
    s->kernels->copy(s->exec, s->vector[0], g, s->d);
}

void method_add_to_estimate(const struct sg_feedback_state *s, float *sum) {
    method_combine(s, s->vector[0], 1, sum);
    s->kernels->copy(s->exec, sum, s->vector[0], s->d);
}

const struct sg_feedback_rule sg_feedback_ef21 = {
    .name = "ef21",
    .summary = "p = g - h, h the sum of what was sent; the optimizer gets the mean of h",
    .source = "Richtarik et al., NeurIPS 2021",
    .keeps = true,
    .on_gpu = true,
    .worker_vectors = 1,
    .common_vectors = 1,
    .before = before,
    .after = after,
    .result = method_add_to_estimate,
};

static const struct sg_parameter sgdm_params[SGDM_PARAMS] = {
    [ETA] = {"eta", 0, 1, 0.1, false, "weight of the new gradient"},
};

const struct sg_feedback_rule sg_feedback_ef21_sgdm = {
    .name = "ef21-sgdm",
    .summary = "ef21 of a worker's moving mean v = (1 - eta) v + eta g",
    .source = "Fatkhullin et al., NeurIPS 2023",
    .params = sgdm_params,
    .n_params = SGDM_PARAMS,
    .keeps = true,
    .on_gpu = true,
    .every_step = true, /* the first v of a worker is the g of the run's first step */
    .worker_vectors = 1,
    .worker_room = 1,
    .common_vectors = 1,
    .before = before_sgdm,
    .result = method_add_to_estimate,
};
