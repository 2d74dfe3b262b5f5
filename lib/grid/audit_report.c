/* audit_report.c: the verdicts of an audit, as JSON and as text. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "audit_evidence.h"
#include "sg_memory.h"
#include "sg_table.h"
#include "sg_text.h"

/* ---- verdicts ---- */

/* What can be said of a cell before its numbers are compared. */
static void judge_run(struct audit_found *f, const struct sg_audit *a, size_t i, const struct sg_cell_outcome *o) {
    const cJSON *was = a->result.dataset ? a->result.dataset->from : NULL, *is = sg_json_get(o->run.header, "dataset");
    char then[SG_DATASET_IDENTITY], now[SG_DATASET_IDENTITY], had[160], has[160];
    const char *status = sg_grid_status(o), *wanted = sg_or(a->then[i]->status, "");
    *f = (struct audit_found){.verdict = AUDIT_SAME, .step = NAN, .then = NAN, .now = NAN};
    if (!sg_run_status_is_finished(status)) {
        f->verdict = AUDIT_NOT_RUN;
        snprintf(f->message, sizeof f->message, "%s%s%.*s", status, o->message ? ": " : "",
                 o->message ? (int)strcspn(o->message, "\n") : 0, o->message ? o->message : "");
    } else if (strcmp(sg_dataset_identity(then, was), sg_dataset_identity(now, is)) != 0) {
        f->verdict = AUDIT_OTHER_DATA;
        snprintf(f->message, sizeof f->message, "%.90s then, %.90s now", sg_run_data_text(had, was),
                 sg_run_data_text(has, is));
    } else if (strcmp(status, wanted) != 0) {
        f->verdict = AUDIT_DIFFERS;
        snprintf(f->path, sizeof f->path, "status");
        snprintf(f->message, sizeof f->message, "%.20s then, %.20s now", wanted, status);
    }
}

/* Judges a drawn cell of a bundle by its series. */
static sg_status judge_series(struct audit_found *found, const struct sg_audit *a, size_t i,
                              const struct sg_cell_outcome *outcome, struct sg_error *err) {
    struct audit_compare c = {.tolerance = a->tolerance, .found = *found};
    struct sg_run then;
    sg_status status = audit_read_cell(&then, a, &a->cells[i], NULL, err);
    if (status != SG_OK)
        return status;
    audit_compare_runs(&c, &then, &outcome->run);
    *found = c.found;
    sg_run_free(&then);
    return SG_OK;
}

/* Writes a difference of a label into what was found of a cell of it. */
static void found_difference(struct audit_found *f, const cJSON *difference) {
    const cJSON *then = sg_json_get(difference, "then"), *now = sg_json_get(difference, "now");
    *f = (struct audit_found){.verdict = AUDIT_DIFFERS,
                              .step = sg_json_number(difference, "step", NAN),
                              .then = sg_json_number(then, "", NAN),
                              .now = sg_json_number(now, "", NAN),
                              .largest = NAN};
    snprintf(f->path, sizeof f->path, "%s", sg_json_string(difference, "path", "?"));
    if (cJSON_IsString(then) || cJSON_IsString(now))
        snprintf(f->message, sizeof f->message, "%.80s then, %.80s now", sg_json_string(then, "", "?"),
                 sg_json_string(now, "", "?"));
}

/* The seed or cell of a label to which a path belongs, "results[1].final.bits.values[2]"; -1 = all of them. */
static int index_of(const char *path) {
    const char *at = strstr(path, ".values["), *cell = strstr(path, "].cells[");
    int i;
    return (cell && sscanf(cell, "].cells[%d]", &i) == 1) || (at && sscanf(at, ".values[%d]", &i) == 1) ? i : -1;
}

