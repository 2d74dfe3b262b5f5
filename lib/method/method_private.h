/* method_private.h: what the files of lib/method share; not installed. */
#ifndef METHOD_PRIVATE_H
#define METHOD_PRIVATE_H

#include "sg_method.h"
#include "sg_rng.h"
#include "sg_row.h"

enum {
    SG_METHOD_PARAMS = SG_ROW_PARAMS, /* most parameters that a compressor or a controller may declare */
    METHOD_WORTH_THREADS = 1 << 15    /* from so many elements on a second thread saves more than it costs */
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

struct sg_method {
    const struct sg_compressor_ops *compressor;
    const struct sg_controller_ops *controller; /* NULL = none, and the knob is constant */
    double param[SG_METHOD_PARAMS], controller_param[SG_METHOD_PARAMS], code_param[SG_METHOD_PARAMS];
    struct sg_shared shared; /* what compressors see; its layout is a copy that the method owns */
    bool added;              /* the compressor or the code comes from a plug-in */
    /* How many numbers the compressor keeps between steps, for each worker, and in shared.memory: its hooks returned
     * them when the method was opened, so that checkpoints and memory agree on them. */
    size_t worker_doubles, floats;
    size_t d, first, count;
    struct method_worker *worker; /* [count] */
    struct message_room *room;    /* [rooms] one for each worker, or shared by neighbours */
    size_t rooms;
    struct method_range *range; /* [ranges]; none if messages must be made of all layers at once */
    size_t ranges;
    bool may_share, shares_rooms; /* workers could share rooms; they do, as sg_method_shares_rooms says */

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
    struct sg_message again;    /* the second message, made by the last sg_method_receive */
    bool stepped;               /* true after the first sg_method_begin */
    bool decided_to_send;       /* in this step, for rules whose workers decide together */
    struct method_bytes *bytes; /* buffers for messages as bytes */
};

/* All compressors, controllers and feedback rules, each declared in a file of its own, in the order of help and
 * benchmarks: row(a), row(b) … */
#define METHOD_COMPRESSORS(row)                                                                                        \
    row(sg_compress_none), row(sg_compress_topk), row(sg_compress_hard_threshold), row(sg_compress_randomk),           \
        row(sg_compress_accordion), row(sg_compress_qsgd), row(sg_compress_powersgd), row(sg_compress_sidco_e),        \
        row(sg_compress_sidco_gp), row(sg_compress_sidco_p), row(sg_compress_gaussiank), row(sg_compress_redsync),     \
        row(sg_compress_dgc), row(sg_compress_topk_reuse), row(sg_compress_ef_signsgd), row(sg_compress_sign_l2),      \
        row(sg_compress_onebit), row(sg_compress_signsgd), row(sg_compress_terngrad), row(sg_compress_strom),          \
        row(sg_compress_dryden), row(sg_compress_signtopk), row(sg_compress_stc), row(sg_compress_fp16),               \
        row(sg_compress_bf16), row(sg_compress_natural), row(sg_compress_natural_8), row(sg_compress_dithering),       \
        row(sg_compress_8bit), row(sg_compress_int_block), row(sg_compress_minmax), row(sg_compress_eden),             \
        row(sg_compress_grid), row(sg_compress_switchml), row(sg_compress_intsgd), row(sg_compress_global_qsgd),       \
        row(sg_compress_quantile), row(sg_compress_sign_l2_twice), row(sg_compress_terngrad_shared),                   \
        row(sg_compress_topk_block), row(sg_compress_block_threshold), row(sg_compress_mstopk),                        \
        row(sg_compress_wangni), row(sg_compress_vqsgd), row(sg_compress_topk_twice), row(sg_compress_induced),        \
        row(sg_compress_svd_threshold), row(sg_compress_atomo), row(sg_compress_clt_k), row(sg_compress_gtopk),        \
        row(sg_compress_ok_topk), row(sg_compress_demo), row(sg_compress_sparseloco), row(sg_compress_inceptionn),     \
        row(sg_compress_global_qsgd_exp), row(sg_compress_ef_signsgd_twice), row(sg_compress_clipped_threshold),       \
        row(sg_compress_clipped_topk), row(sg_compress_topk_then_threshold), row(sg_compress_threshold_then_topk)
#define METHOD_CONTROLLERS(row)                                                                                        \
    row(sg_control_accordion), row(sg_control_budget), row(sg_control_warm_up), row(sg_control_doubling),              \
        row(sg_control_l_greco), row(sg_control_noise), row(sg_control_dqsgd),            \
        row(sg_control_adaqs)
#define METHOD_FEEDBACK_RULES(row)                                                                                     \
    row(sg_feedback_update), row(sg_feedback_gradient), row(sg_feedback_none), row(sg_feedback_momentum),              \
        row(sg_feedback_ef21), row(sg_feedback_ef21_sgdm), row(sg_feedback_econtrol), row(sg_feedback_low_pass),       \
        row(sg_feedback_lr_correction), row(sg_feedback_dgc), row(sg_feedback_mean), row(sg_feedback_cser),            \
        row(sg_feedback_local_steps), row(sg_feedback_dist_ef_sgdm), row(sg_feedback_dynamic_averaging),               \
        row(sg_feedback_diloco)

#define METHOD_NAME(name) name
extern const struct sg_compressor_ops METHOD_COMPRESSORS(METHOD_NAME);
extern const struct sg_controller_ops METHOD_CONTROLLERS(METHOD_NAME);
extern const struct sg_feedback_rule METHOD_FEEDBACK_RULES(METHOD_NAME);

/* The code of the numbers of a message; of no use if the compressor writes its messages by itself. */
static inline const struct sg_code *method_code(const sg_method *m) {
    return m->compressor->code != NULL ? m->compressor->code : m->shared.code;
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

/* What a second message of a step, of residuals (method_step.c), adds to the number of the step. */
#define METHOD_SECOND_MESSAGE ((uint64_t)1 << 40)

/* The number of the step, whichever message of it is made. */
static inline uint64_t method_step_number(const struct sg_shared *s) {
    return s->step % METHOD_SECOND_MESSAGE;
}

/* Bytes of room for the data of a message; 0 = the values are the data. */
size_t method_data_bytes(const sg_method *m);

/* How many numbers the method's controller keeps between steps; 0 without a controller. */
size_t method_doubles(const sg_method *m);

/* Returns whether the current step also sends the residual, in a second message. */
bool method_resets(const sg_method *m);

/* The length of the vectors of a round of the compressor. */
size_t method_length(const sg_method *m, unsigned round);

/* Compresses x [d] with every candidate of the knob and lets the controller choose one per layer (method_choose.c). */
void method_choose(sg_method *m, const float *x, double *knob);

/* Returns whether the method keeps the sum of this worker's gradients for its controller; the same on every rank. */
bool method_keeps_lead_sum(const sg_method *m, size_t worker);

/* to [d] <- factor to + x, element by element, so with the same bits for any number of threads. */
void method_combine(const struct sg_feedback_state *s, float *to, float factor, const float *x);

/* For rules whose workers send changes of an estimate: common vector 0 += sum, which makes it the sum of all workers'
 * estimates; sum [d] <- common vector 0. */
void method_add_to_estimate(const struct sg_feedback_state *common, float *sum);

/* Returns whether the compressor was added to the table by a plug-in. */
bool method_is_added(const struct sg_compressor_ops *ops);

/* Return what is wrong with a selection of all layers, or with a message of this round whose code is not NULL
 * (message_check.c); NULL = it is valid. */
const char *method_selection_fault(const sg_method *m, const struct sg_select *s);
const char *method_message_fault(const sg_method *m, unsigned round, const struct sg_message *x);

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

/* Ranges of layers (method_ranges.c). method_ranges_open comes after all workers are open, method_ranges_begin copies
 * what compressors see of a step. method_join: *out <- the message of all layers, from those of all ranges. */
SG_CHECKED sg_status method_ranges_open(sg_method *m, const struct sg_method_config *config, struct sg_error *err);
void method_ranges_begin(sg_method *m);
void method_ranges_close(sg_method *m);
void method_join(const sg_method *m, struct method_worker *w, struct sg_message *out);

/* Returns SG_KERNEL_OK, or SG_KERNEL_NONFINITE if a number of x [d] is not finite; w->count[0] is then its layer. */
int method_check_finite(const sg_method *m, const struct method_worker *w, const float *x);

/* s->count [n_layers] <- how many of the first `found` positions of the selection are in each layer. Returns enum
 * sg_kernel_status, on a CPU always SG_KERNEL_OK. */
int method_count_layers(const struct sg_kernels *kernels, const struct sg_select *s, size_t found);

/* Writes numbers of all layers, w->count of each, in `code` into w->data, and sets code, data, bytes and bits of the
 * message. `numbers` has value, count, param and knob; worker and step determine the code's random draws. Returns enum
 * sg_kernel_status, on a CPU always SG_KERNEL_OK. */
int method_write(const struct sg_worker *w, const struct sg_code *code, struct sg_numbers numbers,
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
#define SG_SHARE_PARAMETERS                                                                                            \
    [SG_SHARE_K] = SG_SHARE_K_PARAMETER,                                                                               \
    [SG_SHARE_DENSITY] = {                                                                                             \
        "density", 0, 1, NAN, false, "fraction c of every layer's n elements, above 0: sends max(1, floor(c n))"}
extern const struct sg_parameter sg_share_params[SG_SHARE_PARAMS]; /* of compressors that have no other */

SG_CHECKED sg_status sg_share_check(const double *param, size_t d, struct sg_error *err);

/* Returns the index of the parameter that is given, SG_SHARE_K or SG_SHARE_DENSITY. */
size_t sg_share_knob(const double *param);

/* How many of the n elements of layer l are sent, with the knob of this step; the compressor's first parameters are k
 * and density. */
size_t sg_share_in(const struct sg_shared *s, size_t l, size_t n);

/* How many of a layer's n elements are sent: min(k, n), or max(1, floor(density n)); 0 for n = 0. `value` is k or the
 * density. */
size_t sg_share_of(double value, bool is_density, size_t n);

/* delta = share / n for Top-k and random-k (Definition 2); 1 for n = 0. */
double sg_share_delta(const double *param, size_t n);

/* Exact Top-k of each layer, with the k or density that is its knob. sg_topk_open allocates w->scratch: for each layer
 * k, and its last k-th magnitude, which is a hint for the kernel. */
struct sg_topk {
    float *guess;
    size_t k[]; /* [n_layers], followed by the guesses */
};
SG_CHECKED sg_status sg_topk_open(struct sg_worker *w, struct sg_error *err);
int sg_topk_select(struct sg_worker *w, struct sg_select *s);

/* The float m for which the probabilities min(1, |x[i]| / m) add up to about k, 1 <= k <= n (compress_wangni.c). */
float sg_proportional_level(const float *x, size_t n, size_t k);

/* Eigenvectors of the symmetric matrix a [m][m], which is overwritten with a diagonal one; v [m][m]: row i belongs to
 * the i-th number of the diagonal (symmetric_eigen.c). */
void sg_symmetric_eigen(double *a, double *v, size_t m);

/* ---- singular triplets of a layer's matrix M = p (compress_svd.c) ---- */

/* M with its shorter side first: m vectors of n numbers. */
struct sg_triplets {
    size_t rows, columns, m, n;
    double *a, *gram, *u, *q; /* [m][n], [m][m], [m][m], [m][n]: row i of u times a is row i of q */
    float *size;              /* [m] the singular values, descending as `order` names them */
    size_t *order;            /* [m] */
};
/* Moves the triplets that are sent to the front of x->order, and their factors into scale [m]. Returns how many. */
typedef size_t sg_triplets_fn(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng,
                              double *scale);
/* An unbiased random choice: each triplet is sent with the probability q = min(1, value / level), scaled by 1 / q. */
size_t sg_triplets_draw(struct sg_triplets *x, double level, sg_rng *rng, double *scale);
/* A coder that sends the chosen triplets. If factors would not be smaller than the layer, it sends numbers: those of M,
 * or, if the choice is `random`, those of the product of the chosen triplets, so that the mean remains M. */
SG_CHECKED sg_status sg_triplets_open(struct sg_worker *w, struct sg_error *err);
void sg_triplets_encode(struct sg_worker *w, const float *p, struct sg_message *out, sg_triplets_fn *choose,
                        bool random);

/* Gram-Schmidt on columns of n numbers. It projects every column twice, to remove rounding errors along the earlier
 * columns. A column in the span of the earlier ones becomes 0 (compress_powersgd.c). */
void sg_orthonormalize(float *columns, size_t rank, size_t n);

/* ---- blocks of consecutive elements that are selected as if they were layers (select_blocks.c) ---- */

/* The content of w->scratch: n >= 1 blocks, which cover the layers in order; no block spans two layers. */
struct sg_blocks {
    size_t n;
    size_t *offset;            /* [n + 1] */
    size_t *count, *k, *layer; /* [n] entries sent, k of Top-k, index of the layer */
    float *threshold;          /* [n] of each block; negative at first */
};
/* Cuts every layer into blocks of `size` elements; the last block of a layer may be smaller. sg_blocks_of returns how
 * many these are. */
size_t sg_blocks_of(const struct sg_layout *layout, size_t size);
SG_CHECKED sg_status sg_blocks_open(struct sg_worker *w, size_t size, struct sg_error *err);
/* begin returns s with blocks as layers; end converts the kernel's status and counts to those of s. */
struct sg_select sg_blocks_begin(const struct sg_worker *w, const struct sg_select *s);
int sg_blocks_end(const struct sg_worker *w, const struct sg_select *s, int status);

/* ---- thresholds computed from a layer's own numbers (threshold_estimate.c); for vectors in host memory ---- */

/* Computes p [d] of a selection in s->value, with the same bits as the kernels, and returns it. The caller may
 * overwrite it. */
float *sg_form_p(const struct sg_select *s);
/* The least float t >= 0 with |p| >= t equivalent to |p| > x (above), |p| >= x (at). INFINITY for NaN: send nothing. */
float sg_threshold_above(double x);
float sg_threshold_at(double x);
/* How many of |x[0 .. n-1]| are >= t. */
size_t sg_count_at_least(const float *x, size_t n, float t);
/* The mean of x[i] - shift, or of |x[i]| - shift, and the variance around a mean with the divisor n - 1; 0 if n is too
 * small. Computed in double; the order of the sums is fixed. */
double sg_mean(const float *x, size_t n, bool magnitudes, double shift);
double sg_variance(const float *x, size_t n, bool magnitudes, double mean);
/* The sum of the squares of x[i] - mean, or of |x[i]| - mean. */
double sg_squares_around(const float *x, size_t n, bool magnitudes, double mean);
/* The k-th largest of |x[i]|, i = 0, stride, 2 stride, ... < n; 1 <= k <= the number of these i. */
float sg_kth_magnitude(const float *x, size_t n, size_t stride, size_t k);

/* The threshold for about k of n normal numbers with this mean and deviation. It is corrected at most three times by
 * counting the numbers above it; the last one is returned, even if its count is not within k / 3 of k. */
float sg_gaussian_threshold(const float *x, size_t n, size_t k, double mean, double deviation);

/* Finds the k largest magnitudes of n numbers; ties go to the first; 1 <= k <= n. sg_is_largest must be called once for
 * each number, in order. */
struct sg_largest {
    uint32_t least; /* bits of the k-th magnitude */
    size_t equal;   /* how many more numbers of exactly this magnitude are selected */
};
struct sg_largest sg_largest_of(const float *x, size_t n, size_t k);
bool sg_is_largest(struct sg_largest *of, float x);

/* Returns a threshold for layer `layer`: about k of its n >= 1 numbers x have a magnitude >= it and are sent. The
 * function may overwrite x, which may contain NaN or Inf. */
typedef float sg_estimate_fn(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k);
/* A selector that sends all magnitudes >= the estimated threshold. The compressor's first parameters are k and density.
 * sg_estimate_open allocates w->scratch: the thresholds [n_layers]. */
SG_CHECKED sg_status sg_estimate_open(struct sg_worker *w, struct sg_error *err);
int sg_estimate_select(struct sg_worker *w, struct sg_select *s, sg_estimate_fn *estimate);
/* ---- integers that workers add exactly (integer_sum.c) ---- */

/* The integers q are in w->value. A compressor's `open` hook calls sg_integers_open, which refuses a sum that the bits
 * do not hold (`fits` is false), and a model too small for `agreed` numbers of every worker (sg_integers_agree); `name`
 * is the compressor's, whose first parameter is the bits. Its hook `data_bytes` is sg_integers_bytes. */
SG_CHECKED sg_status sg_integers_open(const struct sg_worker *w, size_t agreed, bool fits, const char *name,
                                      struct sg_error *err);
/* The largest integer that each worker may send so that their sum fits into the bits. */
double sg_integers_most(const struct sg_shared *s);
size_t sg_integers_bytes(const struct sg_shared *s);

/* out <- the message of q [n], in integers of `bits` bits; one that needs more is written as a float. The sum over
 * workers is exact as long as it is below 2^24. */
void sg_integers_write(const struct sg_worker *w, size_t n, unsigned bits, struct sg_message *out);

/* out <- the message of q [agreed], at positions of this worker only: worker * agreed + i of n = workers * agreed. It
 * has floats, or integers of `bits` bits. */
void sg_integers_agree(const struct sg_worker *w, size_t agreed, unsigned bits, struct sg_message *out);
/* The maximum over workers of number i of their `agreed` numbers; sum is the sum of that round. */
float sg_integers_agreed(const struct sg_shared *s, const float *sum, size_t agreed, size_t i);

/* x as a float, the largest one if x is larger: levels of large floats add up to more than floats hold, also where the
 * numbers themselves cancel. */
float sg_integers_value(double x);
/* q [n] <- factor p, rounded at random without bias, then clamped to |q| <= most. `first` is the index of p [0] among
 * all elements, which determines the draws. */
void sg_integers_round(const struct sg_worker *w, float *q, const float *p, size_t first, size_t n, double factor,
                       double most);
/* w->scratch <- a buffer for d positions. */
SG_CHECKED sg_status sg_positions_open(struct sg_worker *w, struct sg_error *err);
/* Selects elements of layer x [n], n >= 1, which starts at position `begin` of the model. Writes their positions to
 * `to` and returns how many there are. rng is the worker's stream of this step. */
typedef size_t sg_positions_fn(const struct sg_worker *w, size_t layer, const float *x, size_t n, size_t begin,
                               sg_rng *rng, uint32_t *to);
/* A selector that sends the positions that `choose` selects in every layer; sg_positions_open allocated w->scratch. */
int sg_positions_select(struct sg_worker *w, struct sg_select *s, sg_positions_fn *choose);

/* ---- what coders and rounds share (collective.c) ---- */

/* The `knob` hook of a compressor whose knob is its first parameter. */
size_t method_first_knob(const double *param);
/* The `floats` hooks of rounds that keep one float for each element, or for each layer. */
size_t method_float_an_element(const struct sg_layout *layout);
size_t method_float_a_layer(const struct sg_layout *layout);
/* How many elements the model has. w->count <- how many each layer has, for a message of all; returns their sum. */
size_t method_elements(const struct sg_shared *s);
size_t method_count_all(const struct sg_worker *w);
/* For `data_bytes`: upper bound of the bytes of all elements in this code; its parameters are the compressor's. */
size_t method_code_bytes(const struct sg_shared *s, const struct sg_code *code);
/* For a compressor that compresses the mean over workers again: x [n] <- rate_ratio x + sum / workers, where x is what
 * the receivers kept of earlier steps. */
void method_add_mean(const struct sg_shared *s, float *x, const float *sum, size_t n);
/* out <- a message of floats value [count], w->count in each layer, for a vector of n numbers. */
void method_send_floats(const struct sg_worker *w, size_t n, size_t count, const uint32_t *index, const float *value,
                        double bits, struct sg_message *out);

/* A selection of p that writes to a coder's buffers w->index, w->value and w->count. */
struct sg_select method_selection(const struct sg_worker *w, const float *p);
/* A coder's Top-k message of p, in the buffers of w; its code is NULL if memory is exhausted. The coder's first
 * parameters are k and density, and sg_topk_open allocated w->scratch. */
void method_topk_message(struct sg_worker *w, const float *p, struct sg_message *out);
/* Position of entry j of a message; j itself if its index is NULL. */
uint32_t method_position(const struct sg_message *m, size_t j);

/* ---- layers in chunks (chunk.c) ---- */

enum { METHOD_CHUNK = 64 }; /* maximum number of rows and of columns of a chunk */

/* A layer as a matrix that is cut into chunks of height x width. Both are the largest divisors of the layer's rows and
 * columns up to `most`; a vector has one row. */
struct method_chunks {
    size_t begin, columns, height, width, across, chunks; /* `across` chunks stand beside each other */
};
struct method_chunks method_chunks_of(const struct sg_shared *s, size_t l, size_t most);
/* The index of a chunk's first element in the whole vector. */
size_t method_chunk_at(const struct method_chunks *c, size_t chunk);
/* x [height width] <- the numbers that represent a chunk of p [d]. */
typedef void method_chunk_fn(float *x, const struct sg_shared *s, const struct method_chunks *c, size_t chunk,
                             const float *p);
/* w->index, w->value and w->count <- the k largest numbers of every chunk, k = the knob; ties go to the first.
 * Positions count through all chunks. Returns how many entries there are; *positions <- the bits of their positions
 * within their chunks. */
size_t method_take_chunks(struct sg_worker *w, const float *p, size_t most, method_chunk_fn *numbers,
                          double *positions);
/* senders [d] <- how many of the messages s->heard contain each position. */
void method_count_senders(const struct sg_shared *s, uint32_t *senders);

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
