/* What bursts cost, against small runs by hand and against Jensen's inequality. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <string.h>

#include "sg_net.h"
#include "sg_rng.h"

enum { MOST = 64 };

static struct sg_net network(size_t workers, double alpha_s) {
    return (struct sg_net){.workers = workers,
                           .nodes = workers,
                           .between = {.alpha_s = alpha_s, .byte_s = 0x1p-3}, /* an entry takes a second */
                           .ports = 1,
                           .servers = workers};
}

static const struct sg_burst_cost *find(const char *series) {
    for (size_t i = 0; i < SG_BURSTS; i++)
        if (strcmp(sg_burst_table[i].series, series) == 0)
            return &sg_burst_table[i];
    return NULL;
}

/* The gap of a run of n steps in which each worker sends k[t] of d entries, in one layer. */
static double gap_of(const struct sg_burst_cost *cost, const struct sg_net *net, const double *k, size_t n, double d) {
    double seconds[MOST], of_mean[MOST], gap[MOST], sum = 0;
    bool ever = false;
    for (size_t t = 0; t < n; t++) {
        sum += k[t];
        ever = ever || k[t] > 0;
        const struct sg_traffic now = sg_traffic_equal(8 * k[t], net->workers, 4 * d),
                                even = sg_traffic_equal(8 * sum / (double)(t + 1), net->workers, 4 * d);
        seconds[t] = cost->seconds(net, &now, k[t] > 0);
        of_mean[t] = cost->seconds(net, &even, ever);
    }
    sg_burst_gaps(gap, seconds, of_mean, n, cost->hidden);
    return gap[n - 1];
}

static int near(double got, double want) {
    return fabs(got - want) <= 1e-12;
}

static void by_hand(const char *series, const struct sg_net *net, double less, double more, double d, double want) {
    const double k[] = {less, more, less, more}, got = gap_of(find(series), net, k, 4, d);
    ok(near(got, want), "%s: %g and %g of %g entries: %.9g", series, less, more, d, got);
}

static void test_by_hand(void) {
    const struct sg_net two = network(2, 0), slow = network(2, 3);
    by_hand("burst_linear", &two, 1, 3, 100, 0);
    by_hand("burst_linear", &slow, 1, 3, 100, 0);
    by_hand("burst_half_hidden", &two, 1, 3, 100, 0);       /* of 1 and 3, 1 is hidden: 0 and 2, as of 2 */
    by_hand("burst_half_hidden", &two, 0, 4, 100, 0.25);    /* 0 and 3, but 1 of 2: half an entry of 2 */
    by_hand("burst_half_hidden", &slow, 0, 4, 100, 0);      /* of 3 and 7, 2.5 is hidden */
    by_hand("burst_hidden", &two, 1, 3, 100, 0.25);         /* 0 and 1, but 0 of 2 */
    by_hand("burst_dense_switch", &two, 10, 90, 100, -0.4); /* 10 and 50, for a dense ring takes 50; 50 of 50 */
    by_hand("burst_dense_switch", &two, 10, 40, 100, 0);
    by_hand("burst_union", &two, 0, 100, 100, -1.0 / 3); /* 0 and 100; 75 of 50 */
    by_hand("burst_messages", &two, 0, 4, 100, -0.5);
    by_hand("burst_messages", &two, 1, 3, 100, 0);
    const double k[] = {200, 1800}, entropy = gap_of(find("burst_entropy"), &two, k, 2, 1e6);
    ok(fabs(entropy + 0.01224) < 1e-5, "0.02 and 0.18 %% cost 1.2 %% fewer bits than 0.1 %%: %.5g", entropy);
}

/* The window is that of the whole run's mean, and gaps before its end are those of the steps so far. */
static void test_prefixes(void) {
    const double seconds[] = {1, 3, 8}, of_mean[] = {1, 2, 4};
    double gap[3];
    sg_burst_gaps(gap, seconds, of_mean, 3, 0);
    ok(gap[0] == 0 && gap[1] == 0 && gap[2] == 0, "a line costs nothing at any step");
    sg_burst_gaps(gap, seconds, of_mean, 3, 0.5);
    ok(gap[0] == 0 && near(gap[1], 0.25) && near(gap[2], 1.0 / 12), "half of the mean step hides 2 s of each");
    sg_burst_gaps(gap, (double[]){0, 0}, (double[]){0, 0}, 2, 1);
    ok(gap[0] == 0 && gap[1] == 0, "a run that sends nothing");
    sg_burst_gaps(gap, NULL, NULL, 0, 1);
}

static void test_signs(void) {
    enum { RUNS = 200 };
    sg_rng rng = sg_rng_open(1, SG_RNG_GENERATE, 0, 0);
    size_t wrong[SG_BURSTS] = {0}, bent[SG_BURSTS] = {0};
    for (size_t run = 0; run < RUNS; run++) {
        const struct sg_net net = network(1 + run % 40, run % 3 == 0 ? 0 : (double)(run % 7));
        const double d = 100;
        double k[MOST];
        for (size_t t = 0; t < MOST; t++)
            k[t] = floor(d * pow(sg_rng_uniform(&rng), (double)(run % 5)));
        for (size_t i = 0; i < SG_BURSTS; i++) {
            const double gap = gap_of(&sg_burst_table[i], &net, k, MOST, d);
            wrong[i] += sg_burst_table[i].bend == 0 ? gap != 0 : sg_burst_table[i].bend * gap < 0;
            bent[i] += gap != 0;
        }
    }
    for (size_t i = 0; i < SG_BURSTS; i++)
        ok(wrong[i] == 0 && (bent[i] > RUNS / 10) == (sg_burst_table[i].bend != 0), "%s: the sign that its bend tells",
           sg_burst_table[i].series);
}

/* With as many entries in all, exchanges wait for the worker that sends most, and fewer positions coincide. */
static void test_unequal_workers(void) {
    const struct sg_net net = network(4, 1);
    const double bytes[] = {8, 0, 72, 80};
    const struct sg_traffic own = sg_traffic_of(bytes, 4, 4, 400), even = sg_traffic_equal(40, 4, 400);
    for (size_t i = 0; i < SG_BURSTS; i++) {
        const double a = sg_burst_table[i].seconds(&net, &own, 1), b = sg_burst_table[i].seconds(&net, &even, 1);
        if (strcmp(sg_burst_table[i].series, "burst_union") == 0)
            ok(near(a, 1 + 100 * (1 - 0.99 * 0.91 * 0.9)) && a > b, "fewer positions coincide in unequal messages");
        else if (strcmp(sg_burst_table[i].series, "burst_messages") == 0)
            ok(a == b, "messages are counted");
        else
            ok(a > b, "%s: unequal workers wait for the largest", sg_burst_table[i].series);
    }
}

int main(void) {
    test_by_hand();
    test_prefixes();
    test_signs();
    test_unequal_workers();
    return tap_done();
}
