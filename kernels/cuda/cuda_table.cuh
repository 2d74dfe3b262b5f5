/* cuda_table.cuh: the GPU behind the table of sg_kernels.h: what its files share. cuda_memory.cu opens it and copies,
 * cuda_table.cu calls the kernels. */
#ifndef CUDA_TABLE_CUH
#define CUDA_TABLE_CUH

#include "cuda_device.cuh"

/* What the next wait hands over: `bytes` in pinned memory, to where the caller wants them. */
struct arrival {
    void *to;
    const char *from;
    size_t bytes;
};

enum {
    MOST_ARRIVALS = 256,
    PINNED_BYTES = 1 << 16 /* what is longer is copied while the caller waits, and needs no pinned memory */
};

struct sg_cuda_device {
    int number;
    cudaError_t error;  /* the first; nothing is begun after it */
    sg_cuda *workspace; /* of the layout: */
    size_t n_layers, *offset;
    char *there; /* the parameters and results of the call at hand, on the device */
    size_t room;
    /* Pinned memory, through which copies go that the caller does not wait for. A place in it serves one copy and is
     * used again only after a wait, so nothing is overwritten that a copy under way still reads. */
    char *pinned;
    size_t pinned_room, pinned_used;
    struct arrival arrival[MOST_ARRIVALS];
    size_t n_arrivals;
    char *staged; /* messages of the host's */
    size_t staged_room;
};

static const cudaStream_t STREAM = NULL; /* the legacy default stream, where libtorch works too */

static inline sg_cuda_device *device_of(const struct sg_exec *exec) {
    SG_ASSERT(exec->device != NULL);
    return (sg_cuda_device *)exec->device;
}

static inline void check(sg_cuda_device *d, cudaError_t error) {
    if (d->error == cudaSuccess)
        d->error = error;
}

/* The thread's current device may be another one's affair. */
static inline bool ready(sg_cuda_device *d) {
    if (d->error == cudaSuccess)
        d->error = cudaSetDevice(d->number);
    return d->error == cudaSuccess;
}

/* Pinned memory for one copy. What was there before the last wait stays until the next call. NULL = the device failed, or
 * has no such memory, which is a failure then. */
char *table_place(sg_cuda_device *d, size_t bytes);

/* Waits for everything begun, and hands over what came back. Returns enum sg_kernel_status. */
int table_wait_for_all(sg_cuda_device *d);

/* The functions of the table that memory is about. */
void *table_allocate(const struct sg_exec *exec, size_t bytes);
void table_release(const struct sg_exec *exec, void *memory);
void table_zero(const struct sg_exec *exec, void *to, size_t bytes);
void table_put(const struct sg_exec *exec, void *to, const void *host, size_t bytes);
int table_get(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
void table_get_later(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
int table_wait(const struct sg_exec *exec);

#endif
