/* grid_audit.c: reads the evidence of a result, compares the result with what it makes, and draws the cells that are
 * to be run again. */
/* SPDX-License-Identifier: MIT */
#include "sg_audit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "audit_evidence.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_rng.h"
#include "sg_text.h"
#include "sg_version.h"

enum { MOST_BYTES = 1 << 30 };

/* ---- evidence ---- */

/* The recipe of a bundle is in it. That of a result is the file that it names, as the file is now; what such a file has
 * is not quoted, for it may be any file. */
static sg_status read_recipe(struct sg_audit *a, const struct sg_audit_draw *draw, struct sg_error *err) {
    const struct sg_bundle_file *m = sg_bundle_file(&a->bundle, "recipe.yaml");
    static const struct sg_document_recipe none = {0};
    const struct sg_document_recipe *then = a->result.recipe ? a->result.recipe : &none;
    const char *name = sg_or(then->path, "recipe.yaml"), *const *set = then->set.item;
    const size_t n = then->set.n;
    for (size_t i = 0; i < n; i++)
        if (!set[i] || n > 64)
            return sg_fail(err, SG_ERR_FORMAT, "%s: \"recipe.set\" is no list of at most 64 texts", a->path);
    sg_status status = m ? SG_OK : audit_allow_path(a, draw, "its recipe", name, err);
    if (status != SG_OK)
        return status;
    if (!m && !sg_file_is_regular(name))
        return sg_fail(err, SG_ERR_MISSING, "%s: its recipe is not there: %.300s", a->path, name);
    status = m ? sg_recipe_parse(&a->recipe, m->data, m->length, name, set, n, err)
               : sg_recipe_read(&a->recipe, name, set, n, err);
    if (!m && status == SG_ERR_ARGUMENT)
        return sg_fail(err, status, "%s: %.300s is no recipe, or has mistakes: sparsebench --dry-run names them",
                       a->path, name);
    if (status != SG_OK)
        return status;
    a->edited = strcmp(a->recipe.sha256, sg_or(then->sha256, "")) != 0;
    if (m && a->edited)
        return sg_fail(err, SG_ERR_FORMAT, "%s: its recipe is not that of its result", a->path);
    status = audit_allow_recipe(a, draw, err);
    SG_DO(status, sg_recipe_cells(&a->recipe, &a->cells, &a->total, err));
    a->all = a->total;
    return status;
}

/* A task has the tolerance of its kind. What a bundle declares counts where it is smaller; where it is wider, that is a
 * difference. */
static void read_tolerance(struct sg_audit *a) {
    const cJSON *declared = sg_json_get(a->bundle.about, "tolerance"), *column;
    cJSON *own = sg_audit_tolerance_json(sg_node_string(&a->recipe.root, "task.kind", ""));
    declared = cJSON_IsObject(declared) ? declared : NULL; /* null: every bit must come back */
    if (a->bundle.n > 0) {
        cJSON_ArrayForEach(column, declared) {
            const double mine = audit_allowed(own, column->string);
            cJSON *most = cJSON_CreateNumber(mine);
            char *path = sg_format("bundle.json.tolerance.%s", column->string);
            if (!(sg_json_number(column, "", INFINITY) <= mine))
                audit_tree_differ(a->tree, path ? path : "", column, most);
            cJSON_Delete(most);
            free(path);
        }
        cJSON *smaller = own && declared ? cJSON_CreateObject() : NULL;
        cJSON_ArrayForEach(column, own) {
            if (smaller)
                sg_json_set_number(smaller, column->string,
                                   fmin(audit_allowed(own, column->string), audit_allowed(declared, column->string)));
        }
        cJSON_Delete(own);
        own = smaller;
    }
    a->tolerance = own;
}

static bool is_finished(const struct sg_document_cell *entry) {
    return sg_run_status_is_finished(sg_or(entry->status, ""));
}

/* True if the seed and the trial, NaN = none, are those of the cell. */
static bool is_cell_of(const char *seed, double trial, const struct sg_cell *cell) {
    char own[24];
    snprintf(own, sizeof own, "%" PRIu64, cell->seed);
    return strcmp(seed, own) == 0 && (isnan(trial) ? 0 : trial) == (double)cell->trial;
}

/* True if this entry of the cell's label is that of the cell. Of another text of the recipe the same runs have the same
 * key, with which the file's name ends; of the same text seed and trial are enough, for programs have changed their
 * keys. */
static bool is_entry(const struct sg_document_cell *entry, const struct sg_cell *cell, bool edited) {
    const char *dash = strrchr(sg_or(entry->file, ""), '-');
    return is_cell_of(sg_or(entry->seed, ""), entry->trial, cell) &&
           (!edited || (dash && strlen(dash + 1) > 12 && strncmp(dash + 1, cell->key, 12) == 0));
}

/* Finds each cell in the result. An entry of no cell, and a second one, are differences if the recipe is that of the
 * result. */
