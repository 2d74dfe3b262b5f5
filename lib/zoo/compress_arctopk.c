/* compress_arctopk.c: ARC-Top-K (Chen et al., arXiv 2510.26709): the largest rows of the workers' mean matrix, found by
 * a sketch, so that both the sketch and the rows are added up on their way.
 *
 *     round 0    P_i = M_i V for every matrix M_i = p of m columns; V has r columns of normal numbers, which all
 *                workers draw alike at each step       combine: the K rows of sum P_i with the largest norms
 *     round 1    these rows of M_i, without positions; the residual becomes 0 there
 *
 * K is k or density n of the layer's n elements, divided by m and rounded down, and at least 1. Layers that are no
 * matrix, or have at most r columns, are sent whole in round 1, as in the authors' code for language models. PAPER:
 * that code gives a convolution of width t rows of 2 t^2 elements; here it has those of the task's matrix. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <string.h>

#include "sg_products.h"
#include "zoo_private.h"

enum { RANK = SG_SHARE_PARAMS, PARAMS };

/* A layer as pieces of `columns` elements, of which `sent` arrive; whole = it is one piece, which is sent. */
struct pieces {
    size_t begin, rows, columns, sent;
    bool whole;
};

static struct pieces pieces_of(const struct sg_shared *s, size_t l) {
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    const size_t rows = method_rows(s, l), columns = n / rows;
    if (rows == 1 || columns <= (size_t)s->param[RANK])
        return (struct pieces){begin, 1, n, 1, true};
    const size_t share = sg_share_in(s, l, n) / columns;
    return (struct pieces){begin, rows, columns, share > 1 ? share : 1, false};
}

static size_t length(const struct sg_shared *s, unsigned round) {
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        n += round == 1 ? a.sent * a.columns : a.whole ? 0 : a.rows * (size_t)s->param[RANK];
    }
    return n;
}

/* Whether each row is sent, in a byte at the place of the layer's first elements. */
static size_t room(const struct sg_shared *s) {
    return method_elements(s);
}

static bool is_sent(const struct sg_shared *s, const struct pieces *a, size_t row) {
    return a->whole || ((const uint8_t *)s->room)[a->begin + row] > 0;
}

/* The message, and V of a layer behind it. */
static size_t data_bytes(const struct sg_shared *s) {
    size_t columns = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        columns = !a.whole && a.columns > columns ? a.columns : columns;
    }
    return (method_elements(s) + columns * (size_t)s->param[RANK]) * sizeof(float);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    float *to = w->data, *v = to + method_elements(s);
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, SG_RNG_ALL_WORKERS, s->step);
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        const struct sg_shape shape = {a.rows, a.columns, (size_t)s->param[RANK]};
        const size_t before = n;
        for (size_t i = 0; round == 0 && !a.whole && i < shape.rank * a.columns; i++)
            v[i] = (float)sg_rng_normal(&rng);
        if (round == 0 && !a.whole) {
            s->kernels->products->times(&s->exec, to + n, p + a.begin, v, &shape);
            n += a.rows * shape.rank;
        }
        for (size_t i = 0; round == 1 && i < a.rows; i++)
            if (is_sent(s, &a, i)) {
                memcpy(to + n, p + a.begin + i * a.columns, a.columns * sizeof *to);
                n += a.columns;
            }
        w->count[l] = n - before;
    }
    method_send_floats(w, n, n, NULL, to, 32.0 * (double)n, out);
}

/* sum [rank][rows] becomes the norms of the rows; those of the largest are marked. */
static void choose(const struct sg_shared *s, const struct pieces *a, float *sum) {
    uint8_t *sent = (uint8_t *)s->room + a->begin;
    for (size_t i = 0; i < a->rows; i++) {
        double square = 0;
        for (size_t k = 0; k < (size_t)s->param[RANK]; k++)
            square += (double)sum[k * a->rows + i] * (double)sum[k * a->rows + i];
        sum[i] = (float)fmin(sqrt(square), (double)FLT_MAX);
    }
    struct sg_largest largest = sg_largest_of(sum, a->rows, a->sent);
    for (size_t i = 0; i < a->rows; i++)
        sent[i] = sg_is_largest(&largest, sum[i]);
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    size_t at = 0;
    for (size_t l = 0; round == 0 && l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        if (!a.whole) {
            choose(s, &a, sum + at);
            at += a.rows * (size_t)s->param[RANK];
        }
    }
    /* From the end, for no row moves forward past one that is still to be read. */
    at = length(s, round);
    for (size_t l = s->layout.n_layers; round == 1 && l-- > 0;) {
        const struct pieces a = pieces_of(s, l);
        for (size_t i = a.rows; i-- > 0;) {
            float *row = sum + a.begin + i * a.columns;
            const bool sent = is_sent(s, &a, i);
            at -= sent ? a.columns : 0;
            if (sent)
                memmove(row, sum + at, a.columns * sizeof *row);
            else
                memset(row, 0, a.columns * sizeof *row);
        }
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    (void)sum;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        for (size_t i = 0; i < a.rows; i++)
            if (is_sent(s, &a, i))
                memset(e + a.begin + i * a.columns, 0, a.columns * sizeof *e);
    }
}

static sg_status open_rows(struct sg_worker *w, struct sg_error *err) {
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        if (!pieces_of(w->shared, l).whole)
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "arc-topk: no layer is a matrix of more columns than the sketch: use a task with matrices, "
                   "scope: layer and a smaller rank");
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [RANK] = {"rank", 1, 1024, 4, true, "columns r of the sketch"},
};

static const struct sg_rounds rounds = {.count = 2, .length = length, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_arc_topk = {
    .name = "arc-topk",
    .summary = "whole rows of every layer's matrix, the largest of the workers' mean by a random sketch",
    .source = "Chen et al., arXiv 2510.26709",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = open_rows,
    .data_bytes = data_bytes,
    .encode = encode,
    .rounds = &rounds,
};
