/* When compression is worth it: the arithmetic of sparsetune --when on runs that are made up here, against closed
 * forms. */
/* SPDX-License-Identifier: MIT */
#include "recipe_case.h"

#include <math.h>
#include <stdlib.h>

#include "tune_when.h"

#define RECIPE                                                                                                         \
    "schema: 1\n"                                                                                                      \
    "name: small\n"                                                                                                    \
    "task: {kind: logreg, dataset: madelon}\n"                                                                         \
    "workers: 4\n"                                                                                                     \
    "optimizer: {learning-rate: 1}\n"                                                                                  \
    "record: {series: [suboptimality, bytes-sent]}\n"                                                                  \
    "steps: 40\n"                                                                                                      \
    "seeds: [1, 2]\n"                                                                                                  \
    "methods:\n"                                                                                                       \
    "  - {name: SGD, compressor: none}\n"                                                                              \
    "  - {name: Top-k, compressor: topk, k: 10}\n"

enum { SGD, TOPK, N_METHODS, SEEDS = 2, BANDWIDTHS = 4 };

/* A message without bytes takes a millisecond, computing 20 of them. */
static const double COMPUTE = 0.02, ALPHA = 1e-3;
static const double gbit[BANDWIDTHS] = {1e-4, 1e-2, 1, 100};

/* Two methods at two seeds, on clusters of 8 workers. Method m sends `bytes[m]` bytes a step, and attains the target at
 * step `steps[m][s]`, which is its second record. */
struct grid {
    struct sg_recipe recipe;
    struct sg_cell *cell;
    size_t n;
    struct when_run run[N_METHODS][SEEDS];
    struct when_method method[N_METHODS];
    struct when_time time[BANDWIDTHS * N_METHODS];
    struct when_gain gain[N_METHODS];
    double seed_s[N_METHODS * SEEDS];
    struct when w;
};

static bool open_run(struct when_run *r, const struct sg_cell *cell, double bytes, double steps) {
    char text[1024];
    struct sg_run run;
    struct sg_error err;
    snprintf(text, sizeof text,
             "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"constants\":{\"d\":1000},\"units\":{},"
             "\"columns\":[\"step\",\"bytes_sent\"],\"layers\":null}\n"
             "{\"record\":\"step\",\"step\":0,\"bytes_sent\":0}\n"
             "{\"record\":\"step\",\"step\":%g,\"bytes_sent\":%g}\n"
             "{\"record\":\"step\",\"step\":%g,\"bytes_sent\":%g}\n"
             "{\"record\":\"end\",\"status\":\"ok\"}\n",
             steps, steps * bytes, 2 * steps, 2 * steps * bytes);
    *r = (struct when_run){.seed = cell->seed, .records = 2, .steps = steps};
    if (sg_run_parse(&run, text, strlen(text), "run", &err) != SG_OK)
        return false;
    sg_grid_messages_open(&r->messages, cell, &run);
    sg_run_free(&run);
    return true;
}

static void open_grid(struct grid *g, const double bytes[N_METHODS], const double steps[N_METHODS][SEEDS],
                      double compute_s) {
    char network[128];
    const char *set[] = {network};
    struct sg_error err;
    *g = (struct grid){.n = 0};
    snprintf(network, sizeof network,
             "network={workers: 8, latency: 1000, compute: %g, collective: ring, gather: all-gather, coding: 0}",
             compute_s);
    bool fine = parse_set(&g->recipe, RECIPE, set, 1, &err) == SG_OK &&
                sg_recipe_cells(&g->recipe, &g->cell, &g->n, &err) == SG_OK && g->n == (size_t)N_METHODS * SEEDS;
    for (size_t m = 0; m < N_METHODS; m++) {
        g->method[m] = (struct when_method){.cell = &g->cell[m * SEEDS], .run = g->run[m]};
        for (size_t s = 0; fine && s < SEEDS; s++)
            fine = open_run(&g->run[m][s], &g->cell[m * SEEDS + s], bytes[m], steps[m][s]);
    }
    g->w = (struct when){.seeds = SEEDS,
                         .n_methods = N_METHODS,
                         .baseline = SGD,
                         .n_bandwidths = BANDWIDTHS,
                         .n_clusters = 1,
                         .workers = {8},
                         .method = g->method,
                         .time = g->time,
                         .gain = g->gain,
                         .seed_s = g->seed_s};
    bool there = false;
    fine = fine && sg_grid_network_read(&g->w.network, &there, &g->recipe, &err) == SG_OK && there;
    for (size_t b = 0; fine && b < BANDWIDTHS; b++) {
        g->w.bandwidth[b] = gbit[b] * 1e9;
        fine = when_compare(when_times(&g->w, 0, b), &g->w, g->w.bandwidth[b], 8, &err) == SG_OK;
    }
    fine = fine && when_find_gains(&g->w, &err) == SG_OK;
    if (!ok(fine, "runs on clusters of 8 workers"))
        printf("# %s\n", err.msg);
}

