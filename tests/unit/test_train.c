/* The trainer on a task made for watching it. Gradients of the exact tests are multiples of 1/8 below 2 and do not
 * depend on x, gamma is 1/4 and n is 4: every sum is a multiple of 1/128 below 2^10, so floats hold it exactly and
 * tests ask for equality. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spy_run.h"

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* x_t - mean_i e_i = x_0 - gamma sum_s mean_i g_i(s), so with workers apart n times the left side's distance from x_t
 * is all residuals side by side, and (1/n) its square the recorded error norm. */
static void test_error_feedback(const char *method, const char *const *set, const char *name) {
    watch(apart, three_layers, 3);
    struct sg_run run = whole(method, set);
    const double *error = sg_run_series(&run, "error_norm"), *total = sg_run_series(&run, "total_error");
    double drift[D] = {0}, sum = 0, largest = 0;
    size_t wrong = run.n_points != 41, astray = 0;
    for (uint32_t t = 0; t < run.n_points; t++) {
        double norm = 0;
        for (int j = 0; j < D; j++) {
            double e = WORKERS * (spy.x[t][j] - spy.x[0][j]) + GAMMA * drift[j];
            norm += e * e / WORKERS;
            drift[j] += (double)noise((size_t)j % WORKERS, t, j);
        }
        sum += norm;
        largest = norm > largest ? norm : largest;
        wrong += !(error[t] == norm);
        astray += !(total[t] == sum);
    }
    ok(wrong == 0 && largest > 0, "%s: what is not sent is kept, at every step (largest error %g)", name, largest);
    ok(astray == 0, "%s: total_error is the sum of error_norm", name);
    sg_run_free(&run);
}

/* A sum of 0 would put a method that keeps nothing of what it loses before all others. */
static void test_no_residual(void) {
    static const char *const set[] = {"error-feedback=none", "error-feedback={form: momentum, beta: 0.5}"};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        watch(apart, three_layers, 3);
        struct sg_run run = whole("Top-k", SET(set[i]));
        const double *total = sg_run_series(&run, "total_error");
        size_t known = 0;
        for (size_t t = 0; t < run.n_points; t++)
            known += isnan(total[t]) ? 0 : 1;
        ok(run.n_points > 1 && known == 0, "without a residual there is no total error: %s", set[i]);
        sg_run_free(&run);
    }
    watch(apart, three_layers, 3);
    struct sg_run run = whole("SGD", NULL);
    ok(sg_run_series(&run, "total_error")[run.n_points - 1] == 0, "where nothing is lost it is 0");
    sg_run_free(&run);
}

/* Nothing is ever sent: e_t = decay e_{t-1} + gamma g, a geometric sum. */
static void test_decay(void) {
    static const struct {
        const char *set;
        double decay, scale;
    } form[] = {{"error-feedback={form: gradient, decay: 0.5}", 0.5, 1},
                {"error-feedback={form: update, decay: 0.5}", 0.5, 0.25},
                {"error-feedback={form: gradient, decay: 0}", 0, 1},
                {"error-feedback={form: gradient, decay: 1}", 1, 1}};
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        watch(ones, three_layers, 3);
        struct sg_run run = whole("Nothing", SET(form[i].set, "steps=20"));
        const double *error = sg_run_series(&run, "error_norm"), *bits = sg_run_series(&run, "bits");
        double e = 0;
        size_t wrong = run.n_points != 21;
        for (size_t t = 0; t < run.n_points; t++, e = form[i].decay * e + form[i].scale)
            wrong += !(error[t] == D * e * e) || bits[t] != 0 || memcmp(spy.x[t], spy.x[0], sizeof spy.x[0]) != 0;
        ok(wrong == 0, "decay: %s", form[i].set);
        sg_run_free(&run);
    }
}

/* The largest |v| not sent yet, lower index first: Top-1 of offset[l] … offset[l + 1]. */
static size_t top1(const double *v, size_t begin, size_t end) {
    size_t best = begin;
    for (size_t j = begin + 1; j < end; j++)
        if (fabs(v[j]) > fabs(v[best]))
            best = j;
    return best;
}

