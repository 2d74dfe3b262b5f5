/* compress_demo.c: what DeMo sends (Peng, Quesnelle, Kingma, 2024): every layer is cut into chunks, and of each chunk's
 * discrete cosine transform (DCT-II, orthonormal) the k largest coefficients are sent.
 *
 * A matrix is cut along both dimensions, by the largest divisor of each that is at most `chunk`; a vector along its
 * only one. Positions count coefficients, chunk after chunk. Every coefficient becomes the mean over the workers that
 * sent it, not over all; so the sum and the residuals are not all of p. The inverse transform of these means goes to
 * the optimizer, or with `sign: 1` the sign of each element. The residual is p less the worker's own coefficients.
 *
 * DeMo itself is this with plain SGD and its weight decay, which is decoupled because signs come before it, and with
 * the residual as the decoupled momentum: delta <- 0.999 delta + gamma g in the authors' code
 * (github.com/bloc97/DeMo). That is error feedback {form: lr-correction, decay: 0.999}, whose e is delta / gamma:
 * neither the choice of coefficients nor a sign depends on the scale. With a constant gamma, {form: gradient} is the
 * same.
 *
 * Sums of a transform are in double, columns first and in ascending order, and are rounded once. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "zoo_private.h"

enum { K, CHUNK, SIGN, PARAMS };
enum { MOST = METHOD_CHUNK, BLOCK = MOST * MOST };

/* ---- the transform ---- */

/* Tables of all sizes up to MOST: there[i][u] and back[u][i] are the u-th basis vector at i. */
static size_t table_at(size_t n) {
    return (n - 1) * n * (2 * n - 1) / 6;
}
enum { TABLES = MOST * (MOST + 1) * (2 * MOST + 1) / 6 };

struct shared_part {
    double there[TABLES], back[TABLES];
    uint32_t senders[]; /* [d] */
};

static void start(const struct sg_shared *s) {
    struct shared_part *part = s->room;
    const double pi = 3.14159265358979323846;
    for (size_t n = 1; n <= MOST; n++)
        for (size_t i = 0; i < n; i++)
            for (size_t u = 0; u < n; u++) {
                const double x =
                    sqrt((u > 0 ? 2.0 : 1.0) / (double)n) * cos(pi * (double)((2 * i + 1) * u) / (double)(2 * n));
                part->there[table_at(n) + i * n + u] = part->back[table_at(n) + u * n + i] = x;
            }
}

/* out [height][width] <- rows' x in' columns', where rows [height][height] and columns [width][width] are tables:
 * `there` gives the transform, `back` its inverse. */
static void transform(double *out, const double *in, const struct method_chunks *c, const double *rows,
                      const double *columns) {
    double half[BLOCK] = {0};
    const size_t h = c->height, w = c->width;
    for (size_t i = 0; i < h; i++)
        for (size_t j = 0; j < w; j++)
            for (size_t v = 0; v < w; v++)
                half[i * w + v] += in[i * w + j] * columns[j * w + v];
    memset(out, 0, h * w * sizeof *out);
    for (size_t u = 0; u < h; u++)
        for (size_t i = 0; i < h; i++)
            for (size_t v = 0; v < w; v++)
                out[u * w + v] += rows[i * h + u] * half[i * w + v];
}

/* coefficient [height width] <- those of a chunk of x, at most as large as a float can be. */
static void analyse(float *coefficient, const struct sg_shared *s, const struct method_chunks *c, size_t chunk,
                    const float *x) {
    const struct shared_part *t = s->room;
    double in[BLOCK], out[BLOCK];
    const float *from = x + method_chunk_at(c, chunk);
    in[0] = (double)from[0]; /* no chunk is empty */
    for (size_t i = 0; i < c->height; i++)
        for (size_t j = 0; j < c->width; j++)
            in[i * c->width + j] = (double)from[i * c->columns + j];
    transform(out, in, c, t->there + table_at(c->height), t->there + table_at(c->width));
    for (size_t i = 0; i < c->height * c->width; i++)
        coefficient[i] = sg_integers_value(out[i]);
}

