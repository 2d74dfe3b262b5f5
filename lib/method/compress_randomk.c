/* compress_randomk.c: a uniformly random subset of every layer.
 *
 * The values are sent as they are: with error feedback that is the contraction with delta = k/n that the theory asks
 * for (E|x - C(x)|^2 = (1 - k/n)|x|^2). `unbiased` multiplies them by n/k instead, so that E C(x) = x. p minus the
 * message is then no useful residual, so `unbiased` excludes error feedback. `shared` draws the same subset for all
 * workers. Every rank computes the positions from the seed, so they are not sent and cost no bits. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>
#include <stdlib.h>

#include "sg_rng.h"

enum { UNBIASED = SG_SHARE_PARAMS, SHARED, PARAMS };

static sg_status open_randomk(struct sg_worker *w, struct sg_error *err) {
    if (w->shared->param[UNBIASED] > 0 && w->shared->feedback.rule->keeps)
        return sg_fail(err, SG_ERR_ARGUMENT, "randomk: 'unbiased' needs error-feedback: none");
    if (w->shared->param[UNBIASED] > 0 && w->shared->exec.device)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "randomk: 'unbiased' does not run on a GPU: use --device cpu");
    const struct sg_layout *layout = &w->shared->layout;
    size_t most = w->shared->controlled ? layout->offset[layout->n_layers] : 0;
    for (size_t l = 0; l < layout->n_layers && !w->shared->controlled; l++)
        most += sg_share_in(w->shared, l, layout->offset[l + 1] - layout->offset[l]);
    w->scratch = malloc((most + 1) * sizeof(uint32_t)); /* positions, drawn here wherever the vectors are */
    return w->scratch ? SG_OK : sg_fail_memory(err, "randomk");
}

/* Finite values may overflow when scaled. */
static int scale_up(const struct sg_select *s) {
    float *value = s->value;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l], count = s->count[l];
        const float factor = count > 0 ? (float)((double)n / (double)count) : 1;
        for (size_t j = 0; j < count; j++) {
            value[j] *= factor;
            if (!isfinite(value[j])) {
                s->count[0] = l;
                return SG_KERNEL_NONFINITE;
            }
        }
        value += count;
    }
    return SG_KERNEL_OK;
}

static int select_subset(struct sg_worker *w, struct sg_select *s) {
    const uint32_t drawer = w->shared->param[SHARED] > 0 ? SG_RNG_ALL_WORKERS : w->number;
    sg_rng rng = sg_rng_open(w->shared->seed, SG_RNG_COMPRESS, drawer, w->shared->step);
    uint32_t *position = w->scratch;
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t begin = s->offset[l], n = s->offset[l + 1] - begin;
        s->count[l] = sg_share_in(w->shared, l, n);
        sg_rng_subset(&rng, position + sent, s->count[l], n);
        for (size_t j = 0; j < s->count[l]; j++)
            position[sent + j] += (uint32_t)begin;
        sent += s->count[l];
    }
    w->position_bits = 0; /* of a shared subset */
    w->same_positions = w->shared->param[SHARED] > 0;
    const int status = w->shared->kernels->select_positions(s, position);
    return status == SG_KERNEL_OK && w->shared->param[UNBIASED] > 0 ? scale_up(s) : status;
}

/* Scaled, E|x - C(x)|^2 = (n/k - 1)|x|^2: still of the form (1 - delta)|x|^2, delta <= 0 where k <= n/2. */
static double bound(const double *param, size_t n) {
    const double delta = sg_share_delta(param, n);
    return param[UNBIASED] > 0 ? 2 - 1 / delta : delta;
}

static unsigned traits_of(const double *param) {
    return SG_TRAIT_RANDOM | SG_TRAIT_GPU | SG_TRAIT_RELATIVE |
           (param[UNBIASED] > 0 ? SG_TRAIT_UNBIASED : SG_TRAIT_WANTS_FEEDBACK) |
           (param[SHARED] > 0 ? SG_TRAIT_CHEAP_POSITIONS | SG_TRAIT_SUMS : 0);
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [UNBIASED] = {"unbiased", 0, 1, 0, true, "1: multiplies values by n/k; only with error-feedback: none"},
    [SHARED] = {"shared", 0, 1, 0, true, "1: all workers draw the same positions, which are not sent"},
};

const struct sg_compressor_ops sg_compress_randomk = {
    .name = "randomk",
    .also = "random-k",
    .summary = "a random subset of every layer",
    .source = "Stich et al., NeurIPS 2018",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_RANDOM | SG_TRAIT_GPU,
    .traits_of = traits_of,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = open_randomk,
    .select = select_subset,
    .bound = bound,
};
