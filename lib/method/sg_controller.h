/* sg_controller.h: controllers change one parameter of a compressor, its knob, as training goes on.
 *
 * Before a step a controller sees numbers that are the same on every rank, and sets the knob of each layer. It does not
 * communicate and sees no vector, so every rank has one and all decide alike. A controller works with any compressor
 * that has a knob, unless it says otherwise. It is one `const struct sg_controller_ops` and its name in
 * method_private.h. */
#ifndef SG_CONTROLLER_H
#define SG_CONTROLLER_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known before a step. It is the same on every rank. */
struct sg_facts {
    /* `step` is the step to come, counted from 0; `steps` is the length of the run, 0 = not known. */
    uint64_t step, steps;
    uint64_t steps_per_epoch; /* >= 1; UINT64_MAX = one epoch without end */
    size_t layers, d;         /* of the model */
    double gamma;             /* the learning rate of the step to come */
    double unit;              /* the factor from the knob to p's units: gamma in the `update` form, else 1 */
    /* [layers] |g_l|^2 of worker 0's gradient, or of the sum of its gradients, as `ask` wanted; what `choose` chose, if the
     * controller has it. NULL = `ask` wanted neither. */
    const double *lead_square;
};

/* What a controller wants to know about gradients; or-ed. */
enum sg_ask {
    SG_ASK_LEAD_NOW = 1 << 0, /* lead_square of this step's gradient, which worker 0 computes before the others start */
    SG_ASK_LEAD_SUM = 1 << 1, /* lead_square of the sum of worker 0's gradients so far */
    SG_ASK_RESTART = 1 << 2,  /* that sum becomes 0 before this step */
    SG_ASK_ADD = 1 << 3,      /* this step's gradient is added to it */
    SG_ASK_LARGEST = 1 << 4   /* the largest |g_i|^2 over all workers at this step, for `learn` */
};

/* What a step took. */
struct sg_spent {
    double entries, bits; /* of a worker's messages, means over all workers */
    double largest;       /* as SG_ASK_LARGEST asked, else 0 */
};

enum { SG_CANDIDATES = 33 }; /* most values of the knob that a controller compares */

/* What each value of the knob loses and costs in each layer, of the sum of worker 0's gradients x: |x - C(x)|^2, and the
 * bits of the layer's part of the message. */
struct sg_choice {
    size_t layers, count;
    const double *value;        /* [count] of the knob */
    const double *error, *size; /* [layers][count] */
    size_t own;                 /* which of the values is the recipe's */
};

/* What a controller decides. */
struct sg_settings {
    double own;   /* the compressor's parameter as the recipe gives it; NaN = it gives none */
    double *knob; /* [layers] out; on entry as at the last step, and `own` at the first */
    double most;  /* the most entries that a worker may send: of more, only the largest go; INFINITY = any */
    bool reset;   /* everything is sent at this step, as floats, and every residual becomes 0 */
};

struct sg_controller_ops {
    const char *name, *summary, *source; /* as those of a compressor */
    const struct sg_parameter *params;
    size_t n_params;
    size_t n_knobs; /* how many of the first parameters are values of the knob, in its range */
    /* Does it find a threshold? Then it is for compressors whose knob is one (SG_TRAIT_ABSOLUTE), and these need no
     * value. */
    bool finds_threshold;
    /* Checks param [n_params] against the run (of facts: layers, d, steps, steps_per_epoch; d = 0: nothing is known
     * yet). NULL = there is nothing to check. */
    sg_status (*check)(const double *param, const struct sg_facts *run, struct sg_error *err);
    /* `doubles` is how many numbers it keeps between steps; checkpoints have them and nothing else of it. NULL = none.
     * `start` sets their first values; NULL = zeros. */
    size_t (*doubles)(size_t layers);
    void (*start)(double *state, size_t layers);
    /* Returns what it wants to know at the step of f (enum sg_ask), or, if f is NULL, all that it may ever want. NULL =
     * nothing ever. */
    unsigned (*ask)(const double *param, const double *state, const struct sg_facts *f);
    /* For controllers that compare values of the knob, both or none. Where SG_ASK_LEAD_SUM is asked, lead_square then holds
     * what `choose` chose, which is called on worker 0's rank only. `candidates` fills value [SG_CANDIDATES], from which
     * `choose` makes knob [layers], and returns their number; whole: the knob is a whole number. */
    size_t (*candidates)(const double *param, double own, bool whole, double *value);
    void (*choose)(const double *param, const struct sg_choice *c, double *knob);
    void (*decide)(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out);
    /* Called after the step. NULL = it learns nothing. */
    void (*learn)(const double *param, double *state, const struct sg_facts *f, const struct sg_spent *spent);
    /* Returns [layers] numbers inside the state: 1 = the layer is in the mode that sends more. NULL = layers have no
     * modes. */
    const double *(*modes)(const double *state, size_t layers);
    bool resets; /* may it ask for a reset? Then it sets no knob, and the compressor needs none */
    /* Returns how many entries a worker is to send over the whole run, which is not for compressors whose messages have
     * all of them (SG_TRAIT_DENSE). NULL, or NaN = there is no such budget. */
    double (*budget)(const double *param, const struct sg_facts *run);
};

/* The i-th controller of the table; NULL past the end. The controller of that name; NULL if it is unknown. */
SG_UNSTABLE const struct sg_controller_ops *sg_controller_at(size_t i);
SG_UNSTABLE const struct sg_controller_ops *sg_controller_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
