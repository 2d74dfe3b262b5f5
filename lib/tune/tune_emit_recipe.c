/* tune_emit_recipe.c: writes what was found into the recipe's own text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_compressor.h"
#include "tune_private.h"

enum { LABEL_CHARS = 256 };

struct edits {
    struct sg_recipe_edit *edit;
    size_t n, capacity;
    char *text; /* texts that the edits borrow, one after the other */
    size_t used, size;
};

/* Copies a text for the edits; its room was counted before. */
static const char *keep(struct edits *e, const char *text) {
    char *at = e->text + e->used;
    const size_t length = strlen(text) + 1;
    if (e->used + length > e->size)
        return NULL;
    memcpy(at, text, length);
    e->used += length;
    return at;
}

static bool push(struct edits *e, int line, int column, const char *value, const char *comment) {
    if (e->n == e->capacity)
        return false;
    struct sg_recipe_edit *edit = &e->edit[e->n++];
    *edit = (struct sg_recipe_edit){.line = line, .column = column};
    edit->value = value ? keep(e, value) : NULL;
    edit->comment = comment ? keep(e, comment) : NULL;
    return edit->value || edit->comment;
}

/* A label as a YAML value, in quotes unless it is words and numbers. */
static void quote(char out[2 * LABEL_CHARS], const char *label) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+./=_% ";
    size_t n = 0;
    if (strspn(label, plain) == strlen(label) && strchr("-+./=_% 0123456789", *label) == NULL) {
        snprintf(out, 2 * LABEL_CHARS, "%s", label);
        return;
    }
    out[n++] = '\'';
    for (const char *c = label; *c; c++) {
        out[n++] = *c;
        if (*c == '\'')
            out[n++] = '\'';
    }
    snprintf(out + n, 2, "'");
}

/* Renames the cell `from` to `to` where claims and plots name it. */
static bool rename_cells(struct edits *e, const struct sg_node *node, const char *from, const char *to) {
    for (size_t i = 0; i < node->count; i++) {
        const struct sg_node *child = &node->child[i];
        const bool names =
            (child->key && strcmp(child->key, "of") == 0) || (node->key && strcmp(node->key, "methods") == 0);
        char quoted[2 * LABEL_CHARS];
        if (!rename_cells(e, child, from, to))
            return false;
        if (!names || child->kind != SG_NODE_STRING || child->line == 0 || strcmp(child->string, from) != 0)
            continue;
        quote(quoted, to);
        if (!push(e, child->line, child->column, quoted, NULL))
            return false;
    }
    return true;
}

static const struct sg_node *method_of(const struct sg_recipe *recipe, const char *name) {
    const struct sg_node *methods = sg_node_get(&recipe->root, "methods");
    for (size_t i = 0; i < methods->count; i++)
        if (strcmp(sg_node_string(&methods->child[i], "name", ""), name) == 0)
            return &methods->child[i];
    return NULL;
}

/* The column (from 1) of the dash of a list item that has its own line; 0 = the item stands in brackets. */
static int dash_column(const char *text, const struct sg_node *item) {
    for (int line = 1; text && line < item->line; line++)
        text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    const size_t dash = text ? strspn(text, " ") : 0;
    return text && text[dash] == '-' && dash + strspn(text + dash + 1, " ") + 2 == (size_t)item->column ? (int)dash + 1
                                                                                                        : 0;
}

/* Appends a value to a list unless it is there. */
static bool append_value(struct edits *e, const char *recipe, double value, const struct sg_node *list) {
    char text[TUNE_LAMBDA_CHARS], both[2 * LABEL_CHARS];
    const struct sg_node *last = &list->child[list->count - 1];
    tune_round(value, text);
    for (size_t i = 0; i < list->count; i++)
        if (list->child[i].number == value)
            return true;
    const int dash = dash_column(recipe, last);
    if (dash > 0)
        snprintf(both, sizeof both, "%s\n%*s %s", last->string, dash, "-", text);
    else
        snprintf(both, sizeof both, "%s, %s", last->string, text);
    return push(e, last->line, last->column, both, NULL);
}

/* Replaces the values of a list one by one, and a single value by a value or a list. */
static bool replace_values(struct edits *e, const struct sg_recipe *recipe, const struct tune_found *f,
                           const struct sg_node *values) {
    char text[TUNE_LAMBDA_CHARS], list[4096] = "[", label[2][LABEL_CHARS];
    size_t used = 1;
    bool fine = true;
    for (size_t i = 0; fine && i < f->n; i++) {
        tune_round(f->value[i], text);
        if (values->kind != SG_NODE_LIST) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", text);
            fine = used + 2 < sizeof list;
            continue;
        }
        const struct sg_node *old = &values->child[i];
        snprintf(label[0], LABEL_CHARS, "%s %s=%s", f->name, f->key, old->string);
        snprintf(label[1], LABEL_CHARS, "%s %s=%s", f->name, f->key, text);
        fine = push(e, old->line, old->column, text, NULL);
        for (int part = 0; fine && part < 2; part++)
            fine = rename_cells(e, sg_node_get(&recipe->root, part ? "plots" : "claims"), label[0], label[1]);
    }
    if (fine && values->kind != SG_NODE_LIST) {
        snprintf(list + used, sizeof list - used, "]");
        fine = push(e, values->line, values->column, f->n == 1 ? text : list, NULL);
    }
    return fine;
}

