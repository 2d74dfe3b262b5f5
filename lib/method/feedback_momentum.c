/* feedback_momentum.c: momentum correction with factor masking (Lin et al., Deep Gradient Compression, ICLR 2018).
 *
 * Every worker has a momentum u of its own: u <- m u + g takes the place of g, so that an element which waits in the
 * residual waits with the momentum it would have had. Where an element is sent, u starts again from 0, for the momentum
 * of what was sent late would point in an old direction. A message without positions delays nothing, and u goes on. */
#include "method_private.h"

enum { MOMENTUM, PARAMS };

static const float *before(const struct sg_feedback_state *s, const float *g) {
    method_combine(s, s->vector[0], (float)s->param[MOMENTUM], g);
    return s->vector[0];
}

static void after(const struct sg_feedback_state *s, const float *g, const struct sg_message *sent) {
    (void)g;
    for (size_t j = 0; sent->index != NULL && j < sent->count; j++)
        s->vector[0][sent->index[j]] = 0;
}

static const struct sg_parameter params[PARAMS] = {
    [MOMENTUM] = {"momentum", 0, 1, 0.9, false, "factor on the old momentum of a worker"},
};

const struct sg_feedback_rule sg_feedback_momentum = {
    .name = "dgc-momentum",
    .summary = "p = e + u with the worker's own momentum u = m u + g, which starts again where an element is sent",
    .source = "Lin et al., ICLR 2018",
    .params = params,
    .n_params = PARAMS,
    .keeps = true,
    .worker_vectors = 1,
    .before = before,
    .after = after,
};
