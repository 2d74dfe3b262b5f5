/* compress_arctopk.c: ARC-Top-K (Chen et al., arXiv 2510.26709): the largest rows of the workers' mean matrix, found by
 * a sketch, so that both the sketch and the rows are added up on their way.
 *
 *     round 0    P_i = M_i V for every matrix M_i = p of m columns; V has r columns of normal numbers, which all
 *                workers draw alike at each step       combine: the K rows of sum P_i with the largest norms
 *     round 1    these rows of M_i, without positions; the residual becomes 0 there
 *
 * K is k or density n of the layer's n elements, divided by m and rounded down, and at least 1. Layers that are no
 * matrix, or have at most r columns, are sent whole in round 1, as in the authors' code for language models. PAPER:
 * that code gives a convolution of width t rows of 2 t^2 elements; here it has those of the task's matrix.
 *
 * With SG_TRAIT_DIRECTIONS the rounds are those of Dion2 (compress_dion2.c): pieces are rows or columns, the sketch has
 * one number of each, what arrives is made a direction, and a share of what was sent stays in the residual. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <string.h>

#include "sg_products.h"
#include "zoo_private.h"

enum { RANK = SG_SHARE_PARAMS, PARAMS };
enum { FRACTION, MU }; /* of compress_dion2.c */

static bool makes_directions(const struct sg_shared *s) {
    return s->ops->traits & SG_TRAIT_DIRECTIONS;
}

/* A layer as pieces, of which `sent` arrive: element j of piece i is at begin + i step + j stride. Each piece has
 * `sketch` numbers in round 0; a layer with 0 of them is one piece, which is sent. */
struct pieces {
    size_t begin, count, length, step, stride, sent, sketch;
};

static struct pieces pieces_of(const struct sg_shared *s, size_t l) {
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    const size_t rows = method_rows(s, l), columns = n / rows, count = rows < columns ? rows : columns;
    const size_t sketch = makes_directions(s) ? 1 : (size_t)s->param[RANK];
    if (rows == 1 || columns <= sketch)
        return (struct pieces){begin, 1, n, n, 1, 1, 0};
    if (makes_directions(s)) {
        const size_t share = (size_t)ceil(s->knob[l] * (double)count), sent = share > 1 ? share : 1;
        const size_t step = count == rows ? columns : 1, stride = count == rows ? 1 : columns;
        return (struct pieces){begin, count, n / count, step, stride, sent, sketch};
    }
    const size_t share = sg_share_in(s, l, n) / columns;
    return (struct pieces){begin, rows, columns, columns, 1, share > 1 ? share : 1, sketch};
}

static size_t length(const struct sg_shared *s, unsigned round) {
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        n += round == 0 ? a.count * a.sketch : a.sent * a.length;
    }
    return n;
}

/* The numbers of the largest layer, with scratch for its direction, and behind them whether each piece is sent, in a
 * byte at the place of the layer's first elements. */
static size_t most_numbers(const struct sg_shared *s) {
    size_t most = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t n = s->layout.offset[l + 1] - s->layout.offset[l];
        most = n > most ? n : most;
    }
    return makes_directions(s) ? 4 * most : most;
}

static size_t room(const struct sg_shared *s) {
    return most_numbers(s) * sizeof(float) + method_elements(s);
}

static uint8_t *marks(const struct sg_shared *s) {
    return (uint8_t *)((float *)s->room + most_numbers(s));
}

static bool is_sent(const struct pieces *a, const uint8_t *mark, size_t piece) {
    return a->sketch == 0 || mark[a->begin + piece] > 0;
}

/* The message, and V of a layer behind it. */
static size_t data_bytes(const struct sg_shared *s) {
    size_t columns = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        columns = a.sketch > 0 && a.length > columns ? a.length : columns;
    }
    return (method_elements(s) + columns * (size_t)s->param[RANK]) * sizeof(float);
}

