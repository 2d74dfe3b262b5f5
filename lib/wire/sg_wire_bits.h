/* sg_wire_bits.h: words and bit streams, which the encodings and codes share. Bit b of a stream is bit b % 8 of byte b
 * / 8. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_WIRE_BITS_H
#define SG_WIRE_BITS_H

#include <endian.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_wire.h"

static inline uint64_t wire_load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

static inline void wire_store64(uint8_t *at, uint64_t word) {
    word = htole64(word);
    memcpy(at, &word, sizeof word);
}

static inline uint32_t wire_load32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return le32toh(word);
}

static inline void wire_store32(uint8_t *at, uint32_t word) {
    word = htole32(word);
    memcpy(at, &word, sizeof word);
}

/* The first min(8, bytes) bytes at `at`; the rest of the word is 0. */
static inline uint64_t wire_load_part(const uint8_t *at, size_t bytes) {
    uint64_t word = 0;
    memcpy(&word, at, bytes < sizeof word ? bytes : sizeof word);
    return le64toh(word);
}

static inline void wire_store_part(uint8_t *at, uint64_t word, size_t bytes) {
    word = htole64(word);
    memcpy(at, &word, bytes < sizeof word ? bytes : sizeof word);
}

static inline uint64_t wire_bytes_of_bits(uint64_t bits) {
    return (bits + 7) / 8;
}

/* Whole numbers as LEB128. */
static inline size_t wire_number_bytes(uint64_t x) {
    size_t bytes = 1;
    while (x >>= 7)
        bytes++;
    return bytes;
}

static inline uint8_t *wire_put_number(uint8_t *out, uint64_t x) {
    for (; x >= 0x80; x >>= 7)
        *out++ = (uint8_t)(x | 0x80);
    *out++ = (uint8_t)x;
    return out;
}

/* Returns the end of the number; NULL if it is truncated, longer than needed, or above `most` (< 2^56). */
static inline const uint8_t *wire_get_number(uint64_t *out, uint64_t most, const uint8_t *in, const uint8_t *end) {
    uint64_t x = 0;
    for (unsigned shift = 0; shift < 56 && in < end; shift += 7) {
        const uint8_t byte = *in++;
        x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = x;
            return x <= most && (byte != 0 || shift == 0) ? in : NULL;
        }
    }
    return NULL;
}

/* Writes ones at ascending positions into a stream. Only words with a one are written, so the stream must be zero
 * before. */
struct wire_ones {
    uint8_t *out;
    size_t bytes; /* of the stream */
    uint64_t at;  /* index of the current word */
    uint64_t word;
};

static inline void wire_ones_flush(const struct wire_ones *s) {
    SG_ASSERT(8 * s->at < s->bytes);
    wire_store_part(s->out + 8 * s->at, s->word, s->bytes - 8 * s->at);
}

static inline void wire_ones_put(struct wire_ones *s, uint64_t position) {
    SG_ASSERT(position >> 6 >= s->at && position < 8 * (uint64_t)s->bytes);
    if (position >> 6 != s->at) {
        wire_ones_flush(s);
        s->at = position >> 6;
        s->word = 0;
    }
    s->word |= (uint64_t)1 << (position & 63);
}

/* Writes numbers of `width` bits (0..32) without gaps: exactly wire_bytes_of_bits(count width) bytes. */
struct wire_packer {
    uint8_t *out;
    uint64_t word;
    unsigned fill; /* bits of `word` in use, < 64 */
};

static inline void wire_pack(struct wire_packer *p, uint64_t value, unsigned width) {
    SG_ASSERT(width <= 32 && value >> width == 0 && p->fill < 64);
    p->word |= value << p->fill;
    p->fill += width;
    if (p->fill >= 64) {
        wire_store64(p->out, p->word);
        p->out += 8;
        p->fill -= 64;
        p->word = value >> (width - p->fill);
    }
}

static inline void wire_pack_flush(const struct wire_packer *p) {
    wire_store_part(p->out, p->word, (size_t)wire_bytes_of_bits(p->fill));
}

