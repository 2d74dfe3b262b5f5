/* optimizer_sgd.c: weight decay, momentum, learning rate, in that order (the order of the paper's released trainer).
 * Nesterov's momentum is there in two forms: the key `nesterov` of sgd steps along g + m, as the paper's code does, and
 * the optimizer `nesterov` along g + mu m, as PyTorch's SGD with nesterov=True does. */
/* SPDX-License-Identifier: MIT */
#include "sg_optimizer.h"

#include <math.h>

enum { MOMENTUM, NESTEROV, WEIGHT_DECAY, SGD_PARAMS };
enum { NESTEROV_DECAY = 1, NESTEROV_PARAMS };

static const struct sg_parameter sgd_params[SGD_PARAMS] = {
    [MOMENTUM] = {"momentum", 0, 1, 0, false, "factor mu in m <- mu m + g, from m = g"},
    [NESTEROV] = {"nesterov", 0, 1, 0, true, "1: steps along g + m, as the paper's code, in place of m"},
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0, false, "multiple of x added to the gradient first"},
};
static const struct sg_parameter nesterov_params[NESTEROV_PARAMS] = {
    [MOMENTUM] = {"momentum", 0, 1, 0.9, false, "factor mu in m <- mu m + g, from m = g"},
    [NESTEROV_DECAY] = {"weight-decay", 0, INFINITY, 0, false, "multiple of x added to the gradient first"},
};

static size_t sgd_state_floats(const double *param, size_t d) {
    return param[MOMENTUM] > 0 ? d : 0;
}

static const char momentum_refused[] =
    "momentum needs error-feedback: gradient (in the update form the messages already carry the learning rate)";

static const char *sgd_refuses_update_form(const double *param) {
    if (param[MOMENTUM] > 0)
        return momentum_refused;
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
    .summary = "SGD with weight decay and momentum",
    .params = sgd_params,
    .n_params = SGD_PARAMS,
    .state_floats = sgd_state_floats,
    .refuses_update_form = sgd_refuses_update_form,
    .refuses = sgd_refuses,
};

static const char *nesterov_refuses_update_form(const double *param) {
    (void)param;
    return momentum_refused;
}

static const char *nesterov_refuses(const double *param) {
    return param[MOMENTUM] > 0 ? NULL : "nesterov needs a momentum above 0";
}

const struct sg_optimizer_ops sg_optimizer_nesterov = {
    .name = "nesterov",
    .summary = "SGD along g + mu m: Nesterov's momentum as in PyTorch",
    .params = nesterov_params,
    .n_params = NESTEROV_PARAMS,
    .state_floats = sgd_state_floats,
    .refuses_update_form = nesterov_refuses_update_form,
    .refuses = nesterov_refuses,
};
