/* The parts of a method beside its compressor: controller, code of values, feedback rule. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "recipe_case.h"
#include "sg_method.h"

#define ENTRY HEAD STEPS "methods:\n"
#define TOPK  ENTRY "  - {name: A, compressor: topk, k: 2, "

/* A compressor's other spelling is its name everywhere else, so the cell is the same one. */
static void test_spellings(void) {
    struct sg_recipe recipe;
    struct sg_error err;
    const bool fine = parse_set(&recipe, ENTRY "  - {name: A, compressor: random-k, k: 2}\n", NULL, 0, &err) == SG_OK;
    ok(fine && strcmp(sg_node_string(&recipe.root, "methods.0.compressor", ""), "randomk") == 0,
       "random-k is understood as randomk");
    sg_recipe_free(&recipe);
    refused(ENTRY "  - {name: A, compressor: randomm-k, k: 2}\n",
            "r.yaml:8:27: unknown compressor 'randomm-k' (did you mean 'randomk'? Or load it with --plugin)");
}

static void test_controller_mistakes(void) {
    refused(TOPK "controller: {kind: acordion, high: 4}}\n",
            "r.yaml:8:58: unknown kind 'acordion' (did you mean 'accordion'?)");
    refused(TOPK "controller: {high: 4}}\n",
            "r.yaml:8:51: missing key 'kind' (the controller, with its parameters beside it)");
    refused(TOPK "controller: accordion}\n", "r.yaml:8:51: method 'A': controller: accordion needs 'high'");
    refused(TOPK "controller: {kind: accordion, high: 4, hihg: 5}}\n",
            "r.yaml:8:78: unknown key 'hihg' (did you mean 'high'?)");
    refused(TOPK "controller: {kind: accordion, high: 4, total: 0.1}}\n",
            "r.yaml:8:78: key 'total' does not belong here (it is a key of controller 'budget')");
    refused(TOPK "high: 4}\n", "r.yaml:8:39: key 'high' does not belong here (it is a key of controller 'accordion')");
    refused(TOPK "controller: {kind: accordion, high: -4}}\n", "r.yaml:8:75: high must be between 0 and 1e+18, got -4");
    refused(TOPK "controller: {kind: accordion, high: 4, interval: 1.5}}\n",
            "r.yaml:8:88: interval must be a whole number, got 1.5");
    refused(TOPK "controller: {kind: accordion, high: L*l3}}\n",
            "r.yaml:8:75: high: expression 'L*l3': unknown name 'l3' (did you mean 'l2'? names: L, row_mean, row_max, "
            "m, d, n, l2, label_skew, D, f_star, f_start, gamma)");
    refused(TOPK "controller: {kind: accordion, high: 4.5}}\n",
            "r.yaml:8:75: method 'A': controller.high: topk: 'k' = 4.5 is not a whole number");
    refused(TOPK "controller: {kind: accordion, low: 0, high: 4}}\n",
            "r.yaml:8:74: method 'A': controller.low: topk: 'k' = 0 is not between 1 and 4.29497e+09");
    refused(ENTRY "  - {name: A, compressor: randomk, density: 0.1, controller: {kind: accordion, high: 2}}\n",
            "r.yaml:8:86: method 'A': controller.high: randomk: 'density' = 2 is not between 0 and 1");
    refused(TOPK "controller: {kind: budget, total: 0.1}}\n",
            "r.yaml:8:51: method 'A': controller: 'budget' finds a threshold, and topk has none");
    refused(ENTRY "  - {name: A, compressor: hard-threshold, controller: budget}\n",
            "r.yaml:8:55: method 'A': controller: budget needs 'total', which must be above 0");
    refused(ENTRY "  - {name: A, compressor: none, controller: {kind: accordion, high: 4}}\n",
            "r.yaml:8:45: method 'A': controller: none has nothing that the controller 'accordion' could change");
    refused(ENTRY "  - {name: A, compressor: accordion, k-min: 1, k-max: 2, controller: {kind: accordion, high: 4}}\n",
            "r.yaml:8:70: method 'A': controller: accordion has the controller 'accordion' already (leave one of the "
            "two out)");
    refused(ENTRY "  - {name: A, compressor: hard-threshold, budget: 0.1, controller: {kind: budget, total: 0.2}}\n",
            "r.yaml:8:68: method 'A': controller: hard-threshold has the controller 'budget' already (leave one of the "
            "two out)");
    refused_set(
        TOPK "controller: {kind: accordion, high: 4}}\n", "methods.A.controller.high=0.2",
        "--set methods.A.controller.high=0.2: method 'A': controller.high: topk: 'k' = 0.2 is not between 1 and "
        "4.29497e+09");
    refused(ENTRY "  - {name: H, compressor: hard-threshold, lambda: 1, controller: {kind: accordion, high: 2}}\n"
                  "claims: [{text: t, metric: loss, of: H, at-most: {metric: error-bound}}]\n",
            "r.yaml:9:59: metric: method 'H' has no 'error-bound', which is a constant of absolute compressors "
            "(hard-threshold)");
}

