/* shards.c: deals samples to workers: all alike, sorted by class, or by Dirichlet shares of the classes. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_rng.h"
#include "sg_shards.h"

enum { CLASSES = 256 };

size_t sg_shards_cut(size_t count, size_t i, size_t n) {
    SG_ASSERT(n > 0 && i <= n);
    return (size_t)((unsigned __int128)count * i / n);
}

/* Sorts by class and keeps the permutation's order within a class. first [classes + 1] <- where each class begins. */
static void sort_by_class(uint32_t *out, const uint32_t *in, const uint8_t *class_of, size_t count, size_t classes,
                          size_t first[CLASSES + 1]) {
    size_t next[CLASSES];
    memset(first, 0, (CLASSES + 1) * sizeof *first);
    for (size_t i = 0; i < count; i++)
        first[class_of[in[i]] + 1]++;
    SG_ASSERT(classes <= CLASSES);
    for (size_t c = 0; c < classes; c++)
        next[c] = first[c + 1] += first[c];
    SG_ASSERT(first[classes] == count);
    for (size_t i = count; i-- > 0;)
        out[--next[class_of[in[i]]]] = in[i];
}

/* The logarithm of a Gamma(alpha) variate: Marsaglia and Tsang, ACM TOMS 26 (2000), for alpha + 1, then the usual step
 * down to alpha. It is a logarithm because at small alpha most variates are below the smallest double. */
static double log_gamma_variate(sg_rng *rng, double alpha) {
    SG_ASSERT(alpha > 0);
    const double d = alpha + 1 - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = sg_rng_normal(rng), v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        const double u = 1 - sg_rng_uniform(rng);
        if (v > 0 && log(u) < x * x / 2 + d - d * v + d * log(v))
            return log(d * v) + log(1 - sg_rng_uniform(rng)) / alpha;
    }
}

static void dirichlet(double *share, sg_rng *rng, double alpha, size_t classes) {
    double most = -INFINITY;
    for (size_t c = 0; c < classes; c++) {
        share[c] = log_gamma_variate(rng, alpha);
        most = fmax(most, share[c]);
    }
    for (size_t c = 0; c < classes; c++)
        share[c] = exp(share[c] - most);
}

/* Draws a class that still has samples, by the shares. If all shares are 0, it is the last such class. */
static size_t draw_class(sg_rng *rng, const double *share, const size_t *left, size_t classes) {
    double all = 0;
    size_t last = 0;
    for (size_t c = 0; c < classes; c++)
        all += left[c] ? share[c] : 0;
    double at = sg_rng_uniform(rng) * all;
    for (size_t c = 0; c < classes; c++)
        if (left[c]) {
            last = c;
            if (at < share[c])
                return c;
            at -= share[c];
        }
    SG_ASSERT(left[last] > 0);
    return last;
}

static void deal_dirichlet(uint32_t *order, const uint32_t *sorted, const size_t first[CLASSES + 1], size_t count,
                           size_t classes, size_t workers, double alpha, uint64_t seed) {
    double *share = sg_malloc(workers * classes * sizeof *share);
    sg_rng *rng = sg_malloc(workers * sizeof *rng);
    size_t left[CLASSES];
    for (size_t c = 0; c < classes; c++)
        left[c] = first[c + 1] - first[c];
    for (size_t w = 0; w < workers; w++) {
        rng[w] = sg_rng_open(seed, SG_RNG_SHARD, (uint32_t)w + 1, 0);
        dirichlet(share + w * classes, &rng[w], alpha, classes);
    }
    for (size_t i = 0, given = 0; given < count; i++)
        for (size_t w = 0; w < workers; w++) {
            const size_t at = sg_shards_cut(count, w, workers) + i;
            if (at >= sg_shards_cut(count, w + 1, workers))
                continue;
            const size_t c = draw_class(&rng[w], share + w * classes, left, classes);
            SG_ASSERT(left[c] > 0 && left[c] <= first[c + 1] - first[c]);
            order[at] = sorted[first[c + 1] - left[c]--];
            given++;
        }
    free(share);
    free(rng);
}

void sg_shards_deal(uint32_t *order, const struct sg_shards *shards, const uint8_t *class_of, size_t count,
                    size_t classes, size_t workers, uint64_t seed) {
    SG_ASSERT(workers >= 1 && classes >= 1 && classes <= CLASSES);
    size_t first[CLASSES + 1];
    sg_rng rng = sg_rng_open(seed, SG_RNG_SHARD, 0, 0);
    uint32_t *shuffled = shards->kind == SG_SHARD_IID ? order : sg_malloc(2 * (count + 1) * sizeof *shuffled);
    sg_rng_permutation(&rng, shuffled, count);
    if (shards->kind == SG_SHARD_IID)
        return;
    uint32_t *sorted = shards->kind == SG_SHARD_SORTED ? order : shuffled + count;
    sort_by_class(sorted, shuffled, class_of, count, classes, first);
    if (shards->kind == SG_SHARD_DIRICHLET)
        deal_dirichlet(order, sorted, first, count, classes, workers, shards->alpha, seed);
    free(shuffled);
}

double sg_shards_skew(const uint32_t *order, const uint8_t *class_of, size_t count, size_t classes, size_t workers) {
    SG_ASSERT(classes <= CLASSES && count >= workers);
    double all[CLASSES] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        all[class_of[i]] += 1 / (double)count;
    for (size_t w = 0; w < workers; w++) {
        const size_t from = sg_shards_cut(count, w, workers), to = sg_shards_cut(count, w + 1, workers);
        double mine[CLASSES] = {0};
        for (size_t i = from; i < to; i++)
            mine[class_of[order[i]]] += 1 / (double)(to - from);
        for (size_t c = 0; c < classes; c++)
            sum += fabs(mine[c] - all[c]) / 2;
    }
    return sum / (double)workers;
}
