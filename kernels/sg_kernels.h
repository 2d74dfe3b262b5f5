/* sg_kernels.h: selection and accumulation kernels behind one C table.
 *
 * Every CPU backend (plain C, AVX2, AVX-512) fills the same table and gives the same bits; the plain C version in
 * kernels/cpu is the specification. CUDA gives these bits too: its kernels have an interface of their own, sg_cuda.h,
 * which never waits for the device, and on top of it a table like these, whose vectors lie in the device's memory.
 *
 * Letters follow Algorithm 1 of the paper: g gradient, e residual (error memory), p = e + gamma g the
 * error-corrected update, lambda the hard threshold.
 *
 * Layers: the flat vector of n = offset[n_layers] elements is cut at offset[0] = 0 < ... < offset[n_layers].
 * One call handles every layer, so that many small tensors do not cost one launch each. Whole-model scope
 * is simply one layer.
 *
 * Reproducibility: every result is a function of the inputs alone, never of `threads`. Sums of float
 * values into float happen in the stated order; sums into double use blocks of SG_KERNEL_BLOCK elements
 * with SG_KERNEL_LANES interleaved partial sums (element i in lane i mod 16), then halves of the lanes added onto each
 * other (0 + 8, 1 + 9, ...; 0 + 4, ...), then block by block. */
#ifndef SG_KERNELS_H
#define SG_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SG_KERNEL_BLOCK = 4096, SG_KERNEL_LANES = 16 };

/* Where and how wide a kernel runs. */
struct sg_exec {
    int threads;  /* threads a kernel may use, >= 1; results do not depend on it; no matter to a GPU */
    void *device; /* the GPU of the CUDA table (sg_cuda_device of sg_cuda.h); NULL for the CPU's tables */
};

/* One selection pass over all layers of one worker.
 *
 * Forms p[i] = fl(fl(decay * e[i]) + fl(scale * g[i])) (with decay = 1 and scale = 1 exact no-ops), sends
 * the selected p[i] bit-equal and leaves the rest in the residual:
 *     selected:      value = p[i],  e[i] <- 0
 *     not selected:  e[i] <- p[i]
 * so p = sent + kept holds bit for bit. With e == NULL there is no error feedback: p = fl(scale * g) and
 * nothing is kept. */
struct sg_select {
    const struct sg_exec *exec;
    size_t n_layers;
    const size_t *offset; /* [n_layers + 1] */
    const float *g;       /* [n] gradient, not modified; does not overlap e */
    float *e;             /* [n] residual, updated in place; NULL = no error feedback */
    float scale;          /* gamma in the `update` form, else 1 */
    float decay;          /* factor on the old residual, 1 = plain error feedback */
    uint32_t *index;      /* [n] out: flat indices, ascending */
    float *value;         /* [n] out: the sent values */
    size_t *count;        /* [n_layers] out: entries sent per layer */
};

/* Entries to add: index [count] ascending, value [count]; index NULL means 0..count-1. */
struct sg_entries {
    const uint32_t *index;
    const float *value;
    size_t count;
};

/* A range of the parameters, all with weight decay or all without. */
struct sg_piece {
    size_t begin, end;
    bool decays;
};

enum sg_dtype { SG_FLOAT32, SG_FLOAT64 };

/* x <- x - step. step = sum / workers without an optimizer, else what the optimizer makes of this mean. Every element is
 * independent of all others. Pieces cover the parameters without overlap; what no piece covers stays as it is. */
struct sg_update {
    const char *optimizer; /* "sgd", "adam", see has_optimizer; NULL = none */
    const double *param;   /* of the optimizer, in the order in which it declares them */
    double learning_rate;  /* of this step */
    uint64_t step;         /* counts from 0 */
    float workers;
    float *sum;                   /* [d] in: the sum; afterwards: the step on a CPU, undefined on a GPU */
    float *state;                 /* [as many as the optimizer declares] zeros before step 0 */
    void *x;                      /* [d] of dtype */
    enum sg_dtype dtype;          /* on a GPU SG_FLOAT32 */
    const struct sg_piece *piece; /* [n_pieces] */
    size_t n_pieces, d;
};

/* Result of a selection kernel. */
enum sg_kernel_status {
    SG_KERNEL_OK = 0,
    SG_KERNEL_NONFINITE = 1, /* some p, sent or not, is NaN or Inf: count[0] is the first such layer, the other outputs
                                and the residual are undefined, the run must stop */
    SG_KERNEL_MEMORY = 2,    /* scratch could not be allocated; residual untouched */
    SG_KERNEL_DEVICE = 3     /* the device reported an error */
};

