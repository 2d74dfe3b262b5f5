/* matrix_generate.c: labelled matrices that stand in for a set that is not here: gisette-like and two-clouds. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sg_matrix.h"
#include "sg_memory.h"
#include "sg_rng.h"

/* Streams of random numbers: (seed, GENERATE, one of these, row or 0). Rows are independent of each other, so threads
 * do not matter. */
enum { STREAM_SHAPE = 0, STREAM_ROW = 1, STREAM_LABEL = 2 };

/* gisette-like, a stand-in for gisette_scale. The real set has as features pixels of handwritten digits, products of
 * two pixels, and as many probes that carry nothing. This one is made alike from images that never were digits:
 *   image    a smooth random field of SIDE x SIDE pixels: WAVES x WAVES cosines whose random weights fall with
 *            frequency; the class shifts the mean of every weight
 *   feature  even: the smaller of two pixels plus noise; odd (probe): noise alone
 *   value    0 unless the feature exceeds a threshold of its own, then from 480 up, saturating near 990; scaled by
 *            2 v / 999 - 1 as the published file is
 * The constants below were fitted to 168 real rows (share and distribution of non-zero values, correlations, singular
 * values, distance of the classes) and to the published L, mean and maximum of |a|^2/4 and f*. */
enum { ROWS = 6000, FEATURES = 5000, SIDE = 24, PIXELS = SIDE * SIDE, WAVES = 9, WEIGHTS = WAVES * WAVES };

struct shape {
    float wave[WAVES][SIDE];
    float weight[WEIGHTS]; /* standard deviation of each cosine's weight */
    float shift[WEIGHTS];  /* how far the classes' means are from 0, in these standard deviations */
    float threshold[FEATURES];
    uint16_t pixel[FEATURES][2];
};

static const double image_variance = 0.95; /* of a feature; the rest is noise */
static const double class_distance = 6.0;  /* half of it, in standard deviations, over all weights */

static void draw_weights(struct shape *s, sg_rng *rng) {
    double variance = 0, distance = 0;
    for (int k = 0; k < WEIGHTS; k++) {
        int p = k / WAVES, q = k % WAVES;
        double weight = pow(1 + (p * p + q * q) / 10.0, -1.5) * (k == 0 ? 0.5 : 1); /* k = 0: how much ink */
        double shift = sg_rng_normal(rng) / sqrt(weight);
        variance += weight * weight * (p ? 0.5 : 1) * (q ? 0.5 : 1);
        distance += shift * shift;
        s->weight[k] = (float)weight;
        s->shift[k] = (float)shift;
    }
    for (int k = 0; k < WEIGHTS; k++) {
        s->weight[k] *= (float)sqrt(image_variance / variance);
        s->shift[k] *= (float)(class_distance / sqrt(distance));
    }
    for (int p = 0; p < WAVES; p++)
        for (int i = 0; i < SIDE; i++)
            s->wave[p][i] = (float)cos(3.14159265358979323846 * p * (i + 0.5) / SIDE);
}

static void draw_shape(struct shape *s, uint64_t seed) {
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_SHAPE, 0);
    draw_weights(s, &rng);
    for (int j = 0; j < FEATURES; j++) {
        double n = sg_rng_normal(&rng), threshold = 1.32 + n * (n > 0 ? 1.2 : 0.75);
        uint16_t first = (uint16_t)sg_rng_below(&rng, PIXELS), second = (uint16_t)sg_rng_below(&rng, PIXELS);
        bool pair = sg_rng_uniform(&rng) < 0.4;
        s->pixel[j][0] = first;
        s->pixel[j][1] = pair ? second : first;
        s->threshold[j] =
            (float)(pair && j % 2 == 0 ? threshold - 0.56 : threshold); /* the smaller of two is smaller */
    }
}

/* Adds the waves along x first, then along y. */
static void draw_image(float image[PIXELS], const struct shape *s, sg_rng *rng, float label) {
    float half[WAVES][SIDE] = {{0}};
    for (int k = 0; k < WEIGHTS; k++) {
        float weight = s->weight[k] * ((float)sg_rng_normal(rng) + label * s->shift[k]);
        for (int x = 0; x < SIDE; x++)
            half[k / WAVES][x] += weight * s->wave[k % WAVES][x];
    }
    memset(image, 0, PIXELS * sizeof *image);
    for (int y = 0; y < SIDE; y++)
        for (int p = 0; p < WAVES; p++)
            for (int x = 0; x < SIDE; x++)
                image[y * SIDE + x] += s->wave[p][y] * half[p][x];
}

