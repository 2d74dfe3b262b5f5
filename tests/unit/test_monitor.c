/* What compressors lose, as runs record it: by hand from the steps of x, and for every compressor of the table. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor.h"
#include "spy_run.h"

#define COLUMNS "record.series=[compression-error, average-compression-error, compression-bias, compression-bias-sigma]"

enum { STEPS = 40 };

/* ---- the columns by hand ---- */

static bool near(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

/* Workers apart: what worker j % 4 sent of coordinate j is n times the step of x, so what it lost is known. */
static void test_by_hand(const char *method, const char *form, const char *scope) {
    const bool keeps = strcmp(form, "error-feedback=none") != 0;
    double lost[D] = {0}, error[STEPS], bias[STEPS];
    size_t wrong = 0;
    watch(apart, three_layers, 3);
    struct sg_run run = whole(method, SET(form, scope, COLUMNS));
    for (uint32_t t = 0; t < STEPS; t++) {
        double p[D], mean_error = 0, mean_bias = 0, sum = 0;
        error[t] = bias[t] = 0;
        for (int j = 0; j < D; j++) {
            p[j] = (keeps ? lost[j] : 0) + GAMMA * (double)noise((size_t)j % WORKERS, t, j);
            lost[j] = p[j] - WORKERS * (spy.x[t][j] - spy.x[t + 1][j]);
        }
        for (size_t w = 0; w < WORKERS; w++) {
            double all = 0, left = 0, along = 0;
            for (size_t j = w; j < D; j += WORKERS) {
                all += p[j] * p[j];
                left += lost[j] * lost[j];
                along -= lost[j] * p[j];
            }
            error[t] += (all > 0 ? left / all : 0) / WORKERS;
            bias[t] += (all > 0 ? along / all : 0) / WORKERS;
        }
        for (uint32_t s = 0; s <= t; s++) {
            mean_error += error[s] / (t + 1);
            mean_bias += bias[s] / (t + 1);
        }
        for (uint32_t s = 0; s <= t; s++)
            sum += (bias[s] - mean_bias) * (bias[s] - mean_bias);
        const double want[] = {error[t], mean_error, mean_bias, t > 0 ? sqrt(sum / t / (t + 1)) : NAN};
        for (size_t c = 0; c < sizeof want / sizeof *want; c++) {
            const bool fine = near(run.series[2 + c].value[t + 1], want[c]) && isnan(run.series[2 + c].value[0]);
            if (!fine && wrong++ == 0)
                printf("# step %u: %s is %.17g, by hand %.17g\n", t, run.series[2 + c].name,
                       run.series[2 + c].value[t + 1], want[c]);
        }
    }
    ok(wrong == 0 && run.n_points == STEPS + 1, "columns by hand: %s, %s, %s", method, form, scope);
    sg_run_free(&run);
}

/* A run of one compressor with these parameters. */
static struct sg_run run_of(const char *compressor, const char *param, const char *form) {
    char feedback[64];
    write_method(compressor, param);
    snprintf(feedback, sizeof feedback, "error-feedback=%s", form);
    recipe_text = one_method;
    struct sg_run run = whole("M", SET(feedback, COLUMNS));
    recipe_text = text;
    return run;
}

/* ---- every compressor of the table ---- */

/* Where a residual tells what was lost, that is the same. */
static void test_residual(const struct sg_compressor_ops *ops, const char *form) {
    char param[256];
    size_t apart_at = 0;
    parameters(param, ops);
    in_matrices();
    struct sg_run run = run_of(ops->name, param, form);
    const double *error = sg_run_series(&run, "compression_error"),
                 *mean = sg_run_series(&run, "average_compression_error");
    bool known = true;
    for (size_t t = 1; t < run.n_points; t++) {
        const double now = (double)t * mean[t] - (t > 1 ? (double)(t - 1) * mean[t - 1] : 0);
        known &= isfinite(mean[t]);
        apart_at += !isnan(error[t]) && !(fabs(now - error[t]) <= 1e-5 * (1 + (double)t * mean[t]));
    }
    ok(known && apart_at == 0, "%s {%s}, %s: the residual agrees (%zu do not)", ops->name, param, form, apart_at);
    sg_run_free(&run);
}

static void test_table(void) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        char param[256];
        parameters(param, ops);
        test_residual(ops, "none");
        if (strstr(param, "unbiased"))
            continue;
        test_residual(ops, "gradient");
        if (!left_out(sg_feedback_find("econtrol")))
            test_residual(ops, "econtrol");
    }
}

