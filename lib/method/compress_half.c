/* compress_half.c: every element in 16 bits: as an IEEE half or as the upper half of a float (lib/wire/code_float.c).
 * What rounding loses stays in the residual. `{compressor: none, values: fp16}` sends the same and counts 32 bits a
 * value, as the paper does; these count 16. bf16 loses at most 2^-8 of a normal number and fp16 2^-11 of one between
 * 2^-14 and 65504, but both may lose all of a subnormal one, so neither has a bound. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

const struct sg_compressor_ops sg_compress_fp16 = {
    .name = "fp16",
    .summary = "every element as an IEEE half, at most 65504",
    .source = "a format of IEEE 754",
    .traits = SG_TRAIT_DENSE | SG_TRAIT_SUMS | SG_TRAIT_GPU,
    .code = &sg_code_fp16,
};

const struct sg_compressor_ops sg_compress_bf16 = {
    .name = "bf16",
    .summary = "every element as the upper half of a float",
    .source = "bfloat16",
    .traits = SG_TRAIT_DENSE | SG_TRAIT_SUMS | SG_TRAIT_GPU,
    .code = &sg_code_bf16,
};