/* Compares a label with its n new runs. A difference of one seed is its cell's, and any other one that of all cells. */
static void judge_label(struct audit_found *found, const struct sg_audit *a, struct audit_tree how, int place,
                        const cJSON *then, const cJSON *now, size_t n) {
    char path[32];
    const cJSON *difference;
    snprintf(path, sizeof path, "results[%d]", place);
    audit_tree_compare(&how, path, then, now);
    const bool trials = a->cells[0].trial > 0;
    for (size_t i = 0; i < n && how.count == 0 && *how.farthest; i++) {
        found[i] =
            (struct audit_found){.verdict = AUDIT_WITHIN, .step = NAN, .then = NAN, .now = NAN, .largest = how.largest};
        snprintf(found[i].path, sizeof found[i].path, "%s", how.farthest);
    }
    cJSON_ArrayForEach(difference, how.differences) {
        const char *where = sg_json_string(difference, "path", "");
        const int of = trials && strstr(where, ".values[") ? -1 : index_of(where);
        for (size_t i = 0; i < n; i++)
            if (found[i].verdict != AUDIT_DIFFERS && (of < 0 || (size_t)of == i))
                found_difference(&found[i], difference);
    }
    audit_tree_free(&how);
}

/* True if all cells of this cell's label came out as they can be compared. */
static bool is_comparable(const struct audit_found *found, const struct sg_audit *a, size_t cell) {
    for (size_t i = 0; i < a->drawn; i++)
        if (strcmp(a->cells[i].group, a->cells[cell].group) == 0 && found[i].verdict != AUDIT_SAME)
            return false;
    return true;
}

/* Judges the drawn cells of a result without series: makes the result of the labels that can be compared, and compares
 * them; and if these are all, or what else follows from them, that too. */
static sg_status judge_labels(struct audit_found *found, struct sg_audit *a, struct sg_cell_outcome *outcomes,
                              struct sg_error *err) {
    struct sg_cell *cell = sg_calloc(a->drawn + 1, sizeof *cell);
    struct sg_cell_outcome *outcome = sg_calloc(a->drawn + 1, sizeof *outcome);
    size_t *from = sg_calloc(a->drawn + 1, sizeof *from), n = 0;
    cJSON *now = NULL;
    sg_status status = SG_OK;
    for (size_t i = 0; i < a->drawn && status == SG_OK; i++)
        if (is_comparable(found, a, i)) {
            cell[n] = a->cells[i];
            outcome[n] = outcomes[i];
            from[n++] = i;
        } else if (found[i].verdict == AUDIT_SAME) {
            found[i].message[0] = ' '; /* decided before any of the label changes */
        }
    for (size_t i = 0; i < a->drawn && status == SG_OK; i++)
        if (found[i].message[0] == ' ') {
            found[i].verdict = AUDIT_NOT_RUN;
            snprintf(found[i].message, sizeof found[i].message, "another run of its label cannot be compared");
        }
    if (status == SG_OK && n > 0) {
        struct audit_tree *t = a->tree;
        const cJSON *then, *is;
        int place = 0;
        status = audit_document(&now, a, cell, outcome, n, true, err);
        for (size_t i = 0; i < n; i++)
            outcomes[from[i]] = outcome[i]; /* columns were added */
        t->source = a->tolerance ? AUDIT_NEAR : AUDIT_RUNS;
        t->tolerance = a->tolerance;
        t->partial = n < a->all;
        struct audit_tree how = {.source = t->source,
                                 .tolerance = t->tolerance,
                                 .other_program = t->other_program,
                                 .partial = t->partial,
                                 .edited = t->edited};
        cJSON_ArrayForEach(then, sg_json_get(a->result.from, "results")) {
            for (size_t i = 0, of = 0; i < n; i += of) {
                for (of = 1; i + of < n && strcmp(cell[i + of].group, cell[i].group) == 0;)
                    of++;
                cJSON_ArrayForEach(is, sg_json_get(now, "results")) {
                    if (strcmp(sg_json_string(is, "label", ""), cell[i].group) == 0 &&
                        strcmp(sg_json_string(then, "label", ""), cell[i].group) == 0)
                        judge_label(&found[from[i]], a, how, place, then, is, of);
                }
            }
            place++;
        }
        t->open_claims = 0;
        t->without_results = true;
        t->open_summary = t->partial && t->open_summary;
        if (status == SG_OK)
            audit_tree_compare(t, "", a->result.from, now);
    }
    cJSON_Delete(now);
    free(cell);
    free(outcome);
    free(from);
    return status;
}

