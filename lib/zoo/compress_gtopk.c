/* compress_gtopk.c: global Top-k over a tree (Shi et al., ICDCS 2019).
 *
 * Every worker selects its own Top-k. Worker r + s hands its list to worker r, for s = 1, 2, 4, … and r a multiple of 2
 * s. Worker r adds the two lists where positions are equal, and goes on with the k largest of each layer. What worker 0
 * has at the end is the sum that all workers get. Every worker sends one list, worker 0 the result. A list of k entries
 * costs 64 k bits, whoever's it is.
 *
 * The publication puts back into the residual what a worker selected at positions that the result lacks. So what is
 * dropped in one branch of the tree is lost if another branch brings that position into the result: the sum and the
 * residuals are then less than all p. With `conserve: 1` worker r adds to its residual what it drops from a sum of two
 * lists, and nothing is lost. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_compressor_parts.h"

enum { CONSERVE = SG_SHARE_PARAMS, PARAMS };

/* One worker's list, and what was dropped when it was added to the list of another. */
struct list {
    size_t count, dropped;
    uint32_t *index; /* [d] the list; if it was handed on, what was dropped */
    float *value;
};

/* The memory of `room`: lists [workers], then for each of these and for the union d positions and d values. */
static size_t room(const struct sg_shared *s) {
    const size_t d = s->layout.offset[s->layout.n_layers];
    return s->workers * sizeof(struct list) + (s->workers + 1) * d * (sizeof(uint32_t) + sizeof(float));
}

static uint32_t *index_of(const struct sg_shared *s, size_t which) {
    const size_t d = s->layout.offset[s->layout.n_layers];
    return (uint32_t *)((struct list *)s->room + s->workers) + 2 * which * d;
}

static struct list *lists(const struct sg_shared *s) {
    struct list *list = s->room;
    for (size_t w = 0; w < s->workers; w++) {
        list[w].index = index_of(s, w);
        list[w].value = (float *)(list[w].index + s->layout.offset[s->layout.n_layers]);
    }
    return list;
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    method_topk_message(w, p, out);
}

static void push(uint32_t *index, float *value, size_t *count, uint32_t i, float x) {
    index[*count] = i;
    value[(*count)++] = x;
}

/* out <- a + b, by ascending positions. */
static void unite(struct list *out, const struct list *a, const struct list *b) {
    out->count = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        const bool of_a = i < a->count && (j == b->count || a->index[i] <= b->index[j]);
        const bool of_b = j < b->count && (i == a->count || b->index[j] <= a->index[i]);
        const float x = of_a && of_b ? a->value[i] + b->value[j] : of_a ? a->value[i] : b->value[j];
        push(out->index, out->value, &out->count, of_a ? a->index[i] : b->index[j], x);
        i += of_a;
        j += of_b;
    }
}

/* a <- the k largest of each layer of a + b, of equal ones those with the lower position; b <- all others. These are at
 * most as many as b had, since a had no more than the k of each layer. */
static void merge(const struct sg_shared *s, struct list *both, struct list *a, struct list *b) {
    unite(both, a, b);
    a->count = b->count = b->dropped = 0;
    for (size_t l = 0, at = 0, end; l < s->layout.n_layers; l++, at = end) {
        const size_t begin = s->layout.offset[l], past = s->layout.offset[l + 1];
        const size_t k = sg_share_in(s, l, past - begin);
        for (end = at; end < both->count && both->index[end] < past;)
            end++;
        const bool all = end - at <= k;
        struct sg_largest of = all ? (struct sg_largest){0, 0} : sg_largest_of(both->value + at, end - at, k);
        for (size_t j = at; j < end; j++) {
            if (all || sg_is_largest(&of, both->value[j]))
                push(a->index, a->value, &a->count, both->index[j], both->value[j]);
            else
                push(b->index, b->value, &b->dropped, both->index[j], both->value[j]);
        }
    }
}

static void take_messages(const struct sg_shared *s, struct list *list) {
    for (size_t w = 0; w < s->workers; w++) {
        const struct sg_message *m = &s->heard[w];
        list[w].count = m->count;
        list[w].dropped = 0;
        for (size_t j = 0; j < m->count; j++)
            list[w].index[j] = method_position(m, j);
        if (m->count > 0)
            memcpy(list[w].value, m->data, m->count * sizeof *list[w].value);
    }
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    (void)round;
    const size_t d = s->layout.offset[s->layout.n_layers];
    struct list *list = lists(s);
    struct list both = {0, 0, index_of(s, s->workers), (float *)(index_of(s, s->workers) + d)};
    take_messages(s, list);
    for (size_t step = 1; step < s->workers; step *= 2)
        for (size_t r = 0; r + step < s->workers; r += 2 * step)
            merge(s, &both, &list[r], &list[r + step]);
    memset(sum, 0, d * sizeof *sum);
    for (size_t j = 0; j < list->count; j++)
        sum[list->index[j]] = list->value[j];
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    const struct sg_shared *s = w->shared;
    const struct list *list = s->room;
    const struct sg_message *own = &s->heard[w->number];
    const bool conserves = s->param[CONSERVE] > 0;
    for (size_t j = 0, at = 0; j < own->count; j++) {
        const uint32_t i = method_position(own, j);
        while (at < list->count && list->index[at] < i)
            at++;
        if (conserves || (at < list->count && list->index[at] == i))
            e[i] = 0;
    }
    for (size_t step = 1; conserves && w->number % (2 * step) == 0 && w->number + step < s->workers; step *= 2) {
        const struct list *other = &list[w->number + step];
        for (size_t j = 0; j < other->dropped; j++)
            e[other->index[j]] += other->value[j];
    }
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [CONSERVE] = {"conserve", 0, 1, 0, true,
                  "0: as published, where some dropped entries are lost; 1: residuals keep all of them"},
};

static const struct sg_rounds rounds = {.count = 1, .hears = true, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_gtopk = {
    .name = "gtopk",
    .summary = "about the k largest of the sum, in a tree of workers that hand on k entries",
    .source = "Shi et al., ICDCS 2019",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .encode = encode,
    .rounds = &rounds,
    .collective = "gtopk",
};
