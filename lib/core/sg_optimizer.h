/* sg_optimizer.h: what becomes of the aggregated gradient. Declared like compressors: one file + one row.
 *
 * With error feedback in the `update` form the messages already carry gamma, so the mean IS the step and no optimizer
 * state is allowed. In the `gradient` form and without feedback the mean goes through weight decay, momentum and
 * learning rate, in that order, as in the paper's released trainer. */
#ifndef SG_OPTIMIZER_H
#define SG_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sg_dtype { SG_FLOAT32, SG_FLOAT64 };

/* One step of all d parameters; calls of `step` below share it. */
struct sg_optimizer_step {
    const double *param;
    double learning_rate; /* of this step */
    uint64_t step;        /* counts from 0 */
    float *state;         /* [state_floats] */
    float *delta;         /* [d] in: mean gradient; out: the step to subtract from x */
    const void *x;        /* [d] of `dtype`, not modified */
    enum sg_dtype dtype;
    size_t d;
};

struct sg_optimizer_ops {
    const char *name, *summary;
    const struct sg_parameter *params; /* recipe keys of the `optimizer:` section, beside learning-rate */
    size_t n_params;
    /* Floats of state for d parameters; state starts as zeros and is all a checkpoint needs. */
    size_t (*state_floats)(const double *param, size_t d);
    /* Do elements begin … end - 1, with or without weight decay. Each element is independent of all others: ranges may be
     * done in any order and from several threads. */
    void (*step)(const struct sg_optimizer_step *s, size_t begin, size_t end, bool decays);
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
