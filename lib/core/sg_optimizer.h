/* sg_optimizer.h: what becomes of the aggregated gradient. Declared like compressors: one file + one row.
 *
 * With error feedback in the `update` form the messages already carry gamma, so the mean IS the step and no optimizer
 * state is allowed. In the `gradient` form and without feedback the mean goes through weight decay, momentum and
 * learning rate, in that order (FACTS section 3). */
#ifndef SG_OPTIMIZER_H
#define SG_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "sg_compressor.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sg_dtype { SG_FLOAT32, SG_FLOAT64 };

struct sg_optimizer_ops {
    const char *name, *summary;
    const struct sg_parameter *params; /* recipe keys of the `optimizer:` section, beside learning-rate */
    size_t n_params;
    /* Floats of state for d parameters; state starts as zeros and is all a checkpoint needs. */
    size_t (*state_floats)(const double *param, size_t d);
    /* delta [d] in: mean gradient; out: the step to subtract from x. step counts from 0. x [d] of `dtype`, not
     * modified. */
    void (*step)(float *state, const double *param, double learning_rate, uint64_t step, float *delta, const void *x,
                 enum sg_dtype dtype, size_t d);
    /* NULL, or why these parameters cannot be used with the `update` form (a static sentence). */
    const char *(*refuses_update_form)(const double *param);
    /* NULL, or why these parameters do not go together (a static sentence). */
    const char *(*refuses)(const double *param);
};

const struct sg_optimizer_ops *sg_optimizer_at(size_t i); /* NULL past the end */
const struct sg_optimizer_ops *sg_optimizer_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