static cJSON *found_json(const struct sg_cell *cell, const struct audit_found *f) {
    return SG_OBJECT(SG_TEXT("label", cell->label), SG_U64("seed", cell->seed),
                     SG_TEXT("verdict", audit_word[f->verdict]), SG_TEXT("path", *f->path ? f->path : NULL),
                     SG_NUMBER("layer", f->layer > 0 ? (double)f->layer : NAN), SG_NUMBER("step", f->step),
                     SG_NUMBER("then", f->then), SG_NUMBER("now", f->now),
                     SG_NUMBER("largest", f->verdict == AUDIT_SAME ? 0 : f->largest),
                     SG_TEXT("message", *f->message ? f->message : NULL));
}

/* The cells that a whole run of the recipe has: of the runs that may win a study it makes one. */
static size_t recipe_cells(const struct sg_audit *a) {
    size_t n = 0;
    for (size_t i = 0; i < a->total; i++)
        n += !a->cells[i].winner || a->cells[i].trial == 1;
    return n;
}

sg_status sg_audit_judge(cJSON **out, struct sg_audit *a, struct sg_cell_outcome *outcomes, struct sg_error *err) {
    struct audit_found *found = sg_calloc(a->drawn + 1, sizeof *found);
    size_t count[AUDIT_VERDICTS] = {0}, earlier = 0;
    sg_status status = SG_OK;
    for (size_t i = 0; i < a->drawn && status == SG_OK; i++) {
        judge_run(&found[i], a, i, &outcomes[i]);
        if (found[i].verdict == AUDIT_SAME && a->bundle.n > 0)
            status = judge_series(&found[i], a, i, &outcomes[i], err);
    }
    if (status == SG_OK && a->bundle.n == 0)
        status = judge_labels(found, a, outcomes, err);
    if (status == SG_OK) {
        cJSON *results = cJSON_CreateArray();
        const struct audit_tree *t = a->tree;
        const struct sg_document_recipe *recipe = a->result.recipe;
        struct sg_arena memory = {0};
        const struct sg_text_list identities = sg_grid_identities(outcomes, a->drawn, &memory);
        for (size_t i = 0; i < a->drawn; i++) {
            count[found[i].verdict]++;
            earlier += outcomes[i].state == SG_CELL_REUSED;
            sg_json_push(results, found_json(&a->cells[i], &found[i]));
        }
        *out = SG_OBJECT(
            SG_TEXT("file", a->path), SG_TEXT("kind", a->bundle.n > 0 ? "bundle" : "result"),
            SG_TEXT("sha256", a->bundle.n > 0 ? a->bundle.sha256 : NULL), SG_TEXT("name", recipe ? recipe->name : NULL),
            SG_VALUE("set", recipe ? sg_text_list_json(&recipe->set) : NULL),
            SG_NUMBER("recipe_cells", recipe_cells(a)), SG_BOOL("recipe_edited", a->edited),
            SG_VALUE("program_then", sg_json_copy(a->result.program ? a->result.program->from : NULL)),
            SG_VALUE("identities_then", sg_text_list_json(&a->result.identities)),
            SG_VALUE("identities_now", sg_text_list_json(&identities)), SG_NUMBER("cells", a->claimed),
            SG_NUMBER("changed", a->changed), SG_NUMBER("drawn", a->drawn),
            SG_NUMBER("run_now", a->drawn - earlier - count[AUDIT_NOT_RUN]), SG_NUMBER("earlier", earlier),
            SG_VALUE("tolerance", sg_json_copy(a->tolerance)), SG_NUMBER("same_bits", count[AUDIT_SAME]),
            SG_NUMBER("within", count[AUDIT_WITHIN]), SG_NUMBER("differs", count[AUDIT_DIFFERS]),
            SG_NUMBER("other_data", count[AUDIT_OTHER_DATA]), SG_NUMBER("not_run", count[AUDIT_NOT_RUN]),
            SG_NUMBER("claims", a->result.n_claims), SG_NUMBER("claims_open", t->open_claims),
            SG_BOOL("summary_open", t->open_summary), SG_VALUE("differences", cJSON_Duplicate(t->differences, true)),
            SG_NUMBER("differences_count", t->count), SG_VALUE("older", cJSON_Duplicate(t->notes, true)),
            SG_VALUE("results", results));
        sg_arena_free(&memory);
    }
    free(found);
    return status;
}

