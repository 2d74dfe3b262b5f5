/* optimizer_private.h: what the files of the optimizers share; not installed. */
#ifndef OPTIMIZER_PRIVATE_H
#define OPTIMIZER_PRIVATE_H

#include "sg_optimizer.h"

extern const struct sg_optimizer_ops sg_optimizer_sgd, sg_optimizer_adam;

#endif
