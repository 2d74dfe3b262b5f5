/* sg_feedback.h: feedback rules, which define what happens to the part of a gradient that was not sent.
 *
 * A rule is one `const struct sg_feedback_rule` and its name in method_private.h. Most rules keep a residual e for
 * every worker (Algorithm 1 of the paper). With the decay b (1 = the paper's) and the scale c (gamma if the rule works
 * in updates, else 1):
 *
 *     p = b e + c g      e <- p - C(p)
 *
 * A rule may replace g by another vector and change the meaning of the sum over workers. For that it may keep vectors
 * of its own, for each worker and common to all workers. Checkpoints save all of them. */
/* SPDX-License-Identifier: MIT */
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

enum { SG_FEEDBACK_VECTORS = 3, SG_FEEDBACK_PARAMS = 5 };

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

/* Messages of fragments. A fragment is a set of layers, and has its own steps to send. */
struct sg_stream {
    uint64_t interval; /* steps from a message of a fragment to its next one */
    uint64_t delay;    /* steps from a message to the step at which its sum moves x; below `interval` */
    size_t fragments;  /* 1 .. interval; they take turns at equal distances */
    double mixing;     /* where a fragment of x moves, a worker's own x_i becomes mixing x_i + (1 - mixing) x */
    bool strided;      /* blocks of layers are dealt to fragments in turn; false = fragments are runs of blocks */
};

struct sg_feedback_rule {
    const char *name, *summary, *source; /* as those of a compressor */
    const struct sg_parameter *params;   /* without the decay, which all rules have */
    size_t n_params;
    bool keeps; /* true: there is a residual e [d] */
    /* true: c = gamma, so p is in the units of the parameters. false: the learning rate is applied to the sum. */
    bool in_updates;
    bool follows_rate; /* true: the old residual is also multiplied by (gamma of the last step) / gamma */
    bool scaled;       /* true: the vector that `before` returns includes the factor c */
    bool on_gpu;       /* true: only kernels touch vectors in its hooks, so it runs on a GPU */
    bool every_step;   /* true: each worker must send at each step, so a run may not sample its workers */
    size_t worker_vectors, common_vectors;
    /* Scratch vectors of a worker, which checkpoints do not save; with worker_vectors <= SG_FEEDBACK_VECTORS. */
    size_t worker_room;
    /* Called once a step for each worker, before its message. Returns the vector [d] that replaces g [d]; it must be
     * valid until `after`. NULL = g itself. */
    const float *(*before)(const struct sg_feedback_state *worker, const float *g);
    /* Called when this worker's message of round 0 is made. NULL = there is nothing to do. */
    void (*after)(const struct sg_feedback_state *worker, const float *g, const struct sg_message *sent);
    /* Called when e holds p - C(p): for compressors of several rounds after the last round. It may change e. NULL = e
     * stays p - C(p). */
    void (*keep)(const struct sg_feedback_state *worker);
    /* Called once a step on every rank. sum [d] is the sum over the n workers, and must become n times the optimizer's
     * input. NULL = the sum needs no change. */
    void (*result)(const struct sg_feedback_state *common, float *sum);

    /* ---- rules whose workers have parameters of their own; they are in updates ---- */

    /* Returns offset [d]: the worker's own parameters are x - offset, and its gradient is computed there. All workers
     * share x, and the optimizer updates it. A returned NULL means that this worker's parameters are x. If the hook is
     * NULL, this holds for every worker. */
    const float *(*offset)(const struct sg_feedback_state *worker);
    /* Sets *out, which decides when workers send. At other steps only `before` is called for a worker. NULL = they send
     * all layers at every step, and x moves there. */
    void (*stream)(const double *param, struct sg_stream *out);
    /* With `stream`: x moved by step [d], and the worker keeps the share `mixing` of its own parameters begin .. end -
     * 1. With mixing 0 step may be NULL. */
    void (*merge)(const struct sg_feedback_state *worker, size_t begin, size_t end, double mixing, const float *step);
    /* True: what a worker steps along need not be its gradient. It may have an optimizer of its own, which makes g of
     * the gradient before `before`, and the mean of what is sent may go through a second one, the outer optimizer. Both
     * are the caller's. */
    bool steps_alone;
    /* For workers that decide together when to send; both hooks or neither, and `stream` is NULL. In a round before
     * all others, after `before`, every worker sends the number that `measure` returns, as one float. `decides` is
     * given the mean over all workers and returns whether the step goes on to send messages. */
    double (*measure)(const struct sg_feedback_state *worker);
    bool (*decides)(const double *param, double mean);
    /* Returns whether the residual is sent too at this step: as a second message, after `keep`, which is then
     * subtracted from e. The compressor must have one round. NULL = never. */
    bool (*resets)(const double *param, uint64_t step);
    /* 1: the rule's first parameter is the compressor's knob for the message of the residual (`resets`); NaN = the knob
     * of the step. 0: the rule has no such parameter. */
    size_t n_knobs;
};

/* The rule of a method. */
struct sg_feedback {
    const struct sg_feedback_rule *rule;
    double decay;                     /* factor on the old residual, 0 .. 1; 1 = the paper's */
    double param[SG_FEEDBACK_PARAMS]; /* [rule->n_params] */
};

/* Whether a step of this rule sends messages, for rules without `measure`; whether x moves at the step. */
SG_UNSTABLE bool sg_feedback_sends(const struct sg_feedback *f, uint64_t step);
SG_UNSTABLE bool sg_feedback_moves(const struct sg_feedback *f, uint64_t step);

SG_UNSTABLE extern const struct sg_feedback_rule sg_feedback_update, sg_feedback_gradient, sg_feedback_none;

/* The i-th rule of the table; NULL past the end. The rule of that name; NULL if it is unknown. */
SG_UNSTABLE const struct sg_feedback_rule *sg_feedback_at(size_t i);
SG_UNSTABLE const struct sg_feedback_rule *sg_feedback_find(const char *name);

/* Adds a rule at the end of the table. *rule must stay valid, and no other thread may use the table during the call.
 * SG_ERR_ARGUMENT: its name exists already, or *rule is incomplete. */
SG_UNSTABLE SG_CHECKED sg_status sg_feedback_add(const struct sg_feedback_rule *rule, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