/* x [height width] <- the numbers of a chunk with these coefficients. */
static void synthesize(float *x, const struct shared_part *t, const struct method_chunks *c, const float *coefficient) {
    double in[BLOCK], out[BLOCK];
    for (size_t i = 0; i < c->height * c->width; i++)
        in[i] = (double)coefficient[i];
    transform(out, in, c, t->back + table_at(c->height), t->back + table_at(c->width));
    for (size_t i = 0; i < c->height * c->width; i++)
        x[i] = (float)out[i];
}

/* ---- a step ---- */

static size_t room(const struct sg_shared *s) {
    return sizeof(struct shared_part) + s->layout.offset[s->layout.n_layers] * sizeof(uint32_t);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    double positions;
    const size_t count = method_take_chunks(w, p, (size_t)w->shared->param[CHUNK], analyse, &positions);
    (void)round;
    method_send_floats(w, method_elements(w->shared), count, w->index, w->value, 32.0 * (double)count + positions, out);
}

/* sum <- workers times the sign, or times the number itself. */
static void finish(const struct sg_shared *s, float *sum) {
    const size_t d = s->layout.offset[s->layout.n_layers];
    const float workers = (float)s->workers;
    for (size_t i = 0; i < d; i++)
        sum[i] = s->param[SIGN] > 0 ? (float)((sum[i] > 0) - (sum[i] < 0)) * workers : sum[i] * workers;
}

/* Coefficients stand chunk after chunk and elements row after row, so the inverse transform reads a copy. */
static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    (void)round;
    struct shared_part *part = s->room;
    const size_t d = s->layout.offset[s->layout.n_layers];
    method_count_senders(s, part->senders);
    for (size_t i = 0; i < d; i++)
        sum[i] = part->senders[i] > 0 ? sum[i] / (float)part->senders[i] : 0;
    float *means = (float *)part->senders; /* the counts are not needed any more */
    memcpy(means, sum, d * sizeof *means);
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct method_chunks c = method_chunks_of(s, l, (size_t)s->param[CHUNK]);
        for (size_t chunk = 0; chunk < c.chunks; chunk++) {
            float x[BLOCK], *to = sum + method_chunk_at(&c, chunk);
            synthesize(x, part, &c, means + c.begin + chunk * c.height * c.width);
            for (size_t i = 0; i < c.height; i++)
                memcpy(to + i * c.columns, x + i * c.width, c.width * sizeof *x);
        }
    }
    finish(s, sum);
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    const struct sg_shared *s = w->shared;
    const struct sg_message *own = &s->heard[w->number];
    const float *value = own->data;
    for (size_t l = 0, j = 0; l < s->layout.n_layers; l++) {
        const struct method_chunks c = method_chunks_of(s, l, (size_t)s->param[CHUNK]);
        const size_t n = c.height * c.width;
        for (size_t chunk = 0; chunk < c.chunks; chunk++) {
            const size_t begin = c.begin + chunk * n;
            float coefficient[BLOCK] = {0}, x[BLOCK], *to = e + method_chunk_at(&c, chunk);
            for (; j < own->count && method_position(own, j) < begin + n; j++)
                coefficient[method_position(own, j) - begin] = value[j];
            synthesize(x, s->room, &c, coefficient);
            for (size_t i = 0; i < n; i++)
                to[i / c.width * c.columns + i % c.width] -= x[i];
        }
    }
}

static sg_status open_demo(struct sg_worker *w, struct sg_error *err) {
    const struct sg_feedback_rule *rule = w->shared->feedback.rule;
    return !rule->in_updates || !(w->shared->param[SIGN] > 0)
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT,
                         "demo: the learning rate must come after the signs, so error feedback cannot be '%s'; use "
                         "'gradient', or sign: 0",
                         rule->name);
}

static const struct sg_parameter params[PARAMS] = {
    [K] = {"k", 1, BLOCK, 32, true, "coefficients sent of every chunk"},
    [CHUNK] = {"chunk", 1, MOST, 64, true, "rows and columns of a chunk, at most"},
    [SIGN] = {"sign", 0, 1, 1, true, "1: the optimizer gets signs, as in DeMo; 0: numbers"},
};

static const struct sg_rounds rounds = {
    .count = 1, .hears = true, .start = start, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_demo = {
    .name = "demo",
    .summary = "the largest cosine coefficients of every chunk; each becomes the mean of workers that sent it",
    .source = "Peng, Quesnelle, Kingma (DeMo), 2024",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .open = open_demo,
    .encode = encode,
    .rounds = &rounds,
};
