/* feedback_momentum.c: a momentum of each worker, before it is compressed: momentum correction with factor masking (Lin
 * et al., Deep Gradient Compression, ICLR 2018), the Nesterov momentum of dist-EF-SGDM (Zheng, Huang, Kwok, NeurIPS
 * 2019, arXiv 1905.10936, algorithm 3), and a running mean of the gradients without a residual (Signum).
 *
 * Momentum correction: every worker has a momentum u <- m u + g, which replaces g, so an element in the residual
 * collects the momentum that it would have had. When an element is sent, its u becomes 0, because the momentum of a
 * delayed element would point in an old direction. A message without positions delays no element, so u is not reset.
 *
 * The rule `dgc` adds two options of the authors' code. Nesterov's momentum is u <- m (u + g), and u + g replaces g. A
 * gradient may first be clipped to the norm clip / sqrt(P), so that the sum of P independent ones has about the norm
 * clip.
 *
 * The rule `dist-ef-sgdm` has u <- m u + g, and m u + g replaces g. The residuals of the workers, and that of the
 * receivers if the compressor has one (ef-signsgd-twice), are multiplied by (gamma of the last step) / gamma. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "method_private.h"

enum { MOMENTUM, PARAMS, NESTEROV = PARAMS, CLIP, DGC_PARAMS };

/* ---- momentum correction ---- */

static const float *before(const struct sg_feedback_state *s, const float *g) {
    method_combine(s, s->vector[0], (float)s->param[MOMENTUM], g);
    return s->vector[0];
}

static void after(const struct sg_feedback_state *s, const float *g, const struct sg_message *sent) {
    (void)g;
    if (sent->index)
        s->kernels->zero_at(s->exec, s->vector[0], sent->index, sent->count);
}

/* The factor that clips g. It is 1 if the norm is not finite, for then the selection will refuse g. */
static float clip_factor(const struct sg_feedback_state *s, const float *g) {
    if (isnan(s->param[CLIP]))
        return 1;
    const double most = s->param[CLIP] / sqrt((double)s->shared->workers);
    const double norm = sqrt(s->kernels->sum_squares(s->exec, g, s->d));
    return norm > most && isfinite(norm) ? (float)(most / norm) : 1;
}

static const float *before_dgc(const struct sg_feedback_state *s, const float *g) {
    const float m = (float)s->param[MOMENTUM], clip = clip_factor(s, g);
    float *u = s->vector[0];
    if (s->param[NESTEROV] > 0)
        s->kernels->mix(s->exec, u, 1, u, clip, g, s->d);
    s->kernels->mix(s->exec, u, m, u, clip, g, s->d);
    return u;
}

/* With Nesterov's momentum the vector holds u + g until here. */
static void after_dgc(const struct sg_feedback_state *s, const float *g, const struct sg_message *sent) {
    float *u = s->vector[0];
    if (s->param[NESTEROV] > 0)
        s->kernels->mix(s->exec, u, 1, u, -clip_factor(s, g), g, s->d);
    after(s, g, sent);
}

static const struct sg_parameter params[DGC_PARAMS] = {
    [MOMENTUM] = {"momentum", 0, 1, 0.9, false, "factor m on the old momentum"},
    [NESTEROV] = {"nesterov", 0, 1, 0, true, "1: Nesterov's momentum"},
    [CLIP] = {"clip", 0, 1e18, NAN, false, "largest norm of a worker's gradient times sqrt(workers)"},
};

const struct sg_feedback_rule sg_feedback_momentum = {
    .name = "dgc-momentum",
    .summary = "p = e + u with a worker's momentum u = m u + g, again 0 where sent",
    .source = "Lin et al., ICLR 2018",
    .params = params,
    .n_params = PARAMS,
    .keeps = true,
    .on_gpu = true,
    .worker_vectors = 1,
    .before = before,
    .after = after,
};

const struct sg_feedback_rule sg_feedback_dgc = {
    .name = "dgc",
    .summary = "dgc-momentum as the authors' code, with Nesterov's momentum and clipped gradients",
    .source = "Lin et al., ICLR 2018; github.com/synxlin/deep-gradient-compression",
    .params = params,
    .n_params = DGC_PARAMS,
    .keeps = true,
    .on_gpu = true,
    .worker_vectors = 1,
    .before = before_dgc,
    .after = after_dgc,
};

/* ---- Nesterov's momentum under a residual that follows the learning rate ---- */

static const float *look_ahead(const struct sg_feedback_state *s, const float *g) {
    const float m = (float)s->param[MOMENTUM];
    method_combine(s, s->vector[0], m, g);
    s->kernels->mix(s->exec, s->vector[1], m, s->vector[0], 1, g, s->d);
    return s->vector[1];
}

const struct sg_feedback_rule sg_feedback_dist_ef_sgdm = {
    .name = "dist-ef-sgdm",
    .summary = "lr-correction of m u + g, with a worker's momentum u = m u + g",
    .source = "Zheng et al., NeurIPS 2019",
    .params = params,
    .n_params = PARAMS,
    .keeps = true,
    .follows_rate = true,
    .every_step = true, /* a residual is in the units of the step before */
    .on_gpu = true,
    .worker_vectors = 1,
    .worker_room = 1,
    .before = look_ahead,
};

/* ---- a running mean of the gradients, and no residual ---- */

static const float *add_to_mean(const struct sg_feedback_state *s, const float *g) {
    const float beta = (float)s->param[MOMENTUM], rest = (float)(1 - s->param[MOMENTUM]);
    float *m = s->vector[0];
    s->kernels->mix(s->exec, m, beta, m, rest, g, s->d);
    return m;
}

static const struct sg_parameter mean_params[PARAMS] = {
    [MOMENTUM] = {"beta", 0, 1, 0.9, false, "factor on the old m"},
};

const struct sg_feedback_rule sg_feedback_mean = {
    .name = "momentum",
    .summary = "p = m with a worker's mean m = beta m + (1 - beta) g; the unsent part is lost",
    .source = "Bernstein et al., ICML 2018",
    .params = mean_params,
    .n_params = PARAMS,
    .on_gpu = true,
    .worker_vectors = 1,
    .before = add_to_mean,
};