/* Reads the numbers that wire_pack wrote, from in [bytes] with bytes >= wire_bytes_of_bits(count width). Bytes after
 * the numbers may be read but are not used. */
static inline void wire_unpack(uint32_t *value, size_t count, unsigned width, const uint8_t *in, size_t bytes) {
    SG_ASSERT(width <= 32 && bytes >= wire_bytes_of_bits((uint64_t)count * width));
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    uint64_t bit = 0;
    size_t j = 0;
    for (; j < count && bit / 8 + 8 <= bytes; j++, bit += width)
        value[j] = (uint32_t)(wire_load64(in + bit / 8) >> bit % 8 & mask);
    for (; j < count; j++, bit += width)
        value[j] = (uint32_t)(wire_load_part(in + bit / 8, bytes - bit / 8) >> bit % 8 & mask);
}

/* The format that rice and elias-fano share. The number x of each entry is split into its low `width` bits and
 * its high part x >> width. All low bits come first. Then one stream has a one bit for each entry. Before it are as
 * many zeros as the high part grew since the last entry (elias-fano: x is the position) or as the high part is (rice: x
 * is the gap). So the j-th one is at bit j + the sum of the high parts, and a word of the stream gives a dozen entries
 * without a branch that depends on one of them. */
static inline void wire_encode_split(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned width,
                                     bool gaps) {
    const size_t low_bytes = (size_t)wire_bytes_of_bits((uint64_t)set->count * width);
    memset(out + low_bytes, 0, bytes - low_bytes);
    struct wire_packer low = {.out = out, .word = 0, .fill = 0};
    struct wire_ones high = {.out = out + low_bytes, .bytes = bytes - low_bytes, .at = 0, .word = 0};
    const uint32_t mask = (uint32_t)(((uint64_t)1 << width) - 1);
    uint32_t previous = UINT32_MAX;
    uint64_t sum = 0;
    for (size_t j = 0; j < set->count; j++) {
        const uint32_t x = gaps ? set->index[j] - previous - 1 : set->index[j];
        previous = set->index[j];
        wire_pack(&low, x & mask, width);
        sum = (gaps ? sum : 0) + ((uint64_t)x >> width);
        wire_ones_put(&high, sum + j);
    }
    SG_ASSERT(low_bytes + wire_bytes_of_bits(sum + set->count) == bytes);
    wire_pack_flush(&low);
    wire_ones_flush(&high);
}

static inline bool wire_decode_split(uint32_t *index, size_t count, uint64_t n, unsigned width, bool gaps,
                                     const uint8_t *in, size_t bytes) {
    SG_ASSERT(count > 0 && count < n);
    const uint64_t low_bytes = wire_bytes_of_bits((uint64_t)count * width);
    if (bytes <= low_bytes || bytes - low_bytes > wire_bytes_of_bits(count + (n >> width)) || in[bytes - 1] == 0)
        return false;
    wire_unpack(index, count, width, in, bytes);
    if (low_bytes && count * width % 8 && in[low_bytes - 1] >> count * width % 8)
        return false; /* padding is zero */
    const uint8_t *high = in + low_bytes;
    const size_t high_bytes = bytes - (size_t)low_bytes;
    uint64_t sum = 0, next = 0, wrong = 0;
    size_t j = 0;
    for (size_t at = 0; at < high_bytes; at += 8) {
        uint64_t word = high_bytes - at >= 8 ? wire_load64(high + at) : wire_load_part(high + at, high_bytes - at);
        for (; word != 0; word &= word - 1, j++) {
            if (j == count)
                return false;
            const uint64_t zeros = 8 * (uint64_t)at + (uint64_t)__builtin_ctzll(word) - j;
            sum = gaps ? sum + index[j] : index[j];
            const uint64_t x = (zeros << width) + sum + (gaps ? j : 0);
            wrong |= x < next;
            next = x + 1;
            index[j] = (uint32_t)x;
        }
    }
    return j == count && !wrong && next <= n;
}

#endif
