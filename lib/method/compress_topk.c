/* compress_topk.c: exact Top-k per layer, ties to the lower index. */
#include "method_private.h"

#include <math.h>
#include <stdlib.h>

sg_status sg_topk_open(struct sg_worker *w, struct sg_error *err) {
    const size_t n = w->shared->layout.n_layers;
    struct sg_topk *t = w->scratch = malloc(sizeof *t + n * (sizeof *t->k + sizeof *t->guess));
    if (t == NULL)
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

int sg_topk_select(struct sg_worker *w, struct sg_select *s, bool is_density) {
    struct sg_topk *t = w->scratch;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l];
        t->k[l] = w->shared->copied != NULL ? copied_k(w, l, n) : sg_share_of(w->shared->knob[l], is_density, n);
    }
    return w->shared->kernels->select_topk(s, t->k, t->guess);
}

static int select_topk(struct sg_worker *w, struct sg_select *s) {
    return sg_topk_select(w, s, sg_share_knob(w->shared->param) == SG_SHARE_DENSITY);
}

static const struct sg_parameter params[] = {
    [SG_SHARE_K] = SG_SHARE_K_PARAMETER,
    [SG_SHARE_DENSITY] = SG_SHARE_DENSITY_PARAMETER,
};

const struct sg_compressor_ops sg_compress_topk = {
    .name = "topk",
    .also = "top-k",
    .summary = "the k largest magnitudes of every layer, or with `scope: model` of the whole model (topk-global)",
    .source = "section 4.3; Stich et al., NeurIPS 2018",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .select = select_topk,
    .bound = sg_share_delta,
};
