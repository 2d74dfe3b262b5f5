/* recipe_yaml.c: makes the raw tree from libyaml events. libyaml itself accepts duplicate keys, tags, anchors and any
 * depth, and gives no types; all of that is decided here. */
#include <string.h>
#include <yaml.h>

#include "recipe_internal.h"

struct builder {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    const char *text; /* [length], with no NUL behind it */
    size_t length;
    int origin;
    struct sg_problems *problems;
};

/* READ_STOPPED: a problem was noted. */
enum outcome { READ_DONE, READ_STOPPED, READ_NO_MEMORY };

static void note(struct builder *b, yaml_mark_t at, const char *what) {
    if (b->origin == SG_ORIGIN_FILE)
        sg_problem_at(b->problems, (int)at.line + 1, (int)at.column + 1, "%s", what);
    else
        sg_problem_at(b->problems, 0, b->origin, "%s", what);
}

static enum outcome refuse(struct builder *b, const char *what) {
    note(b, b->event.start_mark, what);
    return READ_STOPPED;
}

/* Is there a tab in the indentation of the line where parsing failed? *at is moved to it. libyaml counts other ends of
 * lines too, so the text may have fewer lines than it says. */
static bool find_tab(const char *text, size_t length, yaml_mark_t *at) {
    const char *line = text, *end = text + length;
    for (size_t i = 0; i < at->line && line != NULL; i++)
        line = (line = memchr(line, '\n', (size_t)(end - line))) != NULL ? line + 1 : NULL;
    const char *indented = line;
    while (indented != NULL && indented < end && *indented == ' ')
        indented++;
    if (indented == NULL || indented == end || *indented != '\t')
        return false;
    at->column = (size_t)(indented - line);
    return true;
}

static enum outcome syntax_error(struct builder *b) {
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return READ_NO_MEMORY;
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
    } else {
        snprintf(what, sizeof what, "not valid YAML: %s%s%s", p->context ? p->context : "", p->context ? ", " : "",
                 p->problem ? p->problem : "unknown error");
    }
    note(b, at, what);
    return READ_STOPPED;
}

static enum outcome next(struct builder *b) {
    if (b->has_event)
        yaml_event_delete(&b->event);
    b->has_event = yaml_parser_parse(&b->parser, &b->event) != 0;
    return b->has_event ? READ_DONE : syntax_error(b);
}

static void mark(const struct builder *b, int *line, int *column) {
    bool file = b->origin == SG_ORIGIN_FILE;
    *line = file ? (int)b->event.start_mark.line + 1 : 0;
    *column = file ? (int)b->event.start_mark.column + 1 : b->origin;
}

/* Control characters can only come from escapes and block scalars; messages, labels and file names must not carry them.
 */
static bool has_control(const unsigned char *s, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (s[i] < 0x20 || s[i] == 0x7f || (s[i] == 0xc2 && i + 1 < length && s[i + 1] < 0xa0))
            return true;
    return false;
}

static enum outcome check_scalar(struct builder *b) {
    if (b->event.data.scalar.anchor != NULL)
        return refuse(b, "anchors are not allowed in recipes (write the value out)");
    if (b->event.data.scalar.tag != NULL)
        return refuse(b, "tags are not allowed in recipes (leave out the '!…')");
    if (has_control(b->event.data.scalar.value, b->event.data.scalar.length))
        return refuse(b, "text must be one line without control characters (fold long text with >-)");
    return READ_DONE;
}

static enum outcome check_collection(struct builder *b, const void *anchor, const void *tag, int depth) {
    if (anchor != NULL)
        return refuse(b, "anchors are not allowed in recipes (write the value out)");
    if (tag != NULL)
        return refuse(b, "tags are not allowed in recipes (leave out the '!…')");
    if (depth > SG_RECIPE_DEPTH)
        return refuse(b, "nested deeper than 8 levels");
    return READ_DONE;
}

static enum outcome read_value(struct builder *b, struct sg_node *out, int depth);

static enum outcome read_key(struct builder *b, const struct sg_node *map, struct sg_node *child) {
    if (b->event.type != YAML_SCALAR_EVENT)
        return refuse(b, "a key must be a word");
    enum outcome outcome = check_scalar(b);
    if (outcome != READ_DONE)
        return outcome;
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
    mark(b, &child->key_line, &child->key_column);
    return sg_node_set_key(child, key) ? READ_DONE : READ_NO_MEMORY;
}

