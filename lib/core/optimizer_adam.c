/* optimizer_adam.c: Adam as PyTorch has it (Kingma and Ba, ICLR 2015). */
#include <math.h>

#include "optimizer_private.h"

enum { BETA1, BETA2, EPSILON, WEIGHT_DECAY, PARAMS };

static const struct sg_parameter params[PARAMS] = {
    [BETA1] = {"beta1", 0, 1, 0.9, false, "factor on the old mean of the gradient: m <- beta1 m + (1 - beta1) g"},
    [BETA2] = {"beta2", 0, 1, 0.999, false, "factor on the old mean of its square: v <- beta2 v + (1 - beta2) g^2"},
    [EPSILON] = {"epsilon", 0, INFINITY, 1e-8, false, "added to the square root of v in the denominator"},
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0, false, "adds this multiple of x to the gradient first"},
};

/* The state is m [d], then v [d]. */
static size_t state_floats(const double *param, size_t d) {
    (void)param;
    return 2 * d;
}

/* delta = gamma m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon), t from 1. Each assignment computes in double and
 * rounds once. */
static void step(const struct sg_optimizer_step *s, size_t begin, size_t end, bool decays) {
    const double beta1 = s->param[BETA1], beta2 = s->param[BETA2], epsilon = s->param[EPSILON];
    const double t = (double)s->step + 1, rate = s->learning_rate / (1 - pow(beta1, t));
    const double correction = 1 / sqrt(1 - pow(beta2, t));
    const size_t n = end - begin, width = s->dtype == SG_FLOAT32 ? sizeof(float) : sizeof(double);
    float *restrict delta = s->delta + begin, *restrict m = s->state + begin, *restrict v = s->state + s->d + begin;
    if (decays && s->param[WEIGHT_DECAY] > 0)
        sg_add_weight_decay(delta, s->param[WEIGHT_DECAY], (const char *)s->x + begin * width, s->dtype, n);
    for (size_t i = 0; i < n; i++) {
        const double g = (double)delta[i];
        m[i] = (float)(beta1 * (double)m[i] + (1 - beta1) * g);
        v[i] = (float)(beta2 * (double)v[i] + (1 - beta2) * g * g);
        delta[i] = (float)(rate * (double)m[i] / (sqrt((double)v[i]) * correction + epsilon));
    }
}

static const char *refuses_update_form(const double *param) {
    (void)param;
    return "Adam needs error-feedback: gradient (in the update form the messages already carry the learning rate)";
}

static const char *refuses(const double *param) {
    if (!(param[BETA1] < 1 && param[BETA2] < 1))
        return "beta1 and beta2 must be below 1";
    if (!(param[EPSILON] > 0))
        return "epsilon must be above 0: where all gradients were 0 the step would be 0/0";
    return NULL;
}

const struct sg_optimizer_ops sg_optimizer_adam = {
    .name = "adam",
    .summary = "Adam with bias correction, as PyTorch has it",
    .params = params,
    .n_params = PARAMS,
    .state_floats = state_floats,
    .step = step,
    .refuses_update_form = refuses_update_form,
    .refuses = refuses,
};
