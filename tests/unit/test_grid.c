/* Aggregates over seeds and verdicts of claims, on constructed runs with values known in closed form. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grid_process.h"
#include "made_document.h"
#include "tap.h"

enum { POINTS = 10, SEEDS = 3, CELLS = 2 * SEEDS };

static struct sg_recipe recipe;
static struct sg_cell *cells;
static size_t count;
static struct sg_cell_outcome outcomes[CELLS];

static const char recipe_head[] = "schema: 1\n"
                                  "name: constructed\n"
                                  "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
                                  "epochs: 1\n"
                                  "optimizer: {kind: sgd, learning-rate: 0.1}\n"
                                  "seeds: [1, 2, 3]\n"
                                  "record: {every: 10, series: [error-norm, suboptimality, density]}\n"
                                  "methods:\n"
                                  "  - {name: A, compressor: none, baseline: true}\n"
                                  "  - {name: B, compressor: topk, k: 2}\n";

static void read_recipe(const char *rest) {
    char text[8192];
    struct sg_error err = {.status = SG_OK};
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&recipe);
    snprintf(text, sizeof text, "%s%s", recipe_head, rest);
    if (sg_recipe_parse(&recipe, text, strlen(text), "test.yaml", NULL, 0, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &count, &err) != SG_OK || count != CELLS) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

/* The run of cell i as sparsetrain would write it: at point p = 1..points, step 10 p, epoch p / 4,
 * error_norm = scale * seed * p, bits = 6930 p of A and 10 p of B, suboptimality = 2^-p, of B b_times as much, times
 * b_spread^(seed - 2). Constants: gamma = 5. */
static double b_times = 1, b_spread = 1;

static void make_run(size_t i, int points, const char *status) {
    char text[8192], *at = text, *end = text + sizeof text;
    int scale = i < SEEDS ? 1 : 3, seed = (int)cells[i].seed;
    struct sg_error err = {.status = SG_OK};
    at += snprintf(at, (size_t)(end - at),
                   "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"dataset\":{\"name\":\"two-clouds\"},"
                   "\"constants\":{\"gamma\":5},\"units\":{\"error_norm\":\"\"},"
                   "\"columns\":[\"step\",\"epoch\",\"error_norm\",\"bits\",\"suboptimality\"]}\n");
    for (int p = 1; p <= points; p++)
        at += snprintf(at, (size_t)(end - at),
                       "{\"record\":\"step\",\"step\":%d,\"epoch\":%.17g,\"error_norm\":%d,\"bits\":%d,"
                       "\"suboptimality\":%.17g}\n",
                       10 * p, p / 4.0, scale * seed * p, i < SEEDS ? 6930 * p : 10 * p,
                       ldexp(i < SEEDS ? 1 : b_times * pow(b_spread, seed - 2), -p));
    at += snprintf(at, (size_t)(end - at),
                   "{\"record\":\"run\",\"elapsed_s\":1.5}\n{\"record\":\"end\",\"status\":\"%s\","
                   "\"message\":null,\"steps\":%d}\n",
                   status, 10 * points);
    sg_run_free(&outcomes[i].run);
    if (sg_run_parse(&outcomes[i].run, text, strlen(text), "made", &err) != SG_OK) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    outcomes[i].state = strcmp(status, "ok") == 0 ? SG_CELL_DONE : SG_CELL_DIVERGED;
}

static void all_runs(void) {
    for (size_t i = 0; i < CELLS; i++)
        make_run(i, POINTS, "ok");
}

/* A part of the result of the first n cells, with series of at most `most` points (0 = all). */
static cJSON *part_of_result(const char *key, size_t n, size_t most) {
    cJSON *document = made_document(&recipe, NULL, cells, outcomes, n, most);
    cJSON *part = cJSON_DetachItemFromObjectCaseSensitive(document, key);
    cJSON_Delete(document);
    return part;
}

