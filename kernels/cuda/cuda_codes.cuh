/* cuda_codes.cuh: what the kernels of codes and products share: warps of the grid, where parts begin, what becomes of a
 * number that is read. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_CODES_CUH
#define CUDA_CODES_CUH

#include "cuda_table.cuh"

/* Blocks for so many warps of work, of which a warp may do several. */
static inline uint32_t blocks_for_warps(size_t warps) {
    constexpr size_t MOST = 4096;
    const size_t wanted = warps / WARPS + 1;
    return (uint32_t)(wanted < MOST ? wanted : MOST);
}

__device__ inline uint32_t grid_warp() {
    return blockIdx.x * WARPS + warp();
}

__device__ inline uint32_t grid_warps() {
    return gridDim.x * WARPS;
}

/* The last i < n with at(i) <= place; at is ascending and at(0) <= place. Of several, the last one is not empty. */
template <typename At> __device__ inline uint32_t last_at_most(uint32_t n, uint64_t place, At at) {
    uint32_t low = 0, high = n;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (at(middle) <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What a number v that was read does; no two numbers of a message meet in an element. */
__device__ inline void put_number(const sg_sink &s, uint64_t j, float v) {
    float *to = s.to + (s.index ? s.index[j] : j);
    switch (s.kind) {
    case SG_SINK_STORE:
        *to = v;
        break;
    case SG_SINK_ADD:
        *to = __fadd_rn(*to, __fmul_rn(s.weight, v));
        break;
    case SG_SINK_DIFFERENCE:
        *to = __fadd_rn(*to, __fadd_rn(s.value[j], -v));
        break;
    }
}

#endif
