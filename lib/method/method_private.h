/* method_private.h: what the files of lib/method share; not installed. */
/* SPDX-License-Identifier: MIT */
#ifndef METHOD_PRIVATE_H
#define METHOD_PRIVATE_H

#include "sg_compressor_parts.h"
#include "sg_method.h"
#include "sg_row.h"

enum { SG_METHOD_PARAMS = SG_ROW_PARAMS }; /* most parameters that a compressor or a controller may declare */

/* Memory for a message that is being made, in the kernels' memory. */
struct message_room {
    uint32_t *index; /* [d]; NULL = the selector sends everything */
    float *value;    /* [d] */
    void *data;      /* the numbers in their code; NULL = that is fp32, as `value` is */
};

/* One worker of this rank. */
struct method_worker {
    struct sg_worker seen;
    struct message_room *room;
    size_t *count;     /* [n_layers] */
    double *state;     /* what the compressor keeps from step to step */
    const char *fault; /* what was wrong with a message, if its status is METHOD_MALFORMED */
    const float *g;    /* [d] the gradient of this step, or what the rule's `before` made of it */
    double note;
    struct sg_feedback_state feedback;
    /* [d] what is compressed, in memory for the kernels, if later rounds need it and no residual holds it; else NULL */
    float *p;
    float *input;      /* [d] input_room while copies of p are kept; else NULL */
    float *input_room; /* [d] if the method was opened with `inputs`; else NULL */
    /* [ranges] The same worker for each range of layers, with parts of its buffers, in the first layer of which its own
     * layer 0 lies; the messages of these ranges, and how many were made since the last whole one. */
    struct method_worker *part;
    /* [fragments] The same worker for each fragment of layers; [d] its g and e at one place. NULL = no fragments. */
    struct method_worker *of_fragment;
    float *packed_g, *packed_e;
    size_t layer;
    struct message_room part_room;
    struct sg_message sent;
    size_t ranges_sent;
};

/* A range of layers of which a message can be made by itself (method_ranges.c). */
struct method_range {
    struct sg_shared shared; /* what compressors see: a layout of these layers, which begins at 0 */
    size_t layer, begin;     /* the first layer, and the first element */
};

/* Layers that send at a step of their own (method_fragments.c). */
struct method_fragment {
    struct sg_shared shared; /* what compressors see: a layout of these layers, packed */
    size_t *layer;           /* [shared.layout.n_layers] */
    double *knob;            /* [shared.layout.n_layers] at this step */
};

/* A piece of a method's memory: the kernels', or the host's. */
enum method_owner { METHOD_COMMON, METHOD_ROOM, METHOD_WORKER, METHOD_OWNERS };
struct method_slot {
    void *at;
    bool of_kernels;
    enum method_owner owner;
    size_t bytes;
};

struct sg_method {
    struct method_slot *slot; /* [slots] all that sg_method_open took, for sg_method_close and sg_method_memory */
    size_t slots;
    enum method_owner owner; /* of what is taken now */
    bool lacks;              /* some memory was not there */
    const struct sg_compressor_ops *compressor;
    const struct sg_controller_ops *controller; /* NULL = none, and the knob is constant */
    double param[SG_METHOD_PARAMS], controller_param[SG_METHOD_PARAMS], code_param[SG_METHOD_PARAMS];
    struct sg_shared shared; /* what compressors see; its layout is a copy that the method owns */
    bool added;              /* the compressor or the code comes from a plug-in */
    /* How many numbers the compressor has for each worker and in shared.memory, and how many of the latter it keeps
     * between steps: its hooks returned them when the method was opened, so that checkpoints and memory agree on them.
     */
    size_t worker_doubles, floats, kept;
    size_t d, first, count;
    struct method_worker *worker; /* [count] */
    struct message_room *room;    /* [rooms] one for each worker, or shared by neighbours */
    size_t rooms;
    struct method_range *range; /* [ranges]; none if messages must be made of all layers at once */
    size_t ranges;
    struct sg_stream stream;           /* of the feedback rule; all 0 if it has none */
    struct method_fragment *fragment;  /* [stream.fragments] */
    float *pending;                    /* [d] sums that wait for their step; NULL = x moves at once */
    bool scratch_shared, shares_rooms; /* workers could share rooms; they do, as sg_method_shares_rooms says */

