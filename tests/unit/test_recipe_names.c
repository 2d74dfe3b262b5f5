/* Names of series, constants and methods in a recipe: each must exist, or is refused at its place. */
/* SPDX-License-Identifier: MIT */
#include "recipe_case.h"

/* Every name of a series or constant is known before anything runs. */
static void test_names(void) {
#define CLAIM_OF "claims:\n  - {text: t, of: Top-k, at-most: 1, "
#define PLOT     "plots: [{x: step, y: loss, "
    refused(SMALL CLAIM_OF "metric: los}\n", "r.yaml:11:46: metric: unknown series 'los' (did you mean 'loss'?)");
    refused(SMALL CLAIM_OF "metric: error_norm}\n",
            "r.yaml:11:46: metric: unknown series 'error_norm' (did you mean 'error-norm', which would have to be in "
            "record.series?)");
    refused(SMALL CLAIM_OF "metric: average-density}\n",
            "r.yaml:11:46: metric: series 'average-density' is not recorded (add it to record.series)");
    refused(
        SMALL CLAIM_OF "metric: qqqqqqqqqqqq}\n",
        "r.yaml:11:46: metric: unknown series 'qqqqqqqqqqqq'; there are step, epoch, loss, L, row-mean, row-max, m, "
        "d, n, l2, label-skew, D, f-star, f-start, gamma, error-bound");
    refused(SMALL CLAIM_OF "metric: train-loss}\n", /* logreg has none */
            "r.yaml:11:46: metric: unknown series 'train-loss'; there are step, epoch, loss, L, row-mean, row-max, m, "
            "d, n, l2, "
            "label-skew, D, f-star, f-start, gamma, error-bound");
    refused(SMALL CLAIM_OF "metric: loss, at: {when: bits, below: 1}}\n",
            "r.yaml:11:63: when: series 'bits' is not recorded (add it to record.series)");
    refused(SMALL CLAIM_OF "metric: loss, at: {when: f-star, below: 1}}\n",
            "r.yaml:11:63: when: 'f-star' is a constant, and a series is needed here");
    refused(SMALL "claims:\n  - {text: t, of: SGD, metric: loss, at-most: {metric: bits}}\n",
            "r.yaml:11:56: metric: series 'bits' is not recorded (add it to record.series)");
    refused(SMALL "claims:\n  - {text: t, of: SGD, metric: loss, at-most: {at: {when: bits, below: 1}}}\n",
            "r.yaml:11:59: when: series 'bits' is not recorded (add it to record.series)");
    refused(SMALL "claims:\n  - {text: t, of: SGD, metric: loss, at-most: {metric: error-bound}}\n",
            "r.yaml:11:56: metric: method 'SGD' has no 'error-bound', which is a constant of absolute compressors "
            "(hard-threshold)");
    refused(SMALL "plots: [{x: bit, y: los}]\n",
            "r.yaml:10:13: x: unknown series 'bit' (did you mean 'bits', which would have to be in record.series?)\n"
            "r.yaml:10:21: y: unknown series 'los' (did you mean 'loss'?)");
    refused(SMALL "plots: [{x: l2, y: loss}]\n",
            "r.yaml:10:13: x: 'l2' is a constant; a plot of kind 'curves' needs a series (or kind: points)");
    refused(SMALL PLOT "kind: points, y-at: {when: bits, below: 1}}]\n",
            "r.yaml:10:55: when: series 'bits' is not recorded (add it to record.series)");
    accepted(SMALL PLOT "kind: points}]\n", "points over a series");
    accepted(SMALL "plots: [{x: label-skew, y: loss, kind: points}]\n", "points over a constant");
    accepted(SMALL CLAIM_OF "metric: f-star}\n", "a claim about a constant");
    accepted(SMALL "  - {name: H, compressor: hard-threshold, lambda: 1}\n"
                   "claims:\n  - {text: t, of: SGD, metric: loss, at-most: {metric: error-bound, of: H}}\n",
             "a bound that is a constant of another method");

    refused_set(SMALL, "record.series=[los]",
                "--set record.series=[los]: record.series: task 'logreg' cannot record 'los' (did you mean 'loss'?)");
    refused_set(
        SMALL, "record.series=[error_norm]",
        "--set record.series=[error_norm]: record.series: task 'logreg' cannot record 'error_norm' (did you mean "
        "'error-norm'?)");
    refused_set(SMALL, "record.series=[loss, bits, loss]",
                "--set record.series=[loss, bits, loss]: record.series names 'loss' twice");
}

