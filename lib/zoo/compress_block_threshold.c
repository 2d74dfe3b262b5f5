/* compress_block_threshold.c: hard-threshold for blocks of neighbours: a block of n elements is sent whole if its norm
 * is above lambda sqrt(n). What is lost of a layer is bounded as by lambda itself, and a block needs one position. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <float.h>
#include <math.h>

enum { LAMBDA, BLOCK, PARAMS };

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[LAMBDA]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda'") : SG_OK;
}

static sg_status open_blocks(struct sg_worker *w, struct sg_error *err) {
    return sg_blocks_open(w, (size_t)w->shared->param[BLOCK], err);
}

static int select_blocks(struct sg_worker *w, struct sg_select *s) {
    const struct sg_shared *shared = w->shared;
    const struct sg_blocks *b = w->scratch;
    const float *p = sg_form_p(s);
    w->position_bits = 0;
    for (size_t i = 0; i < b->n; i++) {
        const size_t n = b->offset[i + 1] - b->offset[i];
        const double lambda = shared->knob[b->layer[i]] * w->unit,
                     square = shared->kernels->sum_squares(s->exec, p + b->offset[i], n);
        const bool sent = square > lambda * lambda * (double)n;
        b->threshold[i] = sent ? 0 : INFINITY;
        w->position_bits += sent ? 32 : 0;
    }
    const struct sg_select blocks = sg_blocks_begin(w, s);
    return sg_blocks_end(w, s, shared->kernels->select_threshold(&blocks, b->threshold));
}

static double bound(const double *param, size_t n) {
    return (double)n * param[LAMBDA] * param[LAMBDA];
}

static const struct sg_parameter params[PARAMS] = {
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false, "sends a block of n elements where |p / gamma|^2 > n lambda^2"},
    [BLOCK] = {"block", 1, 4294967295.0, 64, true, "neighbours of a block"},
};

const struct sg_compressor_ops sg_compress_block_threshold = {
    .name = "block-threshold",
    .summary = "every block of neighbours whose mean square is above lambda^2",
    .source = "section 4.2, for blocks",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_CHEAP_POSITIONS,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = method_first_knob,
    .open = open_blocks,
    .select = select_blocks,
    .bound = bound,
};
