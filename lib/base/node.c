/* node.c: the tree of values that a recipe is read into. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_node.h"
#include "sg_text.h"

void sg_node_set_key(struct sg_node *node, const char *key) {
    free(node->key);
    node->key = sg_strdup(key);
}

void sg_node_set_string(struct sg_node *node, const char *text, size_t length) {
    node->kind = SG_NODE_STRING;
    node->string = sg_malloc(length + 1);
    memcpy(node->string, text, length);
    node->string[length] = '\0';
}

/* [+-] digits [. digits] [e [+-] digits], no leading zero (octal elsewhere), finite. */
static bool is_decimal(const char *text, double *value) {
    const char *s = text + (*text == '+' || *text == '-');
    if (s[0] == '0' && isdigit((unsigned char)s[1]))
        return false;
    if (!isdigit((unsigned char)s[0]) && !(s[0] == '.' && isdigit((unsigned char)s[1])))
        return false;
    return sg_parse_number(value, text, -INFINITY, INFINITY);
}

void sg_node_set_plain(struct sg_node *node, const char *text, size_t length) {
    sg_node_set_string(node, text, length);
    const char *s = node->string;
    if (is_decimal(s, &node->number)) {
        node->kind = SG_NODE_NUMBER;
        return;
    }
    bool yes = strcmp(s, "true") == 0;
    if (yes || strcmp(s, "false") == 0) {
        node->kind = SG_NODE_BOOL;
        node->boolean = yes;
    } else if (*s == '\0' || strcmp(s, "~") == 0 || strcmp(s, "null") == 0) {
        node->kind = SG_NODE_NULL;
    } else {
        return;
    }
    free(node->string);
    node->string = NULL;
}

void sg_node_clear(struct sg_node *node) {
    for (size_t i = 0; i < node->count; i++)
        sg_node_clear(&node->child[i]);
    free(node->child);
    free(node->key);
    free(node->string);
    *node = (struct sg_node){0};
}

void sg_node_push(struct sg_node *parent, struct sg_node *child) {
    SG_ASSERT(parent != child && (parent->kind == SG_NODE_LIST || parent->kind == SG_NODE_MAP));
    size_t n = parent->count;
    if ((n & (n - 1)) == 0) /* full at 0, 1, 2, 4, 8 … children */
        parent->child = sg_realloc(parent->child, (n ? 2 * n : 1) * sizeof *parent->child);
    parent->child[parent->count++] = *child;
    *child = (struct sg_node){0};
}

void sg_node_remove(struct sg_node *parent, struct sg_node *child) {
    const size_t at = (size_t)(child - parent->child);
    sg_node_clear(child);
    memmove(child, child + 1, (--parent->count - at) * sizeof *child);
}

void sg_node_push_yaml(struct sg_node *parent, const char *yaml) {
    struct sg_node own = {0};
    struct sg_node_fault unused;
    const sg_status status = sg_node_read(&own, yaml, strlen(yaml), SG_ORIGIN_PRESET, &unused);
    SG_ASSERT(status == SG_OK);
    (void)status;
    if (own.kind != SG_NODE_MAP || parent->kind != SG_NODE_MAP)
        sg_node_push(parent, &own);
    for (size_t i = 0; i < own.count; i++)
        sg_node_push(parent, &own.child[i]);
    sg_node_clear(&own);
}

void sg_node_copy(struct sg_node *out, const struct sg_node *node) {
    struct sg_node copy = *node;
    copy.key = node->key ? sg_strdup(node->key) : NULL;
    copy.string = node->string ? sg_strdup(node->string) : NULL;
    copy.child = NULL;
    copy.count = 0;
    for (size_t i = 0; i < node->count; i++) {
        struct sg_node child;
        sg_node_copy(&child, &node->child[i]);
        sg_node_push(&copy, &child);
    }
    *out = copy;
}

bool sg_node_absent(const struct sg_node *node) {
    return !node || node->kind == SG_NODE_NULL;
}

bool sg_node_from_set(const struct sg_node *node) {
    return node->line == 0 && node->column > 0;
}

struct sg_node *sg_node_member(const struct sg_node *map, const char *key) {
    for (size_t i = 0; i < map->count; i++)
        if (map->child[i].key && strcmp(map->child[i].key, key) == 0)
            return sg_node_absent(&map->child[i]) ? NULL : &map->child[i];
    return NULL;
}

const struct sg_node *sg_node_get(const struct sg_node *node, const char *path) {
    while (node && *path != '\0') {
        size_t length = strcspn(path, ".");
        const struct sg_node *next = NULL;
        if (node->kind == SG_NODE_LIST && length > 0 && strspn(path, "0123456789") == length) {
            size_t i = strtoull(path, NULL, 10);
            next = i < node->count ? &node->child[i] : NULL;
        } else if (node->kind == SG_NODE_MAP) {
            for (size_t i = 0; i < node->count && !next; i++)
                next = sg_same_name(path, length, node->child[i].key) ? &node->child[i] : NULL;
        }
        node = next;
        path += length + (path[length] == '.');
    }
    return node;
}

const char *sg_node_string(const struct sg_node *node, const char *path, const char *fallback) {
    const struct sg_node *found = sg_node_get(node, path);
    return found && found->kind == SG_NODE_STRING ? found->string : fallback;
}

double sg_node_number(const struct sg_node *node, const char *path, double fallback) {
    const struct sg_node *found = sg_node_get(node, path);
    return found && found->kind == SG_NODE_NUMBER ? found->number : fallback;
}

bool sg_node_bool(const struct sg_node *node, const char *path, bool fallback) {
    const struct sg_node *found = sg_node_get(node, path);
    return found && found->kind == SG_NODE_BOOL ? found->boolean : fallback;
}

static cJSON *number_json(double x) {
    SG_ASSERT(isfinite(x));
    char text[SG_NUMBER_CHARS];
    return cJSON_CreateRaw(sg_number_text(x, text));
}

static void add_json(cJSON *parent, const struct sg_node *child) {
    char *key = child->key ? sg_strdup(child->key) : NULL;
    if (!key)
        sg_json_push(parent, sg_node_json(child));
    else
        sg_json_set(parent, sg_snake(key, strlen(key) + 1, key), sg_node_json(child));
    free(key);
}

cJSON *sg_node_json(const struct sg_node *node) {
    switch (node->kind) {
    case SG_NODE_NULL:
        return cJSON_CreateNull();
    case SG_NODE_BOOL:
        return cJSON_CreateBool(node->boolean);
    case SG_NODE_NUMBER:
        return number_json(node->number);
    case SG_NODE_STRING:
        return cJSON_CreateString(node->string);
    case SG_NODE_LIST:
    case SG_NODE_MAP:
        break;
    }
    cJSON *json = node->kind == SG_NODE_MAP ? cJSON_CreateObject() : cJSON_CreateArray();
    for (size_t i = 0; i < node->count; i++)
        add_json(json, &node->child[i]);
    return json;
}
