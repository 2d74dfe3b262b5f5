/* What compressors lose, as runs record it: by hand from the steps of x, against the class that they declare, and for
 * every compressor of the table. Two compressors that lie about their class stand in the places of two others. */
#include "method_private.h"
#include "spy_run.h"

#define COLUMNS                                                                                                        \
    "record.series=[compression-error, compression-error-max, average-compression-error, compression-bias, "           \
    "compression-bias-sigma, element-error-max, bound-share]"

enum { STEPS = 40 };

/* ---- two liars ---- */

enum { FACTOR, DELTA, CHANCE, UNBIASED, LAYER, PARAMS };

/* C(p) = factor p / chance with that chance, else 0; in the layers before `layer` it is p. */
static void encode_liar(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const size_t *offset = s->layout.offset, d = offset[s->layout.n_layers];
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, w->number, s->step);
    const bool sends = sg_rng_u32(&rng) * 0x1p-32 < s->param[CHANCE];
    const float factor = sends ? (float)(s->param[FACTOR] / s->param[CHANCE]) : 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        w->count[l] = offset[l + 1] - offset[l];
        for (size_t i = offset[l]; i < offset[l + 1]; i++)
            w->value[i] = (double)l < s->param[LAYER] ? p[i] : factor * p[i];
    }
    *out = (struct sg_message){.code = &sg_code_fp32,
                               .n = d,
                               .count = d,
                               .data = w->value,
                               .bytes = 4 * d,
                               .bits = 1,
                               .layer_count = w->count};
    (void)round;
}

static double bound_liar(const double *param, size_t n) {
    (void)n;
    return param[DELTA];
}

static unsigned traits_liar(const double *param) {
    return SG_TRAIT_RELATIVE | SG_TRAIT_DENSE | (param[CHANCE] < 1 ? SG_TRAIT_RANDOM : 0) |
           (param[UNBIASED] > 0 ? SG_TRAIT_UNBIASED : 0);
}

static const struct sg_parameter liar_params[PARAMS] = {
    [FACTOR] = {"factor", 0, 1, 1, false, "of p"},
    [DELTA] = {"delta", -100, 1, 1, false, "what it declares"},
    [CHANCE] = {"chance", 0.01, 1, 1, false, "of sending"},
    [UNBIASED] = {"unbiased", 0, 1, 0, true, "what it declares"},
    [LAYER] = {"layer", 0, 100, 0, true, "the first one that is compressed"},
};

const struct sg_compressor_ops sg_compress_quantile = {
    .name = "liar",
    .summary = "declares what one likes",
    .source = "a test",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_DENSE,
    .traits_of = traits_liar,
    .params = liar_params,
    .n_params = PARAMS,
    .encode = encode_liar,
    .bound = bound_liar,
};

/* A threshold. Its residual is complete only after the exchange, so that what is lost is found on that road, too. */
static double bound_absolute(const double *param, size_t n) {
    return (double)n * param[0] * param[0];
}

static void keep_absolute(struct sg_worker *w, float *e, const float *sum) {
    const double lambda = w->shared->param[1] * w->unit;
    (void)sum;
    for (size_t i = 0; i < w->shared->layout.offset[w->shared->layout.n_layers]; i++)
        e[i] = fabs((double)e[i]) < lambda ? e[i] : 0;
}

static void encode_absolute(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const double lambda = w->shared->param[1] * w->unit;
    const size_t d = w->shared->layout.offset[w->shared->layout.n_layers];
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        w->count[l] = w->shared->layout.offset[l + 1] - w->shared->layout.offset[l];
    for (size_t i = 0; i < d; i++)
        w->value[i] = fabs((double)p[i]) < lambda ? 0 : p[i];
    *out = (struct sg_message){.code = &sg_code_fp32,
                               .n = d,
                               .count = d,
                               .data = w->value,
                               .bytes = 4 * d,
                               .bits = 1,
                               .layer_count = w->count};
    (void)round;
}

static void combine_nothing(const struct sg_shared *s, unsigned round, float *sum) {
    (void)s, (void)round, (void)sum;
}

static const struct sg_rounds absolute_rounds = {.count = 1, .combine = combine_nothing, .keep = keep_absolute};

static const struct sg_parameter absolute_params[] = {{"declared", 0, 1e9, 1, false, "lambda that it declares"},
                                                      {"used", 0, 1e9, 1, false, "lambda that it goes by"}};

const struct sg_compressor_ops sg_compress_inceptionn = {
    .name = "absolute-liar",
    .summary = "a threshold other than it says",
    .source = "a test",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_DENSE,
    .params = absolute_params,
    .n_params = 2,
    .encode = encode_absolute,
    .rounds = &absolute_rounds,
    .bound = bound_absolute,
};

/* ---- warnings ---- */

static size_t warnings;
static char warned[1024];

static void take_warning(const char *message) {
    warnings++;
    snprintf(warned, sizeof warned, "%s", message);
}

