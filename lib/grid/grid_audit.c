/* grid_audit.c: reads the evidence of a result and draws the cells that are to be run again. */
#include "sg_audit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit_evidence.h"
#include "sg_file.h"
#include "sg_plugins.h"
#include "sg_rng.h"
#include "sg_text.h"

enum { MOST_BYTES = 1 << 30 };

/* ---- evidence ---- */

/* The recipe of a bundle is in it. That of a result is the file that it names, as the file is now. */
static sg_status read_recipe(struct sg_audit *a, struct sg_error *err) {
    const struct sg_bundle_file *m = a->bundle.n > 0 ? sg_bundle_file(&a->bundle, "recipe.yaml") : NULL;
    const char *name = sg_json_string(a->result, "recipe.path", "recipe.yaml"), *set[64];
    const cJSON *words = sg_json_get(a->result, "recipe.set"), *word;
    size_t n = 0;
    cJSON_ArrayForEach(word, words) {
        if (!cJSON_IsString(word) || n == sizeof set / sizeof *set)
            return sg_fail(err, SG_ERR_FORMAT, "%s: \"recipe.set\" is no list of at most 64 texts", a->path);
        set[n++] = word->valuestring;
    }
    sg_status status = m ? sg_recipe_parse(&a->recipe, m->data, m->length, name, set, n, err)
                         : sg_recipe_read(&a->recipe, name, set, n, err);
    if (status != SG_OK)
        return status;
    a->edited = strcmp(a->recipe.sha256, sg_json_string(a->result, "recipe.sha256", "")) != 0;
    if (m && a->edited)
        return sg_fail(err, SG_ERR_FORMAT, "%s: its recipe is not that of its result", a->path);
    return sg_recipe_cells(&a->recipe, &a->cells, &a->all, err);
}

/* A task has the tolerance of its kind, or in a bundle the one that was declared for it. */
static void read_tolerance(struct sg_audit *a) {
    a->tolerance = sg_audit_tolerance_json(sg_node_string(&a->recipe.root, "task.kind", ""));
    if (!a->tolerance || a->bundle.n == 0)
        return;
    const cJSON *declared = sg_json_get(a->bundle.about, "tolerance");
    cJSON_Delete(a->tolerance);
    a->tolerance = cJSON_IsObject(declared) ? cJSON_Duplicate(declared, true) : NULL;
}

static bool is_finished(const cJSON *entry) {
    return sg_run_status_is_finished(sg_json_string(entry, "status", ""));
}

bool audit_is_cell(const cJSON *entry, const struct sg_cell *cell) {
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, cell->seed);
    return strcmp(sg_json_string(entry, "seed", ""), seed) == 0 &&
           sg_json_number(entry, "trial", 0) == (double)cell->trial;
}

/* True if this entry of the cell's label is that of the cell. Of another text of the recipe the same runs have the same
 * key, with which the file's name ends; of the same text seed and trial are enough, for programs have changed their
 * keys. */
static bool is_entry(const cJSON *entry, const struct sg_cell *cell, bool edited) {
    const char *dash = strrchr(sg_json_string(entry, "file", ""), '-');
    return audit_is_cell(entry, cell) &&
           (!edited || (dash && strlen(dash + 1) > 12 && strncmp(dash + 1, cell->key, 12) == 0));
}

/* Finds each cell in the result. */
static sg_status find_entries(struct sg_audit *a, struct sg_error *err) {
    const cJSON *label, *entry;
    a->then = calloc(a->all + 1, sizeof *a->then);
    if (!a->then)
        return sg_fail_memory(err, "the cells");
    cJSON_ArrayForEach(label, sg_json_get(a->result, "results")) {
        const char *text = sg_json_string(label, "label", "");
        size_t first = 0;
        while (first < a->all && strcmp(a->cells[first].group, text) != 0)
            first++;
        cJSON_ArrayForEach(entry, sg_json_get(label, "cells")) {
            size_t i = first;
            while (i < a->all && strcmp(a->cells[i].group, text) == 0 && !is_entry(entry, &a->cells[i], a->edited))
                i++;
            const bool same = i < a->all && strcmp(a->cells[i].group, text) == 0;
            if (same)
                a->then[i] = entry;
            a->claimed += is_finished(entry);
            a->changed += is_finished(entry) && !same;
        }
    }
    return SG_OK;
}

/* ---- the draw ---- */

