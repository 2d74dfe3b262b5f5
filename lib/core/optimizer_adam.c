/* optimizer_adam.c: Adam (Kingma and Ba, ICLR 2015) and AdamW (Loshchilov and Hutter, ICLR 2019), as PyTorch has them.
 * AdamW decays x by itself: neither m nor v see the decay. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_optimizer.h"

enum { BETA1, BETA2, EPSILON, WEIGHT_DECAY, PARAMS };

#define MOMENTS                                                                                                        \
    [BETA1] = {"beta1", 0, 1, 0.9, false, "factor in m <- beta1 m + (1 - beta1) g"},                                   \
    [BETA2] = {"beta2", 0, 1, 0.999, false, "factor in v <- beta2 v + (1 - beta2) g^2"},                               \
    [EPSILON] = {"epsilon", 0, INFINITY, 1e-8, false, "added to the root of v"}

static const struct sg_parameter params[PARAMS] = {
    MOMENTS,
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0, false, "multiple of x added to the gradient first"},
};
static const struct sg_parameter decoupled_params[PARAMS] = {
    MOMENTS,
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0.01, false,
                      "a step also subtracts this times learning rate times x"},
};

/* The state is m [d], then v [d]. */
static size_t state_floats(const double *param, size_t d) {
    (void)param;
    return 2 * d;
}

static const char *refuses_update_form(const double *param) {
    (void)param;
    return "Adam and AdamW need error-feedback: gradient (in the update form the messages already carry the learning "
           "rate)";
}

static const char *refuses(const double *param) {
    if (!(param[BETA1] < 1 && param[BETA2] < 1))
        return "beta1 and beta2 must be below 1";
    if (!(param[EPSILON] > 0))
        return "epsilon must be above 0: where all gradients were 0 the step would be 0/0";
    return NULL;
}

#define COMMON                                                                                                         \
    .n_params = PARAMS, .state_floats = state_floats, .refuses_update_form = refuses_update_form, .refuses = refuses

const struct sg_optimizer_ops sg_optimizer_adam = {
    .name = "adam",
    .summary = "Adam with bias correction, as in PyTorch",
    .params = params,
    COMMON,
};
const struct sg_optimizer_ops sg_optimizer_adamw = {
    .name = "adamw",
    .summary = "Adam with weight decay apart from the gradient, as AdamW of PyTorch",
    .params = decoupled_params,
    COMMON,
};