static size_t count_nodes(const struct sg_node *node) {
    size_t n = 1;
    for (size_t i = 0; i < node->count; i++)
        n += count_nodes(&node->child[i]);
    return n;
}

static bool make_edits(struct edits *e, const struct sg_tune *t, const struct tune_found *found, size_t n_methods) {
    e->capacity = count_nodes(&t->recipe->root) + 2 * t->grid.n_set + 64;
    for (size_t m = 0; m < n_methods; m++)
        e->capacity += 2 * found[m].n;
    e->size = e->capacity * 2 * LABEL_CHARS;
    for (size_t s = 0; s < t->grid.n_set; s++)
        e->size += strlen(t->grid.set[s]);
    e->edit = calloc(e->capacity, sizeof *e->edit);
    e->text = malloc(e->size);
    bool fine = e->edit && e->text;
    for (size_t m = 0; fine && m < n_methods; m++) {
        const struct sg_node *method = method_of(t->recipe, found[m].name);
        for (size_t s = 0; fine && m == 0 && s < t->grid.n_set; s++) {
            char *text = NULL;
            fine = asprintf(&text, "found with --set '%s', which is not in this file: give it again", t->grid.set[s]) >=
                       0 &&
                   push(e, method->line, 0, NULL, text);
            free(text);
        }
        for (size_t i = 0; fine && (i < found[m].n || (i == 0 && found[m].failed)); i++)
            fine = push(e, method->line, 0, NULL, found[m].how[i]);
        if (found[m].n == 0)
            continue;
        const struct sg_node *values = sg_node_get(method, found[m].key);
        fine = fine && (found[m].appends && values->kind == SG_NODE_LIST
                            ? append_value(e, t->recipe->text, found[m].value[0], values)
                            : replace_values(e, t->recipe, &found[m], values));
    }
    return fine;
}

sg_status tune_emit_recipe(char **out, const struct sg_tune *t, const struct tune_found *found, size_t n_methods,
                           struct sg_error *err) {
    struct edits e = {.n = 0};
    struct sg_recipe check = {0};
    char *text = NULL;
    sg_status status = make_edits(&e, t, found, n_methods) ? SG_OK : sg_fail_memory(err, "the tuned recipe");
    SG_DO(status, sg_recipe_edited(&text, t->recipe, e.edit, e.n, err));
    if (status == SG_OK) {
        status = sg_recipe_parse(&check, text, strlen(text), t->recipe->path, NULL, 0, err);
        if (status != SG_OK)
            sg_prefix(err, "what was found does not fit into the recipe's text: ");
    }
    if (status == SG_OK) {
        *out = text;
        text = NULL;
    }
    sg_recipe_free(&check);
    free(text);
    free(e.edit);
    free(e.text);
    return status;
}

/* ---- before anything is run ---- */

/* Does a claim or a plot name this cell? */
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
        return sg_fail(err, SG_ERR_ARGUMENT, "method '%s': its %s is from --set; write it into the recipe to tune it",
                       name, key);
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

/* A value that a key of a method may have, another one for each i. */
static double some_value(const struct sg_node *method, const char *key, size_t i) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    for (size_t p = 0; ops != NULL && p < ops->n_params; p++)
        if (strcmp(ops->params[p].name, key) == 0 && ops->params[p].integer)
            return ops->params[p].min + (double)i + 1;
    return 0.01234 * (double)(i + 1);
}

/* Tries whether the recipe takes values like those that will be found. found [n_methods] has names and keys. */
static sg_status try_write(const struct sg_tune *t, struct tune_found *found, size_t n_methods, size_t n,
                           struct sg_error *err) {
    double *value = calloc(n_methods * n + 1, sizeof *value);
    char(*how)[TUNE_HOW_CHARS] = calloc(n + 1, sizeof *how);
    char *text = NULL;
    sg_status status = value && how ? SG_OK : sg_fail_memory(err, "the tuned recipe");
    for (size_t m = 0; status == SG_OK && m < n_methods; m++) {
        found[m].n = n;
        found[m].value = value + m * n;
        for (size_t i = 0; i < n; i++)
            found[m].value[i] = some_value(method_of(t->recipe, found[m].name), found[m].key, i);
        found[m].how = how;
    }
    SG_DO(status, tune_emit_recipe(&text, t, found, n_methods, err));
    free(text);
    free(how);
    free(value);
    return status;
}

sg_status tune_emit_check(const struct sg_tune *t, tune_key_fn *key_of, size_t n, const char *what,
                          struct sg_error *err) {
    const struct sg_node *methods = sg_node_get(&t->recipe->root, "methods");
    struct tune_found *found = calloc(methods->count + 1, sizeof *found);
    size_t n_tuned = 0;
    sg_status status = found ? SG_OK : sg_fail_memory(err, "the tuned recipe");
    for (size_t i = 0; status == SG_OK && i < methods->count; i++) {
        const struct sg_node *method = &methods->child[i];
        const char *key = key_of(method);
        if (key == NULL)
            continue;
        found[n_tuned++] = (struct tune_found){.name = sg_node_string(method, "name", ""), .key = key};
        status = check_values(t, method, key, n, what, err);
    }
    SG_DO(status, try_write(t, found, n_tuned, n, err));
    free(found);
    return status;
}