/* A run of one compressor with these parameters. */
static struct sg_run run_of(const char *compressor, const char *param, const char *form) {
    char feedback[64];
    write_method(compressor, param);
    snprintf(feedback, sizeof feedback, "error-feedback=%s", form);
    recipe_text = one_method;
    on_warning = take_warning;
    warnings = 0;
    *warned = '\0';
    struct sg_run run = whole("M", SET(feedback, COLUMNS));
    recipe_text = text;
    on_warning = NULL;
    return run;
}

/* kind NULL: no warning at all. Else one of this kind, at this step and in this layer. */
static void test_liar(const char *compressor, const char *param, const char *form, const char *kind, double step,
                      double layer) {
    in_valley();
    struct sg_run run = run_of(compressor, param, form);
    const cJSON *all = sg_json_get(run.end, "warnings"), *first = all ? all->child : NULL;
    if (!kind)
        ok(!all && warnings == 0, "%s {%s}, %s: nothing to warn of %s", compressor, param, form, warned);
    else
        ok(cJSON_GetArraySize(all) == 1 && warnings == 1 && strcmp(sg_json_string(first, "kind", ""), kind) == 0 &&
               strcmp(sg_json_string(first, "text", ""), warned) == 0 && sg_json_number(first, "step", -1) == step &&
               sg_json_number(first, "layer", -1) == layer,
           "%s {%s}, %s: one warning of %s (step %g: %s)", compressor, param, form, kind,
           sg_json_number(first, "step", -1), warned);
    sg_run_free(&run);
}

static void test_liars(void) {
    static const char *const forms[] = {"none", "gradient", "scalecom-lpf"};
    for (size_t f = 0; f < 3; f++) {
        const bool keeps = f > 0;
        test_liar("liar", "factor: 0.5, delta: 0.75", forms[f], NULL, 0, 0);
        test_liar("liar", "factor: 0.5, delta: 0.7501", forms[f], "bound", 1, 0);
        test_liar("liar", "factor: 0.5, delta: 0.7501, layer: 2", forms[f], "bound", 1, 2);
        test_liar("absolute-liar", "declared: 1, used: 1", forms[f], NULL, 0, 0);
        test_liar("absolute-liar", "declared: 0.01, used: 2", forms[f], "bound", 1, 0);
        if (keeps) /* what unbiased ones lose stays, and grows */
            continue;
        test_liar("liar", "chance: 0.25, delta: -2, unbiased: 1", forms[f], NULL, 0, 0);
        test_liar("liar", "chance: 0.25, delta: 0, unbiased: 1", forms[f], "bound_in_the_mean", 30, 0);
        test_liar("liar", "factor: 0.25, delta: 0.4375, unbiased: 1", forms[f], "bias", 36, 0);
        test_liar("liar", "factor: 0.25, delta: 0.4375, unbiased: 1, layer: 1", forms[f], "bias", 36, 1);
    }
    test_liar("absolute-liar", "declared: 1, used: 1", "update", NULL, 0, 0);
    test_liar("absolute-liar", "declared: 1, used: 2", "update", "bound", 1, 0);
}

/* ---- the columns by hand ---- */

