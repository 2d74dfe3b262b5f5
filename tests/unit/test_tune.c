/* The search for a lambda on made curves, pilots extrapolated along a schedule, and the recipe that comes out. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "tune_search.h"

/* ---- curves ---- */

static double power_law(double lambda) { /* a random walk: slope 2 */
    return 40 / (lambda * lambda);
}

static double bent(double lambda) { /* drift at small lambda, slope 1; then 3 */
    return 100 / (lambda + pow(lambda, 3) / 9);
}

static double jump(double lambda) { /* two-valued data: nothing between 10 and 1 */
    return lambda < 2 ? 10 : 1;
}

/* Repeats solve and measure from `lambda` on; the number of measurements until within 5 %, or `most`. */
static int search(double (*curve)(double), double lambda, double target, int most) {
    struct tune_point points[64];
    char text[TUNE_LAMBDA_CHARS];
    for (int n = 0; n < most; n++) {
        lambda = tune_round(lambda, text);
        points[n] = (struct tune_point){lambda, curve(lambda)};
        if (fabs(points[n].amount / target - 1) <= 0.05)
            return n + 1;
        lambda = tune_solve(points, (size_t)n + 1, target, n > 0 ? tune_secant(points, (size_t)n + 1, target) : 2);
    }
    return most;
}

static void curves(void) {
    ok(search(power_law, 1, 0.1, 9) == 2, "a random walk's law is found in one step from anywhere");
    ok(search(power_law, 1e4, 10, 9) == 2, "from the other side as well");
    ok(search(bent, 0.01, 2, 12) <= 6 && search(bent, 100, 2, 12) <= 6, "a bent curve takes a few");
    ok(search(jump, 1, 3, 40) == 40, "what is not on the curve is never found");

    const struct tune_point two[] = {{1, 8}, {2, 2}};
    ok(fabs(tune_solve(two, 2, 4, 1) - sqrt(2)) < 1e-12, "between two points: the power law through them");
    ok(fabs(tune_solve(two, 2, 32, 2) - 0.5) < 1e-12 && fabs(tune_solve(two, 2, 0.5, 2) - 4) < 1e-12,
       "outside: from the nearest along the slope");
    ok(fabs(tune_slope(two, 2) - 2) < 1e-12, "slope of two points");
    const struct tune_point same[] = {{1, 8}, {1, 7}}, rising[] = {{1, 1}, {2, 9}}, steep[] = {{1, 1e9}, {2, 1}};
    ok(tune_slope(same, 2) == 2 && tune_slope(same, 1) == 2, "no slope from one lambda: a random walk's");
    ok(tune_slope(rising, 2) == 0.5 && tune_slope(steep, 2) == 4, "slopes of noise are kept in bounds");
    const struct tune_point far[] = {{1, 1000}, {2, 10}, {4, 5}};
    ok(fabs(tune_secant(far, 3, 4) - 1) < 1e-12, "the secant is the two nearest points'");
    char text[TUNE_LAMBDA_CHARS];
    ok(tune_round(0.0123456, text) == 0.01235 && strcmp(text, "0.01235") == 0, "four digits");
}

/* ---- pilots ---- */

static const char recipe_text[] =
    "# what it is for\n"
    "\n"
    "schema: 1\n"
    "name: made\n"
    "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
    "epochs: 10\n"
    "optimizer: {kind: sgd, learning-rate: 0.1, decay-at: [5]}\n"
    "error-feedback: gradient\n"
    "record: {every: 1, series: [bits-values]}\n"
    "methods:\n"
    "  - {name: Top-k, compressor: topk, k: [2, 4]} # goes\n"
    "  - name: 'H: x'\n"
    "    compressor: hard-threshold\n"
    "    lambda:\n"
    "      - 1/gamma\n"
    "      - 2e-1\n"
    "claims:\n"
    "  - {text: \"a \xc3\xa9\", metric: bits-values, of: 'H: x lambda=2e-1', at-most: {of: Top-k k=2}}\n"
    "plots:\n"
    "  - {x: epoch, y: bits-values, methods: [Top-k k=4, \"H: x lambda=1/gamma\"]}\n";

enum { OF_PILOT = 100 }; /* d */

/* A run of `steps` steps in which workers send 10 values at each, 30 at the first two, and after `decay` 4, on average.
 * The largest message of a step has twice as many. */