void sg_pieces_encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const uint8_t *mark = marks(s);
    const bool directions = makes_directions(s);
    float *to = w->data, *v = to + method_elements(s);
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, SG_RNG_ALL_WORKERS, s->step);
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        const struct sg_shape shape = {a.count, a.length, a.sketch};
        const size_t before = n;
        for (size_t i = 0; round == 0 && !directions && i < shape.rank * shape.columns; i++)
            v[i] = (float)sg_rng_normal(&rng);
        if (round == 0 && a.sketch > 0 && directions)
            sg_dion2_norms(to + n, p + a.begin, a.count, a.length, a.step, a.stride);
        else if (round == 0 && a.sketch > 0)
            s->kernels->products->times(&s->exec, to + n, p + a.begin, v, &shape);
        n += round == 0 ? a.count * a.sketch : 0;
        for (size_t i = 0; round == 1 && i < a.count; i++)
            for (size_t j = 0; is_sent(&a, mark, i) && j < a.length; j++)
                to[n++] = p[a.begin + i * a.step + j * a.stride];
        w->count[l] = n - before;
    }
    method_send_floats(w, n, n, NULL, to, 32.0 * (double)n, out);
}

/* sum [sketch][count] becomes the norms of the pieces; those of the largest are marked. */
static void choose(const struct pieces *a, float *sum, uint8_t *mark) {
    for (size_t i = 0; i < a->count; i++) {
        double square = 0;
        for (size_t k = 0; k < a->sketch; k++)
            square += (double)sum[k * a->count + i] * (double)sum[k * a->count + i];
        sum[i] = (float)fmin(sqrt(square), (double)FLT_MAX);
    }
    struct sg_largest largest = sg_largest_of(sum, a->count, a->sent);
    for (size_t i = 0; i < a->count; i++)
        mark[a->begin + i] = sg_is_largest(&largest, sum[i]);
}

/* What arrived of a layer, which stands at sum + at, comes to its places, and 0 to all others. */
static void spread(const struct sg_shared *s, const struct pieces *a, float *sum, size_t at) {
    const uint8_t *mark = marks(s);
    float *part = memcpy(s->room, sum + at, a->sent * a->length * sizeof *sum);
    if (makes_directions(s) && a->sketch > 0)
        sg_dion2_direction(s, part, a->sent, a->length);
    memset(sum + a->begin, 0, a->count * a->length * sizeof *sum);
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; is_sent(a, mark, i) && j < a->length; j++)
            sum[a->begin + i * a->step + j * a->stride] = *part++;
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    size_t at = 0;
    for (size_t l = 0; round == 0 && l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        if (a.sketch > 0)
            choose(&a, sum + at, marks(s));
        at += a.count * a.sketch;
    }
    /* From the end, for no layer begins before what arrived of it. */
    at = length(s, round);
    for (size_t l = s->layout.n_layers; round == 1 && l-- > 0;) {
        const struct pieces a = pieces_of(s, l);
        at -= a.sent * a.length;
        spread(s, &a, sum, at);
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const uint8_t *mark = marks(s);
    (void)sum;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct pieces a = pieces_of(s, l);
        const float left = makes_directions(s) && a.sketch > 0 ? (float)s->param[MU] : 0;
        for (size_t i = 0; i < a.count; i++)
            for (size_t j = 0; is_sent(&a, mark, i) && j < a.length; j++) {
                float *x = &e[a.begin + i * a.step + j * a.stride];
                *x = left > 0 ? left * *x : 0;
            }
    }
}

sg_status sg_pieces_open(struct sg_worker *w, struct sg_error *err) {
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        if (pieces_of(w->shared, l).sketch > 0)
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: no layer is a matrix of more columns than the sketch: use a task with matrices, scope: layer%s",
                   w->shared->ops->name, makes_directions(w->shared) ? "" : " and a smaller rank");
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [RANK] = {"rank", 1, 1024, 4, true, "columns r of the sketch"},
};

const struct sg_rounds sg_pieces_rounds = {
    .count = 2, .length = length, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_arc_topk = {
    .name = "arc-topk",
    .summary = "whole rows of every layer's matrix, the largest of the workers' mean by a random sketch",
    .source = "Chen et al., arXiv 2510.26709",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_pieces_open,
    .data_bytes = data_bytes,
    .encode = sg_pieces_encode,
    .rounds = &sg_pieces_rounds,
};