/* Top-1 of each layer, error feedback in the gradient form, weight decay, momentum: the rule of sg_optimizer.h as plain
 * loops. */
static void by_hand(double x[][D], double *error, int steps, double mu, double lookahead, double decay) {
    double e[WORKERS][D] = {{0}}, m[D] = {0};
    memcpy(x[0], spy.x[0], sizeof x[0]);
    for (int t = 0; t < steps; t++) {
        double mean[D] = {0};
        error[t + 1] = 0;
        for (size_t w = 0; w < WORKERS; w++) {
            float g[D];
            valley(g, w, (uint32_t)t, x[t]);
            for (int j = 0; j < D; j++)
                e[w][j] += (double)g[j];
            for (int l = 0; l < 3; l++) {
                size_t j = top1(e[w], three_layers[l], three_layers[l + 1]);
                mean[j] += e[w][j] / WORKERS;
                e[w][j] = 0;
            }
            for (int j = 0; j < D; j++)
                error[t + 1] += e[w][j] * e[w][j] / WORKERS;
        }
        for (int j = 0; j < D; j++) {
            double g = mean[j] + decay * x[t][j];
            m[j] = t == 0 ? g : mu * m[j] + g;
            x[t + 1][j] = x[t][j] - 0.0625 * (mu > 0 ? m[j] + lookahead * g : g);
        }
    }
}

static void test_gradient_form(const char *const *set, double mu, double lookahead, double decay) {
    double x[MOST + 1][D], error[MOST + 1] = {0}, gap = 0;
    in_valley();
    struct sg_run run = whole("Top-k", set);
    const double *got = sg_run_series(&run, "error_norm");
    by_hand(x, error, 40, mu, lookahead, decay);
    /* Roundings to float: at most 6 a step, of numbers below 2^5, remembered 1 / (1 - mu) steps and then damped or
     * carried on: 40 * 6 * 2^5 * 2^-24 / (1 - mu) bounds the drift of x. */
    double bound = 40 * 6 * 32 * 0x1p-24 / (1 - mu);
    for (size_t t = 0; t <= 40; t++) {
        for (int j = 0; j < D; j++)
            gap = fabs(x[t][j] - spy.x[t][j]) <= gap ? gap : fabs(x[t][j] - spy.x[t][j]);
        gap = fabs(error[t] - got[t]) / 64 <= gap ? gap : fabs(error[t] - got[t]) / 64; /* |e| < 32, squared */
    }
    ok(run.n_points == 41 && gap <= bound && error[40] > 0.1,
       "gradient form as by hand: momentum %g, nesterov %g, weight decay %g: %g apart", mu, lookahead, decay, gap);
    sg_run_free(&run);
}

static void test_scope(void) {
    static const char *const method[] = {"Top-k", "Share", "Hard-threshold", "Random-k", "SGD"};
    for (size_t i = 0; i < 5; i++) {
        double x[D];
        watch(valley, one_layer, 1);
        struct sg_run layer = whole(method[i], SET("scope=layer"));
        memcpy(x, spy.x[40], sizeof x);
        watch(valley, one_layer, 1);
        struct sg_run model = whole(method[i], SET("scope=model"));
        ok(same_points(&layer, &model) && memcmp(x, spy.x[40], sizeof x) == 0, "one layer is the model: %s", method[i]);
        sg_run_free(&layer);
        sg_run_free(&model);
    }
    /* Top-1: 3 entries in layer scope, 1 in model scope. 0.4 of 5, 3, 4: 2 + 1 + 1 entries; of 12: 4. */
    static const struct {
        const char *method, *scope;
        double entries;
    } sent[] = {{"Top-k", "scope=layer", 3},
                {"Top-k", "scope=model", 1},
                {"Share", "scope=layer", 4},
                {"Share", "scope=model", 4},
                {"SGD", "scope=layer", D}};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        in_valley();
        struct sg_run run = whole(sent[i].method, SET(sent[i].scope));
        const bool dense = sent[i].entries == D;
        double k = sent[i].entries, index = dense ? 0 : 32;
        ok(sg_run_series(&run, "bits")[40] == 40 * k * (32 + index) &&
               sg_run_series(&run, "bits_values")[40] == 40 * k * 32 && sg_run_series(&run, "density")[7] == k / D &&
               fabs(sg_run_series(&run, "average_density")[40] - k / D) <= 0x1p-52 &&
               sg_run_series(&run, "density_padded")[40] == k / D &&
               fabs(sg_run_series(&run, "average_density_padded")[40] - k / D) <= 0x1p-52 &&
               sg_run_series(&run, "bytes_sent")[40] == 40 * (4 + k * (dense ? 4 : 8)),
           "%s, %s sends %g entries a step", sent[i].method, sent[i].scope, k);
        sg_run_free(&run);
    }
}

