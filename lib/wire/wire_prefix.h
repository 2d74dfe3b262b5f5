/* wire_prefix.h: prefix codes for integers, of which each message has its own, and the streams of bits that they are
 * read from.
 *
 * An integer is a symbol and some low bits. Below 2^direct the integer is the symbol. From there on 2^cut symbols share
 * the integers of the same bit length, and the bits below those that name the symbol are the low bits. */
/* SPDX-License-Identifier: MIT */
#ifndef WIRE_PREFIX_H
#define WIRE_PREFIX_H

#include "sg_wire_bits.h"

enum { PREFIX_LONGEST = 12, PREFIX_MOST_SYMBOLS = 640 };

struct prefix_alphabet {
    unsigned direct, cut;
};

static inline unsigned prefix_bit_length(uint64_t x) {
    return x > 0 ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

static inline unsigned prefix_symbol(struct prefix_alphabet a, uint32_t x) {
    if (x >> a.direct == 0)
        return x;
    const unsigned e = prefix_bit_length(x) - 1;
    return (1U << a.direct) + ((e - a.direct) << a.cut) + (x >> (e - a.cut) & ((1U << a.cut) - 1));
}

/* How many low bits a symbol has, and the least integer that has it. */
static inline unsigned prefix_low_bits(struct prefix_alphabet a, unsigned symbol) {
    return symbol >> a.direct == 0 ? 0 : a.direct - a.cut + ((symbol - (1U << a.direct)) >> a.cut);
}

static inline uint64_t prefix_least(struct prefix_alphabet a, unsigned symbol) {
    const unsigned top = (1U << a.cut) + ((symbol - (1U << a.direct)) & ((1U << a.cut) - 1));
    return symbol >> a.direct == 0 ? symbol : (uint64_t)top << prefix_low_bits(a, symbol);
}

/* A code of the symbols first .. first + count - 1. With one symbol it has no bits, and with none nothing can be
 * written. */
struct prefix {
    unsigned first, count;
    uint8_t length[PREFIX_MOST_SYMBOLS]; /* of each symbol's code word; 0 = it does not occur, or is the only one */
    uint16_t word[PREFIX_MOST_SYMBOLS];  /* its bits in the order of the stream */
};

/* The code for symbols that occur so often. It is Huffman's, where of equal weights the lower symbol is joined first
 * and a symbol before what was joined; while a word is longer than PREFIX_LONGEST, all weights are halved and rounded
 * up. */
void prefix_choose(struct prefix *p, const uint32_t occurs[PREFIX_MOST_SYMBOLS]);

/* The bits of the code's description, and of all integers with their low bits. */
uint64_t prefix_description_bits(const struct prefix *p);
uint64_t prefix_bits(const struct prefix *p, struct prefix_alphabet a, const uint32_t occurs[PREFIX_MOST_SYMBOLS]);

/* 10 bits each for first and count, and 4 bits for the length of each symbol's word if there is more than one. */
void prefix_describe(struct wire_packer *to, const struct prefix *p);

static inline void prefix_write(struct wire_packer *to, const struct prefix *p, struct prefix_alphabet a, uint32_t x) {
    const unsigned symbol = prefix_symbol(a, x), low = prefix_low_bits(a, symbol);
    wire_pack(to, p->word[symbol], p->length[symbol]);
    if (low > 0)
        wire_pack(to, x & ((1U << low) - 1), low);
}

/* ---- reading ---- */

/* An input stream; after its end it returns zeros. */
struct wire_bits {
    const uint8_t *in;
    size_t bytes;
    uint64_t at;
};

/* Returns at least the next 57 bits. */
static inline uint64_t wire_look(const struct wire_bits *s) {
    const uint64_t byte = s->at / 8;
    return (byte + 8 <= s->bytes ? wire_load64(s->in + byte)
            : byte < s->bytes    ? wire_load_part(s->in + byte, s->bytes - (size_t)byte)
                                 : 0) >>
           s->at % 8;
}

static inline uint32_t wire_take(struct wire_bits *s, unsigned width) {
    const uint32_t x = (uint32_t)(wire_look(s) & (((uint64_t)1 << width) - 1));
    s->at += width;
    return x;
}

/* For each of the next PREFIX_LONGEST bits the symbol, and below it in 4 bits how many of them are its word. */
struct prefix_reader {
    uint16_t entry[1 << PREFIX_LONGEST];
    bool empty;
};

/* Reads a description. Returns false unless it is that of a complete code of symbols below `symbols`. */
bool prefix_open(struct prefix_reader *r, unsigned symbols, struct wire_bits *from);

/* The integer at the head of `bits`, of which there are 57 at least; *bits loses what it takes. It may have 41 bits. */
static inline uint64_t prefix_next(const struct prefix_reader *r, struct prefix_alphabet a, uint64_t *bits,
                                   unsigned *used) {
    const unsigned entry = r->entry[*bits & ((1U << PREFIX_LONGEST) - 1)], word = entry & 15, symbol = entry >> 4;
    const unsigned low = prefix_low_bits(a, symbol);
    const uint64_t x = prefix_least(a, symbol) + (*bits >> word & (((uint64_t)1 << low) - 1));
    *bits >>= word + low;
    *used += word + low;
    return x;
}

static inline uint64_t prefix_read(const struct prefix_reader *r, struct prefix_alphabet a, struct wire_bits *from) {
    uint64_t bits = wire_look(from);
    unsigned used = 0;
    const uint64_t x = prefix_next(r, a, &bits, &used);
    from->at += used;
    return x;
}

#endif
