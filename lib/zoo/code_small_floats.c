/* code_small_floats.c: numbers as floats of 8 or 4 bits in a scale that neighbours share.
 *
 *     fp8     E4M3 (Micikevicius et al., arXiv 2209.05433) in the unit of a layer, the least float u for which no
 *             |x| is above 448 u: 448 is the largest E4M3. Stored is x / u.
 *     mxfp8   MXFP8 E4M3 of OCP's Microscaling Formats 1.0: blocks of 32 numbers in a power of two, which is
 *             2^(floor(log2 m) - 8) for the largest magnitude m of the block, and at least 2^-127. Beyond 448 is 448.
 *     nvfp4   NVFP4 (NVIDIA, arXiv 2509.25149): E2M1, whose largest is 6, in blocks of 16 with a scale of E4M3. A layer
 *             has S = 6 * 448 / its largest magnitude, a block b = the E4M3 of m / 6 * S, and stored is
 *             x * (1 / (b * (1 / S))), where every operation is rounded to a float.
 *
 * All round to the nearest, ties to even, and write the largest number for those beyond. Infinity and NaN do not occur.
 *
 * The layout is that of sg_wire_buckets.h. A field has the exponent's bits above those of the mantissa, and the sign
 * above both. The scalar of fp8 is u, that of mxfp8 the power of two plus 127 (E8M0), that of nvfp4 the byte of b. The
 * setting of fp8 and mxfp8 is 8, and that of nvfp4 the bits of the float S, which is 1 if all numbers are 0. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "sg_half.h"
#include "sg_wire_buckets.h"
#include "zoo_private.h"

enum { BITS = 8, MX_BLOCK = 32, NV_BLOCK = 16, LARGEST_E4M3 = 448, LARGEST_E2M1 = 6 };
enum { MX_LARGEST_EXPONENT = 8, MX_LARGEST = 254 - MX_LARGEST_EXPONENT }; /* as E8M0 */
enum { NV_LEAST_SCALE = 0x05280001, NV_LARGEST_SCALE = 0x7f7fffff };      /* 2688 / FLT_MAX and FLT_MAX as bits */

struct small_float {
    unsigned bits, mantissa;
    int least_exponent; /* of the smallest normal number */
    uint32_t largest;   /* the field of the largest number */
};
static const struct small_float e4m3 = {8, 3, -6, 0x7e}, e2m1 = {4, 1, 0, 0x7};

static uint32_t field_of(const struct small_float *f, float x) {
    const uint32_t bits = sg_float_bits(x), size = bits & 0x7fffffff, shift = 23 - f->mantissa;
    const uint32_t least = (uint32_t)(f->least_exponent + 127), sum = (least + shift) << 23;
    const uint32_t normal =
        ((size + (1U << (shift - 1)) - 1 + (size >> shift & 1)) >> shift) - ((least - 1) << f->mantissa);
    /* A float of this exponent has the last bit of a subnormal number, so the sum rounds to it. */
    const uint32_t tiny = sg_float_bits(fabsf(x) + sg_float_of_bits(sum)) - sum;
    const uint32_t field = size < least << 23 ? tiny : normal;
    return (field < f->largest ? field : f->largest) | bits >> 31 << (f->bits - 1);
}

static float number_of(const struct small_float *f, uint32_t field) {
    const uint32_t sign = 1U << (f->bits - 1);
    const float size = sg_float_of_bits((field & (sign - 1)) << (23 - f->mantissa)) *
                       sg_float_of_bits((uint32_t)(f->least_exponent + 253) << 23);
    return field & sign ? -size : size;
}

static void write_scaled(const struct small_float *f, uint32_t *field, const float *x, size_t count, float by) {
    for (size_t j = 0; j < count; j++)
        field[j] = field_of(f, x[j] * by);
}

static void read_scaled(const struct small_float *f, float *out, const uint32_t *field, size_t count, float unit) {
    for (size_t j = 0; j < count; j++)
        out[j] = number_of(f, field[j]) * unit;
}

/* No number of 8 bits is NaN. */
static bool valid_e4m3(const uint32_t *field, size_t count, uint32_t setting) {
    uint32_t wrong = 0;
    (void)setting;
    for (size_t j = 0; j < count; j++)
        wrong |= (field[j] & 0x7f) > e4m3.largest;
    return !wrong;
}

static float largest_of(const struct sg_numbers *n, const float *x, size_t count, int threads) {
    return n->kernels->max_abs(&(struct sg_exec){.threads = threads}, x, count);
}

/* ---- fp8 ---- */

static void measure_unit(float *scalar, const float *x, size_t count, const struct wire_part *p,
                         const struct sg_numbers *n) {
    (void)p;
    *scalar = wire_unit((double)largest_of(n, x, count, 1), LARGEST_E4M3);
}

static void write_fp8(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                      const float *scalar, uint32_t setting, const uint32_t *draw) {
    (void)kernels, (void)setting, (void)draw;
    for (size_t j = 0; j < count; j++)
        field[j] = *scalar > 0 ? field_of(&e4m3, x[j] / *scalar) : 0;
}

static void read_fp8(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                     const float *scalar, uint32_t setting) {
    (void)kernels, (void)setting;
    read_scaled(&e4m3, out, field, count, *scalar);
}

static bool valid_unit(const float *scalar, uint32_t setting) {
    (void)setting;
    return !signbit(*scalar) && isfinite(*scalar * LARGEST_E4M3);
}

