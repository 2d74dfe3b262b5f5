/* cuda_sums.cu: the sum over messages, sums of squares. */
/* SPDX-License-Identifier: MIT */
#include "cuda_device.cuh"

/* ---- messages ------------------------------------------------------------------------------------------------- */

/* A block owns a range of dense, so messages are added in order without atomics. */
struct batch {
    struct sg_cuda_entries message[SG_CUDA_MESSAGES];
    uint32_t count;
};

/* For each message, the range of its entries that are in the block's range of dense. */
struct ranges {
    uint32_t first[SG_CUDA_MESSAGES], last[SG_CUDA_MESSAGES];
};

/* One warp: the first j with index[j] >= at, n if there is none; index ascending. Each round leaves a 32nd. */
__device__ static uint32_t first_at_least(const uint32_t *index, uint32_t n, uint32_t at) {
    uint32_t low = 0;
    while (n > 0) {
        const uint32_t step = n / WARP + 1, last = step * (lane() + 1) - 1;
        const uint32_t below = __ballot_sync(ALL_LANES, last < n && index[low + last] < at);
        const uint32_t skip = (uint32_t)__popc(below) * step;
        low += skip;
        n = n - skip < step - 1 ? n - skip : step - 1;
    }
    return low;
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) scatter_kernel(batch b, float *dense, uint32_t n) {
    SG_SHARED(ranges, in);
    const uint32_t begin = (uint32_t)((uint64_t)n * blockIdx.x / gridDim.x);
    const uint32_t end = (uint32_t)((uint64_t)n * (blockIdx.x + 1) / gridDim.x);
    for (uint32_t m = warp(); m < b.count; m += WARPS) {
        const uint32_t *index = b.message[m].index, count = *b.message[m].count;
        const uint32_t from = index ? first_at_least(index, count, begin) : begin;
        const uint32_t to = index ? first_at_least(index, count, end) : end < count ? end : count;
        if (lane() == 0) {
            in.first[m] = from;
            in.last[m] = to;
        }
    }
    __syncthreads();
    for (uint32_t m = 0; m < b.count; m++) {
        const uint32_t *index = b.message[m].index;
        for (uint32_t j = in.first[m] + threadIdx.x; j < in.last[m]; j += THREADS) {
            const uint32_t at = index ? index[j] : j;
            dense[at] = __fadd_rn(dense[at], b.message[m].value[j]);
        }
        __syncthreads();
    }
}

int sg_cuda_scatter_add_messages(void *stream, float *dense, size_t n, const struct sg_cuda_entries *message,
                                 size_t n_messages) {
    constexpr size_t BLOCK_ELEMENTS = 8192, MOST = 2048;
    const size_t wanted = n / BLOCK_ELEMENTS + 1, blocks = wanted < MOST ? wanted : MOST;
    int status = SG_KERNEL_OK;
    for (size_t m = 0; m < n_messages && status == SG_KERNEL_OK;) {
        batch b;
        for (b.count = 0; b.count < SG_CUDA_MESSAGES && m < n_messages; b.count++)
            b.message[b.count] = message[m++];
        status = launch((uint32_t)blocks, false, stream, scatter_kernel, b, dense, (uint32_t)n);
    }
    return status;
}

/* ---- squares -------------------------------------------------------------------------------------------------- */

/* 16 lanes sum a block of SG_KERNEL_BLOCK elements as sg_kernels.h states; squares of floats are exact in double. */
__device__ static double square_block(const float *x, uint32_t n) {
    const uint32_t l = threadIdx.x % SG_KERNEL_LANES;
    double sum = 0;
#pragma unroll 16
    for (uint32_t i = l; i < n; i += SG_KERNEL_LANES)
        sum = __dadd_rn(sum, __dmul_rn(x[i], x[i]));
    return add_lanes(sum);
}

/* The part, as soon as another block has written it. Its place is ready for the next call then. A part that is not
 * there is below 0, as no sum of squares is, so the number itself says that it has come. */
__device__ static double take_part(double *part) {
    const volatile double *from = part;
    double x = *from;
    while (x < 0) {
        __nanosleep(32);
        x = *from;
    }
    *part = -1;
    return x;
}

/* Block 0 adds the parts in order, one dependent addition after the other, while the others compute them. */
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    squares_kernel(view v, const float *x, uint32_t n, double *sum) {
    SG_SHARED(terms, sh);
    constexpr uint32_t GROUPS = THREADS / SG_KERNEL_LANES, BLOCK = SG_KERNEL_BLOCK;
    const uint32_t blocks = n / BLOCK + (n % BLOCK > 0), alone = gridDim.x == 1, others = gridDim.x - 1 + alone;
    const uint32_t first = alone ? 0 : blockIdx.x > 0 ? (blockIdx.x - 1) * GROUPS : blocks;
    for (uint32_t b = first; b < blocks; b += others * GROUPS) {
        const uint32_t mine = b + threadIdx.x / SG_KERNEL_LANES, at = mine * BLOCK;
        const bool some = mine < blocks;
        const uint32_t left = some ? n - at : 0;
        const double part = square_block(x + (some ? at : 0), left < BLOCK ? left : BLOCK);
        if (some && threadIdx.x % SG_KERNEL_LANES == 0)
            v.part[mine] = part;
    }
    if (blockIdx.x == 0) {
        const double total = sum_in_order(sh, blocks, [&](uint64_t b) { return take_part(&v.part[b]); });
        if (threadIdx.x == 0)
            *sum = total;
    }
}

int sg_cuda_sum_squares(sg_cuda *c, void *stream, const float *x, size_t n, double *sum) {
    return cuda_may_launch(c, sizeof *x, {x})
               ? launch(c->blocks, true, stream, squares_kernel, c->v, x, (uint32_t)n, sum)
               : (int)SG_KERNEL_DEVICE;
}

int sums_kernels_blocks(void) {
    return blocks_of(squares_kernel);
}