/* True if the cell can be drawn: it is finished in the result. Its label's statistics need all cells of it. */
static bool can_draw(const struct sg_audit *a, size_t cell) {
    const cJSON *label, *entry;
    if (!a->then[cell] || !is_finished(a->then[cell]))
        return false;
    cJSON_ArrayForEach(label, sg_json_get(a->bundle.n > 0 ? NULL : a->result, "results")) {
        size_t i = cell;
        if (strcmp(sg_json_string(label, "label", ""), a->cells[cell].group) != 0)
            continue;
        cJSON_ArrayForEach(entry, sg_json_get(label, "cells")) {
            if (i >= a->all || a->then[i++] != entry || !is_finished(entry))
                return false;
        }
    }
    return true;
}

/* True if cells i and j are drawn together. */
static bool together(const struct sg_audit *a, size_t i, size_t j) {
    return i == j || (a->bundle.n == 0 && strcmp(a->cells[i].group, a->cells[j].group) == 0);
}

/* Marks a cell, those that are drawn with it, and those from which these copy k. */
static void mark(const struct sg_audit *a, bool *drawn, size_t cell) {
    for (size_t i = 0; i < a->all; i++) {
        if (drawn[i] || !together(a, i, cell) || !a->then[i])
            continue;
        drawn[i] = true;
        const size_t source = a->cells[i].source ? grid_source(a->cells, a->all, i) : a->all;
        if (source < a->all)
            mark(a, drawn, source);
    }
}

/* Moves the marked cells to the front, in their order, and their entries with them. */
static void gather(struct sg_audit *a, bool *drawn) {
    for (size_t i = 0; i < a->all; i++) {
        if (!drawn[i])
            continue;
        const cJSON *then = a->then[i];
        memmove(&a->then[a->drawn + 1], &a->then[a->drawn], (i - a->drawn) * sizeof then);
        a->then[a->drawn] = then;
        grid_keep(a->cells, &a->drawn, i);
        a->took_s += fmax(sg_json_number(then, "elapsed_s", 0), 0);
    }
}

/* Draws a share of the units, which are cells or labels, without replacement. */
static sg_status draw_cells(struct sg_audit *a, const struct sg_audit_draw *draw, struct sg_error *err) {
    sg_rng rng = sg_rng_open(draw->seed, SG_RNG_TEST, SG_RNG_ALL_WORKERS, 0);
    size_t *unit = calloc(a->all + 1, sizeof *unit), n = 0;
    bool *drawn = calloc(a->all + 1, sizeof *drawn);
    if (!unit || !drawn) {
        free(unit);
        free(drawn);
        return sg_fail_memory(err, "the draw");
    }
    for (size_t i = 0; i < a->all; i++) {
        if ((n == 0 || !together(a, unit[n - 1], i)) && can_draw(a, i) &&
            grid_is_listed(draw->methods, &a->cells[i], sg_cell_is))
            unit[n++] = i;
    }
    const size_t wanted = (size_t)fmax(1, ceil(draw->share * (double)n - 1e-9));
    for (size_t k = 0; k < wanted && k < n; k++) {
        const size_t other = k + (size_t)sg_rng_below(&rng, n - k), cell = unit[other];
        unit[other] = unit[k];
        mark(a, drawn, cell);
    }
    gather(a, drawn);
    free(unit);
    free(drawn);
    return SG_OK;
}

/* ---- whether the result of a bundle follows from its series ---- */

sg_status audit_read_cell(struct sg_run *out, const struct sg_audit *a, const struct sg_cell *cell,
                          struct sg_error *err) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, sg_json_get(a->bundle.about, "cells")) {
        if (strcmp(sg_json_string(entry, "label", ""), cell->group) != 0 || !audit_is_cell(entry, cell))
            continue;
        const struct sg_bundle_file *m = sg_bundle_file(&a->bundle, sg_json_string(entry, "file", ""));
        if (!m)
            break;
        sg_status status = sg_run_parse(out, m->data, m->length, m->name, err);
        if (status == SG_OK && out->damaged) {
            sg_run_free(out);
            status =
                sg_fail(err, SG_ERR_FORMAT, "%s is damaged: %s does not have the checksum in it", a->path, m->name);
        }
        return status;
    }
    return sg_fail(err, SG_ERR_FORMAT, "%s: '%s', seed %" PRIu64 ", is not in it", a->path, cell->label, cell->seed);
}

static bool all_columns(const void *arg, const char *column) {
    (void)arg, (void)column;
    return true;
}

bool audit_fill_label(struct sg_frame_label *label) {
    return sg_frame_fill(label, 0, all_columns, NULL);
}

