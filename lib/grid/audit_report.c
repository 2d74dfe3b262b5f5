/* audit_report.c: the verdicts of an audit, as JSON and as text. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit_evidence.h"
#include "sg_table.h"
#include "sg_text.h"

/* ---- verdicts ---- */

/* What can be said of a cell before its numbers are compared. */
static void judge_run(struct audit_found *f, const struct sg_audit *a, size_t i, const struct sg_cell_outcome *o) {
    const cJSON *was = sg_json_get(a->result, "dataset"), *is = sg_json_get(o->run.header, "dataset");
    char then[SG_DATASET_IDENTITY], now[SG_DATASET_IDENTITY], had[160], has[160];
    const char *status = sg_grid_status(o), *wanted = sg_json_string(a->then[i], "status", "");
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
        snprintf(f->column, sizeof f->column, "status");
        snprintf(f->message, sizeof f->message, "%.20s then, %.20s now", wanted, status);
    }
}

/* Compares the cells of a label, first to first + n, with the statistics of the result. Without one of them these
 * would be others, and so the rest has no verdict. */
static sg_status judge_label(struct audit_found *found, const struct sg_audit *a, const struct sg_frame_label *then,
                             const struct sg_cell_outcome *outcomes, size_t first, size_t n, struct sg_error *err) {
    struct audit_found *of = calloc(then->n_seeds + 1, sizeof *of);
    struct grid_frame g = {0};
    sg_status status =
        of && grid_frame_open(&g, &a->recipe, &a->cells[first], &outcomes[first], n) && audit_fill_label(g.frame.label)
            ? SG_OK
            : sg_fail_memory(err, then->label);
    bool comparable = status == SG_OK && g.frame.label->n_seeds == then->n_seeds;
    for (size_t i = first; i < first + n; i++)
        comparable = comparable && found[i].verdict == AUDIT_SAME;
    if (comparable) {
        audit_compare_labels(of, a->tolerance, then, g.frame.label);
        for (size_t i = 0; i < then->n_seeds; i++)
            found[first + grid_study(&g, g.frame.label, i)->cell] = of[i];
    }
    for (size_t i = first; i < first + n && status == SG_OK; i++) {
        struct audit_compare c = {.tolerance = a->tolerance, .found = found[i]};
        if (comparable)
            audit_compare_trial(&c, &g, i - first, a->then[i]);
        found[i] = c.found;
        if (i == first && comparable && !a->tolerance && !audit_same_best(&g, then, g.frame.label))
            found[i] = (struct audit_found){.verdict = AUDIT_DIFFERS,
                                            .column = "tuned",
                                            .step = NAN,
                                            .then = NAN,
                                            .now = NAN,
                                            .largest = NAN,
                                            .message = "another trial is the best of the label"};
        if (comparable || found[i].verdict != AUDIT_SAME)
            continue;
        found[i].verdict = AUDIT_NOT_RUN;
        snprintf(found[i].message, sizeof found[i].message, "another run of its label cannot be compared");
    }
    grid_frame_close(&g);
    free(of);
    return status;
}

/* Judges the drawn cells of a result without series, label by label. */
static sg_status judge_labels(struct audit_found *found, const struct sg_audit *a,
                              const struct sg_cell_outcome *outcomes, struct sg_error *err) {
    struct sg_frame frame = {0};
    sg_status status = sg_frame_read(&frame, sg_json_get(a->result, "results"), a->path, err);
    for (size_t first = 0, n; first < a->drawn && status == SG_OK; first += n) {
        const struct sg_frame_label *then = sg_frame_label(&frame, a->cells[first].group);
        for (n = 1; first + n < a->drawn && strcmp(a->cells[first + n].group, a->cells[first].group) == 0;)
            n++;
        status = then ? judge_label(found, a, then, outcomes, first, n, err)
                      : sg_fail(err, SG_ERR_FORMAT, "%s: no label '%s'", a->path, a->cells[first].group);
    }
    sg_frame_free(&frame);
    return status;
}

