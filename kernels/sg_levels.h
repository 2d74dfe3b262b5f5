/* sg_levels.h: numbers as levels of a unit, packed bit by bit: the inner loops of the code `levels`
 * (lib/wire/code_levels.c), which defines what they write. All tables give the same bytes and the same floats. */
#ifndef SG_LEVELS_H
#define SG_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One part of a message. */
struct sg_levels {
    const uint8_t *unit;         /* 4 bytes a bucket: its unit, a little-endian float */
    uint8_t *packed;             /* the numbers */
    size_t bucket;               /* numbers that share a unit */
    uint32_t levels;             /* s */
    unsigned bits;               /* a number, 2 .. 16: the sign above the level */
    uint32_t key[2], counter[4]; /* of the stream of random numbers at its start */
    uint64_t first_draw;         /* number in the stream that belongs to the part's first number */
};

struct sg_level_kernels {
    /* Numbers begin .. end-1 of the part, value [end - begin], finite; begin is a multiple of 8, and so is end unless it is
     * the part's. Bits behind the last number are 0. */
    void (*write)(const struct sg_levels *l, const float *value, size_t begin, size_t end);
    /* out [end - begin] <- numbers begin .. end-1. Up to 8 bytes behind the last number are read. */
    void (*read)(const struct sg_levels *l, float *out, size_t begin, size_t end);
};

/* The table of the instruction set that sg_kernels_cpu(name) chooses; NULL if there is none. */
const struct sg_level_kernels *sg_level_kernels_cpu(const char *name);

#ifdef __cplusplus
}
#endif
#endif