static double element(const cJSON *array, const char *path, int i) {
    const cJSON *item = cJSON_GetArrayItem(sg_json_get(array, path), i);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* ---- aggregates ---- */

static void test_aggregates(void) {
    all_runs();
    cJSON *results = part_of_result("results", count, 0);
    ok(cJSON_GetArraySize(results) == 2, "one entry a label");
    const cJSON *a = cJSON_GetArrayItem(results, 0), *b = cJSON_GetArrayItem(results, 1);
    ok(strcmp(sg_json_string(a, "label", ""), "A") == 0 && sg_json_bool(a, "baseline", false), "A is the baseline");
    ok(strcmp(sg_json_string(b, "compressor", ""), "topk") == 0 && sg_json_number(b, "parameters.k", 0) == 2,
       "B: its compressor and parameter");
    ok(sg_json_number(b, "constants.gamma", 0) == 5, "constants");
    ok(strcmp(cJSON_GetArrayItem(sg_json_get(a, "seeds"), 2)->valuestring, "3") == 0, "seeds are strings");
    ok(cJSON_GetArraySize(sg_json_get(a, "series.step")) == POINTS && element(a, "series.step", 4) == 50 &&
           element(a, "series.epoch", 4) == 1.25,
       "axes");
    int bad = 0;
    for (int p = 1; p <= POINTS; p++) { /* seeds 1, 2, 3 times p: mean 2p, sample deviation p */
        bad += !(element(a, "series.error_norm.mean", p - 1) == 2 * p);
        bad += !(fabs(element(a, "series.error_norm.std", p - 1) - p) <= 1e-15 * p);
        bad += !(element(a, "series.error_norm.n", p - 1) == SEEDS);
        bad += !(element(b, "series.error_norm.mean", p - 1) == 6 * p);
        bad += !(element(a, "series.suboptimality.std", p - 1) == 0);
    }
    ok(bad == 0, "mean, deviation and n at every point");
    ok(sg_json_number(b, "final.error_norm.mean", 0) == 60 && sg_json_number(b, "final.error_norm.std", 0) == 30 &&
           element(b, "final.error_norm.values", 2) == 90,
       "final values");
    ok(!sg_json_get(a, "series.step.mean") && !sg_json_get(a, "series.epoch.mean"), "axes are plain");
    const cJSON *cell = cJSON_GetArrayItem(sg_json_get(a, "cells"), 0);
    ok(strcmp(sg_json_string(cell, "status", ""), "ok") == 0 && sg_json_number(cell, "elapsed_s", 0) == 1.5 &&
           sg_json_number(cell, "steps", 0) == 100 && cJSON_IsNull(sg_json_get(cell, "message")),
       "a cell");
    cJSON_Delete(results);
}

static void test_thinning(void) {
    all_runs();
    cJSON *results = part_of_result("results", count, 4);
    const cJSON *a = cJSON_GetArrayItem(results, 0);
    /* POINTS = 10 points, every third: 10, 40, 70 and the last. */
    ok(cJSON_GetArraySize(sg_json_get(a, "series.step")) == 4 && element(a, "series.step", 1) == 40 &&
           element(a, "series.step", 3) == 10 * POINTS && element(a, "series.error_norm.mean", 2) == 14,
       "thinned to every third point and the last");
    ok(sg_json_number(a, "final.error_norm.mean", 0) == 2 * POINTS, "finals are not");
    cJSON_Delete(results);
}

/* An evaluation at every fifth point only: 10 points to at most 5 keep both, and of the others what still fits. */
static void test_thinning_evaluations(void) {
    all_runs();
    for (size_t i = 0; i < SEEDS; i++)
        for (size_t c = 0; c < outcomes[i].run.n_series; c++)
            for (size_t p = 0; p < POINTS && strcmp(outcomes[i].run.series[c].name, "suboptimality") == 0; p++)
                outcomes[i].run.series[c].value[p] = p == 1 || p == 6 ? 7 : NAN;
    cJSON *results = part_of_result("results", count, 5);
    const cJSON *a = cJSON_GetArrayItem(results, 0);
    static const double kept[] = {10, 20, 60, 70, 100};
    bool right = cJSON_GetArraySize(sg_json_get(a, "series.step")) == 5;
    for (int k = 0; k < 5; k++)
        right &= element(a, "series.step", k) == kept[k];
    ok(right && element(a, "series.suboptimality.mean", 1) == 7 && element(a, "series.suboptimality.n", 2) == 0 &&
           element(a, "series.suboptimality.n", 3) == SEEDS && sg_json_number(a, "final.suboptimality.mean", 0) == 7,
       "evaluations are thinned last");
    cJSON_Delete(results);
    results = part_of_result("results", count, 2);
    a = cJSON_GetArrayItem(results, 0);
    ok(cJSON_GetArraySize(sg_json_get(a, "series.step")) == 2 && element(a, "series.step", 0) == 20,
       "but thinned they are");
    cJSON_Delete(results);
}

static void test_incomplete(void) {
    all_runs();
    make_run(1, 4, "diverged");    /* A, seed 2 */
    sg_run_free(&outcomes[2].run); /* A, seed 3 */
    outcomes[2].state = SG_CELL_FAILED;
    outcomes[2].message = strdup("exit status 1\nno memory");
    cJSON *results = part_of_result("results", count, 0);
    const cJSON *a = cJSON_GetArrayItem(results, 0);
    ok(element(a, "series.error_norm.n", 3) == 2 && element(a, "series.error_norm.mean", 3) == 6,
       "two seeds have point 4: (1 + 2) 4 / 2");
    ok(element(a, "series.error_norm.n", 4) == 1 && element(a, "series.error_norm.mean", 4) == 5 &&
           element(a, "series.error_norm.std", 4) == 0,
       "one seed has point 5");
    ok(sg_json_number(a, "final.error_norm.n", 0) == 1 && sg_json_number(a, "final.error_norm.mean", 0) == 10 &&
           isnan(element(a, "final.error_norm.values", 1)) && isnan(element(a, "final.error_norm.values", 2)),
       "only seeds that ended enter a final mean");
    const cJSON *failed = cJSON_GetArrayItem(sg_json_get(a, "cells"), 2);
    ok(strcmp(sg_json_string(failed, "status", ""), "failed") == 0 &&
           strcmp(sg_json_string(failed, "message", ""), "exit status 1\nno memory") == 0,
       "the failed cell says why");
    ok(cJSON_IsNull(sg_json_get(failed, "steps")) && cJSON_IsNull(sg_json_get(failed, "elapsed_s")),
       "keys of a failed cell are there, null");
    cJSON_Delete(results);
    free(outcomes[2].message);
    outcomes[2].message = NULL;

    for (size_t i = 0; i < SEEDS; i++) {
        sg_run_free(&outcomes[i].run);
        outcomes[i].state = SG_CELL_WAITING;
    }
    results = part_of_result("results", count, 0);
    a = cJSON_GetArrayItem(results, 0);
    ok(cJSON_GetArraySize(sg_json_get(a, "series.step")) == 0 && cJSON_IsNull(sg_json_get(a, "constants")) &&
           strcmp(sg_json_string(cJSON_GetArrayItem(sg_json_get(a, "cells"), 0), "status", ""), "not_run") == 0,
       "a label without any run");
    cJSON_Delete(results);
}

/* A run that diverged between two records ends with a step the others lack. */
static void test_odd_step(void) {
    all_runs();
    make_run(1, 3, "diverged");
    for (size_t c = 0; c < outcomes[1].run.n_series; c++)
        if (strcmp(outcomes[1].run.series[c].name, "step") == 0)
            outcomes[1].run.series[c].value[2] = 27;
    cJSON *results = part_of_result("results", count, 0);
    const cJSON *a = cJSON_GetArrayItem(results, 0);
    ok(cJSON_GetArraySize(sg_json_get(a, "series.step")) == POINTS + 1 && element(a, "series.step", 2) == 27 &&
           element(a, "series.error_norm.n", 2) == 1 && element(a, "series.error_norm.mean", 2) == 6 &&
           element(a, "series.error_norm.n", 3) == 2,
       "points are matched by step, not by place");
    cJSON_Delete(results);
}

/* ---- claims ---- */

/* The only claim of a recipe, evaluated. `body` goes into its flow map. */
static cJSON *claim(const char *body) {
    char text[1024];
    snprintf(text, sizeof text, "claims:\n  - {text: a claim, %s}\n", body);
    read_recipe(text);
    cJSON *claims = part_of_result("claims", count, 0);
    cJSON *first = cJSON_DetachItemFromArray(claims, 0);
    cJSON_Delete(claims);
    return first;
}

static void check(const char *body, const char *verdict, double value, double bound, const char *what) {
    cJSON *c = claim(body);
    const char *got = sg_json_string(c, "verdict", "");
    const cJSON *seeds = sg_json_get(c, "seeds"), *second = cJSON_GetArrayItem(seeds, 1);
    double v = sg_json_number(second, "value", NAN), b = sg_json_number(second, "bound", NAN);
    bool same = (v == value || (isnan(v) && isnan(value))) && (b == bound || (isnan(b) && isnan(bound)));
    if (!ok(strcmp(got, verdict) == 0 && same && cJSON_GetArraySize(seeds) == SEEDS, "%s: %s", what, verdict))
        printf("#   got %s (%s), seed 2: value %g, bound %g\n", got, sg_json_string(c, "reason", ""), v, b);
    cJSON_Delete(c);
}

/* Values of seed 2: error_norm of A is 2 p, of B 6 p, p = 1..10; suboptimality 2^-p. */
static void test_reductions(void) {
    all_runs();
    check("metric: error-norm, of: A, at-most: 30", "holds at these seeds", 20, 30, "final is the default");
    check("metric: error-norm, of: A, at: {final: true}, at-least: 31", "fails at these seeds", 20, 31, "final");
    check("metric: error-norm, of: A, at: {tail-median: 0.2}, at-most: 100", "holds", 19, 100, "median of 2 of 10");
    check("metric: error-norm, of: A, at: {tail-median: 0.3}, at-most: 100", "holds", 18, 100, "median of 3 of 10");
    check("metric: error-norm, of: A, at: {tail-median: 0.01}, at-most: 100", "holds", 20, 100, "at least one point");
    check("metric: error-norm, of: A, at: {tail-mean: 0.5}, at-most: 100", "holds", 16, 100, "mean of 5 of 10");
    check("metric: error-norm, of: A, at: {tail-mean: 1}, at-most: 100", "holds", 11, 100, "mean of all as a tail");
    check("metric: error-norm, of: A, at: {max: true}, at-most: 100", "holds", 20, 100, "max");
    check("metric: error-norm, of: A, at: {min: true}, at-most: 100", "holds", 2, 100, "min");
    check("metric: error-norm, of: A, at: {mean: true}, at-most: 100", "holds", 11, 100, "mean");
    check("metric: error-norm, of: A, at: {sum: true}, at-most: 1000", "holds", 110, 1000, "sum");
    check("metric: error-norm, of: A, at: {epoch: 1}, at-most: 100", "holds", 8, 100, "the record at epoch 1");
    check("metric: error-norm, of: A, at: {epoch: 1.1}, at-most: 100", "holds", 10, 100, "the record after epoch 1.1");
    check("metric: error-norm, of: A, at: {step: 41}, at-most: 100", "holds", 10, 100, "the record after step 41");
    check("metric: error-norm, of: A, at: {epoch: 3}, at-most: 100", "undecided", NAN, 100, "past the end");
    check("metric: step, of: A, at: {when: suboptimality, below: 0.125}, at-most: 30", "holds", 30, 30,
          "steps until suboptimality <= 1/8");
    check("metric: step, of: A, at: {when: suboptimality, below: 1e-9}, at-most: 30", "fails", NAN, 30,
          "never there is +inf: too late");
    check("metric: step, of: A, at: {when: suboptimality, below: 1e-9}, at-least: 30", "holds", NAN, 30,
          "never there is +inf: late enough");
    check("metric: step, of: A, at: {when: suboptimality, below: 1e-9}, at-most: {of: B}", "undecided", NAN, NAN,
          "two that never get there do not compare");
}

/* As a density before the first step: null in a run that is fine otherwise. */
static void test_null_records(void) {
    all_runs();
    for (size_t i = 0; i < CELLS; i++)
        for (size_t c = 0; c < outcomes[i].run.n_series; c++)
            if (strcmp(outcomes[i].run.series[c].name, "error_norm") == 0)
                outcomes[i].run.series[c].value[0] = NAN;
    check("metric: error-norm, of: A, at: {max: true}, at-most: 100", "holds", 20, 100, "max without a null");
    check("metric: error-norm, of: A, at: {min: true}, at-most: 100", "holds", 4, 100, "min without a null");
    check("metric: error-norm, of: A, at: {mean: true}, at-most: 100", "holds", 12, 100, "mean without a null");
    check("metric: error-norm, of: A, at: {sum: true}, at-most: 1000", "holds", 108, 1000, "sum without a null");
    check("metric: error-norm, of: A, at: {step: 10}, at-most: 1000", "holds", 4, 1000, "the next that is known");
    check("metric: error-norm, of: A, at: {when: suboptimality, below: 0.5}, at-most: 1000", "holds", 4, 1000,
          "and after what came first");
}

static void test_verdicts(void) {
    all_runs();
    check("metric: error-norm, of: B, at-least: {times: 3, of: A}", "holds", 60, 60, "equal is at least");
    check("metric: error-norm, of: B, at-most: {times: 3, of: A}", "holds", 60, 60, "equal is at most");
    check("metric: error-norm, of: B, at-most: {times: 2, plus: 5, of: A}", "fails", 60, 45, "times and plus");
    check("metric: error-norm, of: B, at-most: {times: 2, plus: 10, of: A}", "undecided", 60, 50,
          "true at seed 1 (30 <= 30) alone");
    check("metric: error-norm, of: A, at: {max: true}, at-most: {times: 4, metric: gamma}", "undecided", 20, 20,
          "a constant as bound; false at seed 3");
    check("metric: gamma, of: A, at: {max: true}, at-most: 5", "holds", 5, 5, "a constant as value");
    check("metric: error-norm, of: A, at: {max: true}, at-most: {at: {sum: true}}", "holds", 20, 110,
          "a bound at another place");
    cJSON *c = claim("metric: error-norm, of: B, at-most: {times: 2, plus: 10, of: A}");
    ok(strcmp(sg_json_string(c, "reason", ""), "true at 1 of 3 seeds") == 0, "a mixed verdict counts the seeds");
    ok(sg_json_number(cJSON_GetArrayItem(sg_json_get(c, "seeds"), 1), "ratio", 0) == 60.0 / 50, "ratio");
    ok(strcmp(sg_json_string(c, "metric", ""), "error_norm") == 0 &&
           strcmp(sg_json_string(c, "sense", ""), "at-most") == 0,
       "names");
    cJSON_Delete(c);
    c = claim("metric: error-norm, of: A, at-most: 100");
    ok(cJSON_IsNull(sg_json_get(c, "reason")), "what holds needs no reason");
    ok(cJSON_IsNull(sg_json_get(c, "bound.of")) && sg_json_number(c, "bound.plus", 0) == 100 &&
           cJSON_IsNull(sg_json_get(cJSON_GetArrayItem(sg_json_get(c, "seeds"), 0), "other")),
       "a bound that is a number compares with nothing else");
    ok(!sg_json_bool(c, "descriptive", true) && cJSON_IsNull(sg_json_get(c, "note")),
       "nothing is said of a claim unasked");
    cJSON_Delete(c);
}

/* A bound can be computed again from what the document has, also where no other part of it has the number. */
static void test_bounds(void) {
    all_runs();
    cJSON *c = claim("descriptive: true, note: from above, metric: error-norm, of: B, "
                     "at-most: {times: 2, plus: 5, of: A, metric: step, at: {when: suboptimality, below: 0.125}}");
    const cJSON *seed;
    size_t right = 0;
    cJSON_ArrayForEach(seed, sg_json_get(c, "seeds")) right +=
        sg_json_number(seed, "other", NAN) == 30 && sg_json_number(seed, "bound", NAN) == 65;
    ok(right == SEEDS && sg_json_number(c, "bound.times", 0) == 2 && sg_json_number(c, "bound.plus", 0) == 5 &&
           strcmp(sg_json_string(c, "bound.of", ""), "A") == 0 &&
           strcmp(sg_json_string(c, "bound.metric", ""), "step") == 0 &&
           sg_json_number(c, "bound.at.below", 0) == 0.125,
       "each seed has the number that its bound is made of");
    ok(sg_json_bool(c, "descriptive", false) && strcmp(sg_json_string(c, "note", ""), "from above") == 0,
       "what the recipe says of a claim stands beside its verdict");
    cJSON_Delete(c);
}

static void test_missing(void) {
    all_runs();
    make_run(SEEDS + 1, 5, "diverged"); /* B, seed 2 */
    cJSON *c = claim("metric: error-norm, of: B, at-most: 1000");
    ok(strcmp(sg_json_string(c, "verdict", ""), "undecided") == 0 &&
           strcmp(sg_json_string(c, "reason", ""), "B, seed 2: diverged") == 0,
       "a diverged seed decides nothing");
    cJSON_Delete(c);
    c = claim("metric: error-norm, of: A, at-most: {times: 100, of: B}");
    ok(strcmp(sg_json_string(c, "verdict", ""), "undecided") == 0, "nor does a diverged bound");
    cJSON_Delete(c);
    c = claim("metric: density, of: A, at-most: 1");
    ok(strcmp(sg_json_string(c, "reason", ""), "A, seed 1: density was not recorded") == 0,
       "a metric that the run lacks");
    cJSON_Delete(c);
    read_recipe("claims:\n  - {text: x, metric: error-norm, of: B, at-most: {times: 9, of: A}}\n");
    cJSON *part = part_of_result("claims", SEEDS, 0); /* only the cells of A were asked for */
    const cJSON *first = cJSON_GetArrayItem(part, 0);
    ok(strcmp(sg_json_string(first, "verdict", ""), SG_NOT_JUDGED) == 0 &&
           strcmp(sg_json_string(first, "reason", ""), "B was not asked for") == 0,
       "a claim about a method that was not asked for is not judged");
    cJSON_Delete(part);
    read_recipe("claims:\n  - {text: x, metric: error-norm, of: A, at-most: {times: 9, of: B}}\n");
    part = part_of_result("claims", SEEDS, 0);
    first = cJSON_GetArrayItem(part, 0);
    ok(strcmp(sg_json_string(first, "verdict", ""), SG_NOT_JUDGED) == 0 &&
           cJSON_GetArraySize(sg_json_get(first, "seeds")) == 0,
       "nor one whose bound is about such a method");
    cJSON_Delete(part);
}

/* Columns that a plot draws with quartiles have them: seeds 1, 2, 3 times p. */
static void test_quartiles(void) {
    static const struct {
        const char *plot;
        bool has;
    } table[] = {{"{x: epoch, y: error-norm, log: y}", true},
                 {"{x: epoch, y: error-norm}", false},
                 {"{x: epoch, y: error-norm, band: quartiles}", true},
                 {"{x: epoch, y: error-norm, log: y, band: std}", false},
                 {"{x: epoch, y: suboptimality, log: y}", false},
                 {"{x: epoch, y: error-norm, log: y, kind: points}", false}};
    all_runs();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[128];
        snprintf(text, sizeof text, "plots:\n  - %s\n", table[i].plot);
        read_recipe(text);
        cJSON *results = part_of_result("results", count, 0);
        const cJSON *a = cJSON_GetArrayItem(results, 0);
        const bool right = element(a, "series.error_norm.q1", 3) == 6 &&
                           element(a, "series.error_norm.median", 3) == 8 &&
                           element(a, "series.error_norm.q3", 3) == 10 && element(a, "series.error_norm.mean", 3) == 8;
        ok(table[i].has ? right : !sg_json_get(a, "series.error_norm.median"), "quartiles of %s", table[i].plot);
        cJSON_Delete(results);
    }
}

