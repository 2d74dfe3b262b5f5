/* wire_elias_fano.c: the low l = floor(log2(n / count)) bits of each position, and position >> l in unary as one
 * growing stream. It takes about 2 + log2(n / count) bits an entry wherever the entries are, and any of them could be
 * found without decoding the others. */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_bits.h"

static unsigned low_width(uint64_t n, size_t count) {
    SG_ASSERT(count > 0 && count <= n);
    return 63 - (unsigned)__builtin_clzll(n / count);
}

static uint64_t size(const struct sg_wire_set *set, unsigned *parameter) {
    const unsigned width = *parameter = low_width(set->n, set->count);
    return wire_bytes_of_bits((uint64_t)set->count * width) +
           wire_bytes_of_bits(set->count + ((uint64_t)set->index[set->count - 1] >> width));
}

static void encode(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned width) {
    SG_ASSERT(width == low_width(set->n, set->count));
    wire_encode_split(out, bytes, set, width, false);
}

static bool decode(uint32_t *index, size_t count, uint64_t n, unsigned width, const uint8_t *in, size_t bytes) {
    return width == low_width(n, count) && wire_decode_split(index, count, n, width, false, in, bytes);
}

const struct sg_wire_encoding sg_wire_elias_fano = {
    .name = "elias-fano",
    .summary = "low bits of each index, high bits in unary",
    .size = size,
    .encode = encode,
    .decode = decode,
};
