/* feedback_econtrol.c: EControl (Gao, Islamov, Stich, ICLR 2024): the estimate h of EF21, and a residual e that is fed
 * back with a factor eta.
 *
 *     c = C(eta e + g - h)      e <- e + g - h - c      h <- h + c
 *
 * The optimizer is given the sum of all workers' h. With eta = 0 it is EF21. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_compressor_parts.h"

enum { ETA, PARAMS };
enum { ESTIMATE, CHANGE, OLD }; /* vectors of a worker: h, what takes the place of g, e of the last step */

static const float *before(const struct sg_feedback_state *s, const float *g) {
    const float eta = (float)s->param[ETA];
    const float *h = s->vector[ESTIMATE];
    float *change = s->vector[CHANGE], *old = s->vector[OLD];
#pragma omp parallel for schedule(static) num_threads(s->exec->threads) if (s->d >= METHOD_WORTH_THREADS)
    for (size_t i = 0; i < s->d; i++) {
        change[i] = g[i] - h[i];
        if (s->e) {
            old[i] = s->e[i];
            s->e[i] = eta * s->e[i];
        }
    }
    return change;
}

/* e holds p - c, and p is formed again as the kernels form it, so that h stays as it is where nothing was sent. Without
 * a residual all of p was sent. */
static void keep(const struct sg_feedback_state *s) {
    const float eta = (float)s->param[ETA], decay = (float)s->shared->feedback.decay;
    const float *change = s->vector[CHANGE], *old = s->vector[OLD];
    float *h = s->vector[ESTIMATE];
#pragma omp parallel for schedule(static) num_threads(s->exec->threads) if (s->d >= METHOD_WORTH_THREADS)
    for (size_t i = 0; i < s->d; i++) {
        const float before = decay * (eta * old[i]), p = before + change[i];
        h[i] += s->e ? p - s->e[i] : p;
        if (s->e)
            s->e[i] += decay * old[i] - before;
    }
}

static const struct sg_parameter params[PARAMS] = {
    [ETA] = {"eta", 0, 1, 0.01, false, "factor on the residual in p"},
};

const struct sg_feedback_rule sg_feedback_econtrol = {
    .name = "econtrol",
    .summary = "p = eta e + g - h with the estimate h of ef21; e = sum of g - h",
    .source = "Gao et al., ICLR 2024",
    .params = params,
    .n_params = PARAMS,
    .keeps = true,
    .worker_vectors = 1,
    .worker_room = 2,
    .common_vectors = 1,
    .before = before,
    .keep = keep,
    .result = method_add_to_estimate,
};
