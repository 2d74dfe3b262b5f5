/* Batches are functions of (seed, worker, step), whoever asks and in whatever order. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_images.h"
#include "sg_rng.h"
#include "tap.h"

enum { N = 50, WORKERS = 3, BATCH = 4, STEPS = 4 }; /* floor(floor(50 / 3) / 4) */

static struct sg_error err;
static uint8_t pixels[N * SG_IMAGE_VALUES], labels[N];
static const struct sg_images images = {.count = N, .classes = N, .pixel = pixels, .label = labels};

/* Where an image has the byte of its j-th float. */
static size_t byte_of(size_t j) {
    return j % SG_IMAGE_CHANNELS * SG_IMAGE_SIDE * SG_IMAGE_SIDE + j / SG_IMAGE_CHANNELS;
}

/* Image i has label i and random pixels. No OpenMP here, of which ThreadSanitizer knows nothing. */
static void make_images(void) {
    sg_rng rng = sg_rng_open(5, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < N * SG_IMAGE_VALUES; i++)
        pixels[i] = (uint8_t)sg_rng_u32(&rng);
    for (size_t i = 0; i < N; i++)
        labels[i] = (uint8_t)i;
}

static sg_batches *open_batches(size_t workers, size_t first, size_t count, uint64_t seed, enum sg_augmentation kind) {
    sg_batches *b = NULL;
    struct sg_batches_config config = {.images = &images,
                                       .workers = workers,
                                       .first = first,
                                       .count = count,
                                       .batch = BATCH,
                                       .seed = seed,
                                       .augmentation = kind,
                                       .scale = {{0, 0, 0}, {1, 1, 1}}};
    if (sg_batches_open(&b, &config, &err) != SG_OK) {
        printf("# %s\n", err.msg);
        exit(1);
    }
    return b;
}

/* With shards a worker has every image of its shard once an epoch, in another order each time, and no other. */
static void test_shards(void) {
    uint32_t shards[N], seen[3][STEPS * BATCH];
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++)
        shards[i] = (uint32_t)((i * 7) % N);
    const struct sg_batches_config config = {
        .images = &images, .shards = shards, .workers = WORKERS, .first = 1, .count = 2, .batch = BATCH, .seed = 7};
    sg_batches *b;
    if (sg_batches_open(&b, &config, &err) != SG_OK)
        exit(1);
    for (size_t w = 1; w < WORKERS; w++) {
        const size_t from = w * N / WORKERS, to = (w + 1) * N / WORKERS;
        for (uint64_t step = 0; step < 3 * STEPS; step++) {
            const float *pixel;
            const int64_t *label;
            sg_batches_get(b, w, step, &pixel, &label);
            for (size_t i = 0; i < BATCH; i++) {
                size_t mine = 0, twice = 0;
                const size_t at = (size_t)(step % STEPS) * BATCH + i;
                seen[step / STEPS][at] = (uint32_t)label[i];
                for (size_t j = from; j < to; j++)
                    mine += shards[j] == (uint32_t)label[i];
                for (size_t j = 0; j < at; j++)
                    twice += seen[step / STEPS][j] == (uint32_t)label[i];
                wrong += mine != 1 || twice != 0;
            }
        }
        wrong += memcmp(seen[0], seen[1], sizeof seen[0]) == 0 || memcmp(seen[1], seen[2], sizeof seen[0]) == 0;
    }
    sg_batches_close(b);
    ok(wrong == 0, "with shards, each worker has its own images, once an epoch");
}

/* Every worker's batches over three epochs against the permutations they are cut from. */
static void test_content(void) {
    sg_batches *b = open_batches(WORKERS, 0, WORKERS, 7, SG_AUGMENT_NONE);
    size_t wrong = 0;
    for (uint64_t step = 0; step < 3 * STEPS; step++) {
        uint32_t order[N];
        sg_rng rng = sg_rng_open(7, SG_RNG_SHARD, 0, step / STEPS);
        sg_rng_permutation(&rng, order, N);
        for (size_t w = 0; w < WORKERS; w++) {
            const float *pixel;
            const int64_t *label;
            sg_batches_get(b, w, step, &pixel, &label);
            for (size_t i = 0; i < BATCH; i++) {
                uint32_t index = order[w * (N / WORKERS) + (size_t)(step % STEPS) * BATCH + i];
                wrong += label[i] != (int64_t)index;
                for (size_t j = 0; j < SG_IMAGE_VALUES; j++)
                    wrong += !(pixel[i * SG_IMAGE_VALUES + j] ==
                               (float)images.pixel[index * SG_IMAGE_VALUES + byte_of(j)] / 255);
            }
        }
    }
    ok(wrong == 0, "worker i's batches follow each other in the i-th block of the epoch's permutation");
    sg_batches_close(b);
}

/* The batch itself, copied. */
struct copy {
    float pixel[BATCH * SG_IMAGE_VALUES];
    int64_t label[BATCH];
};

static void take(struct copy *out, sg_batches *b, size_t worker, uint64_t step) {
    const float *pixel;
    const int64_t *label;
    sg_batches_get(b, worker, step, &pixel, &label);
    memcpy(out->pixel, pixel, sizeof out->pixel);
    memcpy(out->label, label, sizeof out->label);
}

