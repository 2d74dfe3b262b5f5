/* compress_topk.c: exact Top-k per layer, ties to the lower index. */
#include "compressor_private.h"

#include <math.h>
#include <stdlib.h>

/* Per layer: k, and the last k-th magnitude as a hint for the kernel. The hint saves time only, so it is no part of a
 * checkpoint. */
struct topk {
    float *guess;
    size_t k[]; /* [n_layers], the guesses behind it */
};

static sg_status open_topk(sg_compressor *c, struct sg_error *err) {
    const size_t n = c->layout.n_layers;
    struct topk *t = malloc(sizeof *t + n * (sizeof *t->k + sizeof *t->guess));
    if (t == NULL)
        return sg_fail_memory(err, "top-k");
    t->guess = (float *)(t->k + n);
    for (size_t l = 0; l < n; l++) {
        t->k[l] = sg_share_of(c->param, c->layout.offset[l + 1] - c->layout.offset[l]);
        t->guess[l] = -1;
    }
    c->state = t;
    return SG_OK;
}

static int compress(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step) {
    (void)gamma;
    (void)step;
    struct topk *t = c->state;
    return c->kernels->select_topk(s, t->k, t->guess);
}

static const struct sg_parameter params[] = {
    [SG_SHARE_K] = SG_SHARE_K_PARAMETER,
    [SG_SHARE_DENSITY] = SG_SHARE_DENSITY_PARAMETER,
};

const struct sg_compressor_ops sg_compress_topk = {
    .name = "topk",
    .summary = "the k largest magnitudes of every layer",
    .source = "section 3; Stich et al., NeurIPS 2018",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .open = open_topk,
    .compress = compress,
    .bound = sg_share_delta,
};
