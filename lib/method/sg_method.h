/* sg_method.h: how gradients are compressed, sent, and what each worker keeps.
 *
 * A method is what a recipe names: a compressor with its parameters, a code for the values it sends, a feedback rule, and
 * perhaps a controller that changes one parameter as training goes on. One sg_method serves all workers of one rank. One
 * step of worker i:
 *
 *     p_i = decay e_i + scale g_i     error feedback
 *     m_i = C(p_i)                    the compressor
 *     e_i = p_i - m_i                 error feedback
 *
 * and after it the messages of all workers are added in worker order (sg_message_add_all). Some compressors send more
 * than one message a step, one a round. A step, as trainer, oracle and tests take it:
 *
 *     if (sg_method_leads(m, step, gamma))     worker 0's rank: sg_method_lead(m, g of worker 0, square);
 *                                              square [n_layers] goes to all ranks
 *     sg_method_begin(m, step, gamma, square);
 *     for each round r < sg_method_rounds(m):
 *         for each worker w of this rank:      sg_method_send(m, w, r, g, e, touched, &message, &err);
 *         exchange:                            sum [sg_method_length(m, r)] of all workers' messages
 *         sg_method_receive(m, r, sum);
 *     for each worker w of this rank:          sg_method_keep(m, w, e, sum);
 *     exchange:                                the largest of all sg_method_note(m, w)
 *     sg_method_end(m, sum, entries, largest);
 *
 * Distinct workers may send and keep from distinct threads; the other calls are for one thread. */
#ifndef SG_METHOD_H
#define SG_METHOD_H

#include "sg_compressor.h"
#include "sg_controller.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sg_method sg_method;

struct sg_method_config {
    const struct sg_compressor_ops *compressor;
    const double *param; /* [compressor->n_params], NaN = not given (preset used) */
    /* NULL = the one that the compressor's parameters ask for, if any. */
    const struct sg_controller_ops *controller;
    const double *controller_param; /* [controller->n_params], likewise */
    struct sg_layout layout;        /* copied */
    struct sg_feedback feedback;    /* a parameter that is NaN takes its preset */
    /* Of the values that a selector sends; NULL = fp32. Of a code that rounds, e keeps the error. */
    const struct sg_code *code;
    const double *code_param; /* [code->n_params], NaN = preset; NULL = all presets */
    uint64_t seed;
    size_t workers;                   /* of all ranks; 0 = those of this rank */
    size_t first, count;              /* workers of this rank: first .. first + count - 1, count >= 1 */
    uint64_t steps_per_epoch;         /* for controllers that count in epochs; 0 = one epoch without end */
    uint64_t steps;                   /* of the whole run, for a budget; 0 = not known */
    const struct sg_kernels *kernels; /* NULL = best CPU table. g, e and messages lie in their memory */
    struct sg_exec exec;              /* of one worker's compression */
    bool turns;  /* workers take turns, so that one message buffer serves all: a message lasts until the next send */
    bool inputs; /* keep what is compressed, for sg_method_input */
};

/* Only the parts of config and their parameters, as far as they can be judged before a run: compressor, controller,
 * feedback rule (may be NULL here) and code. d: of the model, 0 = unknown yet. Where a message is about a controller or a
 * code, it begins with the key of a recipe's method that is at fault: "controller.high: …", "values: …". */
SG_CHECKED sg_status sg_method_check(const struct sg_method_config *config, size_t d, struct sg_error *err);

/* Reserves 8 to 10 bytes per element for a message; pages of a host that are never written cost no memory.
 * SG_ERR_UNSUPPORTED: a compressor without SG_TRAIT_GPU on one. *out is NULL on failure. */
SG_CHECKED sg_status sg_method_open(sg_method **out, const struct sg_method_config *config, struct sg_error *err);
void sg_method_close(sg_method *m); /* NULL-safe */

