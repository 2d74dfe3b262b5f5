/* wire_bitmap.c: one bit for each of the n elements, set where there is an entry. It is the smallest from about one
 * entry in six. */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_bits.h"

static uint64_t size(const struct sg_wire_set *set, unsigned *parameter) {
    (void)parameter;
    return wire_bytes_of_bits(set->n);
}

static void encode(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned parameter) {
    SG_ASSERT(bytes == wire_bytes_of_bits(set->n));
    (void)parameter;
    memset(out, 0, bytes);
    struct wire_ones ones = {.out = out, .bytes = bytes};
    for (size_t j = 0; j < set->count; j++)
        wire_ones_put(&ones, set->index[j]);
    wire_ones_flush(&ones);
}

static bool decode(uint32_t *index, size_t count, uint64_t n, unsigned parameter, const uint8_t *in, size_t bytes) {
    if (bytes != wire_bytes_of_bits(n) || parameter != 0)
        return false;
    size_t j = 0;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = bytes - at >= 8 ? wire_load64(in + at) : wire_load_part(in + at, bytes - at);
        for (; word != 0; word &= word - 1, j++) {
            if (j == count)
                return false;
            index[j] = (uint32_t)(8 * at + (size_t)__builtin_ctzll(word));
        }
    }
    /* A bit behind the n-th may lie past 2^32, so the last byte is asked, not the last index. */
    return j == count && (n % 8 == 0 || in[bytes - 1] >> n % 8 == 0);
}

const struct sg_wire_encoding sg_wire_bitmap = {
    .name = "bitmap",
    .summary = "n bits, set where there is an entry",
    .size = size,
    .encode = encode,
    .decode = decode,
};
