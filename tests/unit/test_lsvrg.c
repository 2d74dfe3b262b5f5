/* test_lsvrg.c: the variance-reduced oracles of logistic regression against the formula of loopless SVRG, row by row in
 * plain double precision from the same named draws; their expectation and variance; their state; what is refused. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "open_task.h"
#include "sg_dataset.h"
#include "sg_matrix.h"
#include "sg_recipe.h"
#include "sg_rng.h"
#include "tap.h"

enum { WORKERS = 4, BATCH = 2, STEPS = 200 };

static const char text[] = "schema: 1\n"
                           "name: lsvrg\n"
                           "task: {kind: logreg, dataset: no-such-set, stand-in: two-clouds, l2: 2, oracle: lsvrg}\n"
                           "workers: 4\n"
                           "batch: 2\n"
                           "steps: 1\n"
                           "optimizer: {learning-rate: 0.05}\n"
                           "record: {every: 1, series: [loss]}\n"
                           "methods: [{name: SGD, compressor: none}]\n";

static const struct sg_task_ops *ops;
static struct sg_matrix a;
static uint32_t *row; /* the shards */
static size_t size;   /* rows of a shard */
static struct sg_error err;

/* The recipe of the open task, which points into it. */
static struct sg_recipe recipe;
static struct sg_cell *cells;
static size_t n_cells;

static void close_task(sg_task *t) {
    sg_task_close(t);
    sg_recipe_cells_free(cells, n_cells);
    sg_recipe_free(&recipe);
}

/* Opens the task with up to two changes of the recipe; NULL = none. close_task belongs to every call. */
static sg_status open_with(sg_task **out, const char *set1, const char *set2) {
    const char *const set[] = {set1, set2};
    const size_t sets = set2 ? 2 : set1 ? 1 : 0;
    if (sg_recipe_parse(&recipe, text, strlen(text), "lsvrg.yaml", set, sets, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &n_cells, &err) != SG_OK) {
        printf("# %s\n", err.msg);
        exit(1);
    }
    return open_task(out, ops, sg_node_get(&cells[0].resolved, "task"), WORKERS, BATCH, &err);
}

static void load_rows(void) {
    struct sg_provenance from;
    sg_rng rng = sg_rng_open(1, SG_RNG_SHARD, 0, 0);
    const struct sg_dataset_request request = {.name = "no-such-set", .stand_in = "two-clouds"};
    if (sg_task_load(&ops, "logreg", &err) != SG_OK || sg_dataset_load(&a, &from, &request, &err) != SG_OK)
        exit(1);
    sg_provenance_free(&from);
    row = malloc(a.m * sizeof *row);
    sg_rng_permutation(&rng, row, a.m);
    size = a.m / WORKERS;
}

/* to <- to + weight times the gradient at x of row j's loss and (l2/2)|x|^2. */
static void add_row(double *to, double weight, size_t j, const double *x) {
    double z = 0;
    for (size_t i = 0; i < a.d; i++)
        z += sg_matrix_dense_value(&a, j, i) * x[i];
    const double slope = -a.label[j] / (1 + exp(a.label[j] * z));
    for (size_t i = 0; i < a.d; i++)
        to[i] += weight * (slope * sg_matrix_dense_value(&a, j, i) + 2 * x[i]);
}

static void add_shard(double *to, double weight, size_t worker, const double *x) {
    for (size_t j = 0; j < size; j++)
        add_row(to, weight / (double)size, row[worker * size + j], x);
}

/* One run of STEPS steps with the learning rate 0.05: g of every worker by the formula against the task's. x* is NULL
 * for the oracle that is not shifted. Returns how far they are apart at most; *moved counts moves of reference
 * points. */