/* Must worker 0's squares be known to all ranks before this step? The same answer on every rank. */
bool sg_method_leads(const sg_method *m, uint64_t step, double gamma);
/* On worker 0's rank: square [n_layers] from its gradient g [d] of this step. */
void sg_method_lead(sg_method *m, const float *g, double *square);
/* gamma: learning rate of the step; step counts from 0 and names the random streams; square: [n_layers] where
 * sg_method_leads says so, else NULL. */
void sg_method_begin(sg_method *m, uint64_t step, double gamma, const double *square);

/* How many messages a worker sends at a step, and of what length the vectors of a round are: the same on every rank, and
 * at every step. */
unsigned sg_method_rounds(const sg_method *m);
size_t sg_method_length(const sg_method *m, unsigned round);

/* Round 0: form p, send C(p), keep the rest in e. A later round sends more of what round 0 began with.
 *   worker   number among all workers, one of this rank
 *   g [d]    gradient, not modified; NULL after round 0
 *   e [d]    residual, updated; must be NULL where feedback keeps none, may be NULL for an exact compressor of fp32
 *   touched  where g may differ from +0, NULL = anywhere. It changes no result, if e holds what this worker's own
 *            earlier sends left, or zeros
 *   out      borrowed from m, valid until this worker's next send (see `turns`)
 * SG_ERR_ARGUMENT: gamma is not a positive float. SG_ERR_NONFINITE names worker, step and layer; e is undefined then and
 * the run must stop. Same bits for every kernel table and thread count. */
SG_CHECKED sg_status sg_method_send(sg_method *m, size_t worker, unsigned round, const float *g, float *e,
                                    const struct sg_ranges *touched, struct sg_message *out, struct sg_error *err);
/* The numbers of the message that the worker sent last, as floats [count] in the kernels' memory, valid as long as it. */
const float *sg_method_values(sg_method *m, size_t worker, const struct sg_message *message);
/* What the worker has to tell the others after its send: one number, 0 for most methods. */
double sg_method_note(const sg_method *m, size_t worker);
/* What the worker's compressor was given in round 0, [d], if the method was opened with `inputs`; else NULL. */
const float *sg_method_input(const sg_method *m, size_t worker);
/* After the exchange of a round: sum [d], of which the first sg_method_length count, becomes what the next round needs;
 * after the last round it is the sum over workers, [d]. */
void sg_method_receive(sg_method *m, unsigned round, float *sum);
/* Are residuals complete only now, when the sum is known? Then each worker's must be completed, with the sum as the last
 * sg_method_receive left it; else sg_method_keep does nothing. */
bool sg_method_keeps_late(const sg_method *m);
void sg_method_keep(sg_method *m, size_t worker, float *e, const float *sum);
/* After the step. sum [d] becomes what the optimizer is given; NULL for a caller that has no use for it. entries: that a
 * worker sent, mean over all of them; largest_note: of all workers. */
void sg_method_end(sg_method *m, float *sum, double entries, double largest_note);

/* The threshold of the last step on the gradient's scale; INFINITY: the step was meant to send nothing. NaN: there is
 * none, because the method has none, because no step was taken yet, or because it was the last step of a budget, which
 * sends each worker's largest entries instead. */
double sg_method_threshold(const sg_method *m);
/* Entries that a worker is to send over the whole run, on average; NaN = the method has no such budget. */
double sg_method_budget(const sg_method *m);
/* [n_layers] 1 = the layer is in the mode that sends more (ACCORDION: critical); NULL = layers have no modes. */
const double *sg_method_modes(const sg_method *m);
/* The residuals are always zero, so none need exist. */
bool sg_method_is_exact(const sg_method *m);

/* What a checkpoint needs beside the residuals: once for all workers, the same on every rank, and of each worker, known
 * of every worker to every rank. The sizes do not change while the method is open. */
size_t sg_method_common_bytes(const sg_method *m);
void sg_method_common_save(const sg_method *m, void *out);
void sg_method_common_load(sg_method *m, const void *in);
size_t sg_method_worker_bytes(const sg_method *m, size_t worker);
void sg_method_worker_save(const sg_method *m, size_t worker, void *out);
void sg_method_worker_load(sg_method *m, size_t worker, const void *in);

#ifdef __cplusplus
}
#endif
#endif