void audit_compare_trial(struct audit_compare *c, const struct grid_frame *g, size_t cell, const cJSON *entry) {
    char by[64];
    if (g->cells[cell].trial > 0)
        audit_compare_number(c, sg_snake(by, sizeof by, sg_node_string(&g->recipe->root, "tune.by", "")),
                             sg_json_number(entry, "value", NAN), grid_trial_value(g, cell), false);
}

bool audit_same_best(const struct grid_frame *g, const struct sg_frame_label *then, const struct sg_frame_label *runs) {
    if (g->cells[grid_study(g, runs, 0)->cell].trial == 0)
        return true;
    cJSON *was = sg_json_copy(sg_json_get(then->json, "tuned")), *is = grid_tuned_json(g, runs);
    const bool same = cJSON_Compare(was, is, true);
    cJSON_Delete(was);
    cJSON_Delete(is);
    return same;
}

/* Adds to what does not follow: a label, or the text of a claim, and the number of it. */
static void push_unlike(struct sg_audit *a, const char *label, const char *column, const struct audit_found *f) {
    sg_json_push(a->follows,
                 SG_OBJECT(SG_TEXT("label", label), SG_TEXT("column", column), SG_TEXT("statistic", f->statistic),
                           SG_NUMBER("step", f->step), SG_NUMBER("then", f->then), SG_NUMBER("now", f->now)));
}

/* Compares the values of trials, and which of them the result says was the best of a label. */
static void follow_trials(struct sg_audit *a, const struct grid_frame *g, const struct sg_frame_label *then,
                          const struct sg_frame_label *runs) {
    const cJSON *entry = sg_json_get(then->json, "cells");
    struct audit_found unlike = {.step = NAN, .then = NAN, .now = NAN};
    entry = entry ? entry->child : NULL;
    for (size_t i = 0; i < g->count; i++) {
        struct audit_compare c = {.found = {.step = NAN}};
        if (strcmp(g->cells[i].group, then->label) != 0)
            continue;
        audit_compare_trial(&c, g, i, entry);
        if (c.found.verdict != AUDIT_SAME)
            push_unlike(a, g->cells[i].label, c.found.column, &c.found);
        entry = entry ? entry->next : NULL;
    }
    if (!audit_same_best(g, then, runs))
        push_unlike(a, then->label, "tuned", &unlike);
}

/* Compares a label of the result with its runs. */
static sg_status follow_label(struct sg_audit *a, const struct grid_frame *g, const struct sg_frame_label *then,
                              struct sg_frame_label *runs, struct sg_error *err) {
    struct audit_found *found = calloc(then->n_seeds + 1, sizeof *found);
    size_t i = 0;
    if (!found || !audit_fill_label(runs)) {
        free(found);
        return sg_fail_memory(err, then->label);
    }
    audit_compare_labels(found, NULL, then, runs);
    while (i < then->n_seeds && found[i].verdict == AUDIT_SAME)
        i++;
    if (i < then->n_seeds)
        push_unlike(a, then->label, found[i].column, &found[i]);
    follow_trials(a, g, then, runs);
    free(found);
    return SG_OK;
}

/* Compares a claim of the result, its verdict and the values of its seeds, with what the runs give. */
static void follow_claim(struct sg_audit *a, const cJSON *then, const cJSON *now) {
    const cJSON *seed, *same = sg_json_get(now, "seeds");
    const char *verdict = sg_json_string(then, "verdict", "");
    struct audit_compare c = {.found = {.step = NAN}};
    if (strcmp(verdict, SG_NOT_JUDGED) == 0)
        return;
    same = same ? same->child : NULL;
    cJSON_ArrayForEach(seed, sg_json_get(then, "seeds")) {
        static const char *const key[] = {"value", "bound"};
        for (size_t k = 0; k < 2; k++)
            audit_compare_number(&c, key[k], sg_json_number(seed, key[k], NAN), sg_json_number(same, key[k], NAN),
                                 true);
        same = same ? same->next : NULL;
    }
    if (c.found.verdict != AUDIT_SAME || strcmp(verdict, sg_json_string(now, "verdict", "")) != 0)
        push_unlike(a, sg_json_string(then, "text", "?"), *c.found.column ? c.found.column : "verdict", &c.found);
}

