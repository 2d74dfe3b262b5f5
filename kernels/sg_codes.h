/* sg_codes.h: the inner loops of the codes of lib/wire: sums, signs, random numbers, rounding, halves, and fields
 * of few bits.
 * The codes define the format of these bits. All tables give the same bits, and the
 * plain C table is the specification. Calls run on the caller's thread, and arrays do not overlap. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_CODES_H
#define SG_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The terms that sum_block adds. */
enum sg_term {
    SG_TERM_SQUARES,    /* squares */
    SG_TERM_MAGNITUDES, /* magnitudes */
    SG_TERM_SIDES       /* the numbers above 0, and those below 0 */
};

/* Numbers as integer multiples q of a unit, |q| <= most. A field is q in two's complement. */
struct sg_multiples {
    double unit;   /* finite, > 0 */
    uint32_t most; /* the largest |q|, below 2^(bits-1) */
    unsigned bits; /* of a field, 2 .. 24 */
    /* For a magnitude above `most` units. true: q is clamped to +-most. false: its field is -2^(bits-1). */
    bool clamps;
};

/* 128 ascending values in 0 .. 1, separated by edges. The rank of a number is the count of edges below it. To avoid a
 * search, the numbers from 2^-19 to 1 are divided into intervals ("places"), 64 for every power of two. */
enum { SG_RANKS = 128, SG_RANK_BITS = 6, SG_RANK_POWERS = 19, SG_RANK_PLACES = (SG_RANK_POWERS << SG_RANK_BITS) + 1 };
struct sg_ranks {
    double edge[SG_RANKS];          /* the last is INFINITY; none is below 2^-19, and no interval has two */
    uint32_t below[SG_RANK_PLACES]; /* how many edges are below the interval */
};

/* The lower bound of an interval. */
static inline double sg_rank_place_begin(uint32_t place) {
    const uint64_t word = (((uint64_t)(1023 - SG_RANK_POWERS) << SG_RANK_BITS) + place) << (52 - SG_RANK_BITS);
    double begin;
    memcpy(&begin, &word, sizeof begin);
    return begin;
}

/* `draw` has a random number of 32 bits for each x[j], which is finite. x[j] is rounded up if its fraction above the
 * lower multiple is larger than the draw's 24 high bits, read as a fraction. NULL = rounded to the nearest. */
struct sg_code_kernels {
    /* sum[0] <- the sum over n <= SG_KERNEL_BLOCK numbers, in the order of sg_kernels.h; for SIDES also sum[1]. */
    void (*sum_block)(double *sum, const float *x, size_t n, enum sg_term term);
    /* How many of n <= 2^31 numbers are below 0. */
    size_t (*count_below)(const float *x, size_t n);

    /* Bit j % 8 of packed[j / 8] <- 1 if x[j] < 0, else 0. Unused bits of the last byte become 0. */
    void (*pack_signs)(uint8_t *packed, const float *x, size_t n);
    /* out[j] <- value[bit first + j of `packed`] */
    void (*unpack_signs)(float *out, const uint8_t *packed, size_t first, size_t n, const float *value);

    /* Random numbers first .. first + count - 1 of a stream: sg_philox_draws of sg_philox.h. */
    const uint32_t *(*draws)(uint32_t *room, const uint32_t *key, const uint32_t *counter, uint64_t first,
                             size_t count);

    /* Writes consecutive fields of `bits` bits, 1 .. 32: bit b is bit b % 8 of byte b / 8. It writes whole bytes, and
     * the bits after the last field are 0. */
    void (*pack)(uint8_t *out, const uint32_t *field, size_t count, unsigned bits);
    /* field [count] <- fields first .. first + count - 1. Reads up to 8 bytes after them. */
    void (*unpack)(uint32_t *field, const uint8_t *in, size_t first, size_t count, unsigned bits);

    void (*write_multiples)(uint32_t *field, const float *x, size_t count, const struct sg_multiples *m,
                            const uint32_t *draw);
    /* out[j] <- q units; the field -2^(bits-1) becomes 0. */
    void (*read_multiples)(float *out, const uint32_t *field, size_t count, float unit, unsigned bits);

    /* half[j] <- the half nearest to x[j], which is finite (sg_half.h). */
    void (*write_halves)(uint16_t *half, const float *x, size_t count);
    /* out[j] <- half[j], exactly; all halves are finite. */
    void (*read_halves)(float *out, const uint16_t *half, size_t count);

    /* lowest_highest [2] <- the minimum and the maximum of n >= 1 numbers; ties go to the first. */
    void (*extremes)(float *lowest_highest, const float *x, size_t n);
    /* field[j] <- x[j] rounded to low + l step, as l = 0 .. most < 2^16; ties go up; x >= low, step > 0 */
    void (*write_places)(uint32_t *field, const float *x, size_t count, double low, double step, uint32_t most,
                         const uint32_t *draw);
    void (*read_places)(float *out, const uint32_t *field, size_t count, double low, double step);

    /* |x| / unit, in float and at most `levels` <= 32767, is rounded to the level below or above. A field has `bits`
     * bits: the level, and above it the sign; level 0 has no sign. unit > 0 */
    void (*write_levels)(uint32_t *field, const float *x, size_t count, float unit, uint32_t levels, unsigned bits,
                         const uint32_t *draw);
    void (*read_levels)(float *out, const uint32_t *field, size_t count, float unit, unsigned bits);

    /* A power of two as the exponent E of a float, 0 for the number 0. A field has `bits` bits: E - lowest, but at
     * least 0 and at most highest - lowest, and above it the sign. */
    void (*write_powers)(uint32_t *field, const float *x, size_t count, uint32_t lowest, uint32_t highest,
                         unsigned bits, const uint32_t *draw);
    void (*read_powers)(float *out, const uint32_t *field, size_t count, uint32_t lowest, unsigned bits);

    /* 0, or norm 2^(k-levels) for k = 1 .. levels <= 127. A field has `bits` bits: k, and above it the sign. norm >
     * 0 */
    void (*write_parts)(uint32_t *field, const float *x, size_t count, float norm, uint32_t levels, unsigned bits,
                        const uint32_t *draw);
    void (*read_parts)(float *out, const uint32_t *field, size_t count, float norm, uint32_t levels, unsigned bits);

    /* A field has `bits` bits: the rank of |x| / norm, and above it the sign. norm > 0, and no |x| is above it. */
    void (*write_ranks)(uint32_t *field, const float *x, size_t count, float norm, const struct sg_ranks *ranks,
                        unsigned bits);
    /* out[j] <- plus or minus norm value[rank], value [SG_RANKS] */
    void (*read_ranks)(float *out, const uint32_t *field, size_t count, float norm, const double *value, unsigned bits);
};

#ifdef __cplusplus
}
#endif
#endif
