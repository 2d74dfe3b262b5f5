/* patterns.h: inputs for tests of compressors and kernels. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sg_kernels.h"
#include "sg_rng.h"

enum pattern { NORMAL, EQUAL, FEW_VALUES, ZEROS, SUBNORMAL, NEIGHBOURS, WIDE, N_PATTERNS };
static const char *const pattern_name[N_PATTERNS] = {"normal",    "all equal",  "few values", "+-0",
                                                     "subnormal", "neighbours", "wide range"};
static const char *const kernel_name[] = {"c", "avx2", "avx512"};
enum { N_KERNELS = 3 };

__attribute__((unused)) static void fill(float *x, size_t n, enum pattern pattern, uint64_t seed) {
    sg_rng r = sg_rng_open(seed, SG_RNG_TEST, 0, (uint64_t)pattern);
    for (size_t i = 0; i < n; i++) {
        const float sign = sg_rng_u32(&r) & 1 ? -1.0F : 1.0F;
        switch (pattern) {
        case NORMAL: { /* Irwin-Hall: near enough, and fast */
            uint64_t bits = sg_rng_u64(&r);
            int64_t sum = (int64_t)(bits & 65535) + (int64_t)(bits >> 16 & 65535) + (int64_t)(bits >> 32 & 65535);
            x[i] = (float)(sum - 98304) / 32768;
            break;
        }
        case EQUAL:
            x[i] = sign * 0.75F;
            break;
        case FEW_VALUES:
            x[i] = sign * (float)(sg_rng_u32(&r) % 3);
            break;
        case ZEROS:
            x[i] = sign * 0.0F;
            break;
        case SUBNORMAL:
            x[i] = sign * (float)(sg_rng_u32(&r) % 1000) * 0x1p-149F;
            break;
        case NEIGHBOURS: /* a step of the last bit decides */
            x[i] = sign * (1 + (float)(sg_rng_u32(&r) % 64) * 0x1p-23F);
            break;
        default:
            x[i] = sign * ldexpf(1 + (float)(sg_rng_u32(&r) % 1024) / 1024, (int)(sg_rng_u32(&r) % 240) - 120);
        }
    }
}

__attribute__((unused)) static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
/* The sum of a [n] times b [n] (NULL = ones), each product added with one rounding, in the order sg_kernels.h states:
 * 16 interleaved sums, halves added, 4096 at a time. */
__attribute__((unused)) static double lane_sum(const double *a, const double *b, size_t n) {
    double total = 0;
    for (size_t begin = 0; begin < n; begin += SG_KERNEL_BLOCK) {
        double l[SG_KERNEL_LANES] = {0};
        for (size_t i = begin; i < n && i < begin + SG_KERNEL_BLOCK; i++)
            l[i % SG_KERNEL_LANES] = fma(a[i], b ? b[i] : 1, l[i % SG_KERNEL_LANES]);
        total += (((l[0] + l[8]) + (l[4] + l[12])) + ((l[2] + l[10]) + (l[6] + l[14]))) +
                 (((l[1] + l[9]) + (l[5] + l[13])) + ((l[3] + l[11]) + (l[7] + l[15])));
    }
    return total;
}
#endif