static double compare(sg_task *t, const double *best, size_t *moved) {
    const size_t d = a.d;
    double *x = sg_task_x(t), *w = malloc(WORKERS * d * sizeof *w), *g = malloc(d * sizeof *g), worst = 0;
    double *mean = malloc(d * sizeof *mean);
    float *got = malloc(d * sizeof *got);
    for (size_t i = 0; i < WORKERS; i++)
        memcpy(w + i * d, x, d * sizeof *w);
    for (uint64_t step = 0; step < STEPS; step++) {
        memset(mean, 0, d * sizeof *mean);
        for (uint32_t i = 0; i < WORKERS; i++) {
            sg_rng draw = sg_rng_open(1, SG_RNG_SAMPLE, i, step), coin = sg_rng_open(1, SG_RNG_REFRESH, i, step);
            memset(g, 0, d * sizeof *g);
            for (size_t b = 0; b < BATCH; b++) {
                const size_t j = row[i * size + sg_rng_below(&draw, size)];
                add_row(g, 1.0 / BATCH, j, x);
                add_row(g, -1.0 / BATCH, j, w + i * d);
            }
            add_shard(g, 1, i, w + i * d);
            if (best)
                add_shard(g, -1, i, best);
            if (ops->gradient(t, i, step, got, &err) != SG_OK)
                worst = INFINITY;
            for (size_t j = 0; j < d; j++) {
                /* One rounding to float; the double sums are of terms below 100. */
                const double gap = fabs((double)got[j] - g[j]) - fabs(g[j]) * FLT_EPSILON / 2;
                worst = gap <= worst ? worst : gap;
                mean[j] += (double)got[j] / WORKERS;
            }
            if (sg_rng_uniform(&coin) < 1.0 / (double)size) {
                memcpy(w + i * d, x, d * sizeof *w);
                ++*moved;
            }
        }
        for (size_t j = 0; j < d; j++)
            x[j] -= 0.05 * mean[j];
    }
    free(w), free(g), free(mean), free(got);
    return worst;
}

static void test_formula(bool shifted, const double *best) {
    sg_task *t;
    size_t moved = 0;
    if (!ok(open_with(&t, shifted ? "task.oracle=lsvrg-shifted" : NULL, NULL) == SG_OK, "%s", err.msg))
        return;
    const double worst = compare(t, shifted ? best : NULL, &moved);
    ok(worst <= 1e-12, "%s: each gradient is that of the formula (%g)", shifted ? "lsvrg-shifted" : "lsvrg", worst);
    /* Binomial: 800 coins of 1/size; 5 standard deviations. */
    const double mean = (double)(STEPS * WORKERS) / (double)size;
    ok(fabs((double)moved - mean) <= 5 * sqrt(mean), "reference points moved %zu times of about %g", moved, mean);
    close_task(t);
}

/* The expectation over the rows that may be drawn is grad f_i(x), and `expect` has it and the variance. */
static void test_unbiased(void) {
    const size_t d = a.d;
    sg_task *t;
    double *mean = malloc(d * sizeof *mean), *g = malloc(d * sizeof *g), *w = malloc(d * sizeof *w), noise, got[2][64];
    if (!ok(open_with(&t, NULL, NULL) == SG_OK && d <= 64, "a task"))
        return;
    double *x = sg_task_x(t), worst = 0;
    memcpy(w, x, d * sizeof *w);
    for (size_t j = 0; j < d; j++)
        x[j] += 0.1 * (double)(j % 3) - 0.05;
    for (size_t i = 0; i < WORKERS; i++) {
        double variance = 0;
        memset(got, 0, sizeof got);
        add_shard(got[0], 1, i, x);
        memset(mean, 0, d * sizeof *mean);
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < size; j++) {
                memset(g, 0, d * sizeof *g);
                add_row(g, 1, row[i * size + j], x);
                add_row(g, -1, row[i * size + j], w);
                add_shard(g, 1, i, w);
                for (size_t k = 0; k < d; k++) {
                    mean[k] += pass ? 0 : g[k] / (double)size;
                    variance += pass ? (g[k] - mean[k]) * (g[k] - mean[k]) / (double)size / BATCH : 0;
                }
            }
        if (ops->expect(t, i, got[1], &noise, &err) != SG_OK)
            worst = INFINITY;
        for (size_t k = 0; k < d; k++)
            worst = fmax(worst, fmax(fabs(mean[k] - got[0][k]), fabs(mean[k] - got[1][k])));
        worst = fmax(worst, fabs(noise / variance - 1));
    }
    ok(worst <= 1e-11, "the mean over the rows is grad f_i, and `expect` has mean and variance (%g)", worst);
    free(mean), free(g), free(w);
    close_task(t);
}