static void test_plots(void) {
    all_runs();
    read_recipe("plots:\n  - {x: epoch, y: error-norm, log: y, y-range: [0.5, 20], methods: [A]}\n"
                "  - {x: step, y: error-norm, kind: points, y-at: {max: true}}\n");
    cJSON *plots = part_of_result("plots", count, 0);
    const cJSON *curves = cJSON_GetArrayItem(plots, 0), *points = cJSON_GetArrayItem(plots, 1);
    ok(strcmp(sg_json_string(curves, "y", ""), "error_norm") == 0 && element(curves, "y_range", 1) == 20 &&
           cJSON_IsNull(sg_json_get(curves, "x_range")) && cJSON_IsNull(sg_json_get(curves, "points")),
       "curves");
    const cJSON *b = cJSON_GetArrayItem(sg_json_get(points, "points"), 1);
    ok(strcmp(sg_json_string(b, "label", ""), "B") == 0 && sg_json_number(b, "x.mean", 0) == 100 &&
           sg_json_number(b, "y.mean", 0) == 60 && sg_json_number(b, "y.std", 0) == 30,
       "points");
    cJSON_Delete(plots);
}

/* ---- the summary ---- */

/* The whole result of this recipe with B's suboptimality `times` that of A. */
static cJSON *found(const char *rest, double times) {
    read_recipe(rest);
    b_times = times;
    all_runs();
    b_times = 1;
    return made_document(&recipe, NULL, cells, outcomes, count, 0);
}

