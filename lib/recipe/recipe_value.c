/* recipe_value.c: checks values without children against their schema row. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_text.h"

static void check_range(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw, double x) {
    char range[SG_RANGE];
    if (!(x >= row->min && x <= row->max) || (row->above && x == row->min))
        sg_note_wrong(c, row, raw, sg_range_text(row, range));
}

/* Lower-case words joined by '-'. */
static bool kebab(const char *s) {
    bool start = true; /* of a word */
    for (; *s != '\0'; s++) {
        bool letter = (*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9');
        if (!letter && (*s != '-' || start))
            return false;
        start = !letter;
    }
    return !start;
}

static bool times_kernels(const struct sg_check *c) {
    return c->root && strcmp(sg_node_string(c->root, "kind", ""), "kernels") == 0;
}

/* The value must be one of the names at(0), at(1) …; the problem lists them or suggests one. */
static void note_wrong_name(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw,
                            const char *const *candidate, size_t n) {
    char wanted[SG_LIST_CHARS + 48], list[SG_LIST_CHARS];
    const bool loadable = row->type == SG_VALUE_COMPRESSOR;
    bool word = raw->kind == SG_NODE_STRING && strlen(raw->string) > 2; /* a single letter is near to every other one */
    char hint[SG_HINT];
    if (word && sg_hint(hint, raw->string, candidate, n)) {
        char got[SG_EXCERPT];
        SG_PROBLEM(c, raw, "unknown %s '%s' (%s%s)",
                   row->type != SG_VALUE_METHOD ? sg_row_key(row)
                   : times_kernels(c)           ? "operation"
                                                : "method",
                   sg_excerpt(got, raw->string), hint, loadable ? " Or load it with --plugin" : "");
        return;
    }
    snprintf(wanted, sizeof wanted, "%sone of %s", loadable ? "of a file that --plugin loads, or " : "",
             sg_list_text(list, candidate, n));
    sg_note_wrong(c, row, raw, wanted);
}

static void check_variant(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    enum { MOST = 256 };
    const char *candidate[MOST];
    size_t n = 0;
    if (raw->kind == SG_NODE_STRING && sg_variant_name(row->type, raw->string))
        return;
    for (const char *name; n < MOST && (name = sg_variant_at(row->type, n).name) != NULL; n++)
        candidate[n] = name;
    note_wrong_name(c, row, raw, candidate, n);
}

static void check_choice(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    if (row->or_number && raw->kind == SG_NODE_NUMBER) {
        if (raw->number != floor(raw->number))
            sg_note_wrong(c, row, raw, "a whole number");
        else
            check_range(c, row, raw, raw->number);
        return;
    }
    if (raw->kind == SG_NODE_STRING && sg_is_choice(row->choices, raw->string))
        return;
    enum { MOST = 32 };
    char copy[512];
    const char *candidate[MOST];
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", row->choices);
    char *rest = copy;
    for (char *word; n < MOST && (word = strsep(&rest, "|")) != NULL; n++)
        candidate[n] = word;
    note_wrong_name(c, row, raw, candidate, n);
}

/* The operation of a claim must be timed, and have one time in a case. */
static void check_operation(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    const struct sg_node *operations = sg_node_get(c->root, "operations");
    const char *candidate[SG_MAP_KEYS];
    size_t n = 0;
    for (size_t i = 0; operations && i < operations->count && n < SG_MAP_KEYS; i++)
        if (operations->child[i].kind == SG_NODE_STRING)
            candidate[n++] = operations->child[i].string;
    for (size_t i = 0; i < n && raw->kind == SG_NODE_STRING; i++)
        if (strcmp(candidate[i], raw->string) == 0) {
            if (strcmp(raw->string, "encode") == 0 || strcmp(raw->string, "decode") == 0)
                SG_PROBLEM(c, raw, "%s: '%s' has a time for each encoding (name another operation)", sg_row_key(row),
                           raw->string);
            return;
        }
    if (raw->kind == SG_NODE_STRING && sg_is_choice(SG_BENCH_OPERATIONS, raw->string))
        SG_PROBLEM(c, raw, "%s: '%s' is not timed (add it to operations)", sg_row_key(row), raw->string);
    else
        note_wrong_name(c, row, raw, candidate, n);
}

static void check_method(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    if (times_kernels(c)) {
        check_operation(c, row, raw);
        return;
    }
    if (raw->kind != SG_NODE_STRING) {
        sg_note_wrong(c, row, raw, "the name of a method");
        return;
    }
    const bool whole = strcmp(row->path, "plots[].methods") == 0;
    if (sg_label_find(c, raw->string) || sg_is_swept_label(c, raw->string) || (whole && sg_is_method(c, raw->string)))
        return;
    if (!c->run) /* the methods themselves have problems */
        return;
    const char *candidate[SG_MAP_KEYS];
    size_t n = c->n_runs < SG_MAP_KEYS ? c->n_runs : SG_MAP_KEYS;
    for (size_t i = 0; i < n; i++)
        candidate[i] = c->run[i].label;
    note_wrong_name(c, row, raw, candidate, n);
}

static void check_text(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    char wanted[80];
    if (raw->kind == SG_NODE_NUMBER || raw->kind == SG_NODE_BOOL) {
        sg_note_wrong(c, row, raw, "text (put it in quotes)");
    } else if (raw->kind != SG_NODE_STRING || raw->string[0] == '\0') {
        sg_note_wrong(c, row, raw, "text");
    } else if ((double)strlen(raw->string) > row->max) {
        snprintf(wanted, sizeof wanted, "at most %.0f bytes long", row->max);
        sg_note_wrong(c, row, raw, wanted);
    } else if (row->type == SG_VALUE_NAME && !kebab(raw->string)) {
        sg_note_wrong(c, row, raw, "lower-case words and digits joined by '-'");
    }
}

static void check_expression(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    double value = raw->number;
    bool literal = true;
    if (row->in_method && sg_row_in(row, "methods[]") && raw->kind == SG_NODE_STRING &&
        strcmp(raw->string, SG_VALUE_TO_FIND) == 0)
        return;
    if (raw->kind == SG_NODE_STRING) {
        struct sg_error err;
        const char *name[SG_NAMES];
        size_t n = sg_expression_names(c, row, name);
        if (sg_expression_check(raw->string, name, n, &literal, &value, &err) != SG_OK) {
            SG_PROBLEM(c, raw, "%s: %s", sg_row_key(row), err.msg);
            return;
        }
    } else if (raw->kind != SG_NODE_NUMBER) {
        sg_note_wrong(c, row, raw,
                      row->grid ? "a number, an expression or a list of these" : "a number or an expression");
        return;
    }
    if (literal && row->whole && value != floor(value))
        sg_note_wrong(c, row, raw, "a whole number");
    else if (literal)
        check_range(c, row, raw, value);
}

static void check_size(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw,
                       struct sg_node *out) {
    double bytes = raw->kind == SG_NODE_NUMBER ? raw->number : NAN;
    if (raw->kind == SG_NODE_STRING && !sg_parse_bytes(&bytes, raw->string))
        bytes = NAN;
    if (!(bytes >= 1)) {
        sg_note_wrong(c, row, raw, "a number of bytes, or one with a unit, as 25MB or 25MiB");
        return;
    }
    out->kind = SG_NODE_NUMBER; /* its spelling stays */
    out->number = bytes;
}

void sg_check_scalar(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw,
                     struct sg_node *out) {
    switch (row->type) {
    case SG_VALUE_TEXT:
    case SG_VALUE_NAME:
        check_text(c, row, raw);
        break;
    case SG_VALUE_SERIES:
        if (times_kernels(c))
            check_choice(c, &(struct sg_schema_row){.path = "metric", .choices = "time"}, raw);
        else
            sg_check_series(c, row, raw);
        if (out->kind == SG_NODE_STRING)
            sg_snake(out->string, strlen(out->string) + 1, out->string);
        break;
    case SG_VALUE_METHOD:
        check_method(c, row, raw);
        break;
    case SG_VALUE_CHOICE:
        check_choice(c, row, raw);
        break;
    case SG_VALUE_SIZE:
        check_size(c, row, raw, out);
        break;
    case SG_VALUE_NUMBER:
    case SG_VALUE_INTEGER: {
        bool whole = row->type == SG_VALUE_INTEGER;
        if (raw->kind != SG_NODE_NUMBER || (whole && raw->number != floor(raw->number)))
            sg_note_wrong(c, row, raw, whole ? "a whole number" : "a number");
        else
            check_range(c, row, raw, raw->number);
        break;
    }
    case SG_VALUE_BOOLEAN:
        if (raw->kind != SG_NODE_BOOL)
            sg_note_wrong(c, row, raw, "true or false");
        break;
    case SG_VALUE_EXPRESSION:
        check_expression(c, row, raw);
        break;
    case SG_VALUE_MAP:
        break;
    default: /* from KIND to OVERLAP */
        check_variant(c, row, raw);
    }
}