static enum outcome read_entries(struct builder *b, struct sg_node *out, int depth) {
    bool map = out->kind == SG_NODE_MAP;
    yaml_event_type_t end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    for (;;) {
        enum outcome outcome = next(b);
        if (outcome != READ_DONE)
            return outcome;
        if (b->event.type == end)
            return READ_DONE;
        if (out->count == (map ? SG_MAP_KEYS : SG_LIST_ENTRIES))
            return refuse(b, map ? "more than 256 keys in one section" : "more than 10000 entries in one list");
        struct sg_node child = {0};
        if (map) {
            outcome = read_key(b, out, &child);
            if (outcome == READ_DONE)
                outcome = next(b);
        }
        if (outcome == READ_DONE)
            outcome = read_value(b, &child, depth + 1);
        if (outcome != READ_DONE) {
            sg_node_clear(&child);
            return outcome;
        }
        if (!sg_node_push(out, &child))
            return READ_NO_MEMORY;
    }
}

/* The current event starts the value. */
static enum outcome read_value(struct builder *b, struct sg_node *out, int depth) {
    mark(b, &out->line, &out->column);
    enum outcome outcome;
    bool plain;
    switch (b->event.type) {
    case YAML_SCALAR_EVENT:
        outcome = check_scalar(b);
        if (outcome != READ_DONE)
            return outcome;
        plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return (plain ? sg_node_set_plain : sg_node_set_string)(out, (const char *)b->event.data.scalar.value,
                                                                b->event.data.scalar.length)
                   ? READ_DONE
                   : READ_NO_MEMORY;
    case YAML_SEQUENCE_START_EVENT:
        out->kind = SG_NODE_LIST;
        outcome = check_collection(b, b->event.data.sequence_start.anchor, b->event.data.sequence_start.tag, depth);
        return outcome == READ_DONE ? read_entries(b, out, depth) : outcome;
    case YAML_MAPPING_START_EVENT:
        out->kind = SG_NODE_MAP;
        outcome = check_collection(b, b->event.data.mapping_start.anchor, b->event.data.mapping_start.tag, depth);
        return outcome == READ_DONE ? read_entries(b, out, depth) : outcome;
    default: /* the only other event where a value can stand is an alias */
        return refuse(b, "aliases are not allowed in recipes (write the value out)");
    }
}

static enum outcome read_stream(struct builder *b, struct sg_node *out) {
    enum outcome outcome = next(b); /* stream start */
    if (outcome == READ_DONE)
        outcome = next(b);
    if (outcome != READ_DONE || b->event.type == YAML_STREAM_END_EVENT) /* empty: stays null */
        return outcome;
    if ((outcome = next(b)) != READ_DONE || (outcome = read_value(b, out, 1)) != READ_DONE)
        return outcome;
    if ((outcome = next(b)) != READ_DONE || (outcome = next(b)) != READ_DONE) /* document end, then what follows */
        return outcome;
    return b->event.type == YAML_STREAM_END_EVENT ? READ_DONE : refuse(b, "a second document (one recipe a file)");
}

bool sg_yaml_parse(struct sg_node *out, const char *text, size_t length, int origin, struct sg_problems *p) {
    static const char order_mark[] = "\xef\xbb\xbf"; /* which some editors write before UTF-8 */
    const size_t skip = length >= 3 && memcmp(text, order_mark, 3) == 0 ? 3 : 0;
    text += skip;
    length -= skip;
    struct builder b = {.text = text, .length = length, .origin = origin, .problems = p};
    if (!yaml_parser_initialize(&b.parser))
        return false;
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, length);
    enum outcome outcome = read_stream(&b, out);
    if (b.has_event)
        yaml_event_delete(&b.event);
    yaml_parser_delete(&b.parser);
    if (outcome != READ_DONE) {
        char *key = out->key; /* the caller's */
        out->key = NULL;
        sg_node_clear(out);
        out->key = key;
    }
    return outcome != READ_NO_MEMORY;
}
