/* code_integers.c: numbers as integers of few bits, in a scale that a bucket of neighbours shares.
 *
 *     int-block   x is q units, |q| <= L = 2^(b-1) - 1. The unit is the largest magnitude / L, rounded up to a float.
 *     minmax      x is min + l (max - min) / (2^b - 1), l = 0 .. 2^b - 1.
 *
 * Both round to the nearest (int-block ties to even, minmax up), or with `stochastic` at random without bias.
 *
 * The layout is that of sg_wire_buckets.h, and the setting of a part is b. The scalars of a bucket are the unit, or the
 * least and the largest number. A field is q in two's complement, where -2^(b-1) does not occur, or l. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_wire_buckets.h"
#include "zoo_private.h"

enum { BITS, BUCKET, STOCHASTIC, PARAMS };
enum { MOST_BITS = 16 };

static bool at_random(const struct sg_numbers *n) {
    return n->param[STOCHASTIC] > 0;
}

/* ---- int-block ---- */

static uint32_t largest_of(uint32_t bits) {
    return (1U << (bits - 1)) - 1;
}

static void measure_unit(float *scalar, const float *x, size_t count, const struct wire_part *p,
                         const struct sg_numbers *n) {
    *scalar = wire_unit((double)n->kernels->max_abs(&(struct sg_exec){.threads = 1}, x, count), largest_of(p->setting));
}

static void write_integers(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                           const float *scalar, uint32_t bits, const uint32_t *draw) {
    const struct sg_multiples m = {.unit = (double)*scalar, .most = largest_of(bits), .bits = bits, .clamps = true};
    if (m.unit > 0)
        kernels->write_multiples(field, x, count, &m, draw);
    else
        memset(field, 0, count * sizeof *field);
}

static void read_integers(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                          const float *scalar, uint32_t bits) {
    kernels->read_multiples(out, field, count, *scalar, bits);
}

static bool valid_unit(const float *scalar, uint32_t bits) {
    return !signbit(*scalar) && isfinite(*scalar * (float)largest_of(bits));
}

static bool valid_integers(const uint32_t *field, size_t count, uint32_t bits) {
    uint32_t wrong = 0;
    for (size_t j = 0; j < count; j++)
        wrong |= field[j] == largest_of(bits) + 1;
    return !wrong;
}

const struct sg_parameter sg_code_int_block_params[PARAMS] = {
    [BITS] = {"bits", 2, MOST_BITS, 8, true, "bits b of a number"},
    [BUCKET] = {"bucket", 1, 4294967295.0, 256, true, "neighbours that share a unit of 32 bits"},
    [STOCHASTIC] = {"stochastic", 0, 1, 0, true, "0: rounds to the nearest; 1: at random, without bias"},
};

static const struct wire_buckets int_block = {
    .layout = {.scalars = 1, .least_setting = 2, .most_setting = MOST_BITS, .sign = WIRE_TWOS_COMPLEMENT},
    .draws = at_random,
    .bucket = wire_second_param,
    .measure = measure_unit,
    .write = write_integers,
    .read = read_integers,
    .valid_scalars = valid_unit,
    .valid_fields = valid_integers,
};
WIRE_BUCKETS_FUNCTIONS(int_block)

const struct sg_code sg_code_int_block = {
    .name = "int-block",
    .summary = "integers of b bits in a bucket's unit (int8, int4; ZeRO++, LoCo)",
    .number = 37,
    .random = true,
    .params = sg_code_int_block_params,
    .n_params = PARAMS,
    WIRE_BUCKETS_CODE(int_block),
};

/* ---- minmax ---- */

static void measure_ends(float *scalar, const float *x, size_t count, const struct wire_part *p,
                         const struct sg_numbers *n) {
    (void)p;
    n->kernels->loops->extremes(scalar, x, count);
}

static double step_of(const float *scalar, uint32_t bits) {
    return ((double)scalar[1] - (double)scalar[0]) / ((1U << bits) - 1);
}

static void write_places(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                         const float *scalar, uint32_t bits, const uint32_t *draw) {
    const double step = step_of(scalar, bits);
    if (step > 0)
        kernels->write_places(field, x, count, (double)scalar[0], step, (1U << bits) - 1, draw);
    else
        memset(field, 0, count * sizeof *field);
}

static void read_places(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                        const float *scalar, uint32_t bits) {
    kernels->read_places(out, field, count, (double)scalar[0], step_of(scalar, bits));
}

static bool valid_ends(const float *scalar, uint32_t bits) {
    (void)bits;
    return isfinite(scalar[0]) && isfinite(scalar[1]) && scalar[0] <= scalar[1];
}

const struct sg_parameter sg_code_minmax_params[PARAMS] = {
    [BITS] = {"bits", 2, MOST_BITS, 4, true, "bits b of a number"},
    [BUCKET] = {"bucket", 1, 4294967295.0, 512, true, "neighbours that share a least and largest number of 32 bits"},
    [STOCHASTIC] = {"stochastic", 0, 1, 0, true, "0: rounds to the nearest; 1: at random, without bias"},
};

static const struct wire_buckets minmax = {
    .layout = {.scalars = 2, .least_setting = 2, .most_setting = MOST_BITS, .sign = WIRE_UNSIGNED},
    .draws = at_random,
    .bucket = wire_second_param,
    .measure = measure_ends,
    .write = write_places,
    .read = read_places,
    .valid_scalars = valid_ends,
};
WIRE_BUCKETS_FUNCTIONS(minmax)

const struct sg_code sg_code_minmax = {
    .name = "minmax",
    .summary = "one of 2^b places between a bucket's least and largest number (CGX)",
    .number = 38,
    .random = true,
    .params = sg_code_minmax_params,
    .n_params = PARAMS,
    WIRE_BUCKETS_CODE(minmax),
};