static void make_run(struct sg_run *run, int steps, int decay) {
    char text[8192];
    struct sg_error err;
    double sent = 0;
    int n = snprintf(text, sizeof text,
                     "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"columns\":[\"step\",\"bits_values\","
                     "\"average_density_padded\",\"gradient_norm\"]}\n"
                     "{\"record\":\"step\",\"step\":0,\"bits_values\":0,\"average_density_padded\":null,"
                     "\"gradient_norm\":null}\n");
    for (int t = 1; t <= steps; t++) {
        sent += t <= 2 ? 30 : t <= decay ? 10 : 4;
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "{\"record\":\"step\",\"step\":%d,\"bits_values\":%.0f,\"average_density_padded\":%.17g,"
                      "\"gradient_norm\":%d}\n",
                      t, 32 * sent, 2 * sent / t / OF_PILOT,
                      3 * (t <= 2       ? 30
                           : t <= decay ? 10
                                        : 4));
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "{\"record\":\"end\",\"status\":\"ok\",\"steps\":%d}\n", steps);
    if (sg_run_parse(run, text, (size_t)n, "made", &err) != SG_OK)
        printf("Bail out! %s\n", err.msg);
}

static void pilots(const struct sg_cell *cell) {
    /* 10 epochs of 10 steps: a pilot of 20 of 100 steps has its decay after step 10. Of the first half the rest, 40
     * steps, at 10; of the second 40 at 4: 2 x 30 + 8 x 10 + 40 x 10 + 50 x 4 over 100 steps. */
    struct sg_run run;
    const struct tune_length length = {.resolved = &cell->resolved, .steps_per_epoch = 10, .steps = 100};
    make_run(&run, 20, 10);
    ok(fabs(tune_extrapolate(&run, &length, OF_PILOT, TUNE_SENT) - 7.4) < 1e-12,
       "a pilot stands for each stretch of the schedule");
    ok(fabs(tune_extrapolate(&run, &length, OF_PILOT, TUNE_PADDED) - 14.8) < 1e-12,
       "padded, it stands for the largest messages");
    ok(fabs(tune_extrapolate(&run, &length, 0, TUNE_GRADIENT) - 3 * 7.4) < 1e-12 &&
           isnan(tune_extrapolate(&run, &length, 0, TUNE_BYTES_SENT)),
       "so it does for gradients, and not for what was not recorded");
    ok(fabs(tune_entries(&run, cell, 0, false) - 180.0 / 20) < 1e-12, "what it sent itself");
    ok(fabs(tune_entries(&run, cell, OF_PILOT, true) - 2 * 180.0 / 20) < 1e-12, "and what its largest messages had");
    sg_run_free(&run);
}

/* A run of 10 steps that ends with these columns, as members of a JSON object. */
static double entries_of(const char *names, const char *members, const struct sg_cell *cell, bool padded) {
    char text[512];
    struct sg_run run;
    struct sg_error err;
    const int n = snprintf(text, sizeof text,
                           "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"columns\":[\"step\",%s]}\n"
                           "{\"record\":\"step\",\"step\":10,%s}\n"
                           "{\"record\":\"end\",\"status\":\"ok\",\"steps\":10}\n",
                           names, members);
    if (sg_run_parse(&run, text, (size_t)n, "made", &err) != SG_OK)
        printf("Bail out! %s\n", err.msg);
    const double found = tune_entries(&run, cell, OF_PILOT, padded);
    sg_run_free(&run);
    return found;
}

static const char codes_text[] = "schema: 1\n"
                                 "name: codes\n"
                                 "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
                                 "epochs: 10\n"
                                 "optimizer: {kind: sgd, learning-rate: 0.1}\n"
                                 "record: {every: 1, series: [bits]}\n"
                                 "methods:\n"
                                 "  - {name: plain Top-k, compressor: topk, k: 2, values: {code: fp16}}\n"
                                 "  - {name: plain own, compressor: hard-threshold, lambda: 1, values: {code: fp32}}\n"
                                 "  - {name: Levels, compressor: topk, k: 2, values: {code: levels, levels: 2}}\n"
                                 "  - {name: Coder, compressor: qsgd, levels: 4}\n"
                                 "  - {name: Dense, compressor: none}\n";

/* Entries are told by the columns that count them, and by bits only where each costs 64. */
static void volumes(void) {
    static const char bits[] = "\"bits\"", values[] = "\"bits\",\"bits_values\"",
                      density[] = "\"bits\",\"average_density\"";
    struct sg_recipe recipe;
    struct sg_cell *cells;
    size_t count;
    struct sg_error err;
    if (sg_recipe_parse(&recipe, codes_text, strlen(codes_text), "codes.yaml", NULL, 0, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &count, &err) != SG_OK) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    const struct sg_tune t = {.recipe = &recipe}, padded = {.recipe = &recipe, .padded = true};
    for (size_t i = 0; i < count; i++) {
        const struct sg_cell *cell = &cells[i];
        const bool plain = strncmp(cell->name, "plain", 5) == 0;
        const double found = entries_of(bits, "\"bits\":1920", cell, false);
        ok((plain ? found == 3 : isnan(found)) &&
               tune_need_volume(&t, cell, &err) == (plain ? SG_OK : SG_ERR_ARGUMENT) &&
               tune_need_volume(&padded, cell, &err) == SG_ERR_ARGUMENT,
           "bits %s the entries of %s", plain ? "tell" : "do not tell", cell->name);
        ok(entries_of(values, "\"bits\":7,\"bits_values\":640", cell, false) == 2 &&
               entries_of(density, "\"bits\":7,\"average_density\":0.25", cell, false) == 25 &&
               isnan(entries_of(values, "\"bits\":7,\"bits_values\":640", cell, true)),
           "columns that count entries tell those of %s, but not the padded ones", cell->name);
    }
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&recipe);
}

