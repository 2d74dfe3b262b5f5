/* sha256.c: SHA-256 (FIPS 180-4), in plain C and with the SHA instructions of x86. */
/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "sg_debug.h"
#include "sg_file.h"

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void mix_c(unsigned h[8], const unsigned char *block, size_t blocks) {
    for (; blocks > 0; blocks--, block += 64) {
        uint32_t w[16], s[8];
        for (int i = 0; i < 8; i++)
            s[i] = h[i];
            /* s[0..7] are a..h of the standard, which move on by renaming: index minus round, modulo 8. Unrolled, they
             * and w are registers. */
#pragma GCC unroll 64
        for (unsigned i = 0; i < 64; i++) {
            uint32_t *now = &w[i % 16];
            if (i < 16) {
                memcpy(now, block + 4 * i, 4);
                *now = be32toh(*now);
            } else {
                uint32_t w2 = w[(i - 2) % 16], w15 = w[(i - 15) % 16];
                *now += (rotate(w15, 7) ^ rotate(w15, 18) ^ w15 >> 3) + w[(i - 7) % 16] +
                        (rotate(w2, 17) ^ rotate(w2, 19) ^ w2 >> 10);
            }
#define S(j) s[(j - i) % 8]
            uint32_t choice = (S(4) & S(5)) ^ (~S(4) & S(6));
            uint32_t majority = (S(0) & S(1)) ^ (S(0) & S(2)) ^ (S(1) & S(2));
            uint32_t t =
                S(7) + (rotate(S(4), 6) ^ rotate(S(4), 11) ^ rotate(S(4), 25)) + choice + round_constant[i] + *now;
            S(3) += t;
            S(7) = t + (rotate(S(0), 2) ^ rotate(S(0), 13) ^ rotate(S(0), 22)) + majority;
#undef S
        }
        for (int i = 0; i < 8; i++)
            h[i] += s[i];
    }
}

#if defined(__x86_64__)
/* The instructions keep the state as (a b e f), (c d g h) and do two rounds at once. */
__attribute__((target("sha,sse4.1"))) static void mix_sha(unsigned h[8], const unsigned char *block, size_t blocks) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0xb1);        /* c d a b */
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(h + 4)), 0x1b); /* e f g h */
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks > 0; blocks--, block += 64) {
        __m128i abef_before = abef, cdgh_before = cdgh, w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), big_endian);
        for (int i = 0; i < 16; i++) {
            const void *constants = round_constant + 4 * i;
            __m128i sum = _mm_add_epi32(w[0], _mm_loadu_si128(constants));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
            next = _mm_sha256msg2_epu32(next, w[3]);
            w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);  /* f e b a reversed: a b e f */
    high = _mm_shuffle_epi32(cdgh, 0xb1); /* d c h g */
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(high, low, 8));
}

/* Tested once, because cpuid is slow on virtual machines. */
static bool has_sha(void) {
    static atomic_int known; /* 0 = not tested yet, 1 = no, 2 = yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        unsigned a, b = 0, c, d;
        bool has = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) && __builtin_cpu_supports("sse4.1");
        answer = has ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}
#endif

static void mix(unsigned h[8], const unsigned char *block, size_t blocks) {
#if defined(__x86_64__)
    if (has_sha()) {
        mix_sha(h, block, blocks);
        return;
    }
#endif
    mix_c(h, block, blocks);
}

void sg_sha256_start(sg_sha256 *s) {
    *s = (sg_sha256){
        .h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sg_sha256_add(sg_sha256 *s, const void *data, size_t length) {
    SG_ASSERT(data || length == 0);
    const unsigned char *bytes = data;
    while (length > 0) {
        size_t used = (size_t)(s->length % 64), room = 64 - used, take = length < room ? length : room;
        if (used == 0 && length >= 64) {
            take = length / 64 * 64;
            mix(s->h, bytes, take / 64);
        } else {
            memcpy(s->block + used, bytes, take);
            if (take == room)
                mix(s->h, s->block, 1);
        }
        s->length += take;
        bytes += take;
        length -= take;
    }
}

void sg_sha256_end(sg_sha256 *s, char hex[65]) {
    unsigned long long bits = s->length * 8;
    unsigned char tail[72] = {0x80};
    size_t pad = 1 + (119 - (size_t)(s->length % 64)) % 64;
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    sg_sha256_add(s, tail, pad + 8);
    SG_ASSERT(s->length % 64 == 0);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

void sg_sha256_of(const void *data, size_t length, char hex[65]) {
    sg_sha256 s;
    sg_sha256_start(&s);
    sg_sha256_add(&s, data, length);
    sg_sha256_end(&s, hex);
}
