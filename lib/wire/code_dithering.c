/* code_dithering.c: numbers rounded at random to the norm of their bucket times a power of two (natural dithering, Horváth
 * et al., MSML 2022).
 *
 * With the norm N and s levels a number is 0 or plus or minus N 2^(k-s), k = 1 .. s. With a = |x| / N, a is rounded to one
 * of the two levels around it, so that what is read back is x in expectation. The norm is the Euclidean one or the largest
 * magnitude, rounded up to a float.
 *
 * The layout is that of wire_buckets.h. The setting of a part is its s, the scalar of a bucket its norm. A field has
 * ceil(log2(s + 1)) bits for k, 0 for the number 0, and above them 1 if the number is below 0. The number 0 has no sign. */
#include <math.h>

#include "sg_half.h"
#include "wire_buckets.h"

enum { LEVELS, BUCKET, MAX_NORM, PARAMS };
enum { MOST_LEVELS = 127 };

static unsigned bits_of(uint32_t levels) {
    return 33 - (unsigned)__builtin_clz(levels);
}

static uint32_t levels_of(const struct sg_numbers *n, size_t part) {
    const double s = n->knob ? n->knob[part] : n->param[LEVELS];
    return s < 1 ? 1 : s > MOST_LEVELS ? MOST_LEVELS : (uint32_t)s;
}

static size_t bucket_of(const struct sg_numbers *n) {
    return (size_t)n->param[BUCKET];
}

static void measure(float *scalar, const float *x, size_t count, size_t part, const struct sg_numbers *n) {
    const struct sg_exec exec = {.threads = 1};
    (void)part;
    *scalar = wire_unit(n->param[MAX_NORM] > 0 ? (double)n->kernels->max_abs(&exec, x, count)
                                               : sqrt(n->kernels->sum_squares(&exec, x, count)),
                        1);
}

static bool always(const struct sg_numbers *n) {
    (void)n;
    return true;
}

static void write_levels(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                         const float *scalar, uint32_t levels, const uint32_t *draw) {
    if (*scalar > 0)
        kernels->write_parts(field, x, count, *scalar, levels, bits_of(levels), draw);
    else
        memset(field, 0, count * sizeof *field);
}

static void read_levels(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                        const float *scalar, uint32_t levels) {
    kernels->read_parts(out, field, count, *scalar, levels, bits_of(levels));
}

static bool valid_norm(const float *scalar, uint32_t levels) {
    (void)levels;
    return isfinite(*scalar) && !signbit(*scalar);
}

static bool valid_fields(const uint32_t *field, size_t count, uint32_t levels) {
    const unsigned sign_at = bits_of(levels) - 1;
    uint32_t wrong = 0;
    for (size_t j = 0; j < count; j++) {
        const uint32_t level = field[j] & ((1U << sign_at) - 1);
        wrong |= level > levels || (level == 0 && field[j] > 0);
    }
    return !wrong;
}

static const struct wire_buckets dithering = {
    .layout =
        {.scalars = 1, .least_setting = 1, .most_setting = MOST_LEVELS, .bits = bits_of, .on_gpu = SG_BUCKETS_PARTS},
    .draws = always,
    .bucket = bucket_of,
    .setting = levels_of,
    .measure = measure,
    .write = write_levels,
    .read = read_levels,
    .valid_scalars = valid_norm,
    .valid_fields = valid_fields,
};
WIRE_BUCKETS_FUNCTIONS(dithering, dithering)

static int dithering_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    const struct sg_device_buckets b = {.by_largest = n->param[MAX_NORM] > 0};
    return wire_buckets_encode_on_gpu(&dithering, data, n, &b, bytes, bits);
}

const struct sg_parameter sg_code_dithering_params[PARAMS] = {
    [LEVELS] = {"levels", 1, MOST_LEVELS, 7, true, "s, the powers of two: a number takes 1 + ceil(log2(s + 1)) bits"},
    [BUCKET] = {"bucket", 1, 4294967295.0, 512, true, "neighbours that share a norm of 32 bits"},
    [MAX_NORM] = {"max-norm", 0, 1, 0, true, "0: the Euclidean norm of a bucket; 1: its largest magnitude"},
};

const struct sg_code sg_code_dithering = {
    .name = "natural-dithering",
    .summary = "powers of two of a norm that a bucket shares, rounded at random without bias",
    .number = 36,
    .random = true,
    .params = sg_code_dithering_params,
    .n_params = PARAMS,
    .most_bytes = dithering_most,
    .encode = dithering_encode,
    .decode = dithering_decode,
    .valid = dithering_valid,
    .layout = &dithering.layout,
    .encode_on_gpu = dithering_there,
    .read_on_gpu = wire_buckets_read_on_gpu,
};
