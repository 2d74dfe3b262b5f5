/* tune_emit_recipe.c: writes a new recipe with the values that were found. Of the file's comments only those at its
 * start are kept, because the user still has the file. New comments explain how each method's values were found. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_text.h"
#include "tune_private.h"

/* ---- the text of a recipe ---- */

void tune_put_note(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = sg_vformat(format, args);
    va_end(args);
    fputs("  # ", out);
    for (const char *c = text; *c; c++) /* a comment is one line */
        fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    fputc('\n', out);
    free(text);
}

/* The length of the comments and empty lines at the start of a text. */
static size_t beginning_of(const char *text) {
    const char *line = text;
    while (*line == '#' || *line == '\n') {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return (size_t)(line - text);
}

/* A section on a line of its own, or a list of sections with a line for each. */
static void put_section(FILE *out, const struct sg_node *section, tune_note_fn *note, const void *arg) {
    const bool lines = section->kind == SG_NODE_LIST && section->count > 0 && section->child[0].kind == SG_NODE_MAP;
    const size_t n = lines ? section->count : 1;
    fprintf(out, lines ? "%s:\n" : "%s: ", section->key);
    for (size_t i = 0; i < n; i++) {
        if (lines && strcmp(section->key, "methods") == 0)
            note(out, arg, i);
        fputs(lines ? "  - " : "", out);
        sg_node_put_yaml(out, lines ? &section->child[i] : section, false);
        fputc('\n', out);
    }
}

sg_status tune_recipe_text(char **out, const struct sg_recipe *from, const struct sg_node *written, tune_note_fn *note,
                           const void *arg, struct sg_error *err) {
    struct sg_recipe check = {0};
    size_t size;
    char *text = NULL;
    FILE *to = sg_memstream(&text, &size);
    const char *beginning = from->text + sg_recipe_heading(from->text); /* whose path may not hold where this is kept */
    fprintf(to, "%.*s", (int)beginning_of(beginning), beginning);
    for (size_t i = 0; i < written->count; i++)
        if (!sg_node_absent(&written->child[i]))
            put_section(to, &written->child[i], note, arg);
    sg_stream_text(to, &text);
    const sg_status status = sg_recipe_parse(&check, text, strlen(text), from->path, NULL, 0, err);
    sg_recipe_free(&check);
    if (status != SG_OK) {
        free(text);
        return sg_prefix(err, "what was found does not fit into the recipe: ");
    }
    *out = text;
    return SG_OK;
}

sg_status tune_recipe_written(struct sg_node *out, const struct sg_tune *t, const struct sg_node *changes,
                              struct sg_error *err) {
    struct sg_recipe file = *t->recipe, again = {0};
    file.n_set = 0;
    const sg_status status = sg_recipe_with(&again, out, &file, changes, err);
    sg_recipe_free(&again);
    return status == SG_OK || t->grid.n_set == 0 ? status : sg_prefix(err, "without --set: ");
}

/* ---- values that were found ---- */

struct emitted {
    const struct sg_tune *t;
    const struct sg_node *written;
    const struct tune_found *found;
    size_t n;
};

static struct sg_node *method_of(const struct sg_node *root, const char *name) {
    const struct sg_node *methods = sg_node_get(root, "methods");
    for (size_t i = 0; i < methods->count; i++)
        if (strcmp(sg_node_string(&methods->child[i], "name", ""), name) == 0)
            return &methods->child[i];
    return NULL;
}

static void put_found(FILE *out, const void *arg, size_t method) {
    const struct emitted *e = arg;
    const char *name = sg_node_string(&sg_node_get(e->written, "methods")->child[method], "name", "");
    for (size_t m = 0; m < e->n; m++) {
        const struct tune_found *f = &e->found[m];
        if (strcmp(f->name, name) != 0)
            continue;
        for (size_t s = 0; m == 0 && s < e->t->grid.n_set; s++)
            tune_put_note(out, "found with --set '%s', which is not in this file: give it again", e->t->grid.set[s]);
        for (size_t i = 0; i < f->n || (i == 0 && f->failed); i++)
            if (f->value[i].how[0])
                tune_put_note(out, "%s", f->value[i].how);
    }
}

/* Replaces the label of a cell whose value was replaced by its new label. */
static void rename_cell(struct sg_node *name, const struct emitted *e) {
    for (size_t m = 0; m < e->n; m++) {
        const struct tune_found *f = &e->found[m];
        const struct sg_node *old = sg_node_get(method_of(&e->t->recipe->root, f->name), f->key);
        for (size_t i = 0; !f->appends && old->kind == SG_NODE_LIST && i < f->n; i++) {
            char text[TUNE_LAMBDA_CHARS], *label = sg_format("%s %s=%s", f->name, f->key, old->child[i].string);
            const bool same = strcmp(label, name->string) == 0;
            tune_round(f->value[i].x, text);
            free(label);
            if (!same)
                continue;
            free(name->string);
            name->string = sg_format("%s %s=%s", f->name, f->key, text);
            return;
        }
    }
}

/* Renames cells whose value was replaced in all claims and plots that name them. */
static void rename_cells(struct sg_node *node, const struct emitted *e, bool names) {
    if (names && node->kind == SG_NODE_STRING)
        rename_cell(node, e);
    for (size_t i = 0; i < node->count; i++) {
        struct sg_node *child = &node->child[i];
        rename_cells(child, e,
                     child->key ? strcmp(child->key, "of") == 0 || strcmp(child->key, "methods") == 0 : names);
    }
}

static bool has_value(const struct sg_node *list, double value) {
    for (size_t i = 0; i < list->count; i++)
        if (list->child[i].number == value)
            return true;
    return false;
}

/* Replaces the values of a method's key, or appends one to its list. A recipe's list has no value twice. */
static void put_values(struct sg_node *values, const struct tune_found *f) {
    struct sg_node found = {.kind = SG_NODE_LIST};
    const bool lists = values->kind == SG_NODE_LIST, appends = lists && f->appends;
    struct sg_node *into = appends ? values : &found;
    for (size_t i = 0; i < f->n; i++) {
        char text[TUNE_LAMBDA_CHARS];
        tune_round(f->value[i].x, text);
        if (!has_value(into, f->value[i].x))
            sg_node_push_yaml(into, text);
    }
    if (!appends) {
        struct sg_node *from = lists || found.count > 1 ? &found : &found.child[0], taken = *from;
        *from = (struct sg_node){0};
        taken.key = values->key;
        values->key = NULL;
        sg_node_clear(values);
        *values = taken;
    }
    sg_node_clear(&found);
}

static sg_status fail_not_written(const char *method, const char *key, struct sg_error *err) {
    return sg_fail(err, SG_ERR_ARGUMENT, "method '%s': its %s is from --set; write it into the recipe to tune it",
                   method, key);
}

static sg_status put_found_values(struct sg_node *written, const struct tune_found *f, struct sg_error *err) {
    struct sg_node *method = method_of(written, f->name), *values = method ? sg_node_member(method, f->key) : NULL;
    if (f->n == 0)
        return SG_OK;
    if (!values)
        return fail_not_written(f->name, f->key, err);
    put_values(values, f);
    return SG_OK;
}

sg_status tune_emit_recipe(char **out, const struct sg_tune *t, const struct tune_found *found, size_t n_methods,
                           struct sg_error *err) {
    static const char *const naming[] = {"claims", "plots"};
    struct sg_node written = {0};
    const struct emitted emitted = {t, &written, found, n_methods};
    sg_status status = tune_recipe_written(&written, t, NULL, err);
    for (size_t m = 0; status == SG_OK && m < n_methods; m++)
        status = put_found_values(&written, &found[m], err);
    for (size_t i = 0; status == SG_OK && i < sizeof naming / sizeof *naming; i++) {
        struct sg_node *section = sg_node_member(&written, naming[i]);
        if (section)
            rename_cells(section, &emitted, false);
    }
    SG_DO(status, tune_recipe_text(out, t->recipe, &written, put_found, &emitted, err));
    sg_node_clear(&written);
    return status;
}

/* ---- checks before any run ---- */

/* True if a claim or a plot names this cell. */
static bool is_named(const struct sg_node *node, const char *label) {
    for (size_t i = 0; node && i < node->count; i++) {
        const struct sg_node *child = &node->child[i];
        if ((child->kind == SG_NODE_STRING && strcmp(child->string, label) == 0) || is_named(child, label))
            return true;
    }
    return false;
}

/* A list of values must have one for each of the n targets. A single value becomes as many. */
static sg_status check_values(const struct sg_tune *t, const struct sg_node *method, const char *key, size_t n,
                              const char *what, struct sg_error *err) {
    const struct sg_node *values = sg_node_get(method, key), *root = &t->recipe->root;
    const char *name = sg_node_string(method, "name", "");
    if (values->line == 0)
        return fail_not_written(name, key, err);
    if (values->kind == SG_NODE_LIST && values->count != n)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s:%d:%d: %zu values of %s, and %zu targets (%s): give as many, or a single one",
                       t->recipe->path, values->line, values->column, values->count, key, n, what);
    if (values->kind != SG_NODE_LIST && n > 1 &&
        (is_named(sg_node_get(root, "claims"), name) || is_named(sg_node_get(root, "plots"), name)))
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%s:%d:%d: claims or plots name '%s', of which %zu targets (%s) would make several: give %s a list of %zu "
            "values",
            t->recipe->path, values->line, values->column, name, n, what, key, n);
    return SG_OK;
}

sg_status tune_emit_check(const struct sg_tune *t, tune_key_fn *key_of, size_t n, const char *what,
                          struct sg_error *err) {
    const struct sg_node *methods = sg_node_get(&t->recipe->root, "methods");
    struct sg_node written = {0};
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < methods->count; i++) {
        const struct sg_node *method = &methods->child[i];
        const char *key = tune_is_chosen(t, sg_node_string(method, "name", "")) ? key_of(method) : NULL;
        status = key ? check_values(t, method, key, n, what, err) : SG_OK;
    }
    SG_DO(status, tune_recipe_written(&written, t, NULL, err));
    sg_node_clear(&written);
    return status;
}
