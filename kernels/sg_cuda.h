/* sg_cuda.h: the operations of sg_kernels.h on an NVIDIA GPU (sm_80 and newer), in plain C.
 *
 * The results are those of every CPU table, bit for bit. In the first part of this header all pointers are device
 * memory, counts and status too, because a call only enqueues work on the caller's stream. It never synchronises,
 * copies or allocates, and it may be captured into a graph. The caller reads struct sg_cuda_result when it synchronises
 * anyway. The second part puts these calls behind the table of sg_kernels.h, which is what trainer and tests use.
 *
 * Calls return SG_KERNEL_OK, SG_KERNEL_MEMORY or SG_KERNEL_DEVICE; for the last, sg_cuda_last_error has the device's
 * words. Blocks of a launch wait for each other (cooperative launches), so only one call at a time may use a workspace,
 * in the order of the stream. Every selection is one launch, however many layers there are. */
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

/* Can kernels run on the current device? If not, `why` [room] gets what is missing and what to do. */
SG_UNSTABLE bool sg_cuda_available(char *why, size_t room);

/* What the device said at this thread's last SG_KERNEL_DEVICE. */
SG_UNSTABLE const char *sg_cuda_last_error(void);

/* The workspace of one layout on the current device: 8 bytes for each element and 8 KiB for each layer. */
typedef struct sg_cuda sg_cuda;

/* Opens a workspace for at most 2^32 - 2^16 elements, and synchronises. offset [n_layers + 1] is host memory, as in
 * struct sg_select. Launches whose blocks wait for each other get as many as the device holds at once, or fewer: the
 * environment variable SG_CUDA_BLOCKS limits them, and sg_cuda_available refuses a value that is not a number above 0. */
SG_UNSTABLE int sg_cuda_open(sg_cuda **out, size_t n_layers, const size_t *offset);
SG_UNSTABLE void sg_cuda_close(sg_cuda *c); /* the stream must be idle; NULL is fine */

/* What a selection found, in device memory. */
struct sg_cuda_result {
    uint32_t status; /* SG_KERNEL_OK, or SG_KERNEL_NONFINITE: all other outputs and the residual are undefined */
    uint32_t layer;  /* the first layer with an element that is not finite */
    uint32_t sent;   /* entries in index and value */
};

/* As struct sg_select. Calls are fastest with pointers that are 16-byte aligned, as those of cudaMalloc are. */
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

/* k [n_layers]; guess [n_layers], in and out, or NULL. With guesses that hold it takes one pass over g and e. For
 * layers whose guess does not hold the device decides on about one more pass over e. Without guesses all layers take
 * these two passes. */
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
 * sg_exec.device is an sg_cuda_device, which one thread at a time may use. All its work runs on the legacy default
 * stream, so in order with that of libtorch. Selections, sum_squares, max_abs, dot_shifted and get wait for their
 * results, and `wait` for those that are missing. Copies of more than 64 KiB are waited for, too; no other call waits.
 * After a failure of the device later calls do nothing, and those that return a status return SG_KERNEL_DEVICE. Beside
 * the caller's memory it holds one workspace, for the latest layout. */
typedef struct sg_cuda_device sg_cuda_device;

struct sg_cuda_facts {
    int number;
    char name[256];      /* "NVIDIA H200" */
    int driver, runtime; /* 12040 = CUDA 12.4 */
};

/* Opens GPU `number`. Below 0, the processes of a host take its GPUs in turn by their `local_rank`. If it fails, *out
 * is NULL and `why` [room] gets what is missing and what to do. */
SG_UNSTABLE int sg_cuda_device_open(sg_cuda_device **out, int number, int local_rank, char *why, size_t room);
SG_UNSTABLE void sg_cuda_device_facts(const sg_cuda_device *device, struct sg_cuda_facts *out);
SG_UNSTABLE const char *
sg_cuda_device_error(const sg_cuda_device *device);            /* the failure in CUDA's words; NULL = there was none */
SG_UNSTABLE void sg_cuda_device_close(sg_cuda_device *device); /* release its memory before; NULL is fine */
SG_UNSTABLE const struct sg_kernels *sg_cuda_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
