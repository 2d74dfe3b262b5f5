/* compress_natural.c: natural compression and natural dithering: every element as a power of two, or as a norm times a
 * power of two (lib/wire/code_natural.c, code_levels.c). */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <math.h>

enum { LEVELS, BUCKET };

/* E|x - C(x)|^2 <= |x|^2 / 8 (Theorem 1), written as 1 - delta. It holds for normal floats below
 * 2^127: those below 2^-126 lose up to 2^-252 each, and from 2^127 on nothing is rounded up. */
static double bound_natural(const double *param, size_t n) {
    (void)param, (void)n;
    return 1 - 0.125;
}

const struct sg_compressor_ops sg_compress_natural = {
    .name = "natural",
    .summary = "every element rounded at random to a power of two, in 9 bits",
    .source = "Horvath et al., MSML 2022",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM | SG_TRAIT_GPU,
    .code = &sg_code_natural,
    .bound = bound_natural,
};

/* No bound and not unbiased: what is below 2^-108 becomes 0. */
const struct sg_compressor_ops sg_compress_natural_8 = {
    .name = "natural-8",
    .summary = "natural in 8 bits, from 2^-108 to 2^18",
    .source = "GRACE's variant of Horvath et al., MSML 2022",
    .traits = SG_TRAIT_DENSE | SG_TRAIT_RANDOM | SG_TRAIT_GPU,
    .code = &sg_code_natural_8,
};

/* omega = 1/8 + sqrt(b) 2^(1-s) min(1, sqrt(b) 2^(1-s)) for b numbers in a bucket (Theorem 3), for either norm. */
static double bound_dithering(const double *param, size_t n) {
    const double least = sqrt(fmin(param[BUCKET], (double)n)) * exp2(1 - param[LEVELS]);
    return 1 - 0.125 - least * fmin(1, least);
}

const struct sg_compressor_ops sg_compress_dithering = {
    .name = "natural-dithering",
    .summary = "every element rounded at random to a power of two of its bucket's norm",
    .source = "Horvath et al., MSML 2022",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM | SG_TRAIT_GPU,
    .params = sg_code_dithering_params,
    .n_params = 3,
    .knob = method_first_knob,
    .code = &sg_code_dithering,
    .bound = bound_dithering,
};
