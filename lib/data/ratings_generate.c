/* ratings_generate.c: ratings that stand in for MovieLens: users rate items that are popular and fit their taste. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_ratings.h"

enum { TASTES = 4 };

/* Streams: (seed, GENERATE, WORKER, number). */
enum { STREAM_USER = 1, STREAM_ITEM = 2, STREAM_COUNT = 3 };

static void draw_tastes(float out[TASTES], sg_rng *rng) {
    for (size_t k = 0; k < TASTES; k++)
        out[k] = (float)sg_rng_normal(rng);
}

/* How many ratings a user has: SG_RATINGS_LEAST plus a multiple of the square of an exponential draw, whose mean is 2;
 * at most a third of the items. */
static size_t draw_count(uint64_t seed, size_t user, double mean, size_t items) {
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_COUNT, user);
    const double exponential = -log(1 - sg_rng_uniform(&rng)), most = (double)(items / 3);
    return (size_t)fmin(SG_RATINGS_LEAST + fmax(0, mean - SG_RATINGS_LEAST) * exponential * exponential / 2, most);
}

/* Fill the ratings of one user in the order of their times. taken [items] is false everywhere, before and after. */
static void choose(struct sg_rating *out, size_t count, size_t user, const float (*item_taste)[TASTES], size_t items,
                   uint64_t seed, bool *taken) {
    SG_ASSERT(count <= items / 3);
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_USER, user);
    float taste[TASTES];
    draw_tastes(taste, &rng);
    for (size_t n = 0; n < count;) {
        const double u = sg_rng_uniform(&rng);
        const size_t item = (size_t)((double)items * u * u * u * u * u);
        double liking = -2;
        for (size_t k = 0; k < TASTES; k++)
            liking += (double)taste[k] * (double)item_taste[item][k];
        if (taken[item] || sg_rng_uniform(&rng) * (1 + exp(-liking)) >= 1)
            continue;
        taken[item] = true;
        out[n] = (struct sg_rating){(uint32_t)user + 1, (uint32_t)item + 1, (int64_t)n};
        n++;
    }
    for (size_t n = 0; n < count; n++)
        taken[out[n].item - 1] = false;
}

sg_status sg_ratings_generate(struct sg_rating **out, size_t *count, size_t users, size_t items, size_t ratings,
                              uint64_t seed, struct sg_error *err) {
    if (users == 0 || users > SG_RATINGS_MOST_ID || items < 3 * SG_RATINGS_LEAST || items > SG_RATINGS_MOST_ID)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "ratings-like: %zu users of %zu items are not between 1 and %d of %d to %d", users, items,
                       SG_RATINGS_MOST_ID, 3 * SG_RATINGS_LEAST, SG_RATINGS_MOST_ID);
    float(*taste)[TASTES] = sg_malloc(items * sizeof *taste);
    size_t *start = sg_malloc((users + 1) * sizeof *start);
    start[0] = 0;
    for (size_t u = 0; u < users; u++)
        start[u + 1] = start[u] + draw_count(seed, u, (double)ratings / (double)users, items);
    struct sg_rating *rating = sg_malloc(start[users] * sizeof *rating);
    for (size_t i = 0; i < items; i++) {
        sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_ITEM, i);
        draw_tastes(taste[i], &rng);
    }
#pragma omp parallel
    {
        bool *taken = sg_calloc(items, sizeof *taken);
#pragma omp for schedule(dynamic, 64)
        for (size_t u = 0; u < users; u++)
            choose(rating + start[u], start[u + 1] - start[u], u, (const float(*)[TASTES])taste, items, seed, taken);
        free(taken);
    }
    *out = rating;
    *count = start[users];
    free(start);
    free(taste);
    return SG_OK;
}
