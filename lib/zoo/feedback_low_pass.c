/* feedback_low_pass.c: the low-pass filter of ScaleCom (Chen et al., NeurIPS 2020): only the share beta of what a step
 * did not send enters the residual, so that one step's noise does not choose what is sent at the next ones.
 *
 *     p = e + g      e <- (1 - beta) e + beta (p - C(p))
 *
 * With beta = 1 it is the common feedback. With less, the rest of what was not sent is lost. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

enum { BETA, PARAMS };

static const float *before(const struct sg_feedback_state *s, const float *g) {
    if (s->e)
        s->kernels->copy(s->exec, s->vector[0], s->e, s->d);
    return g;
}

static void keep(const struct sg_feedback_state *s) {
    const float beta = (float)s->param[BETA], rest = (1 - beta) * (float)s->shared->feedback.decay;
    if (s->e)
        s->kernels->mix(s->exec, s->e, rest, s->vector[0], beta, s->e, s->d);
}

static const struct sg_parameter params[PARAMS] = {
    [BETA] = {"beta", 1e-6, 1, 0.1, false, "weight of the unsent part"},
};

const struct sg_feedback_rule sg_feedback_low_pass = {
    .name = "scalecom-lpf",
    .summary = "p = e + g; e = (1 - beta) e + beta (p - C(p)), a low-pass filter",
    .source = "Chen et al., NeurIPS 2020",
    .params = params,
    .n_params = PARAMS,
    .keeps = true,
    .on_gpu = true,
    .worker_room = 1,
    .before = before,
    .keep = keep,
};