static void find_entries(struct sg_audit *a) {
    char path[64];
    a->then = sg_calloc(a->all + 1, sizeof *a->then);
    for (size_t l = 0; l < a->result.results.n_labels; l++) {
        const struct sg_frame_label *label = &a->result.results.label[l];
        const char *text = label->label;
        size_t first = 0;
        while (first < a->all && strcmp(a->cells[first].group, text) != 0)
            first++;
        for (size_t e = 0; e < label->n_cells; e++) {
            const struct sg_document_cell *entry = &label->cells[e];
            snprintf(path, sizeof path, "results[%zu].cells[%zu]", l, e);
            size_t i = first;
            while (i < a->all && strcmp(a->cells[i].group, text) == 0 && !is_entry(entry, &a->cells[i], a->edited))
                i++;
            const bool same = i < a->all && strcmp(a->cells[i].group, text) == 0;
            if (!a->edited && (!same || a->then[i]))
                audit_tree_differ(a->tree, path, entry->from, NULL);
            if (same)
                a->then[i] = entry;
            a->claimed += is_finished(entry);
            a->changed += is_finished(entry) && !same;
        }
    }
}

/* Moves the marked cells to the front, in their order, and their entries with them; returns how many. */
static size_t gather(struct sg_audit *a, const bool *marked) {
    size_t n = 0;
    for (size_t i = 0; i < a->all; i++) {
        if (!marked[i])
            continue;
        const struct sg_document_cell *then = a->then[i];
        memmove(&a->then[n + 1], &a->then[n], (i - n) * sizeof then);
        a->then[n] = then;
        grid_keep(a->cells, &n, i);
    }
    return n;
}

/* Keeps the cells that the result should have. */
static sg_status choose(struct sg_audit *a, struct sg_error *err) {
    bool *chosen = sg_calloc(a->total + 1, sizeof *chosen);
    sg_status status = audit_choose(chosen, a, err);
    if (status == SG_OK)
        a->all = gather(a, chosen);
    free(chosen);
    return status;
}

/* ---- the draw ---- */

