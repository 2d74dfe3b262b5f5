/* compress_small_floats.c: every element as a float of 8 or 4 bits in a scale that neighbours share
 * (lib/zoo/code_small_floats.c). */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

/* With the layer's unit u an element from 2^-6 u on loses at most 1 / 17 of itself, and one below at most 2^-10 u; u is
 * 1 / 448 of the largest magnitude. The roundings to floats are in the constants. */
static double bound_fp8(const double *param, size_t n) {
    (void)param;
    return 1 - 1.0 / 256 - 4.9e-12 * (double)n;
}

const struct sg_compressor_ops sg_compress_fp8 = {
    .name = "fp8",
    .summary = "every element as a float E4M3 in its layer's unit",
    .source = "Micikevicius et al., arXiv 2209.05433",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_DENSE,
    .code = &sg_code_fp8,
    .bound = bound_fp8,
};

/* No bound holds for all elements: those below 2^-137 become 0. */
const struct sg_compressor_ops sg_compress_mxfp8 = {
    .name = "mxfp8",
    .summary = "every element as a float E4M3, blocks of 32 in a power of two",
    .source = "OCP Microscaling Formats 1.0, arXiv 2310.10537",
    .traits = SG_TRAIT_DENSE,
    .code = &sg_code_mxfp8,
};

/* No bound: a layer whose largest magnitude is below 2^-128 becomes 0, because its scale would be above all floats. */
const struct sg_compressor_ops sg_compress_nvfp4 = {
    .name = "nvfp4",
    .summary = "every element as a float E2M1, blocks of 16 in a scale E4M3, and the layer's scale",
    .source = "NVIDIA, arXiv 2509.25149",
    .traits = SG_TRAIT_DENSE,
    .code = &sg_code_nvfp4,
};
