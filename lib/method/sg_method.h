/* sg_method.h: how gradients are compressed, sent, and what each worker keeps.
 *
 * A method is what a recipe names: a compressor with its parameters, a code for the values it sends, a feedback rule,
 * and perhaps a controller that changes one parameter as training goes on. One sg_method serves all workers of one
 * rank. At one step worker i does
 *
 *     p_i = decay e_i + scale g_i     error feedback
 *     m_i = C(p_i)                    the compressor
 *     e_i = p_i - m_i                 error feedback
 *
 * Then the messages of all workers are added in worker order (sg_message_add_all). Some compressors send several
 * messages a step, one in each round. sg_drive.h plays such a step, and here is what its hooks call.
 *
 * Distinct workers may send and keep from distinct threads. The other calls are for one thread. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_METHOD_H
#define SG_METHOD_H

#include "sg_unstable.h"
#include "sg_compressor.h"
#include "sg_controller.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_method_config {
    size_t size; /* sizeof(struct sg_method_config), so that the library detects headers of another version */
    const struct sg_compressor_ops *compressor;
    const double *param; /* [compressor->n_params] NaN = not given, so the preset is used */
    /* NULL = the controller that the compressor's hook `controller` returns for its parameters, if any. */
    const struct sg_controller_ops *controller;
    const double *controller_param; /* [controller->n_params] NaN = preset */
    struct sg_layout layout;        /* copied */
    struct sg_feedback feedback;    /* a rule's parameter that is NaN takes its preset */
    /* For the values that a selector sends; NULL = fp32. If the code rounds, e keeps the error. */
    const struct sg_code *code;
    const double *code_param; /* [code->n_params] NaN = preset; NULL = all presets */
    uint64_t seed;
    size_t workers;                   /* on all ranks; 0 = only those of this rank */
    size_t first, count;              /* the workers of this rank: first .. first + count - 1, count >= 1 */
    uint64_t steps_per_epoch;         /* for controllers that count in epochs; 0 = one epoch without end */
    uint64_t steps;                   /* of the whole run, for controllers that need it; 0 = not known */
    const struct sg_kernels *kernels; /* NULL = the best CPU table; g, e and messages lie in its memory */
    struct sg_exec exec;              /* for the compression of one worker */
    /* true: all workers share one message buffer, so a message is valid only until the next send of any worker.
     * false: each worker has its own. */
    bool turns;
    /* Without `turns`: how many message buffers there are, if sg_method_shares_rooms says that workers may share them;
     * 0 = one for each worker. The first `count` / rooms workers share one, the next the next one: room r serves the
     * workers first + count r / rooms to first + count (r + 1) / rooms - 1. */
    size_t rooms;
    /* Ranges of layers for sg_method_send_range: range [ranges + 1] has the first layer of each, ascending, and at its
     * end n_layers. They are copied. ranges 0 = none. */
    const size_t *range;
    size_t ranges;
    bool inputs; /* keep what is compressed, for sg_method_input; not on a GPU */
    /* true: at a step only some of the workers take part. The others do not send, and their residuals and momenta do
     * not change. Refused for compressors with rounds, which go by all workers, for rules that say `every_step`, and
     * for controllers that go by worker 0 or reset all residuals. */
    bool sampled;
    /* true: k of Top-k comes from `copied` [steps][layout.n_layers][workers] and not from the parameters, which are
     * checked all the same. A layer with fewer elements sends all it has, and 0 sends nothing of it. The counts are
     * borrowed until the method is closed; `steps` must be known. Refused for other compressors, with a controller, for
     * rules that send residuals, and if `sampled`. Checks may have copied = NULL, which sg_method_open refuses. */
    bool copies;
    const uint32_t *copied;
};

/* Checks the parts of a config and their parameters, as far as that is possible before a run: compressor, controller,
 * feedback rule (here it may be NULL) and code. d = 0: it is not known yet. A message about a controller or a code
 * begins with the key of the recipe's method that is wrong: "controller.high: …", "values: …"; one about `sampled` with
 * "participation: ". */
SG_UNSTABLE SG_CHECKED sg_status sg_method_check(const struct sg_method_config *config, size_t d, struct sg_error *err);

/* How many parameter values sg_method_read_text stores. */
enum { SG_TEXT_NUMBERS = 48 };
/* Parses the text of a method (sg_flat.h) and sets the fields of config that it names; the others do not change. The
 * parameter pointers of config then point into `room`, which must exist until the method is open. SG_ERR_ARGUMENT: a
 * word is wrong; the message suggests the nearest valid word, and config is undefined. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_read_text(struct sg_method_config *config, double room[SG_TEXT_NUMBERS],
                                                     const char *text, struct sg_error *err);

/* Copies what it needs of the config. It reserves 8 to 10 bytes an element for a message; on a host, pages that are
 * never written cost no memory. SG_ERR_ARGUMENT: the layout or a parameter is wrong. SG_ERR_UNSUPPORTED: the compressor
 * does not run on a GPU. *out is NULL on failure. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_open(sg_method **out, const struct sg_method_config *config,
                                                struct sg_error *err);

/* Called on worker 0's rank with its gradient g [d], by the hook `lead`. square [n_layers] <- lead_square of struct
 * sg_facts. */
