/* sg_half.h: float values as IEEE 754 halves (binary16), and as upper halves of floats (bfloat16), for messages of 16
 * bits a value.
 *
 * Rounding is to nearest, ties to even. A magnitude that would round to infinity (65520 and up) saturates to 65504, the
 * largest half. The difference of a float below 2^29 and its half is exactly a float; for larger ones it may not be. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_HALF_H
#define SG_HALF_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define SG_HALF_INLINE static __host__ __device__ inline
#else
#define SG_HALF_INLINE static inline
#endif

SG_HALF_INLINE uint32_t sg_float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SG_HALF_INLINE float sg_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The half nearest to x, which is finite. It selects instead of branching, so that loops over it become vector code. */
SG_HALF_INLINE uint16_t sg_half_of(float x) {
    const uint32_t bits = sg_float_bits(x), magnitude = bits & 0x7fffffff;
    /* Normal halves: the exponent is rebiased by 127 - 15 and 13 bits are rounded away; the odd bit breaks ties to
     * even. */
    const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    /* Below 2^-14: beside 0.5 the last bit of a float is worth 2^-24, as that of a subnormal half. So the addition
     * rounds. */
    const uint32_t tiny = sg_float_bits(sg_float_of_bits(magnitude < 0x38800000 ? magnitude : 0) + 0.5F) - 0x3f000000;
    const uint32_t rounded = magnitude < 0x38800000 ? tiny : magnitude < 0x477ff000 ? normal : 0x7bff;
    return (uint16_t)(rounded | (bits >> 16 & 0x8000));
}

/* The value of a half, exactly. Inf and NaN come out as numbers from 65536 up, so a caller that may have them refuses
 * them first. */
SG_HALF_INLINE float sg_half_value(uint16_t half) {
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13, sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t normal = magnitude + 0x38000000;
    /* Subnormal halves: m 2^-24 = (2^-14 + m 2^-24) - 2^-14, exactly. */
    const uint32_t tiny =
        sg_float_bits(sg_float_of_bits(magnitude < 0x00800000 ? magnitude + 0x38800000 : 0x38800000) - 0x1p-14F);
    return sg_float_of_bits((magnitude < 0x00800000 ? tiny : normal) | sign);
}

/* x rounded to bfloat16, ties to even, as the upper half of a float; x is finite. A result that would be infinite
 * becomes the largest finite one. */
SG_HALF_INLINE uint16_t sg_bf16_of(float x) {
    const uint32_t bits = sg_float_bits(x), up = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((up & 0x7f80) == 0x7f80 ? bits >> 16 : up);
}

SG_HALF_INLINE float sg_bf16_value(uint16_t upper) {
    return sg_float_of_bits((uint32_t)upper << 16);
}

/* Numbers of a process as halves, of which a network adds those of all processes: IEEE halves, or upper halves of
 * floats, which `upper` asks for. They are divided by the number of processes first, so that no sum overflows.
 *   number [count]   finite
 *   half [count]     <- number / processes, rounded to nearest, ties to even, and at most what `processes` may add up
 *   lost [count]     += number - processes half, which no process gets: a residual. NULL = not asked for */
SG_UNSTABLE void sg_halves_write(uint16_t *half, float *lost, const float *number, size_t count, size_t processes,
                                 bool upper);
/* number [count] <- processes half, of halves that are finite: the sum over all processes, where the network has added
 * their halves. */
SG_UNSTABLE void sg_halves_read(float *number, const uint16_t *half, size_t count, size_t processes, bool upper);

#ifdef __cplusplus
}
#endif
#endif
