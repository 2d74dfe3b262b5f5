/* sg_kernels.h: the operations on long vectors (selections, sums, the end of a step) behind one C table.
 *
 * Every CPU table (plain C, AVX2, AVX-512) gives the same bits; the plain C version in kernels/cpu is the
 * specification. The GPU's table (sg_cuda_kernels of sg_cuda.h) gives these bits too, on vectors in the device's
 * memory. Tables are constant, and calls on distinct vectors may come from distinct threads; a GPU takes one thread at
 * a time.
 *
 * Letters follow Algorithm 1 of the paper: g is the gradient, e the residual (error memory), p = e + gamma g what is
 * compressed, lambda the hard threshold.
 *
 * A flat vector of n = offset[n_layers] elements is cut into layers at offset[0] = 0 <= ... <= offset[n_layers]. One
 * call handles all layers, so that many small tensors do not cost a launch each. With `scope: model` there is one
 * layer.
 *
 * Results depend on the inputs alone, never on `threads`. Sums of floats into floats happen in the stated order. Sums
 * into double take blocks of SG_KERNEL_BLOCK elements with SG_KERNEL_LANES partial sums each (element i of a block in
 * lane i mod 16). Then halves of the lanes are added onto each other (0 + 8, 1 + 9, ...; 0 + 4, ...), and then the
 * blocks, one after another. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_KERNELS_H
#define SG_KERNELS_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SG_KERNEL_BLOCK = 4096, SG_KERNEL_LANES = 16 };

struct sg_code_kernels;
struct sg_dense;
struct sg_device_codes;
struct sg_products;

/* The device and the number of threads of a kernel. */
struct sg_exec {
    int threads;  /* threads that a kernel may use, >= 1; results do not depend on it, and a GPU ignores it */
    void *device; /* the GPU of the CUDA table (struct sg_cuda_device); NULL for the CPU's tables */
};

/* Inputs and outputs of a selection, for all layers of one worker.
 *
 * It computes p[i] = fl(fl(decay * e[i]) + fl(scale * g[i])), where factors of 1 change no bit. Selected elements are
 * sent unchanged, and the others stay in the residual:
 *     selected:      value = p[i],  e[i] <- 0
 *     not selected:  e[i] <- p[i]
 * So p = sent + kept holds bit for bit. Without error feedback (e is NULL) p = fl(scale * g), and the rest is lost. */
struct sg_select {
    const struct sg_exec *exec;
    size_t n_layers;
    const size_t *offset; /* [n_layers + 1] */
    const float *g;       /* [n] gradient; it is not modified and does not overlap e */
    float *e;             /* [n] residual, updated in place; NULL = no error feedback */
    float scale;          /* gamma in the `update` form of error feedback, else 1; a finite number > 0 */
    float decay;          /* factor on the old residual; 1 = the paper's error feedback */
    uint32_t *index;      /* [n] out: positions in the flat vector, ascending */
    float *value;         /* [n] out: the sent values */
    size_t *count;        /* [n_layers] out: how many entries each layer sent */
};

/* A list of entries: index [count] ascending, value [count]. An index that is NULL means 0..count-1. */
struct sg_entries {
    const uint32_t *index;
    const float *value;
    size_t count;
};

/* The use of the j-th decoded number v. i is its position: index[j], or j if index is NULL. */
enum sg_sink_kind {
    SG_SINK_STORE,     /* to[i] <- v */
    SG_SINK_ADD,       /* to[i] += weight v */
    SG_SINK_DIFFERENCE /* to[i] += value[j] - v */
};
struct sg_sink {
    enum sg_sink_kind kind;
    float *to;
    const uint32_t *index; /* ascending; NULL with SG_SINK_STORE */
    const float *value;    /* of SG_SINK_DIFFERENCE */
    float weight;          /* of SG_SINK_ADD */
};

/* Parameters begin .. end-1, all with weight decay or all without, and all of a struct sg_weight or of none. */
struct sg_piece {
    size_t begin, end;
    bool decays, in_weight;
};

/* A matrix of a hidden layer, [rows][columns] from x[offset] on, which some optimizers move as a whole. */
struct sg_weight {
    size_t offset, rows, columns;
    bool decays;
};

/* Random numbers that decide which elements a mask keeps. Element i of a mask uses number first + i / run * stride +
 * i % run of a stream (sg_rng.h): runs of `run` consecutive numbers, whose starts are `stride` apart. */
