/* sg_cuda.h: the operations of sg_kernels.h on an NVIDIA GPU (sm_80 and newer), in plain C.
 *
 * The results are those of every CPU table, bit for bit. In the first part of this header all pointers are device
 * memory, counts and status too, because a call only enqueues work on the caller's stream. It never synchronises,
 * copies or allocates, and it may be captured into a graph. The caller reads struct sg_cuda_result when it synchronises
 * anyway. The second part puts these calls behind the table of sg_kernels.h, which is what trainer and tests use.
 *
 * Calls return SG_KERNEL_OK, SG_KERNEL_MEMORY or SG_KERNEL_DEVICE; after the last, sg_cuda_last_error returns CUDA's
 * message. Blocks of a launch wait for each other (cooperative launches), so only one call at a time may use a
 * workspace, in the order of the stream. Every selection is one launch for any number of layers. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_CUDA_H
#define SG_CUDA_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether kernels can run on the current device. If not, why [room] <- what is missing and what to do. */
SG_UNSTABLE bool sg_cuda_available(char *why, size_t room);

/* Says what this thread's last SG_KERNEL_DEVICE was: CUDA's message, or what was wrong with an argument. */
SG_UNSTABLE const char *sg_cuda_last_error(void);

/* The workspace of one layout on the current device: 8 bytes for each element, 8 KiB for each layer and 128 KiB for
 * each block. */
typedef struct sg_cuda sg_cuda;

/* Opens a workspace for at most 2^32 - 2^16 elements, and synchronises. offset [n_layers + 1] is host memory, as in
 * struct sg_select. A launch whose blocks wait for each other has at most as many blocks as the device runs at once,
 * and at most `most_blocks` unless that is 0. Fewer leave multiprocessors to other streams, for whose kernels such a
 * launch waits otherwise. The variable SG_CUDA_BLOCKS lowers the limit, too; sg_cuda_available rejects a value that is
 * no number above 0. */
SG_UNSTABLE int sg_cuda_open(sg_cuda **out, size_t n_layers, const size_t *offset, uint32_t most_blocks);
SG_UNSTABLE void sg_cuda_close(sg_cuda *c); /* the stream must be idle; NULL is fine */

/* Result of a selection, in device memory. */
struct sg_cuda_result {
    uint32_t status; /* SG_KERNEL_OK, or SG_KERNEL_NONFINITE: all other outputs and the residual are undefined */
    uint32_t layer;  /* the first layer with an element that is not finite */
    uint32_t sent;   /* entries in index and value */
};

/* struct sg_select in device memory. Calls run on the workspace's device, which must be the thread's current one. They
 * refuse vectors [n] that are not in its memory or do not start at a multiple of 16 bytes, as cudaMalloc's do. */
struct sg_cuda_select {
    const float *g; /* [n] */
    float *e;       /* [n] or NULL */
    float scale;
    float decay;
    uint32_t *index; /* [n] out */
    float *value;    /* [n] out */
    uint32_t *count; /* [n_layers] out; for select_positions an input */
    struct sg_cuda_result *result;
};

/* tau [n_layers]. */
SG_UNSTABLE int sg_cuda_select_threshold(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const float *tau);

/* k [n_layers]; guess [n_layers], in and out, or NULL. If all guesses are right, it makes one pass over g and e. The
 * device adds about one more pass over e for layers whose guess is wrong. Without guesses all layers need both
 * passes. */
SG_UNSTABLE int sg_cuda_select_topk(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const uint32_t *k,
                                    float *guess);

/* position [sum of count]; it may be s->index. */
SG_UNSTABLE int sg_cuda_select_positions(sg_cuda *c, void *stream, const struct sg_cuda_select *s,
                                         const uint32_t *position);

/* s->index is not used. */
SG_UNSTABLE int sg_cuda_select_all(sg_cuda *c, void *stream, const struct sg_cuda_select *s);

/* A message: index and value as in struct sg_entries, *count entries (&result->sent of a selection). */
struct sg_cuda_entries {
    const uint32_t *index; /* NULL means 0..count-1 */
    const float *value;
    const uint32_t *count;
};

/* Adds message[0], then message[1], ... into dense [n]. The array `message` [n_messages] is host memory and is read
 * before the call returns. SG_CUDA_MESSAGES messages take one launch. */
enum { SG_CUDA_MESSAGES = 32 };
SG_UNSTABLE int sg_cuda_scatter_add_messages(void *stream, float *dense, size_t n,
                                             const struct sg_cuda_entries *message, size_t n_messages);

/* *sum <- the sum of squares of x [n]; n is at most that of the layout. */
SG_UNSTABLE int sg_cuda_sum_squares(sg_cuda *c, void *stream, const float *x, size_t n, double *sum);

/* ---- a GPU behind the table of sg_kernels.h ----
 *
 * sg_exec.device is an sg_cuda_device, which one thread at a time may use. All its work runs on one stream, the legacy
 * default stream unless another is set, so it is in order with libtorch's work. Selections, sum_squares, max_abs,
 * dot_shifted and get wait for their results, `wait` waits for all pending ones, and copies of more than 64 KiB wait
 * too; no other call does. After a device failure later calls do nothing, and those that return a status return
 * SG_KERNEL_DEVICE. Beside the caller's memory a device holds the workspaces of the latest two layouts. */
typedef struct sg_cuda_device sg_cuda_device;

struct sg_cuda_facts {
    int number;
    char name[256];      /* "NVIDIA H200" */
    int driver, runtime; /* 12040 = CUDA 12.4 */
};

/* Opens GPU `number`. number < 0: the GPUs of a host are assigned round-robin to its processes by `local_rank`. On
 * failure *out is NULL and why [room] <- what is missing and what to do. */
SG_UNSTABLE int sg_cuda_device_open(sg_cuda_device **out, int number, int local_rank, char *why, size_t room);
/* Waits for all work, and does later work on `stream`, which outlives the device or the next call. */
SG_UNSTABLE void sg_cuda_device_set_stream(sg_cuda_device *device, void *stream);
SG_UNSTABLE void sg_cuda_device_facts(const sg_cuda_device *device, struct sg_cuda_facts *out);
SG_UNSTABLE const char *sg_cuda_device_error(const sg_cuda_device *device); /* what failed; NULL = nothing */
SG_UNSTABLE void sg_cuda_device_close(sg_cuda_device *device); /* release its memory before; NULL is fine */
SG_UNSTABLE const struct sg_kernels *sg_cuda_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