    struct sg_facts facts; /* of the present step */
    struct sg_settings settings;
    double decay;            /* factor on the old residual at this step */
    unsigned asked;          /* the controller's requests at this step, enum sg_ask */
    double *state, *decided; /* the controller's numbers; [n_layers] the knobs, to which settings.knob points */
    float *unreached;        /* [n_layers] thresholds that no finite number reaches */
    double *lead_square;     /* [n_layers] buffer for the result of sg_method_lead (method_drive.c) */
    float *lead_sum;         /* [d] the sum of worker 0's gradients; NULL if this rank never needs it */
    double *measured; /* [2][n_layers][SG_CANDIDATES] errors and sizes; NULL = this rank does not choose the knob */
    float *lost;      /* [d] x - C(x) of one value of the knob */
    struct sg_feedback_state common;
    /* For rules that send residuals, else NULL: the knobs in that message [n_layers], zeros [d], and the sum over
     * workers of the step's first messages [d]. */
    double *reset_knob;
    float *zeros, *first_sum;
    struct sg_message again;    /* the second message, made by the last method_receive */
    bool stepped;               /* true after the first sg_method_begin */
    bool decided_to_send;       /* in this step, for rules whose workers decide together */
    struct method_bytes *bytes; /* buffers for messages as bytes */
};

/* All compressors, controllers and feedback rules, each declared in a file of its own, in the order of help and
 * benchmarks: row(a), row(b) … */
#define METHOD_COMPRESSORS(row)                                                                                        \
    row(sg_compress_none), row(sg_compress_topk), row(sg_compress_hard_threshold), row(sg_compress_randomk),           \
        row(sg_compress_accordion), row(sg_compress_qsgd), row(sg_compress_powersgd), row(sg_compress_dgc),            \
        row(sg_compress_ef_signsgd), row(sg_compress_sign_l2), row(sg_compress_onebit), row(sg_compress_signsgd),      \
        row(sg_compress_terngrad), row(sg_compress_fp16), row(sg_compress_bf16), row(sg_compress_sign_l2_twice),       \
        row(sg_compress_terngrad_shared), row(sg_compress_ef_signsgd_twice)
#define METHOD_CONTROLLERS(row)                                                                                        \
    row(sg_control_accordion), row(sg_control_budget), row(sg_control_warm_up), row(sg_control_doubling),              \
        row(sg_control_noise)
#define METHOD_FEEDBACK_RULES(row)                                                                                     \
    row(sg_feedback_update), row(sg_feedback_gradient), row(sg_feedback_none), row(sg_feedback_momentum),              \
        row(sg_feedback_ef21), row(sg_feedback_ef21_sgdm), row(sg_feedback_lr_correction), row(sg_feedback_dgc),       \
        row(sg_feedback_mean), row(sg_feedback_cser), row(sg_feedback_local_steps), row(sg_feedback_dist_ef_sgdm),     \
        row(sg_feedback_dynamic_averaging), row(sg_feedback_diloco)

#define METHOD_NAME(name) name
extern const struct sg_compressor_ops METHOD_COMPRESSORS(METHOD_NAME);
extern const struct sg_controller_ops METHOD_CONTROLLERS(METHOD_NAME);
extern const struct sg_feedback_rule METHOD_FEEDBACK_RULES(METHOD_NAME);

/* The code of the numbers of a message; of no use if the compressor writes its messages by itself. */
static inline const struct sg_code *method_code(const sg_method *m) {
    return m->compressor->code ? m->compressor->code : m->shared.code;
}

/* A compressor's hook returned `status`; err->msg was empty before. Returns it, with a message in any case. */
sg_status method_hook_status(const sg_method *m, sg_status status, struct sg_error *err);

