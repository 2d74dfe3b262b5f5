/* levels_isa.c: rounding at random to levels, and packing them (sg_levels.h). Compiled once per instruction set; the
 * loops are plain C that the compiler makes vectors of. */
#include "sg_levels.h"

#include <math.h>
#include <string.h>

#include "philox_isa.h"
#include "sg_debug.h"

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

static void write_levels(const struct sg_levels *l, const float *value, size_t begin, size_t end) {
    SG_ASSERT(begin % 8 == 0 && l->bits >= 2 && l->bits <= 16 && sg_all_finite(value, end - begin));
    uint32_t room[SG_PHILOX_ROOM], written[PIECE];
    for (size_t at = begin, count; at < end; at += count) {
        count = end - at < PIECE ? end - at : PIECE;
        const uint32_t *draw = philox_draws(room, l->key, l->counter, l->first_draw + at, count);
        for (size_t j = 0, part; j < count; j += part) {
            const size_t left = l->bucket - (at + j) % l->bucket;
            const float unit = unit_of(l, at + j);
            part = count - j < left ? count - j : left;
            if (unit > 0)
                round_numbers(written + j, value + (at - begin) + j, part, unit, l, draw + j);
            else
                memset(written + j, 0, part * sizeof *written);
        }
        ISA_NAME(pack_fields_)(l->packed + at / 8 * l->bits, written, count, l->bits);
    }
}

/* ---- reading ---- */

static void scale_numbers(float *restrict out, const uint32_t *restrict x, size_t count, float unit, unsigned bits) {
    const unsigned sign_at = bits - 1;
    const uint32_t mask = (1U << sign_at) - 1;
    for (size_t j = 0; j < count; j++) {
        const float magnitude = unit * (float)(int32_t)(x[j] & mask);
        out[j] = x[j] >> sign_at ? -magnitude : magnitude;
    }
}

static void read_levels(const struct sg_levels *l, float *out, size_t begin, size_t end) {
    uint32_t x[PIECE];
    for (size_t at = begin, count; at < end; at += count) {
        count = end - at < PIECE ? end - at : PIECE;
        ISA_NAME(unpack_fields_)(x, l->packed, at, count, l->bits);
        for (size_t j = 0, part; j < count; j += part) {
            const size_t left = l->bucket - (at + j) % l->bucket;
            part = count - j < left ? count - j : left;
            scale_numbers(out + (at - begin) + j, x + j, part, unit_of(l, at + j), l->bits);
        }
    }
}

const struct sg_level_kernels ISA_NAME(sg_level_kernels_) = {write_levels, read_levels};
