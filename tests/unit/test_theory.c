/* The right-hand sides of section 5.1 against numbers worked out elsewhere (Python, double precision), and both sides
 * on a small problem on which the theorems must hold. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_compressor.h"
#include "sg_theory.h"
#include "tap.h"

static struct sg_error err;

static void test_bounds(void) {
    struct sg_theory_constants c = {.L = 2,
                                    .mu = 0.5,
                                    .M = 3,
                                    .sigma_squared = 5,
                                    .C = 1,
                                    .zeta_squared = 7,
                                    .D = 11,
                                    .R_0 = 13,
                                    .gap = 17,
                                    .gamma = 0.01,
                                    .n = 4,
                                    .T = 100};
    static const struct {
        enum sg_statement what;
        double compressor, bound, largest;
    } want[] = {
        {SG_THEOREM_4, 9, 13.233168257138647, 0.05},
        {SG_THEOREM_5, 9, 1.8126213280183276, 0.05},
        {SG_THEOREM_6, 9, 68.2672, 0.1},
        {SG_REMARK_6, 0.5, 64.89088972120376, 0.05},
        {SG_REMARK_8, 0.5, 5.217708256504212, 0.05},
        {SG_THEOREM_7, 0.5, 136.8656, 0.025253813613805267},
        {SG_THEOREM_1, 0.0009, 68.2672, 0.1}, /* as theorem 6 with gamma^2 nu^2 */
    };
    double largest;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const double bound = sg_theory_bound(want[i].what, &c, want[i].compressor, &largest);
        ok(fabs(bound - want[i].bound) <= 1e-14 * bound && fabs(largest - want[i].largest) <= 1e-15, "%s: %.17g",
           sg_statement_name(want[i].what), bound);
    }
    /* gamma = sqrt(2 * 4 * 17 / (2 * 26 * 100)), 4 * 17 / (100 gamma) + 2 * 2 * 26 gamma / 4, 2 * 4 * 9 gamma^2 */
    const struct sg_theory_rate rate = sg_theory_rate(SG_THEOREM_6, &c, 9);
    ok(fabs(rate.gamma - 0.161721508012528) <= 1e-15 && fabs(rate.rate - 8.409518416651455) <= 1e-13 &&
           fabs(rate.compression - 1.8830769230769233) <= 1e-14 && fabs(rate.steps - 5.014110150204827) <= 1e-12,
       "corollary 1: %.17g %.17g %.17g %.17g", rate.gamma, rate.rate, rate.compression, rate.steps);
    c.D = c.sigma_squared = 0;
    ok(fabs(sg_theory_bound(SG_THEOREM_5, &c, 9, &largest) - 1.3023504578604057) <= 1e-15,
       "remark 7: neither noise nor D");
    ok(isnan(sg_theory_bound(SG_REMARK_8, &c, 0.5, &largest)), "which remark 8 leaves out");
}

static const char text[] =
    "schema: 1\n"
    "name: theory\n"
    "task: {kind: logreg, dataset: no-such-set, stand-in: two-clouds, l2: L/10, start: {offset-from-optimum: 0.5}}\n"
    "workers: 4\n"
    "steps: 400\n"
    "optimizer: {learning-rate: 1/(100*row_max)}\n"
    "seeds: [1, 2]\n"
    "record: {every: 20, series: [loss]}\n"
    "methods:\n"
    "  - {name: SGD, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, k: 8}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.1, shards: sorted}\n";

static sg_status run(struct sg_theory *out, const char *set, const char *also) {
    const char *const sets[] = {set, also};
    struct sg_recipe recipe;
    static struct sg_cell *cells;
    static size_t n;
    sg_recipe_cells_free(cells, n); /* of the call before; methods borrow them */
    cells = NULL;
    n = 0;
    sg_status status =
        sg_recipe_parse(&recipe, text, strlen(text), "theory.yaml", sets, (size_t)(set != NULL) + (also != NULL), &err);
    SG_DO(status, sg_recipe_cells(&recipe, &cells, &n, &err));
    const struct sg_theory_options options = {.recipe = &recipe, .threads = 1};
    SG_DO(status, sg_theory_run(out, cells, n, &options, &err));
    sg_recipe_free(&recipe);
    return status;
}

static double largest_of(enum sg_statement what, const struct sg_theory_method *m) {
    double largest;
    sg_theory_bound(what, &m->constants, m->compressor, &largest);
    return largest;
}