/* Bytes through the table are the floats, to the bit. */
static void test_bytes(void) {
    struct sg_batches_config config = {.images = &images,
                                       .workers = WORKERS,
                                       .count = WORKERS,
                                       .batch = BATCH,
                                       .seed = 7,
                                       .augmentation = SG_AUGMENT_CROP_FLIP_ROTATE,
                                       .scale = {{0.4914F, 0.4822F, 0.4465F}, {0.2023F, 0.1994F, 0.2010F}}};
    struct sg_image_table table;
    sg_batches *floats, *bytes;
    size_t wrong = 0;
    if (sg_batches_open(&floats, &config, &err) != SG_OK)
        exit(1);
    config.bytes = true;
    if (sg_batches_open(&bytes, &config, &err) != SG_OK)
        exit(1);
    sg_image_table_fill(&table, &config.scale);
    for (uint64_t step = 0; step < 2 * STEPS; step++) {
        const float *pixel;
        const uint8_t *byte;
        const int64_t *label, *same;
        sg_batches_get(floats, 1, step, &pixel, &label);
        sg_batches_get_bytes(bytes, 1, step, &byte, &same);
        wrong += memcmp(label, same, BATCH * sizeof *label) != 0;
        for (size_t i = 0; i < BATCH; i++)
            for (size_t j = 0; j < SG_IMAGE_VALUES; j++) {
                const uint8_t v = byte[i * SG_IMAGE_VALUES + byte_of(j)];
                wrong += pixel[i * SG_IMAGE_VALUES + j] != table.value[j % SG_IMAGE_CHANNELS][v];
            }
    }
    ok(wrong == 0, "batches of bytes are those of floats");
    sg_batches_close(floats);
    sg_batches_close(bytes);
}

static bool equal(const struct copy *a, const struct copy *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static void test_any_order(void) {
    static struct copy all[3 * STEPS][WORKERS], one;
    sg_batches *b = open_batches(WORKERS, 0, WORKERS, 7, SG_AUGMENT_CROP_FLIP_ROTATE);
    for (uint64_t step = 0; step < 3 * STEPS; step++)
        for (size_t w = 0; w < WORKERS; w++)
            take(&all[step][w], b, w, step);
    size_t wrong = 0;
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (int i = 0; i < 400; i++) {
        size_t step = sg_rng_below(&rng, 3 * STEPS), w = sg_rng_below(&rng, WORKERS);
        take(&one, b, w, step);
        wrong += !equal(&one, &all[step][w]);
        if (i % 2 && w + 1 < WORKERS) { /* the next, and the same again */
            take(&one, b, w + 1, step);
            wrong += !equal(&one, &all[step][w + 1]);
            take(&one, b, w + 1, step);
            wrong += !equal(&one, &all[step][w + 1]);
        }
    }
    ok(wrong == 0, "the same batches in any order");
    sg_batches_close(b);

    wrong = 0;
    for (size_t first = 0; first < WORKERS; first++) {
        b = open_batches(WORKERS, first, WORKERS - first, 7, SG_AUGMENT_CROP_FLIP_ROTATE);
        for (uint64_t step = 2; step < 3 * STEPS; step++)
            for (size_t w = first; w < WORKERS; w++) {
                take(&one, b, w, step);
                wrong += !equal(&one, &all[step][w]);
            }
        sg_batches_close(b);
    }
    ok(wrong == 0, "the same batches where a process hosts some of the workers and begins later");

    b = open_batches(WORKERS, 0, WORKERS, 8, SG_AUGMENT_CROP_FLIP_ROTATE);
    take(&one, b, 0, 0);
    ok(memcmp(one.label, all[0][0].label, sizeof one.label) != 0, "another seed, other batches");
    ok(memcmp(all[0][0].label, all[STEPS][0].label, sizeof one.label) != 0, "another epoch, other batches");
    sg_batches_close(b);

    /* one worker sees the images of the epoch in the same augmentation */
    b = open_batches(1, 0, 1, 7, SG_AUGMENT_CROP_FLIP_ROTATE);
    size_t compared = 0;
    wrong = 0;
    for (uint64_t step = 0; step < N / BATCH; step++) {
        take(&one, b, 0, step);
        for (size_t i = 0; i < BATCH * STEPS * WORKERS * BATCH; i++) {
            const struct copy *c = &all[i / BATCH % STEPS][i / BATCH / STEPS % WORKERS];
            size_t mine = i / BATCH / STEPS / WORKERS, theirs = i % BATCH;
            if (one.label[mine] == c->label[theirs]) {
                compared++;
                wrong += memcmp(one.pixel + mine * SG_IMAGE_VALUES, c->pixel + theirs * SG_IMAGE_VALUES,
                                SG_IMAGE_VALUES * sizeof(float)) != 0;
            }
        }
    }
    ok(wrong == 0 && compared > 30, "an image is augmented the same for any number of workers (%zu compared)",
       compared);
    sg_batches_close(b);
}

static void test_ends(void) {
    for (int i = 0; i < 50; i++) {
        sg_batches *b = open_batches(WORKERS, 0, WORKERS, 7, SG_AUGMENT_CROP_FLIP);
        const float *pixel;
        const int64_t *label;
        if (i % 3)
            sg_batches_get(b, 0, (uint64_t)i, &pixel, &label);
        sg_batches_close(b);
    }
    sg_batches_close(NULL);
    ok(1, "closed while batches are being prepared");
    sg_batches *b;
    struct sg_batches_config config = {.images = &images, .workers = 13, .count = 13, .batch = BATCH};
    ok(sg_batches_steps(N, 13, BATCH) == 0 && sg_batches_open(&b, &config, &err) == SG_ERR_ARGUMENT &&
           strstr(err.msg, "need 52 images or more, there are 50"),
       "too few images for a step");
    config.first = 1;
    ok(sg_batches_open(&b, &config, &err) == SG_ERR_ARGUMENT, "workers that are not there");
    ok(sg_batches_steps(N, WORKERS, BATCH) == STEPS && sg_batches_steps(50000, 8, 256) == 24, "steps of an epoch");
}

int main(void) {
    make_images();
    test_content();
    test_shards();
    test_bytes();
    test_any_order();
    test_ends();
    return tap_done();
}
