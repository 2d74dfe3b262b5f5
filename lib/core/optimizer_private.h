/* optimizer_private.h: what the optimizers with Adam's moments have in common (optimizer_adam.c). */
/* SPDX-License-Identifier: MIT */
#ifndef OPTIMIZER_PRIVATE_H
#define OPTIMIZER_PRIVATE_H

#include <math.h>

#include "sg_optimizer.h"

/* Rows of a table of parameters, at the places that the file's own enum gives them. */
#define OPTIMIZER_MOMENTS(beta2, epsilon)                                                                              \
    [BETA1] = {"beta1", 0, 1, 0.9, false, "factor in m <- beta1 m + (1 - beta1) g"},                                   \
    [BETA2] = {"beta2", 0, 1, beta2, false, "factor in v <- beta2 v + (1 - beta2) g^2"},                               \
    [EPSILON] = {"epsilon", 0, INFINITY, epsilon, false, "added to the root of v"}
#define OPTIMIZER_DECAY_APART(preset)                                                                                  \
    [WEIGHT_DECAY] = {"weight-decay", 0,     INFINITY,                                                                 \
                      preset,         false, "a step also subtracts this times learning rate times x"}

/* The state is m [d], then v [d]. */
size_t optimizer_moments_floats(const double *param, size_t d);
/* Returns NULL, or a static sentence that says why these numbers do not go together. */
const char *optimizer_moments_refused(double beta1, double beta2, double epsilon);

#endif