/* m <- the parameters of config; m->facts must describe the run (method_check.c). */
SG_CHECKED sg_status method_resolve(sg_method *m, const struct sg_method_config *config, struct sg_error *err);

/* Buffers for messages as bytes, m->bytes (method_bytes.c). They are allocated by the first step that needs them. */
/* How many threads a flat call may use that was asked to use so many: one in a child of fork(). */
int flat_threads(int threads);
SG_CHECKED sg_status method_bytes_open(sg_method *m, struct sg_error *err);
void method_bytes_close(sg_method *m);

/* Bytes of room for the data of a message; 0 = the values are the data. */
size_t method_data_bytes(const sg_method *m);

/* How many numbers the method's controller keeps between steps; 0 without a controller. */
size_t method_doubles(const sg_method *m);

/* Returns whether the current step also sends the residual, in a second message. */
bool method_resets(const sg_method *m);

/* The length of the vectors of a round of the compressor. */
size_t method_length(const sg_method *m, unsigned round);

/* What sg_method_drive calls beside sg_method_begin (method_step.c). method_leads: all ranks need the result of
 * sg_method_lead before this step. method_round_length: of the vectors of a round of the step, which changes only with
 * the knob. Both are the same on every rank. method_hear: before a receive, if sg_method_hears; the messages of all
 * workers. method_receive: after the exchange of a round, whose sum [length] becomes the input of the next round, and
 * after the last one sum [d] is the sum over workers. method_end: sum [d] becomes the input of the optimizer; NULL =
 * nobody needs it. */
bool method_leads(const sg_method *m, uint64_t step, double gamma);
size_t method_round_length(const sg_method *m, unsigned round);
void method_hear(sg_method *m, const struct sg_message *messages);
void method_receive(sg_method *m, unsigned round, float *sum);
void method_end(sg_method *m, float *sum, const struct sg_spent *spent);

/* Compresses x [d] with every candidate of the knob and lets the controller choose one per layer (method_choose.c). */
void method_choose(sg_method *m, const float *x, double *knob);

/* Returns whether the method keeps the sum of this worker's gradients for its controller; the same on every rank. */
bool method_keeps_lead_sum(const sg_method *m, size_t worker);

/* Returns whether a plug-in added the compressor to the table. */
bool method_is_added(const struct sg_compressor_ops *ops);

/* Return what is wrong with a selection of all layers, or with a message of this round whose code is not NULL
 * (message_check.c); NULL = it is valid. */
const char *method_selection_fault(const struct sg_layout *layout, const struct sg_select *s);
const char *method_message_fault(const sg_method *m, const struct sg_layout *layout, unsigned round,
                                 const struct sg_message *x);

/* Makes one worker's message of a round (method_message.c). Returns enum sg_kernel_status, or METHOD_MALFORMED with the
 * reason in w->fault. After SG_KERNEL_NONFINITE w->count[0] is the layer. */
enum { METHOD_MALFORMED = 64 };
int method_message(sg_method *m, struct method_worker *w, unsigned round, const struct sg_select *s,
                   struct sg_message *out);

/* The steps of a send (method_step.c): the worker; a check of what is given, which tells the compressor of the step;
 * the selection of g and e; the error that a status of kernels means. */
struct method_worker *method_worker_at(const sg_method *m, size_t worker);
SG_CHECKED sg_status method_prepare(const sg_method *m, struct method_worker *w, float *e, struct sg_error *err);
struct sg_select method_step_selection(const sg_method *m, const struct method_worker *w, const float *g, float *e);
sg_status method_fail(const sg_method *m, const struct method_worker *w, int kernel_status, struct sg_error *err);

/* A worker as it is for some of its layers, which `shared` describes: it has its own scratch and all else of `room` and
 * `count`. */
SG_CHECKED sg_status method_part_open(const sg_method *m, struct method_worker *part, const struct method_worker *w,
                                      const struct sg_shared *shared, struct message_room *room, size_t *count,
                                      struct sg_error *err);

