/* wire_delta_varint.c: the gap before each position (elements skipped) as LEB128: 7 bits a byte, low first, high bit =
 * more follow. */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_bits.h"

static uint64_t size(const struct sg_wire_set *set, unsigned *parameter) {
    (void)parameter;
    uint64_t bytes = set->count;
    for (unsigned bits = 7; bits < 32; bits += 7) {
        uint32_t longer = 0, previous = UINT32_MAX;
        for (size_t j = 0; j < set->count; j++) {
            longer += (set->index[j] - previous - 1) >> bits != 0;
            previous = set->index[j];
        }
        bytes += longer;
        if (longer == 0)
            break;
    }
    return bytes;
}

static void encode(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned parameter) {
    (void)parameter;
    const uint8_t *const end = out + bytes;
    uint32_t previous = UINT32_MAX;
    for (size_t j = 0; j < set->count; j++) {
        const uint64_t gap = set->index[j] - previous - 1;
        previous = set->index[j];
        const unsigned length = 1U + (gap >> 7 != 0) + (gap >> 14 != 0) + (gap >> 21 != 0) + (gap >> 28 != 0);
        const uint64_t spread = (gap & 0x7f) | (gap & 0x3f80) << 1 | (gap & 0x1fc000) << 2 | (gap & 0xfe00000) << 3 |
                                (gap & 0x7f0000000) << 4;
        const uint64_t word = spread | (0x80808080 & (((uint64_t)1 << 8 * (length - 1)) - 1));
        if (end - out >= 8)
            wire_store64(out, word);
        else
            wire_store_part(out, word, length);
        out += length;
    }
    SG_ASSERT(out == end);
}

static bool decode(uint32_t *index, size_t count, uint64_t n, unsigned parameter, const uint8_t *in, size_t bytes) {
    if (parameter != 0)
        return false;
    const uint8_t *const end = in + bytes;
    uint64_t next = 0, wrong = 0;
    for (size_t j = 0; j < count; j++) {
        uint64_t word = end - in >= 8 ? wire_load64(in) : wire_load_part(in, (size_t)(end - in));
        const uint64_t stop = ~word & 0x8080808080;
        if (stop == 0)
            return false;
        const unsigned bits = (unsigned)__builtin_ctzll(stop) + 1;
        if (end - in < bits / 8)
            return false;
        word &= ((uint64_t)1 << bits) - 1;
        const uint64_t gap = (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000) | (word >> 3 & 0xfe00000) |
                             (word >> 4 & 0x7f0000000);
        const unsigned longer_than_needed = (bits > 8) & (word >> (bits - 8) == 0);
        wrong |= longer_than_needed | (next + gap >= n);
        index[j] = (uint32_t)(next + gap);
        next += gap + 1;
        in += bits / 8;
    }
    return in == end && !wrong;
}

const struct sg_wire_encoding sg_wire_delta_varint = {
    .name = "delta-varint",
    .summary = "gaps, 7 bits a byte",
    .size = size,
    .encode = encode,
    .decode = decode,
};
