/* sg_compressor.h: what a compressor is, for those who write one and for those who list them.
 *
 * A compressor is one file with a `const struct sg_compressor_ops` and one row in compressor_table.c. Programs, recipes,
 * tests and benchmarks pick it up from its declaration. It is used through sg_method.h, which adds error feedback, a
 * controller and the state of all workers.
 *
 * Letters are those of Algorithm 1 of the paper: g gradient, e residual, p what is to be compressed. */
#ifndef SG_COMPRESSOR_H
#define SG_COMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"
#include "sg_message.h"
#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the flat parameter vector is cut into layers. */
struct sg_layout {
    size_t n_layers;
    const size_t *offset;    /* [n_layers + 1], offset[0] = 0, ascending; offset[n_layers] = d */
    const char *const *name; /* [n_layers] or NULL */
};

/* Parts of a vector: elements begin..end-1 of each, ascending and not overlapping. */
struct sg_range {
    size_t begin, end;
};
struct sg_ranges {
    const struct sg_range *range; /* [count] */
    size_t count;
};

/* Error feedback (the paper's Algorithm 1 and Remark 1).
 *   update    p = decay e + gamma g, message in units of the parameters; a threshold applies to p / gamma
 *   gradient  p = decay e + g, message in units of the gradient; gamma is applied after aggregation
 *   none      p = g, nothing is kept */
enum sg_feedback_form { SG_FEEDBACK_UPDATE = 0, SG_FEEDBACK_GRADIENT = 1, SG_FEEDBACK_NONE = 2 };

struct sg_feedback {
    enum sg_feedback_form form;
    double decay; /* factor on the old residual, 0..1; 1 = the paper's */
};

enum sg_trait {
    SG_TRAIT_RELATIVE = 1 << 0, /* E|x - C(x)|^2 <= (1 - delta)|x|^2 (Definition 2) */
    SG_TRAIT_ABSOLUTE = 1 << 1, /* E|x - C(x)|^2 <= nu^2 (Definition 3) */
    SG_TRAIT_UNBIASED = 1 << 2,
    SG_TRAIT_WANTS_FEEDBACK = 1 << 3, /* diverges or stalls without error feedback */
    SG_TRAIT_DENSE = 1 << 4,          /* sends all elements: its messages have no positions */
    SG_TRAIT_RANDOM = 1 << 5,         /* uses random draws */
    SG_TRAIT_EXACT = 1 << 6,          /* sends everything unchanged: the residual is always zero and need not exist */
    SG_TRAIT_GPU = 1 << 7             /* leaves vectors to the kernels, so it runs wherever their memory is */
};

/* One worker at one step, as its compressor sees it. */
struct sg_worker {
    uint32_t number; /* of the worker, among all */
    uint64_t seed, step;
    const double *param; /* [n_params] presets filled in; NaN = not given */
    const double *knob;  /* [n_layers] the parameter `knob` of each layer at this step, as the controller set it */
    double unit;         /* what 1 on the gradient's scale is in p: gamma in the `update` form, else 1 */
    bool counted;        /* entries are counted against a budget: zeros are not worth sending */
    bool controlled;     /* the knob may change from step to step */
    struct sg_layout layout;
    struct sg_feedback feedback;
    const struct sg_code *code; /* of the values that a selector sends */
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    /* Where g may differ from +0 at this step, as where only a few rows of a table were looked up; NULL = anywhere. */
    const struct sg_ranges *touched;
    void *scratch; /* what `open` allocated; it saves time only, so it is no part of a checkpoint */
};

struct sg_controller_ops;

struct sg_compressor_ops {
    const char *name;    /* as in recipes: "hard-threshold" */
    const char *summary; /* one line for help and the key reference */
    const char *source;  /* paper section or publication */
    unsigned traits;     /* enum sg_trait, or-ed */
    const struct sg_parameter *params;
    size_t n_params;

    /* Check param [n_params] (presets filled in, NaN = not given) against each other and against d (0 = unknown yet);
     * NULL = nothing to check. */
    sg_status (*check)(const double *param, size_t d, struct sg_error *err);
    /* The parameter that a controller may set, as an index into params; NULL = there is none. */
    size_t (*knob)(const double *param);
    /* Allocate w->scratch, which is released by free(). NULL = nothing. */
    sg_status (*open)(struct sg_worker *w, struct sg_error *err);
    /* Send some elements of p unchanged and keep the others, in one fused pass: fill index, value and count of the
     * selection from its scale, decay, g and e (sg_kernels.h). Returns enum sg_kernel_status. */
    int (*select)(struct sg_worker *w, struct sg_select *s);
    /* delta of a relative, nu^2 of an absolute compressor on n elements in units of its input; NULL = none. */
    double (*bound)(const double *param, size_t n);
    /* The controller that these parameters ask for, with its own parameters in out; NULL = none. The hook is NULL where
     * there never is one. */
    const struct sg_controller_ops *(*controller)(const double *param, double *out);
};

/* The table: i-th compressor, NULL past the end; by name, NULL if unknown. */
const struct sg_compressor_ops *sg_compressor_at(size_t i);
const struct sg_compressor_ops *sg_compressor_find(const char *name);

/* Check parameters only (recipes use it): ranges, combinations, k against d (d = 0: unknown yet). */
SG_CHECKED sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                                         struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