/* Holds the result of a bundle, its labels and its claims, against all of its series. */
static sg_status follow(struct sg_audit *a, struct sg_error *err) {
    struct sg_cell_outcome *outcome = calloc(a->all + 1, sizeof *outcome);
    struct sg_cell *cell = calloc(a->all + 1, sizeof *cell);
    struct sg_grid_network network;
    struct grid_frame g = {0};
    struct sg_frame then = {0};
    cJSON *claims = NULL;
    size_t n = 0;
    bool modelled;
    a->follows = cJSON_CreateArray();
    sg_status status = outcome && cell ? SG_OK : sg_fail_memory(err, a->path);
    for (size_t i = 0; i < a->all && status == SG_OK; i++) {
        if (!a->then[i])
            continue;
        cell[n] = a->cells[i];
        if (is_finished(a->then[i])) {
            outcome[n].state = SG_CELL_REUSED;
            status = audit_read_cell(&outcome[n].run, a, &a->cells[i], err);
        }
        n++;
    }
    SG_DO(status, sg_frame_read(&then, sg_json_get(a->result, "results"), a->path, err));
    if (status == SG_OK && !grid_frame_open(&g, &a->recipe, cell, outcome, n))
        status = sg_fail_memory(err, a->path);
    for (size_t l = 0; l < then.n_labels && status == SG_OK; l++) {
        const struct sg_frame_label *runs = sg_frame_label(&g.frame, then.label[l].label);
        status = runs ? follow_label(a, &g, &then.label[l], &g.frame.label[runs - g.frame.label], err)
                      : sg_fail(err, SG_ERR_FORMAT, "%s: its recipe has no label '%s'", a->path, then.label[l].label);
    }
    SG_DO(status, sg_grid_network_read(&network, &modelled, &a->recipe, err)); /* claims may be about its columns */
    if (status == SG_OK && modelled)
        status = sg_grid_network(outcome, cell, n, &a->recipe, &network, err);
    if (status == SG_OK) {
        const cJSON *claim, *now;
        claims = grid_claims_json(&g);
        now = claims ? claims->child : NULL;
        cJSON_ArrayForEach(claim, sg_json_get(a->result, "claims")) {
            follow_claim(a, claim, now);
            now = now ? now->next : NULL;
        }
    }
    cJSON_Delete(claims);
    grid_frame_close(&g);
    sg_frame_free(&then);
    sg_grid_outcomes_free(outcome, outcome ? n : 0);
    free(outcome);
    free(cell);
    return status;
}

/* ---- all of it ---- */

static sg_status open_evidence(struct sg_audit *a, struct sg_error *err) {
    char *text = NULL;
    size_t length;
    sg_status status = SG_OK;
    struct stat info;
    if (a->bundle.n == 0 && stat(a->path, &info) == 0 && S_ISDIR(info.st_mode))
        status = sg_bundle_read(&a->bundle, a->path, err);
    const struct sg_bundle_file *m = sg_bundle_file(&a->bundle, "result.json");
    if (m)
        return sg_bundle_result(&a->result, m->data, m->length, a->path, err);
    SG_DO(status, sg_file_read(&text, &length, a->path, MOST_BYTES, err));
    SG_DO(status, sg_bundle_result(&a->result, text, length, a->path, err));
    free(text);
    return status;
}

sg_status sg_audit_open(struct sg_audit *out, const char *path, struct sg_bundle *take_bundle,
                        const struct sg_audit_draw *draw, struct sg_error *err) {
    struct sg_audit a = {.path = strdup(path)};
    if (take_bundle)
        a.bundle = *take_bundle;
    sg_status status = a.path ? open_evidence(&a, err) : sg_fail_memory(err, path);
    SG_DO(status, read_recipe(&a, err));
    for (size_t m = 0; draw->methods && m < draw->methods->count; m++)
        SG_DO(status, sg_cell_label_check(a.cells, a.all, draw->methods->item[m], err));
    read_tolerance(&a);
    SG_DO(status, find_entries(&a, err));
    if (a.bundle.n > 0)
        SG_DO(status, follow(&a, err));
    SG_DO(status, draw_cells(&a, draw, err));
    if (status == SG_OK)
        *out = a;
    else
        sg_audit_close(&a);
    return status;
}

void sg_audit_close(struct sg_audit *a) {
    free(a->path);
    sg_bundle_close(&a->bundle);
    cJSON_Delete(a->result);
    cJSON_Delete(a->tolerance);
    cJSON_Delete(a->follows);
    sg_recipe_free(&a->recipe);
    sg_recipe_cells_free(a->cells, a->all);
    free(a->then);
    *a = (struct sg_audit){0};
}
