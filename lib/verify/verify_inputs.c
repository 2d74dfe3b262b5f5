/* verify_inputs.c: vectors that compressors and kernels are tried on. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_rng.h"
#include "sg_verify.h"

const char *const sg_pattern_name[SG_PATTERNS] = {"normal",    "all equal",  "few values", "+-0",
                                                  "subnormal", "neighbours", "wide range"};

void sg_pattern_fill(float *x, size_t n, enum sg_pattern pattern, uint64_t seed) {
    sg_rng r = sg_rng_open(seed, SG_RNG_TEST, 0, (uint64_t)pattern);
    for (size_t i = 0; i < n; i++) {
        const float sign = sg_rng_u32(&r) & 1 ? -1.0F : 1.0F;
        switch (pattern) {
        case SG_PATTERN_NORMAL: { /* Irwin-Hall: near enough, and fast */
            uint64_t bits = sg_rng_u64(&r);
            int64_t sum = (int64_t)(bits & 65535) + (int64_t)(bits >> 16 & 65535) + (int64_t)(bits >> 32 & 65535);
            x[i] = (float)(sum - 98304) / 32768;
            break;
        }
        case SG_PATTERN_EQUAL:
            x[i] = sign * 0.75F;
            break;
        case SG_PATTERN_FEW_VALUES:
            x[i] = sign * (float)(sg_rng_u32(&r) % 3);
            break;
        case SG_PATTERN_ZEROS:
            x[i] = sign * 0.0F;
            break;
        case SG_PATTERN_SUBNORMAL:
            x[i] = sign * (float)(sg_rng_u32(&r) % 1000) * 0x1p-149F;
            break;
        case SG_PATTERN_NEIGHBOURS:
            x[i] = sign * (1 + (float)(sg_rng_u32(&r) % 64) * 0x1p-23F);
            break;
        default:
            x[i] = sign * ldexpf(1 + (float)(sg_rng_u32(&r) % 1024) / 1024, (int)(sg_rng_u32(&r) % 240) - 120);
        }
    }
}