static void close_grid(struct grid *g) {
    for (size_t m = 0; m < N_METHODS; m++)
        for (size_t s = 0; s < SEEDS; s++)
            sg_grid_messages_free(g->run[m][s].messages);
    sg_recipe_cells_free(g->cell, g->n);
    sg_recipe_free(&g->recipe);
}

static int near(double got, double want, double within) {
    return fabs(got - want) <= within * fabs(want);
}

/* Seconds of a step: a ring of 4000 bytes, and an all-gather of `bytes` each. */
static double ring_s(double bits_per_s) {
    return COMPUTE + 14 * (ALPHA + 4000.0 / 8 * 8 / bits_per_s);
}

static double gather_s(double bytes, double bits_per_s) {
    return COMPUTE + 7 * (ALPHA + bytes * 8 / bits_per_s);
}

static void test_times(void) {
    struct grid g;
    open_grid(&g, (double[]){4000, 80}, (double[][SEEDS]){{20, 30}, {30, 60}}, COMPUTE);
    for (size_t b = 0; b < BANDWIDTHS; b++) {
        const struct when_time *time = when_times(&g.w, 0, b);
        const double ring = ring_s(gbit[b] * 1e9), gather = gather_s(80, gbit[b] * 1e9);
        ok(near(time[SGD].mean_s, 25 * ring, 1e-12) && near(time[TOPK].mean_s, 45 * gather, 1e-12),
           "%g Gbit/s: means over the seeds of steps times seconds", gbit[b]);
        ok(near(time[TOPK].speedup, 25 * ring / (45 * gather), 1e-12) && time[SGD].speedup == 1,
           "%g Gbit/s: the speed-up is the quotient of these means", gbit[b]);
        ok(near(time[TOPK].least, 0.5 * ring / gather, 1e-12) && near(time[TOPK].most, 2.0 / 3 * ring / gather, 1e-12),
           "%g Gbit/s: the least and the most of both seeds", gbit[b]);
        ok(near(when_free(&g.w, time), ring / COMPUTE, 1e-12), "%g Gbit/s: free compression leaves the computing",
           gbit[b]);
    }
    ok(when_fastest(&g.w, when_times(&g.w, 0, 0)) == TOPK, "Top-k is faster where bytes are dear");
    ok(when_fastest(&g.w, when_times(&g.w, 0, 3)) == SGD, "no compression is where they are not");
    close_grid(&g);
}

/* Ring and all-gather cost as much at the bandwidth where
 * n0 (c + 14 (alpha + S/8 beta)) = n1 (c + 7 (alpha + m beta)). */
static void test_break_even(void) {
    struct grid g;
    const double n0 = 25, n1 = 45, m = 80;
    open_grid(&g, (double[]){4000, m}, (double[][SEEDS]){{20, 30}, {30, 60}}, COMPUTE);
    const double byte_s =
        (n1 * (COMPUTE + 7 * ALPHA) - n0 * (COMPUTE + 14 * ALPHA)) / (n0 * 14 * 4000.0 / 8 - n1 * 7 * m);
    const struct when_gain *gain = &g.gain[TOPK];
    ok(strcmp(when_where(gain), "below") == 0 && near(gain->to, 8 / byte_s, 1e-4) && isnan(gain->from),
       "gains below %.6g bit/s, in a closed form %.6g", gain->to, 8 / byte_s);
    close_grid(&g);

    open_grid(&g, (double[]){4000, 80}, (double[][SEEDS]){{20, 20}, {20, 20}}, COMPUTE);
    ok(strcmp(when_where(&g.gain[TOPK]), "always") == 0, "as many steps and fewer bytes: always");
    bool bounded = true;
    for (size_t b = 0; b < BANDWIDTHS; b++)
        bounded = bounded && when_times(&g.w, 0, b)[TOPK].speedup <= when_free(&g.w, when_times(&g.w, 0, b));
    ok(bounded, "in as many steps no method is above free compression");
    close_grid(&g);

    open_grid(&g, (double[]){4000, 2000}, (double[][SEEDS]){{20, 20}, {40, 40}}, COMPUTE);
    ok(strcmp(when_where(&g.gain[TOPK]), "never") == 0 && isnan(g.gain[TOPK].to), "twice the steps and bytes: never");
    close_grid(&g);

    /* 20 (14 S/8 beta) < 10 (7 m beta): it sends more in all, in half the steps. */
    open_grid(&g, (double[]){4000, 4000}, (double[][SEEDS]){{20, 20}, {10, 10}}, COMPUTE);
    const double turn =
        (10 * 7 * 4000.0 - 20 * 14 * 500.0) / (20 * (COMPUTE + 14 * ALPHA) - 10 * (COMPUTE + 7 * ALPHA));
    gain = &g.gain[TOPK];
    ok(strcmp(when_where(gain), "above") == 0 && near(gain->from, 8 * turn, 1e-4) && isnan(gain->to),
       "fewer steps and more bytes: above %.6g bit/s, in a closed form %.6g", gain->from, 8 * turn);
    ok(when_times(&g.w, 0, 3)[TOPK].speedup > when_free(&g.w, when_times(&g.w, 0, 3)),
       "in fewer steps a method may be above free compression");
    close_grid(&g);
}

