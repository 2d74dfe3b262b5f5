/* grid_audit.c: reads the evidence of a result and draws the cells that are to be run again. */
#include "sg_audit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit_compare.h"
#include "audit_evidence.h"
#include "grid_private.h"
#include "sg_file.h"
#include "sg_plugins.h"
#include "sg_rng.h"
#include "sg_text.h"

enum { MOST_BYTES = 1 << 30 };

/* ---- evidence ---- */

/* The recipe of a bundle is in it. That of a result is the file that it names, as the file is now. */
static sg_status read_recipe(struct sg_audit *a, struct sg_error *err) {
    const struct sg_tar_member *m = a->bundle.n > 0 ? sg_bundle_member(&a->bundle, "recipe.yaml") : NULL;
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

/* True if this entry of a result is the finished run of the cell, by the beginning of the key in its file's name. */
static bool is_entry(const cJSON *entry, const struct sg_cell *cell) {
    const char *dash = strrchr(sg_json_string(entry, "file", ""), '-');
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, cell->seed);
    return sg_run_status_is_finished(sg_json_string(entry, "status", "")) && dash && strlen(dash + 1) > 12 &&
           strcmp(sg_json_string(entry, "seed", ""), seed) == 0 && strncmp(dash + 1, cell->key, 12) == 0;
}

/* Finds each cell in the result. Of a result without series all cells of a label must be there. */
static sg_status find_entries(struct sg_audit *a, struct sg_error *err) {
    const cJSON *label, *entry;
    a->then = calloc(a->all + 1, sizeof *a->then);
    if (!a->then)
        return sg_fail_memory(err, "the cells");
    cJSON_ArrayForEach(label, sg_json_get(a->result, "results")) {
        const char *text = sg_json_string(label, "label", "");
        size_t first = 0, n = 0, found = 0;
        while (first < a->all && strcmp(a->cells[first].label, text) != 0)
            first++;
        cJSON_ArrayForEach(entry, sg_json_get(label, "cells")) {
            a->claimed += sg_run_status_is_finished(sg_json_string(entry, "status", ""));
            for (size_t i = first; i < a->all && strcmp(a->cells[i].label, text) == 0; i++)
                if (is_entry(entry, &a->cells[i])) {
                    a->then[i] = entry;
                    found++;
                }
            n++;
        }
        if (found < n && a->bundle.n == 0)
            for (size_t i = first; i < a->all && strcmp(a->cells[i].label, text) == 0; i++) {
                found -= a->then[i] != NULL;
                a->then[i] = NULL;
            }
        a->changed += n - found;
    }
    return SG_OK;
}

/* ---- the draw ---- */

/* True if cells i and j are drawn together. */
static bool together(const struct sg_audit *a, size_t i, size_t j) {
    return i == j || (a->bundle.n == 0 && strcmp(a->cells[i].label, a->cells[j].label) == 0);
}

