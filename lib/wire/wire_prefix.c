/* wire_prefix.c: makes prefix codes, describes them, and reads their descriptions (wire_prefix.h). */
/* SPDX-License-Identifier: MIT */
#include "wire_prefix.h"

#include <stdlib.h>

enum { COUNT_BITS = 10, LENGTH_BITS = 4, MOST = PREFIX_MOST_SYMBOLS };

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The words of symbols come in the order of their lengths, and of equal ones in that of the symbols. The first bit of a
 * word is its highest. */
static void assign_words(struct prefix *p) {
    unsigned next = 0;
    for (unsigned length = 1; length <= PREFIX_LONGEST; length++, next <<= 1)
        for (unsigned t = p->first; t < p->first + p->count; t++)
            if (p->length[t] == length) {
                unsigned word = 0;
                for (unsigned b = 0; b < length; b++)
                    word |= (next >> b & 1) << (length - 1 - b);
                p->word[t] = (uint16_t)word;
                next++;
            }
}

/* depth [used] <- those of Huffman's tree over key [used] > 0, sorted, whose weights stand above 16 bits. Returns the
 * largest. */
static unsigned depths(uint8_t *depth, const uint64_t *key, unsigned used) {
    uint64_t weight[2 * MOST];
    uint16_t parent[2 * MOST];
    uint8_t at[2 * MOST];
    unsigned leaf = 0, node = used, most = 0;
    for (unsigned i = 0; i < used; i++)
        weight[i] = key[i] >> 16;
    for (unsigned made = used; made < 2 * used - 1; made++) {
        weight[made] = 0;
        for (unsigned side = 0; side < 2; side++) {
            const unsigned least = leaf < used && (node == made || weight[leaf] <= weight[node]) ? leaf++ : node++;
            weight[made] += weight[least];
            parent[least] = (uint16_t)made;
        }
    }
    at[2 * used - 2] = 0;
    for (unsigned i = 2 * used - 2; i-- > 0;) {
        at[i] = (uint8_t)(at[parent[i]] + 1);
        most = at[i] > most ? at[i] : most;
    }
    memcpy(depth, at, used);
    return most;
}

void prefix_choose(struct prefix *p, const uint32_t occurs[PREFIX_MOST_SYMBOLS]) {
    uint64_t key[MOST];
    uint8_t depth[MOST];
    unsigned used = 0, most = PREFIX_LONGEST + 1, last = 0;
    memset(p, 0, sizeof *p);
    for (unsigned t = 0; t < MOST; t++)
        if (occurs[t] > 0) {
            p->first = used++ == 0 ? t : p->first;
            last = t;
        }
    p->count = used > 0 ? last - p->first + 1 : 0;
    if (used < 2)
        return;
    for (unsigned halved = 0; most > PREFIX_LONGEST; halved++) {
        used = 0;
        for (unsigned t = p->first; t <= last; t++)
            if (occurs[t] > 0)
                key[used++] = ((uint64_t)((occurs[t] - 1) >> halved) + 1) << 16 | t;
        qsort(key, used, sizeof *key, ascending);
        most = depths(depth, key, used);
    }
    for (unsigned i = 0; i < used; i++)
        p->length[key[i] & 0xffff] = depth[i];
    assign_words(p);
}

uint64_t prefix_description_bits(const struct prefix *p) {
    return 2 * COUNT_BITS + (p->count > 1 ? LENGTH_BITS * (uint64_t)p->count : 0);
}

uint64_t prefix_bits(const struct prefix *p, struct prefix_alphabet a, const uint32_t occurs[PREFIX_MOST_SYMBOLS]) {
    uint64_t bits = 0;
    for (unsigned t = p->first; t < p->first + p->count; t++)
        bits += (uint64_t)occurs[t] * (p->length[t] + prefix_low_bits(a, t));
    return bits;
}

void prefix_describe(struct wire_packer *to, const struct prefix *p) {
    wire_pack(to, p->first, COUNT_BITS);
    wire_pack(to, p->count, COUNT_BITS);
    for (unsigned t = p->first; p->count > 1 && t < p->first + p->count; t++)
        wire_pack(to, p->length[t], LENGTH_BITS);
}

bool prefix_open(struct prefix_reader *r, unsigned symbols, struct wire_bits *from) {
    struct prefix p = {.first = wire_take(from, COUNT_BITS)};
    unsigned filled = 0;
    p.count = wire_take(from, COUNT_BITS);
    r->empty = p.count == 0;
    if (p.first + p.count > symbols || (r->empty && p.first > 0))
        return false;
    for (unsigned t = p.first; p.count > 1 && t < p.first + p.count; t++) {
        p.length[t] = (uint8_t)wire_take(from, LENGTH_BITS);
        if (p.length[t] > PREFIX_LONGEST)
            return false;
        filled += p.length[t] > 0 ? 1U << (PREFIX_LONGEST - p.length[t]) : 0;
    }
    if (p.count > 1 &&
        (filled != 1U << PREFIX_LONGEST || p.length[p.first] == 0 || p.length[p.first + p.count - 1] == 0))
        return false;
    assign_words(&p);
    for (unsigned t = p.first; t < p.first + p.count; t++)
        for (unsigned bits = p.word[t]; (p.length[t] > 0 || p.count == 1) && bits < 1U << PREFIX_LONGEST;
             bits += 1U << p.length[t])
            r->entry[bits] = (uint16_t)(t << 4 | p.length[t]);
    return true;
}
