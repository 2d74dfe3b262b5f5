/* feedback_momentum.c: a momentum of each worker, before it is compressed: momentum correction with factor masking (Lin et
 * al., Deep Gradient Compression, ICLR 2018), and a running mean of the gradients without a residual (Signum).
 *
 * In the first, every worker has a momentum u of its own: u <- m u + g takes the place of g, so that an element which waits in the
 * residual waits with the momentum it would have had. Where an element is sent, u starts again from 0, for the momentum
 * of what was sent late would point in an old direction. A message without positions delays nothing, and u goes on. */
#include "method_private.h"

enum { MOMENTUM, PARAMS };

/* ---- momentum correction ---- */

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

/* ---- a running mean of the gradients, and no residual ---- */

static const float *add_to_mean(const struct sg_feedback_state *s, const float *g) {
    const float beta = (float)s->param[MOMENTUM], rest = (float)(1 - s->param[MOMENTUM]);
    float *m = s->vector[0];
#pragma omp parallel for schedule(static) num_threads(s->exec->threads) if (s->d >= METHOD_WORTH_THREADS)
    for (size_t i = 0; i < s->d; i++)
        m[i] = beta * m[i] + rest * g[i];
    return m;
}

static const struct sg_parameter mean_params[PARAMS] = {
    [MOMENTUM] = {"beta", 0, 1, 0.9, false, "factor on the old mean of a worker's gradients"},
};

const struct sg_feedback_rule sg_feedback_mean = {
    .name = "momentum",
    .summary = "p = m with the worker's own m = beta m + (1 - beta) g (with signsgd: Signum); what is not sent is lost",
    .source = "Bernstein et al., ICML 2018",
    .params = mean_params,
    .n_params = PARAMS,
    .worker_vectors = 1,
    .before = add_to_mean,
};
