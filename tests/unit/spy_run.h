/* spy_run.h: gradients for the spy task, and runs of the trainer on it. */
/* SPDX-License-Identifier: MIT */
#ifndef SPY_RUN_H
#define SPY_RUN_H

#include <unistd.h>

#include "sg_result.h"
#include "sg_rng.h"
#include "sg_train.h"
#include "spy_task.h"
#include "tap.h"
#include "temporary.h"
#include "train_once.h"

static const double GAMMA = 0.25;
static struct sg_error err;

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* A multiple of 1/8 in [-1, 1]. */
static float noise(size_t worker, uint32_t draw, int j) {
    sg_rng rng = sg_rng_open(7, SG_RNG_TEST, (uint32_t)worker, (uint64_t)draw * D + (uint64_t)j);
    return (float)((int)sg_rng_below(&rng, 17) - 8) / 8;
}

/* Worker w moves coordinates w, w + n, w + 2 n, …: residuals of different workers never meet in a coordinate. */
__attribute__((unused)) static void apart(float *g, size_t worker, uint32_t draw, const double *x) {
    (void)x;
    for (int j = 0; j < D; j++)
        g[j] = (size_t)j % WORKERS == worker ? noise(worker, draw, j) : 0;
}

__attribute__((unused)) static void ones(float *g, size_t worker, uint32_t draw, const double *x) {
    (void)worker, (void)draw, (void)x;
    for (int j = 0; j < D; j++)
        g[j] = 1;
}

/* Of (a_j/2) (x_j - c_wj)^2, with noise. */
static void valley(float *g, size_t worker, uint32_t draw, const double *x) {
    for (int j = 0; j < D; j++)
        g[j] =
            (float)((1 + j % 3) / 3.0 * (x[j] - (double)worker / 2 - 0.1 * j) + 0.3 * (double)noise(worker, draw, j));
}

/* Keys behind a rule's name: an interval shorter than these runs, whatever the preset. "" = it has no interval. */
__attribute__((unused)) static const char *interval_of(const struct sg_feedback_rule *rule) {
    for (size_t i = 0; i < rule->n_params; i++)
        if (strcmp(rule->params[i].name, "steps") == 0)
            return ", steps: 4";
    return "";
}

