/* sg_controller.h: controllers change one parameter of a compressor, its knob, as training goes on.
 *
 * Before a step a controller sees numbers that are the same on every rank, and sets the knob of each layer. It does not
 * communicate and sees no vector, so every rank has one and all decide alike. A controller works with any compressor
 * that has a knob, unless it says otherwise. It is one `const struct sg_controller_ops`. */
/* SPDX-License-Identifier: MIT */
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

/* The input of a controller before a step. It is the same on every rank. */
struct sg_facts {
    /* `step` is the step to come, counted from 0; `steps` is the length of the run, 0 = not known. */
    uint64_t step, steps;
    uint64_t steps_per_epoch; /* >= 1; UINT64_MAX = one epoch without end */
    size_t layers, d;         /* of the model */
    const size_t *offset;     /* [layers + 1] the layers' borders; borrowed */
    double gamma;             /* the learning rate of the step to come */
    double unit;              /* the factor from the knob to p's units: gamma in the `update` form, else 1 */
    /* [layers] |g_l|^2 of worker 0's gradient, or of the sum of its gradients, as `ask` requested. If the controller
     * has `choose`, the knob that it chose. NULL = `ask` requested neither. */
    const double *lead_square;
};

/* The measurements of gradients that a controller requests; or-ed. */
enum sg_ask {
    SG_ASK_LEAD_NOW = 1 << 0, /* lead_square of this step's gradient, which worker 0 computes before the others start */
    SG_ASK_LEAD_SUM = 1 << 1, /* lead_square of the sum of worker 0's gradients so far */
    SG_ASK_RESTART = 1 << 2,  /* that sum becomes 0 before this step */
    SG_ASK_ADD = 1 << 3,      /* this step's gradient is added to it */
    SG_ASK_LARGEST = 1 << 4,  /* the largest |g_i|^2 over all workers at this step, for `learn` */
    SG_ASK_LEAD_AFTER = 1 << 5 /* the same of worker 0 alone, in its place */
};

/* The cost of a step. */
struct sg_spent {
    double entries, bits; /* of a worker's messages, means over all workers */
    double largest;       /* the result of SG_ASK_LARGEST or SG_ASK_LEAD_AFTER; 0 if neither was requested */
};

enum { SG_CANDIDATES = 33 }; /* maximum number of knob values that a controller compares */

/* Error and size of each layer for each value of the knob. x is the sum of worker 0's gradients. The error is
 * |x - C(x)|^2, the size is the bits of the layer's part of the message. */
struct sg_choice {
    size_t layers, count;
    const double *value;        /* [count] of the knob */
    const double *error, *size; /* [layers][count] */
    size_t own;                 /* index of the recipe's value */
};

/* The decision of a controller. */
struct sg_settings {
    double own;   /* the compressor's parameter as the recipe gives it; NaN = it gives none */
    double *knob; /* [layers] out; on entry the values of the last step, or `own` before the first */
    double most;  /* maximum of entries that a worker may send; only the largest are sent; INFINITY = no limit */
};

struct sg_controller_ops {
    const char *name, *summary, *source; /* as those of a compressor */
    const struct sg_parameter *params;
    size_t n_params;
    size_t n_knobs; /* how many of the first parameters are values of the knob, in its range */
    /* true: it computes a threshold. It then requires a compressor whose knob is a threshold (SG_TRAIT_ABSOLUTE), and
     * the recipe need not set that knob. */
    bool finds_threshold;
    bool needs_threshold; /* true: the knob must be a threshold, which the recipe sets */
    bool sets_levels;     /* true: it requires a compressor whose knob is `levels` */
    /* Checks param [n_params] against the run (of facts: layers, d, steps, steps_per_epoch; d = 0: nothing is known
     * yet). NULL = there is nothing to check. */
    sg_status (*check)(const double *param, const struct sg_facts *run, struct sg_error *err);
    /* `doubles` returns how many numbers it keeps between steps; checkpoints save them and nothing else of it. NULL =
     * 0. `start` sets their first values; NULL = zeros. */
    size_t (*doubles)(size_t layers);
    void (*start)(double *state, size_t layers);
    /* Returns its requests (enum sg_ask) for the step of f; if f is NULL, all requests that it may ever make. NULL = it
     * never makes one. */
    unsigned (*ask)(const double *param, const double *state, const struct sg_facts *f);
    /* For controllers that compare values of the knob; both hooks or neither. `candidates` fills value [SG_CANDIDATES]
     * and returns how many there are; whole: the knob is an integer. `choose` is called on worker 0's rank only and
     * sets knob [layers] from these values; with SG_ASK_LEAD_SUM, lead_square then holds this knob. */
    size_t (*candidates)(const double *param, double own, bool whole, double *value);
    void (*choose)(const double *param, const struct sg_choice *c, double *knob);
    void (*decide)(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out);
    /* Called after the step. NULL = it learns nothing. */
    void (*learn)(const double *param, double *state, const struct sg_facts *f, const struct sg_spent *spent);
    /* Returns [layers] numbers inside the state: 1 = the layer is in the mode that sends more. NULL = layers have no
     * modes. */
    const double *(*modes)(const double *state, size_t layers);
    /* Returns the budget: entries that a worker may send over the whole run. It does not apply to compressors that send
     * all elements (SG_TRAIT_DENSE). NULL, or NaN = there is no budget. */
    double (*budget)(const double *param, const struct sg_facts *run);
};

/* The i-th controller of the table; NULL past the end. The controller of that name; NULL if it is unknown. */
SG_UNSTABLE const struct sg_controller_ops *sg_controller_at(size_t i);
SG_UNSTABLE const struct sg_controller_ops *sg_controller_find(const char *name);

/* Adds a controller at the end of the table. *ops must stay valid, and no other thread may use the table during the
 * call. SG_ERR_ARGUMENT: there is one of this name, or *ops is incomplete. */
SG_UNSTABLE SG_CHECKED sg_status sg_controller_add(const struct sg_controller_ops *ops, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
