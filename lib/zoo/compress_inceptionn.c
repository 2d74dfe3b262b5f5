/* compress_inceptionn.c: INCEPTIONN: every element in as few bits as an error bound needs (lib/wire/code_inceptionn.c).
 * The bound is on the gradient's scale, as lambda of hard-threshold is. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <math.h>

enum { BOUND, PARAMS };

static size_t data_bytes(const struct sg_shared *s) {
    return method_code_bytes(s, &sg_code_inceptionn);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const double param[PARAMS] = {[BOUND] = w->shared->param[BOUND] * w->unit};
    (void)round;
    out->n = out->count = method_count_all(w);
    w->status =
        method_write(w, &sg_code_inceptionn, (struct sg_numbers){.value = p, .count = out->count, .param = param}, out);
}

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[BOUND]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'error-bound'") : SG_OK;
}

/* An integer of 16 bits times the step is rounded to a float, by at most 2^-8 of the bound. */
static double bound(const double *param, size_t n) {
    const double most = param[BOUND] * (1 + 0x1p-8);
    return (double)n * most * most;
}

static const struct sg_parameter params[PARAMS] = {
    [BOUND] = {"error-bound", 0x1p-100, 0x1p100, NAN, false, "largest error of an element, on the gradient's scale"},
};

const struct sg_compressor_ops sg_compress_inceptionn = {
    .name = "inceptionn",
    .summary = "every element in 2 to 34 bits, as an error bound requires",
    .source = "Li et al., MICRO 2018",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_DENSE,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .data_bytes = data_bytes,
    .encode = encode,
    .bound = bound,
};
