/* codes_isa.c: the table of the codes' inner loops (sg_codes.h), and of these signs, random numbers and rounding.
 * Compiled once per instruction set; nearly all loops are plain C that the compiler makes vectors of. */
/* SPDX-License-Identifier: MIT */
#include "sg_codes.h"

#include <string.h>

#include "philox_isa.h"
#include "sg_debug.h"
#include "sg_half.h"

/* ---- signs ---- */

static size_t count_below(const float *x, size_t n) {
    uint32_t below = 0;
    for (size_t i = 0; i < n; i++)
        below += x[i] < 0;
    return below;
}

/* 16 signs; with intrinsics, because gcc 12 makes 16 comparisons of it. */
static inline uint16_t signs_of(const float *x) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(x), _mm512_setzero_ps(), _CMP_LT_OQ);
#elif defined(__AVX2__)
    const __m256 zero = _mm256_setzero_ps();
    const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x), zero, _CMP_LT_OQ));
    const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + 8), zero, _CMP_LT_OQ));
    return (uint16_t)(low | high << 8);
#else
    unsigned signs = 0;
    for (unsigned b = 0; b < 16; b++)
        signs |= (unsigned)(x[b] < 0) << b;
    return (uint16_t)signs;
#endif
}

static void pack_signs(uint8_t *packed, const float *x, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint16_t signs = signs_of(x + i);
        packed[i / 8] = (uint8_t)signs;
        packed[i / 8 + 1] = (uint8_t)(signs >> 8);
    }
    memset(packed + i / 8, 0, (n - i + 7) / 8);
    for (; i < n; i++)
        packed[i / 8] |= (uint8_t)((unsigned)(x[i] < 0) << i % 8);
}

/* out [16] <- value[bit b of signs], for the same reason with intrinsics. */
static inline void spread_signs(float *out, uint32_t signs, const float *value) {
#if defined(__AVX512F__)
    const __m512 low = _mm512_set1_ps(value[0]), high = _mm512_set1_ps(value[1]);
    _mm512_storeu_ps(out, _mm512_mask_blend_ps((__mmask16)signs, low, high));
#elif defined(__AVX2__)
    const __m256 low = _mm256_set1_ps(value[0]), high = _mm256_set1_ps(value[1]);
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (unsigned half = 0; half < 2; half++) {
        const __m256i set = _mm256_and_si256(_mm256_set1_epi32((int)(signs >> 8 * half)), bit);
        const __m256 mask = _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit));
        _mm256_storeu_ps(out + 8 * half, _mm256_blendv_ps(low, high, mask));
    }
#else
    for (unsigned b = 0; b < 16; b++)
        out[b] = value[signs >> b & 1];
#endif
}

static void unpack_signs(float *out, const uint8_t *packed, size_t first, size_t n, const float *value) {
    const size_t end = first + n;
    size_t i = first;
    for (; i < end && i % 8 > 0; i++)
        *out++ = value[packed[i / 8] >> i % 8 & 1];
    for (; i + 16 <= end; i += 16, out += 16)
        spread_signs(out, packed[i / 8] | (uint32_t)packed[i / 8 + 1] << 8, value);
    for (; i < end; i++)
        *out++ = value[packed[i / 8] >> i % 8 & 1];
}

static const uint32_t *draws(uint32_t *room, const uint32_t *key, const uint32_t *counter, uint64_t first,
                             size_t count) {
    return philox_draws(room, key, counter, first, count);
}

/* ---- rounding ---- */

/* a >= 0, below 2^31, as a whole number: the nearest one, ties to even; with a draw the one below, or with the
 * probability a - floor(a) the one above. */
static inline int32_t rounded(double a, const uint32_t *draw, size_t j) {
    if (!draw)
        return (int32_t)((a + 0x1p52) - 0x1p52);
    const int32_t whole = (int32_t)a;
    return whole + (0x1p-24 * (double)(int32_t)(draw[j] >> 8) < a - (double)whole);
}

__attribute__((always_inline)) static inline void multiples(uint32_t *restrict field, const float *restrict x,
                                                            size_t count, const struct sg_multiples *m, bool clamps,
                                                            const uint32_t *restrict draw) {
    const double unit = m->unit, most = m->most;
    const uint32_t beyond = 1U << (m->bits - 1), mask = 2 * beyond - 1;
    for (size_t j = 0; j < count; j++) {
        const double a = (double)__builtin_fabsf(x[j]) / unit;
        const int32_t q = rounded(a < most ? a : most, draw, j), negative = 0 - (x[j] < 0);
        const uint32_t written = (uint32_t)((q ^ negative) - negative) & mask;
        field[j] = clamps || a <= most ? written : beyond;
    }
}

