/* fields_isa.c: fields of few bits behind each other (sg_codes.h). Compiled once per instruction set; the loops are
 * plain C that the compiler makes vectors of.
 *
 * Fields of up to 16 bits are packed by joining neighbours: two fields in the halves of a 64-bit word become one of
 * twice the bits in 32, and so on. Eight fields then lie in one word (up to 8 bits each) or in two, which are written
 * as so many bytes as a field has bits. Wider fields go one by one. */
/* SPDX-License-Identifier: MIT */
#include "cpu_isa.h"

#include <string.h>

enum { PIECE = 512, SLACK = 16 };

static inline uint64_t load64(const void *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* y [n] <- each the two fields of `bits` <= 16 bits in the halves of x [n]. */
static void join(uint32_t *restrict y, const uint32_t *restrict x, size_t n, unsigned bits) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t pair = load64(x + 2 * i);
        y[i] = (uint32_t)(pair | pair >> (32 - bits));
    }
}

/* x [2 n] <- the two fields of `bits` <= 16 bits of each of y [n]. */
static void split(uint32_t *restrict x, const uint32_t *restrict y, size_t n, unsigned bits) {
    const uint32_t mask = (1U << bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const uint64_t pair = (y[i] & mask) | (uint64_t)(y[i] >> bits & mask) << 32;
        memcpy(x + 2 * i, &pair, sizeof pair);
    }
}

/* Eights of fields, `bits` bytes each, and up to SLACK bytes more. */
static void pack_eights(uint8_t *out, const uint32_t *field, size_t eights, unsigned bits) {
    uint32_t pair[PIECE / 2], four[PIECE / 4];
    join(pair, field, 4 * eights, bits);
    if (bits <= 8) {
        join(four, pair, 2 * eights, 2 * bits);
        for (size_t i = 0; i < eights; i++, out += bits) {
            const uint64_t both = load64(four + 2 * i), word = (uint32_t)both | both >> 32 << 4 * bits;
            memcpy(out, &word, sizeof word);
        }
        return;
    }
    const unsigned half = 4 * bits; /* 36 .. 64 */
    for (size_t i = 0; i < eights; i++, out += bits) {
        const uint64_t a = load64(pair + 4 * i), b = load64(pair + 4 * i + 2);
        const uint64_t low = (uint32_t)a | a >> 32 << 2 * bits, high = (uint32_t)b | b >> 32 << 2 * bits;
        const uint64_t word[2] = {half < 64 ? low | high << half : low, half < 64 ? high >> (64 - half) : high};
        memcpy(out, word, sizeof word);
    }
}

static void unpack_eights(uint32_t *field, const uint8_t *in, size_t eights, unsigned bits) {
    uint32_t pair[PIECE / 2], four[PIECE / 4];
    const unsigned half = 4 * bits;
    if (bits <= 8) {
        const uint64_t mask = ((uint64_t)1 << half) - 1;
        for (size_t i = 0; i < eights; i++, in += bits) {
            const uint64_t word = load64(in), both = (word & mask) | (word >> half & mask) << 32;
            memcpy(four + 2 * i, &both, sizeof both);
        }
        split(pair, four, 2 * eights, 2 * bits);
    } else {
        const uint64_t mask = ((uint64_t)1 << 2 * bits) - 1;
        for (size_t i = 0; i < eights; i++, in += bits) {
            const uint64_t low = load64(in), high = load64(in + half / 8) >> half % 8;
            const uint64_t a = (low & mask) | (low >> 2 * bits & mask) << 32;
            const uint64_t b = (high & mask) | (high >> 2 * bits & mask) << 32;
            memcpy(pair + 4 * i, &a, sizeof a);
            memcpy(pair + 4 * i + 2, &b, sizeof b);
        }
    }
    split(field, pair, 4 * eights, bits);
}

/* Fields of any width, one by one: `at` is the first one's bit. */
static void pack_some(uint8_t *out, const uint32_t *field, size_t count, unsigned bits) {
    uint64_t word = 0;
    unsigned fill = 0;
    for (size_t j = 0; j < count; j++) {
        word |= (uint64_t)field[j] << fill;
        fill += bits;
        if (fill >= 32) {
            memcpy(out, &word, sizeof(uint32_t));
            out += sizeof(uint32_t);
            word >>= 32;
            fill -= 32;
        }
    }
    memcpy(out, &word, (fill + 7) / 8);
}

static void unpack_some(uint32_t *field, const uint8_t *in, size_t first, size_t count, unsigned bits) {
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t bit = (uint64_t)first * bits;
    for (size_t j = 0; j < count; j++, bit += bits)
        field[j] = (uint32_t)(load64(in + bit / 8) >> bit % 8 & mask);
}

static void pack_bytes(uint8_t *restrict out, const uint32_t *restrict field, size_t count) {
    for (size_t j = 0; j < count; j++)
        out[j] = (uint8_t)field[j];
}

static void unpack_bytes(uint32_t *restrict field, const uint8_t *restrict in, size_t count) {
    for (size_t j = 0; j < count; j++)
        field[j] = in[j];
}

void ISA_NAME(pack_fields_)(uint8_t *out, const uint32_t *field, size_t count, unsigned bits) {
    uint8_t room[PIECE * 2 + SLACK];
    if (bits == 8) {
        pack_bytes(out, field, count);
        return;
    }
    if (bits <= 16)
        for (; count >= 8;) {
            const size_t eights = count < PIECE ? count / 8 : PIECE / 8;
            pack_eights(room, field, eights, bits);
            memcpy(out, room, eights * bits);
            out += eights * bits;
            field += 8 * eights;
            count -= 8 * eights;
        }
    pack_some(out, field, count, bits);
}

void ISA_NAME(unpack_fields_)(uint32_t *field, const uint8_t *in, size_t first, size_t count, unsigned bits) {
    if (bits == 8) {
        unpack_bytes(field, in + first, count);
        return;
    }
    if (bits <= 16) {
        const size_t before = (8 - first % 8) % 8 < count ? (8 - first % 8) % 8 : count;
        unpack_some(field, in, first, before, bits);
        field += before;
        first += before;
        count -= before;
        for (; count >= 8;) {
            const size_t eights = count < PIECE ? count / 8 : PIECE / 8;
            unpack_eights(field, in + first / 8 * bits, eights, bits);
            field += 8 * eights;
            first += 8 * eights;
            count -= 8 * eights;
        }
    }
    unpack_some(field, in, first, count, bits);
}
