/* sg_rng.h: counter-based random numbers (Philox4x32-10, Salmon et al., SC 2011).
 *
 * (seed, purpose, worker, step) identifies a stream. The same stream has the same numbers on any rank, thread and
 * machine, so a checkpoint saves no generator. A stream has 2^34 draws of 32 bits. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_RNG_H
#define SG_RNG_H

#include "sg_unstable.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The purpose of a stream. All results depend on these values, so they never change and none is reused. */
enum sg_rng_purpose {
    SG_RNG_SHARD = 1,        /* the permutation of the rows over workers */
    SG_RNG_SAMPLE = 2,       /* rows drawn by a worker at a step */
    SG_RNG_COMPRESS = 3,     /* a compressor's own randomness */
    SG_RNG_GENERATE = 4,     /* generated data */
    SG_RNG_INIT = 5,         /* parameter initialisation */
    SG_RNG_SOLVE = 6,        /* start vectors of solvers */
    SG_RNG_TEST = 7,         /* tests and benchmarks */
    SG_RNG_AUGMENT = 8,      /* data augmentation */
    SG_RNG_DROPOUT = 9,      /* dropout masks */
    SG_RNG_NEGATIVE = 10,    /* items that a user did not rate, used as negative examples */
    SG_RNG_CODE = 11,        /* random rounding in a code of numbers */
    SG_RNG_START = 12,       /* start values of a compressor's own iteration */
    SG_RNG_REFRESH = 13,     /* whether a worker moves its reference point at a step (variance reduction) */
    SG_RNG_PARTICIPATE = 14, /* which workers take part in a step */
    SG_RNG_BOOTSTRAP = 15,   /* seeds and methods that a bootstrap of results/analysis draws; the step is the draw */
    SG_RNG_TRIAL = 16        /* values of a trial; the worker is a hash of the key's path, the step the trial */
};

/* The worker of streams that all workers share. */
enum { SG_RNG_ALL_WORKERS = (1 << 24) - 1 };

typedef struct sg_rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4];
    unsigned used; /* numbers of `block` that were returned already */
} sg_rng;

/* Opens a stream at its start. worker < 2^24, purpose < 2^8, any step. */
SG_UNSTABLE sg_rng sg_rng_open(uint64_t seed, enum sg_rng_purpose purpose, uint32_t worker, uint64_t step);

SG_UNSTABLE uint32_t sg_rng_u32(sg_rng *r);

SG_UNSTABLE uint64_t sg_rng_u64(sg_rng *r);

/* How many 32-bit draws of its stream, modulo 2^34, have been made. */
SG_UNSTABLE uint64_t sg_rng_position(const sg_rng *r);

/* Advances r like `count` calls of sg_rng_u32. */
SG_UNSTABLE void sg_rng_skip(sg_rng *r, uint64_t count);

/* Uniform on {0, ..., bound-1}, without bias; bound >= 1. */
SG_UNSTABLE uint64_t sg_rng_below(sg_rng *r, uint64_t bound);

/* Uniform on [0, 1): a multiple of 2^-53. */
SG_UNSTABLE double sg_rng_uniform(sg_rng *r);

/* A standard normal number (Box-Muller: one value from two uniforms). */
SG_UNSTABLE double sg_rng_normal(sg_rng *r);

/* Writes a random permutation of 0..n-1 into out [n] (Fisher-Yates); n < 2^32. */
SG_UNSTABLE void sg_rng_permutation(sg_rng *r, uint32_t *out, size_t n);

/* Writes k distinct values of {0..n-1} into out [k], ascending. Each subset is equally likely. k <= n < 2^32; the time
 * is O(k log k). */
SG_UNSTABLE void sg_rng_subset(sg_rng *r, uint32_t *out, size_t k, size_t n);

/* A permutation of 0..n-1 whose elements are computed one by one. It serves where n is too large for a table, or where
 * every step needs a new one. It is a Feistel network over pairs (row, column) with columns * rows >= n, applied again
 * until the result is below n (Black and Rogaway, CT-RSA 2002). It is identified like a stream; 1 <= n < 2^62. */
enum { SG_SHUFFLE_ROUNDS = 8 };
struct sg_shuffle {
    uint64_t n;
    uint32_t rows, columns;
    uint32_t key[SG_SHUFFLE_ROUNDS];
};
SG_UNSTABLE struct sg_shuffle sg_shuffle_open(uint64_t seed, enum sg_rng_purpose purpose, uint32_t worker,
                                              uint64_t step, uint64_t n);
SG_UNSTABLE uint64_t sg_shuffle_at(const struct sg_shuffle *s, uint64_t i); /* i < n */

#ifdef __cplusplus
}
#endif
#endif
