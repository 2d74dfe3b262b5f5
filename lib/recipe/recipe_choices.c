/* recipe_choices.c: chooses one entry of each list of values. */
#include <stdlib.h>
#include <string.h>

#include "recipe_internal.h"
#include "sg_compressor.h"
#include "sg_debug.h"

bool sg_push_copy(struct sg_node *map, const char *key, const struct sg_node *from) {
    struct sg_node copy = {0};
    if (from != NULL && !sg_node_copy(&copy, from))
        return false;
    if (!sg_node_set_key(&copy, key)) {
        sg_node_clear(&copy);
        return false;
    }
    return sg_node_push(map, &copy);
}

static bool append_label(char **label, const char *key, const char *value) {
    SG_ASSERT(*label != NULL);
    size_t size = strlen(*label) + strlen(key) + strlen(value) + 3;
    char *longer = malloc(size);
    if (longer == NULL)
        return false;
    snprintf(longer, size, "%s %s=%s", *label, key, value);
    free(*label);
    *label = longer;
    return true;
}

/* A list from which one entry is chosen. */
struct list {
    struct sg_node *node;
    char path[64]; /* "optimizer.learning-rate" */
};

enum { LISTS = 64 }; /* more than there are keys that may be lists */

/* The lists of choices in a map and in its sections, in the order of the keys, behind the n that are there; returns how
 * many. `section` is the path of the map with a dot behind it, `leave` a key that is left out, or NULL. */
static size_t find_lists(struct sg_node *map, const char *section, const char *leave, struct list list[LISTS],
                         size_t n) {
    for (size_t i = 0; i < map->count && n < LISTS; i++) {
        struct sg_node *child = &map->child[i];
        char path[64];
        snprintf(path, sizeof path, "%s%s", section, child->key);
        if (leave != NULL && strcmp(child->key, leave) == 0)
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
    return value->kind == SG_NODE_BOOL ? (value->boolean ? "true" : "false")
           : value->string != NULL     ? value->string
                                       : "";
}

/* Adds the entry to the label, and to the map of swept values if that is wanted. A key that the label has already is
 * told by its path. */
static bool tell_entry(const struct list *list, const struct sg_node *entry, char **label, struct sg_node *swept) {
    char told[80];
    snprintf(told, sizeof told, " %s=", list->node->key);
    const char *key = swept != NULL && strstr(*label, told) != NULL ? list->path : list->node->key;
    return append_label(label, key, text_of(entry)) && (swept == NULL || sg_push_copy(swept, key, entry));
}

/* The list becomes one of its entries. */
static bool choose_entry(const struct list *from, size_t at, char **label, struct sg_node *swept) {
    struct sg_node *list = from->node, entry;
    if (!tell_entry(from, &list->child[at], label, swept) || !sg_node_copy(&entry, &list->child[at]))
        return false;
    entry.key = list->key;
    entry.key_line = list->key_line;
    entry.key_column = list->key_column;
    list->key = NULL;
    sg_node_clear(list);
    *list = entry;
    return true;
}

bool sg_choose_run(struct sg_run_choice *run, size_t turn, bool *past) {
    struct list list[LISTS];
    size_t at[LISTS];
    const size_t own = find_lists(sg_node_member(&run->resolved, "method"), "", NULL, list, 0);
    const size_t n = find_lists(&run->resolved, "", "method", list, own);
    bool fine = true;
    for (size_t i = n; i-- > 0; turn /= list[i].node->count)
        at[i] = turn % list[i].node->count;
    *past = turn > 0;
    for (size_t i = 0; fine && i < n && !*past; i++) {
        fine = choose_entry(&list[i], at[i], &run->label, i < own ? NULL : &run->swept);
        run->base = i < own && fine ? strlen(run->label) : run->base;
    }
    return fine;
}