struct sg_draws {
    uint32_t key[2],
        counter[4]; /* of the stream's start; counter[0], which counts blocks of four numbers, is not read */
    uint64_t first, run, stride; /* run >= 1; with run >= the mask's length, stride does not matter */
};

enum sg_dtype { SG_FLOAT32, SG_FLOAT64 };

/* Inputs and outputs of the end of a step: x <- x - step. Without an optimizer the step is sum / workers; with one the
 * optimizer computes the step from this mean. Every element is independent of all others, but for those of a weight
 * where the optimizer is "muon" or "dion". Pieces do not overlap, and elements outside all pieces do not change. */
struct sg_update {
    const char *optimizer; /* a name for which has_optimizer is true, as "sgd"; NULL = no optimizer */
    const double *param;   /* the optimizer's parameters, in the order in which it declares them */
    double learning_rate;  /* of this step */
    uint64_t step;         /* counts from 0 */
    float workers;
    float *sum;                   /* [d] in: the sum over workers; out: the step on a CPU, undefined on a GPU */
    float *state;                 /* [floats that the optimizer declares]; zeros before step 0 */
    void *x;                      /* [d] of dtype */
    enum sg_dtype dtype;          /* type of x; on a GPU only SG_FLOAT32 */
    const struct sg_piece *piece; /* [n_pieces] */
    size_t n_pieces, d;
    const struct sg_weight *weight; /* [n_weights] what pieces with in_weight make up; read by "muon" and "dion" */
    size_t n_weights;
    float *scratch; /* [sg_muon_scratch floats], read by "muon" alone */
};

/* How many floats "muon" needs beside its state for the largest of these matrices. */
SG_UNSTABLE size_t sg_muon_scratch(const struct sg_weight *weight, size_t n_weights);

/* A tensor whose elements lie `stride` apart in the kernels' memory, and the row-major vector that it is added to. */
enum { SG_STRIDED_RANK = 4 };
struct sg_strided {
    float *to;
    const float *from;
    size_t shape[SG_STRIDED_RANK], stride[SG_STRIDED_RANK]; /* of the outermost dimension first */
};

/* Result of a selection kernel. */
enum sg_kernel_status {
    SG_KERNEL_OK = 0,
    /* Some p, sent or not, is NaN or Inf, and count[0] is the number of the first such layer. The other outputs and the
     * residual are undefined, and the run must stop. */
    SG_KERNEL_NONFINITE = 1,
    SG_KERNEL_MEMORY = 2, /* scratch memory could not be allocated; the residual is as it was */
    SG_KERNEL_DEVICE = 3  /* the device reported an error */
};

struct sg_kernels {
    const char *name; /* "c", "avx2", "avx512", "cuda" */

    /* ---- memory, for g, e, index, value, dense, x, mean, mask, sum, state, piece; all else is in host memory ---- */

    /* Returns zeros, aligned for any type; NULL = out of memory. bytes may be 0. */
    void *(*allocate)(const struct sg_exec *exec, size_t bytes);
    void (*release)(const struct sg_exec *exec, void *memory); /* NULL-safe */
    void (*zero)(const struct sg_exec *exec, void *to, size_t bytes);
    /* Copy from and to host memory, which may be reused on return. `get` waits for all earlier calls, and returns
     * SG_KERNEL_DEVICE if one of them failed, else SG_KERNEL_OK. */
    void (*put)(const struct sg_exec *exec, void *to, const void *host, size_t bytes);
    int (*get)(const struct sg_exec *exec, void *host, const void *from, size_t bytes);

    /* ---- selections; they return enum sg_kernel_status ---- */

    /* Hard threshold (section 4.2): sends every element with |p[i]| >= tau[layer]. tau [n_layers] >= 0 is in units of
     * p, that is fl(lambda * scale). tau = 0 sends every element, zeros too; INFINITY sends nothing. */
    int (*select_threshold)(const struct sg_select *s, const float *tau);

    /* Exact Top-k: sends the k[layer] largest |p| of each layer; ties go to the lower index. 0 <= k[layer] <= size of
     * the layer. It sends exactly k entries, zeros too if fewer than k elements are nonzero. guess [n_layers], or NULL,
     * only saves time and may hold any number. In: the k-th magnitude of the previous step (< 0 = unknown). Out: the
     * k-th magnitude of this step (-1 where k = 0). */
    int (*select_topk)(const struct sg_select *s, const size_t *k, float *guess);

