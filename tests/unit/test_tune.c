/* The search for a lambda on made curves, pilots extrapolated along a schedule, and the edited text. */
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
    "schema: 1\n"
    "name: made\n"
    "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
    "epochs: 10\n"
    "optimizer: {kind: sgd, learning-rate: 0.1, decay-at: [5]}\n"
    "error-feedback: gradient\n"
    "record: {every: 1, series: [bits-values]}\n"
    "methods:\n"
    "  - {name: Top-k, compressor: topk, k: [2, 4]} # kept\n"
    "  - name: 'H: x' # kept too\n"
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
                     "\"average_density_padded\"]}\n"
                     "{\"record\":\"step\",\"step\":0,\"bits_values\":0,\"average_density_padded\":null}\n");
    for (int t = 1; t <= steps; t++) {
        sent += t <= 2 ? 30 : t <= decay ? 10 : 4;
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "{\"record\":\"step\",\"step\":%d,\"bits_values\":%.0f,\"average_density_padded\":%.17g}\n", t,
                      32 * sent, 2 * sent / t / OF_PILOT);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "{\"record\":\"end\",\"status\":\"ok\",\"steps\":%d}\n", steps);
    if (sg_run_parse(run, text, (size_t)n, "made", &err) != SG_OK)
        printf("Bail out! %s\n", err.msg);
}

static void pilots(const struct sg_cell *cell) {
    /* 10 epochs of 10 steps: a pilot of 20 of 100 steps has its decay after step 10. Of the first half the rest, 40 steps,
     * at 10; of the second 40 at 4: 2 x 30 + 8 x 10 + 40 x 10 + 50 x 4 over 100 steps. */
    struct sg_run run;
    const struct tune_length length = {.resolved = &cell->resolved, .steps_per_epoch = 10, .steps = 100};
    make_run(&run, 20, 10);
    ok(fabs(tune_extrapolate(&run, &length, OF_PILOT, false) - 7.4) < 1e-12,
       "a pilot stands for each stretch of the schedule");
    ok(fabs(tune_extrapolate(&run, &length, OF_PILOT, true) - 14.8) < 1e-12,
       "padded, it stands for the largest messages");
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

static const char codes_text[] =
    "schema: 1\n"
    "name: codes\n"
    "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}\n"
    "epochs: 10\n"
    "optimizer: {kind: sgd, learning-rate: 0.1}\n"
    "record: {every: 1, series: [bits]}\n"
    "methods:\n"
    "  - {name: plain Top-k, compressor: topk, k: 2, values: {code: fp16}}\n"
    "  - {name: plain own, compressor: hard-threshold, lambda: 1, values: {code: fp32}}\n"
    "  - {name: Levels, compressor: topk, k: 2, values: {code: levels, levels: 2}}\n"
    "  - {name: Reset, compressor: topk, k: 2, controller: {kind: error-reset, interval: 2}}\n"
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
    double lambda[] = {3.5, 0.25};
    char how[2][TUNE_HOW_CHARS] = {"first", "second"};
    const struct tune_found found = {.name = "H: x", .key = "lambda", .n = 2, .value = lambda, .how = how};
    const struct sg_tune t = {.recipe = recipe};
    struct sg_error err = {.status = SG_OK};
    char *out = NULL, *expected = NULL;
    ok(tune_emit_recipe(&out, &t, &found, 1, &err) == SG_OK, "lambdas are written (%s)", err.status ? err.msg : "fine");
    const char *at = strstr(recipe_text, "  - name: 'H: x'");
    if (asprintf(&expected,
                 "%.*s  # first\n  # second\n  - name: 'H: x' # kept too\n    compressor: hard-threshold\n    lambda:\n"
                 "      - 3.5\n      - 0.25\nclaims:\n"
                 "  - {text: \"a \xc3\xa9\", metric: bits-values, of: 'H: x lambda=0.25', at-most: {of: Top-k k=2}}\n"
                 "plots:\n  - {x: epoch, y: bits-values, methods: [Top-k k=4, 'H: x lambda=3.5']}\n",
                 (int)(at - recipe_text), recipe_text) < 0)
        expected = NULL;
    ok(out && expected && strcmp(out, expected) == 0, "in their places, the labels with them, all else as it was");
    free(out);
    free(expected);
    const struct sg_recipe_edit end = {.line = 99, .comment = "end"};
    out = NULL;
    ok(sg_recipe_edited(&out, recipe, &(struct sg_recipe_edit){.line = 4, .column = 1, .value = "x"}, 1, &err) == SG_OK,
       "a key is a single value, too");
    free(out);
    out = NULL;
    ok(sg_recipe_edited(&out, recipe, &(struct sg_recipe_edit){.line = 3, .column = 7, .value = "x"}, 1, &err) ==
               SG_ERR_ARGUMENT &&
           out == NULL,
       "a section is not");
    ok(sg_recipe_edited(&out, recipe, &end, 1, &err) == SG_OK && strstr(out, "# end\n"), "a comment past the end");
    free(out);
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
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&recipe);
    return tap_done();
}
