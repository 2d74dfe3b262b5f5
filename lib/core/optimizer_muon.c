/* optimizer_muon.c: Muon (Jordan et al., kellerjordan.github.io/posts/muon, 2024), as torch.optim.Muon has it, for the
 * matrices of hidden layers, and AdamW for vectors, embeddings and heads, as its authors train. Deviation: Newton's and
 * Schulz's steps are in float32 and not in bfloat16. */
/* SPDX-License-Identifier: MIT */
#include "optimizer_private.h"

enum { MOMENTUM, NESTEROV, WEIGHT_DECAY, TIMES, MATCHES_RMS, VECTOR_RATE, BETA1, BETA2, EPSILON, PARAMS };

static const struct sg_parameter params[PARAMS] = {
    [MOMENTUM] = {"momentum", 0, 1, 0.95, false, "mu in m <- mu m + (1 - mu) g, of a matrix"},
    [NESTEROV] = {"nesterov", 0, 1, 1, true, "1: a matrix moves along (1 - mu) g + mu m, 0: along m"},
    OPTIMIZER_DECAY_APART(0.1),
    [TIMES] = {"ns-steps", 1, 99, 5, true, "steps of Newton and Schulz, for singular values near 1"},
    [MATCHES_RMS] = {"match-rms", 0, 1, 0, true,
                     "1: a matrix moves by 0.2 sqrt(max(rows, columns)) learning rates, as far as by AdamW; 0: by "
                     "sqrt(max(1, rows / columns))"},
    [VECTOR_RATE] = {"vector-rate", 0, INFINITY, 0.015, false,
                     "AdamW's learning rate as a multiple of the matrices'; Muon's authors have 3e-4 beside 0.02"},
    OPTIMIZER_MOMENTS(0.95, 1e-10),
};

static const char *refuses_update_form(const double *param) {
    (void)param;
    return "Muon needs error-feedback: gradient (in the update form the messages already carry the learning rate)";
}

static const char *refuses(const double *param) {
    if (!(param[MOMENTUM] < 1 && param[BETA1] < 1 && param[BETA2] < 1))
        return "momentum, beta1 and beta2 must be below 1";
    return optimizer_moments_refused(param[BETA1], param[BETA2], param[EPSILON]);
}

/* A matrix has the first of the two moments alone. */
const struct sg_optimizer_ops sg_optimizer_muon = {
    .name = "muon",
    .summary = "Muon for matrices of hidden layers, and AdamW for vectors, embeddings and heads, as in PyTorch",
    .params = params,
    .n_params = PARAMS,
    .state_floats = optimizer_moments_floats,
    .refuses_update_form = refuses_update_form,
    .refuses = refuses,
    .of_weights = true,
};
