/* patterns.h: what tests of compressors and kernels share, beside the inputs of sg_verify.h. */
/* SPDX-License-Identifier: MIT */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sg_kernels.h"
#include "sg_rng.h"
#include "sg_verify.h"

static const char *const kernel_name[] = {"c", "avx2", "avx512"};
enum { N_KERNELS = 3 };

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