static const struct wire_buckets fp8 = {
    .layout = {.scalars = 1, .least_setting = BITS, .most_setting = BITS},
    .measure = measure_unit,
    .write = write_fp8,
    .read = read_fp8,
    .valid_scalars = valid_unit,
    .valid_fields = valid_e4m3,
};
WIRE_BUCKETS_FUNCTIONS(fp8)

const struct sg_code sg_code_fp8 = {
    .name = "fp8",
    .summary = "8 bits: a float E4M3 in the layer's unit",
    .number = 42,
    WIRE_BUCKETS_CODE(fp8),
};

/* ---- mxfp8 ---- */

static size_t mx_block(const struct sg_numbers *n) {
    (void)n;
    return MX_BLOCK;
}

static void measure_power(float *scalar, const float *x, size_t count, const struct wire_part *p,
                          const struct sg_numbers *n) {
    (void)p;
    const uint32_t exponent = sg_float_bits(largest_of(n, x, count, 1)) >> 23;
    *scalar = (float)(exponent > MX_LARGEST_EXPONENT ? exponent - MX_LARGEST_EXPONENT : 0);
}

static void write_mxfp8(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                        const float *scalar, uint32_t setting, const uint32_t *draw) {
    (void)kernels, (void)setting, (void)draw;
    write_scaled(&e4m3, field, x, count, ldexpf(1, 127 - (int)*scalar));
}

static void read_mxfp8(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                       const float *scalar, uint32_t setting) {
    (void)kernels, (void)setting;
    read_scaled(&e4m3, out, field, count, ldexpf(1, (int)*scalar - 127));
}

static bool valid_power(const float *scalar, uint32_t setting) {
    (void)setting;
    return *scalar <= MX_LARGEST;
}

static const struct wire_buckets mxfp8 = {
    .layout = {.scalars = 1, .byte_scalars = true, .least_setting = BITS, .most_setting = BITS},
    .bucket = mx_block,
    .measure = measure_power,
    .write = write_mxfp8,
    .read = read_mxfp8,
    .valid_scalars = valid_power,
    .valid_fields = valid_e4m3,
};
WIRE_BUCKETS_FUNCTIONS(mxfp8)

const struct sg_code sg_code_mxfp8 = {
    .name = "mxfp8",
    .summary = "8 bits: a float E4M3, blocks of 32 in a power of two (OCP MX)",
    .number = 43,
    WIRE_BUCKETS_CODE(mxfp8),
};

/* ---- nvfp4 ---- */

static size_t nv_block(const struct sg_numbers *n) {
    (void)n;
    return NV_BLOCK;
}

static unsigned nv_bits(uint32_t setting) {
    (void)setting;
    return e2m1.bits;
}

static uint32_t nv_scale(const struct sg_numbers *n, size_t part, size_t first) {
    const float largest = largest_of(n, n->value + first, n->part[part], n->threads);
    return sg_float_bits(largest > 0 ? fminf(LARGEST_E2M1 * LARGEST_E4M3 / largest, FLT_MAX) : 1);
}

static void measure_block(float *scalar, const float *x, size_t count, const struct wire_part *p,
                          const struct sg_numbers *n) {
    *scalar = (float)field_of(&e4m3, largest_of(n, x, count, 1) / LARGEST_E2M1 * sg_float_of_bits(p->setting));
}

static float nv_unit(float scalar, uint32_t setting) {
    return number_of(&e4m3, (uint32_t)scalar) * (1 / sg_float_of_bits(setting));
}

static void write_nvfp4(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                        const float *scalar, uint32_t setting, const uint32_t *draw) {
    (void)kernels, (void)draw;
    write_scaled(&e2m1, field, x, count, *scalar > 0 ? fminf(1 / nv_unit(*scalar, setting), FLT_MAX) : 0);
}

static void read_nvfp4(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                       const float *scalar, uint32_t setting) {
    (void)kernels;
    read_scaled(&e2m1, out, field, count, nv_unit(*scalar, setting));
}

static bool valid_block(const float *scalar, uint32_t setting) {
    (void)setting;
    return *scalar <= (float)e4m3.largest;
}

static const struct wire_buckets nvfp4 = {
    .layout = {.scalars = 1,
               .byte_scalars = true,
               .least_setting = NV_LEAST_SCALE,
               .most_setting = NV_LARGEST_SCALE,
               .bits = nv_bits},
    .bucket = nv_block,
    .setting = nv_scale,
    .measure = measure_block,
    .write = write_nvfp4,
    .read = read_nvfp4,
    .valid_scalars = valid_block,
};
WIRE_BUCKETS_FUNCTIONS(nvfp4)

/* The scale of a layer is a setting, which costs nothing elsewhere. */
static size_t encode_nvfp4(void *data, const struct sg_numbers *n, double *bits) {
    const size_t bytes = nvfp4_encode(data, n, bits);
    for (size_t i = 0; i < n->parts; i++)
        *bits += n->part[i] > 0 ? 32 : 0;
    return bytes;
}

const struct sg_code sg_code_nvfp4 = {
    .name = "nvfp4",
    .summary = "4 bits: a float E2M1, blocks of 16 in a scale E4M3, and the layer's scale (NVFP4)",
    .number = 44,
    .most_bytes = nvfp4_most,
    .encode = encode_nvfp4,
    .decode = nvfp4_decode,
    .cut = nvfp4_cut,
    .valid = nvfp4_valid,
    .layout = &nvfp4.layout,
};
