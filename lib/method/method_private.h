/* method_private.h: what the files of lib/method share; not installed. */
#ifndef METHOD_PRIVATE_H
#define METHOD_PRIVATE_H

#include "sg_method.h"

enum {
    SG_METHOD_PARAMS = 16,         /* most parameters that a compressor or a controller may declare */
    METHOD_WORTH_THREADS = 1 << 15 /* from so many elements on a second thread saves more than it costs */
};

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
    size_t *count; /* [n_layers] */
    double note;
    struct sg_feedback_state feedback;
    float *p;     /* [d] what is compressed, if later rounds need it and no residual holds it; else NULL */
    float *input; /* [d] a copy of p, if the method was opened with `inputs`; else NULL */
};

struct sg_method {
    const struct sg_compressor_ops *compressor;
    const struct sg_controller_ops *controller; /* NULL = there is none, and the knob stays as it is */
    double param[SG_METHOD_PARAMS], controller_param[SG_METHOD_PARAMS], code_param[SG_METHOD_PARAMS];
    struct sg_shared shared; /* what compressors see; its layout is a copy that the method owns */
    size_t d, first, count;
    struct method_worker *worker; /* [count] */
    struct message_room *room;    /* [rooms] one for each worker, or one for all */
    size_t rooms;

    struct sg_facts facts; /* of the present step */
    struct sg_settings settings;
    unsigned asked;          /* what the controller asks for at this step, enum sg_ask */
    double *state, *decided; /* the controller's numbers; [n_layers] the knobs, to which settings.knob points */
    float *unreached;        /* [n_layers] thresholds that no finite number reaches */
    float *
        lead_sum; /* [d] the sum of worker 0's gradients, if this rank has worker 0 and the controller may ask for it; else NULL */
    struct sg_feedback_state common;
    bool stepped; /* was a step begun? */
};

extern const struct sg_compressor_ops sg_compress_none, sg_compress_topk, sg_compress_hard_threshold,
    sg_compress_randomk, sg_compress_accordion, sg_compress_qsgd, sg_compress_powersgd;
extern const struct sg_compressor_ops sg_compress_fp16, sg_compress_bf16, sg_compress_natural, sg_compress_natural_8,
    sg_compress_dithering, sg_compress_8bit, sg_compress_int_block, sg_compress_minmax, sg_compress_eden,
    sg_compress_grid, sg_compress_switchml, sg_compress_intsgd, sg_compress_global_qsgd, sg_compress_quantile,
    sg_compress_inceptionn;
extern const struct sg_controller_ops sg_control_accordion, sg_control_budget, sg_control_warm_up, sg_control_doubling,
    sg_control_error_reset;
extern const struct sg_feedback_rule sg_feedback_momentum, sg_feedback_ef21;

/* m <- the parameters of config; m->facts must say what is known of the run (method_check.c). */
SG_CHECKED sg_status method_resolve(sg_method *m, const struct sg_method_config *config, struct sg_error *err);

/* How many numbers the method's controller keeps; 0 where there is no controller. */
size_t method_doubles(const sg_method *m);

/* Does the method keep the sum of worker `worker`'s gradients for its controller? The same answer on every rank. */
bool method_keeps_lead_sum(const sg_method *m, size_t worker);

/* to [d] <- factor to + x, element by element, so with the same bits for any number of threads. In host memory. */
void method_combine(const struct sg_feedback_state *s, float *to, float factor, const float *x);

/* Makes one worker's message of a round (method_message.c). Returns enum sg_kernel_status. If it is
 * SG_KERNEL_NONFINITE, w->count[0] is the layer. */
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

/* topk and randomk take exactly one of two parameters: `k` (a count) or `density` (a fraction). These are neighbours,
 * and `param` of the functions below points at the first of them. */
enum { SG_SHARE_K = 0, SG_SHARE_DENSITY = 1, SG_SHARE_PARAMS = 2 };
#define SG_SHARE_K_PARAMETER                                                                                           \
    { "k", 1, 4294967295.0, NAN, true, "elements sent of every layer; a layer with fewer sends all it has" }
