/* rivals_cuda.cu: error feedback with the parts of CUB, as most people would write it: form p, select with the library,
 * gather. One selection for each layer where Top-k needs one. */
/* SPDX-License-Identifier: MIT */
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include <cstring>

#include "rivals_cuda.h"

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

/* What a call has of its scratch memory; the rest is CUB's. */
struct room {
    uint32_t *key, *place, *sorted_key, *sorted_place; /* [n] */
    void *cub;
    size_t cub_bytes;
    cudaStream_t stream;
};

static size_t array_bytes(const rival_cuda_call *c) {
    return (c->n * sizeof(uint32_t) + 255) / 256 * 256;
}

static room room_of(const rival_cuda_call *c) {
    room r = {};
    const size_t bytes = array_bytes(c);
    char *at = (char *)c->scratch;
    r.stream = (cudaStream_t)c->stream;
    if (at == NULL)
        return r;
    r.key = (uint32_t *)at;
    r.place = (uint32_t *)(at + bytes);
    r.sorted_key = (uint32_t *)(at + 2 * bytes);
    r.sorted_place = (uint32_t *)(at + 3 * bytes);
    r.cub = at + 4 * bytes;
    r.cub_bytes = c->scratch_bytes - 4 * bytes;
    return r;
}

static cudaError_t select_if(const rival_cuda_call *c, room *r) {
    return cub::DeviceSelect::If(r->cub, r->cub_bytes, thrust::counting_iterator<uint32_t>(0), c->index, c->found,
                                 (int64_t)c->n, reaches{c->e, c->tau}, r->stream);
}

static cudaError_t sort_layer(const rival_cuda_call *c, room *r, size_t layer) {
    const size_t begin = c->offset[layer], n = c->offset[layer + 1] - begin;
    return cub::DeviceRadixSort::SortPairsDescending(r->cub, r->cub_bytes, r->key + begin, r->sorted_key + begin,
                                                     r->place + begin, r->sorted_place + begin, (int64_t)n, 0, 31,
                                                     r->stream);
}

/* The most that CUB needs, behind the arrays. */
static cudaError_t measure(rival_cuda_call *c) {
    room r = room_of(c);
    cudaError_t error = select_if(c, &r);
    size_t most = r.cub_bytes;
    for (size_t l = 0; l < c->layers && error == cudaSuccess; l++) {
        error = sort_layer(c, &r, l);
        most = r.cub_bytes > most ? r.cub_bytes : most;
    }
    c->scratch_bytes = 4 * array_bytes(c) + most;
    return error;
}

static cudaError_t threshold(const rival_cuda_call *c) {
    room r = room_of(c);
    form_kernel<<<blocks_for(c->n), THREADS, 0, r.stream>>>(c->e, c->g, c->decay, NULL, NULL, c->n);
    const cudaError_t error = select_if(c, &r);
    gather_kernel<<<512, THREADS, 0, r.stream>>>(c->e, c->index, c->index, c->value, c->found, 0);
    return error != cudaSuccess ? error : cudaGetLastError();
}

/* Entries of a layer are in the order of their magnitudes. */
static cudaError_t topk(const rival_cuda_call *c) {
    const room all = room_of(c);
    cudaError_t error = cudaSuccess;
    form_kernel<<<blocks_for(c->n), THREADS, 0, all.stream>>>(c->e, c->g, c->decay, all.key, all.place, c->n);
    for (size_t l = 0, sent = 0; l < c->layers && error == cudaSuccess; sent += c->k[l++]) {
        room r = all;
        error = sort_layer(c, &r, l);
        gather_kernel<<<blocks_for(c->k[l]), THREADS, 0, r.stream>>>(c->e, r.sorted_place + c->offset[l],
                                                                     c->index + sent, c->value + sent, NULL, c->k[l]);
    }
    return error != cudaSuccess ? error : cudaGetLastError();
}

int rival_cuda(const char *name, rival_cuda_call *c) {
    if (c->scratch == NULL)
        return measure(c) != cudaSuccess;
    if (std::strcmp(name, "cub-select") == 0)
        return threshold(c) != cudaSuccess;
    return std::strcmp(name, "cub-sort") == 0 ? topk(c) != cudaSuccess : 1;
}
