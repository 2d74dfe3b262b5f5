/* compare.c: what differs between two results: the recipes, the final values of the labels that both have, claims.
 *
 * Values of the same seed are a pair, for they share their draws. The interval is Student's for the mean of their
 * differences: it holds for one column alone, so of many columns one in twenty leaves it by chance. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_compare.h"
#include "sg_memory.h"
#include "sg_stats.h"
#include "sg_table.h"
#include "sg_text.h"

static const char *const words[] = {[SG_SAME] = "same",
                                    [SG_WITHIN_NOISE] = "within noise",
                                    [SG_BEYOND_NOISE] = "beyond noise",
                                    [SG_ONE_SEED] = "one seed"};

const char *sg_difference_word(enum sg_difference difference) {
    return words[difference];
}

/* ---- recipes ---- */

static const char *short_text(const cJSON *value, char out[48]) {
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;
    snprintf(out, 48, "%s", text ? text : "absent");
    free(text);
    return out;
}

static void push_setting(cJSON *list, const char *path, const cJSON *a, const cJSON *b) {
    char one[48], other[48];
    sg_json_push(list,
                 SG_OBJECT(SG_TEXT("key", path), SG_TEXT("a", short_text(a, one)), SG_TEXT("b", short_text(b, other))));
}

/* The item of this name; NULL = there is none. */
static const cJSON *find_name(const cJSON *list, const char *name) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (strcmp(sg_json_string(item, "name", ""), name) == 0) return item;
    return NULL;
}

/* True if every item has a name, as methods do. */
static bool is_named(const cJSON *list) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (!sg_json_string(item, "name", NULL)) return false;
    return cJSON_IsArray(list);
}

static void compare_settings(cJSON *list, const char *path, const cJSON *a, const cJSON *b);

/* Compares the items of `from` with those of `other`; if `from` is the `second`, only items that the first lacks. */
static void compare_items(cJSON *list, const char *path, const cJSON *from, const cJSON *other, bool second) {
    const cJSON *item;
    cJSON_ArrayForEach(item, from) {
        const char *name = cJSON_IsArray(from) ? sg_json_string(item, "name", "") : item->string;
        if (strcmp(name, "plots") == 0 || strcmp(name, "claims") == 0)
            continue; /* they change no run */
        const cJSON *same = cJSON_IsArray(from) ? find_name(other, name) : sg_json_get(other, name);
        char *below = sg_format("%s%s%s", path, *path ? "." : "", name);
        if (below && !second)
            compare_settings(list, below, item, same);
        else if (below && !same)
            compare_settings(list, below, NULL, item);
        free(below);
    }
}

/* A null counts as absent, because results of other versions have other keys that are null. */
static bool is_absent(const cJSON *value) {
    return !value || cJSON_IsNull(value);
}

/* Appends every key at or below `path` that differs. */
static void compare_settings(cJSON *list, const char *path, const cJSON *a, const cJSON *b) {
    if ((cJSON_IsObject(a) && cJSON_IsObject(b)) || (is_named(a) && is_named(b))) {
        compare_items(list, path, a, b, false);
        compare_items(list, path, b, a, true);
    } else if (!(is_absent(a) && is_absent(b)) && (!a || !b || !cJSON_Compare(a, b, true))) {
        push_setting(list, path, a, b);
    }
}

/* ---- values ---- */

/* The value of a seed, by its name; NaN = there is none. */
static double value_of(const struct sg_frame_label *label, const struct sg_frame_column *column, const char *seed) {
    for (size_t i = 0; i < label->n_seeds && i < column->n_values; i++)
        if (label->seeds.item[i] && strcmp(label->seeds.item[i], seed) == 0)
            return column->value[i];
    return NAN;
}

struct sg_comparison sg_compare_pairs(const double *a, const double *b, size_t n) {
    struct sg_comparison c = {.pairs = n, .a = sg_stats_mean(a, n), .b = sg_stats_mean(b, n), .half = NAN};
    double *difference = sg_malloc((n + 1) * sizeof *difference);
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && a[i] == b[i];
    if (!difference || n < 2) {
        free(difference);
        c.difference = c.b - c.a;
        c.verdict = same ? SG_SAME : SG_ONE_SEED;
        return c;
    }
    for (size_t i = 0; i < n; i++)
        difference[i] = b[i] - a[i];
    c.difference = sg_stats_mean(difference, n);
    c.half = sg_stats_half_interval(difference, n);
    c.verdict = same ? SG_SAME : fabs(c.difference) > c.half ? SG_BEYOND_NOISE : SG_WITHIN_NOISE;
    free(difference);
    return c;
}

