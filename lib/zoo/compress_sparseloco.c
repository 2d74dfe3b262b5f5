/* compress_sparseloco.c: what SparseLoCo sends (Sarfi et al., 2025): every layer is cut into tiles, and of each tile
 * the k largest elements are sent, two bits each (the code `lookup`).
 *
 * Tiles are cut and positions count as the chunks of compress_demo.c. A worker's numbers of a layer are scaled down to
 * the median of the workers' norms, of an even number the lower one. Then every element becomes the mean over the
 * workers that sent it, not over all; so the sum and the residuals are not all of p.
 *
 * SparseLoCo itself is this under local steps of AdamW, 15 to 100 of them (the code's preset is 30): error feedback
 * {form: local-steps, steps: 30, decay: 0.95, outer: {learning-rate: 0.4}}. The residual with its decay takes the place
 * of DiLoCo's outer momentum (algorithm 1 of the paper, arXiv 2508.15706; the constants are those of the code). */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "zoo_private.h"

enum { K, CHUNK, CLIP, PARAMS };
enum { MOST = METHOD_CHUNK, BLOCK = MOST * MOST };

/* What stands in `room`: each worker's norm of every layer, the norms of one layer in order, and for each element how
 * many sent it and a worker's number. */
struct tiles {
    double *norm, *sorted; /* [workers][n_layers], [workers] */
    uint32_t *senders;     /* [d] */
    float *value;          /* [d] */
};

static struct tiles tiles_of(const struct sg_shared *s) {
    double *const norm = s->room, *const sorted = norm + s->workers * s->layout.n_layers;
    uint32_t *const senders = (uint32_t *)(sorted + s->workers);
    return (struct tiles){norm, sorted, senders, (float *)(senders + s->layout.offset[s->layout.n_layers])};
}

static size_t room(const struct sg_shared *s) {
    return s->workers * (s->layout.n_layers + 1) * sizeof(double) +
           s->layout.offset[s->layout.n_layers] * (sizeof(uint32_t) + sizeof(float));
}

static void read_tile(float *tile, const struct sg_shared *s, const struct method_chunks *c, size_t chunk,
                      const float *p) {
    const float *from = p + method_chunk_at(c, chunk);
    (void)s;
    for (size_t i = 0; i < c->height * c->width; i++)
        tile[i] = from[i / c->width * c->columns + i % c->width];
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    double positions;
    (void)round;
    out->n = method_elements(w->shared);
    out->count = method_take_chunks(w, p, (size_t)w->shared->param[CHUNK], read_tile, &positions);
    out->index = w->index;
    w->status = method_write(w, &sg_code_lookup, (struct sg_numbers){.value = w->value, .count = out->count}, out);
    out->bits += positions;
}

/* *end <- where the numbers of layer l end in a message; on entry where those before it end. */
static void end_of_layer(const struct sg_shared *s, const struct sg_message *m, size_t l, size_t *end) {
    while (*end < m->count && method_position(m, *end) < s->layout.offset[l + 1])
        (*end)++;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_norms(const struct sg_shared *s, const struct tiles *t) {
    for (size_t w = 0; w < s->workers; w++) {
        const struct sg_message *m = &s->heard[w];
        m->code->decode(t->value, m, 0, m->count);
        for (size_t l = 0, j = 0, end = 0; l < s->layout.n_layers; l++) {
            double squares = 0;
            for (end_of_layer(s, m, l, &end); j < end; j++)
                squares += (double)t->value[j] * (double)t->value[j];
            t->norm[w * s->layout.n_layers + l] = sqrt(squares);
        }
    }
}

/* The factor on a worker's numbers of a layer, as the authors' code forms it. */
static float clip_factor(const struct sg_shared *s, const struct tiles *t, size_t worker, size_t l) {
    const size_t layers = s->layout.n_layers;
    for (size_t w = 0; w < s->workers; w++)
        t->sorted[w] = t->norm[w * layers + l];
    qsort(t->sorted, s->workers, sizeof *t->sorted, ascending);
    const double factor = t->sorted[(s->workers - 1) / 2] / (t->norm[worker * layers + l] + 1e-8);
    return s->param[CLIP] > 0 && factor < 1 ? (float)factor : 1;
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    (void)round;
    const struct tiles t = tiles_of(s);
    const size_t d = s->layout.offset[s->layout.n_layers];
    method_count_senders(s, t.senders);
    measure_norms(s, &t);
    memset(sum, 0, d * sizeof *sum);
    for (size_t w = 0; w < s->workers; w++) {
        const struct sg_message *m = &s->heard[w];
        m->code->decode(t.value, m, 0, m->count);
        for (size_t l = 0, j = 0, end = 0; l < s->layout.n_layers; l++) {
            const float factor = clip_factor(s, &t, w, l);
            for (end_of_layer(s, m, l, &end); j < end; j++)
                sum[method_position(m, j)] += factor * t.value[j];
        }
    }
    for (size_t i = 0; i < d; i++)
        t.value[i] = t.senders[i] > 0 ? sum[i] / (float)t.senders[i] * (float)s->workers : 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct method_chunks c = method_chunks_of(s, l, (size_t)s->param[CHUNK]);
        const size_t n = c.height * c.width;
        for (size_t i = 0; i < n * c.chunks; i++)
            sum[method_chunk_at(&c, i / n) + i % n / c.width * c.columns + i % c.width] = t.value[c.begin + i];
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    const struct sg_shared *s = w->shared;
    const struct sg_message *own = &s->heard[w->number];
    float *value = w->value; /* the message lies in w->data */
    own->code->decode(value, own, 0, own->count);
    for (size_t l = 0, j = 0; l < s->layout.n_layers; l++) {
        const struct method_chunks c = method_chunks_of(s, l, (size_t)s->param[CHUNK]);
        const size_t n = c.height * c.width;
        for (; j < own->count && method_position(own, j) < s->layout.offset[l + 1]; j++) {
            const size_t i = method_position(own, j) - c.begin;
            e[method_chunk_at(&c, i / n) + i % n / c.width * c.columns + i % c.width] -= value[j];
        }
    }
}

static size_t data_bytes(const struct sg_shared *s) {
    return method_code_bytes(s, &sg_code_lookup);
}

static const struct sg_parameter params[PARAMS] = {
    [K] = {"k", 1, BLOCK, 64, true, "elements sent of every chunk"},
    [CHUNK] = {"chunk", 1, MOST, 64, true, "rows and columns of a chunk, at most"},
    [CLIP] = {"clip", 0, 1, 1, true, "1: a worker's layer is scaled down to the workers' median norm"},
};

static const struct sg_rounds rounds = {.count = 1, .hears = true, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_sparseloco = {
    .name = "sparseloco",
    .summary = "the largest elements of every chunk, in two bits; each becomes the mean of workers that sent it",
    .source = "Sarfi et al. (SparseLoCo), 2025; github.com/one-covenant/templar",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .data_bytes = data_bytes,
    .encode = encode,
    .rounds = &rounds,
};
