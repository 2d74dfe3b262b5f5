/* sg_compressor_parts.h: what compressors are made of: how much of a layer is sent, exact Top-k, estimated thresholds,
 * exact sums of integers, messages of coders and rounds, and chunks of layers. A compressor stands on this
 * header and sg_compressor.h alone, and needs nothing of the inside of a method. Not installed. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_COMPRESSOR_PARTS_H
#define SG_COMPRESSOR_PARTS_H

#include <math.h>

#include "sg_compressor.h"
#include "sg_rng.h"

enum { METHOD_WORTH_THREADS = 1 << 15 }; /* from so many elements on a second thread saves more than it costs */

/* Adds the rows of lib/zoo to the tables (zoo_table.c). It is called once, before main. */
void sg_zoo_register(void);

/* ---- feedback rules ---- */

/* to [d] <- factor to + x, element by element, so with the same bits for any number of threads. */
void method_combine(const struct sg_feedback_state *s, float *to, float factor, const float *x);
/* For rules whose workers send changes of an estimate: common vector 0 += sum, which makes it the sum of all workers'
 * estimates; sum [d] <- common vector 0. */
void method_add_to_estimate(const struct sg_feedback_state *common, float *sum);

/* ---- messages ---- */

/* s->count [n_layers] <- how many of the first `found` positions of the selection are in each layer. Returns enum
 * sg_kernel_status, on a CPU always SG_KERNEL_OK. */
int method_count_layers(const struct sg_kernels *kernels, const struct sg_select *s, size_t found);

/* Writes numbers of all layers, w->count of each, in `code` into w->data, and sets code, data, bytes and bits of the
 * message. `numbers` has value, count, param and knob; worker and step determine the code's random draws. Returns enum
 * sg_kernel_status, on a CPU always SG_KERNEL_OK. */
int method_write(const struct sg_worker *w, const struct sg_code *code, struct sg_numbers numbers,
                 struct sg_message *out);

/* What a second message of a step, of residuals (method_step.c), adds to the number of the step. */
#define METHOD_SECOND_MESSAGE ((uint64_t)1 << 40)

/* The number of the step, whichever message of it is made. */
static inline uint64_t method_step_number(const struct sg_shared *s) {
    return s->step % METHOD_SECOND_MESSAGE;
}

/* ---- how much of a layer (share_parameter.c) ---- */

/* topk and randomk take exactly one of two parameters: `k` (a count) or `density` (a fraction). These are neighbours,
 * and `param` of the functions below points at the first of them. */
enum { SG_SHARE_K = 0, SG_SHARE_DENSITY = 1, SG_SHARE_PARAMS = 2 };
#define SG_SHARE_K_PARAMETER                                                                                           \
    { "k", 1, 4294967295.0, NAN, true, "elements sent of every layer, at most all" }
#define SG_SHARE_PARAMETERS                                                                                            \
    [SG_SHARE_K] = SG_SHARE_K_PARAMETER, [SG_SHARE_DENSITY] = {                                                        \
                                             "density",                                                                \
                                             0,                                                                        \
                                             1,                                                                        \
                                             NAN,                                                                      \
                                             false,                                                                    \
                                             "fraction c > 0 of a layer's n elements: sends max(1, floor(c n))"}
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

/* Gram-Schmidt on columns of n numbers. It projects every column twice, to remove rounding errors along the earlier
 * columns. A column in the span of the earlier ones becomes 0 (compress_powersgd.c). */
void sg_orthonormalize(float *columns, size_t rank, size_t n);

/* The hooks of a low-rank compressor whose first parameter is the rank (compress_powersgd.c). With SG_TRAIT_DIRECTIONS
 * the second one is the share of what was sent that stays in the residual. */
SG_CHECKED sg_status method_low_rank_open(struct sg_worker *w, struct sg_error *err);
void method_low_rank_encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
extern const struct sg_rounds method_low_rank_rounds;

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
/* The `floats` hooks of rounds that keep one float for each layer, or for each element: how many the model has. */
size_t method_float_a_layer(const struct sg_shared *s);
size_t method_elements(const struct sg_shared *s);
/* The rows of a layer as a matrix, 1 of a vector or of nothing. */
size_t method_rows(const struct sg_shared *s, size_t l);
/* w->count <- how many each layer has, for a message of all; returns their sum. */
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

#endif
