/* recipe_sweep.c: expands claims and plots that name a method without the value of a list. If workers is a list,
 * 'Top-k k=1' means 'Top-k k=1 workers=4' and 'Top-k k=1 workers=8'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_internal.h"

bool sg_is_variant_of(const struct sg_label *label, const char *name) {
    return strlen(name) == label->base && label->text[label->base] != '\0' &&
           strncmp(label->text, name, label->base) == 0;
}

const struct sg_label *sg_label_find(const struct sg_check *c, const char *text) {
    for (size_t i = 0; i < c->n_labels; i++)
        if (strcmp(c->label[i].text, text) == 0)
            return &c->label[i];
    return NULL;
}

bool sg_is_swept_label(const struct sg_check *c, const char *name) {
    for (size_t i = 0; i < c->n_labels; i++)
        if (sg_is_variant_of(&c->label[i], name))
            return sg_label_find(c, name) == NULL;
    return false;
}

static bool is_swept_name(const struct sg_check *c, const struct sg_node *node) {
    return node->key != NULL && strcmp(node->key, "of") == 0 && node->kind == SG_NODE_STRING &&
           sg_is_swept_label(c, node->string);
}

/* The first name in a claim for which sg_is_swept_label holds; NULL = there is none. */
static const char *find_name(const struct sg_check *c, const struct sg_node *node) {
    const char *found = is_swept_name(c, node) ? node->string : NULL;
    for (size_t i = 0; found == NULL && i < node->count; i++)
        found = find_name(c, &node->child[i]);
    return found;
}

static bool append(struct sg_node *node, const char *text) {
    char *whole = NULL;
    if (asprintf(&whole, "%s%s", node->string, text) < 0)
        return false;
    free(node->string);
    node->string = whole;
    return true;
}

/* Appends these values, as " workers=4", to all names in a claim for which sg_is_swept_label holds. */
static bool put_values(struct sg_check *c, struct sg_node *node, const char *values) {
    bool fine = true;
    if (is_swept_name(c, node)) {
        fine = append(node, values);
        if (fine && sg_label_find(c, node->string) == NULL) {
            char name[SG_EXCERPT];
            SG_PROBLEM(c, node, "there is no method '%s', which this claim compares at each value of the lists",
                       sg_excerpt(name, node->string));
        }
    }
    for (size_t i = 0; fine && i < node->count; i++)
        fine = put_values(c, &node->child[i], values);
    return fine;
}

static bool push_variant(struct sg_check *c, struct sg_node *out, const struct sg_node *claim, const char *values) {
    struct sg_node copy = {0};
    bool fine = sg_node_copy(&copy, claim) && put_values(c, &copy, values);
    for (size_t i = 0; fine && i < copy.count; i++)
        if (strcmp(copy.child[i].key, "text") == 0)
            fine = append(&copy.child[i], " (") && append(&copy.child[i], values + 1) && append(&copy.child[i], ")");
    if (fine && sg_node_push(out, &copy))
        return true;
    sg_node_clear(&copy);
    return false;
}

static bool push_copy(struct sg_node *out, const struct sg_node *node) {
    struct sg_node copy;
    return sg_node_copy(&copy, node) && sg_node_push(out, &copy);
}

/* Replaces a list by another one. */
static bool replace(struct sg_node *list, struct sg_node *by, bool fine) {
    sg_node_clear(fine ? list : by);
    if (fine)
        *list = *by;
    return fine;
}

bool sg_expand_claims(struct sg_check *c, struct sg_node *claims) {
    struct sg_node out = {.kind = SG_NODE_LIST, .line = claims->line, .column = claims->column};
    bool fine = true;
    for (size_t i = 0; fine && i < claims->count; i++) {
        const char *name = find_name(c, &claims->child[i]);
        if (name == NULL)
            fine = push_copy(&out, &claims->child[i]);
        for (size_t l = 0; fine && name != NULL && l < c->n_labels; l++)
            if (sg_is_variant_of(&c->label[l], name))
                fine = push_variant(c, &out, &claims->child[i], c->label[l].text + c->label[l].base);
    }
    return replace(claims, &out, fine);
}

bool sg_is_method(const struct sg_check *c, const char *name) {
    for (size_t i = 0; i < c->n_labels; i++)
        if (strlen(name) == c->label[i].name && strncmp(c->label[i].text, name, c->label[i].name) == 0)
            return true;
    return false;
}

bool sg_expand_plot_methods(struct sg_check *c, struct sg_node *methods) {
    struct sg_node out = {.kind = SG_NODE_LIST, .line = methods->line, .column = methods->column};
    bool fine = true;
    for (size_t i = 0; fine && i < methods->count; i++) {
        const struct sg_node *name = &methods->child[i];
        /* The name of a method stands for all of its cells in plots anyway. */
        const bool swept = sg_is_swept_label(c, name->string) && !sg_is_method(c, name->string);
        if (!swept)
            fine = push_copy(&out, name);
        for (size_t l = 0; fine && swept && l < c->n_labels; l++)
            if (sg_is_variant_of(&c->label[l], name->string))
                fine = push_copy(&out, name) && append(&out.child[out.count - 1], c->label[l].text + c->label[l].base);
    }
    return replace(methods, &out, fine);
}