__attribute__((unused)) static void in_valley(void) {
    watch(valley, three_layers, 3);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static const char text[] = "schema: 1\n"
                           "name: spy\n"
                           "task: {kind: logreg, dataset: spy}\n"
                           "workers: 4\n"
                           "steps: 40\n"
                           "optimizer: {learning-rate: 0.25}\n"
                           "record: {every: 1, series: [error-norm, total-error, bits, bits-values, density, "
                           "average-density, density-padded,\n"
                           "                            average-density-padded, bytes-sent, loss, suboptimality]}\n"
                           "methods:\n"
                           "  - {name: SGD, compressor: none}\n"
                           "  - {name: Top-k, compressor: topk, k: 1}\n"
                           "  - {name: Share, compressor: topk, density: 0.4}\n"
                           "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 1.5}\n"
                           "  - {name: Nothing, compressor: hard-threshold, lambda: 1e9}\n"
                           "  - {name: Random-k, compressor: randomk, k: 2}\n"
                           "  - {name: Accordion, compressor: accordion, k-min: 1, k-max: 3, interval: 2}\n"
                           "  - {name: Sums, compressor: accordion, k-min: 1, k-max: 3, interval: 2, accumulate: 1}\n";

static const char *record_inputs; /* of the runs below; NULL = none */

static int stop_when_asked(void) {
    return spy.step == spy.stop_step ? 15 : 0;
}

static const char *recipe_text = text;

/* Leaves a pattern where the next calls have their variables. Runs of one process would else find there what the run
 * before left, which may be right by chance. */
static __attribute__((noinline)) void scribble(void) {
    volatile unsigned char there[1 << 16];
    for (size_t i = 0; i < sizeof there; i++)
        there[i] = 0x5a;
}

/* One run of `method`; `set` lists changes of the recipe, ended by NULL. The series, if there is one (rank 0), is read
 * back into *run. */
static sg_status train(struct sg_run *run, const char *method, const char *const *set, FILE *series, bool resume) {
    const struct sg_train_options how = {.device = "cpu",
                                         .threads = 1,
                                         .series = series,
                                         .checkpoint = temporary_path("ckpt"),
                                         .record_inputs = record_inputs,
                                         .resume = resume,
                                         .stop = stop_when_asked};
    scribble();
    const sg_status status = train_once(recipe_text, method, set, how, &err);
    struct sg_error unread;
    char path[64];
    *run = (struct sg_run){0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", series ? fileno(series) : -1);
    if (series && (fflush(series) != 0 || sg_run_read(run, path, &unread) != SG_OK))
        *run = (struct sg_run){0};
    return status;
}

/* A whole run into a series that nobody keeps. */
static struct sg_run whole(const char *method, const char *const *set) {
    struct sg_run run;
    FILE *series = tmpfile();
    sg_status status = train(&run, method, set, series, false);
    if (status != SG_OK || !run.end) {
        printf("# %s: %s\n", method, err.msg);
        exit(1);
    }
    fclose(series);
    return run;
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool same_points(const struct sg_run *a, const struct sg_run *b) {
    bool same = a->n_series == b->n_series && a->n_points == b->n_points;
    for (size_t i = 0; same && i < a->n_series; i++)
        for (size_t k = 0; k < a->n_points; k++)
            same &= a->series[i].value[k] == b->series[i].value[k] ||
                    (isnan(a->series[i].value[k]) && isnan(b->series[i].value[k]));
    return same && (a->layers ? cJSON_Compare(a->layers, b->layers, true) : !b->layers);
}

/* ---- every compressor of the table ---- */

/* A recipe of one method M, whose parameters are written as a recipe writes them. */
static char one_method[2048];
__attribute__((unused)) static void write_method(const char *compressor, const char *param) {
    static const char head[] = "schema: 1\nname: spy\ntask: {kind: logreg, dataset: spy}\nworkers: 4\nsteps: 40\n"
                               "optimizer: {learning-rate: 0.25}\nrecord: {every: 1, series: [loss]}\nmethods:\n";
    snprintf(one_method, sizeof one_method, "%s  - {name: M, compressor: %s%s%s}\n", head, compressor,
             *param ? ", " : "", param);
}

/* Parameters that every compressor can do with, as a recipe writes them. */
__attribute__((unused)) static void parameters(char out[256], const struct sg_compressor_ops *ops) {
    static const struct {
        const char *name, *value;
    } given[] = {{"density", "0.4"}, {"lambda", "0.5"},       {"step", "0.5"}, {"tau", "0.3"},
                 {"rank", "1"},      {"k-min", "1"},          {"k-max", "3"},  {"unbiased", "1"},
                 {"interval", "1"},  {"error-bound", "0.01"}, {"at", "2"}};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < ops->n_params; i++)
        for (size_t k = 0; k < sizeof given / sizeof *given; k++)
            if (strcmp(ops->params[i].name, given[k].name) == 0)
                used += (size_t)snprintf(out + used, 256 - used, "%s%s: %s", used ? ", " : "", given[k].name,
                                         given[k].value);
}

__attribute__((unused)) static void in_matrices(void) {
    static const size_t offset[] = {0, 6, D}, rows[] = {2, 3};
    watch(valley, offset, 2);
    spy.rows = rows;
}

/* "record.series=[...]" of all columns that the spy can record. */
static void all_columns(char out[1024]) {
    const struct sg_task_kind *kind = sg_task_kind_find("logreg");
    size_t used = (size_t)snprintf(out, 1024, "record.series=[loss, suboptimality");
    for (size_t i = 0; i < SG_COLUMNS; i++)
        if (sg_task_records(kind, (enum sg_column)i))
            used += (size_t)snprintf(out + used, 1024 - used, ", %s", sg_common_metrics[i].name);
    for (char *c = out; (c = strchr(c, '_')) != NULL;) /* recipes say error-norm */
        *c = '-';
    snprintf(out + used, 1024 - used, "]");
}

/* Stopped after each step in turn, then resumed: residuals, momentum, what task and compressor keep, sums and all
 * columns go on. `prepare` sets the spy up. */
__attribute__((unused)) static void test_resume(const char *method, const char *const *more, void (*prepare)(void)) {
    enum { MOST_SET = 16 };
    size_t wrong = 0, n = 1;
    char columns[1024];
    const char *set[MOST_SET] = {columns}; /* what is set later, by `more`, counts */
    all_columns(columns);
    for (; more && more[n - 1] && n + 1 < MOST_SET; n++)
        set[n] = more[n - 1];
    prepare();
    struct sg_run straight = whole(method, set), cut;
    double x[D];
    memcpy(x, spy.x[40], sizeof x);
    for (uint64_t at = 0; at < 39; at += at < 4 ? 1 : 5) {
        FILE *series = tmpfile();
        prepare();
        spy.stop_step = at;
        sg_status status = train(&cut, method, set, series, false);
        wrong += status != SG_ERR_INTERRUPTED || access(temporary_path("ckpt"), R_OK) != 0;
        sg_run_free(&cut);
        spy.stop_step = UINT64_MAX;
        memset(spy.x, 0, sizeof spy.x);
        wrong += train(&cut, method, set, series, true) != SG_OK || !same_points(&cut, &straight) ||
                 memcmp(spy.x[40], x, sizeof x) != 0;
        sg_run_free(&cut);
        fclose(series);
        unlink(temporary_path("ckpt"));
    }
    ok(wrong == 0, "stopped and resumed, %s ends with the same bytes", method);
    sg_run_free(&straight);
}

#endif
