/* cuda_select.cu: the selections of sg_cuda.h but Top-k. */
/* SPDX-License-Identifier: MIT */
#include "cuda_stream.cuh"

/* ---- hard threshold ------------------------------------------------------------------------------------------- */

/* The lists of this block's pieces to their place in the output, behind those of earlier pieces. */
__device__ static void move_lists(const view &v, const pass &a, uint64_t before) {
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
        const uint32_t from = v.piece[p].begin, found = v.found[p];
        const uint64_t to = before + warp_sum(v.found, block_begin(v), p);
        for (uint32_t j = lane(); j < found; j += WARP) {
            a.index[to + j] = v.list_index[from + j];
            a.value[to + j] = v.list_value[from + j];
        }
        if (lane() == 0 && found > 0)
            atomicAdd(&a.count[v.piece[p].layer], found);
    }
}

template <source S>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) threshold_kernel(view v, pass a, const float *tau) {
    SG_SHARED(uint64_t, before);
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
        const uint32_t floor = magnitude(tau[v.piece[p].layer]);
        stream<S, SEND>(v, a, p, floor < INF_BITS ? floor : INF_BITS, NULL);
    }
    if (blockIdx.x == 0)
        for (uint32_t l = threadIdx.x; l < v.n_layers; l += THREADS)
            a.count[l] = 0;
    __syncthreads();
    const uint64_t here = warp() == 0 ? warp_sum(v.found, block_begin(v), block_end(v)) : 0;
    if (threadIdx.x == 0)
        v.head[blockIdx.x] = here;
    grid_sync(v);
    if (warp() == 0) {
        const uint64_t earlier = warp_sum(v.head, 0, blockIdx.x);
        if (lane() == 0)
            before = earlier;
        if (lane() == 0 && blockIdx.x == gridDim.x - 1)
            a.result->sent = (uint32_t)(earlier + here);
    }
    __syncthreads();
    move_lists(v, a, before);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        report_status(v, a);
}

int sg_cuda_select_threshold(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const float *tau) {
    return launch_select(c, stream, s, s->e ? threshold_kernel<FROM_BOTH> : threshold_kernel<FROM_GRADIENT>, tau);
}

/* ---- given positions, everything ------------------------------------------------------------------------------ */

template <source S>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) positions_kernel(view v, pass a, const uint32_t *position) {
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++)
        stream<S, KEEP>(v, a, p, INF_BITS, NULL);
    const uint64_t total = warp_sum(a.count, 0, v.n_layers);
    grid_sync(v);
    for (uint64_t j = blockIdx.x * THREADS + threadIdx.x; j < total; j += gridDim.x * THREADS) {
        const uint32_t at = position[j];
        a.value[j] = S == FROM_BOTH ? a.e[at] : form<FROM_GRADIENT>(a, a.g[at], 0);
        a.index[j] = at;
        if (S == FROM_BOTH)
            a.e[at] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        a.result->sent = (uint32_t)total;
        report_status(v, a);
    }
}

int sg_cuda_select_positions(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const uint32_t *position) {
    return launch_select(c, stream, s, s->e ? positions_kernel<FROM_BOTH> : positions_kernel<FROM_GRADIENT>, position);
}

template <source S> __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) all_kernel(view v, pass a) {
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++)
        stream<S, SEND_ALL>(v, a, p, INF_BITS, NULL);
    for (uint32_t l = blockIdx.x * THREADS + threadIdx.x; l < v.n_layers; l += gridDim.x * THREADS)
        a.count[l] = v.layer_size[l];
    grid_sync(v);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        a.result->sent = v.n;
        report_status(v, a);
    }
}

int sg_cuda_select_all(sg_cuda *c, void *stream, const struct sg_cuda_select *s) {
    return launch_select(c, stream, s, s->e ? all_kernel<FROM_BOTH> : all_kernel<FROM_GRADIENT>);
}

int select_kernels_blocks(void) {
    return least_of({blocks_of(threshold_kernel<FROM_BOTH>), blocks_of(threshold_kernel<FROM_GRADIENT>),
                     blocks_of(positions_kernel<FROM_BOTH>), blocks_of(positions_kernel<FROM_GRADIENT>),
                     blocks_of(all_kernel<FROM_BOTH>), blocks_of(all_kernel<FROM_GRADIENT>)});
}