SG_UNSTABLE void sg_method_lead(sg_method *m, const float *g, double *square);
/* Begins a step of which single messages are made, without an exchange. gamma is its learning rate. `step` counts from
 * 0 and names the random streams. square [n_layers] is the result of sg_method_lead if the controller asks for it; else
 * it must be NULL. */
SG_UNSTABLE void sg_method_begin(sg_method *m, uint64_t step, double gamma, const double *square);

/* How many messages a worker sends in the current step, the same on every rank. Round 0 may make it grow. */
SG_UNSTABLE unsigned sg_method_rounds(const sg_method *m);
/* true: the current step sends messages. false: it has one round without an exchange. Then sg_method_send is called for
 * every worker and makes an empty message, sg_method_keep is not called, and x does not change. The value is the same
 * on every rank. If the workers decide together when to send, it is false until round 0 was received, in which every
 * worker sends one number. */
SG_UNSTABLE bool sg_method_sends(const sg_method *m);
/* true: x moves at the current step. So it does where messages are sent, unless the rule has a stream with a delay. The
 * value is the same on every rank. sg_method_moves_layer: a stream moves only some layers. */
SG_UNSTABLE bool sg_method_moves(const sg_method *m);
SG_UNSTABLE bool sg_method_moves_layer(const sg_method *m, size_t layer);
/* The number of fragments whose messages take turns; 1 = a message has all layers. */
SG_UNSTABLE size_t sg_method_fragments(const sg_method *m);
/* Called for each worker after x moved by step [d]: a worker with parameters of its own takes over x, or part of it. */
SG_UNSTABLE void sg_method_merge(sg_method *m, size_t worker, const float *step);
/* The first step from `step` on that sends messages; the number of steps of the run if there is none in it. */
SG_UNSTABLE uint64_t sg_method_next_send(const sg_method *m, uint64_t step);
/* true: the messages of this round are exchanged. It is false only if the step sends nothing at all. */
SG_UNSTABLE bool sg_method_exchanges(const sg_method *m, unsigned round);
/* true: the last message of this step is made of p. false: the step sends nothing, or it sends the residual after p. */
SG_UNSTABLE bool sg_method_sends_input(const sg_method *m);

/* For methods whose workers have own parameters (sg_method_is_local): a worker computes its gradient at x - offset.
 * Returns offset [d], in the kernels' memory and valid until the worker's next send; NULL = the gradient is computed at
 * x. e is the worker's residual. All workers share x; the optimizer updates it, evaluations and checkpoints use it. */
SG_UNSTABLE const float *sg_method_offset(const sg_method *m, size_t worker, float *e);

/* Makes a worker's message. Round 0 forms p, makes C(p) and keeps the rest in e. Later rounds send more of the same p.
 *   worker   its number among all workers; the worker must belong to this rank
 *   g [d]    gradient, not modified; NULL after round 0
 *   e [d]    residual, updated; must be NULL if feedback keeps none, may be NULL for an exact compressor with fp32
 *   touched  ranges where g may differ from +0; NULL = anywhere. It does not change the result if e is zero or was
 *            written by this worker's earlier sends
 *   out      borrowed from m, valid until this worker's next send (see `turns`)
 * SG_ERR_ARGUMENT: gamma is not a positive float. SG_ERR_NONFINITE names worker, step and layer; then e is undefined
 * and the run must stop. SG_ERR_MEMORY, and SG_ERR_UNSUPPORTED if the device failed. The bits are the same for every
 * kernel table and number of threads. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_send(sg_method *m, size_t worker, unsigned round, const float *g, float *e,
                                                const struct sg_ranges *touched, struct sg_message *out,
                                                struct sg_error *err);
/* Why messages of a method of this config must be made of all layers at once; NULL = they can be made range by range.
 * Its ranges need not be set. */
SG_UNSTABLE const char *sg_method_whole_reason(const struct sg_method_config *config);
/* true: at this step, every worker's message of round 0 can be made range by range. It is false at all steps if there
 * is a reason above, or the config has no ranges, and at a step for which a controller limits what is sent. */
