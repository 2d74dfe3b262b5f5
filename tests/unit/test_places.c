/* The places of a ranking: by hand, and of simulated methods of which the truth is known. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sg_places.h"
#include "sg_rng.h"

static sg_rng rng;

/* How often the sign-flip test parts methods: two equal ones at most in 5 % of cases, whatever their noise, and twice
 * the cost always, with as many seeds as places need. */
static void test_places(size_t seeds) {
    enum { METHODS_HERE = 4, MOST_SEEDS = 20, MANY = 4000 };
    static const double worse[METHODS_HERE] = {0, 0, 2, 2}; /* two pairs of equal methods */
    double cost[METHODS_HERE * MOST_SEEDS];
    struct sg_standing place[METHODS_HERE];
    size_t together = 0, apart = 0;
    for (size_t r = 0; r < MANY; r++) {
        for (size_t s = 0; s < seeds; s++) {
            const double common = sg_rng_normal(&rng); /* what a seed does to all */
            for (size_t i = 0; i < METHODS_HERE; i++)
                cost[i * seeds + s] = worse[i] + common + 0.3 * sg_rng_normal(&rng);
        }
        sg_places(place, cost, METHODS_HERE, seeds);
        together += place[0].first == place[1].first;
        together += place[2].first == place[3].first;
        apart += place[0].last <= 2 && place[1].last <= 2 && place[2].first > 2 && place[3].first > 2;
    }
    ok(together >= 2 * MANY * 95 / 100, "%zu seeds: equal methods share a place in %.1f %%", seeds,
       50.0 * (double)together / MANY);
    ok(apart >= MANY * 99 / 100, "and clearly different ones never do: %.1f %%", 100.0 * (double)apart / MANY);
}

static void test_places_by_hand(void) {
    enum { N = 5, SEEDS_HERE = SG_PLACE_SEEDS };
    static const double cost[N * SEEDS_HERE] = {
        5,  5,        5,        5,        5,        5,        /* worse than the first three at every seed: fourth */
        1,  2,        1,        2,        1,        2,        /* equal to the next */
        1,  2,        1,        2,        1,        2,        /* */
        9,  0,        1,        2,        2,        2,        /* worse at one seed only */
        99, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, /* without values */
    };
    struct sg_standing place[N], few[N];
    sg_places(place, cost, N, SEEDS_HERE);
    ok(place[1].order == 1 && isnan(place[1].p) && place[2].order == 2 && place[2].p == 1,
       "equal methods are in the order in which they are given, and p is 1");
    ok(place[1].first == 1 && place[1].last == 3 && place[3].first == 1 && place[3].order == 3 && place[3].p > 0.05,
       "what is worse at one seed shares their place");
    ok(place[0].first == 4 && place[0].last == 4 && place[0].p == 2.0 / 64, "worse at all six seeds: p = 2 / 2^6");
    ok(place[4].first == 5 && place[4].p == 2.0 / 64, "without values: the last, by the signs");
    sg_places(few, cost, N, 5);
    size_t one = 0;
    for (size_t m = 0; m < N; m++)
        one += few[m].first == 1 && few[m].last == N;
    ok(one == N, "five seeds part no two methods");
}

static void test_places_text(void) {
    static const struct {
        size_t first, last;
        const char *text;
    } known[] = {{1, 1, "1st"},
                 {2, 5, "2nd to 5th"},
                 {11, 13, "11th to 13th"},
                 {21, 22, "21st to 22nd"},
                 {101, 111, "101st to 111th"}};
    char text[SG_PLACES_CHARS];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ok(strcmp(sg_places_text(text, known[i].first, known[i].last), known[i].text) == 0, "the text of a place: %s",
           text);
}

int main(void) {
    rng = sg_rng_open(1, SG_RNG_TEST, SG_RNG_ALL_WORKERS, 0);
    test_places(SG_PLACE_SEEDS);
    test_places(10);
    test_places(20);
    test_places_by_hand();
    test_places_text();
    return tap_done();
}