static void write_multiples(uint32_t *field, const float *x, size_t count, const struct sg_multiples *m,
                            const uint32_t *draw) {
    if (m->clamps && draw) /* four loops of constant settings */
        multiples(field, x, count, m, true, draw);
    else if (m->clamps)
        multiples(field, x, count, m, true, NULL);
    else if (draw)
        multiples(field, x, count, m, false, draw);
    else
        multiples(field, x, count, m, false, NULL);
}

static void read_multiples(float *restrict out, const uint32_t *restrict field, size_t count, float unit,
                           unsigned bits) {
    for (size_t j = 0; j < count; j++) {
        const uint32_t known = field[j] == 1U << (bits - 1) ? 0 : field[j];
        out[j] = unit * (float)((int32_t)(known << (32 - bits)) >> (32 - bits));
    }
}

static void write_halves(uint16_t *restrict half, const float *restrict x, size_t count) {
    SG_ASSERT(sg_all_finite(x, count));
    for (size_t j = 0; j < count; j++)
        half[j] = sg_half_of(x[j]);
}

static void read_halves(float *restrict out, const uint16_t *restrict half, size_t count) {
    for (size_t j = 0; j < count; j++)
        out[j] = sg_half_value(half[j]);
}

/* Bits of floats as integers of the same order, -0 below +0; and back. */
static inline int32_t ordered(int32_t bits) {
    return bits ^ (bits >> 31 & 0x7fffffff);
}

static float first_zero(const float *x) {
    while (*x != 0)
        x++;
    return *x;
}

static void extremes(float *lowest_highest, const float *x, size_t n) {
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits = ordered(bits);
        low = bits < low ? bits : low;
        high = bits > high ? bits : high;
    }
    lowest_highest[0] = sg_float_of_bits((uint32_t)ordered(low));
    lowest_highest[1] = sg_float_of_bits((uint32_t)ordered(high));
    for (size_t i = 0; i < 2; i++)
        if (lowest_highest[i] == 0)
            lowest_highest[i] = first_zero(x);
}

__attribute__((always_inline)) static inline void places(uint32_t *restrict field, const float *restrict x,
                                                         size_t count, double low, double step, uint32_t most,
                                                         const uint32_t *restrict draw) {
    for (size_t j = 0; j < count; j++) {
        const double a = ((double)x[j] - low) / step;
        const int32_t place = draw ? rounded(a, draw, j) : (int32_t)(a + 0.5);
        field[j] = (uint32_t)(place < (int32_t)most ? place : (int32_t)most);
    }
}

static void write_places(uint32_t *field, const float *x, size_t count, double low, double step, uint32_t most,
                         const uint32_t *draw) {
    if (draw)
        places(field, x, count, low, step, most, draw);
    else
        places(field, x, count, low, step, most, NULL);
}

static void read_places(float *restrict out, const uint32_t *restrict field, size_t count, double low, double step) {
    for (size_t j = 0; j < count; j++)
        out[j] = (float)(low + step * (double)(int32_t)field[j]);
}

/* ---- levels of a unit ---- */

static void write_levels(uint32_t *restrict field, const float *restrict x, size_t count, float unit, uint32_t levels,
                         unsigned bits, const uint32_t *restrict draw) {
    const float most = (float)levels;
    for (size_t j = 0; j < count; j++) {
        float a = __builtin_fabsf(x[j]) / unit;
        a = a < most ? a : most;
        const int32_t whole = (int32_t)a;
        const int32_t up = (float)(int32_t)(draw[j] >> 8) < (a - (float)whole) * 0x1p24f;
        const uint32_t level = (uint32_t)(whole + up);
        field[j] = level | ((uint32_t)(x[j] < 0) & (uint32_t)(level > 0)) << (bits - 1);
    }
}

static void read_levels(float *restrict out, const uint32_t *restrict field, size_t count, float unit, unsigned bits) {
    const uint32_t mask = (1U << (bits - 1)) - 1;
    for (size_t j = 0; j < count; j++) {
        const float magnitude = unit * (float)(int32_t)(field[j] & mask);
        out[j] = field[j] >> (bits - 1) ? -magnitude : magnitude;
    }
}

/* ---- powers of two ---- */

static void write_powers(uint32_t *restrict field, const float *restrict x, size_t count, uint32_t lowest,
                         uint32_t highest, unsigned bits, const uint32_t *restrict draw) {
    for (size_t j = 0; j < count; j++) {
        const uint32_t word = sg_float_bits(x[j]), magnitude = word & 0x7fffffff;
        uint32_t exponent = (magnitude >> 23) + ((magnitude & 0x7fffff) > draw[j] >> 9);
        exponent = exponent > highest ? highest : exponent;
        exponent = exponent > lowest ? exponent - lowest : 0;
        field[j] = exponent | (exponent > 0 ? word >> 31 : 0) << (bits - 1);
    }
}

static void read_powers(float *restrict out, const uint32_t *restrict field, size_t count, uint32_t lowest,
                        unsigned bits) {
    const uint32_t mask = (1U << (bits - 1)) - 1;
    for (size_t j = 0; j < count; j++) {
        const uint32_t exponent = field[j] & mask;
        out[j] = sg_float_of_bits((exponent > 0 ? exponent + lowest : 0) << 23 | field[j] >> (bits - 1) << 31);
    }
}

