/* compress_cltk.c: cyclic local Top-k of ScaleCom (Chen et al., NeurIPS 2020): the workers take turns, worker t mod P
 * at step t, in choosing the positions of all.
 *
 *     round 0    the leader sends the positions of its own Top-k, with the number 1 at each
 *     round 1    every worker sends its p at these positions, without positions
 *
 * What is sent does not grow with the number of workers, and the sum has k entries. The residual becomes 0 there. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_compressor_parts.h"

/* The state that all workers share between the rounds. */
struct chosen {
    size_t count;
    uint32_t position[]; /* [d] */
};

static size_t room(const struct sg_shared *s) {
    return sizeof(struct chosen) + s->layout.offset[s->layout.n_layers] * sizeof(uint32_t);
}

static size_t length(const struct sg_shared *s, unsigned round) {
    return round == 0 ? s->layout.offset[s->layout.n_layers] : ((const struct chosen *)s->room)->count;
}

static void choose(struct sg_worker *w, const float *p, struct sg_message *out) {
    method_topk_message(w, p, out);
    if (!out->code)
        return;
    uint16_t *one = w->data;
    if (w->number != w->shared->step % w->shared->workers)
        out->count = 0;
    for (size_t j = 0; j < out->count; j++)
        one[j] = 0x3c00; /* 1 as a half */
    out->code = &sg_code_fp16;
    out->data = one;
    out->bytes = out->count * sizeof *one;
    out->bits = 32.0 * (double)out->count;
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct chosen *c = w->shared->room;
    float *to = w->data;
    if (round == 0) {
        choose(w, p, out);
        return;
    }
    for (size_t j = 0; j < c->count; j++)
        to[j] = p[c->position[j]];
    method_send_floats(w, c->count, c->count, NULL, to, 32.0 * (double)c->count, out);
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    struct chosen *c = s->room;
    const size_t d = s->layout.offset[s->layout.n_layers];
    if (round == 0) {
        c->count = 0;
        for (size_t i = 0; i < d; i++)
            if (sum[i] > 0)
                c->position[c->count++] = (uint32_t)i;
        return;
    }
    /* From the end, for no number moves forward past one that is still to be read. */
    for (size_t i = d, j = c->count; i-- > 0;)
        sum[i] = j > 0 && c->position[j - 1] == i ? sum[--j] : 0;
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    const struct chosen *c = w->shared->room;
    for (size_t j = 0; j < c->count; j++)
        e[c->position[j]] = 0;
}

static const struct sg_rounds rounds = {.count = 2, .length = length, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_clt_k = {
    .name = "clt-k",
    .summary = "every element at one worker's Top-k positions; workers take turns",
    .source = "Chen et al. (ScaleCom), NeurIPS 2020",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = sg_share_params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .encode = encode,
    .rounds = &rounds,
};
