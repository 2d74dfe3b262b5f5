/* optimizer_sgd.c: weight decay, momentum, learning rate, in that order (the order of the paper's released trainer). */
#include "optimizer_private.h"

#include <math.h>

#include "sg_debug.h"

enum { MOMENTUM, NESTEROV, WEIGHT_DECAY, SGD_PARAMS };

static const struct sg_parameter sgd_params[SGD_PARAMS] = {
    [MOMENTUM] = {"momentum", 0, 1, 0, false, "factor mu on the old momentum: m <- mu m + g, starting at m = g"},
    [NESTEROV] = {"nesterov", 0, 1, 0, true, "1: step along g + m (as the paper's code does) instead of m"},
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0, false, "adds this multiple of x to the gradient first"},
};

static size_t sgd_state_floats(const double *param, size_t d) {
    return param[MOMENTUM] > 0 ? d : 0;
}

void sg_add_weight_decay(float *restrict g, double decay, const void *x, enum sg_dtype dtype, size_t d) {
    if (dtype == SG_FLOAT32) {
        const float *restrict narrow = x;
        for (size_t i = 0; i < d; i++)
            g[i] = (float)((double)g[i] + decay * (double)narrow[i]);
    } else {
        const double *restrict wide = x;
        for (size_t i = 0; i < d; i++)
            g[i] = (float)((double)g[i] + decay * wide[i]);
    }
}

/* Each assignment computes in double and rounds once. The state of zeros makes m = g at the first step. */
static void sgd_step(const struct sg_optimizer_step *s, size_t begin, size_t end, bool decays) {
    SG_ASSERT(begin <= end && end <= s->d);
    const double mu = s->param[MOMENTUM], lookahead = s->param[NESTEROV]; /* 0 or 1 */
    const double rate = s->learning_rate;
    const size_t n = end - begin, width = s->dtype == SG_FLOAT32 ? sizeof(float) : sizeof(double);
    float *restrict delta = s->delta + begin;
    if (decays && s->param[WEIGHT_DECAY] > 0)
        sg_add_weight_decay(delta, s->param[WEIGHT_DECAY], (const char *)s->x + begin * width, s->dtype, n);
    if (!(mu > 0)) {
        for (size_t i = 0; i < n; i++)
            delta[i] = (float)(rate * (double)delta[i]);
        return;
    }
    SG_ASSERT(s->state != NULL);
    float *restrict m = s->state + begin;
    for (size_t i = 0; i < n; i++) {
        m[i] = (float)(mu * (double)m[i] + (double)delta[i]);
        delta[i] = (float)(rate * (lookahead * (double)delta[i] + (double)m[i]));
    }
}

static const char *sgd_refuses_update_form(const double *param) {
    if (param[MOMENTUM] > 0)
        return "momentum needs error-feedback: gradient (in the update form the messages already carry the learning "
               "rate)";
    if (param[WEIGHT_DECAY] > 0)
        return "weight-decay needs error-feedback: gradient (in the update form the messages already carry the "
               "learning rate)";
    return NULL;
}

static const char *sgd_refuses(const double *param) {
    if (param[NESTEROV] > 0 && !(param[MOMENTUM] > 0))
        return "nesterov needs a momentum above 0";
    return NULL;
}

const struct sg_optimizer_ops sg_optimizer_sgd = {
    .name = "sgd",
    .summary = "stochastic gradient descent with weight decay and (Nesterov) momentum",
    .params = sgd_params,
    .n_params = SGD_PARAMS,
    .state_floats = sgd_state_floats,
    .step = sgd_step,
    .refuses_update_form = sgd_refuses_update_form,
    .refuses = sgd_refuses,
};
