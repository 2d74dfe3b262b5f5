/* code_float.c: numbers written as floats: fp32 as they are, fp16 rounded to halves (sg_half.h). */
#include <endian.h>
#include <string.h>

#include "sg_half.h"
#include "wire_private.h"

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
    for (size_t j = 0; j < m->count; j++)
        wrong |= (wire_load32(in + 4 * j) & 0x7f800000) == 0x7f800000;
    return m->bytes == 4 * m->count && !wrong;
}

const struct sg_code sg_code_fp32 = {
    .name = "fp32",
    .summary = "32 bits a value, as computed",
    .number = 0,
    .width = sizeof(float),
    .most_bytes = float_bytes,
    .encode = encode_floats,
    .decode = decode_floats,
    .valid = valid_floats,
};

/* ---- fp16 ---- */

static uint16_t load_half(const uint8_t *in) {
    uint16_t half;
    memcpy(&half, in, sizeof half);
    return le16toh(half);
}

static size_t half_bytes(const struct sg_numbers *numbers) {
    return 2 * numbers->count;
}

static size_t encode_halves(void *data, const struct sg_numbers *numbers, double *bits) {
    SG_ASSERT(sg_all_finite(numbers->value, numbers->count));
    for (size_t j = 0; j < numbers->count; j++) {
        const uint16_t half = htole16(sg_half_of(numbers->value[j]));
        memcpy((uint8_t *)data + 2 * j, &half, sizeof half);
    }
    *bits = 16.0 * (double)numbers->count;
    return 2 * numbers->count;
}

static void decode_halves(float *out, const struct sg_message *m, size_t first, size_t count) {
    SG_ASSERT(first + count <= m->count && m->bytes == 2 * m->count);
    const uint8_t *in = (const uint8_t *)m->data + 2 * first;
    for (size_t j = 0; j < count; j++)
        out[j] = sg_half_value(load_half(in + 2 * j));
}

static bool valid_halves(const struct sg_message *m) {
    const uint8_t *in = m->data;
    uint32_t wrong = 0;
    for (size_t j = 0; j < m->count; j++)
        wrong |= (load_half(in + 2 * j) & 0x7c00) == 0x7c00;
    return m->bytes == 2 * m->count && !wrong;
}

const struct sg_code sg_code_fp16 = {
    .name = "fp16",
    .summary = "16 bits a value: IEEE halves, nearest, ties to even, saturating at 65504",
    .number = 1,
    .width = sizeof(uint16_t),
    .most_bytes = half_bytes,
    .encode = encode_halves,
    .decode = decode_halves,
    .valid = valid_halves,
};