static void test_values_mistakes(void) {
    refused(TOPK "values: levls}\n", "r.yaml:8:47: unknown code 'levls' (did you mean 'levels'?)");
    refused(TOPK "values: {code: fp16, levels: 3}}\n",
            "r.yaml:8:60: key 'levels' does not belong here (it is a key of code 'levels')");
    refused(TOPK "values: {code: levels, levels: 0}}\n", "r.yaml:8:70: levels must be between 1 and 32767, got 0");
    refused(ENTRY "  - {name: Q, compressor: qsgd, values: levels}\n",
            "r.yaml:8:41: method 'Q': values: a message of qsgd has a format of its own, so its values cannot be "
            "'levels' too");
    refused(ENTRY "  - {name: Q, compressor: qsgd}\nmessage: {values: fp16}\n",
            "r.yaml:8:5: method 'Q': values: a message of qsgd has a format of its own, so its values cannot be "
            "'fp16' too");
    accepted(ENTRY "  - {name: Q, compressor: qsgd, values: fp32}\nmessage: {values: fp16}\n",
             "qsgd beside a message in halves");
    refused(SMALL "message: {values: levels}\n", "r.yaml:10:19: values must be one of fp32, fp16, bf16, got 'levels'");
}

static void test_feedback_mistakes(void) {
    refused(SMALL "error-feedback: ef2\n", "r.yaml:10:17: unknown form 'ef2' (did you mean 'ef21'?)");
    refused(SMALL "error-feedback: {form: gradient, momentum: 0.5}\n",
            "r.yaml:10:34: key 'momentum' does not belong here (it is a key of error-feedback form 'dgc-momentum')");
    refused(SMALL "error-feedback: {form: dgc-momentum, momentum: 1.5}\n",
            "r.yaml:10:48: momentum must be between 0 and 1, got 1.5");
    refused_set(TOPK "error-feedback: update}\n", "optimizer.momentum=0.9",
                "r.yaml:8:5: error-feedback 'update' does not go with this optimizer: momentum needs error-feedback: "
                "gradient (in the update form the messages already carry the learning rate)");
    const char *const form[] = {"gradient", "none", "dgc-momentum", "ef21"};
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "schema: 1\nname: small\ntask: {kind: logreg, dataset: madelon}\nsteps: 1\n"
                 "optimizer: {learning-rate: 1, momentum: 0.9}\nrecord: {series: [loss]}\n"
                 "error-feedback: %s\n" METHODS,
                 form[i]);
        accepted(text, form[i]);
    }
}

/* Workers that step by themselves may have any optimizer, and what they share has one of its own. */
static void test_local_training(void) {
    const char text[] = ENTRY "  - {name: D, compressor: topk, k: 2, error-feedback: {form: diloco, steps: 5}}\n"
                              "  - {name: L, compressor: none, optimizer: {kind: adam, learning-rate: 0.5},\n"
                              "     error-feedback: {form: local-steps, outer: {learning-rate: [1, 2]}}}\n"
                              "  - {name: P, compressor: none, learning-rate: 3, error-feedback: local-steps}\n";
    const char *const set[] = {"optimizer.kind=adamw"};
    struct sg_recipe recipe;
    struct sg_cell *cells = NULL;
    struct sg_error err;
    size_t n = 0;
    sg_status status = parse_set(&recipe, text, set, 1, &err);
    if (!ok(status == SG_OK && sg_recipe_cells(&recipe, &cells, &n, &err) == SG_OK && n == 4, "local training: %zu", n))
        exit(1);
    const struct sg_node *d = &cells[0].resolved, *l = &cells[2].resolved, *p = &cells[3].resolved;
    ok(strcmp(sg_node_string(d, "error-feedback.outer.kind", ""), "nesterov") == 0 &&
           sg_node_number(d, "error-feedback.outer.learning-rate", NAN) == 0.7 &&
           sg_node_number(d, "error-feedback.outer.momentum", NAN) == 0.9 &&
           strcmp(sg_node_string(d, "optimizer.kind", ""), "adamw") == 0,
       "diloco: Nesterov's momentum without, the recipe's optimizer within");
    ok(sg_node_number(l, "error-feedback.outer.learning-rate", NAN) == 2 &&
           strcmp(sg_node_string(l, "optimizer.kind", ""), "adam") == 0 &&
           sg_node_number(l, "optimizer.learning-rate", NAN) == 0.5,
       "a method's own optimizer, and a list of outer learning rates");
    ok(sg_node_get(p, "error-feedback.outer") == NULL && sg_node_number(p, "optimizer.learning-rate", NAN) == 3,
       "local steps without an outer optimizer");
    sg_recipe_cells_free(cells, n);
    sg_recipe_free(&recipe);
    refused(TOPK "error-feedback: {form: update, outer: {learning-rate: 1}}}\n",
            "r.yaml:8:70: key 'outer' does not belong here (it is a key of error-feedback form 'diloco')");
    refused(TOPK "error-feedback: {form: diloco, outer: {kind: nesterov}}}\n",
            "r.yaml:8:77: missing key 'learning-rate' (gamma. Expressions may use the task's constants, as 1/(L+l2))");
    refused(TOPK "error-feedback: {form: diloco, outer: {kind: nesterov, learning-rate: 1, momentum: 0}}}\n",
            "r.yaml:8:77: error-feedback.outer: nesterov needs a momentum above 0");
    refused(TOPK "error-feedback: cser, optimizer: {kind: adamw, learning-rate: 1}}\n",
            "r.yaml:8:5: error-feedback 'cser' does not go with this optimizer: Adam and AdamW need error-feedback: "
            "gradient (in the update form the messages already carry the learning rate)");
}

