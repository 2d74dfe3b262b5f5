/* sg_philox.h: Philox4x32-10 (Salmon et al., SC 2011): one block of four random numbers from a counter and a key. */
#ifndef SG_PHILOX_H
#define SG_PHILOX_H

#include <stdint.h>

/* Ten rounds of two 32 x 32 -> 64 bit products, the key bumped by Weyl constants in between. x [4] is the counter, and
 * becomes the block. Without branches, so that a loop around it becomes vectors. */
static inline void sg_philox(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3, uint32_t k0, uint32_t k1) {
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

#endif
