/* cuda_table.cuh: the GPU behind the table of sg_kernels.h: what the files share that have rows of this table and of those
 * it points to. cuda_memory.cu opens the GPU and copies, cuda_table.cu has the table itself. */
#ifndef CUDA_TABLE_CUH
#define CUDA_TABLE_CUH

#include "cuda_device.cuh"
#include "sg_device_codes.h"
#include "sg_products.h"

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

/* Keeps the first error of the device, for a launch that returned `status`, and returns that. */
static inline int record_launch(sg_cuda_device *d, int status) {
    if (status != SG_KERNEL_OK && d->error == cudaSuccess) {
        const cudaError_t error = cudaGetLastError();
        d->error = error != cudaSuccess ? error : cudaErrorUnknown;
    }
    return status;
}

/* Begins a kernel on so many blocks, unless the device has failed before. Of several calls the status of the last one
 * serves, because nothing is begun after a failure. */
template <typename... Args>
static int enqueue(const struct sg_exec *exec, uint32_t blocks, void (*kernel)(Args...),
                   typename converted<Args>::to... args) {
    sg_cuda_device *d = device_of(exec);
    return ready(d) ? record_launch(d, launch<Args...>(blocks, false, STREAM, kernel, args...)) : (int)SG_KERNEL_DEVICE;
}

/* `bytes` of the device's memory, until the next call for the table; NULL = the device failed or has no such memory, which
 * is a failure then. */
char *table_room(const struct sg_exec *exec, size_t bytes);

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
