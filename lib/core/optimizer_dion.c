/* optimizer_dion.c: the step of Dion (Ahn et al., arXiv 2504.05295; microsoft/dion, dion_simple.py): a matrix of a
 * hidden layer moves by gamma sqrt(rows / columns) times the mean, which compressor dion or dion2 made a direction.
 * Vectors, embeddings and heads move by AdamW. The momentum is the compressor's residual. */
/* SPDX-License-Identifier: MIT */
#include "optimizer_private.h"

enum { WEIGHT_DECAY, VECTOR_RATE, BETA1, BETA2, EPSILON, PARAMS };

static const struct sg_parameter params[PARAMS] = {
    OPTIMIZER_DECAY_APART(0.01),
    [VECTOR_RATE] = {"vector-rate", 0, INFINITY, 1, false, "AdamW's learning rate as a multiple of the matrices'"},
    OPTIMIZER_MOMENTS(0.95, 1e-8),
};

static const char *refuses_update_form(const double *param) {
    (void)param;
    return "Dion needs error-feedback: gradient (in the update form the messages already carry the learning rate)";
}

static const char *refuses(const double *param) {
    return optimizer_moments_refused(param[BETA1], param[BETA2], param[EPSILON]);
}

/* A matrix has neither of the two moments. */
const struct sg_optimizer_ops sg_optimizer_dion = {
    .name = "dion",
    .summary = "along the directions of compressor dion or dion2 for matrices of hidden layers, and AdamW for the rest",
    .params = params,
    .n_params = PARAMS,
    .state_floats = optimizer_moments_floats,
    .refuses_update_form = refuses_update_form,
    .refuses = refuses,
    .of_weights = true,
    .takes_steps = true,
};