/* Workers that send different numbers of entries: each step counts as what the largest message has. */
static void test_padded(void) {
    watch(apart, three_layers, 3);
    struct sg_run run = whole("Hard-threshold", NULL), sparse = whole("Hard-threshold", SET("record.every=7"));
    const double *now = sg_run_series(&run, "density_padded"), *average = sg_run_series(&run, "average_density_padded"),
                 *mean = sg_run_series(&run, "average_density"),
                 *seldom = sg_run_series(&sparse, "average_density_padded");
    double sum = 0;
    size_t wrong = run.n_points != 41 || !isnan(average[0]);
    for (size_t t = 1; t < run.n_points; t++) {
        sum += now[t];
        wrong +=
            !(fabs(average[t] - sum / (double)t) <= 41 * 0x1p-52); /* a rounding for each term, of numbers below 1 */
    }
    ok(wrong == 0 && seldom[5] == average[35], "the padded density is averaged over all steps, recorded or not");
    ok(average[40] > 1.2 * mean[40] && average[40] <= WORKERS * mean[40],
       "it is more than the mean where workers differ: %g, %g", average[40], mean[40]);
    sg_run_free(&run);
    sg_run_free(&sparse);
}

static void test_schedule(void) {
    static const struct {
        const char *steps, *every, *at; /* recorded steps */
    } schedule[] = {{"steps=23", "record.every=10", "0 10 20 23"}, {"steps=20", "record.every=10", "0 10 20"},
                    {"steps=5", "record.every=100", "0 5"},        {"steps=4", "record.every=1", "0 1 2 3 4"},
                    {"epochs=1.5", "record.every=6", "0 6 12"},    {"epochs=0.4", "record.every=2", "0 2 3"}};
    for (size_t i = 0; i < sizeof schedule / sizeof *schedule; i++) {
        char at[256] = "";
        bool right = true;
        watch(apart, three_layers, 3);
        struct sg_run run = whole("Top-k", SET(schedule[i].steps, schedule[i].every));
        const double *step = sg_run_series(&run, "step"), *epoch = sg_run_series(&run, "epoch");
        const double *loss = sg_run_series(&run, "loss"), *first = sg_run_series(&run, "suboptimality");
        for (size_t k = 0; k < run.n_points; k++) {
            snprintf(at + strlen(at), sizeof at - strlen(at), "%s%g", k ? " " : "", step[k]);
            right &= epoch[k] == step[k] / EPOCH && loss[k] == step[k] && first[k] == spy.x[(size_t)step[k]][0];
        }
        right &= isnan(sg_run_series(&run, "density")[0]) && isnan(sg_run_series(&run, "average_density")[0]) &&
                 sg_run_series(&run, "bits")[0] == 0 && sg_run_series(&run, "error_norm")[0] == 0;
        ok(strcmp(at, schedule[i].at) == 0 && right, "%s, %s: recorded at %s", schedule[i].steps, schedule[i].every,
           at);
        sg_run_free(&run);
    }
    watch(apart, three_layers, 3);
    struct sg_run dense = whole("Hard-threshold", NULL), sparse = whole("Hard-threshold", SET("record.every=7"));
    ok(sg_run_series(&sparse, "total_error")[5] == sg_run_series(&dense, "total_error")[35] &&
           sg_run_series(&sparse, "bits")[5] == sg_run_series(&dense, "bits")[35],
       "sums run over all steps, recorded or not");
    sg_run_free(&dense);
    sg_run_free(&sparse);
}

