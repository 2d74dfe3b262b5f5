/* sg_node.h: a tree of values: null, truth values, numbers, strings, lists and maps. Recipes are read into such trees. */
#ifndef SG_NODE_H
#define SG_NODE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sg_node_kind { SG_NODE_NULL, SG_NODE_BOOL, SG_NODE_NUMBER, SG_NODE_STRING, SG_NODE_LIST, SG_NODE_MAP };

/* A value of a recipe and where it stands there. In a resolved recipe maps keep schema order, and absent optional keys are
 * present as SG_NODE_NULL. */
struct sg_node {
    enum sg_node_kind kind;
    char *key; /* in a map; NULL in a list or at the root */
    bool boolean;
    double number;
    char *string;          /* STRING: its text. NUMBER: its spelling in the recipe */
    struct sg_node *child; /* [count] */
    size_t count;
    int line, column;         /* of the value, from 1; line 0: a default (column 0) or the s-th --set (column s) */
    int key_line, key_column; /* of its key, the same way */
};

/* Dotted look-up from a map ("task.dataset"); NULL when absent. Lists by index: "methods.0.name". '-' and '_' match
 * each other, so code may spell a key as recipes or as results do. */
const struct sg_node *sg_node_get(const struct sg_node *node, const char *path);
/* Typed; the fallback when absent, null or of another kind. */
const char *sg_node_string(const struct sg_node *node, const char *path, const char *fallback);
double sg_node_number(const struct sg_node *node, const char *path, double fallback);
bool sg_node_bool(const struct sg_node *node, const char *path, bool fallback);
cJSON *sg_node_json(const struct sg_node *node); /* keys in snake_case; NULL = no memory */

/* Member of a map by exact key, NULL when absent or null (a null says "as if absent"). */
struct sg_node *sg_node_member(const struct sg_node *map, const char *key);
bool sg_node_absent(const struct sg_node *node);
/* The value comes from a --set. */
bool sg_node_from_set(const struct sg_node *node);

/* ---- making and changing trees: `false` means that there was no memory ---- */

/* Append *child, which is moved from and zeroed; it is freed when there is no memory. */
bool sg_node_push(struct sg_node *parent, struct sg_node *child);
bool sg_node_copy(struct sg_node *out, const struct sg_node *node);
bool sg_node_set_key(struct sg_node *node, const char *key);
bool sg_node_set_string(struct sg_node *node, const char *text, size_t length);
/* Becomes a scalar typed as the plain YAML scalar `text`: null, true, false, a decimal number, else a string. */
bool sg_node_set_plain(struct sg_node *node, const char *text, size_t length);
/* Frees what the node holds and zeroes it. */
void sg_node_clear(struct sg_node *node);

#ifdef __cplusplus
}
#endif
#endif