/* ---- as text ---- */

static const struct sg_table_column columns[] = {
    {.head = "file", .weight = SG_TABLE_ALWAYS},
    {.head = "cells", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "of recipe", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "changed", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "drawn", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "run now", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "same bits", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "within", .align = SG_TABLE_RIGHT, .weight = 4},
    {.head = "differ", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "not run", .align = SG_TABLE_RIGHT, .weight = 5},
};

/* "results[1].final.bits.mean at step 312, layer 4: 3 then, 4 now". */
static char *found_text(const cJSON *found) {
    const double step = sg_json_number(found, "step", NAN), layer = sg_json_number(found, "layer", NAN);
    const char *message = sg_json_string(found, "message", NULL);
    char at[48] = "", in[40] = "";
    char *was = sg_json_text(sg_json_get(found, "then"), false), *is = sg_json_text(sg_json_get(found, "now"), false);
    if (!isnan(step))
        snprintf(at, sizeof at, " at step %.0f", step);
    if (!isnan(layer))
        snprintf(in, sizeof in, ", layer %.0f", layer);
    char *out = sg_format("%s%s%s: %.*s%s%.*s%s", sg_json_string(found, "path", "?"), at, in,
                          message ? (int)strlen(message) : (int)strcspn(was ? was : "", "\n"),
                          message ? message
                          : was   ? was
                                  : "",
                          message ? "" : " then, ", message ? 0 : (int)strcspn(is ? is : "", "\n"), is ? is : "",
                          message ? "" : " now");
    free(was);
    free(is);
    return out;
}

/* A line of the details of a file; it takes over its text. */
static void put(FILE *out, char *take_line, size_t width) {
    sg_put_wrapped(out, take_line ? take_line : "", width, "  ", "    ");
    free(take_line);
}

