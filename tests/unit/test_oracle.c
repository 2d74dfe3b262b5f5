/* Recordings of runs, and the oracle of Lemma 3 on them against brute force. The spy's numbers are multiples of 1/32
 * below 2^10 (see test_train.c), so everything here is exact. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sg_lemma3_oracle.h"
#include "sg_recording.h"
#include "spy_run.h"

enum { STEPS = 40, ALL = STEPS * WORKERS * D };

static struct sg_recipe recipe;
static struct sg_cell *cells;
static size_t n_cells;

static void read_recipe(const char *set) {
    sg_recipe_cells_free(cells, n_cells);
    sg_recipe_free(&recipe);
    if (sg_recipe_parse(&recipe, text, strlen(text), "spy.yaml", &set, set != NULL, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &n_cells, &err) != SG_OK) {
        printf("# %s\n", err.msg);
        exit(1);
    }
}

static void record(const char *method, const char *const *set) {
    watch(apart, three_layers, 3);
    record_inputs = temporary_path("inputs");
    struct sg_run run = whole(method, set);
    sg_run_free(&run);
    record_inputs = NULL;
}

static sg_status consult(struct sg_oracle *out) {
    const struct sg_oracle_options options = {.threads = 2};
    return sg_oracle_run(out, temporary_path("inputs"), cells, n_cells, &options, &err);
}

/* All that was recorded, and how much was sent. */
static uint64_t stack(float a[ALL]) {
    struct sg_recording r;
    uint64_t sent[WORKERS], sum = 0;
    double gamma;
    if (sg_recording_open(&r, temporary_path("inputs"), &err) != SG_OK)
        return UINT64_MAX;
    for (uint64_t t = 0; t < r.steps; t++) {
        if (sg_recording_step(&r, t, &gamma, sent, a + t * WORKERS * D, &err) != SG_OK || gamma != GAMMA)
            return UINT64_MAX;
        for (size_t w = 0; w < WORKERS; w++)
            sum += sent[w];
    }
    sg_recording_free(&r);
    return sum;
}

