/* compress_signs.c: every element as one bit, in one of the codes of lib/wire/code_signs.c. */
#include "method_private.h"

/* With the mean magnitude |x - C(x)|^2 = |x|^2 - |x|_1^2 / n, and |x|_1 >= |x|. The means of both sides lose no more. */
static double bound(const double *param, size_t n) {
    (void)param;
    return n > 0 ? 1 / (double)n : 1;
}

const struct sg_compressor_ops sg_compress_ef_signsgd = {
    .name = "ef-signsgd",
    .summary = "every element's sign, with the mean magnitude of its layer",
    .source = "Karimireddy et al., ICML 2019",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE,
    .code = &sg_code_signs,
    .bound = bound,
};

/* It may lose more than there was: 2 (1 - |x|_1 / (sqrt(n) |x|)) |x|^2, so there is no bound. */
const struct sg_compressor_ops sg_compress_sign_l2 = {
    .name = "sign-l2",
    .summary = "every element's sign, with the root of the mean square of its layer",
    .source = "Tang et al. (1-bit Adam), ICML 2021",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE,
    .code = &sg_code_signs_rms,
};

const struct sg_compressor_ops sg_compress_onebit = {
    .name = "onebit",
    .summary = "every element as the mean of its layer's elements of the same sign",
    .source = "Seide et al., Interspeech 2014",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE,
    .code = &sg_code_two_means,
    .bound = bound,
};
