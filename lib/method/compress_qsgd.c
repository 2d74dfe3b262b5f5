/* compress_qsgd.c: QSGD: every element in the code `levels` (lib/wire/code_levels.c). */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

enum { LEVELS, BUCKET, MAX_NORM, PARAMS };

/* E|x - C(x)|^2 <= omega |x|^2 with omega = min(b / s^2, sqrt(b) / s) for b numbers in a bucket (Lemma 3.1), written as
 * 1 - delta. By the largest magnitude N <= |x| the same bound holds: the error of a number is at most N^2 / (4 s^2). */
static double bound(const double *param, size_t n) {
    const double b = fmin(param[BUCKET], (double)n), s = param[LEVELS];
    return n > 0 ? 1 - fmin(b / (s * s), sqrt(b) / s) : 1;
}

const struct sg_compressor_ops sg_compress_qsgd = {
    .name = "qsgd",
    .summary = "every element rounded at random to s levels of its bucket's norm",
    .source = "Alistarh et al., NeurIPS 2017",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_RANDOM | SG_TRAIT_GPU,
    .params = sg_code_levels_params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .code = &sg_code_levels,
    .bound = bound,
};
