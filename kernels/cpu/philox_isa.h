/* philox_isa.h: sg_philox_draws of sg_philox.h in whole vectors, for the *_isa.c files. */
/* SPDX-License-Identifier: MIT */
#ifndef PHILOX_ISA_H
#define PHILOX_ISA_H

#include "cpu_isa.h"
#include "sg_philox.h"

#if defined(__AVX2__)
/* One counter in each 64-bit lane. Only the low halves count, because a product takes no more of its factors: gcc 12
 * makes three multiplications of the same with 32-bit numbers. */
#if defined(__AVX512F__)
enum { PHILOX_BLOCKS = 8 };
typedef uint64_t philox_lanes __attribute__((vector_size(8 * PHILOX_BLOCKS)));
static inline philox_lanes philox_product(philox_lanes a, philox_lanes b) {
    return (philox_lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}
static const philox_lanes philox_counts = {0, 1, 2, 3, 4, 5, 6, 7};
#define PHILOX_FIRST  0, 8, 1, 9, 2, 10, 3, 11
#define PHILOX_SECOND 4, 12, 5, 13, 6, 14, 7, 15
#else
enum { PHILOX_BLOCKS = 4 };
typedef uint64_t philox_lanes __attribute__((vector_size(8 * PHILOX_BLOCKS)));
static inline philox_lanes philox_product(philox_lanes a, philox_lanes b) {
    return (philox_lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
static const philox_lanes philox_counts = {0, 1, 2, 3};
#define PHILOX_FIRST  0, 4, 1, 5
#define PHILOX_SECOND 2, 6, 3, 7
#endif

/* out [4 PHILOX_BLOCKS] <- the blocks from number `block` on. */
static inline void philox_blocks(uint32_t *out, const uint32_t key[2], const uint32_t counter[4], uint32_t block) {
    const philox_lanes zero = {0}, m0 = zero + 0xD2511F53, m1 = zero + 0xCD9E8D57;
    philox_lanes c0 = philox_counts + block, c1 = zero + counter[1], c2 = zero + counter[2], c3 = zero + counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const philox_lanes a = philox_product(c0, m0), b = philox_product(c2, m1);
        c0 = (b >> 32) ^ c1 ^ k0;
        c1 = b;
        c2 = (a >> 32) ^ c3 ^ k1;
        c3 = a;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    const philox_lanes low = (c0 & 0xffffffff) | c1 << 32, high = (c2 & 0xffffffff) | c3 << 32;
    const philox_lanes first = __builtin_shufflevector(low, high, PHILOX_FIRST);
    const philox_lanes second = __builtin_shufflevector(low, high, PHILOX_SECOND);
    __builtin_memcpy(out, &first, sizeof first);
    __builtin_memcpy(out + 2 * PHILOX_BLOCKS, &second, sizeof second);
}
#endif

/* room [SG_PHILOX_ROOM] must be the whole vectors' room: it is, for a piece and the up to 3 draws before it. */
static inline const uint32_t *philox_draws(uint32_t *room, const uint32_t *key, const uint32_t *counter, uint64_t first,
                                           size_t count) {
#if defined(__AVX2__)
    const size_t skip = (size_t)(first % 4), end = skip + count;
    const uint32_t block = (uint32_t)(first / 4);
    const uint32_t k[] = {key[0], key[1]},
                   c[] = {0, counter[1], counter[2], counter[3]}; /* which room does not alias */
    size_t at = 0;
    for (; at + 4 * PHILOX_BLOCKS <= SG_PHILOX_ROOM && at < end; at += 4 * PHILOX_BLOCKS)
        philox_blocks(room + at, k, c, block + (uint32_t)(at / 4));
    if (at < end) { /* what is left of the room is less than a vector */
        uint32_t rest[4 * PHILOX_BLOCKS];
        philox_blocks(rest, k, c, block + (uint32_t)(at / 4));
        __builtin_memcpy(room + at, rest, (end - at) * sizeof *rest);
    }
    return room + skip;
#else
    return sg_philox_draws(room, key, counter, first, count);
#endif
}

#endif