static void print_details(FILE *out, const cJSON *audit, size_t width) {
    const cJSON *found, *word, *set = sg_json_get(audit, "set");
    const char *problem = sg_json_string(audit, "problem", NULL),
               *then = sg_json_string(audit, "program_then.commit", NULL);
    const double cells = sg_json_number(audit, "cells", 0), all = sg_json_number(audit, "recipe_cells", cells);
    const double claims = sg_json_number(audit, "claims", 0), open = sg_json_number(audit, "claims_open", 0);
    const double count = sg_json_number(audit, "differences_count", 0);
    char *head = sg_format("%s:", sg_json_string(audit, "file", "?"));
    sg_put_wrapped(out, head ? head : "", width, "", "");
    free(head);
    if (problem)
        put(out, sg_strdup(problem), width);
    if (cells < all)
        put(out, sg_format("it has %.0f of the %.0f cells of its recipe", cells, all), width);
    cJSON_ArrayForEach(word, set)
        put(out, sg_format("its command changed the recipe: --set %s", cJSON_IsString(word) ? word->valuestring : "?"),
            width);
    if (sg_json_bool(audit, "recipe_edited", false))
        put(out,
            sg_format("its recipe has another text now, so only numbers of cells were audited%s",
                      sg_json_number(audit, "changed", 0) > 0 ? ", and some of these are other runs now" : ""),
            width);
    if (open > 0)
        put(out,
            sg_format("the values of %.0f of its %.0f claims are not in it, and not all of their labels were drawn",
                      open, claims),
            width);
    if (sg_json_bool(audit, "summary_open", false))
        put(out, sg_strdup("the values of its summary are not in it, and not all labels were drawn"), width);
    if (then && sg_json_number(audit, "drawn", 0) > 0 && cJSON_GetArraySize(sg_json_get(audit, "older")) > 0)
        put(out,
            sg_format("commit %.12s made it, which did not write %d of the keys of today", then,
                      cJSON_GetArraySize(sg_json_get(audit, "older"))),
            width);
    cJSON_ArrayForEach(found, sg_json_get(audit, "differences")) {
        char *text = found_text(found);
        put(out, sg_format("the result does not follow: %s", text ? text : ""), width);
        free(text);
    }
    if (count > cJSON_GetArraySize(sg_json_get(audit, "differences")))
        put(out, sg_format("and so on: %.0f differences in all", count), width);
    cJSON_ArrayForEach(found, sg_json_get(audit, "results")) {
        const char *verdict = sg_json_string(found, "verdict", ""), *message = sg_json_string(found, "message", NULL);
        char *text = sg_json_string(found, "path", NULL) ? found_text(found) : NULL;
        if (strcmp(verdict, audit_word[AUDIT_SAME]) != 0)
            put(out,
                sg_format("%s, seed %s: %s%s%s", sg_json_string(found, "label", "?"),
                          sg_json_string(found, "seed", "?"), verdict,
                          text      ? ", first "
                          : message ? ": "
                                    : "",
                          text      ? text
                          : message ? message
                                    : ""),
                width);
        free(text);
    }
}

void sg_audit_print(FILE *out, const cJSON *audits, size_t width) {
    static const char *const key[] = {"cells",   "recipe_cells", "changed", "drawn",
                                      "run_now", "same_bits",    "within",  "differs"};
    enum { KEYS = sizeof key / sizeof *key };
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    double sum[KEYS + 1] = {0};
    const cJSON *audit;
    cJSON_ArrayForEach(audit, audits) {
        sg_table_cell(t, sg_json_string(audit, "file", "?"), NULL);
        for (size_t k = 0; k < KEYS; k++) {
            const double x = sg_json_number(audit, key[k], NAN);
            sum[k] += isnan(x) ? 0 : x;
            sg_table_number(t, "%.0f", x);
        }
        const double open = sg_json_number(audit, "not_run", NAN) + sg_json_number(audit, "other_data", NAN);
        sum[KEYS] += isnan(open) ? 0 : open;
        sg_table_number(t, "%.0f", open);
    }
    if (cJSON_GetArraySize(audits) > 1) {
        sg_table_cell(t, "all", NULL);
        for (size_t k = 0; k <= KEYS; k++)
            sg_table_number(t, "%.0f", sum[k]);
    }
    const struct sg_table_lines how = {.width = width, .mark = "# "};
    sg_table_write_lines(out, t, &how);
    sg_table_free(t);
    cJSON_ArrayForEach(audit, audits) {
        const bool plain = sg_json_number(audit, "drawn", 0) == sg_json_number(audit, "same_bits", 0) &&
                           cJSON_GetArraySize(sg_json_get(audit, "differences")) == 0 &&
                           cJSON_GetArraySize(sg_json_get(audit, "set")) == 0 &&
                           cJSON_GetArraySize(sg_json_get(audit, "older")) == 0 &&
                           sg_json_number(audit, "cells", 0) == sg_json_number(audit, "recipe_cells", 0) &&
                           sg_json_number(audit, "claims_open", 0) == 0 &&
                           !sg_json_bool(audit, "summary_open", false) && !sg_json_string(audit, "problem", NULL) &&
                           !sg_json_bool(audit, "recipe_edited", false);
        if (!plain)
            print_details(out, audit, width);
    }
}