/* Marks a cell, those that are drawn with it, and those from which these copy k. */
static void mark(const struct sg_audit *a, bool *drawn, size_t cell) {
    for (size_t i = 0; i < a->all; i++) {
        if (drawn[i] || !together(a, i, cell))
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
        const struct sg_cell cell = a->cells[i];
        const cJSON *then = a->then[i];
        memmove(&a->cells[a->drawn + 1], &a->cells[a->drawn], (i - a->drawn) * sizeof cell);
        memmove(&a->then[a->drawn + 1], &a->then[a->drawn], (i - a->drawn) * sizeof then);
        a->cells[a->drawn] = cell;
        a->then[a->drawn++] = then;
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
        bool wanted = a->then[i] && (n == 0 || !together(a, unit[n - 1], i));
        for (size_t m = 0; wanted && draw->methods && m < draw->methods->count; m++) {
            wanted = sg_cell_is(&a->cells[i], draw->methods->item[m]);
            m = wanted ? draw->methods->count : m;
        }
        if (wanted)
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

sg_status audit_read_cell(struct sg_run *out, const struct sg_audit *a, const char *label, const char *seed,
                          struct sg_error *err) {
    const cJSON *cell;
    cJSON_ArrayForEach(cell, sg_json_get(a->bundle.about, "cells")) {
        const struct sg_tar_member *m = sg_bundle_member(&a->bundle, sg_json_string(cell, "file", ""));
        if (!m || strcmp(sg_json_string(cell, "label", ""), label) != 0 ||
            strcmp(sg_json_string(cell, "seed", ""), seed) != 0)
            continue;
        sg_status status = sg_run_parse(out, m->data, m->length, m->name, err);
        if (status == SG_OK && out->damaged) {
            sg_run_free(out);
            status =
                sg_fail(err, SG_ERR_FORMAT, "%s is damaged: %s does not have the checksum in it", a->path, m->name);
        }
        return status;
    }
    return sg_fail(err, SG_ERR_FORMAT, "%s: '%s', seed %s, is not in it", a->path, label, seed);
}

static bool all_columns(const void *arg, const char *column) {
    (void)arg, (void)column;
    return true;
}

bool audit_fill_label(struct sg_frame_label *label) {
    return sg_frame_fill(label, 0, all_columns, NULL);
}

static void push_unlike(struct sg_audit *a, const char *label, const struct audit_found *f) {
    sg_json_push(a->follows,
                 SG_OBJECT(SG_TEXT("label", label), SG_TEXT("column", f->column), SG_TEXT("statistic", f->statistic),
                           SG_NUMBER("step", f->step), SG_NUMBER("then", f->then), SG_NUMBER("now", f->now)));
}

/* Compares a label of the result with the series of its cells in the bundle. */
static sg_status follow_label(struct sg_audit *a, const struct sg_frame_label *then, const struct sg_node *swept,
                              struct sg_error *err) {
    struct sg_frame frame = {.label = calloc(1, sizeof *frame.label), .n_labels = 1};
    struct sg_frame_seed *seed = calloc(then->n_seeds + 1, sizeof *seed);
    struct sg_run *run = calloc(then->n_seeds + 1, sizeof *run);
    struct audit_found *found = calloc(then->n_seeds + 1, sizeof *found);
    const cJSON *entry;
    size_t n = 0;
    sg_status status = frame.label && seed && run && found ? SG_OK : sg_fail_memory(err, then->label);
    if (status != SG_OK)
        goto out;
    cJSON_ArrayForEach(entry, sg_json_get(then->json, "cells")) {
        const char *state = sg_json_string(entry, "status", "");
        if (n == then->n_seeds)
            break;
        if (sg_run_status_is_finished(state))
            SG_DO(status, audit_read_cell(&run[n], a, then->label, sg_json_string(entry, "seed", ""), err));
        seed[n] = (struct sg_frame_seed){state, &run[n]};
        n++;
    }
    *frame.label = (struct sg_frame_label){.label = then->label, .n_seeds = n, .seed = seed, .swept = swept};
    if (status == SG_OK && !audit_fill_label(frame.label))
        status = sg_fail_memory(err, then->label);
    if (status != SG_OK)
        goto out;
    audit_compare_labels(found, NULL, then, frame.label);
    for (size_t i = 0; i < then->n_seeds; i++)
        if (found[i].verdict != AUDIT_SAME) {
            push_unlike(a, then->label, &found[i]);
            break;
        }
out:
    for (size_t i = 0; run && i < then->n_seeds; i++)
        sg_run_free(&run[i]);
    if (frame.label)
        sg_frame_free(&frame);
    free(seed);
    free(run);
    free(found);
    return status;
}

static sg_status follow(struct sg_audit *a, struct sg_error *err) {
    struct sg_frame frame = {0};
    sg_status status = sg_frame_read(&frame, sg_json_get(a->result, "results"), a->path, err);
    a->follows = cJSON_CreateArray();
    for (size_t l = 0; l < frame.n_labels && status == SG_OK; l++) {
        const struct sg_frame_label *label = &frame.label[l];
        size_t i = 0;
        while (i < a->all && strcmp(a->cells[i].label, label->label) != 0)
            i++;
        status = follow_label(a, label, i < a->all ? &a->cells[i].swept : NULL, err);
    }
    sg_frame_free(&frame);
    return status;
}

/* ---- all of it ---- */

static sg_status open_evidence(struct sg_audit *a, struct sg_error *err) {
    char *text;
    size_t length;
    sg_status status = sg_file_read(&text, &length, a->path, MOST_BYTES, err);
    if (status != SG_OK)
        return status;
    const char *data = text;
    const bool json = length > 0 && text[strspn(text, " \t\r\n")] == '{';
    if (!json) {
        status = sg_bundle_open(&a->bundle, text, length, a->path, err);
        const struct sg_tar_member *m = status == SG_OK ? sg_bundle_member(&a->bundle, "result.json") : NULL;
        data = m ? m->data : NULL;
        length = m ? m->length : 0;
    }
    SG_DO(status, sg_json_parse(&a->result, data, length, a->path, err));
    if (json)
        free(text);
    SG_DO(status, sg_schema_check(sg_json_string(a->result, "schema", NULL), SG_SCHEMA_BENCH, a->path, err));
    if (status == SG_OK && sg_json_get(a->result, "kind"))
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s has times of kernels, which no run gives again", a->path);
    if (status == SG_OK && sg_json_string(a->result, "libraries.libtorch", NULL)) {
        const cJSON *declared = sg_json_get(a->bundle.about, "tolerance");
        a->tolerance = declared ? cJSON_Duplicate(declared, true) : json ? sg_audit_tolerance_json() : NULL;
    }
    return status;
}

sg_status sg_audit_open(struct sg_audit *out, const char *path, const struct sg_audit_draw *draw,
                        struct sg_error *err) {
    struct sg_audit a = {.path = strdup(path)};
    sg_status status = a.path ? open_evidence(&a, err) : sg_fail_memory(err, path);
    SG_DO(status, read_recipe(&a, err));
    for (size_t m = 0; draw->methods && m < draw->methods->count; m++)
        SG_DO(status, sg_cell_label_check(a.cells, a.all, draw->methods->item[m], err));
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
