/* recipe_runs.c: expands a recipe into its runs, methods x lists. Checks, labels and cells all go by these runs. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_memory.h"

/* ---- the tree of a run ---- */

void sg_push_copy(struct sg_node *map, const char *key, const struct sg_node *from) {
    struct sg_node copy = {0};
    if (from)
        sg_node_copy(&copy, from);
    sg_node_set_key(&copy, key);
    sg_node_push(map, &copy);
}

const struct sg_node *sg_override(const struct sg_node *method, const struct sg_node *root, const char *key) {
    const struct sg_node *own = sg_node_member(method, key);
    return own ? own : sg_node_member(root, key);
}

/* The keys of a section, ending with NULL, that a method may override. */
static const char *const task_own[] = {"shards", "sharding", NULL}, *const optimizer_own[] = {"learning-rate", NULL};

/* The method's value of this child of a section if it overrides it, else the section's value. */
static const struct sg_node *own_or(const struct sg_node *child, const struct sg_node *method, const char *const *own) {
    while (*own && strcmp(child->key, *own) != 0)
        own++;
    const struct sg_node *given = *own ? sg_node_member(method, *own) : NULL;
    return given ? given : child;
}

/* Appends the section `key` of the method, or else the recipe's, with the values of the keys `own` that the method
 * overrides. */
static void push_section(struct sg_node *out, const struct sg_node *root, const struct sg_node *method, const char *key,
                         const char *const *own) {
    const struct sg_node *section = sg_override(method, root, key);
    if (!section || section->kind != SG_NODE_MAP) {
        sg_push_copy(out, key, section);
        return;
    }
    struct sg_node copy = {.kind = SG_NODE_MAP, .line = section->line, .column = section->column};
    for (size_t i = 0; i < section->count; i++)
        sg_push_copy(&copy, section->child[i].key, own_or(&section->child[i], method, own));
    sg_node_set_key(&copy, key);
    sg_node_push(out, &copy);
}

/* The length that a map gives, in either unit; NULL = none. */
static const struct sg_node *length_of(const struct sg_node *map) {
    const struct sg_node *epochs = sg_node_member(map, "epochs");
    return epochs ? epochs : sg_node_member(map, "steps");
}

/* Appends the length of a run. A method's length replaces the recipe's, in either unit. But --set steps=5 applies to
 * all methods, except those whose lengths are also set by --set. */
static void push_length(struct sg_node *out, const struct sg_node *root, const struct sg_node *method) {
    const struct sg_node *own = length_of(method), *common = length_of(root);
    const struct sg_node *from = own && (sg_node_from_set(own) || !common || !sg_node_from_set(common)) ? method : root;
    const struct sg_node *epochs = sg_node_member(from, "epochs"), *steps = sg_node_member(from, "steps");
    if (epochs && steps) /* the check of the recipe has yet to choose the one that is set */
        *(sg_node_from_set(steps) ? &epochs : &steps) = NULL;
    sg_push_copy(out, "epochs", epochs);
    sg_push_copy(out, "steps", steps);
}

/* Multiplies a number, or each of a list; a whole one stays whole and above 0. */
static void multiply(struct sg_node *node, double by, bool whole) {
    char text[32];
    for (size_t i = 0; node->kind == SG_NODE_LIST && i < node->count; i++)
        multiply(&node->child[i], by, whole);
    if (node->kind != SG_NODE_NUMBER)
        return;
    snprintf(text, sizeof text, "%.17g", whole ? fmax(1, round(node->number * by)) : node->number * by);
    free(node->string);
    sg_node_set_plain(node, text, strlen(text));
}

/* Carries out `stretch`, and takes it away: the run is that of a recipe in which the longer schedule is written. */
static void stretch(struct sg_node *resolved) {
    struct sg_node *given = sg_node_member(resolved, "stretch");
    if (!given)
        return;
    const double by = given->number;
    sg_node_remove(resolved, given);
    struct sg_node *optimizer = sg_node_member(resolved, "optimizer");
    struct sg_node *const of[] = {sg_node_member(resolved, "epochs"), sg_node_member(resolved, "steps"),
                                  sg_node_member(optimizer, "warm-up-epochs"), sg_node_member(optimizer, "decay-at")};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i])
            multiply(of[i], by, i == 1);
}

/* {compressor, its parameters} of the method, and the sections controller, values and k-from if it has them. */
static void push_choice(struct sg_node *out, const struct sg_node *method, const struct sg_compressor_ops *ops) {
    static const char *const section[] = {"controller", "values", "k-from"};
    struct sg_node choice = {.kind = SG_NODE_MAP, .line = method->line, .column = method->column};
    sg_push_copy(&choice, "compressor", sg_node_member(method, "compressor"));
    for (size_t i = 0; i < ops->n_params; i++)
        sg_push_copy(&choice, ops->params[i].name, sg_node_member(method, ops->params[i].name));
    for (size_t i = 0; i < sizeof section / sizeof *section; i++)
        if (sg_node_member(method, section[i]))
            sg_push_copy(&choice, section[i], sg_node_member(method, section[i]));
    sg_push_copy(out, "method", &choice);
    sg_node_clear(&choice);
}

