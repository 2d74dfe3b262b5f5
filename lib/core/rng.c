/* rng.c: random numbers by counter (Philox4x32-10): a draw is a function of seed, purpose, worker and step alone. */
/* SPDX-License-Identifier: MIT */
#include "sg_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_philox.h"

sg_rng sg_rng_open(uint64_t seed, enum sg_rng_purpose purpose, uint32_t worker, uint64_t step) {
    SG_ASSERT(worker < 1 << 24 && (unsigned)purpose < 1 << 8);
    return (sg_rng){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, (uint32_t)purpose << 24 | worker, (uint32_t)step, (uint32_t)(step >> 32)},
        .used = 4,
    };
}

static void next_block(sg_rng *r) {
    memcpy(r->block, r->counter, sizeof r->block);
    sg_philox(&r->block[0], &r->block[1], &r->block[2], &r->block[3], r->key[0], r->key[1]);
    r->counter[0]++;
    r->used = 0;
}

uint32_t sg_rng_u32(sg_rng *r) {
    SG_ASSERT(r->used <= 4);
    if (r->used == 4)
        next_block(r);
    return r->block[r->used++];
}

uint64_t sg_rng_u64(sg_rng *r) {
    uint64_t low = sg_rng_u32(r);
    return (uint64_t)sg_rng_u32(r) << 32 | low;
}

uint64_t sg_rng_position(const sg_rng *r) {
    const uint64_t draws_of_stream = (uint64_t)1 << 34;
    return (4 * (uint64_t)r->counter[0] + r->used - 4) % draws_of_stream;
}

void sg_rng_skip(sg_rng *r, uint64_t count) {
    SG_ASSERT(r->used <= 4);
    if (count <= 4 - r->used) {
        r->used += (unsigned)count;
        return;
    }
    const uint64_t rest = count - (4 - r->used) - 1; /* draws of later blocks, but for the last one */
    r->counter[0] += (uint32_t)(rest / 4);
    next_block(r);
    r->used = (unsigned)(rest % 4) + 1;
}

uint64_t sg_rng_below(sg_rng *r, uint64_t bound) {
    SG_ASSERT(bound >= 1);
    if (bound > UINT32_MAX) {
        uint64_t draw, reject = -bound % bound; /* 2^64 mod bound: what is left is a multiple of bound */
        do
            draw = sg_rng_u64(r);
        while (draw < reject);
        return draw % bound;
    }
    /* Lemire 2019: the high half of draw * bound, rejecting the first 2^32 mod bound low halves. */
    const uint32_t narrow = (uint32_t)bound;
    uint64_t product = (uint64_t)sg_rng_u32(r) * narrow;
    if ((uint32_t)product < narrow) {
        const uint32_t reject = -narrow % narrow;
        while ((uint32_t)product < reject)
            product = (uint64_t)sg_rng_u32(r) * narrow;
    }
    return product >> 32;
}

double sg_rng_uniform(sg_rng *r) {
    return (double)(sg_rng_u64(r) >> 11) * 0x1p-53;
}

double sg_rng_normal(sg_rng *r) {
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log(1 - sg_rng_uniform(r))); /* 1 - u is in (0, 1] */
    return radius * cos(two_pi * sg_rng_uniform(r));
}

void sg_rng_permutation(sg_rng *r, uint32_t *out, size_t n) {
    SG_ASSERT(n <= UINT32_MAX);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = sg_rng_below(r, i);
        uint32_t swap = out[i - 1];
        out[i - 1] = out[j];
        out[j] = swap;
    }
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void sg_rng_subset(sg_rng *r, uint32_t *out, size_t k, size_t n) {
    SG_ASSERT(k <= n && n <= UINT32_MAX);
    if (k > n / 16) { /* selection sampling (Knuth's algorithm S): it draws once for each of the n <= 16 k values */
        for (size_t value = 0, have = 0; have < k; value++)
            if (sg_rng_below(r, n - value) < k - have)
                out[have++] = (uint32_t)value;
        SG_ASSERT(sg_ascending_below(out, k, n));
        return;
    }
    /* Draw, drop repeats, and draw as many as are missing. A round treats all values alike, so every subset is equally
     * likely; each round leaves at most about one in 16 missing. */
    for (size_t have = 0; have < k;) {
        for (size_t i = have; i < k; i++)
            out[i] = (uint32_t)sg_rng_below(r, n);
        qsort(out, k, sizeof *out, ascending);
        have = 1;
        for (size_t i = 1; i < k; i++)
            if (out[i] != out[have - 1])
                out[have++] = out[i];
    }
}

struct sg_shuffle sg_shuffle_open(uint64_t seed, enum sg_rng_purpose purpose, uint32_t worker, uint64_t step,
                                  uint64_t n) {
    SG_ASSERT(n >= 1 && n < (uint64_t)1 << 62);
    struct sg_shuffle s = {.n = n};
    sg_rng rng = sg_rng_open(seed, purpose, worker, step);
    uint64_t rows = (uint64_t)sqrt((double)n);
    rows += rows == 0 || rows * rows < n;
    s.rows = (uint32_t)rows;
    s.columns = (uint32_t)((n + rows - 1) / rows);
    SG_ASSERT((uint64_t)s.rows * s.columns >= n);
    for (size_t i = 0; i < SG_SHUFFLE_ROUNDS; i++)
        s.key[i] = sg_rng_u32(&rng);
    return s;
}

/* A hash of x onto 0..bound-1 (the finalizer of MurmurHash3). */
static uint32_t scatter(uint32_t x, uint32_t key, uint32_t bound) {
    SG_ASSERT(bound >= 1);
    x ^= key;
    x = (x ^ x >> 16) * 0x85ebca6b;
    x = (x ^ x >> 13) * 0xc2b2ae35;
    x ^= x >> 16;
    return (uint32_t)((uint64_t)x * bound >> 32);
}

static uint32_t add_modulo(uint32_t a, uint32_t b, uint32_t modulus) {
    SG_ASSERT(a < modulus && b < modulus && modulus <= (uint32_t)1 << 31);
    const uint32_t sum = a + b; /* below 2^32: both are below modulus <= 2^31 */
    return sum >= modulus ? sum - modulus : sum;
}

uint64_t sg_shuffle_at(const struct sg_shuffle *s, uint64_t i) {
    SG_ASSERT(i < s->n);
    do {
        uint32_t row = (uint32_t)(i / s->columns), column = (uint32_t)(i % s->columns);
        for (size_t k = 0; k < SG_SHUFFLE_ROUNDS; k += 2) {
            row = add_modulo(row, scatter(column, s->key[k], s->rows), s->rows);
            column = add_modulo(column, scatter(row, s->key[k + 1], s->columns), s->columns);
        }
        i = (uint64_t)row * s->columns + column;
    } while (i >= s->n);
    return i;
}