/* Appends every column that both have of a label, with the seeds that both have; room [2][seeds of the first]. */
static void compare_label(cJSON *list, const struct sg_frame_label *a, const struct sg_frame_label *b, double *room) {
    for (size_t i = 0; i < a->n_columns; i++) {
        const struct sg_frame_column *mine = &a->column[i], *theirs = sg_frame_column(b, mine->name);
        double *x = room, *y = room + a->n_seeds;
        size_t n = 0;
        if (!mine->value || !theirs || !theirs->value || sg_frame_is_axis(mine->name))
            continue;
        for (size_t s = 0; s < a->n_seeds; s++) {
            const char *seed = a->seeds.item[s];
            if (!seed)
                continue;
            x[n] = value_of(a, mine, seed);
            y[n] = value_of(b, theirs, seed);
            n += isfinite(x[n]) && isfinite(y[n]);
        }
        if (n == 0)
            continue;
        const struct sg_comparison c = sg_compare_pairs(x, y, n);
        sg_json_push(list, SG_OBJECT(SG_TEXT("label", a->label), SG_TEXT("series", mine->name), SG_NUMBER("a", c.a),
                                     SG_NUMBER("b", c.b), SG_NUMBER("difference", c.difference),
                                     SG_NUMBER("half_width", c.half), SG_NUMBER("seeds", c.pairs),
                                     SG_TEXT("verdict", sg_difference_word(c.verdict))));
    }
}

/* Compares the labels that both have. */
static void compare_labels(cJSON *list, const struct sg_frame *a, const struct sg_frame *b) {
    for (size_t l = 0; l < a->n_labels; l++) {
        const struct sg_frame_label *mine = &a->label[l], *same = sg_frame_label(b, mine->label);
        if (!same)
            continue;
        double *room = sg_malloc((2 * mine->n_seeds + 1) * sizeof *room);
        compare_label(list, mine, same, room);
        free(room);
    }
}

/* The labels of `a` that `b` lacks. */
static cJSON *labels_without(const struct sg_frame *a, const struct sg_frame *b) {
    cJSON *out = cJSON_CreateArray();
    for (size_t l = 0; l < a->n_labels; l++)
        if (!sg_frame_label(b, a->label[l].label))
            sg_json_push_string(out, a->label[l].label);
    return out;
}

static cJSON *compare_claims(const struct sg_document *a, const struct sg_document *b) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < a->n_claims; i++) {
        const char *text = sg_or(a->claims[i].text, "?"), *was = sg_or(a->claims[i].verdict, "?"), *is = NULL;
        for (size_t k = 0; k < b->n_claims && !is; k++)
            is = strcmp(sg_or(b->claims[k].text, ""), text) == 0 ? b->claims[k].verdict : NULL;
        if (is && strcmp(was, is) != 0)
            sg_json_push(out, SG_OBJECT(SG_TEXT("text", text), SG_TEXT("a", was), SG_TEXT("b", is)));
    }
    return out;
}

/* What of the recipe was resolved; NULL = nothing. */
static const cJSON *recipe_of(const struct sg_document *d) {
    return d->recipe ? d->recipe->resolved : NULL;
}

/* The settings in which the results differ. */
static cJSON *settings_json(const struct sg_document *a, const struct sg_document *b) {
    cJSON *out = cJSON_CreateArray(), *one = sg_text_list_json(&a->identities);
    cJSON *other = sg_text_list_json(&b->identities);
    compare_settings(out, "", recipe_of(a), recipe_of(b));
    compare_settings(out, "dataset", a->dataset ? a->dataset->from : NULL, b->dataset ? b->dataset->from : NULL);
    compare_settings(out, "program", one, other);
    cJSON_Delete(one);
    cJSON_Delete(other);
    return out;
}

sg_status sg_compare(cJSON **out, const struct sg_document *a, const struct sg_document *b, struct sg_error *err) {
    if (sg_document_is_kernels(a) || sg_document_is_kernels(b))
        return sg_fail(err, SG_ERR_ARGUMENT, "times of kernels have no seeds, and are not compared");
    cJSON *columns = cJSON_CreateArray();
    compare_labels(columns, &a->results, &b->results);
    *out = SG_OBJECT(SG_TEXT("schema", "sparsebench-compare/1"), SG_VALUE("settings", settings_json(a, b)),
                     SG_VALUE("only_a", labels_without(&a->results, &b->results)),
                     SG_VALUE("only_b", labels_without(&b->results, &a->results)), SG_VALUE("columns", columns),
                     SG_VALUE("claims", compare_claims(a, b)));
    return SG_OK;
}

sg_status sg_compare_files(cJSON **out, const char *a, const char *b, struct sg_error *err) {
    struct sg_document one = {0}, other = {0};
    sg_status status = sg_plot_read(&one, a, err);
    SG_DO(status, sg_plot_read(&other, b, err));
    SG_DO(status, sg_compare(out, &one, &other, err));
    sg_document_free(&one);
    sg_document_free(&other);
    return status;
}

