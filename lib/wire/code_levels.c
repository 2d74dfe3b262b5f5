/* code_levels.c: numbers rounded at random to levels of a norm that a bucket of neighbours shares, so that what is read
 * back is x in expectation. The norm is the Euclidean one (the definition) or the largest magnitude (the authors'
 * experiments).
 *
 *     levels               0 .. s units of N / s (QSGD, Alistarh et al., NeurIPS 2017). A bucket with the norm N is
 *                          written as its unit, rounded up to a float. With a = |x| / unit, the level is floor(a), and
 *                          one more with the probability a - floor(a).
 *     natural-dithering    0 or N 2^(k-s), k = 1 .. s (Horvath et al., MSML 2022). N is rounded up to a float, and |x|
 *                          / N to one of the two levels around it.
 *
 * The layout is that of sg_wire_buckets.h: the setting of a part is its s, the scalar of a bucket the unit (finite and
 * >= 0, as s units are) or the norm. A field has w = ceil(log2(s + 1)) bits of level or k, 0 for the number 0, and
 * above them 1 if the number is below 0. A level 0 has no sign. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_wire_buckets.h"

enum { LEVELS, BUCKET, MAX_NORM, PARAMS };
enum { MOST_LEVELS = 32767, MOST_POWERS = 127 };

static unsigned bits_of(uint32_t levels) {
    return 33 - (unsigned)__builtin_clz(levels); /* floor(log2 s) + 1 = ceil(log2(s + 1)), and the sign */
}

static double norm_of(const float *x, size_t count, size_t part, const struct sg_numbers *n) {
    const struct sg_exec exec = {.threads = 1};
    return n->scale                 ? (double)n->scale[part]
           : n->param[MAX_NORM] > 0 ? (double)n->kernels->max_abs(&exec, x, count)
                                    : sqrt(n->kernels->sum_squares(&exec, x, count));
}

static bool valid_fields(const uint32_t *field, size_t count, uint32_t levels) {
    const uint32_t magnitude = (1U << (bits_of(levels) - 1)) - 1;
    uint32_t wrong = 0;
    for (size_t j = 0; j < count; j++) {
        const int32_t level = (int32_t)(field[j] & magnitude);
        wrong |= (uint32_t)(level > (int32_t)levels) | (uint32_t)(field[j] == magnitude + 1);
    }
    return !wrong;
}

#define NORM_PARAMETERS                                                                                                \
    [BUCKET] = {"bucket", 1, 4294967295.0, 512, true, "neighbours that share a norm of 32 bits"},                      \
    [MAX_NORM] = {"max-norm", 0, 1, 0, true, "0: the Euclidean norm of a bucket; 1: its largest magnitude"}

/* ---- levels ---- */

static void measure_unit(float *unit, const float *x, size_t count, const struct wire_part *p,
                         const struct sg_numbers *n) {
    *unit = wire_unit(norm_of(x, count, p->number, n), p->setting);
}

static void write_levels(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                         const float *unit, uint32_t levels, const uint32_t *draw) {
    if (*unit > 0)
        kernels->write_levels(field, x, count, *unit, levels, bits_of(levels), draw);
    else
        memset(field, 0, count * sizeof *field);
}

static void read_levels(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                        const float *unit, uint32_t levels) {
    kernels->read_levels(out, field, count, *unit, bits_of(levels));
}

static bool valid_unit(const float *unit, uint32_t levels) {
    return !signbit(*unit) && isfinite(*unit * (float)levels);
}

static const struct wire_buckets levels = {
    .layout =
        {.scalars = 1, .least_setting = 1, .most_setting = MOST_LEVELS, .bits = bits_of, .on_gpu = SG_BUCKETS_LEVELS},
    .draws = wire_draws_always,
    .bucket = wire_second_param,
    .measure = measure_unit,
    .write = write_levels,
    .read = read_levels,
    .valid_scalars = valid_unit,
    .valid_fields = valid_fields,
};
WIRE_BUCKETS_FUNCTIONS(levels)
WIRE_BUCKETS_GPU_FUNCTION(levels, n->param[MAX_NORM] > 0)

const struct sg_parameter sg_code_levels_params[PARAMS] = {
    [LEVELS] = {"levels", 1, MOST_LEVELS, 15, true, "levels s above 0: a number has 1 + ceil(log2(s + 1)) bits"},
    NORM_PARAMETERS,
};

const struct sg_code sg_code_levels = {
    .name = "levels",
    .summary = "multiples of a bucket's unit, rounded at random without bias (QSGD; after topk: Qsparse)",
    .number = 2,
    .random = true,
    .params = sg_code_levels_params,
    .n_params = PARAMS,
    WIRE_BUCKETS_CODE(levels),
    WIRE_BUCKETS_GPU_CODE(levels),
};

/* ---- natural-dithering ---- */

static void measure_norm(float *norm, const float *x, size_t count, const struct wire_part *p,
                         const struct sg_numbers *n) {
    *norm = wire_unit(norm_of(x, count, p->number, n), 1);
}

static void write_powers(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                         const float *norm, uint32_t powers, const uint32_t *draw) {
    if (*norm > 0)
        kernels->write_parts(field, x, count, *norm, powers, bits_of(powers), draw);
    else
        memset(field, 0, count * sizeof *field);
}

static void read_powers(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                        const float *norm, uint32_t powers) {
    kernels->read_parts(out, field, count, *norm, powers, bits_of(powers));
}

static const struct wire_buckets dithering = {
    .layout =
        {.scalars = 1, .least_setting = 1, .most_setting = MOST_POWERS, .bits = bits_of, .on_gpu = SG_BUCKETS_PARTS},
    .draws = wire_draws_always,
    .bucket = wire_second_param,
    .measure = measure_norm,
    .write = write_powers,
    .read = read_powers,
    .valid_fields = valid_fields,
};
WIRE_BUCKETS_FUNCTIONS(dithering)
WIRE_BUCKETS_GPU_FUNCTION(dithering, n->param[MAX_NORM] > 0)

const struct sg_parameter sg_code_dithering_params[PARAMS] = {
    [LEVELS] = {"levels", 1, MOST_POWERS, 7, true, "powers of two s: a number has 1 + ceil(log2(s + 1)) bits"},
    NORM_PARAMETERS,
};

const struct sg_code sg_code_dithering = {
    .name = "natural-dithering",
    .summary = "powers of two of a bucket's norm, at random without bias",
    .number = 36,
    .random = true,
    .params = sg_code_dithering_params,
    .n_params = PARAMS,
    WIRE_BUCKETS_CODE(dithering),
    WIRE_BUCKETS_GPU_CODE(dithering),
};
