/* sg_optimizer.h: turns the mean gradient of a step into what is subtracted from the parameters x.
 *
 * An optimizer is declared like a compressor: one file and one row of a table. With error feedback in the `update` form
 * the messages already carry gamma, so the mean is the step itself and the optimizer may keep no state. In all other
 * forms the mean goes through weight decay, momentum and learning rate, in this order, as in the paper's released
 * trainer. */
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

/* What the trainer gives to `step`. The same struct serves all ranges of one step. */
struct sg_optimizer_step {
    const double *param;
    double learning_rate; /* the step's */
    uint64_t step;        /* counts from 0 */
    float *state;         /* [state_floats] */
    float *delta;         /* [d] on entry the mean gradient, on return what the caller subtracts from x */
    const void *x;        /* [d] of `dtype`, not modified */
    enum sg_dtype dtype;
    size_t d;
};

struct sg_optimizer_ops {
    const char *name, *summary;
    const struct sg_parameter *params; /* keys of the recipe's `optimizer:` section, beside learning-rate */
    size_t n_params;
    /* The number of floats of state for d parameters. The state starts as zeros; a checkpoint saves nothing else. */
    size_t (*state_floats)(const double *param, size_t d);
    /* Steps the elements begin … end - 1, with weight decay if `decays`. Each element is independent of all others, so
     * ranges may be stepped in any order and from several threads. */
    void (*step)(const struct sg_optimizer_step *s, size_t begin, size_t end, bool decays);
    /* Returns NULL, or a static sentence that says why these parameters do not work with the `update` form. */
    const char *(*refuses_update_form)(const double *param);
    /* Returns NULL, or a static sentence that says why these parameters do not go together. */
    const char *(*refuses)(const double *param);
};

const struct sg_optimizer_ops *sg_optimizer_at(size_t i); /* NULL past the end */
const struct sg_optimizer_ops *sg_optimizer_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
