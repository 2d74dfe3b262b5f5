/* image_generate.c: generates cifar-like images, which sg_images.h describes. Real parameters are rounded to integers
 * and all else is integer arithmetic, so every machine makes the same bytes. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>

#include "images_private.h"
#include "sg_debug.h"
#include "sg_rng.h"

enum { STREAM_CLASSES = 16, STREAM_IMAGES = 17 }; /* apart from those of matrix_generate.c */
enum { SIDE = SG_IMAGE_SIDE, PLANE = SIDE * SIDE };

/* Phases are 2^32 a turn; the cosine of a phase is looked up by its top bits, 2^14 for 1. */
enum { WAVE_BITS = 10, WAVE = 1 << WAVE_BITS };

struct texture {
    double direction;              /* of the wave, radians in [0, pi) */
    double frequency;              /* turns a pixel */
    int colour[SG_IMAGE_CHANNELS]; /* 256 = full swing of the channel */
};

struct shape {
    struct texture texture[256];
    int16_t wave[WAVE];
    uint8_t window[2 * SIDE]; /* by distance in pixels, 255 at the centre */
};

static const double pi = 3.14159265358979323846;

/* Draws the textures on a lattice that fills the unit cube evenly for any number of classes, so that no two are alike
 * by chance. Its steps are 1/t, 1/t^2, 1/t^3 with t^4 = t + 1. A colour and its opposite are the same wave half a turn
 * on, so half the circle of colours is enough. */
static void draw_textures(struct texture *texture, size_t classes, uint64_t seed) {
    static const double stride[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    double at[3];
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_CLASSES, 0);
    for (int i = 0; i < 3; i++)
        at[i] = sg_rng_uniform(&rng);
    for (size_t k = 0; k < classes; k++) {
        texture[k].direction = pi * at[0];
        texture[k].frequency = 0.08 * pow(3.2, at[1]);
        for (int c = 0; c < SG_IMAGE_CHANNELS; c++)
            texture[k].colour[c] = (int)lrint(256 * cos(pi * (at[2] + 2 * c / 3.0)));
        for (int i = 0; i < 3; i++)
            at[i] = fmod(at[i] + stride[i], 1);
    }
}

static void draw_shape(struct shape *s, size_t classes, uint64_t seed) {
    draw_textures(s->texture, classes, seed);
    for (int i = 0; i < WAVE; i++)
        s->wave[i] = (int16_t)lrint(16384 * cos(2 * pi * i / WAVE));
    for (int i = 0; i < 2 * SIDE; i++)
        s->window[i] = (uint8_t)lrint(255 * exp(-i * i / 128.0));
}

/* A wave in an image: its phase at the corner and what a pixel to the right and one down add. */
struct wave {
    uint32_t phase, right, down;
    int weight[SG_IMAGE_CHANNELS]; /* 256 = one level of the byte */
};

/* Uniform in [from, to). */
static double between(sg_rng *rng, double from, double to) {
    return from + (to - from) * sg_rng_uniform(rng);
}

static uint32_t turns(double x) {
    return (uint32_t)lrint(0x1p20 * x) << 12;
}

static struct wave draw_wave(sg_rng *rng, const struct texture *t, double direction, double frequency, int strength) {
    struct wave w = {.right = turns(frequency * cos(direction)), .down = turns(frequency * sin(direction))};
    w.phase = sg_rng_u32(rng);
    for (int c = 0; c < SG_IMAGE_CHANNELS; c++)
        w.weight[c] = strength * t->colour[c];
    return w;
}

static uint8_t level(int v) {
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void draw_pixels(uint8_t *pixel, const struct shape *s, const struct wave w[2], const uint8_t window[2][SIDE],
                        sg_rng *rng) {
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            int height[2];
            for (int i = 0; i < 2; i++)
                height[i] = s->wave[(w[i].phase + x * w[i].right + y * w[i].down) >> (32 - WAVE_BITS)];
            height[0] = height[0] * (window[0][x] * window[1][y] >> 8) >> 8;
            uint32_t noise = sg_rng_u32(rng);
            for (int c = 0; c < SG_IMAGE_CHANNELS; c++, noise >>= 8) {
                int signal = (height[0] * w[0].weight[c] + height[1] * w[1].weight[c]) >> 22;
                pixel[c * PLANE + (int)(y * SIDE + x)] = level(128 + signal + (((int)(noise & 255) - 128) >> 1));
            }
        }
}

static void draw_image(uint8_t *pixel, const struct shape *s, size_t classes, size_t label, sg_rng rng) {
    SG_ASSERT(label < classes);
    const struct texture *own = &s->texture[label], *other = &s->texture[sg_rng_below(&rng, classes)];
    uint8_t window[2][SIDE];
    for (int axis = 0; axis < 2; axis++) {
        int centre = 6 + (int)sg_rng_below(&rng, SIDE - 12);
        for (int i = 0; i < SIDE; i++)
            window[axis][i] = s->window[i < centre ? centre - i : i - centre];
    }
    double direction = own->direction + between(&rng, -0.2, 0.2);
    double frequency = own->frequency * between(&rng, 0.9, 1.1);
    struct wave w[2];
    w[0] = draw_wave(&rng, own, direction, frequency, 24 + (int)sg_rng_below(&rng, 48));
    direction = between(&rng, 0, pi);
    frequency = between(&rng, 0.05, 0.3);
    w[1] = draw_wave(&rng, other, direction, frequency, (int)sg_rng_below(&rng, 64));
    draw_pixels(pixel, s, w, window, &rng);
}

sg_status sg_images_generate(struct sg_images *out, size_t count, size_t classes, uint64_t seed, unsigned part,
                             struct sg_error *err) {
    struct sg_images images;
    struct shape s;
    if (classes < 1 || classes > 256)
        return sg_fail(err, SG_ERR_ARGUMENT, "generated images have 1 to 256 classes, not %zu", classes);
    sg_status status = images_allocate(&images, count, classes, err);
    if (status)
        return status;
    draw_shape(&s, classes, seed);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        images.label[i] = (uint8_t)(i % classes);
        draw_image(images.pixel + i * SG_IMAGE_VALUES, &s, classes, i % classes,
                   sg_rng_open(seed, SG_RNG_GENERATE, STREAM_IMAGES + part, i));
    }
    *out = images;
    return SG_OK;
}