static const char whole[] =
    ENTRY "  - {name: Plain, compressor: topk, k: 2}\n"
          "  - {name: A, compressor: topk, density: [0.1, 0.2], controller: {kind: accordion, high: [0.3, 0.1*L]},\n"
          "     values: {code: levels, levels: 3}}\n"
          "  - {name: M, compressor: topk, k: 1, values: fp16, error-feedback: {form: dgc-momentum, momentum: 0.5}}\n";

static const struct sg_cell *cell_of(const struct sg_cell *cells, size_t n, const char *label) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(cells[i].label, label) == 0)
            return &cells[i];
    printf("# there is no cell '%s'\n", label);
    exit(1);
}

static void test_cells(const struct sg_cell *cells, size_t n) {
    ok(n == 6, "a list in a controller gives one cell each: %zu", n);
    const struct sg_node *plain = cell_of(cells, n, "Plain")->method;
    ok(!sg_node_get(plain, "controller") && !sg_node_get(plain, "values") && plain->count == 3,
       "a method without a controller has no key for one");
    const struct sg_node *a = cell_of(cells, n, "A density=0.2 high=0.1*L")->method;
    ok(sg_node_number(a, "density", NAN) == 0.2 && strcmp(sg_node_string(a, "controller.kind", ""), "accordion") == 0 &&
           strcmp(sg_node_string(a, "controller.high", ""), "0.1*L") == 0 &&
           sg_node_number(a, "controller.interval", NAN) == 10 && isnan(sg_node_number(a, "controller.low", NAN)),
       "a cell has the controller with one value of each key, and presets");
    const struct sg_cell *m = cell_of(cells, n, "M");
    ok(strcmp(sg_node_string(m->method, "values.code", ""), "fp16") == 0 &&
           sg_node_number(&m->resolved, "error-feedback.momentum", NAN) == 0.5 &&
           sg_node_number(&m->resolved, "error-feedback.decay", NAN) == 1,
       "a bare code, and a form with its own key");
}

static void test_numbers(const struct sg_cell *cells, size_t n) {
    const struct sg_constant constants[] = {{"L", 4}, {"gamma", 0.25}};
    struct sg_method_config config = {.size = sizeof(struct sg_method_config), .seed = 77};
    double room[SG_METHOD_NUMBERS];
    const struct sg_node *at;
    struct sg_error err;
    const sg_status status =
        sg_cell_method(&config, room, cell_of(cells, n, "A density=0.1 high=0.1*L"), constants, 2, &at, &err);
    ok(status == SG_OK && config.seed == 77 && config.compressor == sg_compressor_find("topk") &&
           isnan(config.param[0]) && config.param[1] == 0.1 && config.controller == sg_controller_find("accordion") &&
           isnan(config.controller_param[0]) && config.controller_param[1] == 0.4 && config.controller_param[3] == 10 &&
           config.code == &sg_code_levels && config.code_param[0] == 3 && config.code_param[1] == 512 &&
           config.feedback.rule == &sg_feedback_update && config.feedback.decay == 1,
       "a cell's method as numbers");
    ok(sg_cell_method(&config, room, cell_of(cells, n, "A density=0.1 high=0.1*L"), NULL, 0, &at, &err) != SG_OK &&
           strncmp(err.msg, "controller.high: ", 17) == 0 && at->line == 9,
       "a constant that is missing: %s", err.msg);
    ok(sg_cell_method(&config, room, cell_of(cells, n, "M"), NULL, 0, &at, &err) == SG_OK && !config.controller &&
           config.code == &sg_code_fp16 && config.feedback.rule == sg_feedback_find("dgc-momentum") &&
           config.feedback.param[0] == 0.5,
       "a form with a parameter");
}

int main(void) {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    struct sg_error err;
    size_t n;
    test_spellings();
    test_controller_mistakes();
    test_values_mistakes();
    test_feedback_mistakes();
    test_local_training();
    if (ok(parse_set(&recipe, whole, NULL, 0, &err) == SG_OK && sg_recipe_cells(&recipe, &cells, &n, &err) == SG_OK,
           "a recipe with all parts: %s", err.msg)) {
        test_cells(cells, n);
        test_numbers(cells, n);
        sg_recipe_cells_free(cells, n);
        sg_recipe_free(&recipe);
    }
    return tap_done();
}
