/* optimizer_dion.c: the step of Dion (Ahn et al., arXiv 2504.05295; microsoft/dion, dion_simple.py): a matrix of a
 * hidden layer moves by gamma sqrt(rows / columns) times the mean, which the compressor of that name made a direction.
 * Vectors, embeddings and heads move by AdamW. The momentum is the compressor's residual. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_optimizer.h"

enum { WEIGHT_DECAY, VECTOR_RATE, BETA1, BETA2, EPSILON, PARAMS };

static const struct sg_parameter params[PARAMS] = {
    [WEIGHT_DECAY] = {"weight-decay", 0, INFINITY, 0.01, false,
                      "a step also subtracts this times learning rate times x"},
    [VECTOR_RATE] = {"vector-rate", 0, INFINITY, 1, false,
                     "AdamW's learning rate as a multiple of the matrices'; Muon's authors have 3e-4 beside 0.02"},
    [BETA1] = {"beta1", 0, 1, 0.9, false, "factor in m <- beta1 m + (1 - beta1) g"},
    [BETA2] = {"beta2", 0, 1, 0.95, false, "factor in v <- beta2 v + (1 - beta2) g^2"},
    [EPSILON] = {"epsilon", 0, INFINITY, 1e-8, false, "added to the root of v"},
};

/* The state is m [d], then v [d], of which a matrix has neither. */
static size_t state_floats(const double *param, size_t d) {
    (void)param;
    return 2 * d;
}

static const char *refuses_update_form(const double *param) {
    (void)param;
    return "Dion needs error-feedback: gradient (in the update form the messages already carry the learning rate)";
}

static const char *refuses(const double *param) {
    if (!(param[BETA1] < 1 && param[BETA2] < 1))
        return "beta1 and beta2 must be below 1";
    if (!(param[EPSILON] > 0))
        return "epsilon must be above 0: where all gradients were 0 the step would be 0/0";
    return NULL;
}

const struct sg_optimizer_ops sg_optimizer_dion = {
    .name = "dion",
    .summary = "along the directions of compressor dion for matrices of hidden layers, and AdamW for the rest",
    .params = params,
    .n_params = PARAMS,
    .state_floats = state_floats,
    .refuses_update_form = refuses_update_form,
    .refuses = refuses,
    .of_weights = true,
    .takes_steps = true,
};
