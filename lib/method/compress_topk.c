/* compress_topk.c: exact Top-k per layer, ties to the lower index. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <stdlib.h>

sg_status sg_topk_open(struct sg_worker *w, struct sg_error *err) {
    const size_t n = w->shared->layout.n_layers;
    struct sg_topk *t = w->scratch = malloc(sizeof *t + n * (sizeof *t->k + sizeof *t->guess));
    if (!t)
        return sg_fail_memory(err, "top-k");
    t->guess = (float *)(t->k + n);
    for (size_t l = 0; l < n; l++)
        t->guess[l] = -1;
    return SG_OK;
}

static size_t copied_k(const struct sg_worker *w, size_t l, size_t n) {
    const struct sg_shared *s = w->shared;
    const size_t k = s->copied[(s->step * s->layout.n_layers + l) * s->workers + w->number];
    return k < n ? k : n;
}

int sg_topk_select(struct sg_worker *w, struct sg_select *s) {
    struct sg_topk *t = w->scratch;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l];
        t->k[l] = w->shared->copied ? copied_k(w, l, n) : sg_share_in(w->shared, l, n);
    }
    return w->shared->kernels->select_topk(s, t->k, t->guess);
}

const struct sg_compressor_ops sg_compress_topk = {
    .name = "topk",
    .also = "top-k",
    .summary = "the k largest magnitudes of every layer; with `scope: model` topk-global",
    .source = "section 4.3; Stich et al., NeurIPS 2018",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = sg_share_params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .select = sg_topk_select,
    .bound = sg_share_delta,
};
