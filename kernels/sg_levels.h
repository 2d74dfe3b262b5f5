/* sg_levels.h: the inner loops of the code `levels`: they round numbers to levels of a unit, and pack and unpack the
 * bits. lib/wire/code_levels.c calls them and defines what they write. All tables give the same bytes and the same
 * floats. */
#ifndef SG_LEVELS_H
#define SG_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One part of a message: numbers that share s and lie behind each other in `packed`. */
struct sg_levels {
    const uint8_t *unit;         /* for each bucket 4 bytes: its unit, a little-endian float */
    uint8_t *packed;             /* the numbers, `bits` each; read as well as written */
    size_t bucket;               /* numbers that share a unit */
    uint32_t levels;             /* s, the largest level: 1 .. 32767 */
    unsigned bits;               /* of a number, 2 .. 16: the level in the lower ones, the sign in the highest */
    uint32_t key[2], counter[4]; /* the stream of random numbers (sg_rng.h) at its start; only for writing */
    uint64_t first_draw;         /* position in the stream of the draw for the part's first number */
};

struct sg_level_kernels {
    /* Writes numbers begin .. end-1 of the part from value [end - begin], all finite. begin is a multiple of 8, and so
     * is end unless the part ends there. The bits behind the part's last number become 0. Distinct ranges may be
     * written from distinct threads. */
    void (*write)(const struct sg_levels *l, const float *value, size_t begin, size_t end);
    /* out [end - begin] <- numbers begin .. end-1. It reads up to 8 bytes behind the part's last number. */
    void (*read)(const struct sg_levels *l, float *out, size_t begin, size_t end);
};

/* The table of the instruction set that sg_kernels_cpu(name) chooses; NULL if that returns NULL. */
const struct sg_level_kernels *sg_level_kernels_cpu(const char *name);

#ifdef __cplusplus
}
#endif
#endif
