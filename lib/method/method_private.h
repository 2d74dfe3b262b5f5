/* method_private.h: what the files of lib/method share; not installed. */
#ifndef METHOD_PRIVATE_H
#define METHOD_PRIVATE_H

#include "sg_method.h"

enum {
    SG_METHOD_PARAMS = 16,         /* most parameters that a compressor or a controller may declare */
    METHOD_WORTH_THREADS = 1 << 15 /* elements from which on a second thread saves more than it costs */
};

/* Room for a message under construction, in the kernels' memory. */
struct message_room {
    uint32_t *index; /* [d]; NULL where a selector sends everything */
    float *value;    /* [d] */
    void *data;      /* the numbers in their code; NULL where that is fp32 */
};

/* One worker of this rank. */
struct method_worker {
    struct sg_worker seen;
    struct message_room *room;
    size_t *count; /* [n_layers] */
    double note;
    struct sg_feedback_state feedback;
    float *p;     /* [d] what is compressed, where several rounds need it and no residual holds it; or NULL */
    float *input; /* [d] a copy of p for whoever records it; or NULL */
};

struct sg_method {
    const struct sg_compressor_ops *compressor;
    const struct sg_controller_ops *controller; /* NULL = the knob stays as it is */
    double param[SG_METHOD_PARAMS], controller_param[SG_METHOD_PARAMS], code_param[SG_METHOD_PARAMS];
    struct sg_shared shared; /* what compressors see; its layout is an owned copy */
    size_t d, first, count;
    struct method_worker *worker; /* [count] */
    struct message_room *room;    /* [rooms]: one a worker, or one for all */
    size_t rooms;

    struct sg_facts facts; /* of the step at hand */
    struct sg_settings settings;
    unsigned asked;          /* at this step */
    double *state, *decided; /* of the controller; [n_layers] the knobs, which settings.knob points to */
    float *lead_sum;         /* [d] of worker 0's gradients, where it is here and the controller may ask; or NULL */
    struct sg_feedback_state common;
    bool stepped; /* a step was begun */
};

extern const struct sg_compressor_ops sg_compress_none, sg_compress_topk, sg_compress_hard_threshold,
    sg_compress_randomk, sg_compress_accordion, sg_compress_qsgd, sg_compress_powersgd;
extern const struct sg_controller_ops sg_control_accordion, sg_control_budget, sg_control_warm_up, sg_control_doubling,
    sg_control_error_reset;
extern const struct sg_feedback_rule sg_feedback_momentum, sg_feedback_ef21;

/* The parameters of config into m, whose facts say what is known of the run (method_check.c). */
SG_CHECKED sg_status method_resolve(sg_method *m, const struct sg_method_config *config, struct sg_error *err);

/* Does the method keep the sum of worker `worker`'s gradients, as a controller may ask for? (method.c) */
bool method_keeps_lead_sum(const sg_method *m, size_t worker);

/* to [d] <- factor to + x, in the order of the elements' own operations: the same bits for any number of threads. */
void method_combine(const struct sg_feedback_state *s, float *to, float factor, const float *x);

/* One worker's message of a round, from its p (method_message.c): enum sg_kernel_status; of SG_KERNEL_NONFINITE
 * w->count[0] is the layer. */
int method_message(sg_method *m, struct method_worker *w, unsigned round, const struct sg_select *s,
                   struct sg_message *out);

/* ---- ACCORDION's parameters, of the controller and of the compressor of that name ---- */

#define SG_ACCORDION_THRESHOLD                                                                                         \
    { "threshold", 0, INFINITY, 0.5, false, "relative change of the norm of a layer's gradient that makes it critical" }
#define SG_ACCORDION_INTERVAL                                                                                          \
    { "interval", 1, 1e9, 10, true, "epochs between decisions" }
#define SG_ACCORDION_ACCUMULATE                                                                                        \
    {                                                                                                                  \
        "accumulate", 0, 1, 0, true,                                                                                   \
            "0: norms of the gradients at the step of the decision, as in the paper; 1: of the gradients summed "      \
            "over the epoch before it, as in the code of ACCORDION's authors"                                          \
    }

/* ---- how much of a layer (share_parameter.c) ---- */

/* "How many of a layer" as topk and randomk take it: `k` (a count) or `density` (a fraction), exactly one of them, as
 * two neighbouring parameters that the functions below are pointed at. */
enum { SG_SHARE_K = 0, SG_SHARE_DENSITY = 1, SG_SHARE_PARAMS = 2 };
#define SG_SHARE_K_PARAMETER                                                                                           \
    { "k", 1, 4294967295.0, NAN, true, "elements sent of every layer; a layer with fewer sends all it has" }
#define SG_SHARE_DENSITY_PARAMETER                                                                                     \
    { "density", 0, 1, NAN, false, "fraction c of every layer's n elements, above 0: sends max(1, floor(c n))" }

SG_CHECKED sg_status sg_share_check(const double *param, size_t d, struct sg_error *err);

/* Which of the two is given. */
size_t sg_share_knob(const double *param);

/* Elements sent of a layer of n: min(k, n), or max(1, floor(density n)) and 0 for n = 0. `value` is k or the density. */
size_t sg_share_of(double value, bool is_density, size_t n);

/* delta = share / n, what Top-k and random-k leave of |x|^2; 1 for n = 0. */
double sg_share_delta(const double *param, size_t n);

/* Exact Top-k of each layer, of as many as its knob says; w->scratch is from sg_topk_open. */
SG_CHECKED sg_status sg_topk_open(struct sg_worker *w, struct sg_error *err);
int sg_topk_select(struct sg_worker *w, struct sg_select *s, bool is_density);

/* ---- a budget, spent by a threshold (threshold_budget.c) ---- */

/* Doubles only, so that a checkpoint is a plain copy. At first all 0 but lambda = INFINITY, rate = NAN. */
struct sg_threshold_budget {
    double lambda;   /* of the next step; INFINITY before the first gradients are known and once all is spent */
    double sent;     /* entries a worker sent so far, mean over workers */
    double rate;     /* the same a step, a moving average; NaN before the first */
    double gamma;    /* learning rate of the last step; 0 before the first */
    double steering; /* 1 = lambda is on the move, 0 = held */
};

/* `all`: entries a worker may send over `steps` steps. sum_squares: |g|^2 of the worker with the largest at the first
 * step. */
void sg_threshold_budget_start(struct sg_threshold_budget *b, double all, uint64_t steps, double sum_squares);
/* Before step `step`, which compares p with lambda gamma (gamma = 1 in the gradient form): the most that a worker may
 * send, a whole number. lambda is 0 at the last step. */
double sg_threshold_budget_begin(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                                 double gamma);
/* After step `step`, at which workers sent `entries` each on average. */
void sg_threshold_budget_learn(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                               double entries);

#endif