/* At x = w_i = x* all draws are one vector: grad f_i(x*), or with the shift zero. */
static void test_optimum(bool shifted) {
    sg_task *t;
    double mean[64], noise = NAN, largest = 0, square = 0;
    float g[2][64];
    size_t differ = 0;
    if (!ok(open_with(&t, "task.start.offset-from-optimum=0", shifted ? "task.oracle=lsvrg-shifted" : NULL) == SG_OK,
            "x0 = x*"))
        return;
    for (size_t i = 0; i < WORKERS; i++) {
        largest = ops->expect(t, i, mean, &noise, &err) == SG_OK && noise <= largest ? largest : noise;
        for (uint64_t step = 0; step < STEPS; step++) {
            differ += ops->gradient(t, i, step, g[step > 0], &err) != SG_OK ||
                      memcmp(g[0], g[step > 0], a.d * sizeof(float)) != 0;
            for (size_t j = 0; j < a.d; j++)
                square += (double)g[step > 0][j] * (double)g[step > 0][j];
        }
    }
    ok(differ == 0 && largest == 0, "%s: no variance at the optimum", shifted ? "lsvrg-shifted" : "lsvrg");
    ok(shifted ? square == 0 : square > 0, "where the gradients of the workers are %s", shifted ? "zero" : "not zero");
    close_task(t);
}

static void test_state(void) {
    sg_task *t;
    float before[64], after[64];
    if (!ok(open_with(&t, "task.refresh=1", NULL) == SG_OK, "a reference point that moves at each step"))
        return;
    void *state = malloc(ops->state_bytes(t) + 1);
    ((double *)sg_task_x(t))[0] += 1;
    ops->state_save(t, 1, state);
    bool same = ops->gradient(t, 1, 7, before, &err) == SG_OK && ops->gradient(t, 1, 7, after, &err) == SG_OK;
    ok(same && memcmp(before, after, a.d * sizeof(float)) != 0, "has moved");
    ops->state_load(t, 1, state);
    same = ops->gradient(t, 1, 7, after, &err) == SG_OK && memcmp(before, after, a.d * sizeof(float)) == 0;
    ok(same, "and is put back by its state");
    free(state);
    close_task(t);
}

static void test_refused(void) {
    static const char *const set[][2] = {{"task.oracle=stochastic", "task.refresh=0.1"},
                                         {"task.oracle=full", "task.refresh=n/m"},
                                         {"task.refresh=0", NULL},
                                         {"task.refresh=1.5", NULL},
                                         {"task.oracle=lsvrg-shifted", "task.solve-optimum=false"}};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        sg_task *t = NULL;
        ok(open_with(&t, set[i][0], set[i][1]) == SG_ERR_ARGUMENT && strstr(err.msg, i < 4 ? "refresh" : "shifted"),
           "refused: %s", err.msg);
        close_task(t);
    }
}

int main(void) {
    sg_task *t;
    double best[64];
    load_rows();
    if (!ok(a.m % WORKERS == 0 && a.d <= 64 && a.label && !a.csr_start, "dense rows, as many for each worker") ||
        !ok(open_with(&t, "task.start.offset-from-optimum=0", NULL) == SG_OK, "x*"))
        return tap_done();
    memcpy(best, sg_task_x(t), a.d * sizeof *best);
    close_task(t);
    test_formula(false, NULL);
    test_formula(true, best);
    test_unbiased();
    test_optimum(false);
    test_optimum(true);
    test_state();
    test_refused();
    free(row);
    sg_matrix_free(&a);
    return tap_done();
}
