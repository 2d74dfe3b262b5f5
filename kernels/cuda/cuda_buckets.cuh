/* cuda_buckets.cuh: what the kernels of codes with buckets share: where the parts of a message lie, and their
 * fields. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_BUCKETS_CUH
#define CUDA_BUCKETS_CUH

#include "cuda_codes.cuh"

#include <float.h>

/* A warp reads a chunk of numbers at a time. Of the list of `grid` an entry has so many bytes, and of a message its
 * end. */
constexpr uint32_t CHUNK = 1024, ENTRY = 8, TAIL = 8;

/* Where a part lies: its first number, first group of eight numbers and first bucket among those of all parts. */
struct bucket_part {
    uint64_t scalar_at, at; /* bytes of the first bucket's scalar and of the fields */
    uint32_t first, group, bucket, count, setting, bits;
};

struct bucket_call {
    uint8_t *data;
    bucket_part *part; /* [parts + 1] the last is where all end */
    uint32_t parts;
    enum sg_bucket_code code;
    bool nearest;
    float *step;     /* [parts] of STEPS, for writing; else NULL */
    uint32_t beyond; /* STEPS, for reading: numbers that are sent as they are */
};

__device__ inline uint32_t head_at(const uint8_t *data, uint64_t word) {
    return ((const uint32_t *)data)[word];
}

__device__ inline uint32_t bucket_size(const bucket_call &c) {
    return head_at(c.data, 1);
}

/* Scalars and what is listed stand at any byte. */
__device__ inline uint32_t load_word(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

__device__ inline void store_word(uint8_t *at, uint32_t word) {
    for (uint32_t b = 0; b < 4; b++)
        at[b] = (uint8_t)(word >> 8 * b);
}

__device__ inline float load_scalar(const uint8_t *at) {
    return __uint_as_float(load_word(at));
}

__device__ inline void store_scalar(uint8_t *at, float x) {
    store_word(at, __float_as_uint(x));
}

/* Field j of a part; up to three bytes behind it are read. */
__device__ inline uint32_t field_of(const bucket_call &c, const bucket_part &p, uint32_t j) {
    const uint64_t bit = (uint64_t)j * p.bits;
    return load_word(c.data + p.at + bit / 8) >> bit % 8 & ((1U << p.bits) - 1);
}

/* multiples_of of code_grid.c: the most steps that a field of STEPS says; step > 0. */
__device__ inline double most_steps(float step, uint32_t bits) {
    const double field = (double)((1U << (bits - 1)) - 1);
    return __dmul_rn(step, field) <= (double)FLT_MAX ? field
                                                     : floor(__ddiv_rn(FLT_MAX, step)); /* the product is exact */
}

/* ---- host side ---- */

static inline size_t chunks_of(size_t count) {
    return count / CHUNK + (count % CHUNK > 0);
}

/* Lists the numbers behind the fields that these say are sent as they are, and how many they are; that also into
 * begin[chunks_of(n)], of which the others are scratch. */
void cuda_list_beyond(const struct sg_exec *exec, const struct bucket_call &c, const float *x, uint32_t n,
                      uint32_t *begin);

#endif
