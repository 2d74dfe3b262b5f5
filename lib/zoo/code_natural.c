/* code_natural.c: numbers rounded at random to one of the two powers of two around them (natural compression, Horváth
 * et al., MSML 2022).
 *
 * |x| = 2^a (1 + f) becomes 2^(a+1) with the probability f, else 2^a, so that what is read back is x in expectation. In
 * the bits of a float, f is the mantissa: the exponent grows by one if the mantissa is above a random number of as many
 * bits. This holds below 2^-126 too, where it rounds to 0 or 2^-126. From 2^127 on nothing is rounded up.
 *
 * The layout is that of sg_wire_buckets.h without scalars, and the setting is the bits of a field. `natural` writes the
 * exponent's 8 bits, 0 for the number 0, and the sign above them. `natural-8` is GRACE's variant with 7 bits for
 * exponents: x is 0 below 2^-108, and at most 2^18. The number 0 has no sign. */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_buckets.h"
#include "zoo_private.h"

enum { WHOLE = 9, SHORT = 8, LEAST = 18, MOST = 254 }; /* exponents as floats have them, 127 more than those of 2 */

static uint32_t lowest_of(uint32_t bits) {
    return bits == SHORT ? LEAST : 0;
}

static void write_powers(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                         const float *scalar, uint32_t bits, const uint32_t *draw) {
    (void)scalar;
    kernels->write_powers(field, x, count, lowest_of(bits), bits == SHORT ? LEAST + 127 : MOST, bits, draw);
}

static void read_powers(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                        const float *scalar, uint32_t bits) {
    (void)scalar;
    kernels->read_powers(out, field, count, lowest_of(bits), bits);
}

static bool valid_powers(const uint32_t *field, size_t count, uint32_t bits) {
    const uint32_t mask = (1U << (bits - 1)) - 1;
    uint32_t wrong = 0;
    for (size_t j = 0; j < count; j++)
        wrong |= (field[j] & mask) > MOST || field[j] == mask + 1;
    return !wrong;
}

static const struct wire_buckets natural = {
    .layout = {.least_setting = WHOLE, .most_setting = WHOLE, .on_gpu = SG_BUCKETS_POWERS},
    .draws = wire_draws_always,
    .write = write_powers,
    .read = read_powers,
    .valid_fields = valid_powers,
};
WIRE_BUCKETS_FUNCTIONS(natural)
WIRE_BUCKETS_GPU_FUNCTION(natural, false)

const struct sg_code sg_code_natural = {
    .name = "natural",
    .summary = "9 bits: a power of two, rounded at random without bias",
    .number = 32,
    .random = true,
    WIRE_BUCKETS_CODE(natural),
    WIRE_BUCKETS_GPU_CODE(natural),
};

static const struct wire_buckets natural_8 = {
    .layout = {.least_setting = SHORT, .most_setting = SHORT, .on_gpu = SG_BUCKETS_POWERS},
    .draws = wire_draws_always,
    .write = write_powers,
    .read = read_powers,
    .valid_fields = valid_powers,
};
WIRE_BUCKETS_FUNCTIONS(natural_8)
WIRE_BUCKETS_GPU_FUNCTION(natural_8, false)

const struct sg_code sg_code_natural_8 = {
    .name = "natural-8",
    .summary = "natural in 8 bits, as in GRACE",
    .number = 33,
    .random = true,
    WIRE_BUCKETS_CODE(natural_8),
    WIRE_BUCKETS_GPU_CODE(natural_8),
};
