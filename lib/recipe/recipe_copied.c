/* recipe_copied.c: methods whose k is copied from the run of another method (`k-from`): what their recipe must have,
 * and which cell each of their cells copies from. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_file.h"
#include "sg_json.h"

static bool may_be(const struct sg_node *choice, const char *word) {
    bool found = choice->kind == SG_NODE_STRING && strcmp(choice->string, word) == 0;
    for (size_t i = 0; i < choice->count; i++)
        found |= may_be(&choice->child[i], word);
    return found;
}

/* True if both runs have as many workers and as many steps. Steps of epochs depend on the batch. */
static bool are_as_long(const struct sg_node *a, const struct sg_node *b) {
    static const char *const key[] = {"workers", "steps", "epochs", "batch"};
    const bool counts_steps = sg_node_number(a, "steps", 0) > 0; /* the batch does not matter */
    bool same = true;
    for (size_t i = 0; i < sizeof key / sizeof *key - counts_steps; i++)
        same = same && sg_node_number(a, key[i], 0) == sg_node_number(b, key[i], 0);
    return same;
}

/* Every run of the method copies from the run `other`, which must have as many workers and steps. */
static void check_source(struct sg_check *c, const struct sg_node *method, const struct sg_node *copied,
                         const struct sg_recipe_run *other) {
    if (sg_node_member(other->method, "k-from"))
        SG_PROBLEM(c, copied, "k-from: the other method copies k itself");
    if (sg_find_draw(&other->resolved))
        SG_PROBLEM(c, copied,
                   "k-from: the other method has a range, and so several runs at a seed (give it one value)");
    for (size_t i = 0; i < c->n_runs; i++)
        if (c->run[i].method == method && !are_as_long(&c->run[i].resolved, &other->resolved)) {
            SG_PROBLEM(c, copied,
                       "k-from: '%.60s' has other workers or steps than '%.60s' (leave out the list, or write a "
                       "method for each of its values)",
                       c->run[i].label, other->label);
            return;
        }
}

/* `copied` is the section k-from of this method. */
static void check_method(struct sg_check *c, const struct sg_node *root, const struct sg_node *method,
                         const struct sg_node *copied) {
    const char *label = sg_node_string(copied, "method", "");
    const struct sg_node *scope = sg_override(method, root, "scope");
    const struct sg_recipe_run *other = sg_label_find(c, label);
    if (!other)
        SG_PROBLEM(c, copied,
                   "k-from: no cell has the label '%.100s' (behind the name of a method with lists write their "
                   "values, too)",
                   label);
    else
        check_source(c, method, copied, other);
    if (!sg_node_absent(sg_node_get(method, "k")) || !sg_node_absent(sg_node_get(method, "density")))
        SG_PROBLEM(c, copied, "k-from: it takes the place of 'k' and 'density' (leave these out)");
    if (scope && may_be(scope, "model"))
        SG_PROBLEM(c, copied, "k-from: what is copied are numbers of layers (needs scope: layer)");
    if (!sg_records_messages(root))
        SG_PROBLEM(
            c, copied,
            "k-from: it goes by what each worker sends at each step (add record.every: 1, layers: true, workers: "
            "true)");
}

void sg_check_copied(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods) {
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *copied = sg_node_member(&methods->child[i], "k-from");
        if (copied)
            check_method(c, root, &methods->child[i], copied);
    }
}

/* ---- cells ---- */

void sg_cell_set_key(struct sg_cell *cell) {
    cJSON *json = sg_node_json(&cell->resolved);
    char *text = sg_json_text(json, false);
    cJSON_Delete(json);
    sg_sha256_of(text, strlen(text), cell->key);
    free(text);
}

/* The cell with this label and seed; NULL = there is none. */
static const struct sg_cell *cell_of(const struct sg_cell *cells, size_t count, const char *label, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        if (cells[i].seed == seed && strcmp(cells[i].label, label) == 0)
            return &cells[i];
    return NULL;
}

/* Appends the text under the key `key`. */
static void push_key(struct sg_node *map, const char *text) {
    struct sg_node node = {0};
    sg_node_set_string(&node, text, strlen(text));
    sg_node_set_key(&node, "key");
    sg_node_push(map, &node);
}

void sg_cells_link(struct sg_cell *cells, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct sg_node *copied = sg_node_member(sg_node_member(&cells[i].resolved, "method"), "k-from");
        const struct sg_cell *from =
            copied ? cell_of(cells, count, sg_node_string(copied, "method", ""), cells[i].seed) : NULL;
        if (!from)
            continue;
        push_key(copied, from->key);
        sg_cell_set_key(&cells[i]);
        cells[i].source = sg_node_string(copied, "key", NULL);
    }
}