    /* Sends the elements at given positions, for random-k. position: ascending flat indices in host memory, of which
     * s->count[layer] (here an input) belong to each layer in turn. On a CPU it may be s->index itself. */
    int (*select_positions)(const struct sg_select *s, const uint32_t *position);

    /* No compression: value[i] = p[i] for all i, and the residual becomes +0. index is not written. */
    int (*select_all)(const struct sg_select *s);

    /* ---- sums and vectors ---- */

    /* dense[index[j]] += value[j], j ascending; index NULL means 0..count-1. Calls for message after message in worker
     * order define the sum over workers. */
    void (*scatter_add)(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                        size_t count);

    /* The sum of squares in double, in the order stated above; 0 for n = 0. It is NaN or Inf if an element is. */
    double (*sum_squares)(const struct sg_exec *exec, const float *x, size_t n);

    /* scatter_add of message[0], then message[1], ... into dense [n], with the same bits. Threads share the ranges of
     * dense. */
    void (*scatter_add_messages)(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                                 size_t n_messages);

    /* scatter_add_messages for messages in host memory (reusable on return); dense is in the kernels' memory. */
    void (*add_messages)(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                         size_t n_messages);

    /* The largest |x[i]|; 0 for n = 0. All numbers are finite. */
    float (*max_abs)(const struct sg_exec *exec, const float *x, size_t n);

    /* The sum of value[j] (value[j] + weight x[index[j]]) in double, j ascending; index NULL means 0..count-1. */
    double (*dot_shifted)(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight);

    /* mean[i] <- mean[i] + (x[i] - mean[i]) weight, computed in double and rounded once. */
    void (*running_mean)(const struct sg_exec *exec, float *mean, const float *x, size_t n, double weight);

    /* to[i] <- fl(fl(a x[i]) + fl(b y[i])). The vectors may be the same ones. */
    void (*mix)(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n);
    /* x[i] <- fl(x[i] + fl(y[i] / divisor)), divisor not 0. It adds the mean of a sum y over workers, or subtracts it
     * with a negative divisor. */
    void (*add_quotient)(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n);
    /* to [n] <- x [n], which do not overlap. */
    void (*copy)(const struct sg_exec *exec, float *to, const float *x, size_t n);
    /* x[index[j]] <- 0 */
    void (*zero_at)(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count);

    /* to[i] += element i of every tensor, whose vectors do not overlap and have fewer than 2^32 elements in all. `part`
     * is host memory. NULL on a CPU. */
    void (*add_strided)(const struct sg_exec *exec, const struct sg_strided *part, size_t n);

    /* mask[i] <- 0 where its random number is below `least`, else `kept`: so 0 with probability least / 2^32. */
    void (*keep_mask)(const struct sg_exec *exec, float *mask, size_t n, const struct sg_draws *draws, uint32_t least,
                      float kept);

    /* ---- the end of a step ---- */

    /* Returns whether `update` has the optimizer of that name. */
    bool (*has_optimizer)(const char *name);
    /* The part of a step after the sum over workers. The loops of kernels/cpu/cpu_update.c are the specification. */
    void (*update)(const struct sg_exec *exec, const struct sg_update *u);

    /* ---- results that are not needed at once ----
     *
     * sum_squares into *sum, and get of few bytes. On a CPU the result is complete when the call returns. On a GPU the
     * call is asynchronous: the result is complete after the next `wait` or any other call that waits. Until then *sum
     * is NaN, and its memory must stay valid. So one wait serves many results. */
    void (*sum_squares_later)(const struct sg_exec *exec, const float *x, size_t n, double *sum);
    void (*get_later)(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
    /* Waits until all results are complete. Returns SG_KERNEL_DEVICE if an earlier call failed, else SG_KERNEL_OK. */
    int (*wait)(const struct sg_exec *exec);

    /* codes: for numbers in a GPU's memory (sg_device_codes.h); NULL on a CPU, where lib/wire uses `loops`
     * (sg_codes.h). loops and dense (for dense rows, sg_dense.h) are NULL on a GPU. */
    const struct sg_device_codes *codes;
    const struct sg_code_kernels *loops;
    const struct sg_dense *dense;
    /* Products of matrices with thin ones (sg_products.h). */
    const struct sg_products *products;
};

/* Returns the CPU table "c", "avx2" or "avx512". name NULL means the table in the environment variable SG_CPU, or if it
 * is unset the best one of this machine. NULL = the name is unknown, or the machine does not support the table. */
SG_UNSTABLE const struct sg_kernels *sg_kernels_cpu(const char *name);

#ifdef __cplusplus
}
#endif
#endif
