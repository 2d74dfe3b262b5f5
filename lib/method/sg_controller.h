/* sg_controller.h: what changes one parameter of a compressor, its knob, as training goes on.
 *
 * Before a step a controller sees numbers that are the same on every rank and sets the knob of each layer. It neither
 * communicates nor sees a vector, so every rank has one and all of them decide alike. A controller works with any
 * compressor that has a knob, unless it says otherwise. It is one `const struct sg_controller_ops` and one row in controller_table.c. */
#ifndef SG_CONTROLLER_H
#define SG_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known before a step; the same on every rank. */
struct sg_facts {
    uint64_t step, steps;     /* of the step to come, counted from 0; of the whole run, 0 = not known */
    uint64_t steps_per_epoch; /* >= 1 */
    size_t layers, d;         /* of the model */
    double gamma;             /* learning rate of the step to come */
    double unit; /* what the knob is multiplied by to be in p's units: gamma in the `update` form, else 1 */
    /* [layers] |g_l|^2 of worker 0's gradient, or of the sum of its gradients, as the controller asked; else NULL. */
    const double *lead_square;
};

/* What a controller wants to know of worker 0 or of all workers' gradients; or-ed. */
enum sg_ask {
    SG_ASK_LEAD_NOW = 1 << 0, /* lead_square of this step's gradient: worker 0 computes it before the others start */
    SG_ASK_LEAD_SUM = 1 << 1, /* lead_square of the sum of worker 0's gradients so far */
    SG_ASK_RESTART = 1 << 2,  /* that sum starts again from 0 before this step */
    SG_ASK_ADD = 1 << 3,      /* this step's gradient is added to it */
    SG_ASK_LARGEST = 1 << 4   /* the largest |g_i|^2 over all workers at this step, for `learn` */
};

/* What a controller decides. */
struct sg_settings {
    double own;   /* the compressor's parameter, where the recipe gives it; else NaN */
    double *knob; /* [layers] as at the last step; at first `own` */
    double most;  /* entries that a worker may send at this step: of more, only the largest are sent; else INFINITY */
    bool reset;   /* everything is sent at this step, as floats, and every residual becomes 0 */
};

struct sg_controller_ops {
    const char *name, *summary, *source; /* as of a compressor */
    const struct sg_parameter *params;
    size_t n_params;
    size_t n_knobs; /* so many of the first parameters are values of the knob, in its range */
    /* It finds a threshold: for compressors whose knob is one (SG_TRAIT_ABSOLUTE), which need no value of their own. */
    bool finds_threshold;
    /* param [n_params] against the run (of facts: layers, d, steps, steps_per_epoch; d = 0: nothing is known yet). NULL =
     * nothing to check. */
    sg_status (*check)(const double *param, const struct sg_facts *run, struct sg_error *err);
    /* Numbers that it keeps between steps, all that a checkpoint needs of it; and their first values, zeros if NULL. */
    size_t (*doubles)(size_t layers);
    void (*start)(double *state, size_t layers);
    /* What it wants to know at the step of f (enum sg_ask); f NULL: all that it may ever want. NULL = nothing. */
    unsigned (*ask)(const double *param, const double *state, const struct sg_facts *f);
    void (*decide)(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out);
    /* After the step: entries that a worker sent, mean over all workers; largest: as asked for, else 0. NULL = nothing. */
    void (*learn)(const double *param, double *state, const struct sg_facts *f, double entries, double largest);
    /* [layers] 1 where a layer is in the mode that sends more, inside the state; NULL = layers have no modes. */
    const double *(*modes)(const double *state, size_t layers);
    bool resets; /* it may ask for a reset, and sets no knob */
    /* Entries that a worker is to send over the whole run; NULL = there is no such budget. */
    double (*budget)(const double *param, const struct sg_facts *run);
};

/* The table: i-th controller, NULL past the end; by name, NULL if unknown. */
const struct sg_controller_ops *sg_controller_at(size_t i);
const struct sg_controller_ops *sg_controller_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
