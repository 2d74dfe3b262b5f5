/* Performance profiles, scores and ranks: by hand, and on simulated methods of which the truth is known. */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_profile.h"
#include "sg_rng.h"

/* ---- by hand ---- */

static void test_by_hand(void) {
    /* Two tasks of three seeds. The first method has two settings on the first task, of which one misses the target at
     * two seeds of three; the third method never reaches it on the second task. */
    static const size_t first[2][4] = {{0, 2, 3, 4}, {0, 1, 2, 3}};
    static const double one[] = {1, INFINITY, INFINITY, 20, 10, 30, 40, 40, 41, 10, 9, 100};
    static const double other[] = {6, 2, 4, 2, 3, 1, 5, INFINITY, INFINITY};
    const struct sg_profile_task task[] = {{3, first[0], one}, {3, first[1], other}};
    struct sg_profile_method m[3];
    struct sg_profile_cell c[3][2];
    struct sg_error err;
    ok(sg_profile(m, c[0], task, 2, 3, 100, 1, &err) == SG_OK, "two tasks, three methods");
    ok(c[0][0].cost == 20 && c[0][0].setting == 1, "a setting that reaches at one seed of three does not reach");
    ok(c[1][0].cost == 40 && c[2][0].cost == 10 && c[2][1].cost == INFINITY, "medians, infinity for a miss");
    ok(c[0][0].ratio == 2 && c[1][0].ratio == 4 && c[2][0].ratio == 1 && c[0][1].ratio == 2 && c[1][1].ratio == 1 &&
           c[2][1].ratio == INFINITY,
       "ratios to the least");
    ok(m[0].reached == 2 && m[2].reached == 1, "tasks reached are counted");
    const double third = 1.0 / 3; /* (4 - ratio) / 3: 2/3, 2/3; 0, 1; 1, 0 */
    ok(fabs(m[0].score.value - 2 * third) < 1e-15 && m[1].score.value == 0.5 && m[2].score.value == 0.5, "scores");
    ok(m[0].rank.value == 2 && m[1].rank.value == 2 && m[2].rank.value == 2, "mean ranks 2, 2 and 2");
    ok(m[0].place.value == 1 && m[1].place.value == 1 && m[2].place.value == 1, "equal mean ranks share the place");
    const double ratio[] = {2, 1, INFINITY};
    ok(sg_profile_share(ratio, 3, 1) == third && sg_profile_share(ratio, 3, 2) == 2 * third &&
           sg_profile_share(ratio, 3, 1e300) == 2 * third,
       "the profile counts ratios up to tau, and never a miss");
    ok(m[0].score.low <= m[0].score.value && m[0].score.value <= m[0].score.high, "the interval holds the value");
    static const double none[] = {INFINITY, INFINITY, 1, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    const struct sg_profile_task missed = {3, first[1], none};
    ok(sg_profile(m, c[0], &missed, 1, 3, 10, 1, &err) == SG_OK && c[0][0].rank == 2 && c[1][0].rank == 2 &&
           c[0][0].ratio == INFINITY && m[1].score.value == 0,
       "a task that none reaches: all tie, and none has a score of it");
}

/* ---- simulated methods ---- */

enum { METHODS = 5, TASKS = 8, SEEDS = 3, DRAWS = 200, REPEATS = 400 };

static sg_rng rng;

/* Costs exp(task + worse[m] + interaction N + noise N) of methods with one setting each; a duplicate of method 0 has
 * its costs. */
static void simulate(double *cost, size_t tasks, size_t methods, const double *worse, double interaction, double noise,
                     bool duplicate) {
    for (size_t t = 0; t < tasks; t++) {
        const double own = 3 * sg_rng_normal(&rng);
        for (size_t m = 0; m < methods; m++) {
            const double mean = own + worse[m] + interaction * sg_rng_normal(&rng);
            for (size_t s = 0; s < SEEDS; s++)
                cost[(t * methods + m) * SEEDS + s] = exp(mean + noise * sg_rng_normal(&rng));
        }
        for (size_t s = 0; duplicate && s < SEEDS; s++)
            cost[(t * methods + methods - 1) * SEEDS + s] = cost[t * methods * SEEDS + s];
    }
}

static size_t single[METHODS + 1] = {0, 1, 2, 3, 4, 5};

static void place(struct sg_profile_task *task, const double *cost, size_t tasks, size_t methods) {
    for (size_t t = 0; t < tasks; t++)
        task[t] = (struct sg_profile_task){SEEDS, single, cost + t * methods * SEEDS};
}

static void test_planted(void) {
    static const double worse[METHODS] = {0, 0, 0.7, 1.4, 0}; /* e^0.7 = 2 times the cost, 4 times, and a duplicate */
    static double cost[TASKS * METHODS * SEEDS];
    struct sg_profile_task task[TASKS];
    struct sg_profile_method m[METHODS];
    static struct sg_profile_cell cell[METHODS * TASKS];
    struct sg_error err;
    size_t below = 0, ties = 0, apart = 0, separated = 0;
    for (size_t r = 0; r < REPEATS; r++) {
        simulate(cost, TASKS, METHODS, worse, 0.2, 0.1, true);
        place(task, cost, TASKS, METHODS);
        if (sg_profile(m, cell, task, TASKS, METHODS, DRAWS, r, &err) != SG_OK)
            break;
        below += m[0].place.value < m[2].place.value && m[2].place.value < m[3].place.value &&
                 m[0].score.value > m[2].score.value && m[2].score.value > m[3].score.value;
        ties += m[0].place.value == m[4].place.value && m[0].score.value == m[4].score.value &&
                m[0].place.low == m[4].place.low && m[0].score.high == m[4].score.high;
        separated += m[3].place.low > m[0].place.high;
        apart += m[1].place.low > m[0].place.high || m[0].place.low > m[1].place.high;
    }
    ok(below >= REPEATS * 99 / 100, "twice and four times the cost come behind in this order: %zu of %d", below,
       REPEATS);
    ok(ties == REPEATS, "a duplicate ties: %zu of %d", ties, REPEATS);
    ok(separated >= REPEATS * 95 / 100, "intervals of the best and the worst are apart: %zu of %d", separated, REPEATS);
    ok(apart <= REPEATS * 10 / 100, "those of two equally good methods: %zu of %d", apart, REPEATS);
}

/* How often the sign-flip test parts methods: two equal ones at most in 5 % of cases, whatever their noise, and twice
 * the cost always, with as many seeds as places need. */
static void test_places(size_t seeds) {
    enum { METHODS_HERE = 4, MOST_SEEDS = 20, MANY = 4000 };
    static const double worse[METHODS_HERE] = {0, 0, 2, 2}; /* two pairs of equal methods */
    double cost[METHODS_HERE * MOST_SEEDS];
    struct sg_standing place[METHODS_HERE];
    struct sg_error err;
    size_t together = 0, apart = 0;
    bool fine = true;
    for (size_t r = 0; fine && r < MANY; r++) {
        for (size_t s = 0; s < seeds; s++) {
            const double common = sg_rng_normal(&rng); /* what a seed does to all */
            for (size_t i = 0; i < METHODS_HERE; i++)
                cost[i * seeds + s] = worse[i] + common + 0.3 * sg_rng_normal(&rng);
        }
        fine = sg_profile_places(place, cost, METHODS_HERE, seeds, &err) == SG_OK;
        together += place[0].first == place[1].first;
        together += place[2].first == place[3].first;
        apart += place[0].last <= 2 && place[1].last <= 2 && place[2].first > 2 && place[3].first > 2;
    }
    ok(fine && together >= 2 * MANY * 95 / 100, "%zu seeds: equal methods share a place in %.1f %%", seeds,
       50.0 * (double)together / MANY);
    ok(fine && apart >= MANY * 99 / 100, "and clearly different ones never do: %.1f %%", 100.0 * (double)apart / MANY);
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
    struct sg_error err;
    ok(sg_profile_places(place, cost, N, SEEDS_HERE, &err) == SG_OK && place[1].order == 1 && isnan(place[1].p) &&
           place[2].order == 2 && place[2].p == 1,
       "equal methods are in the order in which they are given, and p is 1");
    ok(place[1].first == 1 && place[1].last == 3 && place[3].first == 1 && place[3].order == 3 && place[3].p > 0.05,
       "what is worse at one seed shares their place");
    ok(place[0].first == 4 && place[0].last == 4 && place[0].p == 2.0 / 64, "worse at all six seeds: p = 2 / 2^6");
    ok(place[4].first == 5 && place[4].p == 2.0 / 64, "without values: the last, by the signs");
    ok(sg_profile_places(few, cost, N, 5, &err) == SG_OK, "places of five seeds");
    size_t one = 0;
    for (size_t m = 0; m < N; m++)
        one += few[m].first == 1 && few[m].last == N;
    ok(one == N, "five seeds part no two methods");
}

static void test_places_text(void) {
    static const struct {
        double low, high;
        const char *text;
    } known[] = {{1, 1, "1st"},
                 {2, 5, "2nd to 5th"},
                 {2.5, 2.5, "2nd to 3rd"},
                 {11, 13, "11th to 13th"},
                 {21, 22, "21st to 22nd"},
                 {101, 111, "101st to 111th"},
                 {3, 3.025, "3rd to 4th"}};
    char text[SG_PLACES_CHARS];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ok(strcmp(sg_profile_places_text(text, &(struct sg_interval){3, known[i].low, known[i].high}), known[i].text) ==
               0,
           "the text of a place: %s", text);
}

/* More settings never raise the cost of a method, nor do more trials of which each study takes the best. That is no
 * merit: of equally good settings, the best of ten looks cheaper than one. */
static void test_settings(void) {
    enum { MOST = 10 };
    static const size_t seed[SEEDS] = {0, 1, 2}, one[] = {0, 1};
    double cost[MOST * SEEDS], best[SEEDS], scratch[SEEDS], sum[MOST + 1] = {0}, tuned[MOST + 1] = {0};
    bool never = true, falls = true;
    for (size_t r = 0; r < 4000; r++) {
        double last = INFINITY;
        for (size_t i = 0; i < MOST * SEEDS; i++)
            cost[i] = sg_rng_uniform(&rng) < 0.2 ? INFINITY : exp(0.1 * sg_rng_normal(&rng));
        for (size_t n = 1; n <= MOST; n++) {
            const size_t first[] = {0, n};
            const struct sg_profile_task task = {SEEDS, first, cost};
            const double found = sg_profile_cost(NULL, &task, 0, seed, SEEDS, scratch);
            never = never && found <= last;
            sum[n] += fmin(found, 4);
            last = found;
            for (size_t s = 0; s < SEEDS; s++)
                best[s] = fmin(n > 1 ? best[s] : INFINITY, cost[(n - 1) * SEEDS + s]);
            const struct sg_profile_task studies = {SEEDS, one, best};
            tuned[n] += fmin(sg_profile_cost(NULL, &studies, 0, seed, SEEDS, scratch), 4);
        }
    }
    for (size_t n = 2; n <= MOST; n++)
        falls = falls && tuned[n] < tuned[n - 1];
    ok(never, "one more setting never costs more");
    ok(falls, "median over studies of the best trial: less in the mean with each trial, %.3f with ten of that with one",
       tuned[MOST] / tuned[1]);
    ok(sum[MOST] < 0.95 * sum[1], "best of ten settings that are alike: %.3f of the cost of one", sum[MOST] / sum[1]);
}

/* How often the interval of the score holds the score that 20000 tasks have, and that of the place the true one. */
static void test_coverage(size_t tasks, double least) {
    enum { METHODS_HERE = 4, TRUTH = 20000, MOST_TASKS = 32 };
    static const double worse[METHODS_HERE] = {0, 0.3, 0.6, 0.9};
    static double cost[TRUTH * METHODS_HERE * SEEDS];
    static struct sg_profile_task task[TRUTH];
    static struct sg_profile_cell cell[METHODS_HERE * TRUTH];
    struct sg_profile_method truth[METHODS_HERE], m[METHODS_HERE];
    struct sg_error err;
    size_t score = 0, ranks = 0, places = 0, n = 0;
    simulate(cost, TRUTH, METHODS_HERE, worse, 0.5, 0.2, false);
    place(task, cost, TRUTH, METHODS_HERE);
    bool fine = sg_profile(truth, cell, task, TRUTH, METHODS_HERE, 1, 1, &err) == SG_OK;
    for (size_t r = 0; fine && r < REPEATS; r++) {
        simulate(cost, tasks, METHODS_HERE, worse, 0.5, 0.2, false);
        place(task, cost, tasks, METHODS_HERE);
        fine = sg_profile(m, cell, task, tasks, METHODS_HERE, DRAWS, r, &err) == SG_OK;
        for (size_t i = 0; i < METHODS_HERE; i++, n++) {
            score += m[i].score.low <= truth[i].score.value && truth[i].score.value <= m[i].score.high;
            ranks += m[i].rank.low <= truth[i].rank.value && truth[i].rank.value <= m[i].rank.high;
            places += m[i].place.low <= truth[i].place.value && truth[i].place.value <= m[i].place.high;
        }
    }
    const double share = 100 / (double)n;
    ok(fine && share * (double)score >= least && share * (double)ranks >= least && share * (double)places >= least,
       "coverage of nominal 95 %% with %zu tasks: score %.1f, mean rank %.1f, place %.1f %%", tasks,
       share * (double)score, share * (double)ranks, share * (double)places);
}

int main(void) {
    rng = sg_rng_open(1, SG_RNG_TEST, SG_RNG_ALL_WORKERS, 0);
    test_by_hand();
    test_planted();
    test_settings();
    test_coverage(2, 63); /* what results/DEFINITIONS.md and sparsetune say, less a point */
    test_coverage(4, 81);
    test_coverage(8, 88);
    test_coverage(32, 93);
    test_places(SG_PLACE_SEEDS);
    test_places(10);
    test_places(20);
    test_places_by_hand();
    test_places_text();
    return tap_done();
}