/* Judges a drawn cell of a bundle by its series. */
static sg_status judge_series(struct audit_found *found, const struct sg_audit *a, size_t i,
                              const struct sg_cell_outcome *outcome, struct sg_error *err) {
    struct audit_compare c = {.tolerance = a->tolerance, .found = *found};
    struct sg_run then;
    sg_status status = audit_read_cell(&then, a, &a->cells[i], err);
    if (status != SG_OK)
        return status;
    audit_compare_runs(&c, &then, &outcome->run);
    *found = c.found;
    sg_run_free(&then);
    return SG_OK;
}

static cJSON *found_json(const struct sg_cell *cell, const struct audit_found *f) {
    return SG_OBJECT(SG_TEXT("label", cell->label), SG_U64("seed", cell->seed),
                     SG_TEXT("verdict", audit_word[f->verdict]), SG_TEXT("column", *f->column ? f->column : NULL),
                     SG_TEXT("statistic", f->statistic), SG_NUMBER("layer", f->layer > 0 ? (double)f->layer : NAN),
                     SG_NUMBER("step", f->step), SG_NUMBER("then", f->then), SG_NUMBER("now", f->now),
                     SG_NUMBER("largest", f->verdict == AUDIT_SAME ? 0 : f->largest),
                     SG_TEXT("message", *f->message ? f->message : NULL));
}

sg_status sg_audit_judge(cJSON **out, const struct sg_audit *a, const struct sg_cell_outcome *outcomes,
                         struct sg_error *err) {
    struct audit_found *found = calloc(a->drawn + 1, sizeof *found);
    size_t count[AUDIT_VERDICTS] = {0}, earlier = 0;
    sg_status status = found ? SG_OK : sg_fail_memory(err, "the audit");
    for (size_t i = 0; i < a->drawn && status == SG_OK; i++) {
        judge_run(&found[i], a, i, &outcomes[i]);
        if (found[i].verdict == AUDIT_SAME && a->bundle.n > 0)
            status = judge_series(&found[i], a, i, &outcomes[i], err);
    }
    if (a->bundle.n == 0)
        SG_DO(status, judge_labels(found, a, outcomes, err));
    if (status == SG_OK) {
        cJSON *results = cJSON_CreateArray();
        const cJSON *identities = sg_json_get(a->result, "identities");
        for (size_t i = 0; i < a->drawn; i++) {
            count[found[i].verdict]++;
            earlier += outcomes[i].state == SG_CELL_REUSED;
            sg_json_push(results, found_json(&a->cells[i], &found[i]));
        }
        *out = SG_OBJECT(SG_TEXT("file", a->path), SG_TEXT("kind", a->bundle.n > 0 ? "bundle" : "result"),
                         SG_TEXT("sha256", a->bundle.n > 0 ? a->bundle.sha256 : NULL),
                         SG_TEXT("name", sg_json_string(a->result, "recipe.name", NULL)),
                         SG_BOOL("recipe_edited", a->edited),
                         SG_VALUE("identities_then", cJSON_Duplicate(identities, true)),
                         SG_VALUE("identities_now", sg_grid_identities(outcomes, a->drawn)),
                         SG_NUMBER("cells", a->claimed), SG_NUMBER("changed", a->changed), SG_NUMBER("drawn", a->drawn),
                         SG_VALUE("tolerance", cJSON_Duplicate(a->tolerance, true)), SG_NUMBER("earlier", earlier),
                         SG_NUMBER("same_bits", count[AUDIT_SAME]), SG_NUMBER("within", count[AUDIT_WITHIN]),
                         SG_NUMBER("differs", count[AUDIT_DIFFERS]), SG_NUMBER("other_data", count[AUDIT_OTHER_DATA]),
                         SG_NUMBER("not_run", count[AUDIT_NOT_RUN]),
                         SG_VALUE("follows", cJSON_Duplicate(a->follows, true)), SG_VALUE("results", results));
    }
    free(found);
    return status;
}

/* ---- as text ---- */

