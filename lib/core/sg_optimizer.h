/* sg_optimizer.h: the parameters of each optimizer and what it refuses. The kernels have its arithmetic (`update` of
 * sg_kernels.h).
 *
 * An optimizer is declared like a compressor: one file and one row of a table. With error feedback in the `update` form
 * the messages already carry gamma, so the mean is the step itself and the optimizer may keep no state. In all other
 * forms the mean goes through weight decay, momentum and learning rate, in this order, as in the paper's released
 * trainer. A run has one state, that of the mean; workers have none. Checkpoints save it, and the estimate of a run's
 * memory counts it. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_OPTIMIZER_H
#define SG_OPTIMIZER_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>

#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_optimizer_ops {
    const char *name; /* as the kernels know it */
    const char *summary;
    const struct sg_parameter *params; /* keys of the recipe's `optimizer:` section, beside learning-rate */
    size_t n_params;
    /* The number of floats of state for d parameters. The state starts as zeros; a checkpoint saves nothing else. */
    size_t (*state_floats)(const double *param, size_t d);
    /* Returns NULL, or a static sentence that says why these parameters do not work with the `update` form. */
    const char *(*refuses_update_form)(const double *param);
    /* Returns NULL, or a static sentence that says why these parameters do not go together. */
    const char *(*refuses)(const double *param);
    bool of_weights; /* it moves matrices of hidden layers as a whole (struct sg_weight), and needs one */
    /* true: the mean of such a matrix is a step up to its length, so a compressor makes directions of these matrices
     * alone. It is given all other layers as vectors, which have one row. */
    bool takes_steps;
};

SG_UNSTABLE const struct sg_optimizer_ops *sg_optimizer_at(size_t i); /* NULL past the end */
SG_UNSTABLE const struct sg_optimizer_ops *sg_optimizer_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
