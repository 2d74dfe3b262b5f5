/* code_float.c: numbers written as floats: fp32 as they are, fp16 and bf16 rounded to 16 bits (sg_half.h). */
/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <string.h>

#include "sg_device_codes.h"
#include "sg_half.h"
#include "sg_wire_bits.h"

/* ---- on a GPU, which has the host's order of bytes ---- */

/* The two functions of a code of numbers of this type, and how a struct sg_code has them. */
#define ON_GPU(name, type, code)                                                                                       \
    static int name##_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {                     \
        *bytes = sizeof(type) * n->count;                                                                              \
        *bits = 8 * (double)*bytes;                                                                                    \
        return n->kernels->codes->write_plain(n->exec, data, n->value, n->count, code);                                \
    }                                                                                                                  \
    static void read_##name##_there(const struct sg_sink *to, const struct sg_message *m,                              \
                                    const struct sg_kernels *kernels, const struct sg_exec *exec) {                    \
        kernels->codes->read_plain(exec, to, m->data, m->count, code);                                                 \
    }
#define THERE(name) .encode_on_gpu = name##_there, .read_on_gpu = read_##name##_there

/* ---- fp32 ---- */

static size_t float_bytes(const struct sg_numbers *numbers) {
    return 4 * numbers->count;
}

static size_t encode_floats(void *data, const struct sg_numbers *numbers, double *bits) {
    SG_ASSERT(sg_all_finite(numbers->value, numbers->count));
    for (size_t j = 0; j < numbers->count; j++)
        wire_store32((uint8_t *)data + 4 * j, sg_float_bits(numbers->value[j]));
    *bits = 32.0 * (double)numbers->count;
    return 4 * numbers->count;
}

static void decode_floats(float *out, const struct sg_message *m, size_t first, size_t count) {
    SG_ASSERT(first + count <= m->count && m->bytes == 4 * m->count);
    const uint8_t *in = (const uint8_t *)m->data + 4 * first;
    for (size_t j = 0; j < count; j++)
        out[j] = sg_float_of_bits(wire_load32(in + 4 * j));
}

static bool valid_floats(const struct sg_message *m) {
    const uint8_t *in = m->data;
    uint32_t wrong = 0;
    if (m->bytes != 4 * m->count)
        return false;
    for (size_t j = 0; j < m->count; j++)
        wrong |= (wire_load32(in + 4 * j) & 0x7f800000) == 0x7f800000;
    return !wrong;
}

ON_GPU(floats, float, SG_PLAIN_FLOAT)

const struct sg_code sg_code_fp32 = {
    .name = "fp32",
    .summary = "32 bits, as computed",
    .number = 0,
    .width = sizeof(float),
    .most_bytes = float_bytes,
    .encode = encode_floats,
    .decode = decode_floats,
    .valid = valid_floats,
    THERE(floats),
};

/* ---- what codes of 16 bits share ---- */

static uint16_t load_half(const uint8_t *in) {
    uint16_t half;
    memcpy(&half, in, sizeof half);
    return le16toh(half);
}

static size_t half_bytes(const struct sg_numbers *numbers) {
    return 2 * numbers->count;
}

/* Returns whether all numbers are finite: NaN and Inf have all these exponent bits set. */
static bool valid_exponents(const struct sg_message *m, uint16_t exponent) {
    const uint8_t *in = m->data;
    uint32_t wrong = 0;
    for (size_t j = 0; j < m->count; j++)
        wrong |= (load_half(in + 2 * j) & exponent) == exponent;
    return !wrong;
}

/* ---- fp16 ---- */

static size_t encode_halves(void *data, const struct sg_numbers *numbers, double *bits) {
    SG_ASSERT(sg_all_finite(numbers->value, numbers->count));
    const struct sg_kernels *kernels = numbers->kernels ? numbers->kernels : sg_kernels_cpu(NULL);
    kernels->loops->write_halves(data, numbers->value, numbers->count);
    *bits = 16.0 * (double)numbers->count;
    return 2 * numbers->count;
}

static void decode_halves(float *out, const struct sg_message *m, size_t first, size_t count) {
    SG_ASSERT(first + count <= m->count && m->bytes == 2 * m->count);
    sg_kernels_cpu(NULL)->loops->read_halves(out, (const uint16_t *)m->data + first, count);
}

static bool valid_halves(const struct sg_message *m) {
    return m->bytes == 2 * m->count && valid_exponents(m, 0x7c00);
}

ON_GPU(halves, uint16_t, SG_PLAIN_HALF)

const struct sg_code sg_code_fp16 = {
    .name = "fp16",
    .summary = "16 bits: IEEE halves, at most 65504",
    .number = 1,
    .width = sizeof(uint16_t),
    .most_bytes = half_bytes,
    .encode = encode_halves,
    .decode = decode_halves,
    .valid = valid_halves,
    THERE(halves),
};

/* ---- bf16 ---- */

static size_t encode_bf16(void *data, const struct sg_numbers *numbers, double *bits) {
    SG_ASSERT(sg_all_finite(numbers->value, numbers->count));
    uint16_t *out = data;
    for (size_t j = 0; j < numbers->count; j++)
        out[j] = htole16(sg_bf16_of(numbers->value[j]));
    *bits = 16.0 * (double)numbers->count;
    return 2 * numbers->count;
}

static void decode_bf16(float *out, const struct sg_message *m, size_t first, size_t count) {
    SG_ASSERT(first + count <= m->count && m->bytes == 2 * m->count);
    const uint8_t *in = (const uint8_t *)m->data + 2 * first;
    for (size_t j = 0; j < count; j++)
        out[j] = sg_bf16_value(load_half(in + 2 * j));
}

static bool valid_bf16(const struct sg_message *m) {
    return m->bytes == 2 * m->count && valid_exponents(m, 0x7f80);
}

ON_GPU(bf16, uint16_t, SG_PLAIN_BF16)

const struct sg_code sg_code_bf16 = {
    .name = "bf16",
    .summary = "16 bits: the upper half of a float",
    .number = 3,
    .width = sizeof(uint16_t),
    .most_bytes = half_bytes,
    .encode = encode_bf16,
    .decode = decode_bf16,
    .valid = valid_bf16,
    THERE(bf16),
};
