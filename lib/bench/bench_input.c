/* bench_input.c: sizes and distributions of the kernel benchmark. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_memory.h"
#include "sg_rng.h"

/* The parameter tensors in the order of the models' definitions, as matrices: the first dimension, and all others. */
struct shape {
    size_t rows, columns;
};
#define VECTOR(n)                                                                                                      \
    { 1, n }

/* ResNet-18 for CIFAR-10: 62 tensors, 11,173,962 elements. Convolution, then scale and shift of its batch norm. */
#define BN(c)             VECTOR(c), VECTOR(c)
#define BLOCK(in, out)    {out, 9 * (in)}, BN(out), {out, 9 * (out)}, BN(out)
#define SHORTCUT(in, out) {out, in}, BN(out)
static const struct shape resnet18[] = {
    {64, 9 * 3},     BN(64),          BLOCK(64, 64),      BLOCK(64, 64),   BLOCK(64, 128),  SHORTCUT(64, 128),
    BLOCK(128, 128), BLOCK(128, 256), SHORTCUT(128, 256), BLOCK(256, 256), BLOCK(256, 512), SHORTCUT(256, 512),
    BLOCK(512, 512), {10, 512},       VECTOR(10),
};

/* Three layers of 650 on a vocabulary of 28,869, tied output weights: 28,949,319 elements. */
#define LSTM_LAYER {4 * 650, 650}, {4 * 650, 650}, VECTOR(4 * 650), VECTOR(4 * 650)
static const struct shape lstm[] = {{28869, 650}, LSTM_LAYER, LSTM_LAYER, LSTM_LAYER, VECTOR(28869)};

/* NeuMF on MovieLens-20M (138,493 users, 26,744 items): factors 64, MLP 256-256-128-64. */
static const struct shape ncf[] = {
    {138493, 64}, {26744, 64}, {138493, 128}, {26744, 128}, {256, 256},  VECTOR(256),
    {128, 256},   VECTOR(128), {64, 128},     VECTOR(64),   VECTOR(128), VECTOR(1),
};

static const struct model {
    const char *name;
    const struct shape *shape;
    size_t count;
} models[] = {
    {"resnet18", resnet18, sizeof resnet18 / sizeof *resnet18},
    {"lstm", lstm, sizeof lstm / sizeof *lstm},
    {"ncf", ncf, sizeof ncf / sizeof *ncf},
};

static void cut(struct layers *out, const char *name, const struct shape *shape, size_t count) {
    out->offset = sg_malloc((count + 1) * sizeof *out->offset);
    out->rows = sg_malloc(count * sizeof *out->rows);
    snprintf(out->name, sizeof out->name, "%s", name);
    out->count = count;
    out->offset[0] = 0;
    for (size_t l = 0; l < count; l++) {
        out->rows[l] = shape[l].rows;
        out->offset[l + 1] = out->offset[l] + shape[l].rows * shape[l].columns;
    }
    out->n = out->offset[count];
}

/* The matrix of n elements that is nearest to a square and has no more rows than columns. */
static struct shape squarest(size_t n) {
    size_t rows = (size_t)sqrt((double)n);
    while (n % rows != 0)
        rows--;
    return (struct shape){rows, n / rows};
}

sg_status layers_open(struct layers *out, const struct sg_node *size, struct sg_error *err) {
    if (size->kind == SG_NODE_NUMBER) {
        const struct shape shape = squarest((size_t)size->number);
        cut(out, "flat", &shape, 1);
        return SG_OK;
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].name, size->string) == 0) {
            cut(out, models[i].name, models[i].shape, models[i].count);
            return SG_OK;
        }
    return sg_fail(err, SG_ERR_ARGUMENT, "unknown size '%s'", size->string);
}

void layers_cut(struct layers *out, const char *name, const size_t *offset, size_t count) {
    struct shape *shape = sg_malloc(count * sizeof *shape);
    for (size_t l = 0; l < count; l++)
        shape[l] = (struct shape)VECTOR(offset[l + 1] - offset[l]);
    cut(out, name, shape, count);
    free(shape);
}

void layers_close(struct layers *layers) {
    free(layers->offset);
    free(layers->rows);
    *layers = (struct layers){0};
}

/* ---- distributions ---- */

static double draw_gaussian(sg_rng *r) {
    return sg_rng_normal(r);
}

static double draw_laplace(sg_rng *r) {
    const double magnitude = -log1p(-sg_rng_uniform(r));
    return sg_rng_u32(r) & 1 ? magnitude : -magnitude;
}

/* Cubes of normals: the largest of 10^7 is 140 times the deviation. */
static double draw_heavy(sg_rng *r) {
    const double x = sg_rng_normal(r);
    return x * x * x;
}

static double draw_equal(sg_rng *r) {
    return sg_rng_u32(r) & 1 ? 0.75 : -0.75;
}

static const struct {
    const char *name;
    double (*draw)(sg_rng *r);
} distributions[] = {
    {"gaussian", draw_gaussian},      {"laplace", draw_laplace}, {"heavy-tailed", draw_heavy},
    {"one-hot-layer", draw_gaussian}, {"all-equal", draw_equal},
};

/* Blocks have their own streams, so that they can be drawn in parallel. */
static void draw_blocks(float *g, size_t n, double (*draw)(sg_rng *r), uint32_t worker) {
    enum { BLOCK_ELEMENTS = 1 << 16 };
    const size_t blocks = (n + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        sg_rng r = sg_rng_open(1 + worker, SG_RNG_TEST, 0, b);
        for (size_t i = b * BLOCK_ELEMENTS; i < n && i < (b + 1) * BLOCK_ELEMENTS; i++)
            g[i] = (float)draw(&r);
    }
}

/* The hot part: a layer in the middle, or the middle 64th of a flat vector. */
static void heat(float *g, const struct layers *layers) {
    const size_t l = layers->count / 2, n = layers->n;
    const size_t begin = layers->count > 1 ? layers->offset[l] : n / 2;
    const size_t end = layers->count > 1 ? layers->offset[l + 1] : n / 2 + (n + 63) / 64;
    for (size_t i = begin; i < end; i++)
        g[i] *= 1000;
}

void draw_gradient(float *g, const struct layers *layers, const char *distribution, uint32_t worker) {
    for (size_t d = 0; d < sizeof distributions / sizeof *distributions; d++)
        if (strcmp(distributions[d].name, distribution) == 0)
            draw_blocks(g, layers->n, distributions[d].draw, worker);
    if (strcmp(distribution, "one-hot-layer") == 0)
        heat(g, layers);
}