size_t sg_compare_changes(const cJSON *comparison) {
    const cJSON *column;
    size_t n = 0;
    cJSON_ArrayForEach(column, sg_json_get(comparison, "columns")) n +=
        strcmp(sg_json_string(column, "verdict", ""), words[SG_BEYOND_NOISE]) == 0;
    return n;
}

/* ---- as text ---- */

static const struct sg_table_column compared[] = {
    {.head = "label", .weight = SG_TABLE_ALWAYS},
    {.head = "series", .weight = SG_TABLE_ALWAYS},
    {.head = "a", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "b", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "b - a", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "+-", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "seeds", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "verdict", .weight = SG_TABLE_ALWAYS},
};

static void print_columns(FILE *out, const cJSON *columns, bool all, size_t width) {
    sg_table *t = sg_table_open(compared, sizeof compared / sizeof *compared);
    const cJSON *row;
    bool any = false;
    cJSON_ArrayForEach(row, columns) {
        const char *verdict = sg_json_string(row, "verdict", "");
        if (!all && (strcmp(verdict, words[SG_SAME]) == 0 || strcmp(verdict, words[SG_WITHIN_NOISE]) == 0))
            continue;
        any = true;
        sg_table_cell(t, sg_json_string(row, "label", "?"), NULL);
        sg_table_cell(t, sg_json_string(row, "series", "?"), NULL);
        sg_table_number(t, "%.6g", sg_json_number(row, "a", NAN));
        sg_table_number(t, "%.6g", sg_json_number(row, "b", NAN));
        sg_table_number(t, "%+.4g", sg_json_number(row, "difference", NAN));
        sg_table_number(t, "%.3g", sg_json_number(row, "half_width", NAN));
        sg_table_number(t, "%.0f", sg_json_number(row, "seeds", NAN));
        sg_table_cell(t, verdict, NULL);
    }
    const struct sg_table_lines how = {.width = width, .mark = "# "};
    if (any)
        sg_table_write_lines(out, t, &how);
    sg_table_free(t);
}

static void print_labels(FILE *out, const cJSON *labels, const char *where) {
    const cJSON *label;
    cJSON_ArrayForEach(label, labels) fprintf(out, "# only in %s: %s\n", where, label->valuestring);
}

/* The sentence at the end. */
static char *closing_text(const cJSON *columns) {
    size_t count[sizeof words / sizeof *words] = {0}, size;
    const cJSON *item;
    char *text = NULL;
    FILE *out = sg_memstream(&text, &size);
    cJSON_ArrayForEach(item, columns) for (size_t i = 0; i < sizeof words / sizeof *words; i++) count[i] +=
        strcmp(sg_json_string(item, "verdict", ""), words[i]) == 0;
    const size_t paired = count[SG_WITHIN_NOISE] + count[SG_BEYOND_NOISE];
    fprintf(out, "%zu of %d final values are the same.", count[SG_SAME], cJSON_GetArraySize(columns));
    if (paired > 0)
        fprintf(out,
                " Of %zu that differ, %zu differ beyond noise: zero is outside of Student's 95 %% interval of the"
                " differences by seed. Chance alone would bring about %.0f.",
                paired, count[SG_BEYOND_NOISE], ceil(0.05 * (double)paired));
    if (count[SG_ONE_SEED] > 0)
        fprintf(out, " %zu differ that have one seed in common, which tells nothing about noise.", count[SG_ONE_SEED]);
    return sg_stream_text(out, &text);
}

void sg_compare_print(FILE *out, const cJSON *comparison, bool all, size_t width) {
    const cJSON *item, *columns = sg_json_get(comparison, "columns");
    cJSON_ArrayForEach(item, sg_json_get(comparison, "settings"))
        fprintf(out, "# %s: %s, now %s\n", sg_json_string(item, "key", "?"), sg_json_string(item, "a", "?"),
                sg_json_string(item, "b", "?"));
    print_labels(out, sg_json_get(comparison, "only_a"), "a");
    print_labels(out, sg_json_get(comparison, "only_b"), "b");
    print_columns(out, columns, all, width);
    cJSON_ArrayForEach(item, sg_json_get(comparison, "claims")) {
        char *line = sg_format("claim: %s: %s, now %s", sg_json_string(item, "text", "?"),
                               sg_json_string(item, "a", "?"), sg_json_string(item, "b", "?"));
        sg_put_wrapped(out, line, width, "", "  ");
        free(line);
    }
    char *closing = closing_text(columns);
    sg_put_wrapped(out, closing, width, "", "");
    free(closing);
}