static void test_summary(void) {
    static const char claims[] = "claims:\n  - {text: e, metric: error-norm, of: B, at-most: 1}\n"
                                 "  - {text: passes, metric: suboptimality, at: {step: 10}, of: B, at-most: 1}\n"
                                 "  - {text: s, metric: suboptimality, at: {tail-mean: 0.1}, of: B, at-most: 1}\n";
    static const struct {
        double times, spread;
        const char *text;
    } table[] = {
        {1, 1, "B reaches A's suboptimality (mean of the last 10 %) with 693 times less traffic (ends at 1 times it)"},
        {1.2, 1,
         "B reaches A's suboptimality (mean of the last 10 %) with 693 times less traffic (ends at most at 1.2 "
         "times it, 3 seeds)"},
        {0.5, 1.1,
         "B reaches A's suboptimality (mean of the last 10 %) with 693 times less traffic (ends at 0.5 (0.395 "
         "to 0.634) times it)"},
        {1.2, 1.1,
         "B is not shown to reach A's suboptimality (mean of the last 10 %) with 693 times less traffic (ends "
         "at 1.2 (0.947 to 1.52) times it)"},
        {1.26, 1,
         "B does not reach A's suboptimality (mean of the last 10 %) with 693 times less traffic (ends at 1.26 "
         "times it)"},
        {4.6, 1.1,
         "B does not reach A's suboptimality (mean of the last 10 %) with 693 times less traffic (ends at 4.6 "
         "(3.63 to 5.83) times it)"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        b_spread = table[i].spread;
        cJSON *d = found(claims, table[i].times);
        ok(strcmp(sg_json_string(d, "summary.text", ""), table[i].text) == 0, "%g times: %s", table[i].times,
           sg_json_string(d, "summary.text", "(nothing)"));
        cJSON_Delete(d);
    }
    b_spread = 1;
    cJSON *d = found(claims, 4.6);
    const cJSON *b = cJSON_GetArrayItem(sg_json_get(d, "summary.methods"), 0);
    ok(strcmp(sg_json_string(d, "summary.baseline", ""), "A") == 0 &&
           strcmp(sg_json_string(d, "summary.metric", ""), "suboptimality") == 0 &&
           sg_json_number(d, "summary.at.tail_mean", 0) == 0.1 &&
           strcmp(sg_json_string(d, "summary.better", ""), "lower") == 0 &&
           sg_json_number(d, "summary.value", 0) == ldexp(1, -10) && sg_json_number(d, "summary.std", NAN) == 0,
       "the first claim about quality in the end chooses the metric and where it is taken");
    ok(fabs(sg_json_number(b, "loss", 0) - 4.6) < 1e-12 && !sg_json_bool(b, "reaches", true) &&
           strcmp(sg_json_string(b, "verdict", ""), "loses") == 0 && sg_json_number(b, "pairs", 0) == SEEDS &&
           strcmp(sg_json_string(b, "baseline", ""), "A") == 0 && sg_json_number(b, "times_less", 0) == 693,
       "numbers of a method");
    ok(sg_json_number(d, "summary.within", 0) == 1.25 && strcmp(sg_json_string(d, "summary.unit", ""), "times") == 0,
       "the margin is that of the metric's quantity");
    ok(strcmp(sg_json_string(d, "traffic.column", ""), "bits") == 0 &&
           sg_json_number(cJSON_GetArrayItem(sg_json_get(d, "results"), 1), "times_less", 0) == 693 &&
           cJSON_IsNull(sg_json_get(cJSON_GetArrayItem(sg_json_get(d, "results"), 0), "times_less")),
       "times less is of the methods, not of the baseline");
    struct sg_document document;
    struct sg_error err;
    if (sg_document_read(&document, d, "d", &err) == SG_OK)
        sg_grid_unjudge(&document, "too short");
    d = document_json(&document);
    ok(strcmp(sg_json_string(cJSON_GetArrayItem(sg_json_get(d, "claims"), 0), "verdict", ""), SG_NOT_JUDGED) == 0 &&
           cJSON_IsNull(sg_json_get(cJSON_GetArrayItem(sg_json_get(d, "claims"), 0), "margin")) &&
           cJSON_IsNull(sg_json_get(d, "summary.text")) &&
           strcmp(sg_json_string(d, "summary.reason", ""), "too short") == 0,
       "verdicts and summary can be taken back");
    cJSON_Delete(d);
    d = found("plots:\n  - {x: epoch, y: error-norm}\n  - {x: epoch, y: suboptimality}\n", 1);
    ok(strcmp(sg_json_string(d, "summary.metric", ""), "suboptimality") == 0 &&
           sg_json_bool(d, "summary.at.final", false),
       "without such a claim the plots choose");
    cJSON_Delete(d);
    d = found("", 1);
    ok(cJSON_IsNull(sg_json_get(d, "summary.text")) &&
           strcmp(sg_json_string(d, "summary.reason", ""),
                  "neither a claim nor a plot is about the quality of a model") == 0,
       "nothing to compare by");
    cJSON_Delete(d);
    read_recipe(claims);
    d = made_document(&recipe, NULL, cells + SEEDS, outcomes + SEEDS, SEEDS, 0);
    ok(strcmp(sg_json_string(d, "summary.reason", ""), "no method is a baseline to compare with") == 0 &&
           cJSON_IsNull(sg_json_get(d, "traffic")),
       "no baseline among the cells");
    cJSON_Delete(d);
    read_recipe(claims);
    all_runs();
    make_run(SEEDS + 1, 5, "diverged"); /* B, seed 2 */
    d = made_document(&recipe, NULL, cells, outcomes, count, 0);
    ok(strcmp(sg_json_string(d, "summary.text", ""), "No method has a suboptimality at every seed") == 0,
       "a method that diverged at a seed is not compared: %s", sg_json_string(d, "summary.text", ""));
    cJSON_Delete(d);
}

static void set_member(cJSON *object, const char *key, cJSON *take_value) {
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    sg_json_set(object, key, take_value);
}

/* The first item of "results", "summary.methods" or "recipe.resolved.methods" whose name or label is B. */
static cJSON *row_b(cJSON *d, const char *list) {
    return cJSON_GetArrayItem(sg_json_get(d, list), strcmp(list, "summary.methods") == 0 ? 0 : 1);
}

/* A document gets its finding again without its runs, and a saving is one of equal steps and equal settings. */
static void test_summary_again(void) {
    static const char claims[] = "claims:\n  - {text: s, metric: suboptimality, at: {tail-mean: 0.1}, of: B, at-most: "
                                 "{times: 2, of: A}}\n";
    b_spread = 1.1;
    cJSON *d = found(claims, 1.2), *first = cJSON_Duplicate(sg_json_get(d, "summary"), true), *cell;
    b_spread = 1;
    d = rejudged(d);
    ok(cJSON_Compare(first, sg_json_get(d, "summary"), true), "from the values that a finding has");
    cJSON_DeleteItemFromObjectCaseSensitive(d, "summary");
    d = rejudged(d);
    ok(cJSON_Compare(first, sg_json_get(d, "summary"), true), "from those of claims");
    cJSON_Delete(first);
    set_member(row_b(d, "results"), "seeds", cJSON_Parse("[\"1\", \"8\", \"9\"]"));
    d = rejudged(d);
    ok(strcmp(sg_json_string(row_b(d, "summary.methods"), "verdict", ""), "not shown") == 0 &&
           sg_json_number(row_b(d, "summary.methods"), "pairs", 0) == 1 &&
           strstr(sg_json_string(d, "summary.text", ""), ", at one seed)"),
       "one seed never reaches: %s", sg_json_string(d, "summary.text", ""));
    cJSON_Delete(d);
    d = found(claims, 1);
    cJSON_ArrayForEach(cell, sg_json_get(row_b(d, "results"), "cells"))
        set_member(cell, "steps", cJSON_CreateNumber(7));
    d = rejudged(d);
    ok(cJSON_IsNull(sg_json_get(row_b(d, "results"), "times_less")) && sg_json_bool(d, "traffic.other_steps", false) &&
           strstr(sg_json_string(d, "summary.text", ""), "traffic") == NULL,
       "what was sent in other numbers of steps is no saving: %s", sg_json_string(d, "summary.text", ""));
    cJSON_Delete(d);
    d = found(claims, 1);
    set_member(row_b(d, "recipe.resolved.methods"), "learning_rate", cJSON_CreateNumber(7));
    d = rejudged(d);
    ok(cJSON_IsNull(sg_json_get(d, "summary.text")) &&
           strstr(sg_json_string(d, "summary.reason", ""), "learning rate") &&
           sg_json_number(row_b(d, "results"), "times_less", 0) == 693,
       "a row of another learning rate has no baseline: %s", sg_json_string(d, "summary.reason", ""));
    set_member(cJSON_GetArrayItem(sg_json_get(d, "recipe.resolved.methods"), 0), "learning_rate",
               cJSON_CreateNumber(7));
    d = rejudged(d);
    ok(sg_json_string(d, "summary.text", NULL), "it has one of its own rate");
    cJSON_Delete(d);
}

/* Two methods that send as much are held against each other, seed by seed. */
static void test_equal_traffic(void) {
    static const char claims[] = "claims:\n  - {text: s, metric: suboptimality, of: B, at-most: {times: 2, of: A}}\n";
    cJSON *d = found(claims, 1.2), *c = cJSON_Duplicate(row_b(d, "results"), true);
    set_member(c, "label", cJSON_CreateString("C"));
    set_member(c, "method", cJSON_CreateString("C"));
    cJSON_AddItemToArray((cJSON *)sg_json_get(d, "results"), c);
    c = cJSON_Duplicate(row_b(d, "summary.methods"), true);
    set_member(c, "label", cJSON_CreateString("C"));
    const double a = sg_json_number(d, "summary.value", NAN), noisy[] = {3 * a, 2.4 * a, 1.92 * a};
    set_member(c, "values", sg_json_numbers(noisy, SEEDS));
    cJSON_AddItemToArray((cJSON *)sg_json_get(d, "summary.methods"), c);
    d = rejudged(d);
    ok(strstr(sg_json_string(d, "summary.text", ""),
              "At 693 times less traffic B ends 2 (1.15 to 3.48) times below C. B reaches A's suboptimality") != NULL,
       "first what is ahead at equal traffic: %s", sg_json_string(d, "summary.text", "(nothing)"));
    const cJSON *level = cJSON_GetArrayItem(sg_json_get(d, "summary.equal_traffic"), 0);
    ok(strcmp(sg_json_string(level, "first", ""), "B") == 0 && sg_json_bool(level, "beyond_noise", false) &&
           fabs(sg_json_number(level, "lead", 0) - 2) < 1e-9,
       "and in numbers");
    cJSON_Delete(d);
}

static void test_document(void) {
    static const char *const keys[] = {"schema",    "status", "program", "run",    "recipe", "dataset", "host",
                                       "libraries", "units",  "results", "claims", "plots",  "traffic", "summary"};
    all_runs();
    read_recipe("");
    outcomes[0].state = SG_CELL_REUSED;
    cJSON *d = made_document(&recipe, NULL, cells, outcomes, count, 0);
    size_t found = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        found += sg_json_get(d, keys[i]) != NULL;
    ok(found == sizeof keys / sizeof *keys, "every key is there");
    ok(strcmp(sg_json_string(d, "schema", ""), "sparsebench/1") == 0 &&
           strcmp(sg_json_string(d, "status", ""), "ok") == 0 &&
           strcmp(sg_json_string(d, "dataset.name", ""), "two-clouds") == 0,
       "schema, status, data");
    cJSON_Delete(d);
    make_run(1, 2, "diverged");
    d = made_document(&recipe, NULL, cells, outcomes, count, 0);
    ok(strcmp(sg_json_string(d, "status", ""), "diverged") == 0, "the worst status counts");
    cJSON_Delete(d);
}

/* A child that does not stop when it is asked is killed after a while. */
static void test_deaf_child(void) {
    char *const argv[] = {"sh", "-c", "trap '' TERM; echo 1 2; while :; do sleep 0.1; done", NULL};
    struct sg_process p;
    struct sg_error err;
    if (sg_process_start(&p, argv, &err) != SG_OK) {
        ok(false, "%s", err.msg);
        return;
    }
    while (p.done == 0) /* then it is deaf */
        sg_process_wait(&p, 1);
    sg_process_stop(&p, SIGTERM, true);
    usleep(100000);
    ok(!sg_process_ended(&p), "a deaf child gets its time");
    p.asked_s -= SG_PATIENCE_S;
    bool ended = false;
    for (int i = 0; i < 6000 && !ended; i++) {
        ended = sg_process_ended(&p);
        usleep(10000);
    }
    ok(ended && WIFSIGNALED(p.wait_status) && WTERMSIG(p.wait_status) == SIGKILL, "then it is killed");
}

int main(void) {
    read_recipe("");
    test_aggregates();
    test_thinning();
    test_thinning_evaluations();
    test_incomplete();
    test_odd_step();
    test_reductions();
    test_null_records();
    test_verdicts();
    test_bounds();
    test_missing();
    test_quartiles();
    test_plots();
    test_summary();
    test_summary_again();
    test_equal_traffic();
    test_document();
    test_deaf_child();
    sg_grid_outcomes_free(outcomes, CELLS);
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&recipe);
    return tap_done();
}
