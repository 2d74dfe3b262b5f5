/* sg_compressor.h: gradient compressors with error feedback.
 *
 * One sg_compressor serves one logical worker; distinct objects may be used from distinct threads.
 * Adding a compressor: one file with a `const struct sg_compressor_ops`, one row in compressor_table.c.
 * Programs, recipes, tests and benchmarks pick it up from its declaration. */
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

/* Error feedback (paper, Algorithm 1 and Remark 1; FACTS: two forms).
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
    SG_TRAIT_DENSE = 1 << 4,          /* sends dense messages */
    SG_TRAIT_RANDOM = 1 << 5,         /* uses random draws */
    SG_TRAIT_EXACT = 1 << 6,          /* sends everything: the residual is always zero and need not exist */
    SG_TRAIT_GPU = 1 << 7             /* leaves vectors to the kernels, so it runs wherever their memory is */
};

typedef struct sg_compressor sg_compressor;

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
    /* Allocate what the compressor keeps between steps. NULL = nothing. */
    sg_status (*open)(sg_compressor *c, struct sg_error *err);
    /* Fill index, value, count of the selection from scale, decay, g, e. */
    int (*compress)(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step);
    /* delta of a relative, nu^2 of an absolute compressor on n elements in units of its input; NULL = none. */
    double (*bound)(const double *param, size_t n);
    /* For compressors whose layers change their mode as training goes on, by what worker 0 sees (ACCORDION); both NULL
     * elsewhere. due: is a decision taken before this step? The same answer for every worker. decide: on worker 0's
     * object, c->mode from its gradient g [d] of this step. */
    bool (*due)(const sg_compressor *c, uint64_t step);
    void (*decide)(sg_compressor *c, double gamma, uint64_t step, const float *g);
    /* For compressors that learn from what all workers did (a budget); both NULL elsewhere. note: a number of this
     * worker's after a step. learn: after the exchange, from the entries a worker sent, mean over all, and the largest
     * note. All workers learn the same and so stay alike. */
    double (*note)(const sg_compressor *c);
    void (*learn)(sg_compressor *c, uint64_t step, double entries, double note);
    /* lambda of the last step; NULL = there is none. */
    double (*threshold)(const sg_compressor *c);
    /* Entries that a worker is to send over the whole run; NULL = as many as it comes to. */
    double (*budget)(const sg_compressor *c);
    /* What later steps depend on beside residual and mode, for checkpoints; NULL or 0 bytes = nothing. The number of
     * bytes is known of every worker to every worker. */
    size_t (*state_bytes)(const sg_compressor *c, uint32_t worker);
    void (*state_save)(const sg_compressor *c, void *out);
    void (*state_load)(sg_compressor *c, const void *in);
    void (*close)(sg_compressor *c);
};

/* The table: i-th compressor, NULL past the end; by name, NULL if unknown. */
const struct sg_compressor_ops *sg_compressor_at(size_t i);
const struct sg_compressor_ops *sg_compressor_find(const char *name);

struct sg_compressor_config {
    const struct sg_compressor_ops *ops;
    const double *param; /* [ops->n_params], NaN = not given (preset used) */
    struct sg_layout layout;
    struct sg_feedback feedback;
    /* Of the values sent, &sg_code_fp32 or &sg_code_fp16; NULL = fp32. fp16 rounds them and keeps the error in e. */
    const struct sg_code *code;
    uint64_t seed;
    uint32_t worker;
    uint64_t steps_per_epoch;         /* for compressors that count in epochs; 0 = one epoch without end */
    uint64_t steps;                   /* of the whole run, for a budget; 0 = not known */
    const struct sg_kernels *kernels; /* NULL = best CPU table. g, e and messages lie in their memory */
    struct sg_exec exec;
    /* [d] each, in the kernels' memory: messages are made there, for compressors that take turns (a message then lasts until
     * the next of them runs); NULL = memory of its own. No index is needed for dense messages, no half for fp32. */
    uint32_t *index;
    float *value;
    uint16_t *half;
};

/* Check parameters only (recipes use it): ranges, combinations, k against d (d = 0: unknown yet). */
SG_CHECKED sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                                         struct sg_error *err);

/* Open for one worker. The layout is copied. Reserves 8 bytes per element for the message; pages of a host that are never
 * written cost no memory. SG_ERR_UNSUPPORTED: a compressor without SG_TRAIT_GPU on one. *out is NULL on failure. */
SG_CHECKED sg_status sg_compressor_open(sg_compressor **out, const struct sg_compressor_config *config,
                                        struct sg_error *err);

/* One step of Algorithm 1 for this worker: form p, send C(p), keep the rest in e.
 *   gamma  learning rate gamma_t > 0 of this step (used by the `update` form only)
 *   step   counts from 0; names the random stream
 *   g [d]  gradient, not modified
 *   e [d]  residual, updated; must be NULL when feedback is `none`, may be NULL for an exact compressor that sends fp32
 *   out    borrowed from c, valid until the next call on c
 * SG_ERR_NONFINITE names worker, step and layer; e is undefined then and the run must stop.
 * Same bits for every kernel table and thread count. */
SG_CHECKED sg_status sg_compressor_run(sg_compressor *c, double gamma, uint64_t step, const float *g, float *e,
                                       struct sg_message *out, struct sg_error *err);

/* The numbers that c sent last, as floats [m->count]; m is the message of that run. They lie in the kernels' memory and
 * are valid until c's next run. */
const float *sg_compressor_values(sg_compressor *c, const struct sg_message *m);

/* What is known of the next run's g: outside these ranges it is +0, as where only a few rows of a table were looked up.
 * NULL = nothing. It changes no result, if e holds what c's own earlier runs left, or zeros. A constant hard threshold in
 * the `gradient` form without decay, or without feedback, then looks at nothing else: what it left below lambda is there
 * still. */
void sg_compressor_touched(sg_compressor *c, const struct sg_ranges *touched);

/* Before a step where `due` says so, all workers' compressors must be given the same modes: the caller takes those that
 * worker 0's comes to from its gradient g [d] of that step. Never due for most compressors; their mode is NULL. */
bool sg_compressor_due(const sg_compressor *c, uint64_t step);
void sg_compressor_decide(sg_compressor *c, double gamma, uint64_t step, const float *g);
uint8_t *sg_compressor_mode(sg_compressor *c); /* [n_layers], to read and to set; accordion: 1 = critical */

/* After every step, for compressors that spend a budget: what this worker has to tell the others (0 elsewhere); then, on
 * each of the workers, what all of them did: the entries sent, mean over the workers, and the largest note. */
double sg_compressor_note(const sg_compressor *c);
void sg_compressor_learn(sg_compressor *c, uint64_t step, double entries, double note);

/* The lambda that the last step compared with, on the gradient's scale; INFINITY = nothing was to be sent, NaN = the
 * compressor has none, no step was taken, or it was a budget's last: each worker's largest, whatever they are. */
double sg_compressor_threshold(const sg_compressor *c);

/* The entries that a worker is to send over the whole run, on average; NaN = the compressor has no such budget. */
double sg_compressor_budget(const sg_compressor *c);

/* What a checkpoint needs of worker `worker` beside its residual: size, from any worker's object; out and in, from its
 * own. */
size_t sg_compressor_state_bytes(const sg_compressor *c, uint32_t worker);
void sg_compressor_state_save(const sg_compressor *c, void *out);
void sg_compressor_state_load(sg_compressor *c, const void *in);

/* NULL-safe. */
void sg_compressor_close(sg_compressor *c);

#ifdef __cplusplus
}
#endif
#endif
