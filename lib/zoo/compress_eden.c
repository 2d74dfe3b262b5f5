/* compress_eden.c: DRIVE and EDEN: blocks of elements rotated at random and rounded to few levels
 * (lib/wire/code_eden.c). */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <math.h>

enum { BITS, BLOCK, LEAST_ERROR, PARAMS };

/* With `least-error` C(x) is the projection onto the levels c, so <c, y>^2 / (<c, c> |y|^2) of |x|^2 is kept; that is
 * at least (smallest level / largest level)^2 / n' for n' rotated elements. The other scale has no bound for a single
 * rotation. */
static double bound(const double *param, size_t n) {
    static const double ratio[] = {1, 1, 0.45278 / 1.51042, 0.24509 / 2.15195};
    const double share = ratio[(size_t)param[BITS]];
    double block = 1;
    while (block < fmin(param[BLOCK], (double)n))
        block *= 2;
    return param[LEAST_ERROR] > 0 ? share * share / block : (double)NAN;
}

/* Four equal numbers lose 1.5 times their square in the mean with 1 bit, so without `least-error` no class holds. */
static unsigned traits_of(const double *param) {
    return SG_TRAIT_DENSE | SG_TRAIT_RANDOM | (param[LEAST_ERROR] > 0 ? SG_TRAIT_RELATIVE : 0);
}

const struct sg_compressor_ops sg_compress_eden = {
    .name = "eden",
    .summary = "every element of a randomly rotated block in 1 to 3 bits",
    .source = "Vargaftik et al., NeurIPS 2021 (DRIVE) and ICML 2022 (EDEN)",
    .traits = SG_TRAIT_DENSE | SG_TRAIT_RANDOM,
    .traits_of = traits_of,
    .params = sg_code_eden_params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .code = &sg_code_eden,
    .bound = bound,
};
