/* sg_magnitude_ranks.h: exact order statistics of the magnitudes of a long stream of floats, in two passes and fixed
 * memory.
 *
 * The bits of |x|, read as a whole number, are ordered like |x|. The first pass counts entries by their upper 15 bits
 * and adds up their squares. The second counts, inside the few bins that hold an asked-for rank, by the lower 16 bits.
 * Ranks come out exact; sums of squares are sums in double, in the order of the stream. It takes 0.75 MiB, and 1 MiB
 * more for every rank asked for. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_MAGNITUDE_RANKS_H
#define SG_MAGNITUDE_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"

typedef struct sg_magnitudes sg_magnitudes;

/* About a rank k, when the stream's N entries are sorted by falling magnitude A_(1) >= A_(2) >= … (Lemma 3). */
struct sg_magnitude_rank {
    uint64_t k;       /* the rank: how many entries are kept, 0..N */
    double kept_last; /* A_(k); infinity for k = 0 */
    double lost_most; /* A_(k+1); 0 for k = N */
    double lost;      /* sum of A_(i)^2 over i > k: the least error that keeping k entries can leave */
};

void sg_magnitudes_open(sg_magnitudes **out);
/* First pass: give every entry once, in calls of any size. All entries must be finite. */
void sg_magnitudes_count(sg_magnitudes *m, const float *x, size_t n);
uint64_t sg_magnitudes_total(const sg_magnitudes *m); /* N, the entries counted so far */
/* Between the passes: ask for ranks, each k <= N. */
SG_CHECKED sg_status sg_magnitudes_ask(sg_magnitudes *m, const uint64_t *k, size_t n_ranks, struct sg_error *err);
/* Second pass: give the same entries in the same order. */
void sg_magnitudes_refine(sg_magnitudes *m, const float *x, size_t n);
/* After the second pass: the i-th rank that was asked for. */
struct sg_magnitude_rank sg_magnitudes_rank(const sg_magnitudes *m, size_t i);
void sg_magnitudes_close(sg_magnitudes *m); /* NULL is fine */

#endif
