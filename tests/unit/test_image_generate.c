/* cifar-like: the same bytes everywhere, and classes that are textures rather than places. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_file.h"
#include "sg_images.h"
#include "sg_threads.h"
#include "tap.h"

static struct sg_error err;

static const char golden[] = "21b3360fd7f5b78a8ea495fb800f5cb31ff5ada15e67678d98820a6194d8a909";

static const char *checksum(size_t count, size_t classes, uint64_t seed, unsigned part, int threads) {
    static char sha256[4][65];
    static int next;
    char *out = sha256[next++ % 4];
    struct sg_images images;
    omp_set_num_threads(threads);
    if (sg_images_generate(&images, count, classes, seed, part, &err) != SG_OK)
        return err.msg;
    sg_sha256_of(images.pixel, count * SG_IMAGE_VALUES, out);
    sg_images_free(&images);
    return out;
}

static void test_bytes(void) {
    const char *one = checksum(64, 10, 0, 0, 1);
    ok(strcmp(one, checksum(64, 10, 0, 0, 3)) == 0, "any number of threads makes the same bytes");
    ok(strcmp(one, checksum(64, 10, 1, 0, 1)) != 0 && strcmp(one, checksum(64, 10, 0, 1, 1)) != 0,
       "another seed or part makes others");
    ok(strcmp(one, golden) == 0, "revision %d: %s", SG_IMAGE_GENERATOR_REVISION, one);
    struct sg_images few, more;
    if (!ok(sg_images_generate(&few, 20, 10, 0, 0, &err) == SG_OK &&
                sg_images_generate(&more, 64, 10, 0, 0, &err) == SG_OK,
            "few and more"))
        return;
    ok(memcmp(few.pixel, more.pixel, 20 * SG_IMAGE_VALUES) == 0 && memcmp(few.label, more.label, 20) == 0,
       "more images begin with the fewer");
    sg_images_free(&few);
    sg_images_free(&more);
    ok(sg_images_generate(&few, 20, 0, 0, 0, &err) == SG_ERR_ARGUMENT &&
           sg_images_generate(&few, 20, 257, 0, 0, &err) == SG_ERR_ARGUMENT,
       "1 to 256 classes");
}

enum { CLASSES = 10, TRAIN = 2000, TEST = 500, LAGS = 28, FEATURES = LAGS * 6 };

/* Products of the image with itself moved, over all pairs of channels: they do not know where a texture is. */
static void correlations(double out[FEATURES], const uint8_t *pixel) {
    enum { SIDE = SG_IMAGE_SIDE, PLANE = SIDE * SIDE };
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {0, 2}};
    for (int f = 0; f < FEATURES; f++) {
        const int down = f % LAGS / 7, right = f % 7 - 3;
        const uint8_t *a = pixel + pair[f / LAGS][0] * PLANE, *b = pixel + pair[f / LAGS][1] * PLANE;
        int sum = 0;
        for (int y = 0; y < SIDE - 3; y++)
            for (int x = 3; x < SIDE - 3; x++)
                sum += (a[y * SIDE + x] - 128) * (b[(y + down) * SIDE + x + right] - 128);
        out[f] = sum;
    }
}

/* Share of the test images whose nearest class mean, every feature in units of its deviation, is their own. */
static double nearest_mean(const struct sg_images *train, const struct sg_images *test, const double *train_feature,
                           const double *test_feature, size_t n) {
    double *mean = calloc(CLASSES * n, sizeof *mean), *square = calloc(n, sizeof *square),
           *all = calloc(n, sizeof *all);
    size_t right = 0;
    for (size_t i = 0; mean && square && all && i < TRAIN; i++)
        for (size_t j = 0; j < n; j++) {
            double v = train_feature[i * n + j];
            mean[train->label[i] * n + j] += v * CLASSES / TRAIN;
            all[j] += v / TRAIN;
            square[j] += v * v / TRAIN;
        }
    for (size_t i = 0; mean && square && all && i < TEST; i++) {
        size_t best = 0;
        double least = INFINITY;
        for (size_t k = 0; k < CLASSES; k++) {
            double distance = 0;
            for (size_t j = 0; j < n; j++)
                distance += pow(test_feature[i * n + j] - mean[k * n + j], 2) / (square[j] - all[j] * all[j]);
            if (distance < least) {
                least = distance;
                best = k;
            }
        }
        right += best == test->label[i];
    }
    free(mean);
    free(square);
    free(all);
    return (double)right / TEST;
}

static double *features(const struct sg_images *images, size_t n) {
    double *out = malloc(images->count * n * sizeof *out);
    for (size_t i = 0; out && i < images->count; i++)
        if (n == FEATURES)
            correlations(out + i * n, images->pixel + i * SG_IMAGE_VALUES);
        else
            for (size_t j = 0; j < n; j++)
                out[i * n + j] = images->pixel[i * SG_IMAGE_VALUES + j];
    return out;
}

static void test_classes(void) {
    struct sg_images train, test;
    if (!ok(sg_images_generate(&train, TRAIN, CLASSES, 0, 0, &err) == SG_OK &&
                sg_images_generate(&test, TEST, CLASSES, 0, 1, &err) == SG_OK,
            "training and test images"))
        return;
    double share[2];
    for (int kind = 0; kind < 2; kind++) {
        size_t n = kind ? FEATURES : SG_IMAGE_VALUES;
        double *a = features(&train, n), *b = features(&test, n);
        share[kind] = a && b ? nearest_mean(&train, &test, a, b, n) : NAN;
        free(a);
        free(b);
    }
    ok(share[0] <= 0.3, "the nearest mean image tells few classes: %.3f", share[0]);
    ok(share[1] >= 0.45, "the nearest mean texture tells many more: %.3f", share[1]);
    sg_images_free(&train);
    sg_images_free(&test);
}

int main(void) {
    test_bytes();
    test_classes();
    return tap_done();
}