static void test_run(void) {
    struct sg_theory t = {0};
    if (!ok(run(&t, NULL, NULL) == SG_OK, "both sides")) {
        printf("# %s\n", err.msg);
        return;
    }
    ok(t.count == 3 && t.method[0].compressor == 1 && !t.method[1].absolute && t.method[1].compressor == 0.2 &&
           t.method[2].absolute && fabs(t.method[2].compressor - 40 * 0.01) < 1e-15,
       "delta = 1 without compression, Top-k has k/d, hard-threshold nu^2 = d lambda^2");
    for (size_t i = 0; i < t.count; i++) {
        const struct sg_theory_constants *c = &t.method[i].constants;
        ok(c->T == 400 && c->n == 4 && fabs(c->R_0 - 40 * 0.25) < 1e-12 && c->gap > 0 && c->L > c->mu,
           "%s: steps, workers, |x0 - x*|^2 = d c^2", t.method[i].cell->label);
        struct sg_theory_row r, before = {0};
        for (size_t k = 0; sg_theory_statement(&r, &t.method[i], k); k++) {
            ok(r.measured > 0 && r.measured <= r.bound && !(c->gamma > r.largest_gamma), "%s: %s, %.3g <= %.3g",
               t.method[i].cell->label, sg_statement_name(r.what), r.measured, r.bound);
            if (r.what == SG_THEOREM_1)
                ok(r.bound < before.bound && (r.term[SG_TERM_COMPRESSION] > 0) == (i > 0),
                   "%s: the error that there was is less than the one that is allowed", t.method[i].cell->label);
            before = r;
        }
    }
    cJSON *json = sg_theory_json(&t);
    ok(sg_json_number(cJSON_GetArrayItem(sg_json_get(json, "methods"), 1), "constants.R_0", 0) ==
           t.method[1].constants.R_0,
       "as JSON");
    cJSON_Delete(json);
    t.method[1].constants.gamma = 1.01 * largest_of(SG_REMARK_6, &t.method[1]);
    json = sg_theory_json(&t);
    const cJSON *statements = sg_json_get(cJSON_GetArrayItem(sg_json_get(json, "methods"), 1), "statements");
    ok(cJSON_IsFalse(sg_json_get(cJSON_GetArrayItem(statements, 0), "applies")) &&
           cJSON_IsFalse(sg_json_get(cJSON_GetArrayItem(statements, 1), "applies")),
       "beyond the largest step size the remarks do not apply, either");
    cJSON_Delete(json);
    sg_theory_free(&t);
}

/* gamma in expressions is the base learning rate, as in training; what the theorems call so is the step size. */
static void test_scale(void) {
    struct sg_theory t = {0};
    ok(run(&t, "optimizer.scale=2", "methods.Hard-threshold.lambda=1e-3/gamma") == SG_OK,
       "a learning rate with a factor");
    const double gamma = t.method[2].constants.gamma / 2, lambda = 1e-3 / gamma;
    ok(fabs(t.method[2].compressor / (40 * lambda * lambda) - 1) < 1e-12, "its lambda is divided by the base rate");
    sg_theory_free(&t);
}

/* What is not Algorithm 1: of the recipe it is refused, of a method left out. */
static void test_setting(void) {
    static const struct {
        const char *set, *words;
    } refused[] = {
        {"optimizer.decay-at=[3]", "a constant learning rate"},
        {"optimizer.warm-up-epochs=1", "a constant learning rate"},
        {"optimizer.decay=cosine", "a constant learning rate"},
        {"optimizer.momentum=0.9", "optimizer.momentum"},
        {"task.oracle=lsvrg", "task.oracle"},
        {"optimizer.weight-decay=1e-3", "optimizer.weight-decay"},
        {"optimizer={kind: adam, learning-rate: 0.1}", "optimizer.kind: the theorems are about sgd, not adam"},
        {"optimizer={kind: adamw, learning-rate: 0.1}", "optimizer.kind: the theorems are about sgd, not adamw"},
        {"task={kind: logreg, dataset: no-such-set, stand-in: two-clouds, solve-optimum: false}", "about f - f*"},
        {"methods=[{name: X, compressor: hard-threshold, budget: 0.1}]", "no method of the recipe: 'X': what a budget"},
    };
    static const struct {
        const char *set;
        size_t count; /* of methods that stay */
        const char *why;
    } left_out[] = {
        {"methods.Top-k.error-feedback=none", 2, "error-feedback.form"},
        {"methods.Top-k.error-feedback={form: update, decay: 0.5}", 2, "error-feedback.decay"},
        {"methods.SGD.error-feedback=none", 3, NULL},
        {"error-feedback=gradient", 3, NULL},
        {"methods.Hard-threshold.message={values: fp16}", 2, "message.values"},
        {"methods.Top-k.values=levels", 2, "values: "},
        {"methods.Top-k.controller={kind: accordion, high: 5}", 2, "controller: "},
        {"methods.Top-k.error-feedback=ef21", 2, "error-feedback.form"},
        {"methods.Top-k={name: Q, compressor: qsgd, levels: 1}", 2, "more is lost than there was"},
        {"methods.Top-k.compressor=topk-twice", 2, "the mean once more"},
        {"methods.Top-k.compressor=stc", 2, "the mean once more"},
    };
    struct sg_theory t = {0};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ok(run(&t, refused[i].set, "error-feedback=gradient") == SG_ERR_ARGUMENT && strstr(err.msg, refused[i].words),
           "refused: %s", err.msg);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        const char *compressor = strstr(left_out[i].set, "compressor=");
        if (compressor && !sg_compressor_find(compressor + strlen("compressor="))) {
            skip("%s: this build is without it (ZOO=0)", left_out[i].set);
            continue;
        }
        ok(run(&t, left_out[i].set, NULL) == SG_OK && t.count == left_out[i].count && t.n_left_out == 3 - t.count &&
               (t.n_left_out == 0 || strstr(t.left_out[0].why, left_out[i].why)),
           "%s: %zu methods stay", left_out[i].set, left_out[i].count);
        sg_theory_free(&t);
    }
    ok(run(&t, "task.start={}", NULL) == SG_OK, "a start at zeros");
    ok(t.method[0].constants.D > 0, "shards differ at x*");
    sg_theory_free(&t);
    ok(run(&t, "task.oracle=full-shifted", NULL) == SG_OK && t.method[2].constants.D == 0, "shifted ones do not");
    sg_theory_free(&t);
}

int main(void) {
    test_bounds();
    test_run();
    test_scale();
    test_setting();
    return tap_done();
}