/* a = |x| / norm = (1 + f) 2^E lies between the levels `levels` + E and one more, or between 0 and the first. As a
 * double it is no denormal number, if it is not 0. */
static void write_parts(uint32_t *restrict field, const float *restrict x, size_t count, float norm, uint32_t levels,
                        unsigned bits, const uint32_t *restrict draw) {
    const double of_least = (double)(sg_float_of_bits((levels - 1 + 127) << 23)); /* 2^(levels-1) */
    for (size_t j = 0; j < count; j++) {
        const double a = (double)__builtin_fabsf(x[j]) / (double)norm, u = 0x1p-24 * (double)(int32_t)(draw[j] >> 8);
        uint64_t word;
        double fraction;
        memcpy(&word, &a, sizeof word);
        const int32_t below = (int32_t)(word >> 52) - 1023 + (int32_t)levels;
        word = (word & 0xfffffffffffff) | (uint64_t)1023 << 52;
        memcpy(&fraction, &word, sizeof fraction);
        const int32_t to_least = u < a * of_least, above = below + (u < fraction - 1), inside = 0 - (a < 1);
        int32_t level = below < 1 ? to_least : above;
        level = (level & inside) | ((int32_t)levels & ~inside);
        const uint32_t negative = (uint32_t)(x[j] < 0) & (uint32_t)(level > 0);
        field[j] = (uint32_t)level | negative << (bits - 1);
    }
}

/* The products of the norm and a power of two are what ldexpf gives: rounded once where they are denormal. */
static void read_parts(float *restrict out, const uint32_t *restrict field, size_t count, float norm, uint32_t levels,
                       unsigned bits) {
    const uint32_t mask = (1U << (bits - 1)) - 1;
    for (size_t j = 0; j < count; j++) {
        const uint32_t level = field[j] & mask;
        const float magnitude = norm * sg_float_of_bits(level > 0 ? (level - levels + 127) << 23 : 0);
        out[j] = sg_float_of_bits(sg_float_bits(magnitude) | field[j] >> (bits - 1) << 31);
    }
}

/* ---- the nearest of given values ---- */

/* The places are found in vectors, and then looked up one by one: gathered loads are no faster, on some processors far
 * slower. */
static void write_ranks(uint32_t *restrict field, const float *restrict x, size_t count, float norm,
                        const struct sg_ranks *restrict ranks, unsigned bits) {
    enum { PIECE = 64 };
    const int32_t first = (1023 - SG_RANK_POWERS) << SG_RANK_BITS;
    double a[PIECE];
    int32_t place[PIECE];
    for (size_t at = 0, now; at < count; at += now) {
        now = count - at < PIECE ? count - at : PIECE;
        for (size_t j = 0; j < now; j++) {
            uint64_t word;
            a[j] = (double)__builtin_fabsf(x[at + j]) / (double)norm;
            memcpy(&word, &a[j], sizeof word);
            place[j] = (int32_t)(word >> (52 - SG_RANK_BITS)) - first;
            place[j] = place[j] < 0 ? 0 : place[j];
            place[j] = place[j] < SG_RANK_PLACES ? place[j] : SG_RANK_PLACES - 1;
        }
        for (size_t j = 0; j < now; j++) {
            const uint32_t below = ranks->below[place[j]];
            field[at + j] = (below + (a[j] > ranks->edge[below])) | (uint32_t)(x[at + j] < 0) << (bits - 1);
        }
    }
}

static void read_ranks(float *restrict out, const uint32_t *restrict field, size_t count, float norm,
                       const double *restrict value, unsigned bits) {
    for (size_t j = 0; j < count; j++) {
        const float magnitude = (float)((double)norm * value[field[j] % SG_RANKS]);
        out[j] = sg_float_of_bits(sg_float_bits(magnitude) | field[j] >> (bits - 1) << 31);
    }
}

const struct sg_code_kernels ISA_NAME(sg_code_kernels_) = {
    .sum_block = ISA_NAME(sum_block_),
    .count_below = count_below,
    .pack_signs = pack_signs,
    .unpack_signs = unpack_signs,
    .draws = draws,
    .pack = ISA_NAME(pack_fields_),
    .unpack = ISA_NAME(unpack_fields_),
    .write_multiples = write_multiples,
    .read_multiples = read_multiples,
    .write_halves = write_halves,
    .read_halves = read_halves,
    .extremes = extremes,
    .write_places = write_places,
    .read_places = read_places,
    .write_levels = write_levels,
    .read_levels = read_levels,
    .write_powers = write_powers,
    .read_powers = read_powers,
    .write_parts = write_parts,
    .read_parts = read_parts,
    .write_ranks = write_ranks,
    .read_ranks = read_ranks,
};
