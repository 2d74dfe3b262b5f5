/* A frame made of runs and the same one read back from JSON, and what a run has at the places that recipes name. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_document.h"
#include "tap.h"

enum { SEEDS = 3, POINTS = 4 };

static struct sg_run runs[SEEDS];

/* At point p = 0..3 of seed s = 1..3: step 10 p, epoch p, loss s 2^-p, and an accuracy at every second point only. */
static void make_run(struct sg_run *run, int seed) {
    char text[2048], *at = text, *end = text + sizeof text;
    struct sg_error err = {.status = SG_OK};
    at += snprintf(at, (size_t)(end - at),
                   "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"constants\":{\"gamma\":5},"
                   "\"columns\":[\"step\",\"epoch\",\"loss\",\"test_accuracy\"]}\n");
    for (int p = 0; p < POINTS; p++)
        at += snprintf(at, (size_t)(end - at),
                       "{\"record\":\"step\",\"step\":%d,\"epoch\":%d,\"loss\":%.17g,\"test_accuracy\":%s}\n", 10 * p,
                       p, ldexp(seed, -p), p % 2 ? "null" : "0.5");
    if (sg_run_parse(run, text, strlen(text), "made", &err) != SG_OK) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

/* ---- one run ---- */

static void check_value(const char *metric, const char *key, double number, double value, const char *why) {
    char got[SG_WHY_CHARS], name[32];
    snprintf(name, sizeof name, "%s", key ? key : "");
    struct sg_node child = {.kind = SG_NODE_NUMBER, .key = name, .number = number};
    const struct sg_node at = {.kind = SG_NODE_MAP, .child = &child, .count = 1};
    const double x = sg_run_value(&runs[0], metric, key ? &at : NULL, got);
    ok((x == value || (isnan(x) && isnan(value))) && strcmp(got, why) == 0, "%s at %s %g: %g%s%s", metric, name, number,
       x, *got ? ", " : "", got);
}

static void test_values(void) {
    check_value("loss", NULL, 0, 0.125, "");
    check_value("test-accuracy", NULL, 0, 0.5, "");
    check_value("loss", "step", 10, 0.5, "");
    check_value("test_accuracy", "epoch", 1, 0.5, "");
    check_value("test_accuracy", "epoch", 3, NAN, "no record at or after epoch 3");
    check_value("loss", "tail-median", 0.5, 0.1875, "");
    check_value("gamma", NULL, 0, 5, "");
    check_value("bits", NULL, 0, NAN, "bits was not recorded");
    ok(sg_run_last(&runs[0], "test_accuracy") == 0.5 && isnan(sg_run_last(&runs[0], "bits")),
       "the last number of a column is not that of its last record");
    ok(isnan(sg_last_number(NULL, 0)), "of nothing it is none");
}

static void test_statuses(void) {
    static const char *const status[] = {"ok", "diverged", "failed", "interrupted", "not_run", "running"};
    size_t finished = 0, open = 0, both = 0;
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        finished += sg_run_status_is_finished(status[i]);
        open += sg_run_status_is_open(status[i]);
        both += sg_run_status_is_finished(status[i]) && sg_run_status_is_open(status[i]);
    }
    ok(finished == 2 && open == 3 && both == 0, "a run is finished, or open, or it failed");
}

/* ---- a label ---- */

