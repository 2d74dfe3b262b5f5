/* compress_none.c: no compression, the baseline. Sends p whole; the residual stays zero. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

static int select_all(struct sg_worker *w, struct sg_select *s) {
    return w->shared->kernels->select_all(s);
}

static double bound(const double *param, size_t n) {
    (void)param;
    (void)n;
    return 1;
}

const struct sg_compressor_ops sg_compress_none = {
    .name = "none",
    .summary = "every element is sent",
    .source = "baseline",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_EXACT | SG_TRAIT_SUMS | SG_TRAIT_GPU,
    .select = select_all,
    .bound = bound,
};
