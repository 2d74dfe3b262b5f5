/* compressor_private.h: what the files of the compressors share; not installed. */
#ifndef COMPRESSOR_PRIVATE_H
#define COMPRESSOR_PRIVATE_H

#include "sg_compressor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SG_COMPRESSOR_PARAMS = 8 }; /* most parameters a compressor may declare */

struct sg_compressor {
    const struct sg_compressor_ops *ops;
    double param[SG_COMPRESSOR_PARAMS]; /* presets filled in */
    struct sg_layout layout;            /* owned copies */
    struct sg_feedback feedback;
    const struct sg_code *code; /* of the values sent */
    uint64_t seed;
    uint32_t worker;
    uint64_t steps_per_epoch; /* >= 1 */
    uint64_t steps;           /* of the run; 0 = not known */
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    const struct sg_ranges *touched; /* of the run in progress; NULL = not known */
    uint32_t *index; /* [d] message under construction, in the kernels' memory; NULL for dense messages */
    float *value;    /* [d] */
    uint16_t *half;  /* [d] the values as they are sent; NULL unless their code is fp16 */
    bool borrows;    /* index, value and half are the caller's */
    size_t *count;   /* [n_layers] */
    uint8_t *mode;   /* [n_layers], zeros; NULL without ops->due */
    void *state;     /* belongs to ops; freed with free() unless ops->close says otherwise */
};

extern const struct sg_compressor_ops sg_compress_none, sg_compress_topk, sg_compress_hard_threshold,
    sg_compress_randomk, sg_compress_accordion;

/* "How many of a layer" as topk and randomk take it: `k` (a count) or `density` (a fraction), exactly one of them, as
 * two neighbouring parameters that the functions below are pointed at. */
enum { SG_SHARE_K = 0, SG_SHARE_DENSITY = 1, SG_SHARE_PARAMS = 2 };
#define SG_SHARE_K_PARAMETER                                                                                           \
    { "k", 1, 4294967295.0, NAN, true, "elements sent of every layer; a layer with fewer sends all it has" }
#define SG_SHARE_DENSITY_PARAMETER                                                                                     \
    { "density", 0, 1, NAN, false, "fraction c of every layer's n elements, above 0: sends max(1, floor(c n))" }

SG_CHECKED sg_status sg_share_check(const double *param, size_t d, struct sg_error *err);

/* Elements sent of a layer of n: min(k, n), or max(1, floor(density n)) and 0 for n = 0. */
size_t sg_share_of(const double *param, size_t n);

/* delta = share / n, what Top-k and random-k leave of |x|^2; 1 for n = 0. */
double sg_share_delta(const double *param, size_t n);

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

#ifdef __cplusplus
}
#endif
#endif