static int descending(const void *a, const void *b) {
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Residuals of hard-threshold by hand: a = e + g, on the gradient's scale in either form. */
static void test_recording(const char *form) {
    static float a[ALL];
    float e[WORKERS][D] = {0};
    size_t wrong = 0, sent = 0;
    record("Hard-threshold", SET(form));
    wrong += stack(a) == UINT64_MAX;
    for (uint32_t t = 0; t < STEPS; t++)
        for (size_t w = 0; w < WORKERS; w++)
            for (size_t j = 0; j < D; j++) {
                const float p = e[w][j] + (j % WORKERS == w ? noise(w, t, (int)j) : 0);
                wrong += !(a[(t * WORKERS + w) * D + j] == p);
                sent += fabsf(p) >= 1.5F;
                e[w][j] = fabsf(p) >= 1.5F ? 0 : p;
            }
    ok(wrong == 0 && stack(a) == sent && sent > 0, "recorded is what was compressed (%s)", form);
}

static void test_oracle(const char *method) {
    static float a[ALL], sorted[ALL];
    struct sg_oracle o;
    record(method, NULL);
    read_recipe(NULL);
    const uint64_t budget = stack(a);
    sg_status status = consult(&o);
    if (!ok(status == SG_OK, "%s: consulted", method)) {
        printf("# %s\n", err.msg);
        return;
    }
    memcpy(sorted, a, sizeof a);
    qsort(sorted, ALL, sizeof *sorted, descending);
    size_t wrong = o.entries != ALL || o.best.k != budget || strcmp(o.cell->label, method) != 0, below = 0;
    for (size_t i = 0; i <= o.n_methods; i++) {
        const struct sg_magnitude_rank *r = i < o.n_methods ? &o.method[i].best : &o.best;
        double lost = 0;
        for (size_t j = r->k; j < ALL; j++)
            lost += (double)sorted[j] * (double)sorted[j];
        wrong += !(r->lost == lost) || (r->k > 0 && !(r->kept_last == (double)fabsf(sorted[r->k - 1])));
        below += i < o.n_methods && !(o.method[i].error >= lost);
    }
    ok(wrong == 0 && o.n_methods == n_cells, "%s: budget, threshold and least error as by sorting", method);
    ok(below == 0, "%s: nothing is below the optimum", method);
    for (size_t i = 0; i < o.n_methods; i++) {
        const struct sg_oracle_method *m = &o.method[i];
        double error = 0;
        uint64_t sent = 0;
        const bool threshold = strcmp(m->cell->label, "Hard-threshold") == 0;
        for (size_t j = 0; threshold && j < ALL; j++) {
            sent += fabsf(a[j]) >= 1.5F;
            error += fabsf(a[j]) >= 1.5F ? 0 : (double)a[j] * (double)a[j];
        }
        if (threshold)
            ok(m->sent == sent && m->error == error && m->best.lost == error,
               "on the inputs of %s, a constant threshold has no regret", method);
        else if (strcmp(m->cell->label, method) == 0)
            ok(m->sent == budget, "%s sends of its own inputs what it sent", method);
    }
    cJSON *json = sg_oracle_json(&o);
    ok(json && sg_json_number(json, "optimal_error", -1) == o.best.lost &&
           cJSON_GetArraySize(sg_json_get(json, "methods")) == (int)n_cells,
       "%s: as JSON", method);
    cJSON_Delete(json);
    sg_oracle_free(&o);
}

/* Another recipe, a torn file, no recording at all. */
static void test_refusals(void) {
    struct sg_oracle o;
    record("Top-k", NULL);
    read_recipe("steps=41");
    ok(consult(&o) == SG_ERR_MISMATCH &&
           strstr(err.msg, "does not belong to this recipe: it is of method 'Top-k', seed 1"),
       "a recording of another recipe is refused");
    read_recipe(NULL);
    if (truncate(temporary_path("inputs"), 5000) != 0)
        exit(1);
    ok(consult(&o) == SG_ERR_FORMAT && strstr(err.msg, "it is damaged"), "one cut short is refused");
    temporary_write("inputs", "nothing\n", 8);
    ok(consult(&o) == SG_ERR_FORMAT && strstr(err.msg, "is not a recording"), "another file is refused");
    remove(temporary_path("inputs"));
    ok(consult(&o) == SG_ERR_MISSING, "one that is not there is refused");
}

static void test_interruption(void) {
    static float straight[ALL], cut[ALL];
    struct sg_run run;
    FILE *series = tmpfile();
    record("Accordion", NULL);
    const uint64_t sent = stack(straight);
    watch(apart, three_layers, 3);
    record_inputs = temporary_path("inputs");
    remove(record_inputs);
    spy.stop_step = 17;
    bool right =
        train(&run, "Accordion", NULL, series, false) == SG_ERR_INTERRUPTED && access(record_inputs, F_OK) != 0;
    sg_run_free(&run);
    spy.stop_step = UINT64_MAX;
    right &= train(&run, "Accordion", NULL, series, true) == SG_OK;
    sg_run_free(&run);
    record_inputs = NULL;
    ok(right && stack(cut) == sent && memcmp(straight, cut, sizeof cut) == 0,
       "stopped and resumed, a recording has the same bytes, and its name only at the end");
    fclose(series);
    unlink(temporary_path("ckpt"));
}

int main(void) {
    temporary_make();
    test_recording("error-feedback=update");
    test_recording("error-feedback=gradient");
    test_oracle("Hard-threshold");
    test_oracle("Top-k");
    test_oracle("Accordion");
    test_oracle("SGD");
    test_interruption();
    test_refusals();
    sg_recipe_cells_free(cells, n_cells);
    sg_recipe_free(&recipe);
    return tap_done();
}