struct sg_kernels {
    const char *name; /* "c", "avx2", "avx512", "cuda" */

    /* ---- memory: where g, e, index, value, dense, x, mean, sum, state and piece lie; all else is the host's ---- */

    /* Zeros, aligned for any type; NULL = no memory. 0 bytes are fine. */
    void *(*allocate)(const struct sg_exec *exec, size_t bytes);
    void (*release)(const struct sg_exec *exec, void *memory); /* NULL-safe */
    void (*zero)(const struct sg_exec *exec, void *to, size_t bytes);
    /* From and to host memory, which may be reused on return. get waits for all that was begun before, and is
     * SG_KERNEL_DEVICE if any of it failed. */
    void (*put)(const struct sg_exec *exec, void *to, const void *host, size_t bytes);
    int (*get)(const struct sg_exec *exec, void *host, const void *from, size_t bytes);

    /* ---- selection ---- */

    /* Hard threshold (section 4.2; the comparison is >=): send where |p[i]| >= tau[layer].
     * tau [n_layers] >= 0 in units of p, that is fl(lambda * scale). tau = 0 sends every element, zeros too. */
    int (*select_threshold)(const struct sg_select *s, const float *tau);

    /* Exact Top-k per layer: the k[layer] largest |p|, ties to the lower index; 0 <= k[layer] <= layer size.
     * Zeros are sent when fewer than k elements are non-zero: exactly k entries always.
     * guess [n_layers] in/out or NULL: k-th magnitude of the previous step (< 0 = unknown), a hint for speed
     * that never changes the result, whatever it holds; receives this step's k-th magnitude (-1 where k = 0). */
    int (*select_topk)(const struct sg_select *s, const size_t *k, float *guess);

    /* Send the elements at given positions (random-k): position [count] ascending flat indices, host memory, of which
     * s->count[layer] (an input here) belong to each layer in turn. It may be s->index itself on a CPU. */
    int (*select_positions)(const struct sg_select *s, const uint32_t *position);

    /* No compression: value[i] = p[i] for all i (index is not written), residual becomes +0. */
    int (*select_all)(const struct sg_select *s);

    /* ---- sums and vectors ---- */

    /* dense[index[j]] += value[j], j ascending; index NULL means 0..count-1. Called message by message in
     * worker order, this defines the sum over workers. */
    void (*scatter_add)(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                        size_t count);

    /* Sum of squares in double, order as stated above; 0 for n = 0. NaN/Inf propagate. */
    double (*sum_squares)(const struct sg_exec *exec, const float *x, size_t n);

    /* scatter_add of message[0], then message[1], ... into dense [n], with the same bits; threads share dense by ranges
     * of indices. */
    void (*scatter_add_messages)(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                                 size_t n_messages);

    /* The same of messages in host memory, wherever dense lies; theirs may be reused on return. */
    void (*add_messages)(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                         size_t n_messages);

    /* Largest |x[i]| of finite numbers; 0 for n = 0. */
    float (*max_abs)(const struct sg_exec *exec, const float *x, size_t n);

    /* Sum of value[j] (value[j] + weight x[index[j]]) in double, j ascending; index NULL means 0..count-1. */
    double (*dot_shifted)(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight);

    /* mean[i] <- mean[i] + (x[i] - mean[i]) weight, in double, rounded once. */
    void (*running_mean)(const struct sg_exec *exec, float *mean, const float *x, size_t n, double weight);

    /* half[j] <- the half h nearest to value[j], which is finite (sg_half.h); and where e is not NULL,
     * e[index[j]] += value[j] - h, index NULL meaning 0..count-1: where e was 0 and |value[j]| < 2^29, nothing is lost
     * (beyond, saturation leaves more than a float holds). */
    void (*encode_half)(const struct sg_exec *exec, uint16_t *half, const float *value, const uint32_t *index,
                        size_t count, float *e);
    /* value[j] <- half[j]. */
    void (*decode_half)(const struct sg_exec *exec, float *value, const uint16_t *half, size_t count);

    /* ---- the end of a step ---- */

    /* Does `update` know the optimizer of that name? */
    bool (*has_optimizer)(const char *name);
    /* All of a step behind the sum over workers. The loops of kernels/cpu/cpu_update.c are the specification. */
    void (*update)(const struct sg_exec *exec, const struct sg_update *u);
};

/* The CPU table: `name` "c", "avx2", "avx512", or NULL for the best one this machine runs (the environment
 * variable SG_CPU overrides NULL). Returns NULL when the name is unknown or the machine lacks it. */
const struct sg_kernels *sg_kernels_cpu(const char *name);

#ifdef __cplusplus
}
#endif
#endif
