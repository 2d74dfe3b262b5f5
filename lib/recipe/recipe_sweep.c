/* recipe_sweep.c: expands claims and plots that name a method without the value of a list. If workers is a list,
 * 'Top-k k=1' means 'Top-k k=1 workers=4' and 'Top-k k=1 workers=8'. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_private.h"

bool sg_is_variant_of(const struct sg_recipe_run *run, const char *name) {
    return strlen(name) == run->base && run->label[run->base] != '\0' && strncmp(run->label, name, run->base) == 0;
}

const struct sg_recipe_run *sg_label_find(const struct sg_check *c, const char *label) {
    for (size_t i = 0; i < c->n_runs; i++)
        if (strcmp(c->run[i].label, label) == 0)
            return &c->run[i];
    return NULL;
}

bool sg_is_swept_label(const struct sg_check *c, const char *name) {
    for (size_t i = 0; i < c->n_runs; i++)
        if (sg_is_variant_of(&c->run[i], name))
            return sg_label_find(c, name) == NULL;
    return false;
}

static bool is_swept_name(const struct sg_check *c, const struct sg_node *node) {
    return node->key && strcmp(node->key, "of") == 0 && node->kind == SG_NODE_STRING &&
           sg_is_swept_label(c, node->string);
}

/* The first name in a claim for which sg_is_swept_label holds; NULL = there is none. */
static const char *find_name(const struct sg_check *c, const struct sg_node *node) {
    const char *found = is_swept_name(c, node) ? node->string : NULL;
    for (size_t i = 0; !found && i < node->count; i++)
        found = find_name(c, &node->child[i]);
    return found;
}

static void append(struct sg_node *node, const char *text) {
    char *whole = sg_format("%s%s", node->string, text);
    free(node->string);
    node->string = whole;
}

/* Appends these values, as " workers=4", to all names in a claim for which sg_is_swept_label holds. */
static void put_values(struct sg_check *c, struct sg_node *node, const char *values) {
    if (is_swept_name(c, node)) {
        append(node, values);
        if (!sg_label_find(c, node->string)) {
            char name[SG_EXCERPT];
            SG_PROBLEM(c, node, "there is no method '%s', which this claim compares at each value of the lists",
                       sg_excerpt(name, node->string));
        }
    }
    for (size_t i = 0; i < node->count; i++)
        put_values(c, &node->child[i], values);
}

/* Appends a copy of the node to the list, and returns it. */
static struct sg_node *push_copy(struct sg_node *out, const struct sg_node *node) {
    struct sg_node copy;
    sg_node_copy(&copy, node);
    sg_node_push(out, &copy);
    return &out->child[out->count - 1];
}

static void push_variant(struct sg_check *c, struct sg_node *out, const struct sg_node *claim, const char *values) {
    struct sg_node *copy = push_copy(out, claim);
    put_values(c, copy, values);
    for (size_t i = 0; i < copy->count; i++)
        if (strcmp(copy->child[i].key, "text") == 0) {
            append(&copy->child[i], " (");
            append(&copy->child[i], values + 1);
            append(&copy->child[i], ")");
        }
}

void sg_expand_claims(struct sg_check *c, struct sg_node *claims) {
    struct sg_node out = {.kind = SG_NODE_LIST, .line = claims->line, .column = claims->column};
    for (size_t i = 0; i < claims->count; i++) {
        const char *name = find_name(c, &claims->child[i]);
        if (!name)
            push_copy(&out, &claims->child[i]);
        for (size_t r = 0; name && r < c->n_runs; r++)
            if (sg_is_variant_of(&c->run[r], name))
                push_variant(c, &out, &claims->child[i], c->run[r].label + c->run[r].base);
    }
    sg_node_clear(claims);
    *claims = out;
}

bool sg_is_method(const struct sg_check *c, const char *name) {
    for (size_t i = 0; i < c->n_runs; i++)
        if (strcmp(sg_node_string(c->run[i].method, "name", ""), name) == 0)
            return true;
    return false;
}

void sg_expand_plot_methods(struct sg_check *c, struct sg_node *methods) {
    struct sg_node out = {.kind = SG_NODE_LIST, .line = methods->line, .column = methods->column};
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *name = &methods->child[i];
        /* The name of a method stands for all of its cells in plots anyway. */
        const bool swept = sg_is_swept_label(c, name->string) && !sg_is_method(c, name->string);
        if (!swept)
            push_copy(&out, name);
        for (size_t r = 0; swept && r < c->n_runs; r++)
            if (sg_is_variant_of(&c->run[r], name->string))
                append(push_copy(&out, name), c->run[r].label + c->run[r].base);
    }
    sg_node_clear(methods);
    *methods = out;
}