/* A controller that a recipe gives is the one that a compressor brings: the same series. */
static void test_controller(const char *own, const char *method, const char *controller) {
    in_valley();
    struct sg_run a = whole(own, NULL);
    in_valley();
    struct sg_run b = whole(method, SET(controller));
    const double *density = sg_run_series(&a, "density");
    ok(same_points(&a, &b) && density[1] != density[a.n_points - 1], "%s is %s with --set %s", own, method, controller);
    sg_run_free(&a);
    sg_run_free(&b);
}

static void test_failures(void) {
    struct sg_run run;
    FILE *series = tmpfile();
    in_valley();
    spy.nan_step = 5;
    ok(train(&run, "Top-k", NULL, series, false) == SG_ERR_NONFINITE &&
           strncmp(err.msg, "worker 2, step 5, layer 1:", 26) == 0 && run.n_points == 6 &&
           strcmp(sg_json_string(run.end, "status", ""), "diverged") == 0,
       "a gradient that is not a number: %s", err.msg);
    fclose(series);
    sg_run_free(&run);
    series = tmpfile();
    in_valley();
    spy.fail_step = 3;
    ok(train(&run, "Top-k", NULL, series, false) == SG_ERR_MEMORY && strcmp(err.msg, "no memory for worker 1") == 0 &&
           run.n_points == 4 && strcmp(sg_json_string(run.end, "status", ""), "failed") == 0,
       "a task that fails: %s", err.msg);
    fclose(series);
    sg_run_free(&run);
}

int main(void) {
    temporary_make();
    unsetenv("OMPI_COMM_WORLD_SIZE");
    test_error_feedback("Top-k", NULL, "Top-k a layer");
    test_error_feedback("Top-k", SET("scope=model"), "Top-k of the model");
    test_error_feedback("Hard-threshold", NULL, "hard-threshold");
    test_error_feedback("Random-k", NULL, "random-k");
    test_no_residual();
    test_decay();
    test_gradient_form(SET("error-feedback=gradient", "optimizer.learning-rate=0.0625"), 0, 0, 0);
    test_gradient_form(SET("error-feedback=gradient", "optimizer={learning-rate: 0.0625, momentum: 0.75}"), 0.75, 0, 0);
    test_gradient_form(SET("error-feedback=gradient",
                           "optimizer={learning-rate: 0.0625, momentum: 0.75, nesterov: 1, weight-decay: 0.125}"),
                       0.75, 1, 0.125);
    test_scope();
    test_padded();
    test_schedule();
    test_resume("Top-k", SET("error-feedback=gradient", "optimizer.momentum=0.75"), in_valley);
    test_resume("Hard-threshold", NULL, in_valley);
    test_resume("Top-k", SET("error-feedback=ef21"), in_valley);
    test_resume("Top-k", SET("error-feedback={form: dgc-momentum, momentum: 0.75}"), in_valley);
    test_resume("Top-k", SET("methods.Top-k.values={code: levels, levels: 2}"), in_valley);
    test_resume("Top-k", SET("methods.Top-k.controller={kind: accordion, high: 3, interval: 2}"), in_valley);
    test_resume("Share", SET("methods.Share.controller={kind: l-greco, least: 0.1, most: 1, values: 4, every: 6}"),
                in_valley);
    test_controller("Accordion", "Top-k", "methods.Top-k.controller={kind: accordion, high: 3, interval: 2}");
    test_controller("Sums", "Top-k", "methods.Top-k.controller={kind: accordion, high: 3, interval: 2, accumulate: 1}");
    test_failures();
    return tap_done();
}
