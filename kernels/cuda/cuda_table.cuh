/* cuda_table.cuh: declarations shared by the files that implement the GPU's table of sg_kernels.h and the tables it
 * points to. cuda_memory.cu opens the GPU and copies, cuda_table.cu has the table itself. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_TABLE_CUH
#define CUDA_TABLE_CUH

#include "cuda_device.cuh"
#include "sg_device_codes.h"
#include "sg_products.h"

/* A pending copy: the next wait copies `bytes` from pinned memory to the caller's memory. */
struct arrival {
    void *to;
    const char *from;
    size_t bytes;
};

enum {
    MOST_ARRIVALS = 256,
    PINNED_BYTES = 1 << 16 /* longer copies are waited for and need no pinned memory */
};

/* An open workspace and the layout that it is for, or all 0. */
struct table_workspace {
    sg_cuda *cuda;
    size_t n_layers, *offset;
};

struct sg_cuda_device {
    int number;
    cudaStream_t stream; /* of all work; NULL = the legacy default stream, where libtorch works too */
    cudaError_t error;   /* the first; no work is enqueued after it */
    /* The one in use, and the one before: a budget that cuts a message takes the layout of the whole model in turn with
     * that of the layers. */
    struct table_workspace workspace, previous;
    char *there; /* device memory for parameters and results of the current call */
    size_t room;
    /* Pinned memory for asynchronous copies. Each copy has its own part, which is reused only after a wait, so that no
     * pending copy reads overwritten bytes. */
    char *pinned;
    size_t pinned_room, pinned_used;
    struct arrival arrival[MOST_ARRIVALS];
    size_t n_arrivals;
    char *staged; /* device copy of messages in host memory */
    size_t staged_room;
};

static inline sg_cuda_device *device_of(const struct sg_exec *exec) {
    SG_ASSERT(exec->device);
    return (sg_cuda_device *)exec->device;
}

static inline void check(sg_cuda_device *d, cudaError_t error) {
    if (d->error == cudaSuccess)
        d->error = error;
}

/* Selects the device, since other code may have changed the thread's current one. Returns false after a failure. */
static inline bool ready(sg_cuda_device *d) {
    if (d->error == cudaSuccess)
        d->error = cudaSetDevice(d->number);
    return d->error == cudaSuccess;
}

/* Records the error of a launch that returned `status`, if it is the device's first one. Returns status. */
static inline int record_launch(sg_cuda_device *d, int status) {
    if (status != SG_KERNEL_OK && d->error == cudaSuccess) {
        const cudaError_t error = cudaGetLastError();
        d->error = error != cudaSuccess ? error : cudaErrorUnknown;
    }
    return status;
}

/* Enqueues a kernel with this number of blocks, unless the device has failed before. After several calls it is enough
 * to check the status of the last one, because nothing is enqueued after a failure. */
template <typename... Args>
static int enqueue(const struct sg_exec *exec, uint32_t blocks, void (*kernel)(Args...),
                   typename converted<Args>::to... args) {
    sg_cuda_device *d = device_of(exec);
    return ready(d) ? record_launch(d, launch<Args...>(blocks, false, d->stream, kernel, args...))
                    : (int)SG_KERNEL_DEVICE;
}

/* Returns `bytes` of device memory, valid until the next call of the table. NULL = the device failed; lack of memory
 * counts as a failure. */
char *table_room(const struct sg_exec *exec, size_t bytes);

/* Returns pinned memory for one copy. Data from before the last wait is valid until the next call. NULL = the device
 * failed; lack of memory counts as a failure. */
char *table_place(sg_cuda_device *d, size_t bytes);

/* Waits for all enqueued work and completes the pending copies. Returns enum sg_kernel_status. */
int table_wait_for_all(sg_cuda_device *d);
void table_workspace_close(struct table_workspace *w); /* of one that was never opened, too */

/* The table's functions for memory (cuda_memory.cu). */
void *table_allocate(const struct sg_exec *exec, size_t bytes);
void table_release(const struct sg_exec *exec, void *memory);
void table_zero(const struct sg_exec *exec, void *to, size_t bytes);
void table_put(const struct sg_exec *exec, void *to, const void *host, size_t bytes);
int table_get(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
void table_get_later(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
int table_wait(const struct sg_exec *exec);

/* Rows of the table (cuda_vectors.cu). */
void cuda_scatter_add(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                      size_t count);
float cuda_max_abs(const struct sg_exec *exec, const float *x, size_t n);
double cuda_dot_shifted(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight);
void cuda_running_mean(const struct sg_exec *exec, float *mean, const float *x, size_t n, double weight);
void cuda_mix(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n);
void cuda_add_quotient(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n);
void cuda_copy(const struct sg_exec *exec, float *to, const float *x, size_t n);
void cuda_zero_at(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count);
void cuda_add_strided(const struct sg_exec *exec, const struct sg_strided *part, size_t n);
void cuda_keep_mask(const struct sg_exec *exec, float *mask, size_t n, const struct sg_draws *draws, uint32_t least,
                    float kept);
bool cuda_has_optimizer(const char *name);
void cuda_update(const struct sg_exec *exec, const struct sg_update *u);

/* The tables it points to, and rows of the first (cuda_signs.cu, cuda_buckets.cu). */
extern const struct sg_device_codes cuda_codes;
extern const struct sg_products cuda_products;
int cuda_write_signs(const struct sg_exec *exec, void *data, const struct sg_device_signs *s, uint32_t *below);
void cuda_read_signs(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                     size_t parts);
int cuda_write_buckets(const struct sg_exec *exec, void *data, const struct sg_device_buckets *b);
void cuda_read_buckets(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t bytes,
                       size_t count, size_t parts, enum sg_bucket_code code);

#endif
