/* recipe_copied.c: methods whose k is copied from the run of another method (`k-from`): what their recipe must have,
 * and which cell each of their cells copies from. */
#include <stdlib.h>
#include <string.h>

#include "recipe_internal.h"
#include "sg_file.h"
#include "sg_json.h"

static void problem(struct sg_check *c, const struct sg_node *at, const char *text) {
    sg_problem_at(c->problems, at->line, at->column, "k-from: %s", text);
}

static bool is_of(const struct sg_label *label, const struct sg_node *method) {
    const char *name = sg_node_string(method, "name", "");
    return strlen(name) == label->name && strncmp(label->text, name, label->name) == 0;
}

static bool may_be(const struct sg_node *choice, const char *word) {
    bool found = choice->kind == SG_NODE_STRING && strcmp(choice->string, word) == 0;
    for (size_t i = 0; i < choice->count; i++)
        found |= may_be(&choice->child[i], word);
    return found;
}

/* `copied` is the section k-from of this method. */
static void check_method(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods,
                         const struct sg_node *method, const struct sg_node *copied) {
    const char *label = sg_node_string(copied, "method", "");
    const struct sg_node *record = sg_node_get(root, "record"), *scope = sg_override(method, root, "scope");
    const struct sg_label *other = sg_label_find(c, label);
    if (other == NULL)
        sg_problem_at(c->problems, copied->line, copied->column,
                      "k-from: no cell has the label '%.100s' (behind the name of a method with lists write their "
                      "values, too)",
                      label);
    for (size_t i = 0; other != NULL && i < methods->count; i++)
        if (is_of(other, &methods->child[i]) && sg_node_member(&methods->child[i], "k-from") != NULL)
            problem(c, copied, "the other method copies k itself");
    if (!sg_node_absent(sg_node_get(method, "k")) || !sg_node_absent(sg_node_get(method, "density")))
        problem(c, copied, "it takes the place of 'k' and 'density' (leave these out)");
    if (scope != NULL && may_be(scope, "model"))
        problem(c, copied, "what is copied are numbers of layers (needs scope: layer)");
    if (sg_node_number(record, "every", 1) > 1 || !sg_node_bool(record, "layers", false) ||
        !sg_node_bool(record, "workers", false))
        problem(c, copied,
                "it goes by what each worker sends at each step (add record.every: 1, layers: true, workers: "
                "true)");
}

void sg_check_copied(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods) {
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *copied = sg_node_member(&methods->child[i], "k-from");
        if (copied != NULL)
            check_method(c, root, methods, &methods->child[i], copied);
    }
}

/* ---- cells ---- */

bool sg_cell_set_key(struct sg_cell *cell) {
    cJSON *json = sg_node_json(&cell->resolved);
    char *text = json != NULL ? sg_json_text(json, false) : NULL;
    cJSON_Delete(json);
    if (text == NULL)
        return false;
    sg_sha256_of(text, strlen(text), cell->key);
    free(text);
    return true;
}

/* The cell with this label and seed; NULL = there is none. */
static const struct sg_cell *cell_of(const struct sg_cell *cells, size_t count, const char *label, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        if (cells[i].seed == seed && strcmp(cells[i].label, label) == 0)
            return &cells[i];
    return NULL;
}

/* Appends the text under the key `key`. */
static bool push_key(struct sg_node *map, const char *text) {
    struct sg_node node = {0};
    if (sg_node_set_string(&node, text, strlen(text)) && sg_node_set_key(&node, "key"))
        return sg_node_push(map, &node);
    sg_node_clear(&node);
    return false;
}

bool sg_cells_link(struct sg_cell *cells, size_t count) {
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        struct sg_node *copied = sg_node_member(sg_node_member(&cells[i].resolved, "method"), "k-from");
        const struct sg_cell *from =
            copied != NULL ? cell_of(cells, count, sg_node_string(copied, "method", ""), cells[i].seed) : NULL;
        if (from == NULL)
            continue;
        fine = push_key(copied, from->key) && sg_cell_set_key(&cells[i]);
        cells[i].source = sg_node_string(copied, "key", NULL);
    }
    return fine;
}
