/* compress_none.c: no compression, the baseline. Sends p whole; the residual stays zero. */
#include "compressor_private.h"

static int compress(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step) {
    (void)gamma;
    (void)step;
    return c->kernels->select_all(s);
}

static double bound(const double *param, size_t n) {
    (void)param;
    (void)n;
    return 1;
}

const struct sg_compressor_ops sg_compress_none = {
    .name = "none",
    .summary = "no compression: every element is sent",
    .source = "baseline",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_DENSE | SG_TRAIT_EXACT | SG_TRAIT_GPU,
    .compress = compress,
    .bound = bound,
};
