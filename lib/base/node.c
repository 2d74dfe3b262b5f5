/* node.c: the tree of values that a recipe is read into. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_json.h"
#include "sg_node.h"
#include "sg_text.h"

bool sg_node_set_key(struct sg_node *node, const char *key) {
    free(node->key);
    node->key = strdup(key);
    return node->key != NULL;
}

bool sg_node_set_string(struct sg_node *node, const char *text, size_t length) {
    node->kind = SG_NODE_STRING;
    node->string = malloc(length + 1);
    if (node->string == NULL)
        return false;
    memcpy(node->string, text, length);
    node->string[length] = '\0';
    return true;
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

bool sg_node_set_plain(struct sg_node *node, const char *text, size_t length) {
    if (!sg_node_set_string(node, text, length))
        return false;
    const char *s = node->string;
    if (is_decimal(s, &node->number)) {
        node->kind = SG_NODE_NUMBER;
        return true;
    }
    bool yes = strcmp(s, "true") == 0;
    if (yes || strcmp(s, "false") == 0) {
        node->kind = SG_NODE_BOOL;
        node->boolean = yes;
    } else if (*s == '\0' || strcmp(s, "~") == 0 || strcmp(s, "null") == 0) {
        node->kind = SG_NODE_NULL;
    } else {
        return true;
    }
    free(node->string);
    node->string = NULL;
    return true;
}

void sg_node_clear(struct sg_node *node) {
    for (size_t i = 0; i < node->count; i++)
        sg_node_clear(&node->child[i]);
    free(node->child);
    free(node->key);
    free(node->string);
    *node = (struct sg_node){0};
}

bool sg_node_push(struct sg_node *parent, struct sg_node *child) {
    SG_ASSERT(parent != child && (parent->kind == SG_NODE_LIST || parent->kind == SG_NODE_MAP));
    size_t n = parent->count;
    if ((n & (n - 1)) == 0) { /* full at 0, 1, 2, 4, 8 … children */
        struct sg_node *grown = realloc(parent->child, (n ? 2 * n : 1) * sizeof *grown);
        if (grown == NULL) {
            sg_node_clear(child);
            return false;
        }
        parent->child = grown;
    }
    parent->child[parent->count++] = *child;
    *child = (struct sg_node){0};
    return true;
}

bool sg_node_push_yaml(struct sg_node *parent, const char *yaml) {
    struct sg_node own = {0};
    struct sg_node_fault unused;
    bool fine = sg_node_read(&own, yaml, strlen(yaml), SG_ORIGIN_PRESET, &unused) == SG_OK;
    if (fine && (own.kind != SG_NODE_MAP || parent->kind != SG_NODE_MAP))
        return sg_node_push(parent, &own);
    for (size_t i = 0; fine && i < own.count; i++)
        fine = sg_node_push(parent, &own.child[i]);
    sg_node_clear(&own);
    return fine;
}

bool sg_node_copy(struct sg_node *out, const struct sg_node *node) {
    struct sg_node copy = *node;
    copy.key = copy.string = NULL;
    copy.child = NULL;
    copy.count = 0;
    bool fine = (node->key == NULL || (copy.key = strdup(node->key)) != NULL) &&
                (node->string == NULL || (copy.string = strdup(node->string)) != NULL);
    for (size_t i = 0; fine && i < node->count; i++) {
        struct sg_node child;
        fine = sg_node_copy(&child, &node->child[i]) && sg_node_push(&copy, &child);
    }
    if (!fine) {
        sg_node_clear(&copy);
        return false;
    }
    *out = copy;
    return true;
}

bool sg_node_absent(const struct sg_node *node) {
    return node == NULL || node->kind == SG_NODE_NULL;
}

bool sg_node_from_set(const struct sg_node *node) {
    return node->line == 0 && node->column > 0;
}

struct sg_node *sg_node_member(const struct sg_node *map, const char *key) {
    for (size_t i = 0; i < map->count; i++)
        if (map->child[i].key != NULL && strcmp(map->child[i].key, key) == 0)
            return sg_node_absent(&map->child[i]) ? NULL : &map->child[i];
    return NULL;
}

const struct sg_node *sg_node_get(const struct sg_node *node, const char *path) {
    while (node != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        const struct sg_node *next = NULL;
        if (node->kind == SG_NODE_LIST && length > 0 && strspn(path, "0123456789") == length) {
            size_t i = strtoull(path, NULL, 10);
            next = i < node->count ? &node->child[i] : NULL;
        } else if (node->kind == SG_NODE_MAP) {
            for (size_t i = 0; i < node->count && next == NULL; i++)
                next = sg_same_name(path, length, node->child[i].key) ? &node->child[i] : NULL;
        }
        node = next;
        path += length + (path[length] == '.');
    }
    return node;
}

const char *sg_node_string(const struct sg_node *node, const char *path, const char *fallback) {
    const struct sg_node *found = sg_node_get(node, path);
    return found != NULL && found->kind == SG_NODE_STRING ? found->string : fallback;
}

double sg_node_number(const struct sg_node *node, const char *path, double fallback) {
    const struct sg_node *found = sg_node_get(node, path);
    return found != NULL && found->kind == SG_NODE_NUMBER ? found->number : fallback;
}

bool sg_node_bool(const struct sg_node *node, const char *path, bool fallback) {
    const struct sg_node *found = sg_node_get(node, path);
    return found != NULL && found->kind == SG_NODE_BOOL ? found->boolean : fallback;
}

static cJSON *number_json(double x) {
    SG_ASSERT(isfinite(x));
    char text[SG_NUMBER_CHARS];
    return cJSON_CreateRaw(sg_number_text(x, text));
}

static bool add_json(cJSON *parent, const struct sg_node *child) {
    cJSON *value = sg_node_json(child);
    bool added;
    if (child->key == NULL) {
        added = cJSON_AddItemToArray(parent, value);
    } else {
        char *key = strdup(child->key);
        if (key == NULL)
            sg_json_lost();
        added = key != NULL && cJSON_AddItemToObject(parent, sg_snake(key, strlen(key) + 1, key), value);
        free(key);
    }
    if (!added)
        cJSON_Delete(value);
    return added;
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
    for (size_t i = 0; json != NULL && i < node->count; i++)
        if (!add_json(json, &node->child[i])) {
            cJSON_Delete(json);
            json = NULL;
        }
    return json;
}
