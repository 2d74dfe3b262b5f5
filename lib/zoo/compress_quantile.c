/* compress_quantile.c: SketchML's quantile buckets: every element as the mean of its 64th
 * (lib/wire/code_quantile.c). */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

/* What is lost is what the bins vary inside; no bound holds for all x. */
const struct sg_compressor_ops sg_compress_quantile = {
    .name = "sketch-quantile",
    .summary = "every element as the mean of one of 64 quantile bins of a bucket",
    .source = "Jiang et al., SIGMOD 2018, as in GRACE",
    .traits = SG_TRAIT_DENSE,
    .params = sg_code_quantile_params,
    .n_params = 1,
    .code = &sg_code_quantile,
};
