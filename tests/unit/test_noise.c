/* The constants of Assumptions 3 and 4: exact on logistic regression against all rows one by one, estimates from draws
 * against the exact, lines against numbers made to lie on one. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_dataset.h"
#include "sg_matrix.h"
#include "sg_json.h"
#include "sg_logreg.h"
#include "sg_gradient_noise.h"
#include "sg_rng.h"
#include "sg_lambda_rules.h"
#include "sg_train.h"
#include "tap.h"

enum { WORKERS = 4, STEPS = 60, EVERY = 6, BATCH = 3, REPEATS = 400, FEW = 12, SETS = 100, L2 = 2 };

static const char text[] =
    "schema: 1\n"
    "name: noise\n"
    "task: {kind: logreg, dataset: no-such-set, stand-in: two-clouds, l2: 2, solve-optimum: false}\n"
    "workers: 4\n"
    "batch: 3\n"
    "steps: 60\n"
    "optimizer: {learning-rate: 0.05}\n"
    "record: {every: 60, series: [loss]}\n"
    "methods:\n"
    "  - {name: Top-k, compressor: topk, k: 2}\n";

static struct sg_error err;
static struct sg_noise_points exact, drawn, few; /* few: SETS points of FEW draws at each x */
static size_t astray;

/* Over the rows of each shard, one gradient at a time, as the assumptions say it. */
static void compare_with_rows(const struct sg_noise_estimate *p, const double *x) {
    static struct sg_matrix a;
    static uint32_t *row;
    if (!row) {
        struct sg_provenance from;
        sg_rng rng = sg_rng_open(1, SG_RNG_SHARD, 0, 0);
        const struct sg_dataset_request request = {.name = "no-such-set", .stand_in = "two-clouds"};
        if (sg_dataset_load(&a, &from, &request, &err) != SG_OK)
            exit(1);
        sg_provenance_free(&from);
        row = malloc(a.m * sizeof *row);
        sg_rng_permutation(&rng, row, a.m);
    }
    const size_t d = a.d, each = a.m / WORKERS;
    double *mean = calloc(WORKERS * d, sizeof *mean), *all = calloc(d, sizeof *all), *g = malloc(d * sizeof *g);
    double *scratch = aligned_alloc(64, (sg_logreg_scratch(d) * sizeof *scratch + 63) / 64 * 64);
    double unlike = 0, square = 0;
    for (size_t w = 0; w < WORKERS; w++) {
        double noise = 0, norm = 0, off = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < each; i++) {
                off = 0;
                sg_logreg_gradient(g, &a, &row[w * each + i], 1, x, L2, scratch);
                for (size_t j = 0; j < d; j++) {
                    mean[w * d + j] += pass ? 0 : g[j] / (double)each;
                    off += (g[j] - mean[w * d + j]) * (g[j] - mean[w * d + j]);
                }
                noise += pass ? off / (double)each / BATCH : 0;
            }
        for (size_t j = 0; j < d; j++) {
            norm += mean[w * d + j] * mean[w * d + j];
            all[j] += mean[w * d + j] / WORKERS;
        }
        astray += !(fabs(p->noise[w] - noise) <= 1e-10 * noise) || !(fabs(p->gradient[w] - norm) <= 1e-10 * norm);
    }
    for (size_t j = 0; j < d; j++) {
        square += all[j] * all[j];
        for (size_t w = 0; w < WORKERS; w++)
            unlike += (mean[w * d + j] - all[j]) * (mean[w * d + j] - all[j]) / WORKERS;
    }
    astray += !(fabs(p->mean_gradient - square) <= 1e-10 * square) ||
              !(fabs(p->dissimilarity - unlike) <= 1e-10 * (unlike + square));
    free(mean);
    free(all);
    free(g);
    free(scratch);
}

static sg_status visit(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *e) {
    (void)arg, (void)steps;
    sg_status status = SG_OK;
    if (step % EVERY != 0)
        return SG_OK;
    status = sg_noise_measure(&exact, ops, task, WORKERS, step, 0, e);
    SG_DO(status, sg_noise_measure(&drawn, ops, task, WORKERS, step, REPEATS, e));
    for (size_t i = 0; i < SETS && status == SG_OK; i++)
        status = sg_noise_measure(&few, ops, task, WORKERS, step, FEW, e);
    if (status == SG_OK)
        compare_with_rows(&exact.point[exact.count - 1].part[SG_NOISE_ALL], sg_task_x(task));
    return status;
}