/* True if the cell can be drawn: it is finished in the result. Its label's statistics need all cells of it. */
static bool can_draw(const struct sg_audit *a, size_t cell) {
    const struct sg_frame_label *label =
        a->bundle.n > 0 ? NULL : sg_frame_label(&a->result.results, a->cells[cell].group);
    if (!a->then[cell] || !is_finished(a->then[cell]))
        return false;
    for (size_t e = 0, i = cell; label && e < label->n_cells; e++) {
        while (i < a->all && !a->then[i]) /* the runs of what did not win are not in the result */
            i++;
        if (i >= a->all || a->then[i++] != &label->cells[e] || !is_finished(&label->cells[e]))
            return false;
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

/* Draws a share of the units, which are cells or labels, without replacement. */
static void draw_cells(struct sg_audit *a, const struct sg_audit_draw *draw) {
    sg_rng rng = sg_rng_open(draw->seed, SG_RNG_TEST, SG_RNG_ALL_WORKERS, 0);
    size_t *unit = sg_calloc(a->all + 1, sizeof *unit), n = 0;
    bool *drawn = sg_calloc(a->all + 1, sizeof *drawn);
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
    a->drawn = gather(a, drawn);
    for (size_t i = 0; i < a->drawn; i++)
        a->took_s += fmax(a->then[i] ? a->then[i]->elapsed_s : 0, 0);
    free(unit);
    free(drawn);
}

/* ---- whether the result follows from its evidence ---- */

sg_status audit_read_cell(struct sg_run *out, const struct sg_audit *a, const struct sg_cell *cell, const char **file,
                          struct sg_error *err) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, sg_json_get(a->bundle.about, "cells")) {
        if (strcmp(sg_json_string(entry, "label", ""), cell->group) != 0 ||
            !is_cell_of(sg_json_string(entry, "seed", ""), sg_json_number(entry, "trial", NAN), cell))
            continue;
        const struct sg_bundle_file *m = sg_bundle_file(&a->bundle, sg_json_string(entry, "file", ""));
        if (!m)
            break;
        if (file)
            *file = m->name;
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

/* Compares what a series says of its setting with the cell; and, if the result says that its own command ran it in one
 * go, of recipe and program with those of the result. */
static void check_cell(struct sg_audit *a, const struct sg_cell *cell, const struct sg_document_cell *entry,
                       const struct sg_run *run, const char *file) {
    static const char *const same[][2] = {{"recipe.sha256", "recipe.sha256"},
                                          {"program.version", "program.version"},
                                          {"program.commit", "program.commit"},
                                          {"program.dirty", "program.dirty"}};
    cJSON *resolved = sg_node_json(&cell->resolved);
    char *path = sg_format("%s: recipe.resolved", file);
    audit_tree_compare(a->tree, path ? path : file, sg_json_get(run->header, "recipe.resolved"), resolved);
    cJSON_Delete(resolved);
    free(path);
    if (entry->reused != SG_FLAG_NO || cJSON_GetArraySize(sg_json_get(run->run, "segments")) != 1)
        return;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const cJSON *then = sg_json_get(a->result.from, same[i][0]);
        const cJSON *is = sg_json_get(i == 0 ? run->run : run->header, same[i][1]);
        if (!cJSON_Compare(then, is, true))
            audit_tree_differ(a->tree, same[i][0], then, is);
    }
}

/* Compares bundle.json, but for the tolerance, with what the result and these of its cells give. */
static void check_about(struct sg_audit *a, cJSON *take_cells) {
    cJSON *now = grid_bundle_about(&a->result, take_cells), *then = cJSON_Duplicate(a->bundle.about, true);
    cJSON_DeleteItemFromObjectCaseSensitive(then, "tolerance");
    cJSON_DeleteItemFromObjectCaseSensitive(now, "tolerance");
    audit_tree_compare(a->tree, "bundle.json", then, now);
    cJSON_Delete(then);
    cJSON_Delete(now);
}

/* Makes the result again from the series in its bundle, or from its own values of every seed, and compares all of it.
 * Of an edited recipe these are the cells that the result has. */
static sg_status follow(struct sg_audit *a, struct sg_error *err) {
    struct sg_cell_outcome *outcome = sg_calloc(a->all + 1, sizeof *outcome);
    struct sg_cell *cell = sg_calloc(a->all + 1, sizeof *cell);
    cJSON *now = NULL, *cells = cJSON_CreateArray();
    size_t n = 0;
    sg_status status = SG_OK;
    for (size_t i = 0; i < a->all && status == SG_OK; i++) {
        const char *file = NULL;
        cell[n] = a->cells[i];
        status = audit_outcome(&outcome[n], a, i, &file, err);
        if (status == SG_OK && file) {
            check_cell(a, &cell[n], a->then[i], &outcome[n].run, file);
            sg_json_push(cells, grid_bundle_cell(&outcome[n].run, a->then[i], cell[n].group, file));
        }
        n++;
    }
    a->tree->source = a->bundle.n > 0 ? AUDIT_CELLS : AUDIT_FINALS;
    a->tree->edited = a->edited;
    if (status == SG_OK && a->bundle.n > 0) {
        check_about(a, cells);
        cells = NULL;
    }
    if (a->claimed > 0 && a->result.identities.item && a->result.identities.n == 0) /* whoever ran cells has one */
        audit_tree_differ(a->tree, "identities", sg_json_get(a->result.from, "identities"), NULL);
    SG_DO(status, audit_document(&now, a, cell, outcome, n, a->bundle.n > 0, err));
    if (status == SG_OK)
        audit_tree_compare(a->tree, "", a->result.from, now);
    cJSON_Delete(now);
    cJSON_Delete(cells);
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

/* True if this program, at this commit, made the result. */
static bool is_ours(const struct sg_document_program *then, const cJSON *program) {
    static const char *const part[] = {"version", "commit", "dirty"};
    bool same = true;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        same =
            same && cJSON_Compare(sg_json_get(then ? then->from : NULL, part[i]), sg_json_get(program, part[i]), true);
    return same;
}

sg_status sg_audit_open(struct sg_audit *out, const char *path, struct sg_bundle *take_bundle,
                        const struct sg_audit_draw *draw, struct sg_error *err) {
    struct sg_audit a = {.path = sg_strdup(path), .tree = sg_calloc(1, sizeof *a.tree)};
    if (take_bundle)
        a.bundle = *take_bundle;
    sg_status status = open_evidence(&a, err);
    SG_DO(status, read_recipe(&a, draw, err));
    for (size_t m = 0; draw->methods && m < draw->methods->count; m++)
        SG_DO(status, sg_cell_label_check(a.cells, a.all, "--method", draw->methods->item[m], err));
    if (status == SG_OK) {
        cJSON *program = sg_version_json("sparsebench", NULL);
        a.tree->other_program = !is_ours(a.result.program, program);
        cJSON_Delete(program);
        read_tolerance(&a);
        find_entries(&a);
    }
    SG_DO(status, choose(&a, err));
    SG_DO(status, follow(&a, err));
    if (status == SG_OK) {
        draw_cells(&a, draw);
        *out = a;
    } else {
        sg_audit_close(&a);
    }
    return status;
}

const cJSON *sg_audit_differences(const struct sg_audit *a) {
    return a->tree ? a->tree->differences : NULL;
}

void sg_audit_close(struct sg_audit *a) {
    free(a->path);
    sg_bundle_close(&a->bundle);
    sg_document_free(&a->result);
    cJSON_Delete(a->tolerance);
    if (a->tree)
        audit_tree_free(a->tree);
    free(a->tree);
    sg_recipe_free(&a->recipe);
    sg_recipe_cells_free(a->cells, a->total);
    free(a->then);
    *a = (struct sg_audit){0};
}