/* ---- runs that go on ---- */

static char columns[1024]; /* all of the table */

static void write_columns(void) {
    snprintf(columns, sizeof columns, "record.series=[loss");
    for (size_t c = 0; c < SG_COLUMNS; c++)
        snprintf(columns + strlen(columns), sizeof columns - strlen(columns), ", %s", sg_common_metrics[c].name);
    for (char *c = columns; *c; c++)
        *c = *c == '_' ? '-' : *c;
    strcat(columns, "]");
}

/* Every column of the table under every feedback rule: after an interruption they have the same bytes, and those about
 * compression are null at a step that sends nothing. */
static void test_rules(void) {
    const struct sg_feedback_rule *rule;
    char form[128];
    write_columns();
    for (size_t i = 0; (rule = sg_feedback_at(i)) != NULL; i++) {
        snprintf(form, sizeof form, "error-feedback={form: %s%s%s}", rule->name, interval_of(rule),
                 rule->measure ? ", threshold: 1" : "");
        test_resume("Top-k", SET(form, columns), in_valley);
        in_valley();
        struct sg_run run = whole("Top-k", SET(form, columns));
        const double *bits = sg_run_series(&run, "bits");
        const double of_decision = rule->measure ? 32 : 0;
        size_t silent = 0, wrong = 0;
        for (size_t k = 1; k < run.n_points; k++)
            for (size_t c = SG_COLUMN_AVERAGE_COMPRESSION_ERROR;
                 bits[k] <= bits[k - 1] + of_decision && c <= SG_COLUMN_COMPRESSION_BIAS_SIGMA; c++) {
                silent++;
                wrong += isnan(sg_run_series(&run, sg_common_metrics[c].name)[k]) ? 0 : 1;
            }
        ok(wrong == 0 && (silent > 0) == (rule->stream != NULL || rule->measure != NULL),
           "%s: %zu values of steps that send nothing are null", rule->name, silent);
        sg_run_free(&run);
    }
}

/* Every compressor where not every step sends: after an interruption every column has the same bytes. */
static void test_silent_steps(void) {
    const struct sg_compressor_ops *ops;
    write_columns();
    recipe_text = one_method;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        char param[256], *unbiased;
        parameters(param, ops);
        if ((unbiased = strstr(param, ", unbiased")) != NULL) /* it goes without a residual only */
            *unbiased = '\0';
        write_method(ops->name, param);
        printf("# %s\n", ops->name);
        in_matrices();
        struct sg_run run;
        const sg_status status = train(&run, "M", SET("error-feedback=local-steps"), NULL, false);
        if (status != SG_ERR_ARGUMENT) /* some refuse the rule */
            test_resume("M", SET("error-feedback={form: local-steps, steps: 3}", columns), in_matrices);
    }
    recipe_text = text;
}

int main(void) {
    temporary_make();
    static const char *const forms[] = {"error-feedback=update", "error-feedback=gradient", "error-feedback=none"};
    static const char *const scopes[] = {"scope=layer", "scope=model"};
    for (size_t f = 0; f < 3; f++)
        for (size_t s = 0; s < 2; s++) {
            test_by_hand("Top-k", forms[f], scopes[s]);
            test_by_hand("Random-k", forms[f], scopes[s]);
            test_by_hand("Hard-threshold", forms[f], scopes[s]);
            test_by_hand("SGD", forms[f], scopes[s]);
        }
    test_table();
    test_resume("Random-k", SET("record.every=3", COLUMNS), in_valley);
    test_rules();
    test_silent_steps();
    return tap_done();
}
