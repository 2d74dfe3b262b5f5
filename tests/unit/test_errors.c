/* The mean residual as runs record it, by hand from the steps of x: x less the mean residual moves exactly as SGD, for
 * every compressor of the table and every feedback rule for which theory says so (Stich and Karimireddy, 2020). */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor.h"
#include "spy_run.h"

#define COLUMNS                                                                                                        \
    "record.series=[error-norm, total-error, gradient-norm, error-relative, error-mean-norm, error-common, "           \
    "error-lag, error-curvature]"

enum { STEPS = 40 };

/* Gradients of the run as the trainer uses them: those of the last call of each step and worker. */
static double asked[STEPS][WORKERS][D];
static size_t drawn_twice;

static void noted_valley(float *g, size_t worker, uint32_t draw, const double *x) {
    valley(g, worker, draw, x);
    for (size_t j = 0; j < D; j++)
        asked[spy.step][worker][j] = (double)g[j];
    drawn_twice += draw != spy.step;
}

static bool near(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-3 * fabs(b) + 1e-5;
}

/* True if what is applied to x is not the mean of what the residuals lack: it is compressed a second time, is a vote,
 * is a mean over the workers that sent an element or a direction, or loses parts between two workers. */
static bool loses_the_mean(const struct sg_compressor_ops *ops) {
    static const char *const others[] = {"signsgd", "demo", "sparseloco", "gtopk", "global-qsgd-exp"};
    bool loses = (ops->rounds && ops->rounds->again) || (ops->traits & SG_TRAIT_DIRECTIONS);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        loses |= strcmp(ops->name, others[i]) == 0;
    return loses;
}

/* `unit`: the factor from the residual to x. */
static void test_virtual_iterate(const struct sg_compressor_ops *ops, const char *param, const char *form,
                                 double unit) {
    double y[D], e[D], total = 0, gradients = 0; /* y: the iterate of SGD with the gradients that were asked for */
    size_t wrong = 0;
    static const size_t offset[] = {0, 6, D}, rows[] = {2, 3};
    write_method(ops->name, param);
    recipe_text = one_method;
    watch(noted_valley, offset, 2);
    spy.rows = rows;
    drawn_twice = 0;
    struct sg_run run;
    if (train(&run, "M", SET(form, COLUMNS), NULL, false) == SG_ERR_ARGUMENT) { /* some refuse the rule */
        recipe_text = text;
        return;
    }
    watch(noted_valley, offset, 2);
    spy.rows = rows;
    run = whole("M", SET(form, COLUMNS));
    const double *norm = sg_run_series(&run, "error_norm");
    memcpy(y, spy.x[0], sizeof y);
    for (size_t t = 0; t < STEPS; t++) {
        double mean[D] = {0}, squares = 0, along = 0, square = 0, curved = 0, e_norm = 0;
        for (size_t j = 0; j < D; j++)
            e[j] = (spy.x[t][j] - y[j]) / unit;
        for (size_t w = 0; w < WORKERS; w++)
            for (size_t j = 0; j < D; j++) {
                mean[j] += asked[t][w][j] / WORKERS;
                squares += asked[t][w][j] * asked[t][w][j] / WORKERS;
            }
        for (size_t j = 0; j < D; j++) {
            const double bend = (1 + (int)j % 3) / 3.0 * unit * e[j];
            along += e[j] * unit / GAMMA * mean[j];
            square += mean[j] * mean[j];
            curved += bend * bend;
            y[j] -= GAMMA * mean[j];
            e_norm += (spy.x[t + 1][j] - y[j]) * (spy.x[t + 1][j] - y[j]) / unit / unit;
        }
        total += norm[t + 1];
        gradients += squares * GAMMA * GAMMA / unit / unit;
        const double want[] = {squares,        total / gradients,
                               e_norm,         (WORKERS * e_norm - norm[t + 1]) / (WORKERS - 1),
                               along / square, curved};
        for (size_t c = 0; c < sizeof want / sizeof *want; c++) {
            const struct sg_series *s = &run.series[4 + c];
            const bool start = c == 2 ? s->value[0] == 0 : isnan(s->value[0]);
            if ((!near(s->value[t + 1], want[c]) || !start) && wrong++ == 0 && !loses_the_mean(ops))
                printf("# step %zu: %s is %.9g, by hand %.9g\n", t, s->name, s->value[t + 1], want[c]);
        }
    }
    ok((wrong > 0) == loses_the_mean(ops) && drawn_twice == 0 && run.n_points == STEPS + 1,
       "%s {%s}, %s: x less the mean residual %s as SGD (%zu values differ)", ops->name, param, form,
       loses_the_mean(ops) ? "does not move" : "moves", wrong);
    sg_run_free(&run);
    recipe_text = text;
}

/* Workers with parameters of their own have no curvature. */
static void test_local(void) {
    size_t found = 0;
    in_valley();
    struct sg_run run = whole("Top-k", SET("error-feedback=local-steps", COLUMNS));
    for (size_t t = 0; t <= STEPS; t++)
        found += isnan(sg_run_series(&run, "error_curvature")[t]) ? 0 : 1;
    ok(found == 0 && run.n_points == STEPS + 1, "local steps have no curvature (%zu values)", found);
    sg_run_free(&run);
}

/* No column of these depends on which others are recorded, nor on how often. */
static void test_alone(const char *form) {
    struct sg_run all;
    in_valley();
    all = whole("Top-k", SET(form, COLUMNS));
    for (size_t c = 2; c < all.n_series; c++) { /* behind step and epoch */
        char set[64];
        size_t wrong = 0;
        snprintf(set, sizeof set, "record.series=[%s]", all.series[c].name);
        for (char *at = set; (at = strchr(at, '_')) != NULL;) /* recipes say error-norm */
            *at = '-';
        in_valley();
        struct sg_run alone = whole("Top-k", SET(form, set, "record.every=8"));
        const double *want = all.series[c].value, *got = alone.series[2].value;
        for (size_t k = 0; k < alone.n_points; k++)
            wrong += got[k] != want[8 * k] && !(isnan(got[k]) && isnan(want[8 * k]));
        ok(wrong == 0 && alone.n_points == STEPS / 8 + 1, "%s, %s: the same values by itself", form,
           all.series[c].name);
        sg_run_free(&alone);
    }
    sg_run_free(&all);
}

int main(void) {
    static const struct {
        const char *form;
        double unit;
    } rule[] = {
        {"error-feedback=update", 1}, {"error-feedback=gradient", 0.25}, {"error-feedback=lr-correction", 0.25}};
    const struct sg_compressor_ops *ops;
    temporary_make();
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        for (size_t r = 0; r < sizeof rule / sizeof *rule; r++) {
            char param[256], *unbiased;
            parameters(param, ops);
            if ((unbiased = strstr(param, ", unbiased")) != NULL) /* it goes without a residual only */
                *unbiased = '\0';
            test_virtual_iterate(ops, param, rule[r].form, rule[r].unit);
        }
    for (size_t r = 0; r < sizeof rule / sizeof *rule; r++)
        test_alone(rule[r].form);
    test_local();
    return tap_done();
}
