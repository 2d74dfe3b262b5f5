/* code_least.c: a lossless code for parts in which many numbers have the smallest magnitude of the part, like those
 * that Wangni et al. (NeurIPS 2018) scale up. Such a number is written as its sign, any other number as a float.
 *
 *     bytes 0 .. 3      parts
 *     8 bytes a part    how many numbers it has, and its least magnitude, a float; 0 for a part without numbers
 *     2 bits a number   1 = it is a float; and above it 1 if the number is below 0 and no float. Padded with zeros to a
 *                       whole byte
 *     4 bytes a float   in the order of the numbers
 *
 * All integers and floats are little-endian. Number j has the bits 2 (j % 4) and 2 (j % 4) + 1 of byte j / 4. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_debug.h"
#include "sg_half.h"
#include "sg_wire_bits.h"
#include "zoo_private.h"

enum { HEAD = 4, PART_HEAD = 8, IS_FLOAT = 1, IS_NEGATIVE = 2 };

static size_t flag_bytes(size_t count) {
    return count / 4 + (count % 4 > 0);
}

static size_t most_bytes(const struct sg_numbers *n) {
    return HEAD + PART_HEAD * n->parts + flag_bytes(n->count) + 4 * n->count;
}

static float least_of(const float *value, size_t count) {
    float least = count > 0 ? fabsf(value[0]) : 0;
    for (size_t j = 0; j < count; j++)
        least = fminf(least, fabsf(value[j]));
    return least;
}

/* A zero has a sign, too: it is kept like any other. */
static size_t encode_least(void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && sg_all_finite(n->value, n->count)));
    uint8_t *data = to, *flags = data + HEAD + PART_HEAD * n->parts, *end = flags + flag_bytes(n->count);
    size_t j = 0;
    wire_store32(data, (uint32_t)n->parts);
    memset(flags, 0, (size_t)(end - flags));
    *bits = 0;
    for (size_t i = 0; i < n->parts; i++) {
        const size_t last = j + n->part[i];
        const float least = least_of(n->value + j, n->part[i]);
        wire_store32(data + HEAD + PART_HEAD * i, (uint32_t)n->part[i]);
        wire_store32(data + HEAD + PART_HEAD * i + 4, sg_float_bits(least));
        *bits += n->part[i] > 0 ? 32 : 0;
        for (; j < last; j++) {
            const float x = n->value[j];
            const bool is_float = fabsf(x) != least;
            const unsigned flag = is_float ? IS_FLOAT : signbit(x) ? IS_NEGATIVE : 0;
            flags[j / 4] = (uint8_t)(flags[j / 4] | flag << 2 * (j % 4));
            if (is_float) {
                wire_store32(end, sg_float_bits(x));
                end += 4;
            }
            *bits += is_float ? 32 : 1;
        }
    }
    SG_ASSERT(j == n->count);
    return (size_t)(end - data);
}

static unsigned flag_at(const uint8_t *flags, size_t j) {
    return flags[j / 4] >> 2 * (j % 4) & 3;
}

/* How many of the numbers 0 .. count-1 are floats. */
static size_t floats_before(const uint8_t *flags, size_t count) {
    size_t floats = 0, j = 0;
    for (; j + 32 <= count; j += 32)
        floats += (size_t)__builtin_popcountll(wire_load64(flags + j / 4) & 0x5555555555555555U);
    for (; j < count; j++)
        floats += flag_at(flags, j) & IS_FLOAT;
    return floats;
}

static void decode_least(float *out, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    const size_t parts = wire_load32(data);
    const uint8_t *flags = data + HEAD + PART_HEAD * parts, *floats = flags + flag_bytes(m->count);
    SG_ASSERT(first + count <= m->count);
    floats += count > 0 ? 4 * floats_before(flags, first) : 0;
    for (size_t i = 0, j = first, last = 0; i < parts && j < first + count; i++) {
        const uint8_t *head = data + HEAD + PART_HEAD * i;
        last += wire_load32(head);
        for (; j < last && j < first + count; j++) {
            const unsigned flag = flag_at(flags, j);
            const uint32_t bits = wire_load32(flag & IS_FLOAT ? floats : head + 4);
            out[j - first] = sg_float_of_bits(bits | (flag & IS_NEGATIVE ? 0x80000000U : 0));
            floats += flag & IS_FLOAT ? 4 : 0;
        }
    }
}

/* A part as `encode` writes it: its magnitude is that of one number at least, and every float is larger. */
static bool valid_part(const uint8_t *head, const uint8_t *flags, size_t first, size_t count, const uint8_t *floats) {
    const float least = sg_float_of_bits(wire_load32(head + 4));
    bool right = wire_load32(head + 4) < 0x7f800000, some = false;
    for (size_t j = first; right && j < first + count; j++) {
        const unsigned flag = flag_at(flags, j);
        some |= !(flag & IS_FLOAT);
        if (flag & IS_FLOAT) {
            const float x = sg_float_of_bits(wire_load32(floats));
            right = !(flag & IS_NEGATIVE) && isfinite(x) && fabsf(x) > least;
            floats += 4;
        }
    }
    return right && (count > 0 ? some : wire_load32(head + 4) == 0);
}

static bool valid_least(const struct sg_message *m) {
    const uint8_t *data = m->data;
    const size_t parts = m->bytes >= HEAD ? wire_load32(data) : 0;
    if (m->bytes < HEAD || parts > (m->bytes - HEAD) / PART_HEAD)
        return false;
    const size_t flags = HEAD + PART_HEAD * parts, floats = flags + flag_bytes(m->count);
    if (m->bytes < floats || m->bytes - floats != 4 * floats_before(data + flags, m->count) ||
        (m->count % 4 > 0 && data[floats - 1] >> 2 * (m->count % 4)))
        return false;
    size_t first = 0;
    for (size_t i = 0; i < parts; i++) {
        const uint8_t *head = data + HEAD + PART_HEAD * i;
        const size_t count = wire_load32(head), before = floats_before(data + flags, first);
        if (count > m->count - first || !valid_part(head, data + flags, first, count, data + floats + 4 * before))
            return false;
        first += count;
    }
    return first == m->count;
}

const struct sg_code sg_code_least = {
    .name = "least",
    .summary = "a sign for the layer's least sent magnitude, a float for others (Wangni)",
    .number = 64,
    .most_bytes = most_bytes,
    .encode = encode_least,
    .decode = decode_least,
    .valid = valid_least,
};
