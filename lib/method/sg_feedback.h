/* sg_feedback.h: feedback rules say what becomes of the part of a gradient that was not sent.
 *
 * A rule is one `const struct sg_feedback_rule` and its name in method_private.h. Most rules keep a residual e for every
 * worker (Algorithm 1 of the paper). With the decay b (1 = the paper's) and the scale c (gamma if the rule works in
 * updates, else 1):
 *
 *     p = b e + c g      e <- p - C(p)
 *
 * A rule may put another vector in the place of g and change what the sum over workers stands for. For that it may keep
 * vectors of its own, of every worker and common to all workers. Checkpoints have them all. */
#ifndef SG_FEEDBACK_H
#define SG_FEEDBACK_H

#include "sg_unstable.h"

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

enum { SG_FEEDBACK_VECTORS = 3, SG_FEEDBACK_PARAMS = 4 };

struct sg_shared; /* sg_compressor.h */

/* The vectors that a rule keeps of one worker, or common to all workers. They lie in the kernels' memory. */
struct sg_feedback_state {
    float *vector[SG_FEEDBACK_VECTORS]; /* each [d], zeros before the first step; NULL = the rule has no such vector */
    size_t d;
    float *e;                       /* [d] the residual of this worker, during its hooks; NULL = it is always zero */
    double unit;                    /* c at this step, during `before` */
    const double *param;            /* [n_params] the rule's, presets filled in */
    const struct sg_shared *shared; /* the step, the number of workers, the decay */
    const struct sg_kernels *kernels;
    const struct sg_exec *exec;
};

struct sg_feedback_rule {
    const char *name, *summary, *source; /* as those of a compressor */
    const struct sg_parameter *params;   /* without the decay, which all rules have */
    size_t n_params;
    bool keeps; /* is there a residual e [d]? */
    /* Is c = gamma, so that p is in the units of the parameters? Else the learning rate comes after the sum. */
    bool in_updates;
    bool follows_rate; /* is the old residual multiplied by (gamma of the last step) / gamma, too? */
    bool scaled;       /* does what `before` returns have the factor c already? */
    bool on_gpu;       /* do its hooks leave all work on vectors to the kernels? */
    size_t worker_vectors, common_vectors;
    /* Vectors of a worker behind its others that hold nothing from step to step, so that checkpoints lack them; with the
     * others <= SG_FEEDBACK_VECTORS. */
    size_t worker_room;
    /* Called once a step for each worker, before its message. Returns the vector [d] that takes the place of g [d]; it
     * must be valid until `after`. NULL = g itself. */
    const float *(*before)(const struct sg_feedback_state *worker, const float *g);
    /* Called when this worker's message of round 0 is made. NULL = there is nothing to do. */
    void (*after)(const struct sg_feedback_state *worker, const float *g, const struct sg_message *sent);
    /* Called when e holds p - C(p), for compressors of several rounds after the last one. It may change e to what is
     * kept. NULL = that is kept. */
    void (*keep)(const struct sg_feedback_state *worker);
    /* Called once a step on every rank. sum [d] is the sum over workers, and must become n times what the optimizer is
     * given. NULL = it is that already. */
    void (*result)(const struct sg_feedback_state *common, float *sum);

    /* ---- rules whose workers have parameters of their own; they are in updates ---- */

    /* A worker's own parameters are x less the vector [d] that this returns, and its gradient is taken there. x is what
     * all workers share, and what the optimizer moves. NULL = every worker has x itself. The vector that is returned may
     * be NULL, too: this worker has x. */
    const float *(*offset)(const struct sg_feedback_state *worker);
    /* Does anyone send at this step? If not, `before` is all that is called of a worker. NULL = at every step. */
    bool (*sends)(const double *param, uint64_t step);
    /* Is the residual compressed at this step, too? It is a second message, after `keep`, and what is sent of it leaves e.
     * The compressor must have one round. NULL = never. */
    bool (*resets)(const double *param, uint64_t step);
    /* 1: the first parameter is the value of the compressor's knob in that message; NaN = the knob of the step. Else 0. */
    size_t n_knobs;
};

/* The rule of a method. */
struct sg_feedback {
    const struct sg_feedback_rule *rule;
    double decay;                     /* factor on the old residual, 0 .. 1; 1 = the paper's */
    double param[SG_FEEDBACK_PARAMS]; /* [rule->n_params] */
};

SG_UNSTABLE extern const struct sg_feedback_rule sg_feedback_update, sg_feedback_gradient, sg_feedback_none;

/* The i-th rule of the table; NULL past the end. The rule of that name; NULL if it is unknown. */
SG_UNSTABLE const struct sg_feedback_rule *sg_feedback_at(size_t i);
SG_UNSTABLE const struct sg_feedback_rule *sg_feedback_find(const char *name);

/* Adds a rule behind the table's others. It must stay where it is, and no other thread may use the table meanwhile.
 * SG_ERR_ARGUMENT: its name is taken, or it lacks something. */
SG_UNSTABLE SG_CHECKED sg_status sg_feedback_add(const struct sg_feedback_rule *rule, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
