/* wire_rice.c: Golomb-Rice codes: the gap before each position (elements skipped) as gap >> b in unary and its low b
 * bits. If positions are uniform, it is within 0.03 to 0.09 bits an entry of the limit.
 *
 * b is the best one, by exact cost. In bits that is cost(b) = (b + 1) count + sum of gap >> b. With f = gap >> b, the
 * second term falls for each gap by f - (f >> 1) = ceil(f / 2) from b to b + 1. As f never grows with b, these falls
 * shrink. So the cost is convex, and a walk downhill from any b ends at the minimum. Of equal costs the smaller b is
 * taken. */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_bits.h"

enum { MAX_B = 31 };

/* out[i] <- cost(b + i). Gaps add up to less than 2^32, and so do the sums. */
static void costs(uint64_t out[3], const struct sg_wire_set *set, unsigned b) {
    uint32_t sum0 = set->index[0] >> b, sum1 = sum0 >> 1, sum2 = sum0 >> 2;
    for (size_t j = 1; j < set->count; j++) {
        const uint32_t f = (set->index[j] - set->index[j - 1] - 1) >> b;
        sum0 += f;
        sum1 += f >> 1;
        sum2 += f >> 2;
    }
    out[0] = (uint64_t)(b + 1) * set->count + sum0;
    out[1] = (uint64_t)(b + 2) * set->count + sum1;
    out[2] = (uint64_t)(b + 3) * set->count + sum2;
}

static uint64_t size(const struct sg_wire_set *set, unsigned *parameter) {
    const uint64_t gaps = (uint64_t)set->index[set->count - 1] + 1 - set->count;
    unsigned b = 0; /* the first of the three looked at: about log2 of the mean gap, less one */
    while (b + 2 < MAX_B && gaps >> b >= 4 * (uint64_t)set->count)
        b++;
    uint64_t cost[3];
    costs(cost, set, b);
    while (b > 0 && cost[0] <= cost[1])
        costs(cost, set, --b);
    while (b + 2 < MAX_B && cost[2] < cost[1])
        costs(cost, set, ++b);
    const unsigned best = cost[0] <= cost[1] ? 0 : cost[1] <= cost[2] ? 1 : 2;
    *parameter = b + best;
    const uint64_t low_bits = (uint64_t)*parameter * set->count;
    return wire_bytes_of_bits(low_bits) + wire_bytes_of_bits(cost[best] - low_bits);
}

static void encode(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned b) {
    SG_ASSERT(b <= MAX_B);
    wire_encode_split(out, bytes, set, b, true);
}

static bool decode(uint32_t *index, size_t count, uint64_t n, unsigned b, const uint8_t *in, size_t bytes) {
    return b <= MAX_B && wire_decode_split(index, count, n, b, true, in, bytes);
}

const struct sg_wire_encoding sg_wire_rice = {
    .name = "rice",
    .summary = "gaps, Golomb-Rice coded with the best parameter",
    .size = size,
    .encode = encode,
    .decode = decode,
};
