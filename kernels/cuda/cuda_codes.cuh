/* cuda_codes.cuh: what the kernels of codes share: the device behind an sg_exec, where parts begin, what becomes of a number
 * that is read. */
#ifndef CUDA_CODES_CUH
#define CUDA_CODES_CUH

#include "cuda_device.cuh"
#include "sg_device_codes.h"

/* ---- host side, of cuda_table.cu ---- */

/* Makes the exec's device the thread's. Returns false after a failure. */
bool cuda_ready(const struct sg_exec *exec);
/* `bytes` of the device's memory, in *out, until the next call for the table. */
int cuda_room(const struct sg_exec *exec, size_t bytes, void **out);
/* Tells the device what a launch returned, and returns it. */
int cuda_record_launch(const struct sg_exec *exec, int status);

extern const struct sg_products cuda_products; /* cuda_products.cu */
extern const struct sg_device_codes cuda_codes;
/* Rows of that table (cuda_signs.cu, cuda_buckets.cu, cuda_plain.cu). */
int cuda_write_signs(const struct sg_exec *exec, void *data, const struct sg_device_signs *s, uint32_t *below);
void cuda_read_signs(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                     size_t parts);
int cuda_write_buckets(const struct sg_exec *exec, void *data, const struct sg_device_buckets *b);
void cuda_read_buckets(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t bytes,
                       size_t count, size_t parts, enum sg_bucket_code code);
int cuda_write_bf16(const struct sg_exec *exec, uint16_t *data, const float *x, size_t count);
void cuda_read_plain(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                     enum sg_plain_code code);

/* Rows of the table of sg_kernels.h (cuda_mix.cu). */
void cuda_mix(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n);
void cuda_add_quotient(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n);
void cuda_copy(const struct sg_exec *exec, float *to, const float *x, size_t n);
void cuda_zero_at(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count);

/* Blocks for so many warps of work, of which a warp may do several. */
static inline uint32_t blocks_for_warps(size_t warps) {
    constexpr size_t MOST = 4096;
    const size_t wanted = warps / WARPS + 1;
    return (uint32_t)(wanted < MOST ? wanted : MOST);
}

/* ---- device side ---- */

__device__ inline uint32_t grid_warp() {
    return blockIdx.x * WARPS + warp();
}

__device__ inline uint32_t grid_warps() {
    return gridDim.x * WARPS;
}

/* One warp: the sum of x over the lanes below this one, and over all lanes. */
template <typename T> __device__ inline T lanes_before(T x, T *all) {
    T before = 0, sum = 0;
    for (uint32_t l = 0; l < WARP; l++) {
        const T other = __shfl_sync(ALL_LANES, x, l);
        before += l < lane() ? other : 0;
        sum += other;
    }
    *all = sum;
    return before;
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

/* The sum over 16 lanes, in the order of sg_kernels.h: halves are added onto each other. The first of them has it. */
__device__ inline double add_lanes(double sum) {
    for (uint32_t half = SG_KERNEL_LANES / 2; half > 0; half /= 2)
        sum = __dadd_rn(sum, __shfl_down_sync(ALL_LANES, sum, half, SG_KERNEL_LANES));
    return sum;
}

#endif