/* Fragments of layers (method_fragments.c). method_stream_at: the fragment that sends at a step; s->fragments = none.
 * method_fragment_message makes a worker's message of the present step's. method_spread: from the fragment's numbers at
 * the front of x [d] to all, with zeros. method_hold: sum [d] <- that of the fragment that moves at this step. */
SG_CHECKED sg_status method_stream_check(const sg_method *m, bool sampled, bool copies, struct sg_error *err);
SG_CHECKED sg_status method_fragments_open(sg_method *m, struct sg_error *err);
void method_fragments_begin(sg_method *m);
void method_fragments_close(sg_method *m);
size_t method_stream_at(const struct sg_stream *s, uint64_t step);
const struct method_fragment *method_fragment_sent(const sg_method *m);
int method_fragment_message(sg_method *m, struct method_worker *w, float *e, struct sg_message *out,
                            struct sg_error *err);
void method_spread(const sg_method *m, float *x);
void method_merge_now(const sg_method *m, struct method_worker *w);
void method_hold(const sg_method *m, float *sum);

/* Ranges of layers (method_ranges.c). method_ranges_open comes after all workers are open, method_ranges_begin copies
 * what compressors see of a step. method_join: *out <- the message of all layers, from those of all ranges. */
SG_CHECKED sg_status method_ranges_open(sg_method *m, const struct sg_method_config *config, struct sg_error *err);
void method_ranges_begin(sg_method *m);
void method_ranges_close(sg_method *m);
void method_join(const sg_method *m, struct method_worker *w, struct sg_message *out);

/* Returns SG_KERNEL_OK, or SG_KERNEL_NONFINITE if a number of x [d] is not finite; w->count[0] is then its layer. */
int method_check_finite(const sg_method *m, const struct method_worker *w, const float *x);

/* ---- ACCORDION's parameters, of the controller and of the compressor of that name ---- */

#define SG_ACCORDION_THRESHOLD                                                                                         \
    { "threshold", 0, INFINITY, 0.5, false, "relative change of a critical layer's gradient norm" }
#define SG_ACCORDION_INTERVAL                                                                                          \
    { "interval", 1, 1e9, 10, true, "epochs between decisions" }
#define SG_ACCORDION_ACCUMULATE                                                                                        \
    {                                                                                                                  \
        "accumulate", 0, 1, 0, true,                                                                                   \
            "0: gradients of the decision's step (paper); 1: sums over the epoch before (authors' code)"               \
    }

/* ---- a budget of entries that a threshold must keep (threshold_budget.c) ---- */

/* The state of a budget. It has doubles only, so that a checkpoint can copy it. Initially lambda is INFINITY, rate is
 * NaN and all else is 0. */
struct sg_threshold_budget {
    double lambda;   /* of the next step; INFINITY before the first gradients, and when the budget is used up */
    double sent;     /* entries that a worker sent so far, mean over workers */
    double rate;     /* entries that a worker sends at a step, a moving average; NaN before the first step */
    double gamma;    /* learning rate of the last step; 0 before the first step */
    double steering; /* 1 = lambda is being changed, 0 = it is held */
};

/* Called after the first step. `all`: entries that a worker may send over `steps` steps. sum_squares: the largest |g|^2
 * of a worker at the first step. */
void sg_threshold_budget_start(struct sg_threshold_budget *b, double all, uint64_t steps, double sum_squares);
/* Called before step `step`, which compares p with lambda gamma (gamma = 1 in the gradient form). Returns the maximum
 * of entries that a worker may send, an integer. lambda is 0 at the last step. `whole`: messages are not cut. Then the
 * number of entries is not limited, lambda is not 0 at the last step, and the budget may be one of bits. */
double sg_threshold_budget_begin(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step, double gamma,
                                 bool whole);
/* Called after step `step`, at which workers sent `entries` each on average. */
void sg_threshold_budget_learn(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                               double entries);

#endif