static void resolve(struct sg_node *out, const struct sg_node *root, const struct sg_node *method,
                    const struct sg_compressor_ops *ops) {
    const struct sg_node *share = sg_node_member(root, "participation");
    *out = (struct sg_node){.kind = SG_NODE_MAP};
    push_section(out, root, method, "task", task_own);
    sg_push_copy(out, "workers", sg_node_member(root, "workers"));
    if (share) /* it is in the resolved tree only if the recipe gives it */
        sg_push_copy(out, "participation", share);
    sg_push_copy(out, "batch", sg_node_member(root, "batch"));
    push_length(out, root, method);
    if (sg_override(method, root, "stretch"))
        sg_push_copy(out, "stretch", sg_override(method, root, "stretch"));
    push_section(out, root, method, "optimizer", optimizer_own);
    sg_push_copy(out, "error-feedback", sg_override(method, root, "error-feedback"));
    sg_push_copy(out, "scope", sg_override(method, root, "scope"));
    sg_push_copy(out, "message", sg_override(method, root, "message"));
    sg_push_copy(out, "record", sg_node_member(root, "record"));
    push_choice(out, method, ops);
}

/* Gives every worker of the run its share of the total batch, if the recipe has one. */
static void share_batch(struct sg_node *resolved, const struct sg_node *root) {
    const struct sg_node *total = sg_node_member(root, "total-batch");
    char share[32];
    if (!total)
        return;
    struct sg_node *batch = sg_node_member(resolved, "batch");
    snprintf(share, sizeof share, "%.0f", total->number / sg_node_number(resolved, "workers", 1));
    free(batch->string);
    sg_node_set_plain(batch, share, strlen(share));
}

/* ---- choices of one entry of each list of values ---- */

/* A list from which one entry is chosen. */
struct list {
    struct sg_node *node;
    char path[64]; /* "optimizer.learning-rate" */
};

enum { LISTS = 64 }; /* more than there are keys that may be lists */

/* Appends the lists of choices in a map and in its sections, in the order of the keys, to the n lists so far; returns
 * the new number. `section` is the path of the map with a dot at its end, `leave` a key that is skipped, or NULL. */
static size_t find_lists(struct sg_node *map, const char *section, const char *leave, struct list list[LISTS],
                         size_t n) {
    for (size_t i = 0; i < map->count && n < LISTS; i++) {
        struct sg_node *child = &map->child[i];
        char path[64];
        snprintf(path, sizeof path, "%s%s", section, child->key);
        if (leave && strcmp(child->key, leave) == 0)
            continue;
        if (child->kind == SG_NODE_LIST && child->choices) {
            list[n].node = child;
            memcpy(list[n++].path, path, sizeof path);
        } else if (child->kind == SG_NODE_MAP) {
            snprintf(path, sizeof path, "%s%s.", section, child->key);
            n = find_lists(child, path, NULL, list, n);
        }
    }
    return n;
}

static const char *text_of(const struct sg_node *value) {
    return value->kind == SG_NODE_BOOL ? (value->boolean ? "true" : "false") : value->string ? value->string : "";
}

/* Adds the entry to the label, and to the map of swept values unless it is NULL. A key that is in the label already is
 * written as its path. */
static void tell_entry(const struct list *list, const struct sg_node *entry, char **label, struct sg_node *swept) {
    char told[80];
    snprintf(told, sizeof told, " %s=", list->node->key);
    const char *key = swept && strstr(*label, told) ? list->path : list->node->key;
    char *longer = sg_format("%s %s=%s", *label, key, text_of(entry));
    free(*label);
    *label = longer;
    if (swept)
        sg_push_copy(swept, key, entry);
}

/* Replaces the list by one of its entries. */
static void choose_entry(const struct list *from, size_t at, char **label, struct sg_node *swept) {
    struct sg_node *list = from->node, entry;
    tell_entry(from, &list->child[at], label, swept);
    sg_node_copy(&entry, &list->child[at]);
    entry.key = list->key;
    entry.key_line = list->key_line;
    entry.key_column = list->key_column;
    list->key = NULL;
    sg_node_clear(list);
    *list = entry;
}

/* Replaces the lists of the run by their entries at this turn, and completes label, base and swept by them. The lists
 * of the method's parameters come first, and the last list varies fastest. Returns how many turns there are. */
static size_t choose_run(struct sg_recipe_run *run, size_t turn) {
    struct list list[LISTS];
    size_t at[LISTS], turns = 1;
    const size_t own = find_lists(sg_node_member(&run->resolved, "method"), "", NULL, list, 0);
    const size_t n = find_lists(&run->resolved, "", "method", list, own);
    for (size_t i = n; i-- > 0; turn /= list[i].node->count) {
        at[i] = turn % list[i].node->count;
        turns = turns > SG_LABELS ? turns : turns * list[i].node->count; /* more are an error anyway */
    }
    for (size_t i = 0; i < n; i++) {
        choose_entry(&list[i], at[i], &run->label, i < own ? NULL : &run->swept);
        run->base = i < own ? strlen(run->label) : run->base;
    }
    return turns;
}

size_t sg_expand_method(struct sg_recipe_run **run, size_t count, const struct sg_node *root,
                        const struct sg_node *method) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    const char *name = sg_node_string(method, "name", "");
    size_t turns = ops ? 1 : 0;
    for (size_t turn = 0; turn < turns && count <= SG_LABELS; turn++) {
        struct sg_recipe_run next = {.method = method, .label = sg_strdup(name), .base = strlen(name)};
        next.swept.kind = SG_NODE_MAP;
        resolve(&next.resolved, root, method, ops);
        turns = choose_run(&next, turn);
        share_batch(&next.resolved, root);
        stretch(&next.resolved);
        next.trials = sg_find_draw(&next.resolved) ? sg_trials(root) : 0;
        *run = sg_realloc(*run, (count + 1) * sizeof **run);
        (*run)[count++] = next;
    }
    return count;
}

void sg_runs_free(struct sg_recipe_run *run, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(run[i].label);
        sg_node_clear(&run[i].resolved);
        sg_node_clear(&run[i].swept);
    }
    free(run);
}