/* Mean 0, variance 1: the sum of four uniform bytes. */
static float nearly_normal(uint32_t bits) {
    int sum = (int)((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24)) - 510;
    return (float)sum * (1 / 147.80054f);
}

static int pixel_value(float excess) {
    float v = excess > 0 ? 480 + 760 * excess : 0;
    if (v > 960)
        v = 975 + (v - 960) / 20;
    return v < 999 ? (int)v : 999;
}

static void draw_row(double *row, const struct shape *s, uint64_t seed, size_t i, double label) {
    float image[PIXELS], noise = (float)sqrt(1 - image_variance);
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_ROW, i);
    draw_image(image, s, &rng, (float)label);
    for (int j = 0; j < FEATURES; j++) {
        float u = nearly_normal(sg_rng_u32(&rng));
        if (j % 2 == 0) {
            float a = image[s->pixel[j][0]], b = image[s->pixel[j][1]];
            u = noise * u + (a < b ? a : b);
        }
        row[j] = 2.0 * pixel_value(u - s->threshold[j]) / 999 - 1;
    }
}

/* As many of one class as of the other, in random order. */
static void draw_labels(double *label, size_t m, uint64_t seed) {
    uint32_t *order = sg_malloc(m * sizeof *order);
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_LABEL, 0);
    sg_rng_permutation(&rng, order, m);
    for (size_t i = 0; i < m; i++)
        label[i] = order[i] < m / 2 ? -1 : 1;
    free(order);
}

static sg_status gisette_like(struct sg_matrix *out, uint64_t seed, struct sg_error *err) {
    struct sg_matrix_room room;
    struct shape *s = sg_malloc(sizeof *s);
    sg_status status = sg_matrix_allocate(out, &room, SG_STORAGE_F64, ROWS, FEATURES, 0, err);
    if (status == SG_OK) {
        draw_labels(room.label, ROWS, seed);
        draw_shape(s, seed);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < ROWS; i++)
            draw_row(room.f64 + i * FEATURES, s, seed, i, room.label[i]);
    }
    free(s);
    return status;
}

/* two-clouds: two normal clouds around +c and -c, one row in twenty with the wrong label. Values are multiples of
 * 1/1024, so they are floats. */
static sg_status two_clouds(struct sg_matrix *out, uint64_t seed, struct sg_error *err) {
    enum { M = 240, D = 40 };
    struct sg_matrix_room room;
    sg_status status = sg_matrix_allocate(out, &room, SG_STORAGE_F32, M, D, 0, err);
    if (status != SG_OK)
        return status;
    draw_labels(room.label, M, seed);
    double centre[D];
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_SHAPE, 0);
    for (int j = 0; j < D; j++)
        centre[j] = 0.35 * sg_rng_normal(&rng);
    for (size_t i = 0; i < M; i++) {
        rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_ROW, i);
        double cloud = sg_rng_below(&rng, 20) == 0 ? -room.label[i] : room.label[i];
        for (int j = 0; j < D; j++)
            room.f32[i * D + (size_t)j] = (float)(round(1024 * (cloud * centre[j] + sg_rng_normal(&rng))) / 1024);
    }
    return SG_OK;
}

static const struct generator {
    const char *name;
    sg_status (*make)(struct sg_matrix *out, uint64_t seed, struct sg_error *err);
} generators[] = {{"gisette-like", gisette_like}, {"two-clouds", two_clouds}};

static const struct generator *find(const char *name) {
    for (size_t i = 0; i < sizeof generators / sizeof *generators; i++)
        if (strcmp(name, generators[i].name) == 0)
            return &generators[i];
    return NULL;
}

sg_status sg_generator_check(const char *name, struct sg_error *err) {
    return find(name)
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "unknown stand-in '%s': there are gisette-like and two-clouds", name);
}

sg_status sg_generate(struct sg_matrix *out, const char *generator, uint64_t seed, struct sg_error *err) {
    struct sg_matrix a = {0};
    sg_status status = sg_generator_check(generator, err);
    SG_DO(status, find(generator)->make(&a, seed, err));
    if (status)
        sg_matrix_free(&a);
    else
        *out = a;
    return status;
}
