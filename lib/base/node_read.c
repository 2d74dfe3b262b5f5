/* node_read.c: makes a tree from libyaml events. libyaml itself accepts duplicate keys, tags, anchors and any depth,
 * and gives no types; all of that is decided here. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <yaml.h>

#include "sg_memory.h"
#include "sg_node.h"
#include "sg_text.h"

struct builder {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    const char *text; /* [length], with no NUL behind it */
    size_t length;
    int origin;
    struct sg_node_fault *fault;
};

static void place(const struct builder *b, yaml_mark_t at, int *line, int *column) {
    const bool file = b->origin == SG_ORIGIN_FILE;
    *line = file ? (int)at.line + 1 : 0;
    *column = file ? (int)at.column + 1 : b->origin;
}

/* Records the fault. The functions below return SG_OK, or SG_ERR_FORMAT with a fault. */
static sg_status refuse_at(struct builder *b, yaml_mark_t at, const char *what) {
    place(b, at, &b->fault->line, &b->fault->column);
    snprintf(b->fault->text, sizeof b->fault->text, "%s", what);
    return SG_ERR_FORMAT;
}

static sg_status refuse(struct builder *b, const char *what) {
    return refuse_at(b, b->event.start_mark, what);
}

/* Finds a tab in the indentation of the line where parsing failed, and moves *at to it. libyaml also counts other ends
 * of lines, so the text may have fewer lines than its count. */
static bool find_tab(const char *text, size_t length, yaml_mark_t *at) {
    const char *line = text, *end = text + length;
    for (size_t i = 0; i < at->line && line; i++)
        line = (line = memchr(line, '\n', (size_t)(end - line))) != NULL ? line + 1 : NULL;
    const char *indented = line;
    while (indented && indented < end && *indented == ' ')
        indented++;
    if (!indented || indented == end || *indented != '\t')
        return false;
    at->column = (size_t)(indented - line);
    return true;
}

/* What stands at the mark, up to the end of its line. */
static void line_at(char out[SG_EXCERPT], const struct builder *b, yaml_mark_t at) {
    const char *text = b->text, *end = b->text + b->length;
    for (size_t i = 0; i < at.line && text < end; i++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    for (size_t i = 0; i < at.column && text < end && *text != '\n'; i++)
        text++;
    size_t length = 0;
    while (text + length < end && text[length] != '\n' && text[length] != '\r')
        length++;
    sg_excerpt_of(out, text, length);
}

/* Writes "workers: 2" for the line "workers:2", "workers = 2" or "workers 2", as sg_excerpt shows it. */
static void put_remedy(char *out, size_t size, const char *line) {
    static const char blank[] = "\\u00a0";
    const size_t key = strcspn(line, " :=\\");
    const char *value = line + key;
    for (size_t n = 1; n > 0; value += n)
        n = strncmp(value, blank, strlen(blank)) == 0 ? strlen(blank) : strspn(value, " :=");
    if (key > 0 && *value)
        snprintf(out, size, "%.*s: %s", (int)key, line, value);
    else
        snprintf(out, size, "KEY: VALUE");
}

/* A word or a quoted text that begins on an earlier line than where the scanner failed: the mistake is there. */
static bool describe_begin(char *what, size_t size, const struct builder *b, yaml_mark_t *at) {
    const yaml_parser_t *p = &b->parser;
    char line[SG_EXCERPT], remedy[SG_EXCERPT + 8];
    if (p->error != YAML_SCANNER_ERROR || !p->context || p->context_mark.line >= p->problem_mark.line)
        return false;
    const bool key = strstr(p->context, "simple key") != NULL;
    if (!key && !strstr(p->context, "quoted"))
        return false;
    *at = p->context_mark;
    line_at(line, b, *at);
    put_remedy(remedy, sizeof remedy, line);
    if (key)
        snprintf(what, size, "not valid YAML: '%s' has no colon with a blank behind it (write '%s')", line, remedy);
    else
        snprintf(what, size, "not valid YAML: the quote that begins here has no end: %s", line);
    return true;
}

static sg_status syntax_error(struct builder *b) {
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        sg_memory_end();
    char what[200];
    yaml_mark_t at = p->problem_mark;
    if (p->error == YAML_READER_ERROR) { /* has a byte offset instead of a mark */
        at = (yaml_mark_t){0};
        for (size_t i = 0; i < p->problem_offset && i < b->length; i++) {
            at.column++;
            if (b->text[i] == '\n') {
                at.line++;
                at.column = 0;
            }
        }
        snprintf(what, sizeof what, "not UTF-8 text: %s", p->problem);
    } else if (find_tab(b->text, b->length, &at)) {
        snprintf(what, sizeof what, "a tab indents this line: YAML takes blanks only (put blanks in its place)");
    } else if (!describe_begin(what, sizeof what, b, &at)) {
        snprintf(what, sizeof what, "not valid YAML: %s%s%s", p->context ? p->context : "", p->context ? ", " : "",
                 p->problem ? p->problem : "unknown error");
    }
    return refuse_at(b, at, what);
}

static sg_status next(struct builder *b) {
    if (b->has_event)
        yaml_event_delete(&b->event);
    b->has_event = yaml_parser_parse(&b->parser, &b->event) != 0;
    return b->has_event ? SG_OK : syntax_error(b);
}

/* Control characters can only come from escapes and block scalars; messages, labels and file names must not carry them.
 */
static bool has_control(const unsigned char *s, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (s[i] < 0x20 || s[i] == 0x7f || (s[i] == 0xc2 && i + 1 < length && s[i + 1] < 0xa0))
            return true;
    return false;
}

static sg_status check_plain(struct builder *b, const void *anchor, const void *tag) {
    if (anchor)
        return refuse(b, "anchors are not allowed (write the value out)");
    return !tag ? SG_OK : refuse(b, "tags are not allowed (leave out the '!…')");
}

static sg_status check_scalar(struct builder *b) {
    sg_status status = check_plain(b, b->event.data.scalar.anchor, b->event.data.scalar.tag);
    if (status == SG_OK && has_control(b->event.data.scalar.value, b->event.data.scalar.length))
        status = refuse(b, "text must be one line without control characters (fold long text with >-)");
    return status;
}

static sg_status read_value(struct builder *b, struct sg_node *out, int depth);

static sg_status read_key(struct builder *b, const struct sg_node *map, struct sg_node *child) {
    if (b->event.type != YAML_SCALAR_EVENT)
        return refuse(b, "a key must be a word");
    sg_status status = check_scalar(b);
    if (status != SG_OK)
        return status;
    const char *key = (const char *)b->event.data.scalar.value;
    if (*key == '\0')
        return refuse(b, "a key must not be empty");
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->child[i].key, key) == 0) {
            char what[200], name[SG_EXCERPT];
            snprintf(what, sizeof what, "duplicate key '%s' (first on line %d)", sg_excerpt(name, key),
                     map->child[i].key_line);
            return refuse(b, what);
        }
    place(b, b->event.start_mark, &child->key_line, &child->key_column);
    sg_node_set_key(child, key);
    return SG_OK;
}