#define SG_SHARE_DENSITY_PARAMETER                                                                                     \
    { "density", 0, 1, NAN, false, "fraction c of every layer's n elements, above 0: sends max(1, floor(c n))" }

SG_CHECKED sg_status sg_share_check(const double *param, size_t d, struct sg_error *err);

/* Which of the two is given? */
size_t sg_share_knob(const double *param);

/* How many of a layer's n elements are sent: min(k, n), or max(1, floor(density n)); 0 for n = 0. `value` is k or the
 * density. */
size_t sg_share_of(double value, bool is_density, size_t n);

/* delta = share / n for Top-k and random-k (Definition 2); 1 for n = 0. */
double sg_share_delta(const double *param, size_t n);

/* Exact Top-k of each layer, with the k or density that is its knob. sg_topk_open allocates w->scratch. */
SG_CHECKED sg_status sg_topk_open(struct sg_worker *w, struct sg_error *err);
int sg_topk_select(struct sg_worker *w, struct sg_select *s, bool is_density);

/* ---- integers that workers add exactly (integer_sum.c) ---- */

/* Room for the integers that a worker sends. `open` hooks put it into w->scratch. */
struct sg_integers {
    float *q;        /* [d] whole numbers */
    uint32_t *index; /* [d] */
    size_t *count;   /* [n_layers] */
    void *data;      /* of a message */
};

/* Opens the room. `agreed`: how many numbers each worker sends in a place of its own (sg_integers_agree); all workers'
 * must fit into d places. `name` is the compressor's. */
SG_CHECKED sg_status sg_integers_open(struct sg_worker *w, size_t agreed, const char *name, struct sg_error *err);

/* out <- the message of q [n], in integers of `bits` bits; one that needs more is written as a float. The sum over
 * workers is exact as long as it is below 2^24. */
void sg_integers_write(const struct sg_worker *w, size_t n, unsigned bits, struct sg_message *out);

/* out <- the message of q [agreed] in places that no other worker uses: of n = workers * agreed numbers, those from
 * worker * agreed on. As floats, or as integers of `bits` bits. */
void sg_integers_agree(const struct sg_worker *w, size_t agreed, unsigned bits, struct sg_message *out);
/* The largest number that a worker sent in place i of its own; sum is that of the round. */
float sg_integers_agreed(const struct sg_shared *s, const float *sum, size_t agreed, size_t i);

/* q [n] <- factor p, rounded at random without bias but at most `most` in magnitude. `first` is the place of p [0] among
 * all elements, which names the draws. */
void sg_integers_round(const struct sg_worker *w, float *q, const float *p, size_t first, size_t n, double factor,
                       double most);

/* ---- a budget, spent by a threshold (threshold_budget.c) ---- */

/* The state of a budget. It has doubles only, so that a checkpoint copies it. At first lambda is INFINITY, rate is NaN
 * and all else is 0. */
struct sg_threshold_budget {
    double lambda;   /* of the next step; INFINITY before the first gradients are known, and when all is spent */
    double sent;     /* entries that a worker sent so far, mean over workers */
    double rate;     /* entries that a worker sends at a step, a moving average; NaN before the first step */
    double gamma;    /* learning rate of the last step; 0 before the first step */
    double steering; /* 1 = lambda is being changed, 0 = it is held */
};

/* Called after the first step. `all`: entries that a worker may send over `steps` steps. sum_squares: the largest |g|^2
 * of a worker at the first step. */
void sg_threshold_budget_start(struct sg_threshold_budget *b, double all, uint64_t steps, double sum_squares);
/* Called before step `step`, which compares p with lambda gamma (gamma = 1 in the gradient form). Returns the most
 * entries that a worker may send, a whole number. lambda is 0 at the last step. */
double sg_threshold_budget_begin(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                                 double gamma);
/* Called after step `step`, at which workers sent `entries` each on average. */
void sg_threshold_budget_learn(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                               double entries);

#endif