/* ---- the text ---- */

static void text(const struct sg_recipe *recipe) {
    struct tune_value lambda[] = {{3.5, "first"}, {0.25, "second"}};
    const struct tune_found found = {.name = "H: x", .key = "lambda", .n = 2, .value = lambda};
    const struct sg_tune t = {.recipe = recipe};
    struct sg_error err = {.status = SG_OK};
    char *out = NULL;
    ok(tune_emit_recipe(&out, &t, &found, 1, &err) == SG_OK, "lambdas are written (%s)", err.status ? err.msg : "fine");
    static const char expected[] =
        "schema: 1\n"
        "name: made\n"
        "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
        "epochs: 10\n"
        "optimizer: {kind: sgd, learning-rate: 0.1, decay-at: [5]}\n"
        "error-feedback: gradient\n"
        "record: {every: 1, series: [bits-values]}\n"
        "methods:\n"
        "  - {name: Top-k, compressor: topk, k: [2, 4]}\n"
        "  # first\n"
        "  # second\n"
        "  - {name: \"H: x\", compressor: hard-threshold, lambda: [3.5, 0.25]}\n"
        "claims:\n"
        "  - {text: \"a \xc3\xa9\", metric: bits-values, of: \"H: x lambda=0.25\", at-most: {of: Top-k k=2}}\n"
        "plots:\n"
        "  - {x: epoch, y: bits-values, methods: [Top-k k=4, \"H: x lambda=3.5\"]}\n";
    if (!ok(out && strcmp(strstr(out, "schema"), expected) == 0,
            "in their places, the labels with them, all else as it was"))
        printf("# %s\n", out ? out : "-");
    ok(out && strncmp(out, "# what it is for\n\nschema", 24) == 0, "behind the comments that the file begins with");
    free(out);
}

/* ---- trials ---- */

/* The first scalar of this text, and the line that it ends; 0 = there is none. */
static size_t line_of(const char *yaml, const char *scalar) {
    const char *at = strstr(yaml, scalar);
    size_t line = at ? 1 : 0;
    for (const char *c = yaml; at && c < at; c++)
        line += *c == '\n';
    return line;
}

/* A changed recipe, written for the processes of its cells, has the same cells, and its lines are places of the file.
 */
static void written(const struct sg_recipe *recipe) {
    const struct sg_tune t = {.recipe = recipe};
    const struct tune_search s = {.name = "H: x", .key = "lambda"};
    const struct tune_point points[] = {{.value = 0.5}, {.value = 3, .spelling = "3.0"}};
    struct tune_trials b;
    struct sg_recipe again = {0};
    struct sg_cell *cells = NULL;
    struct sg_error err = {.status = SG_OK};
    size_t count = 0, size;
    char *yaml = NULL;
    tune_trials_start(&b, &t, NULL);
    tune_change(&b.changes, "{claims: null, plots: null, record.series: [bits, bits-values]}");
    tune_change_values(&b.changes, &s, points, 2);
    bool fine = tune_trials_open(&b, "H: x", NULL, 1, &err) == SG_OK;
    ok(fine && b.count == 2 && strcmp(b.cells[1].label, "H: x lambda=3.0") == 0, "a change makes cells (%s)", err.msg);
    FILE *out = open_memstream(&yaml, &size);
    sg_node_put_yaml(out, &b.written, true);
    fclose(out);
    fine = sg_recipe_parse(&again, yaml, size, "again.yaml", NULL, 0, &err) == SG_OK &&
           sg_recipe_cells(&again, &cells, &count, &err) == SG_OK && count == b.all;
    for (size_t i = 0; fine && i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < count; j++)
            found =
                found || (strcmp(cells[i].key, b.cells[j].key) == 0 && strcmp(cells[i].label, b.cells[j].label) == 0);
        fine = found;
    }
    ok(fine, "what is written has the same cells and no --set");
    const struct sg_node *rate = sg_node_of_line(&b.written, line_of(yaml, "learning-rate: "));
    ok(rate && rate->line == 7 && rate->number == 0.1, "a line of it is a place of the file");
    const struct sg_node *end = sg_node_of_line(&b.written, line_of(yaml, "3.0"));
    ok(end && end->line == 0 && end->number == 3 && !sg_node_of_line(&b.written, 1000), "or none");
    free(yaml);
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&again);
    tune_trials_close(&b);
}