static sg_status read_entries(struct builder *b, struct sg_node *out, int depth) {
    const bool map = out->kind == SG_NODE_MAP;
    const yaml_event_type_t end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    if (depth > SG_NODE_DEPTH)
        return refuse(b, "nested deeper than 8 levels");
    for (;;) {
        sg_status status = next(b);
        if (status != SG_OK || b->event.type == end)
            return status;
        if (out->count == (map ? SG_MAP_KEYS : SG_LIST_ENTRIES))
            return refuse(b, map ? "more than 256 keys in one section" : "more than 10000 entries in one list");
        struct sg_node child = {0};
        if (map) {
            status = read_key(b, out, &child);
            SG_DO(status, next(b));
        }
        SG_DO(status, read_value(b, &child, depth + 1));
        if (status != SG_OK) {
            sg_node_clear(&child);
            return status;
        }
        sg_node_push(out, &child);
    }
}

/* The current event starts the value. */
static sg_status read_value(struct builder *b, struct sg_node *out, int depth) {
    sg_status status;
    bool plain;
    place(b, b->event.start_mark, &out->line, &out->column);
    switch (b->event.type) {
    case YAML_SCALAR_EVENT:
        status = check_scalar(b);
        if (status != SG_OK)
            return status;
        plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        (plain ? sg_node_set_plain : sg_node_set_string)(out, (const char *)b->event.data.scalar.value,
                                                         b->event.data.scalar.length);
        return SG_OK;
    case YAML_SEQUENCE_START_EVENT:
        out->kind = SG_NODE_LIST;
        status = check_plain(b, b->event.data.sequence_start.anchor, b->event.data.sequence_start.tag);
        return status == SG_OK ? read_entries(b, out, depth) : status;
    case YAML_MAPPING_START_EVENT:
        out->kind = SG_NODE_MAP;
        status = check_plain(b, b->event.data.mapping_start.anchor, b->event.data.mapping_start.tag);
        return status == SG_OK ? read_entries(b, out, depth) : status;
    default: /* an alias, the only other event in place of a value */
        return refuse(b, "aliases are not allowed (write the value out)");
    }
}

static sg_status read_stream(struct builder *b, struct sg_node *out) {
    sg_status status = next(b); /* stream start */
    SG_DO(status, next(b));
    if (status != SG_OK || b->event.type == YAML_STREAM_END_EVENT) /* empty: stays null */
        return status;
    status = next(b); /* the document's first value */
    SG_DO(status, read_value(b, out, 1));
    SG_DO(status, next(b)); /* document end, then what follows */
    SG_DO(status, next(b));
    if (status == SG_OK && b->event.type != YAML_STREAM_END_EVENT)
        status = refuse(b, "a second document (a file has one)");
    return status;
}

sg_status sg_node_read(struct sg_node *out, const char *text, size_t length, int origin, struct sg_node_fault *fault) {
    const size_t skip = sg_text_mark(text, length); /* which some editors write before UTF-8 */
    text += skip;
    length -= skip;
    struct builder b = {.text = text, .length = length, .origin = origin, .fault = fault};
    if (!yaml_parser_initialize(&b.parser))
        sg_memory_end();
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, length);
    sg_status status = read_stream(&b, out);
    if (b.has_event)
        yaml_event_delete(&b.event);
    yaml_parser_delete(&b.parser);
    if (status != SG_OK) {
        char *key = out->key; /* the caller's */
        out->key = NULL;
        sg_node_clear(out);
        out->key = key;
    }
    return status;
}
