/* sg_feedback.h: feedback rules: what becomes of the part of a gradient that was not sent.
 *
 * A rule is one `const struct sg_feedback_rule` and one row in feedback_table.c. Most rules keep a residual e for every
 * worker (Algorithm 1 of the paper): with the decay b (1 = the paper's) and the scale c (gamma where the rule works in
 * updates, else 1),
 *
 *     p = b e + c g      e <- p - C(p)
 *
 * A rule may put another vector in the place of g, change what the sum over workers stands for, and keep vectors of its
 * own for that, of every worker and common to all of them. Checkpoints have them all. */
#ifndef SG_FEEDBACK_H
#define SG_FEEDBACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_kernels.h"
#include "sg_message.h"
#include "sg_parameter.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SG_FEEDBACK_VECTORS = 2, SG_FEEDBACK_PARAMS = 4 };

/* A rule's vectors of one worker, or those common to all workers. They lie in the kernels' memory. */
struct sg_feedback_state {
    float *vector[SG_FEEDBACK_VECTORS]; /* each [d]; +0 at first */
    size_t d;
    const double *param; /* [n_params] presets filled in */
    const struct sg_kernels *kernels;
    const struct sg_exec *exec;
};

struct sg_feedback_rule {
    const char *name, *summary, *source; /* as of a compressor */
    const struct sg_parameter *params;   /* beside the decay, which all rules share */
    size_t n_params;
    bool keeps;      /* there is a residual e [d] */
    bool in_updates; /* c = gamma, so p is in the units of the parameters; else the learning rate comes after the sum */
    bool on_gpu;
    size_t worker_vectors, common_vectors; /* <= SG_FEEDBACK_VECTORS */
    /* The vector that takes the place of g [d]; it is valid until `after`. NULL = g itself. */
    const float *(*before)(const struct sg_feedback_state *worker, const float *g);
    /* Called once this worker's message is made. NULL = nothing to do. */
    void (*after)(const struct sg_feedback_state *worker, const float *g, const struct sg_message *sent);
    /* sum [d], the sum over workers, becomes what the optimizer is given; called once a step on every rank. NULL = the
     * sum is that already. */
    void (*result)(const struct sg_feedback_state *common, float *sum);
};

/* The rule that a method uses. */
struct sg_feedback {
    const struct sg_feedback_rule *rule;
    double decay;                     /* factor on the old residual, 0 .. 1; 1 = the paper's */
    double param[SG_FEEDBACK_PARAMS]; /* [rule->n_params] */
};

extern const struct sg_feedback_rule sg_feedback_update, sg_feedback_gradient, sg_feedback_none;

/* The table: the i-th rule, NULL past the end; by name, NULL if it is unknown. */
const struct sg_feedback_rule *sg_feedback_at(size_t i);
const struct sg_feedback_rule *sg_feedback_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