/* A pilot has the schedules of all optimizers on its own length, also of the outer one and of a method's own. */
static void schedules(void) {
    static const char text_of[] = "schema: 1\n"
                                  "name: schedules\n"
                                  "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
                                  "steps: 100\n"
                                  "optimizer: {kind: sgd, learning-rate: 0.1, decay-at: [6]}\n"
                                  "record: {every: 1, series: [bits]}\n"
                                  "methods:\n"
                                  "  - name: M\n"
                                  "    compressor: none\n"
                                  "    optimizer: {kind: adamw, learning-rate: 0.1, decay-at: [4]}\n"
                                  "    error-feedback: {form: diloco, outer: {learning-rate: 1, decay-at: [2]}}\n";
    struct sg_recipe recipe;
    struct sg_error err = {.status = SG_OK};
    struct tune_trials b;
    if (sg_recipe_parse(&recipe, text_of, strlen(text_of), "schedules.yaml", NULL, 0, &err) != SG_OK) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    const struct sg_tune t = {.recipe = &recipe};
    const struct tune_length length = tune_length(&recipe.root, 10);
    tune_trials_start(&b, &t, NULL);
    tune_change_length(&b.changes, &length, 50);
    const bool fine = tune_trials_open(&b, NULL, NULL, 1, &err) == SG_OK;
    const struct sg_node *cell = fine ? &b.cells[0].resolved : NULL;
    ok(fine && sg_node_number(cell, "steps", 0) == 50 && sg_node_number(cell, "optimizer.decay-at.0", 0) == 2 &&
           sg_node_number(cell, "error-feedback.outer.decay-at.0", 0) == 1,
       "a pilot of half the steps has its schedules at half (%s)", err.status ? err.msg : "fine");
    tune_trials_close(&b);
    sg_recipe_free(&recipe);
}

/* Of lengths that a --set gives the written recipe keeps those that count. */
static void lengths(void) {
    static const char *const set[] = {"steps=30", "methods.Top-k.epochs=2"};
    static const char text_of[] = "schema: 1\n"
                                  "name: lengths\n"
                                  "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
                                  "epochs: 10\n"
                                  "optimizer: {kind: sgd, learning-rate: 0.1}\n"
                                  "record: {every: 1, series: [bits]}\n"
                                  "methods:\n"
                                  "  - {name: SGD, compressor: none, epochs: 4}\n"
                                  "  - {name: Top-k, compressor: topk, k: 2, steps: 7}\n";
    struct sg_recipe recipe, again = {0};
    struct sg_error err = {.status = SG_OK};
    struct tune_trials b;
    char *yaml = NULL;
    size_t size, count = 0;
    struct sg_cell *cells = NULL;
    if (sg_recipe_parse(&recipe, text_of, strlen(text_of), "lengths.yaml", set, 2, &err) != SG_OK) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    const struct sg_tune t = {.recipe = &recipe};
    tune_trials_start(&b, &t, NULL);
    tune_change(&b.changes, "{workers: 3}");
    bool fine = tune_trials_open(&b, NULL, NULL, 1, &err) == SG_OK;
    FILE *out = open_memstream(&yaml, &size);
    sg_node_put_yaml(out, &b.written, true);
    fclose(out);
    fine = fine && sg_recipe_parse(&again, yaml, size, "again.yaml", NULL, 0, &err) == SG_OK &&
           sg_recipe_cells(&again, &cells, &count, &err) == SG_OK && count == 2;
    for (size_t i = 0; fine && i < count; i++)
        fine = strcmp(cells[i].key, b.cells[i].key) == 0;
    ok(fine && sg_node_number(&cells[0].resolved, "steps", 0) == 30 &&
           sg_node_number(&cells[1].resolved, "epochs", 0) == 2,
       "lengths of --set overrule those of the file (%s)", err.msg);
    free(yaml);
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&again);
    sg_recipe_free(&recipe);
    tune_trials_close(&b);
}

int main(void) {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    size_t count;
    struct sg_error err;
    curves();
    if (sg_recipe_parse(&recipe, recipe_text, strlen(recipe_text), "made.yaml", NULL, 0, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &count, &err) != SG_OK) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    pilots(&cells[count - 1]);
    volumes();
    text(&recipe);
    written(&recipe);
    schedules();
    lengths();
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&recipe);
    return tap_done();
}