static const struct sg_table_column columns[] = {
    {.head = "file", .weight = SG_TABLE_ALWAYS},
    {.head = "cells", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "changed", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "drawn", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "same bits", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "within", .align = SG_TABLE_RIGHT, .weight = 4},
    {.head = "differ", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "not run", .align = SG_TABLE_RIGHT, .weight = 5},
};

/* " at step 312", " of layer 4" and the like, of a value that differs. */
static char *where_text(const cJSON *found) {
    const double step = sg_json_number(found, "step", NAN), layer = sg_json_number(found, "layer", NAN);
    const char *statistic = sg_json_string(found, "statistic", NULL);
    char at[48] = "at the end", in[40] = "";
    if (!isnan(step))
        snprintf(at, sizeof at, "at step %.0f", step);
    if (!isnan(layer))
        snprintf(in, sizeof in, ", layer %.0f", layer);
    return sg_format("%s%s, %s%s%s", at, in, statistic ? statistic : "", statistic ? " of " : "",
                     sg_json_string(found, "column", "?"));
}

static void print_found(FILE *out, const cJSON *found, const char *verdict, size_t width) {
    const char *message = sg_json_string(found, "message", NULL), *seed = sg_json_string(found, "seed", NULL);
    const double then = sg_json_number(found, "then", NAN), now = sg_json_number(found, "now", NAN);
    char *where = sg_json_string(found, "column", NULL) ? where_text(found) : strdup("");
    char was[SG_NUMBER_CHARS], is[SG_NUMBER_CHARS];
    char *line = sg_format("%s%s%s: %s%s%s: %s%s%s%s", sg_json_string(found, "label", "?"), seed ? ", seed " : "",
                           seed ? seed : "", verdict, where && *where ? ", first " : "", where ? where : "",
                           message ? message : sg_number_text(then, was), message ? "" : " then, ",
                           message ? "" : sg_number_text(now, is), message ? "" : " now");
    sg_put_wrapped(out, line ? line : "", width, "  ", "    ");
    free(where);
    free(line);
}

static void print_details(FILE *out, const cJSON *audit, size_t width) {
    const cJSON *found, *follows = sg_json_get(audit, "follows");
    const char *problem = sg_json_string(audit, "problem", NULL);
    char *head = sg_format("%s:", sg_json_string(audit, "file", "?"));
    sg_put_wrapped(out, head ? head : "", width, "", "");
    free(head);
    if (problem)
        sg_put_wrapped(out, problem, width, "  ", "    ");
    if (sg_json_bool(audit, "recipe_edited", false))
        sg_put_wrapped(out,
                       sg_json_number(audit, "changed", 0) > 0
                           ? "its recipe has changed since, so some or all cells are other runs now and cannot be "
                             "audited"
                           : "its recipe's file has changed since, but all of its runs are the same",
                       width, "  ", "    ");
    cJSON_ArrayForEach(found, follows)
        print_found(out, found, "the result does not follow from the series in the bundle", width);
    cJSON_ArrayForEach(found, sg_json_get(audit, "results")) {
        const char *verdict = sg_json_string(found, "verdict", "");
        if (strcmp(verdict, audit_word[AUDIT_SAME]) != 0)
            print_found(out, found, verdict, width);
    }
}

sg_status sg_audit_print(FILE *out, const cJSON *audits, size_t width, struct sg_error *err) {
    static const char *const key[] = {"cells", "changed", "drawn", "same_bits", "within", "differs"};
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
    const sg_status status = sg_table_write_lines(out, t, &how, err);
    sg_table_free(t);
    cJSON_ArrayForEach(audit, audits) {
        const bool plain = sg_json_number(audit, "drawn", 0) == sg_json_number(audit, "same_bits", 0) &&
                           cJSON_GetArraySize(sg_json_get(audit, "follows")) == 0 &&
                           !sg_json_string(audit, "problem", NULL) && !sg_json_bool(audit, "recipe_edited", false);
        if (!plain)
            print_details(out, audit, width);
    }
    return status;
}