/* Final parameters as the series names them. */
static void run(char sha256[65], bool visits) {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    size_t n;
    sg_comm *comm;
    struct sg_train_report report;
    char line[1 << 16], *at = NULL;
    FILE *series = tmpfile();
    if (sg_recipe_parse(&recipe, text, strlen(text), "noise.yaml", NULL, 0, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &n, &err) != SG_OK || sg_comm_open(&comm, &err) != SG_OK)
        exit(1);
    const struct sg_train_options options = {.recipe = &recipe,
                                             .cell = &cells[0],
                                             .device = "cpu",
                                             .threads = 1,
                                             .series = series,
                                             .visit = visits ? visit : NULL};
    if (!ok(sg_train_run(&report, comm, &options, &err) == SG_OK, "a run %s", visits ? "visited" : "left alone"))
        printf("# %s\n", err.msg);
    rewind(series);
    while (fgets(line, sizeof line, series) && !(at = strstr(line, "\"parameters_sha256\":\"")))
        ;
    snprintf(sha256, 65, "%s", at ? at + 21 : "");
    fclose(series);
    sg_comm_close(comm);
    sg_recipe_cells_free(cells, n);
    sg_recipe_free(&recipe);
}

/* Whatever the estimate's own standard error says, four of them. */
static void within(double estimate, double truth, double error, const char *what) {
    ok(fabs(estimate - truth) <= 4 * error, "%s: %.4g from draws, %.4g exactly, standard error %.2g", what, estimate,
       truth, error);
}

static void test_estimates(void) {
    double ratio[2] = {0}, dissimilar[2] = {0}, spread = 0;
    const double n = (double)(exact.count * WORKERS);
    for (size_t i = 0; i < exact.count; i++)
        for (size_t w = 0; w < WORKERS; w++) {
            const double r = drawn.point[i].part[SG_NOISE_ALL].noise[w] / exact.point[i].part[SG_NOISE_ALL].noise[w];
            ratio[0] += r / n;
            spread += (r - 1) * (r - 1);
            ratio[1] +=
                drawn.point[i].part[SG_NOISE_ALL].gradient[w] / exact.point[i].part[SG_NOISE_ALL].gradient[w] / n;
            dissimilar[0] += drawn.point[i].part[SG_NOISE_ALL].dissimilarity / WORKERS;
            dissimilar[1] += exact.point[i].part[SG_NOISE_ALL].dissimilarity / WORKERS;
        }
    within(ratio[0], 1, sqrt(spread) / n, "noise, relative");
    ok(fabs(ratio[1] - 1) <= 0.05, "|grad f_i|^2 without bias: %.4g of the exact", ratio[1]);
    ok(fabs(dissimilar[0] / dissimilar[1] - 1) <= 0.1, "dissimilarity without bias: %.4g of the exact",
       dissimilar[0] / dissimilar[1]);
    const struct sg_noise_constants truth = sg_noise_fit(&exact), estimate = sg_noise_fit(&drawn);
    within(estimate.noise.slope, truth.noise.slope, estimate.noise.slope_error, "M");
    within(estimate.noise.level, truth.noise.level, estimate.noise.level_error, "sigma^2");
    within(estimate.dissimilarity.slope, truth.dissimilarity.slope, estimate.dissimilarity.slope_error, "C");
    within(estimate.dissimilarity.level, truth.dissimilarity.level, estimate.dissimilarity.level_error, "zeta^2");
    const struct sg_noise_constants cover = sg_noise_cover(&exact, &truth);
    size_t above = 0, touching = 0;
    for (size_t i = 0; i < exact.count; i++)
        for (size_t w = 0; w < WORKERS; w++) {
            const double bound = cover.noise.slope * exact.point[i].part[SG_NOISE_ALL].gradient[w] + cover.noise.level;
            above += !(exact.point[i].part[SG_NOISE_ALL].noise[w] <= bound * (1 + 1e-12));
            touching += exact.point[i].part[SG_NOISE_ALL].noise[w] >= bound * (1 - 1e-12);
        }
    ok(above == 0 && touching > 0, "the covering line is above every point, and touches one");
    cJSON *json = sg_noise_json(&drawn, &estimate);
    ok(sg_json_number(json, "M.value", -1) == estimate.noise.slope &&
           cJSON_GetArraySize(sg_json_get(json, "points")) == (int)drawn.count,
       "as JSON");
    cJSON_Delete(json);
}