static void test_noise(void) {
    struct grid g;
    open_grid(&g, (double[]){4000, 2000}, (double[][SEEDS]){{20, 90}, {40, 40}}, COMPUTE);
    const struct when_time *time = when_times(&g.w, 0, 3);
    ok(when_fastest(&g.w, time) == TOPK && time[SGD].may_be_fastest && time[TOPK].least < 1 && time[TOPK].most > 1,
       "what is faster at one seed is within noise");
    close_grid(&g);
    open_grid(&g, (double[]){4000, 80}, (double[][SEEDS]){{20, 30}, {20, 30}}, COMPUTE);
    time = when_times(&g.w, 0, 0);
    ok(!time[SGD].may_be_fastest && time[TOPK].may_be_fastest, "what is slower at every seed is not");
    close_grid(&g);
    open_grid(&g, (double[]){4000, 80}, (double[][SEEDS]){{20, 20}, {20, 20}}, 0);
    ok(isinf(when_free(&g.w, when_times(&g.w, 0, 0))), "without compute time free compression has no bound");
    close_grid(&g);
    open_grid(&g, (double[]){4000, 80}, (double[][SEEDS]){{20, 20}, {20, 20}}, COMPUTE);
    struct when_time out[N_METHODS];
    struct sg_error err;
    snprintf(g.method[TOPK].why, sizeof g.method[TOPK].why, "it diverged");
    ok(when_compare(out, &g.w, 1e6, 8, &err) == SG_OK && isnan(out[TOPK].speedup) && !out[TOPK].may_be_fastest &&
           when_fastest(&g.w, out) == SGD,
       "a method that is out is never the fastest");
    close_grid(&g);
}

static void test_attained(void) {
    const double falls[] = {9, 8, 1, 8, 7, 6, 3, 2, 3, 2}, few[] = {NAN, 5, NAN, 4, NAN}, flat[] = {3, 3, 3};
    ok(when_attained(falls, 10, 3, false) == 6, "a single good value does not count, but 7 6 3 2 3 do");
    ok(when_attained(falls, 10, 0.5, false) == 10, "never");
    ok(when_attained(falls, 10, 8.5, true) == 10 && when_attained(falls, 10, 8, true) == 0,
       "where higher is better: 9 8 1 at the beginning");
    ok(when_attained(few, 5, 4.5, false) == 1, "records without a value do not count: the median of 5 and 4");
    ok(when_attained(flat, 3, 3, false) == 0 && when_attained(flat, 3, 3, true) == 0, "as good is good enough");
    ok(when_attained(NULL, 0, 3, true) == 0, "no records");
}

static void test_change(void) {
    struct sg_recipe r;
    struct sg_grid_network n, changed = {.compute_s = 7};
    struct sg_error err;
    const char *set[] = {"network={workers: 8, nodes: 2, servers: 4, link: 1gbe, collective: hierarchical}"};
    bool there = false;
    ok(parse_set(&r, RECIPE, set, 1, &err) == SG_OK && sg_grid_network_read(&n, &there, &r, &err) == SG_OK && there,
       "8 workers on 2 nodes");
    ok(sg_grid_network_change(&changed, &n, 1e9, 12, &err) == SG_OK && changed.net.nodes == 3 &&
           changed.net.workers == 12 && changed.net.servers == 4 && changed.net.between.byte_s == 8e-9 &&
           changed.net.between.alpha_s == n.net.between.alpha_s,
       "12 workers are 3 such nodes, and alpha stays");
    changed.compute_s = 7;
    ok(sg_grid_network_change(&changed, &n, 1e9, 10, &err) == SG_ERR_ARGUMENT && changed.compute_s == 7,
       "10 are none: %s", err.msg);
    n.net.nodes = 8;
    n.net.servers = 8;
    ok(sg_grid_network_change(&changed, &n, 1e9, 3, &err) == SG_OK && changed.net.nodes == 3 &&
           changed.net.servers == 3,
       "where every worker is a node and a server, they all are");
    sg_recipe_free(&r);
}

int main(void) {
    test_times();
    test_break_even();
    test_noise();
    test_attained();
    test_change();
    return tap_done();
}
