/* cuda_codes.cu: the GPU's table of codes. Here are those in which every number takes the same bytes: floats, halves,
 * and floats cut to 16 bits; and the majority vote on signs. */
/* SPDX-License-Identifier: MIT */
#include "cuda_codes.cuh"
#include "sg_half.h"

__global__ void write_plain_kernel(void *data, const float *x, uint64_t count, sg_plain_code code) {
    for (uint64_t j = first_place(); j < count; j += stride())
        if (code == SG_PLAIN_FLOAT)
            ((float *)data)[j] = x[j];
        else
            ((uint16_t *)data)[j] = code == SG_PLAIN_HALF ? sg_half_of(x[j]) : sg_bf16_of(x[j]);
}

__global__ void read_plain_kernel(sg_sink to, const void *data, uint64_t count, sg_plain_code code) {
    for (uint64_t j = first_place(); j < count; j += stride()) {
        const uint16_t bits = code != SG_PLAIN_FLOAT ? ((const uint16_t *)data)[j] : 0;
        put_number(to, j,
                   code == SG_PLAIN_FLOAT  ? ((const float *)data)[j]
                   : code == SG_PLAIN_HALF ? sg_half_value(bits)
                                           : sg_bf16_value(bits));
    }
}

static int write_plain(const struct sg_exec *exec, void *data, const float *x, size_t count, enum sg_plain_code code) {
    return enqueue(exec, pass_blocks(count), write_plain_kernel, data, x, count, code);
}

static void read_plain(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                       enum sg_plain_code code) {
    (void)enqueue(exec, pass_blocks(count), read_plain_kernel, *to, data, count, code);
}

__global__ void vote_kernel(float *sum, uint64_t n, float all, float tie) {
    for (uint64_t i = first_place(); i < n; i += stride())
        sum[i] = sum[i] > 0 ? all : sum[i] < 0 ? -all : tie;
}

static void vote(const struct sg_exec *exec, float *sum, size_t n, float all, float tie) {
    (void)enqueue(exec, pass_blocks(n), vote_kernel, sum, n, all, tie);
}

const struct sg_device_codes cuda_codes = {
    cuda_write_signs, cuda_read_signs, cuda_write_buckets, cuda_read_buckets, write_plain, read_plain, vote,
};
