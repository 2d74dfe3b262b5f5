/* cuda_products.cu: the products of a matrix with thin ones of sg_products.h, in the order of sums stated there. */
/* SPDX-License-Identifier: MIT */
#include "cuda_codes.cuh"
#include "sg_products.h"

constexpr uint32_t LANES = SG_KERNEL_LANES;
constexpr uint32_t AT_ONCE = 4; /* columns of P or Q for which a number of M is loaded once */

/* sum + a b; the product is exact. */
__device__ inline double plus_product(double sum, double a, float b) {
    return __dadd_rn(sum, __dmul_rn(a, (double)b));
}

__device__ inline uint32_t at_most(uint64_t n, uint32_t limit) {
    return n < limit ? (uint32_t)n : limit;
}

/* Columns k .. k + ranks - 1 of x, each of n numbers. The first one stands in for those that are missing, so that no
 * branch keeps a loop from loading ahead. */
__device__ inline void columns_from(const float *(&column)[AT_ONCE], const float *x, uint64_t k, uint32_t ranks,
                                    uint64_t n) {
#pragma unroll
    for (uint32_t c = 0; c < AT_ONCE; c++)
        column[c] = x + (k + (c < ranks ? c : 0)) * n;
}

/* Half a warp adds up one row of M with AT_ONCE columns of Q; a lane of it is a lane of the sum. */
__global__ void __launch_bounds__(THREADS) times_kernel(float *p, const float *m, const float *q, sg_shape s) {
    const uint32_t mine = lane() % LANES, half = lane() / LANES;
    const uint64_t pairs = (s.rows + 1) / 2, groups = (s.rank + AT_ONCE - 1) / AT_ONCE;
    for (uint64_t work = grid_warp(); work < pairs * groups; work += grid_warps()) {
        const uint64_t row = work % pairs * 2 + half, k = work / pairs * AT_ONCE;
        const uint32_t ranks = at_most(s.rank - k, AT_ONCE);
        const float *column[AT_ONCE];
        double sum[AT_ONCE] = {};
        columns_from(column, q, k, ranks, s.columns);
        if (row < s.rows)
#pragma unroll 8
            for (uint64_t j = mine; j < s.columns; j += LANES) {
                const double a = m[row * s.columns + j];
#pragma unroll
                for (uint32_t c = 0; c < AT_ONCE; c++)
                    sum[c] = plus_product(sum[c], a, column[c][j]);
            }
#pragma unroll
        for (uint32_t c = 0; c < AT_ONCE; c++) {
            double total = 0;
            for (uint32_t l = 0; l < LANES; l++)
                total = __dadd_rn(total, __shfl_sync(ALL_LANES, sum[c], half * LANES + l));
            if (row < s.rows && c < ranks && mine == 0)
                p[(k + c) * s.rows + row] = __double2float_rn(total);
        }
    }
}

/* A thread adds up one column of M with AT_ONCE columns of P. */
__global__ void __launch_bounds__(THREADS) transposed_kernel(float *q, const float *m, const float *p, sg_shape s) {
    const uint64_t groups = (s.rank + AT_ONCE - 1) / AT_ONCE;
    for (uint64_t work = first_place(); work < s.columns * groups; work += stride()) {
        const uint64_t j = work % s.columns, k = work / s.columns * AT_ONCE;
        const uint32_t ranks = at_most(s.rank - k, AT_ONCE);
        const float *column[AT_ONCE];
        double sum[AT_ONCE] = {};
        columns_from(column, p, k, ranks, s.rows);
#pragma unroll 8
        for (uint64_t i = 0; i < s.rows; i++) {
            const double a = m[i * s.columns + j];
#pragma unroll
            for (uint32_t c = 0; c < AT_ONCE; c++)
                sum[c] = plus_product(sum[c], a, column[c][i]);
        }
#pragma unroll
        for (uint32_t c = 0; c < AT_ONCE; c++)
            if (c < ranks)
                q[(k + c) * s.columns + j] = __double2float_rn(sum[c]);
    }
}

/* A thread computes one element of P Q'. */
__global__ void __launch_bounds__(THREADS)
    outer_kernel(float *m, const float *p, const float *q, sg_shape s, bool subtract) {
    for (uint64_t at = first_place(); at < s.rows * s.columns; at += stride()) {
        const uint64_t i = at / s.columns, j = at % s.columns;
        double sum = 0;
        for (uint64_t k = 0; k < s.rank; k++)
            sum = plus_product(sum, p[k * s.rows + i], q[k * s.columns + j]);
        m[at] = __double2float_rn(subtract ? __dadd_rn(m[at], -sum) : sum);
    }
}

static void times(const struct sg_exec *exec, float *p, const float *m, const float *q, const struct sg_shape *s) {
    const size_t warps = (s->rows + 1) / 2 * ((s->rank + AT_ONCE - 1) / AT_ONCE);
    (void)enqueue(exec, blocks_for_warps(warps), times_kernel, p, m, q, *s);
}

static void transposed(const struct sg_exec *exec, float *q, const float *m, const float *p, const struct sg_shape *s) {
    const size_t warps = s->columns * ((s->rank + AT_ONCE - 1) / AT_ONCE) / WARP;
    (void)enqueue(exec, blocks_for_warps(warps), transposed_kernel, q, m, p, *s);
}

static void outer(const struct sg_exec *exec, float *m, const float *p, const float *q, const struct sg_shape *s,
                  bool subtract) {
    (void)enqueue(exec, pass_blocks(s->rows * s->columns), outer_kernel, m, p, q, *s, subtract);
}

const struct sg_products cuda_products = {"cuda", times, transposed, outer};
