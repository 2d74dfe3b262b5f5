/* wire_raw.c: each position as 32 bits: there is nothing to compute on either side. */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_bits.h"

static uint64_t size(const struct sg_wire_set *set, unsigned *parameter) {
    (void)parameter;
    return 4 * (uint64_t)set->count;
}

static void encode(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned parameter) {
    SG_ASSERT(bytes == 4 * set->count);
    (void)bytes, (void)parameter;
    for (size_t j = 0; j < set->count; j++)
        wire_store32(out + 4 * j, set->index[j]);
}

static bool decode(uint32_t *index, size_t count, uint64_t n, unsigned parameter, const uint8_t *in, size_t bytes) {
    SG_ASSERT(count > 0 && count < n);
    if (bytes / 4 != count || bytes % 4 != 0 || parameter != 0)
        return false;
    for (size_t j = 0; j < count; j++)
        index[j] = wire_load32(in + 4 * j);
    uint32_t wrong = 0;
    for (size_t j = 1; j < count; j++)
        wrong |= index[j] <= index[j - 1];
    return !wrong && index[count - 1] < n;
}

const struct sg_wire_encoding sg_wire_raw = {
    .name = "raw",
    .summary = "32 bits an index",
    .size = size,
    .encode = encode,
    .decode = decode,
};