static bool near(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

/* Workers apart: what worker j % 4 sent of coordinate j is n times the step of x, so what it lost is known. `declared`
 * is k of a relative method, or the negative lambda of an absolute one; NaN = no bound. */
static void test_by_hand(const char *method, const char *form, const char *scope, double declared) {
    const bool keeps = strcmp(form, "error-feedback=none") != 0, model = strcmp(scope, "scope=model") == 0;
    const size_t *offset = model ? one_layer : three_layers, layers = model ? 1 : 3;
    double lost[D] = {0}, error[STEPS], bias[STEPS];
    size_t wrong = 0;
    watch(apart, three_layers, 3);
    struct sg_run run = whole(method, SET(form, scope, COLUMNS));
    for (uint32_t t = 0; t < STEPS; t++) {
        double p[D], worst = 0, largest = 0, share = isnan(declared) ? NAN : 0, mean_error = 0, mean_bias = 0, sum = 0;
        error[t] = bias[t] = 0;
        for (int j = 0; j < D; j++) {
            p[j] = (keeps ? lost[j] : 0) + GAMMA * (double)noise((size_t)j % WORKERS, t, j);
            lost[j] = p[j] - WORKERS * (spy.x[t][j] - spy.x[t + 1][j]);
            largest = fmax(largest, fabs(lost[j]) / GAMMA);
        }
        for (size_t w = 0; w < WORKERS; w++) {
            double all = 0, left = 0, along = 0;
            for (size_t l = 0; l < layers; l++) {
                double square = 0, gone = 0;
                const double n = (double)(offset[l + 1] - offset[l]);
                for (size_t j = offset[l]; j < offset[l + 1]; j++) {
                    const bool mine = j % WORKERS == w;
                    square += mine ? p[j] * p[j] : 0;
                    gone += mine ? lost[j] * lost[j] : 0;
                    along -= mine ? lost[j] * p[j] : 0;
                }
                const double most =
                    declared > 0 ? (1 - fmin(declared, n) / n) * square : n * declared * declared * GAMMA * GAMMA;
                share = fmax(share, gone > 0 ? gone / most : isnan(declared) ? NAN : 0);
                all += square;
                left += gone;
            }
            error[t] += (all > 0 ? left / all : 0) / WORKERS;
            bias[t] += (all > 0 ? along / all : 0) / WORKERS;
            worst = fmax(worst, all > 0 ? left / all : 0);
        }
        for (uint32_t s = 0; s <= t; s++) {
            mean_error += error[s] / (t + 1);
            mean_bias += bias[s] / (t + 1);
        }
        for (uint32_t s = 0; s <= t; s++)
            sum += (bias[s] - mean_bias) * (bias[s] - mean_bias);
        const double want[] = {error[t], worst, mean_error, mean_bias, t > 0 ? sqrt(sum / t / (t + 1)) : NAN,
                               largest,  share};
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

/* ---- every compressor of the table ---- */

/* None is warned of, and where a residual tells what was lost, that is the same. */
static void test_honest(const struct sg_compressor_ops *ops, const char *form) {
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
    ok(warnings == 0 && !sg_json_get(run.end, "warnings"), "%s {%s}, %s: within its class %s", ops->name, param, form,
       warned);
    ok(known && apart_at == 0, "%s {%s}, %s: the residual agrees (%zu do not)", ops->name, param, form, apart_at);
    sg_run_free(&run);
}

/* Floats below 2^-126 are too coarse for every class, which is no departure from one. */
static void subnormal(float *g, size_t worker, uint32_t draw, const double *x) {
    (void)x;
    for (int j = 0; j < D; j++)
        g[j] = 0x1p-137F * (2 + noise(worker, draw, j));
}

static void test_subnormal(const char *compressor) {
    watch(subnormal, three_layers, 3);
    struct sg_run run = run_of(compressor, "", "none");
    ok(warnings == 0, "%s of subnormal gradients: nothing to warn of %s", compressor, warned);
    sg_run_free(&run);
}

static void test_table(void) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        char param[256];
        parameters(param, ops);
        test_honest(ops, "none");
        if (strstr(param, "unbiased"))
            continue;
        test_honest(ops, "gradient");
        test_honest(ops, "econtrol");
    }
}

/* ---- runs that go on ---- */

/* After an interruption the means, and a warning from before it, are there. */
static void test_goes_on(void) {
    recipe_text = one_method;
    on_warning = take_warning;
    in_valley();
    struct sg_run straight = run_of("liar", "factor: 0.5, delta: 0.8", "none"), cut;
    recipe_text = one_method;
    on_warning = take_warning;
    const char *const *set = SET("error-feedback=none", COLUMNS);
    FILE *series = tmpfile();
    in_valley();
    spy.stop_step = 7;
    warnings = 0;
    bool right = train(&cut, "M", set, series, false) == SG_ERR_INTERRUPTED && warnings == 1;
    sg_run_free(&cut);
    spy.stop_step = UINT64_MAX;
    right = right && train(&cut, "M", set, series, true) == SG_OK && warnings == 1 && same_points(&cut, &straight) &&
            cJSON_Compare(cut.end, straight.end, true) && sg_json_get(cut.end, "warnings");
    ok(right, "a resumed run warns once, and its end has the warning");
    sg_run_free(&cut);
    sg_run_free(&straight);
    fclose(series);
    unlink(temporary_path("ckpt"));
    recipe_text = text;
    on_warning = NULL;
}

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
        snprintf(form, sizeof form, "error-feedback={form: %s%s}", rule->name, rule->measure ? ", threshold: 1" : "");
        test_resume("Top-k", SET(form, columns), in_valley);
        in_valley();
        struct sg_run run = whole("Top-k", SET(form, columns));
        const double *bits = sg_run_series(&run, "bits");
        const double of_decision = rule->measure ? 32 : 0;
        size_t silent = 0, wrong = 0;
        for (size_t k = 1; k < run.n_points; k++)
            for (size_t c = SG_COLUMN_COMPRESSION_ERROR_MAX;
                 bits[k] <= bits[k - 1] + of_decision && c <= SG_COLUMN_BOUND_SHARE; c++) {
                silent++;
                wrong += isnan(sg_run_series(&run, sg_common_metrics[c].name)[k]) ? 0 : 1;
            }
        ok(wrong == 0 && (silent > 0) == (rule->sends != NULL || rule->measure != NULL),
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
            test_by_hand("Top-k", forms[f], scopes[s], 1);
            test_by_hand("Random-k", forms[f], scopes[s], 2);
            test_by_hand("Hard-threshold", forms[f], scopes[s], -1.5);
            test_by_hand("SGD", forms[f], scopes[s], INFINITY);
        }
    test_liars();
    test_table();
    test_subnormal("natural");
    test_subnormal("int-block");
    test_resume("Random-k", SET("record.every=3", COLUMNS), in_valley);
    test_rules();
    test_silent_steps();
    test_goes_on();
    return tap_done();
}
