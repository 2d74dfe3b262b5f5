/* recipe_override.c: applies --set key=value, and changes that a program makes, to the raw tree. It creates any key;
 * the check that follows reports unknown keys. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "recipe_private.h"
#include "sg_memory.h"
#include "sg_text.h"

static const char *entry_name(const struct sg_node *entry) {
    const struct sg_node *name = entry->kind == SG_NODE_MAP ? sg_node_member(entry, "name") : NULL;
    return name && name->kind == SG_NODE_STRING ? name->string : NULL;
}

/* Finds an entry of a list by its name, which may contain dots (the longest match wins), or by its index from 0. *used
 * is the length taken. */
static struct sg_node *find_entry(const struct sg_node *list, const char *path, size_t *used) {
    struct sg_node *found = NULL;
    *used = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *name = entry_name(&list->child[i]);
        size_t length = name ? strlen(name) : 0;
        if (length > *used && strncmp(path, name, length) == 0 && (path[length] == '.' || path[length] == '\0')) {
            found = &list->child[i];
            *used = length;
        }
    }
    size_t digits = strspn(path, "0123456789");
    if (!found && digits > 0 && digits < 8 && (path[digits] == '.' || path[digits] == '\0')) {
        size_t i = strtoul(path, NULL, 10);
        found = i < list->count ? &list->child[i] : NULL;
        *used = digits;
    }
    return found;
}

static void note_no_entry(const struct sg_node *list, const char *path, int origin, struct sg_problems *p) {
    const char *candidate[SG_MAP_KEYS];
    char word[SG_EXCERPT], name[SG_EXCERPT];
    size_t n = 0;
    for (size_t i = 0; i < list->count && n < SG_MAP_KEYS; i++)
        if ((candidate[n] = entry_name(&list->child[i])) != NULL)
            n++;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(path, "."), path);
    const char *near = sg_suggest(word, candidate, n);
    if (near)
        sg_problem_at(p, 0, origin, "'%s' has no entry '%s' (did you mean '%s'?)", list->key ? list->key : "", word,
                      sg_excerpt(name, near));
    else
        sg_problem_at(p, 0, origin, "'%s' has no entry '%s'; name one, or give an index from 0 to %zu",
                      list->key ? list->key : "", word, list->count > 0 ? list->count - 1 : 0);
}

/* Finds the key of a map up to the next dot, and creates it if absent. */
static struct sg_node *find_member(struct sg_node *map, const char *path, size_t length, int origin) {
    for (size_t i = 0; i < map->count; i++)
        if (strlen(map->child[i].key) == length && memcmp(map->child[i].key, path, length) == 0)
            return &map->child[i];
    struct sg_node child = {.column = origin, .key_column = origin};
    child.key = sg_strndup(path, length);
    sg_node_push(map, &child);
    return &map->child[map->count - 1];
}

/* The node that the path names; NULL: a problem was added. */
static struct sg_node *walk(struct sg_node *root, const char *path, int origin, struct sg_problems *p) {
    struct sg_node *node = root;
    for (int depth = 0; *path != '\0'; depth++) {
        size_t length = strcspn(path, ".");
        if (depth == SG_NODE_DEPTH || length == 0 || (path[length] == '.' && path[length + 1] == '\0')) {
            sg_problem_at(p, 0, origin, "a key is words joined by single dots, at most %d of them", SG_NODE_DEPTH);
            return NULL;
        }
        if (node->kind == SG_NODE_LIST) {
            struct sg_node *entry = find_entry(node, path, &length);
            if (!entry) {
                note_no_entry(node, path, origin, p);
                return NULL;
            }
            node = entry;
        } else if (node->kind == SG_NODE_MAP || node->kind == SG_NODE_NULL) {
            if (node->kind == SG_NODE_MAP && node->count == SG_MAP_KEYS) {
                sg_problem_at(p, 0, origin, "more than %d keys in one section", SG_MAP_KEYS);
                return NULL;
            }
            node->kind = SG_NODE_MAP;
            node = find_member(node, path, length, origin);
        } else {
            sg_problem_at(p, 0, origin, "'%s' is a single value in this recipe: set the whole of it, as %s={…}",
                          node->key ? node->key : "entry", node->key ? node->key : "entry");
            return NULL;
        }
        path += length + (path[length] == '.');
    }
    return node;
}

/* Replaces the node by the value, which gets its key. */
static void put(struct sg_node *place, struct sg_node *take_value) {
    free(take_value->key);
    take_value->key = place->key;
    place->key = NULL;
    sg_node_clear(place);
    *place = *take_value;
    *take_value = (struct sg_node){0};
}

void sg_recipe_set(struct sg_node *root, const char *set, int origin, struct sg_problems *p) {
    const char *equals = strchr(set, '=');
    if (!equals || equals == set) {
        sg_problem_at(p, 0, origin, "write key=value, as workers=4");
        return;
    }
    char *path = sg_strndup(set, (size_t)(equals - set));
    struct sg_node value = {0}, *place = NULL;
    size_t before = p->count;
    sg_yaml_parse(&value, equals + 1, strlen(equals + 1), origin, p);
    if (p->count == before)
        place = walk(root, path, origin, p);
    if (place) {
        value.key_column = origin;
        put(place, &value);
    }
    sg_node_clear(&value);
    free(path);
}

void sg_recipe_change(struct sg_node *root, const struct sg_node *change, struct sg_problems *p) {
    struct sg_node value, *place = walk(root, change->key, SG_ORIGIN_PRESET, p);
    sg_node_copy(&value, change);
    if (place)
        put(place, &value);
    sg_node_clear(&value);
}
