/* feedback_ef21.c: EF21 (Richtarik, Sokolov, Fatkhullin, NeurIPS 2021).
 *
 * Every worker and the receivers share an estimate h of its gradient, and the worker sends C(g - h), which both add to
 * h. The optimizer is given the sum of all workers' h. Written with the residual e = g - h that is left after a step:
 * the next g' - h is e + (g' - g), so a worker keeps e and its last g, and the receivers keep the sum of all h. */
#include <string.h>

#include "method_private.h"

/* vector[0] is the last gradient; here it becomes g minus that, and p = e + it. */
static const float *before(const struct sg_feedback_state *s, const float *g) {
    method_combine(s, s->vector[0], -1, g);
    return s->vector[0];
}

static void after(const struct sg_feedback_state *s, const float *g, const struct sg_message *sent) {
    (void)sent;
    memcpy(s->vector[0], g, s->d * sizeof *g);
}

static void result(const struct sg_feedback_state *s, float *sum) {
    method_combine(s, s->vector[0], 1, sum);
    memcpy(sum, s->vector[0], s->d * sizeof *sum);
}

const struct sg_feedback_rule sg_feedback_ef21 = {
    .name = "ef21",
    .summary = "sends the compressed change of the gradient; the optimizer is given the sum of all estimates",
    .source = "Richtarik et al., NeurIPS 2021",
    .keeps = true,
    .worker_vectors = 1,
    .common_vectors = 1,
    .before = before,
    .after = after,
    .result = result,
};
