/* compress_sparseloco.c: what SparseLoCo sends (Sarfi et al., 2025): every layer is cut into tiles, and of each tile the k
 * largest elements are sent, two bits each (the code `lookup`).
 *
 * Tiles are cut and positions count as the chunks of compress_demo.c. A worker's numbers of a layer are scaled down to the
 * median of the workers' norms, of an even number the lower one. Then every element becomes the mean over the workers
 * that sent it, not over all; so the sum and the residuals are not all of p. SparseLoCo's feedback is {form: gradient,
 * decay: 0.95}; its local steps are not part of this. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_private.h"

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

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    const struct sg_shared *s = w->shared;
    size_t *layer_count = w->scratch, count = 0;
    float *value = w->data;
    double bits = 0, positions = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct method_chunks c = method_chunks_of(s, l, (size_t)s->param[CHUNK]);
        const size_t n = c.height * c.width, before = count, k = s->knob[l] < (double)n ? (size_t)s->knob[l] : n;
        for (size_t chunk = 0; chunk < c.chunks; chunk++) {
            float tile[BLOCK];
            const float *from = p + method_chunk_at(&c, chunk);
            for (size_t i = 0; i < n; i++)
                tile[i] = from[i / c.width * c.columns + i % c.width];
            count += method_take_largest(w->index + count, value + count, tile, n, k, c.begin + chunk * n);
        }
        layer_count[l] = count - before;
        positions += ceil(log2((double)n)) * (double)layer_count[l];
    }
    void *data = layer_count + s->layout.n_layers;
    const struct sg_numbers numbers = {
        .value = value, .count = count, .part = layer_count, .parts = s->layout.n_layers, .threads = s->exec.threads};
    const size_t bytes = sg_code_lookup.encode(data, &numbers, &bits);
    *out = (struct sg_message){.code = &sg_code_lookup,
                               .n = s->layout.offset[s->layout.n_layers],
                               .count = count,
                               .index = w->index,
                               .data = data,
                               .bytes = bytes,
                               .bits = bits + positions,
                               .layer_count = layer_count};
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

/* The message lies in scratch, so w->data has room for its numbers. */
static void keep(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    const struct sg_shared *s = w->shared;
    const struct sg_message *own = &s->heard[w->number];
    float *value = w->data;
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

/* scratch: how many numbers each layer has, and the data of the message. */
static sg_status open_tiles(struct sg_worker *w, struct sg_error *err) {
    const size_t layers = w->shared->layout.n_layers, d = w->shared->layout.offset[layers];
    const struct sg_numbers all = {.count = d, .parts = layers};
    w->scratch = calloc(1, layers * sizeof(size_t) + sg_code_lookup.most_bytes(&all));
    return w->scratch != NULL ? SG_OK : sg_fail_memory(err, "sparseloco");
}

static size_t knob(const double *param) {
    (void)param;
    return K;
}

static const struct sg_parameter params[PARAMS] = {
    [K] = {"k", 1, BLOCK, 64, true, "elements sent of every tile, odd or even; a tile with fewer sends all"},
    [CHUNK] = {"chunk", 1, MOST, 64, true, "the most rows and columns of a tile"},
    [CLIP] = {"clip", 0, 1, 1, true, "1: a worker's numbers of a layer are scaled down to the workers' median norm"},
};

static const struct sg_rounds rounds = {.count = 1, .hears = true, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_sparseloco = {
    .name = "sparseloco",
    .summary = "the largest elements of every tile in two bits each, mean over the workers that sent each",
    .source = "Sarfi et al. (SparseLoCo), 2025; github.com/one-covenant/templar",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .knob = knob,
    .open = open_tiles,
    .encode = encode,
    .rounds = &rounds,
};
