/* sg_shards.h: deals samples to workers, from shards that are all alike to shards of one class each. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_SHARDS_H
#define SG_SHARDS_H

#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"

/* IID: a random permutation of the samples is cut. SORTED: the permutation is sorted by class before it is cut, so a
 * shard has one class or a few neighbouring ones. DIRICHLET: each worker draws the shares of its classes from
 * Dirichlet(alpha, …, alpha), and then, in turn with the others, samples by these shares as long as a class lasts. A
 * large alpha is near IID; alpha -> 0 gives one class each. */
enum sg_shard_kind { SG_SHARD_IID = 0, SG_SHARD_SORTED = 1, SG_SHARD_DIRICHLET = 2 };

struct sg_shards {
    enum sg_shard_kind kind;
    double alpha; /* > 0, DIRICHLET only */
};

/* Where worker i's part begins when n workers share `count` samples: it has those from sg_shards_cut(count, i, n) to
 * before sg_shards_cut(count, i + 1, n). */
size_t sg_shards_cut(size_t count, size_t i, size_t n);

/* Fills order [count], which sg_shards_cut cuts into the workers' shards. Sizes of shards differ by at most one sample,
 * and every sample is in exactly one shard. class_of [count] < classes. The order is a function of all arguments. */
void sg_shards_deal(uint32_t *order, const struct sg_shards *shards, const uint8_t *class_of, size_t count,
                    size_t classes, size_t workers, uint64_t seed);

/* How different the classes of the shards are: the mean over workers of half the sum over classes of |share in the
 * shard - share in all| (total variation). 0 = all alike; 1 - 1/classes = one class each. */
double sg_shards_skew(const uint32_t *order, const uint8_t *class_of, size_t count, size_t classes, size_t workers);

#endif
