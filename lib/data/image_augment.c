/* image_augment.c: crop, flip and rotation of a training image, and its bytes as floats. */
/* SPDX-License-Identifier: MIT */
#include "images_private.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_rng.h"

enum { SIDE = SG_IMAGE_SIDE, PLANE = SIDE * SIDE, PADDING = 4, MOST_DEGREES = 15 };

void sg_image_table_fill(struct sg_image_table *table, const struct sg_image_scale *scale) {
    for (int c = 0; c < SG_IMAGE_CHANNELS; c++)
        for (int v = 0; v < 256; v++)
            table->value[c][v] = ((float)v / 255 - scale->mean[c]) / scale->deviation[c];
}

void image_convert(float *restrict out, const uint8_t *restrict pixel, const struct sg_image_table *table) {
    for (size_t c = 0; c < SG_IMAGE_CHANNELS; c++)
        for (size_t i = 0; i < PLANE; i++)
            out[i * SG_IMAGE_CHANNELS + c] = table->value[c][pixel[c * PLANE + i]];
}

/* out(y, x) <- pixel(y + down, x + right), 0 outside, then mirrored if `flip`. */
static void shift(uint8_t *restrict out, const uint8_t *restrict pixel, int down, int right, bool flip) {
    SG_ASSERT(down >= -PADDING && down <= PADDING && right >= -PADDING && right <= PADDING);
    const size_t width = (size_t)(SIDE - (right < 0 ? -right : right)), to = right < 0 ? (size_t)-right : 0,
                 from = right < 0 ? 0 : (size_t)right;
    memset(out, 0, SG_IMAGE_VALUES);
    for (int c = 0; c < SG_IMAGE_CHANNELS; c++)
        for (int y = 0; y < SIDE; y++) {
            uint8_t *row = out + c * PLANE + y * SIDE;
            if (y + down < 0 || y + down >= SIDE)
                continue;
            memcpy(row + to, pixel + c * PLANE + (y + down) * SIDE + from, width);
            for (int x = 0; flip && x < SIDE / 2; x++) {
                uint8_t left = row[x];
                row[x] = row[SIDE - 1 - x];
                row[SIDE - 1 - x] = left;
            }
        }
}

/* Counter-clockwise about the centre; each pixel is the one its centre falls into, 0 outside. Sine and cosine are
 * rounded to 2^-16 and the rest is integers, so that every machine finds the same pixels. In half pixels from the
 * centre, pixel x is at 2 x + 1 - SIDE. */
static void rotate(uint8_t *restrict out, const uint8_t *restrict pixel, double degrees) {
    SG_ASSERT(fabs(degrees) <= MOST_DEGREES);
    const double angle = degrees * (3.14159265358979323846 / 180);
    const int cosine = (int)lrint(65536 * cos(angle)), sine = (int)lrint(65536 * sin(angle));
    memset(out, 0, SG_IMAGE_VALUES);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const int u = 2 * x + 1 - SIDE, v = 2 * y + 1 - SIDE;
            const int column = (cosine * u - sine * v + SIDE * 65536) >> 17,
                      row = (sine * u + cosine * v + SIDE * 65536) >> 17;
            if ((unsigned)column < SIDE && (unsigned)row < SIDE)
                for (int c = 0; c < SG_IMAGE_CHANNELS; c++)
                    out[c * PLANE + y * SIDE + x] = pixel[c * PLANE + row * SIDE + column];
        }
}

void image_augment(uint8_t *out, const uint8_t *pixel, enum sg_augmentation kind, uint64_t seed, uint64_t epoch,
                   size_t index) {
    SG_ASSERT(out != pixel && epoch <= UINT32_MAX && index <= UINT32_MAX);
    if (kind == SG_AUGMENT_NONE) {
        memcpy(out, pixel, SG_IMAGE_VALUES);
        return;
    }
    sg_rng rng = sg_rng_open(seed, SG_RNG_AUGMENT, 0, epoch << 32 | index);
    int down = (int)sg_rng_below(&rng, 2 * PADDING + 1) - PADDING;
    int right = (int)sg_rng_below(&rng, 2 * PADDING + 1) - PADDING;
    bool flip = sg_rng_below(&rng, 2) == 1;
    if (kind == SG_AUGMENT_CROP_FLIP) {
        shift(out, pixel, down, right, flip);
    } else {
        uint8_t moved[SG_IMAGE_VALUES];
        shift(moved, pixel, down, right, flip);
        rotate(out, moved, MOST_DEGREES * (2 * sg_rng_uniform(&rng) - 1));
    }
}

void sg_images_convert(float *pixel, int64_t *label, const struct sg_images *images, size_t from, size_t count,
                       const struct sg_image_scale *scale) {
    SG_ASSERT(from <= images->count && count <= images->count - from);
    struct sg_image_table table;
    sg_image_table_fill(&table, scale);
    for (size_t i = 0; i < count; i++) {
        label[i] = images->label[from + i];
        image_convert(pixel + i * SG_IMAGE_VALUES, images->pixel + (from + i) * SG_IMAGE_VALUES, &table);
    }
}
