/* Augmentation and normalisation against augment_golden.py. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../golden/augment_golden.h"
#include "images_private.h"
#include "sg_shards.h"
#include "sg_file.h"
#include "tap.h"

enum { SIDE = SG_IMAGE_SIDE, PLANE = SIDE * SIDE };

static uint8_t image[SG_IMAGE_VALUES], out[SG_IMAGE_VALUES];

static void test_golden(void) {
    for (size_t i = 0; i < sizeof golden_augment / sizeof *golden_augment; i++) {
        char sha256[65];
        image_augment(out, image, golden_augment[i].rotate ? SG_AUGMENT_CROP_FLIP_ROTATE : SG_AUGMENT_CROP_FLIP,
                      golden_augment[i].seed, golden_augment[i].epoch, golden_augment[i].index);
        sg_sha256_of(out, sizeof out, sha256);
        ok(strcmp(sha256, golden_augment[i].sha256) == 0, "seed %llu epoch %llu image %zu%s",
           (unsigned long long)golden_augment[i].seed, (unsigned long long)golden_augment[i].epoch,
           golden_augment[i].index, golden_augment[i].rotate ? " rotated" : "");
    }
    image_augment(out, image, SG_AUGMENT_NONE, 1, 0, 0);
    ok(memcmp(out, image, sizeof out) == 0, "none leaves an image as it is");
    struct sg_image_table table;
    char sha256[65];
    sg_image_table_fill(&table, &(struct sg_image_scale){{0.4914f, 0.4822f, 0.4465f}, {0.2023f, 0.1994f, 0.2010f}});
    sg_sha256_of(&table, sizeof table, sha256);
    ok(strcmp(sha256, golden_table) == 0, "normalised bytes are NumPy's floats");
}

/* In the first channel a pixel says its column, in the second its row. */
static void test_shares(void) {
    enum { DRAWS = 81 * 400, AT = 16 * SIDE + 16 };
    static uint8_t place[SG_IMAGE_VALUES];
    size_t seen[9][9] = {{0}}, mirrored = 0, wrong = 0, least = DRAWS, most = 0;
    for (int i = 0; i < PLANE; i++) {
        place[i] = (uint8_t)(100 + i % SIDE);
        place[PLANE + i] = (uint8_t)(100 + i / SIDE);
    }
    for (size_t i = 0; i < DRAWS; i++) {
        image_augment(out, place, SG_AUGMENT_CROP_FLIP, 9, 2, i);
        bool mirror = out[AT] < out[AT - 1];
        int right = out[AT] - (mirror ? 115 : 116), down = out[PLANE + AT] - 116;
        if (right < -4 || right > 4 || down < -4 || down > 4)
            wrong++;
        else
            seen[down + 4][right + 4]++;
        mirrored += mirror;
    }
    for (int i = 0; i < 81; i++) {
        least = seen[i / 9][i % 9] < least ? seen[i / 9][i % 9] : least;
        most = seen[i / 9][i % 9] > most ? seen[i / 9][i % 9] : most;
    }
    /* 400 +- 5 sqrt(400) for each of 81 shifts, 16200 +- 5 sqrt(8100) for flips */
    ok(wrong == 0 && least >= 300 && most <= 500, "every shift comes up alike: %zu to %zu times, %zu other", least,
       most, wrong);
    ok(mirrored >= DRAWS / 2 - 450 && mirrored <= DRAWS / 2 + 450, "half are mirrored: %zu", mirrored);
}

static void test_floats(void) {
    static float pixels[2 * SG_IMAGE_VALUES];
    static uint8_t two[2 * SG_IMAGE_VALUES];
    uint8_t labels[] = {7, 200};
    int64_t label[2];
    struct sg_images images = {.count = 2, .classes = 256, .pixel = two, .label = labels};
    struct sg_image_scale scale = {{0.5f, 0.25f, 0}, {1, 2, 4}};
    memcpy(two + SG_IMAGE_VALUES, image, sizeof image);
    sg_images_convert(pixels, label, &images, 0, 2, &scale);
    size_t wrong = 0;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < PLANE; i++) {
            float expected = ((float)image[c * PLANE + i] / 255 - scale.mean[c]) / scale.deviation[c];
            wrong += !(pixels[SG_IMAGE_VALUES + 3 * i + c] == expected) ||
                     !(pixels[3 * i + c] == (0 - scale.mean[c]) / scale.deviation[c]);
        }
    ok(wrong == 0 && label[0] == 7 && label[1] == 200, "bytes become floats, the channels of a pixel side by side");
    ok(sg_shards_cut(10, 0, 3) == 0 && sg_shards_cut(10, 1, 3) == 3 && sg_shards_cut(10, 2, 3) == 6 &&
           sg_shards_cut(10, 3, 3) == 10,
       "parts of a test set");
}

int main(void) {
    for (int i = 0; i < SG_IMAGE_VALUES; i++) {
        int c = i / PLANE, y = i / SIDE % SIDE, x = i % SIDE;
        image[i] = (uint8_t)(37 * c + 11 * y + 5 * x + x * y + 1);
    }
    test_golden();
    test_shares();
    test_floats();
    return tap_done();
}
