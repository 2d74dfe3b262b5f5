/* optimizer_private.h: what the files of the optimizers share; not installed. */
#ifndef OPTIMIZER_PRIVATE_H
#define OPTIMIZER_PRIVATE_H

#include "sg_optimizer.h"

extern const struct sg_optimizer_ops sg_optimizer_sgd, sg_optimizer_adam;

/* g[i] <- (float)(g[i] + decay x[i]). */
void sg_add_weight_decay(float *restrict g, double decay, const void *x, enum sg_dtype dtype, size_t d);

#endif
