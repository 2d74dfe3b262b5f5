/* sg_node.h: a tree of null, truth values, numbers, strings, lists and maps. YAML is read into such trees. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_NODE_H
#define SG_NODE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sg_node_kind { SG_NODE_NULL, SG_NODE_BOOL, SG_NODE_NUMBER, SG_NODE_STRING, SG_NODE_LIST, SG_NODE_MAP };

/* A value of a recipe, and where it stands there. In a resolved recipe the keys of a map are in schema order, and an
 * optional key that is absent has the kind SG_NODE_NULL. */
struct sg_node {
    enum sg_node_kind kind;
    char *key; /* the key of a map's member; NULL in a list and at the root */
    bool boolean;
    double number;
    char *string;          /* STRING: its text. NUMBER: its spelling in the recipe */
    struct sg_node *child; /* [count] */
    size_t count;
    /* LIST: each cell has one of the entries; false = the list itself is the value. STRING: it is a range of which each
     * trial draws a value, a whole number if `boolean`. */
    bool choices;
    /* Where the value stands, counted from 1. Line 0: it is not in the file; then column 0 means a preset, and column s
     * >= 1 the s-th --set. */
    int line, column;
    int key_line, key_column; /* where its key stands, in the same way */
};

/* Looks up a dotted path from a map ("task.dataset"), through lists by index ("methods.0.name"). NULL = absent. '-' and
 * '_' match each other, so code may spell a key as recipes or as results do. */
const struct sg_node *sg_node_get(const struct sg_node *node, const char *path);
/* Like sg_node_get, for one kind of value. They return the fallback if the value is absent, null or of another kind. */
const char *sg_node_string(const struct sg_node *node, const char *path, const char *fallback);
double sg_node_number(const struct sg_node *node, const char *path, double fallback);
bool sg_node_bool(const struct sg_node *node, const char *path, bool fallback);
cJSON *sg_node_json(const struct sg_node *node); /* with keys in snake_case */

/* Where text comes from: a file, a default, or (from 1) the s-th --set. */
enum { SG_ORIGIN_FILE = -1, SG_ORIGIN_PRESET = 0 };
enum { SG_NODE_DEPTH = 8, SG_MAP_KEYS = 256, SG_LIST_ENTRIES = 10000 }; /* limits of what is read */

/* Reads YAML into *out, which is zeroed but for its key: one document in UTF-8 without anchors, aliases, tags, repeated
 * keys and control characters. An empty text is null. SG_ERR_FORMAT: *fault has the message, and the position as in a
 * node. There is no other error. */
struct sg_node_fault {
    int line, column;
    char text[240];
};
SG_CHECKED sg_status sg_node_read(struct sg_node *out, const char *text, size_t length, int origin,
                                  struct sg_node_fault *fault);

/* Writes the value as YAML with lists and maps in brackets. Members that are null are left out. If `lines`, every
 * scalar ends a line, else all is one line. */
void sg_node_put_yaml(FILE *out, const struct sg_node *node, bool lines);
/* The scalar, list or map without entries that ends line `line`, counted from 1, of such a text; NULL = it is shorter.
 */
const struct sg_node *sg_node_of_line(const struct sg_node *node, size_t line);

/* The member of a map with exactly this key; NULL if it is absent or null. */
struct sg_node *sg_node_member(const struct sg_node *map, const char *key);
bool sg_node_absent(const struct sg_node *node);
/* True if the value comes from a --set. */
bool sg_node_from_set(const struct sg_node *node);

/* ---- making and changing trees ---- */

/* Moves *child to the end of parent and zeroes it. */
void sg_node_push(struct sg_node *parent, struct sg_node *child);
/* Takes a child out of parent, and frees it. */
void sg_node_remove(struct sg_node *parent, struct sg_node *child);
void sg_node_copy(struct sg_node *out, const struct sg_node *node);
void sg_node_set_key(struct sg_node *node, const char *key);
void sg_node_set_string(struct sg_node *node, const char *text, size_t length);
/* Sets the node to the scalar that `text` is in plain YAML: null, true, false, a decimal number, else a string. */
void sg_node_set_plain(struct sg_node *node, const char *text, size_t length);
/* Appends what this YAML is: to a list as an entry, to a map the members of a map. It must be YAML. */
void sg_node_push_yaml(struct sg_node *parent, const char *yaml);
/* Frees what the node holds and zeroes it. */
void sg_node_clear(struct sg_node *node);

#ifdef __cplusplus
}
#endif
#endif
