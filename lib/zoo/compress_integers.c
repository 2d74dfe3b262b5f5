/* compress_integers.c: every element as an integer of few bits in the scale of its neighbours: Dettmers' 8 bits, int8
 * and int4 by blocks, places between the least and the largest (lib/wire/code_8bit.c, code_integers.c). */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <math.h>

enum { BITS, BUCKET, STOCHASTIC, PARAMS };

static unsigned random_if(bool at_random) {
    return at_random ? SG_TRAIT_RANDOM | SG_TRAIT_UNBIASED : 0;
}

/* Of elements from 1e-6 of the largest magnitude on at most half is lost, and of those below at most 1.5e-6 of it. */
static double bound_8bit(const double *param, size_t n) {
    (void)param;
    return 1 - 0.25 - 2.25e-12 * (double)n;
}

const struct sg_compressor_ops sg_compress_8bit = {
    .name = "8bit",
    .summary = "every element as a sign and one of 128 fractions of its layer's largest",
    .source = "Dettmers, ICLR 2016",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_DENSE,
    .code = &sg_code_8bit,
    .bound = bound_8bit,
};

/* The largest of b numbers is exact, and each other one, x, loses at most min(|x|, unit / 2), so what is lost of |x|^2
 * is at most u / (1 + u) with u = (b - 1) / (4 L^2), L = 2^(bits-1) - 1. At random the variance is at most b / (4
 * L^2). */
static double bound_int_block(const double *param, size_t n) {
    const double b = fmin(param[BUCKET], (double)n), most = exp2(param[BITS] - 1) - 1, u = 1 / (4 * most * most);
    return param[STOCHASTIC] > 0 ? 1 - b * u : 1 / (1 + fmax(b - 1, 0) * u);
}

static unsigned traits_int_block(const double *param) {
    return SG_TRAIT_RELATIVE | SG_TRAIT_DENSE | random_if(param[STOCHASTIC] > 0);
}

const struct sg_compressor_ops sg_compress_int_block = {
    .name = "int-block",
    .summary = "every element as an integer of b bits in its bucket's unit",
    .source = "int8 and int4 by blocks, as in ZeRO++ (Wang et al., ICLR 2024)",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_DENSE,
    .traits_of = traits_int_block,
    .params = sg_code_int_block_params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .code = &sg_code_int_block,
    .bound = bound_int_block,
};

static unsigned traits_minmax(const double *param) {
    return SG_TRAIT_DENSE | random_if(param[STOCHASTIC] > 0);
}

/* No bound by |x|: the error is up to a step, which the range of the bucket sets. */
const struct sg_compressor_ops sg_compress_minmax = {
    .name = "minmax",
    .summary = "every element as one of 2^b places between its bucket's least and largest",
    .source = "CGX (Markov et al., Middleware 2022)",
    .traits = SG_TRAIT_DENSE,
    .traits_of = traits_minmax,
    .params = sg_code_minmax_params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .code = &sg_code_minmax,
};
