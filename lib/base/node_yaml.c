/* node_yaml.c: writes a tree of values as YAML, in brackets. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_node.h"
#include "sg_text.h"

static bool is_left_out(const struct sg_node *parent, const struct sg_node *child) {
    return parent->kind == SG_NODE_MAP && sg_node_absent(child);
}

/* True if YAML reads the unquoted text as itself, also between brackets. */
static bool is_plain(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+*/^=_.%() ";
    const size_t length = strlen(text);
    struct sg_node node = {.kind = SG_NODE_NULL};
    if (length == 0 || strspn(text, plain) != length || !isalnum((unsigned char)*text) || text[length - 1] == ' ')
        return false;
    sg_node_set_plain(&node, text, length);
    const bool is = node.kind == SG_NODE_STRING;
    sg_node_clear(&node);
    return is;
}

/* A JSON string is one of YAML. */
static void put_string(FILE *out, const char *text) {
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    cJSON *string = cJSON_CreateString(text);
    char *quoted = sg_json_text(string, false);
    fprintf(out, "%.*s", (int)strcspn(quoted, "\n"), quoted);
    free(quoted);
    cJSON_Delete(string);
}

void sg_node_put_yaml(FILE *out, const struct sg_node *node, bool lines) {
    char number[SG_NUMBER_CHARS];
    const char *before = "";
    switch (node->kind) {
    case SG_NODE_NULL:
        fputs("null", out);
        return;
    case SG_NODE_BOOL:
        fputs(node->boolean ? "true" : "false", out);
        return;
    case SG_NODE_NUMBER:
        fputs(node->string ? node->string : sg_number_text(node->number, number), out);
        return;
    case SG_NODE_STRING:
        put_string(out, node->string);
        return;
    case SG_NODE_LIST:
    case SG_NODE_MAP:
        break;
    }
    const bool map = node->kind == SG_NODE_MAP;
    fputc(map ? '{' : '[', out);
    for (size_t i = 0; i < node->count; i++) {
        if (is_left_out(node, &node->child[i]))
            continue;
        fputs(before, out);
        before = lines ? ",\n" : ", ";
        if (map)
            fprintf(out, "%s: ", node->child[i].key);
        sg_node_put_yaml(out, &node->child[i], lines);
    }
    fputc(map ? '}' : ']', out);
}

/* Like sg_node_of_line; subtracts the node's number of lines from *line if it has fewer than that. */
static const struct sg_node *find_line(const struct sg_node *node, size_t *line) {
    bool any = false;
    for (size_t i = 0; i < node->count; i++) {
        if (is_left_out(node, &node->child[i]))
            continue;
        any = true;
        const struct sg_node *found = find_line(&node->child[i], line);
        if (found)
            return found;
    }
    if (any)
        return NULL;
    return --*line == 0 ? node : NULL;
}

const struct sg_node *sg_node_of_line(const struct sg_node *node, size_t line) {
    return line > 0 ? find_line(node, &line) : NULL;
}
