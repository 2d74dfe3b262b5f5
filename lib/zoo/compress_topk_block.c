/* compress_topk_block.c: exact Top-k in blocks of neighbours, the same share of each. A block is found faster than a
 * layer, and its positions are short. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <math.h>

enum { BLOCK = SG_SHARE_PARAMS, PARAMS };

static size_t size_of(const double *param) {
    return (size_t)param[BLOCK];
}

/* k of a block, or as many of a shorter one as have the same share of it, rounded up. */
static size_t share_of(double knob, bool is_density, size_t size, size_t n) {
    const size_t k = sg_share_of(knob, is_density, size), part = (k * n + size - 1) / size;
    return part < n ? part : n;
}

static sg_status open_blocks(struct sg_worker *w, struct sg_error *err) {
    return sg_blocks_open(w, size_of(w->shared->param), err);
}

static int select_blocks(struct sg_worker *w, struct sg_select *s) {
    const struct sg_shared *shared = w->shared;
    const struct sg_blocks *b = w->scratch;
    const bool is_density = sg_share_knob(shared->param) == SG_SHARE_DENSITY;
    for (size_t i = 0; i < b->n; i++)
        b->k[i] =
            share_of(shared->knob[b->layer[i]], is_density, size_of(shared->param), b->offset[i + 1] - b->offset[i]);
    const struct sg_select blocks = sg_blocks_begin(w, s);
    return sg_blocks_end(w, s, shared->kernels->select_topk(&blocks, b->k, b->threshold));
}

static double bound(const double *param, size_t n) {
    return n > 0 ? sg_share_delta(param, size_of(param)) : 1;
}

/* k is of a block and not of the model. */
static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return sg_share_check(param, 0, err);
}

static const struct sg_parameter params[PARAMS] = {
    [SG_SHARE_K] = {"k", 1, 4294967295.0, NAN, true, "elements sent of every block; of a shorter one in proportion"},
    [SG_SHARE_DENSITY] = {"density", 0, 1, NAN, false, "fraction c of a block's B elements: sends max(1, floor(c B))"},
    [BLOCK] = {"block", 1, 4294967295.0, 4096, true, "neighbours of a block"},
};

const struct sg_compressor_ops sg_compress_topk_block = {
    .name = "topk-block",
    .summary = "the k largest magnitudes of every block of neighbours",
    .source = "Peng et al. (DeMo), 2024; Modoranu et al. (MicroAdam), NeurIPS 2024",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = sg_share_knob,
    .open = open_blocks,
    .select = select_blocks,
    .bound = bound,
};
