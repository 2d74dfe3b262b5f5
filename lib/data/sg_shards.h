/* sg_shards.h: which samples each worker has, from all alike to one class each. */
#ifndef SG_SHARDS_H
#define SG_SHARDS_H

#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"

/* IID: a random permutation is cut. SORTED: it is first sorted by class, so that a shard has one class or few neighbouring
 * ones. DIRICHLET: each worker draws the shares of its classes from Dirichlet(alpha, …, alpha), and its samples by them as
 * long as a class lasts, all workers in turn: alpha large is near IID, alpha -> 0 one class each. */
enum sg_shard_kind { SG_SHARD_IID = 0, SG_SHARD_SORTED = 1, SG_SHARD_DIRICHLET = 2 };

struct sg_shards {
    enum sg_shard_kind kind;
    double alpha; /* > 0, DIRICHLET only */
};

/* Worker i of n has order[i count / n] to before order[(i + 1) count / n]: equal shards, but for one sample. Every sample is
 * in one of them. `class` [count] < classes; the order is a function of all arguments. */
SG_CHECKED sg_status sg_shards_deal(uint32_t *order, const struct sg_shards *shards, const uint8_t *class_of,
                                    size_t count, size_t classes, size_t workers, uint64_t seed, struct sg_error *err);

/* How unlike the shards' classes are: mean over workers of half the sum over classes of |share in the shard - share in all|
 * (total variation): 0 all alike, 1 - 1/classes one class each. */
double sg_shards_skew(const uint32_t *order, const uint8_t *class_of, size_t count, size_t classes, size_t workers);

#endif