SG_UNSTABLE bool sg_method_sends_ranges(const sg_method *m);
/* Makes the part of a worker's message, in round 0, that belongs to range `range` of layers; ranges come in any order.
 * Only this range of g and e is read and written; both point to the whole vectors. *out is a message of the range's
 * elements, which count from 0, and is valid until sg_method_send. After all ranges that function is called for
 * the worker, with the whole gradient: it joins the parts to the message that it would have made without them, with the
 * same bits. Errors are those of sg_method_send. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_send_range(sg_method *m, size_t worker, size_t range, const float *g,
                                                      float *e, struct sg_message *out, struct sg_error *err);
/* The numbers of the worker's last message as floats [count] in the kernels' memory, valid as long as the message. */
SG_UNSTABLE const float *sg_method_values(sg_method *m, size_t worker, const struct sg_message *message);
/* One number of a worker, after its send. All ranks need its maximum over all workers. 0 for most methods. */
SG_UNSTABLE double sg_method_note(const sg_method *m, size_t worker);
/* The input [d] of the worker's compressor in round 0. NULL if the method was opened without `inputs`, or if the last
 * send came after sg_method_keep_inputs(m, false). sg_method_keep_inputs needs a method that was opened with
 * `inputs`. */
SG_UNSTABLE const float *sg_method_input(const sg_method *m, size_t worker);
SG_UNSTABLE void sg_method_keep_inputs(sg_method *m, bool keep);
/* true: every rank needs the single messages of all workers, which the hook `exchange` gives. They are borrowed until
 * the next send, or the end of sg_method_keep. */
SG_UNSTABLE bool sg_method_hears(const sg_method *m);
/* The message of a second compression: some methods compress the sum again, once for all workers. It has no data,
 * because only its size is counted. NULL = there is none. It is valid until the next round is over. */
SG_UNSTABLE const struct sg_message *sg_method_again(const sg_method *m);
/* true: sg_method_keep must complete each worker's residual after the last round of this step. It needs the sum that
 * then lies in `sum`. false, as in a step that sends nothing: sg_method_keep does nothing. */
SG_UNSTABLE bool sg_method_keeps_late(const sg_method *m);
SG_UNSTABLE void sg_method_keep(sg_method *m, size_t worker, float *e, const float *sum);
/* lost [d] <- p - C(p) of a worker, for every feedback rule; sg_method_input must not be NULL. Called by the hooks
 * `arrived` and `keep`, before sg_method_keep, with the sum and the worker's last message, which must still be valid.
 * If single workers have no message of their own, C(p) is what the compressor counts as arrived. Later steps are not
 * affected. */
SG_UNSTABLE void sg_method_lost(sg_method *m, size_t worker, const struct sg_message *message, const float *sum,
                                float *lost);
/* true: right after sg_method_send, p is the decoded message plus the residual. false for compressors of several
 * rounds, and for feedback rules that keep something else in the residual. */
SG_UNSTABLE bool sg_method_splits(const sg_method *m);

/* The threshold of the last step, on the gradient's scale, in the first layer if they differ. INFINITY: the step was
 * meant to send nothing. NaN: the method has no threshold, there was no step yet, or it was the last step of a budget,
 * which sends each worker's largest entries. */
SG_UNSTABLE double sg_method_threshold(const sg_method *m);
/* The budget: entries that a worker may send over the whole run, on average; NaN = the method has no budget. */
SG_UNSTABLE double sg_method_budget(const sg_method *m);
/* [n_layers] 1 = the layer is in the mode that sends more (ACCORDION: critical). NULL = there are no modes. */
SG_UNSTABLE const double *sg_method_modes(const sg_method *m);
/* The factor from the gradient's scale to that of p at this step: gamma if feedback works in updates, else 1. */
SG_UNSTABLE double sg_method_unit(const sg_method *m);
/* enum sg_trait of the messages. If a code rounds a selector's values, SG_TRAIT_UNBIASED is cleared, because codes do
 * not declare it. */
SG_UNSTABLE unsigned sg_method_traits(const sg_method *m);
/* true: the residuals are always zero, so the caller need not allocate them. */
SG_UNSTABLE bool sg_method_is_exact(const sg_method *m);

/* true: workers share the config's `rooms`, so a message is valid only until the next send of any worker of its room.
 * false: each worker has a buffer of its own. So it is with compressors of several rounds, with `inputs`, and where
 * messages have all numbers as floats, which are as long as their buffers. */
SG_UNSTABLE bool sg_method_shares_rooms(const sg_method *m);

/* How much memory a method takes, in bytes: an estimate for a host, before a run. A selector by `k` or `density` sends
 * so many entries; where a threshold, a controller or another run decides, a tenth of the elements is assumed. */
struct sg_method_memory {
    double worker;              /* of a worker, beside its residual and its message */
    double message;             /* of a worker's message */
    double room;                /* what the making of a message writes of its room */
    double common;              /* of all workers together */
    const struct sg_code *code; /* of messages that have all numbers; NULL = they have not, or each has its own */
    bool scratch_shared; /* if there are fewer rooms than workers, they share them, and else each worker has a room */
};
SG_UNSTABLE void sg_method_memory(const sg_method *m, struct sg_method_memory *out);

#ifdef __cplusplus
}
#endif
#endif
