/* sg_cuda.h: the operations of sg_kernels.h on an NVIDIA GPU (sm_80 and newer), plain C.
 *
 * The results are those of every CPU table, bit for bit. What differs is where they are: all pointers are device memory,
 * and so are counts and status, because a call only enqueues work on the caller's stream. It never synchronises, copies
 * or allocates, and it may be captured into a graph. The caller reads sg_cuda_result when it synchronises anyway.
 *
 * Host calls return SG_KERNEL_OK, SG_KERNEL_MEMORY or SG_KERNEL_DEVICE (sg_cuda_last_error says what the device said).
 * Kernels wait for each other's blocks inside one launch (cooperative launches): at most one call at a time may use a
 * workspace, in stream order. Every selection is one launch, however many layers there are. */
#ifndef SG_CUDA_H
#define SG_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Can kernels run on the current device? If not, `why` [room] says what is missing and what to do. */
bool sg_cuda_available(char *why, size_t room);

/* The device's name for the last SG_KERNEL_DEVICE of this thread. */
const char *sg_cuda_last_error(void);

/* The workspace of one layout on the current device: 8 bytes for each element and 8 KiB for each layer. */
typedef struct sg_cuda sg_cuda;

/* offset [n_layers + 1] is host memory, as in struct sg_select; at most 2^32 - 2^16 elements. Synchronises. */
int sg_cuda_open(sg_cuda **out, size_t n_layers, const size_t *offset);
void sg_cuda_close(sg_cuda *c); /* NULL-safe; wait for the stream first */

/* What a selection found; device memory. */
struct sg_cuda_result {
    uint32_t status; /* SG_KERNEL_OK or SG_KERNEL_NONFINITE; then all other outputs and the residual are undefined */
    uint32_t layer;  /* the first layer that is not finite */
    uint32_t sent;   /* entries in index and value */
};

/* As struct sg_select. Pointers that are 16-byte aligned (as cudaMalloc gives them) go at full speed. */
struct sg_cuda_select {
    const float *g; /* [n] */
    float *e;       /* [n] or NULL */
    float scale;
    float decay;
    uint32_t *index; /* [n] out */
    float *value;    /* [n] out */
    uint32_t *count; /* [n_layers] out; an input of select_positions */
    struct sg_cuda_result *result;
};

/* tau [n_layers]. */
int sg_cuda_select_threshold(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const float *tau);

/* k [n_layers]; guess [n_layers] in/out or NULL. With guesses: one pass over g and e if they hold, and about another pass
 * over e for the layers where they do not, decided on the device. Without: the same two passes for all layers. */
int sg_cuda_select_topk(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const uint32_t *k, float *guess);

/* position [sum of count], may be s->index. */
int sg_cuda_select_positions(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const uint32_t *position);

/* index is not used. */
int sg_cuda_select_all(sg_cuda *c, void *stream, const struct sg_cuda_select *s);

/* A message: index and value as in struct sg_entries, *count entries (&result->sent of a selection). */
struct sg_cuda_entries {
    const uint32_t *index; /* NULL = 0..count-1 */
    const float *value;
    const uint32_t *count;
};

/* Adds message[0], then message[1], ... into dense [n]. `message` [n_messages] itself is host memory, read before the call
 * returns. One launch for each SG_CUDA_MESSAGES messages. */
enum { SG_CUDA_MESSAGES = 32 };
int sg_cuda_scatter_add_messages(void *stream, float *dense, size_t n, const struct sg_cuda_entries *message,
                                 size_t n_messages);

/* *sum <- sum of squares of x [n], n at most that of the layout. */
int sg_cuda_sum_squares(sg_cuda *c, void *stream, const float *x, size_t n, double *sum);

/* *most <- largest |x[i]| of finite numbers as its bits, 0 for n = 0. */
int sg_cuda_max_abs(void *stream, const float *x, size_t n, uint32_t *most);

/* *sum <- `dot_shifted` of sg_kernels.h of the first `count` entries, one after another. */
int sg_cuda_dot_shifted(void *stream, const struct sg_entries *message, const float *x, double weight, double *sum);

/* `running_mean`, `encode_half`, `decode_half`, `has_optimizer` and `update` of sg_kernels.h. */
int sg_cuda_running_mean(void *stream, float *mean, const float *x, size_t n, double weight);
int sg_cuda_encode_half(void *stream, uint16_t *half, const float *value, const uint32_t *index, size_t count,
                        float *e);
int sg_cuda_decode_half(void *stream, float *value, const uint16_t *half, size_t count);
bool sg_cuda_has_optimizer(const char *name);
int sg_cuda_update(void *stream, const struct sg_update *u);

/* ---- a GPU behind the table of sg_kernels.h ----
 *
 * sg_exec.device is an sg_cuda_device; one thread at a time may use it. Everything runs on the legacy default stream, so
 * in order with what libtorch does there. Selections, sums, max_abs, dot_shifted and get wait for their result, a few bytes;
 * nothing else waits. A failure of the device sticks: later calls do nothing and say SG_KERNEL_DEVICE where they say
 * anything. Memory beside the caller's: one workspace for the latest layout. */
typedef struct sg_cuda_device sg_cuda_device;

struct sg_cuda_facts {
    int number;
    char name[256];      /* "NVIDIA H200" */
    int driver, runtime; /* 12040 = CUDA 12.4 */
};

/* number: which GPU; below 0 = the one whose turn it is for process `local_rank` of this host. On failure *out is NULL and
 * `why` [room] says what is missing and what to do. */
int sg_cuda_device_open(sg_cuda_device **out, int number, int local_rank, char *why, size_t room);
void sg_cuda_device_facts(const sg_cuda_device *device, struct sg_cuda_facts *out);
const char *sg_cuda_device_error(const sg_cuda_device *device); /* the failure in CUDA's words; NULL = none */
void sg_cuda_device_close(sg_cuda_device *device);              /* NULL-safe; its memory is released before */
const struct sg_kernels *sg_cuda_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