/* M and C of set i of the few draws; `same`: with x and y from all of them, as if their errors had nothing to do with
 * each other. */
static struct sg_noise_constants fit_few(size_t i, bool same) {
    struct sg_noise_point set[STEPS / EVERY + 1];
    for (size_t k = 0; k < exact.count; k++) {
        set[k] = few.point[k * SETS + i];
        if (same)
            set[k].part[0] = set[k].part[1] = set[k].part[SG_NOISE_ALL];
    }
    return sg_noise_fit(&(struct sg_noise_points){WORKERS, exact.count, set});
}

/* The noise of x must not flatten the lines. */
static void test_few_draws(void) {
    const struct sg_noise_constants truth = sg_noise_fit(&exact);
    double m[3] = {0}, c[2] = {0}; /* sum, sum of squares; sum where x and y are of the same draws */
    for (size_t i = 0; i < SETS; i++) {
        const struct sg_noise_constants halves = fit_few(i, false), same = fit_few(i, true);
        m[0] += halves.noise.free_slope / SETS;
        m[1] += halves.noise.free_slope * halves.noise.free_slope / SETS;
        m[2] += same.noise.free_slope / SETS;
        c[0] += halves.dissimilarity.free_slope / SETS;
        c[1] += halves.dissimilarity.free_slope * halves.dissimilarity.free_slope / SETS;
    }
    const double of_m = sqrt((m[1] - m[0] * m[0]) / SETS), of_c = sqrt((c[1] - c[0] * c[0]) / SETS);
    within(m[0], truth.noise.slope, of_m, "M from few draws, mean of many such");
    within(c[0], truth.dissimilarity.slope, of_c, "C from few draws, mean of many such");
    ok(m[2] < truth.noise.slope - 4 * of_m, "x and y of the same draws would give M = %.3g", m[2]);
}

/* A line through points y = slope x + level + off (1, -2, 1), measured without error. */
static struct sg_noise_line line(double slope, double level, double off) {
    double x[3][1], y[3][1];
    struct sg_noise_point point[3];
    for (int i = 0; i < 3; i++) {
        x[i][0] = i + 1;
        y[i][0] = slope * (i + 1) + level + (i == 1 ? -2 : 1) * off;
        const struct sg_noise_estimate e = {x[i], y[i], x[i][0], y[i][0]};
        point[i] = (struct sg_noise_point){0, {e, e, e}};
    }
    const struct sg_noise_points points = {1, 3, point};
    const struct sg_noise_constants c = sg_noise_fit(&points);
    ok(c.noise.slope == c.dissimilarity.slope && c.noise.level == c.dissimilarity.level,
       "one worker: noise and dissimilarity alike");
    return c.noise;
}

