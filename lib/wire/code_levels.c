/* code_levels.c: numbers as multiples of a unit that a bucket of neighbours shares (QSGD, Alistarh et al., NeurIPS 2017).
 *
 * A bucket with the norm N is written as the unit N / s, rounded up to a float, and a level l of every number x: |x| is
 * l units, l = 0 .. s. With a = |x| / unit, l is floor(a), and one more with the probability a - floor(a), so that the
 * number that is read back is x in expectation. The norm is the Euclidean one (the definition) or the largest magnitude
 * (the authors' experiments).
 *
 * The layout is that of wire_buckets.h: the setting of a part is its s, the scalar of a bucket the unit (finite and >= 0,
 * as s units are). A field has w = ceil(log2(s + 1)) bits of level, and above them 1 if the number is below 0. A level 0
 * has no sign. */
#include <math.h>

#include "sg_debug.h"
#include "sg_half.h"
#include "wire_buckets.h"

enum { LEVELS, BUCKET, MAX_NORM, PARAMS };
enum { MOST_LEVELS = 32767 };

static unsigned bits_of(uint32_t levels) {
    return 33 - (unsigned)__builtin_clz(levels); /* floor(log2 s) + 1 = ceil(log2(s + 1)), and the sign */
}

static uint32_t levels_of(const struct sg_numbers *n, size_t part) {
    const double s = n->knob ? n->knob[part] : n->param[LEVELS];
    return s < 1 ? 1 : s > MOST_LEVELS ? MOST_LEVELS : (uint32_t)s;
}

static size_t bucket_of(const struct sg_numbers *n) {
    SG_ASSERT(n->param[BUCKET] >= 1);
    return (size_t)n->param[BUCKET];
}

static bool always(const struct sg_numbers *n) {
    (void)n;
    return true;
}

static void measure_unit(float *unit, const float *x, size_t count, size_t part, const struct sg_numbers *n) {
    const struct sg_exec exec = {.threads = 1};
    *unit = wire_unit(n->scale != NULL         ? (double)n->scale[part]
                      : n->param[MAX_NORM] > 0 ? (double)n->kernels->max_abs(&exec, x, count)
                                               : sqrt(n->kernels->sum_squares(&exec, x, count)),
                      levels_of(n, part));
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

static bool valid_levels(const uint32_t *field, size_t count, uint32_t levels) {
    const uint32_t magnitude = (1U << (bits_of(levels) - 1)) - 1;
    uint32_t wrong = 0;
    for (size_t j = 0; j < count; j++) {
        const uint32_t level = field[j] & magnitude;
        wrong |= (uint32_t)(level > levels) | ((uint32_t)(level == 0) & (uint32_t)(field[j] > 0));
    }
    return !wrong;
}

static const struct wire_buckets levels = {
    .layout =
        {.scalars = 1, .least_setting = 1, .most_setting = MOST_LEVELS, .bits = bits_of, .on_gpu = SG_BUCKETS_LEVELS},
    .draws = always,
    .bucket = bucket_of,
    .setting = levels_of,
    .measure = measure_unit,
    .write = write_levels,
    .read = read_levels,
    .valid_scalars = valid_unit,
    .valid_fields = valid_levels,
};
WIRE_BUCKETS_FUNCTIONS(levels, levels)

/* ---- on a GPU ---- */

static int levels_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    const struct sg_device_buckets b = {.by_largest = n->param[MAX_NORM] > 0};
    SG_ASSERT(n->scale == NULL);
    return wire_buckets_encode_on_gpu(&levels, data, n, &b, bytes, bits);
}

const struct sg_parameter sg_code_levels_params[PARAMS] = {
    [LEVELS] = {"levels", 1, MOST_LEVELS, 15, true, "s, the levels above 0: a number takes 1 + ceil(log2(s + 1)) bits"},
    [BUCKET] = {"bucket", 1, 4294967295.0, 512, true, "neighbours that share a norm of 32 bits"},
    [MAX_NORM] = {"max-norm", 0, 1, 0, true, "0: the Euclidean norm of a bucket; 1: its largest magnitude"},
};

const struct sg_code sg_code_levels = {
    .name = "levels",
    .summary = "multiples of a unit that a bucket shares, rounded at random without bias (QSGD; after topk: Qsparse)",
    .number = 2,
    .random = true,
    .params = sg_code_levels_params,
    .n_params = PARAMS,
    .most_bytes = levels_most,
    .encode = levels_encode,
    .decode = levels_decode,
    .valid = levels_valid,
    .layout = &levels.layout,
    .encode_on_gpu = levels_there,
    .read_on_gpu = wire_buckets_read_on_gpu,
};
