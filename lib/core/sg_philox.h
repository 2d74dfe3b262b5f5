/* sg_philox.h: Philox4x32-10 (Salmon et al., SC 2011): one block of four random numbers from a counter and a key. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PHILOX_H
#define SG_PHILOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SG_PHILOX_INLINE static __host__ __device__ inline
#else
#define SG_PHILOX_INLINE static inline
#endif

/* Ten rounds of two 32 x 32 -> 64 bit products, the key bumped by Weyl constants in between. x [4] is the counter, and
 * becomes the block. It has no branches, so that the compiler can vectorize a loop around it. */
SG_PHILOX_INLINE void sg_philox(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3, uint32_t k0, uint32_t k1) {
    uint32_t c0 = *x0, c1 = *x1, c2 = *x2, c3 = *x3;
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xD2511F53 * c0, b = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    *x0 = c0;
    *x1 = c1;
    *x2 = c2;
    *x3 = c3;
}

/* Maximum number of draws in one call of sg_philox_draws, and the length of its buffer. */
enum { SG_PHILOX_PIECE = 512, SG_PHILOX_ROOM = SG_PHILOX_PIECE + 4 };

/* Draws first .. first + count - 1 of the stream that starts with this key and counter (sg_rng.h), count <=
 * SG_PHILOX_PIECE. Returns a pointer to the first of them, inside room [SG_PHILOX_ROOM]. */
static inline const uint32_t *sg_philox_draws(uint32_t *room, const uint32_t key[2], const uint32_t counter[4],
                                              uint64_t first, size_t count) {
    enum { BLOCKS = SG_PHILOX_ROOM / 4 };
    uint32_t x0[BLOCKS], x1[BLOCKS], x2[BLOCKS], x3[BLOCKS];
    const size_t skip = (size_t)(first % 4), blocks = (skip + count + 3) / 4;
    const uint32_t block = (uint32_t)(first / 4), c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (size_t i = 0; i < blocks; i++) {
        x0[i] = block + (uint32_t)i;
        x1[i] = c1;
        x2[i] = c2;
        x3[i] = c3;
        sg_philox(&x0[i], &x1[i], &x2[i], &x3[i], key[0], key[1]);
    }
    for (size_t i = 0; i < blocks; i++) {
        room[4 * i] = x0[i];
        room[4 * i + 1] = x1[i];
        room[4 * i + 2] = x2[i];
        room[4 * i + 3] = x3[i];
    }
    return room + skip;
}

#endif