static bool all(const void *arg, const char *column) {
    (void)arg, (void)column;
    return true;
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Is every number of `a` in `b`, or its curve in neither? */
static size_t count_unlike(const struct sg_frame_label *a, const struct sg_frame_label *b) {
    size_t wrong = a->n_columns != b->n_columns || a->n_seeds != b->n_seeds || a->baseline != b->baseline;
    for (size_t c = 0; c < a->n_columns; c++) {
        const struct sg_frame_column *x = &a->column[c], *y = sg_frame_column(b, x->name);
        wrong += !y || x->n_points != y->n_points || x->n_values != y->n_values;
        for (size_t s = 0; y && s < SG_STATISTICS; s++) {
            wrong += !x->curve[s] != !y->curve[s] || (s <= SG_COUNT && !same(x->final[s], y->final[s]));
            for (size_t i = 0; x->curve[s] && y->curve[s] && i < x->n_points; i++)
                wrong += !same(x->curve[s][i], y->curve[s][i]);
        }
        for (size_t i = 0; y && i < x->n_values; i++)
            wrong += !same(x->value[i], y->value[i]);
    }
    return wrong;
}

/* A result of one label as a user would read it. */
static sg_status reread(struct sg_document *out, const struct sg_frame_label *label, struct sg_error *err) {
    struct sg_document made = {.results = {.n_labels = 1, .label = (struct sg_frame_label *)(uintptr_t)label}};
    cJSON *json = sg_document_json(&made);
    sg_json_clean(json);
    return sg_document_read(out, json, "results", err);
}

static void test_label(void) {
    struct sg_frame_seed seed[SEEDS];
    static const char *seeds[SEEDS] = {"1", "2", "3"};
    struct sg_frame_label label = {.label = "A", .baseline = true, .n_seeds = SEEDS, .seeds = {SEEDS, seeds}};
    struct sg_frame made = {.label = &label, .n_labels = 1};
    struct sg_document read = {0};
    struct sg_error err = {.status = SG_OK};
    for (int i = 0; i < SEEDS; i++)
        seed[i] = (struct sg_frame_seed){"ok", &runs[i]};
    label.seed = seed;
    ok(sg_frame_fill(&label, 0, all, NULL), "columns of runs");
    const struct sg_frame_column *loss = sg_frame_column(&label, "loss");
    ok(loss->curve[SG_MEAN][1] == 1 && loss->curve[SG_STD][1] == 0.5 && loss->curve[SG_COUNT][1] == SEEDS &&
           loss->curve[SG_Q1][1] == 0.75 && loss->curve[SG_MEDIAN][1] == 1 && loss->curve[SG_Q3][1] == 1.25,
       "the statistics of losses 0.5, 1 and 1.5");
    ok(loss->final[SG_MEAN] == 0.25 && loss->value[2] == 0.375, "and where the runs ended");
    ok(reread(&read, &label, &err) == SG_OK && read.results.n_labels == 1, "read back");
    ok(read.results.n_labels == 1 && count_unlike(&label, &read.results.label[0]) == 0, "with the same numbers");
    ok(sg_frame_label(&read.results, "A") == &read.results.label[0] && !sg_frame_label(&read.results, "B"),
       "found by its label");
    ok(strcmp(sg_frame_seed_name(&read.results.label[0], 2), "3") == 0 &&
           strcmp(sg_frame_seed_name(&label, 3), "?") == 0,
       "and a seed by its place");
    sg_document_free(&read);
    seed[1].status = "diverged";
    double value[SEEDS], spread[SG_STATISTICS];
    ok(sg_frame_spread(spread, value, &label, "loss", NULL) && spread[SG_COUNT] == 2 && isnan(value[1]) &&
           spread[SG_MEAN] == 0.25,
       "a run that diverged has no value at its end");
    for (int i = 0; i < SEEDS; i++)
        seed[i].status = "interrupted";
    ok(sg_frame_spread(spread, value, &label, "loss", NULL) && spread[SG_COUNT] == SEEDS,
       "where all are open they have what they recorded");
    sg_frame_free_columns(&made);
}

/* ---- other forms of results ---- */

static void read_text(const char *text, sg_status status, const char *what) {
    struct sg_error err = {.status = SG_OK};
    struct sg_document document = {0};
    ok(sg_document_read(&document, SG_OBJECT(SG_VALUE("results", cJSON_Parse(text))), "r", &err) == status, "%s: %s",
       what, err.msg);
    sg_document_free(&document);
}

static void test_forms(void) {
    static const char text[] = "[{\"label\":\"a\",\"seeds\":[\"1\"],\"series\":{\"step\":[1,2],\"error_norm\":"
                               "{\"mean\":[3,null],\"std\":[1,1]}},\"final\":{\"bits\":7,"
                               "\"k\":{\"mean\":1,\"values\":[1]}}}]";
    struct sg_error err;
    struct sg_document document = {0};
    if (sg_document_read(&document, SG_OBJECT(SG_VALUE("results", cJSON_Parse(text))), "r", &err) != SG_OK)
        printf("Bail out! %s\n", err.msg), exit(1);
    const struct sg_frame frame = document.results;
    const struct sg_frame_column *error = sg_frame_column(&frame.label[0], "error-norm"),
                                 *bits = sg_frame_column(&frame.label[0], "bits"),
                                 *k = sg_frame_column(&frame.label[0], "k");
    ok(error && error->final[SG_MEAN] == 3 && !error->curve[SG_STD] && isnan(error->final[SG_STD]),
       "without finals the last number counts, and one seed has no deviation");
    ok(bits && bits->in_final && !bits->in_series && bits->final[SG_MEAN] == 7, "a final may be a number");
    ok(k && k->final[SG_MEAN] == 1 && k->n_values == 1 && k->value[0] == 1, "or an object with its values");
    sg_document_free(&document);
    read_text("[{\"series\":{}}]", SG_ERR_FORMAT, "no label");
    read_text("[{\"label\":\"a\",\"series\":[1]}]", SG_ERR_FORMAT, "series that are a list");
    read_text("[{\"label\":\"a\",\"seeds\":[\"1\",\"2\"],\"series\":{\"x\":{\"mean\":[1,2],\"std\":[1]}}}]",
              SG_ERR_FORMAT, "lengths");
    read_text("[{\"label\":\"a\"},{\"label\":\"a\"}]", SG_ERR_FORMAT, "a label twice");
    read_text("[]", SG_OK, "no results");
}

int main(void) {
    for (int i = 0; i < SEEDS; i++)
        make_run(&runs[i], i + 1);
    test_values();
    test_statuses();
    test_label();
    test_forms();
    for (int i = 0; i < SEEDS; i++)
        sg_run_free(&runs[i]);
    return tap_done();
}
