/* Shards: every sample once, equal sizes, and as unlike as asked for. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_rng.h"
#include "sg_shards.h"
#include "tap.h"

enum { N = 6007, CLASSES = 10, WORKERS = 8 };

static uint8_t class_of[N];

static bool deal(uint32_t order[N], enum sg_shard_kind kind, double alpha, size_t workers, uint64_t seed) {
    const struct sg_shards shards = {kind, alpha};
    static bool seen[N];
    size_t once = 0;
    memset(order, 0xff, N * sizeof *order);
    memset(seen, 0, sizeof seen);
    sg_shards_deal(order, &shards, class_of, N, CLASSES, workers, seed);
    for (size_t i = 0; i < N; i++)
        if (order[i] < N && !seen[order[i]]) {
            seen[order[i]] = true;
            once++;
        }
    return once == N;
}

static double skew(const uint32_t order[N], size_t workers) {
    return sg_shards_skew(order, class_of, N, CLASSES, workers);
}

/* Mean over seeds of the skew of Dirichlet shards. */
static double mean_skew(double alpha) {
    static uint32_t order[N];
    double sum = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        deal(order, SG_SHARD_DIRICHLET, alpha, WORKERS, seed);
        sum += skew(order, WORKERS) / 20;
    }
    return sum;
}

int main(void) {
    static uint32_t order[N], again[N];
    sg_rng rng = sg_rng_open(3, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < N; i++)
        class_of[i] = (uint8_t)sg_rng_below(&rng, CLASSES);
    ok(deal(order, SG_SHARD_IID, 0, WORKERS, 7), "iid: every sample once");
    rng = sg_rng_open(7, SG_RNG_SHARD, 0, 0);
    sg_rng_permutation(&rng, again, N);
    ok(memcmp(order, again, sizeof order) == 0, "iid: the permutation of the seed");
    /* a shard of 750 holds each class with a standard deviation of 8 */
    ok(skew(order, WORKERS) < 0.08, "iid: skew %.3f", skew(order, WORKERS));

    ok(deal(order, SG_SHARD_SORTED, 0, WORKERS, 7), "sorted: every sample once");
    size_t falls = 0;
    for (size_t i = 1; i < N; i++)
        falls += class_of[order[i]] < class_of[order[i - 1]];
    ok(falls == 0, "sorted: by class");
    deal(again, SG_SHARD_SORTED, 0, WORKERS, 8);
    ok(memcmp(order, again, sizeof order) != 0, "sorted: another seed deals other samples of a class");
    ok(deal(order, SG_SHARD_SORTED, 0, 1000, 7) && skew(order, 1000) > 0.89 && skew(order, 1000) < 0.91,
       "sorted, many workers: one class each, skew %.3f", skew(order, 1000));

    ok(deal(order, SG_SHARD_DIRICHLET, 0.5, WORKERS, 7) && deal(again, SG_SHARD_DIRICHLET, 0.5, WORKERS, 7) &&
           memcmp(order, again, sizeof order) == 0,
       "dirichlet: every sample once, the same again");
    /* E|q - 1/C| / 2 summed over C classes, q ~ Beta(alpha, 9 alpha), less what running out of a class evens out: much
     * where 8 workers choose one of 10 classes each that last for 0.8 of a shard */
    const double wide = mean_skew(100), middle = mean_skew(1), narrow = mean_skew(0.1), one = mean_skew(1e-6);
    ok(wide < 0.1 && middle > 0.25 && middle < 0.4 && narrow > 0.5 && narrow < 0.8 && one > 0.5 && one <= 0.9,
       "dirichlet: skew %.3f, %.3f, %.3f, %.3f at alpha 100, 1, 0.1, 1e-6", wide, middle, narrow, one);
    bool whole = true;
    for (size_t workers = 1; workers < 40; workers += 7)
        whole &= deal(order, SG_SHARD_DIRICHLET, 0.01, workers, workers);
    ok(whole, "dirichlet: any number of workers");
    return tap_done();
}
