/* optimizer_adam.c: Adam (Kingma and Ba, ICLR 2015) and AdamW (Loshchilov and Hutter, ICLR 2019), as PyTorch has them.
 * AdamW decays x by itself: neither m nor v see the decay. */
/* SPDX-License-Identifier: MIT */
#include "optimizer_private.h"

enum { BETA1, BETA2, EPSILON, WEIGHT_DECAY, PARAMS };

static const struct sg_parameter params[PARAMS] = {
    OPTIMIZER_MOMENTS(0.999, 1e-8),
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0, false, "multiple of x added to the gradient first"},
};
static const struct sg_parameter decoupled_params[PARAMS] = {
    OPTIMIZER_MOMENTS(0.999, 1e-8),
    OPTIMIZER_DECAY_APART(0.01),
};

size_t optimizer_moments_floats(const double *param, size_t d) {
    (void)param;
    return 2 * d;
}

const char *optimizer_moments_refused(double beta1, double beta2, double epsilon) {
    if (!(beta1 < 1 && beta2 < 1))
        return "beta1 and beta2 must be below 1";
    if (!(epsilon > 0))
        return "epsilon must be above 0: where all gradients were 0 the step would be 0/0";
    return NULL;
}

static const char *refuses_update_form(const double *param) {
    (void)param;
    return "Adam and AdamW need error-feedback: gradient (in the update form the messages already carry the learning "
           "rate)";
}

static const char *refuses(const double *param) {
    return optimizer_moments_refused(param[BETA1], param[BETA2], param[EPSILON]);
}

#define COMMON                                                                                                         \
    .n_params = PARAMS, .state_floats = optimizer_moments_floats, .refuses_update_form = refuses_update_form,          \
    .refuses = refuses

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