/* Names in expressions, too. */
static void test_expression_names(void) {
    refused_set(
        SMALL, "optimizer.learning-rate=1/(L+l3)",
        "--set optimizer.learning-rate=1/(L+l3): learning-rate: expression '1/(L+l3)': unknown name 'l3' (did you "
        "mean 'l2'? names: L, row_mean, row_max, m, d, n, l2, label_skew, D, f_star, f_start)");
    refused_set(
        SMALL, "task.l2=l2/10",
        "--set task.l2=l2/10: l2: expression 'l2/10': unknown name 'l2' (names: L, row_mean, row_max, m, d, n)");
    refused_set(
        SMALL, "optimizer.learning-rate=gamma/2",
        "--set optimizer.learning-rate=gamma/2: learning-rate: expression 'gamma/2': unknown name 'gamma' (names: "
        "L, row_mean, row_max, m, d, n, l2, label_skew, D, f_star, f_start)");
    refused_set(SMALL, "methods.Top-k.k=dd/10",
                "--set methods.Top-k.k=dd/10: k: expression 'dd/10': unknown name 'dd' (did you mean 'd'? names: L, "
                "row_mean, row_max, m, d, n, l2, label_skew, D, f_star, f_start, gamma)");
    accepted(SMALL "  - {name: T, compressor: topk, k: d/10}\n", "k from d");
    accepted("schema: 1\nname: s\ntask: {kind: lm, dataset: wikitext-2}\noptimizer: {learning-rate: 1/V}\n"
             "record: {series: [train-loss]}\n" STEPS METHODS,
             "another task's constants");
}

/* What a --set takes away under the file's claims and plots: no problem of the recipe, but said to those who judge. */
static void test_claim_problems(void) {
#define FITS                                                                                                           \
    "r.yaml: its claims and plots do not fit what --set made of it (leave them out with --set claims=[] --set "        \
    "plots=[], or change them too)\n"
    static const char text[] = SMALL "claims: [{text: t, metric: loss, of: Top-k, at-most: 1}]\n"
                                     "plots: [{x: step, y: loss, methods: [SGD]}]\n";
    static const struct {
        const char *set, *message;
    } given[] = {
        {"methods.Top-k.k=[1, 7]", FITS "r.yaml:10:38: unknown method 'Top-k' (did you mean 'Top-k k=1'?)"},
        {"record.series=[bits]", FITS "r.yaml:10:28: metric: series 'loss' is not recorded (add it to record.series)\n"
                                      "r.yaml:11:22: y: series 'loss' is not recorded (add it to record.series)"},
        {"methods.Top-k.k=7", NULL},
        {"workers=2", NULL},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct sg_recipe recipe;
        struct sg_error err;
        const sg_status status = parse_set(&recipe, text, &given[i].set, 1, &err);
        const char *got = status == SG_OK ? recipe.claim_problems : err.msg, *wanted = given[i].message;
        if (!ok(status == SG_OK && (got == NULL) == (wanted == NULL) && (got == NULL || strcmp(got, wanted) == 0),
                "--set %s leaves %s", given[i].set, wanted ? wanted : "nothing"))
            printf("# got: %s\n", got ? got : "nothing");
        if (status == SG_OK)
            sg_recipe_free(&recipe);
    }
    refused_set(text, "claims=[{text: t, metric: loss, of: Topk, at-most: 1}]",
                "--set claims=[{text: t, metric: loss, of: Topk, at…: unknown method 'Topk' (did you mean "
                "'Top-k'?)");
    /* No work of a --set: what is wrong without it, alone and beside a name that it takes away. */
    refused_set(SMALL "claims: [{text: t, metrik: loss, of: Top-k, at-most: 1}]\n", "workers=2",
                "r.yaml:10:10: missing key 'metric' (what is compared; for kernels `time`)\nr.yaml:10:20: unknown key "
                "'metrik' (did you mean 'metric'?)");
    refused_set(SMALL "claims: [{text: t, metric: loss, of: Top-k, at-most: 1}]\n"
                      "plots: [{x: step, y: loss, methods: [SDG]}]\n",
                "methods.Top-k.k=[1, 7]", "r.yaml:11:38: unknown method 'SDG' (did you mean 'SGD'?)");
}

int main(void) {
    test_names();
    test_expression_names();
    test_claim_problems();
    return tap_done();
}
