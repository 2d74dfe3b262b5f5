/* levels_isa.c: rounding at random to levels, and packing them (sg_levels.h). Compiled once per instruction set; the
 * loops are plain C that the compiler makes vectors of. */
#include "sg_levels.h"

#include <math.h>
#include <string.h>

#include "cpu_isa.h"
#include "sg_debug.h"
#include "sg_philox.h"

enum { PIECE = SG_PHILOX_PIECE };

static float unit_of(const struct sg_levels *l, size_t number) {
    float unit;
    memcpy(&unit, l->unit + number / l->bucket * sizeof unit, sizeof unit);
    return unit;
}

/* ---- writing ---- */

/* written [count] <- sign and level of numbers that share the unit. */
static void round_numbers(uint32_t *restrict written, const float *restrict value, size_t count, float unit,
                          const struct sg_levels *l, const uint32_t *restrict draw) {
    const float most = (float)l->levels;
    const unsigned sign_at = l->bits - 1;
    for (size_t j = 0; j < count; j++) {
        float a = fabsf(value[j]) / unit;
        a = a < most ? a : most;
        const int32_t whole = (int32_t)a;
        const int32_t up = (float)(int32_t)(draw[j] >> 8) < (a - (float)whole) * 0x1p24f;
        const uint32_t level = (uint32_t)(whole + up);
        const uint32_t sign = (uint32_t)(value[j] < 0) & (uint32_t)(level > 0);
        written[j] = level | sign << sign_at;
    }
}

/* Eight numbers are `bits` bytes; two halves of them fit into 64 bits each. */
static void pack_eight(uint8_t *out, const uint32_t *x, unsigned bits, size_t bytes) {
    const unsigned half = 4 * bits;
    uint64_t low = 0, high = 0, word[2];
    for (unsigned j = 0; j < 4; j++) {
        low |= (uint64_t)x[j] << j * bits;
        high |= (uint64_t)x[4 + j] << j * bits;
    }
    word[0] = half < 64 ? low | high << half : low;
    word[1] = half < 64 ? high >> (64 - half) : high;
    memcpy(out, word, bytes);
}

static void write_levels(const struct sg_levels *l, const float *value, size_t begin, size_t end) {
    SG_ASSERT(begin % 8 == 0 && l->bits >= 2 && l->bits <= 16 && sg_all_finite(value, end - begin));
    uint32_t room[SG_PHILOX_ROOM], written[PIECE];
    uint8_t *out = l->packed + begin / 8 * l->bits;
    for (size_t at = begin, count; at < end; at += count) {
        count = end - at < PIECE ? end - at : PIECE;
        const uint32_t *draw = sg_philox_draws(room, l->key, l->counter, l->first_draw + at, count);
        memset(written + count, 0, (PIECE - count) * sizeof *written);
        for (size_t j = 0, part; j < count; j += part) {
            const size_t left = l->bucket - (at + j) % l->bucket;
            const float unit = unit_of(l, at + j);
            part = count - j < left ? count - j : left;
            if (unit > 0)
                round_numbers(written + j, value + (at - begin) + j, part, unit, l, draw + j);
            else
                memset(written + j, 0, part * sizeof *written);
        }
        const size_t whole = count / 8;
        for (size_t i = 0; i < whole; i++, out += l->bits)
            pack_eight(out, written + 8 * i, l->bits, l->bits);
        if (count % 8 > 0)
            pack_eight(out, written + 8 * whole, l->bits, (count % 8 * l->bits + 7) / 8);
    }
}

/* ---- reading ---- */

static uint32_t number_at(const struct sg_levels *l, size_t number) {
    const size_t bit = number * l->bits;
    uint32_t word;
    memcpy(&word, l->packed + bit / 8, sizeof word);
    return word >> bit % 8 & ((1U << l->bits) - 1);
}

/* x [8 count] <- eight numbers each from number 8 first on. */
static void unpack_eights(uint32_t *x, const struct sg_levels *l, size_t first, size_t count) {
    const unsigned bits = l->bits, half = 4 * bits;
    const uint32_t mask = (1U << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t low, high;
        const uint8_t *in = l->packed + (first + i) * bits;
        memcpy(&low, in, sizeof low);
        memcpy(&high, in + half / 8, sizeof high);
        high >>= half % 8;
        for (unsigned j = 0; j < 4; j++) {
            x[8 * i + j] = (uint32_t)(low >> j * bits) & mask;
            x[8 * i + 4 + j] = (uint32_t)(high >> j * bits) & mask;
        }
    }
}

static void scale_numbers(float *restrict out, const uint32_t *restrict x, size_t count, float unit, unsigned bits) {
    const unsigned sign_at = bits - 1;
    const uint32_t mask = (1U << sign_at) - 1;
    for (size_t j = 0; j < count; j++) {
        const float magnitude = unit * (float)(int32_t)(x[j] & mask);
        out[j] = x[j] >> sign_at ? -magnitude : magnitude;
    }
}

static void read_levels(const struct sg_levels *l, float *out, size_t begin, size_t end) {
    uint32_t x[PIECE + 16];
    for (size_t at = begin, count; at < end; at += count) {
        const size_t skip = at % 8;
        count = end - at < PIECE ? end - at : PIECE;
        const size_t whole = (skip + count) / 8; /* those of the last eight that are not there are not read */
        unpack_eights(x, l, at / 8, whole);
        for (size_t j = 8 * whole; j < skip + count; j++)
            x[j] = number_at(l, at - skip + j);
        for (size_t j = 0, part; j < count; j += part) {
            const size_t left = l->bucket - (at + j) % l->bucket;
            part = count - j < left ? count - j : left;
            scale_numbers(out + (at - begin) + j, x + skip + j, part, unit_of(l, at + j), l->bits);
        }
    }
}

const struct sg_level_kernels ISA_NAME(sg_level_kernels_) = {write_levels, read_levels};