static void test_lines(void) {
    static const struct {
        double slope, level, want_slope, want_level;
        const char *what;
    } cases[] = {{2, 3, 2, 3, "through its points"},
                 {-1, 5, 0, 3, "never falls: the mean"},
                 {2, -1, 22.0 / 14, 0, "never starts below 0: through the origin"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sg_noise_line l = line(cases[i].slope, cases[i].level, 0);
        ok(fabs(l.slope - cases[i].want_slope) < 1e-12 && fabs(l.level - cases[i].want_level) < 1e-12, "a line %s",
           cases[i].what);
    }
    const struct sg_noise_line free = line(2, 3, 0.1), flat = line(-2, 9, 0.1), low = line(2, -1, 0.1);
    ok(free.slope_error > 0 && free.level_error > 0 && flat.slope == 0 && low.level == 0 &&
           fabs(flat.slope_error - free.slope_error) < 1e-12 && fabs(low.level_error - free.level_error) < 1e-12,
       "where a bound holds the line, its errors are those of the line let free");
    double x[1] = {2}, y[1] = {5};
    const struct sg_noise_estimate e = {x, y, 2, 5};
    struct sg_noise_point same[3] = {{0, {e, e, e}}, {0, {e, e, e}}, {0, {e, e, e}}};
    const struct sg_noise_line none = sg_noise_fit(&(struct sg_noise_points){1, 3, same}).noise;
    ok(none.slope == 0 && none.level == 5 && isnan(none.slope_error) && isnan(none.level_error),
       "where x does not differ, no error is made up");
}

static void test_rule(void) {
    struct sg_noise_constants c = {
        .noise = {.slope = 3, .level = 9, .slope_error = 0.5, .level_error = 2},
        .dissimilarity = {.level_error = 0.25},
    };
    double error;
    const double lambda = sg_rule_estimated(4, 10, &c, &error);
    /* inner = (2 d/k + M) zeta^2 + sigma^2 = 9, of which zeta^2 = 0 may be 0.25 off and sigma^2 2 */
    ok(fabs(lambda - 3) < 1e-12 && fabs(error - 3 * hypot(8 * 0.25, 2) / 18) < 1e-12,
       "zeta^2 held at 0 still counts in lambda's error: %.3g +- %.3g", lambda, error);
    c.noise.level = 0;
    ok(sg_rule_estimated(4, 10, &c, &error) == 0 && fabs(error - sqrt(hypot(8 * 0.25, 2))) < 1e-12,
       "lambda = 0: as far as one standard error moves it");
}

/* Messages of hard-threshold with error feedback a step, of entries whose gradients have this mean and deviation 1. */
static double walk(double mean, double lambda, int steps) {
    enum { ENTRIES = 4000 };
    sg_rng rng = sg_rng_open(1, SG_RNG_SHARD, 0, 0);
    double sent = 0;
    for (int i = 0; i < ENTRIES; i++) {
        double e = 0;
        for (int t = 0; t < steps; t++) {
            e += mean + sg_rng_normal(&rng);
            sent += fabs(e) >= lambda;
            e = fabs(e) >= lambda ? 0 : e;
        }
    }
    return sent / ENTRIES / steps;
}

static void test_walks(void) {
    const struct {
        double mean, lambda;
        int steps;
    } cases[] = {{0, 6, 300}, {0, 12, 150}, {0, 12, 60}, {0, 2, 50}, {0.2, 6, 300}, {0.5, 12, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double mean = cases[i].mean, lambda = cases[i].lambda, sent = walk(mean, lambda, cases[i].steps);
        struct sg_walk_law law = {.gradient = 7, .drift = mean, .d = 7, .steps = cases[i].steps}, fitted = law;
        const double says = sg_walk_sent(&law, lambda) / law.d;
        if (!ok(fabs(says / sent - 1) < 0.06, "a walk with mean %g sends as the law says at lambda %g in %d steps",
                mean, lambda, cases[i].steps))
            printf("# %g, and the law %g\n", sent, says);
        ok(fabs(sg_walk_lambda(&law, says * law.d) / lambda - 1) < 1e-9, "and the law is solved for lambda");
        for (int more = 0; more < 2; more++) {
            fitted.gradient = law.gradient * (more ? 0.5 : 3);
            sg_walk_fit(&fitted, lambda, says * law.d);
            ok(fabs(sg_walk_sent(&fitted, lambda) / (says * law.d) - 1) < 1e-9 &&
                   (fitted.drift > 0) == (more || mean > 0.3),
               "and fitted to a volume");
        }
    }
}

int main(void) {
    test_walks();
    char alone[65], visited[65];
    run(alone, false);
    run(visited, true);
    ok(strlen(alone) == 64 && strcmp(alone, visited) == 0, "visits change nothing");
    ok(exact.count == STEPS / EVERY + 1 && astray == 0, "exact constants are those of the rows one by one");
    test_estimates();
    test_few_draws();
    test_lines();
    test_rule();
    sg_noise_free(&exact);
    sg_noise_free(&drawn);
    sg_noise_free(&few);
    return tap_done();
}
