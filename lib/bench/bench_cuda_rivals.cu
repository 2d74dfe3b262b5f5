/* bench_cuda_rivals.cu: error feedback with the parts of CUB, as most people would write it: form p, select with the
 * library, gather. One selection for each layer where Top-k needs one. */
#include <cuda_runtime.h>

#include "bench_cuda_rivals.h"

#if !__has_include(<cub/device/device_select.cuh>) /* compilers that come without CUB */
const char *rival_cub_missing(void) {
    return "built without CUB's headers";
}

size_t rival_scratch_bytes(const struct rival *, const size_t *, size_t) {
    return 0;
}

cudaError_t rival_threshold(const struct rival *) {
    return cudaErrorNotSupported;
}

cudaError_t rival_topk(const struct rival *, const size_t *, const size_t *, size_t) {
    return cudaErrorNotSupported;
}
#else
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

const char *rival_cub_missing(void) {
    return NULL;
}

static const unsigned THREADS = 256;

static unsigned blocks_for(size_t n) {
    return (unsigned)((n + THREADS - 1) / THREADS);
}

__global__ void form_kernel(float *e, const float *g, float decay, uint32_t *key, uint32_t *place, size_t n) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const float p = __fadd_rn(__fmul_rn(decay, e[i]), g[i]);
    e[i] = p;
    if (key != NULL) {
        key[i] = __float_as_uint(fabsf(p));
        place[i] = (uint32_t)i;
    }
}

/* Entries index [*count or most] leave e for value. */
__global__ void gather_kernel(float *e, const uint32_t *from, uint32_t *index, float *value, const uint32_t *count,
                              size_t most) {
    const size_t n = count != NULL ? *count : most;
    for (size_t j = (size_t)blockIdx.x * THREADS + threadIdx.x; j < n; j += (size_t)gridDim.x * THREADS) {
        const uint32_t at = from[j];
        index[j] = at;
        value[j] = e[at];
        e[at] = 0;
    }
}

struct reaches {
    const float *p;
    float tau;
    __device__ bool operator()(uint32_t i) const {
        return fabsf(p[i]) >= tau;
    }
};

static cudaError_t select_if(const struct rival *r, void *scratch, size_t *bytes) {
    return cub::DeviceSelect::If(scratch, *bytes, thrust::counting_iterator<uint32_t>(0), r->index, r->found,
                                 (int64_t)r->n, reaches{r->e, r->tau}, r->stream);
}

static cudaError_t sort_layer(const struct rival *r, void *scratch, size_t *bytes, size_t begin, size_t n) {
    return cub::DeviceRadixSort::SortPairsDescending(scratch, *bytes, r->key + begin, r->sorted_key + begin,
                                                     r->place + begin, r->sorted_place + begin, (int64_t)n, 0, 31,
                                                     r->stream);
}

size_t rival_scratch_bytes(const struct rival *r, const size_t *offset, size_t n_layers) {
    size_t most = 0, bytes = 0;
    if (select_if(r, NULL, &bytes) == cudaSuccess)
        most = bytes;
    for (size_t l = 0; l < n_layers; l++)
        if (sort_layer(r, NULL, &bytes, offset[l], offset[l + 1] - offset[l]) == cudaSuccess && bytes > most)
            most = bytes;
    return most;
}

cudaError_t rival_threshold(const struct rival *r) {
    size_t bytes = r->scratch_bytes;
    form_kernel<<<blocks_for(r->n), THREADS, 0, r->stream>>>(r->e, r->g, r->decay, NULL, NULL, r->n);
    const cudaError_t error = select_if(r, r->scratch, &bytes);
    gather_kernel<<<512, THREADS, 0, r->stream>>>(r->e, r->index, r->index, r->value, r->found, 0);
    return error != cudaSuccess ? error : cudaGetLastError();
}

cudaError_t rival_topk(const struct rival *r, const size_t *offset, const size_t *k, size_t n_layers) {
    cudaError_t error = cudaSuccess;
    form_kernel<<<blocks_for(r->n), THREADS, 0, r->stream>>>(r->e, r->g, r->decay, r->key, r->place, r->n);
    for (size_t l = 0, sent = 0; l < n_layers && error == cudaSuccess; sent += k[l++]) {
        size_t bytes = r->scratch_bytes;
        error = sort_layer(r, r->scratch, &bytes, offset[l], offset[l + 1] - offset[l]);
        gather_kernel<<<blocks_for(k[l]), THREADS, 0, r->stream>>>(r->e, r->sorted_place + offset[l], r->index + sent,
                                                                   r->value + sent, NULL, k[l]);
    }
    return error != cudaSuccess ? error : cudaGetLastError();
}
#endif
