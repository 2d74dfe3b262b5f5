/* recipe_edit.c: changes a recipe's text and leaves every other byte as it was. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sg_recipe.h"

/* What goes between two bytes of the text. */
struct splice {
    size_t begin, end; /* the bytes that are replaced */
    const struct sg_recipe_edit *edit;
};

/* The byte at which a character begins. libyaml's marks count characters after the byte order mark. */
static size_t byte_of(const char *text, size_t character) {
    size_t i = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (; text[i] != '\0' && character > 0; character--)
        do
            i++;
        while (((unsigned char)text[i] & 0xc0) == 0x80);
    return i;
}

/* Where a value ends. A block scalar (| or >) reaches up to the next line that is not part of it. */
static size_t end_of(const char *text, const yaml_event_t *event) {
    size_t end = byte_of(text, event->end_mark.index);
    if (event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE || event->data.scalar.style == YAML_FOLDED_SCALAR_STYLE)
        while (strchr(" \n\r", text[end - 1]))
            end--;
    return end;
}

/* Where the scalars that edits replace begin and end, and where comments go: before their line, or before the one on which
 * a scalar begins that reaches into it. false: not valid YAML, or no memory. */
static bool find_places(struct splice *splices, size_t n, const char *text) {
    yaml_parser_t parser;
    yaml_event_t event;
    bool more = true;
    size_t line = SIZE_MAX, safe = 0; /* characters before the nearest place for a comment on `line` */
    if (!yaml_parser_initialize(&parser))
        return false;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    while (more && yaml_parser_parse(&parser, &event)) {
        const yaml_mark_t start = event.start_mark, end = event.end_mark;
        if (start.line != line) {
            line = start.line;
            safe = start.index - start.column;
        }
        for (size_t i = 0; i < n; i++) {
            struct splice *s = &splices[i];
            if (s->edit->value == NULL) {
                if (s->begin == SIZE_MAX && s->edit->line <= (int)line + 1)
                    s->begin = s->end = byte_of(text, safe);
            } else if (event.type == YAML_SCALAR_EVENT && (int)line + 1 == s->edit->line &&
                       (int)start.column + 1 == s->edit->column) {
                s->begin = byte_of(text, start.index);
                s->end = end_of(text, &event);
            }
        }
        if (event.type == YAML_SCALAR_EVENT && end.column > 0) /* else the scalar ended with the line before */
            line = end.line;
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    for (size_t i = 0; i < n; i++)
        if (splices[i].edit->value == NULL && splices[i].begin == SIZE_MAX)
            splices[i].begin = splices[i].end = strlen(text);
    return !more;
}

static int by_place(const void *a, const void *b) {
    const struct splice *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->edit < y->edit ? -1 : 1; /* in the order in which they were given */
}

/* Bytes of what ends a line at `c`, or no YAML text may have; 0: neither. */
static size_t unfit(const char *c) {
    if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
        return 1;
    return strncmp(c, "\xc2\x85", 2) == 0                                             ? 2
           : strncmp(c, "\xe2\x80\xa8", 3) == 0 || strncmp(c, "\xe2\x80\xa9", 3) == 0 ? 3
                                                                                      : 0;
}

/* A comment is one line, which takes the indentation of the line that it stands before. */
static void put_comment(FILE *out, const char *text, const struct splice *s) {
    fprintf(out, "%.*s# ", (int)strspn(text + s->begin, " "), text + s->begin);
    for (const char *c = s->edit->comment; *c != '\0';) {
        const size_t skipped = unfit(c);
        fputc(skipped > 0 ? ' ' : *c, out);
        c += skipped > 0 ? skipped : 1;
    }
    fputc('\n', out);
}

sg_status sg_recipe_edited(char **out, const struct sg_recipe *recipe, const struct sg_recipe_edit *edits, size_t n,
                           struct sg_error *err) {
    const char *text = recipe->text;
    struct splice *splices = calloc(n + 1, sizeof *splices);
    char *edited = NULL;
    size_t size, from = 0;
    FILE *to = NULL;
    sg_status status = splices ? SG_OK : sg_fail_memory(err, "the recipe");
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        splices[i].edit = &edits[i];
        splices[i].begin = SIZE_MAX;
    }
    if (status == SG_OK && !find_places(splices, n, text))
        status = sg_fail(err, SG_ERR_FORMAT, "%s: cannot be read again", recipe->path);
    if (status == SG_OK) {
        qsort(splices, n, sizeof *splices, by_place);
        to = open_memstream(&edited, &size);
        status = to ? SG_OK : sg_fail_memory(err, "the recipe");
    }
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        const struct sg_recipe_edit *e = splices[i].edit;
        if (splices[i].begin == SIZE_MAX)
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s:%d:%d: no single value stands here", recipe->path, e->line,
                             e->column);
        else if (i > 0 && splices[i].begin < from) /* a second edit of the same place is left out */
            continue;
        else {
            fwrite(text + from, 1, splices[i].begin - from, to);
            if (e->value)
                fputs(e->value, to);
            else
                put_comment(to, text, &splices[i]);
            from = splices[i].end;
        }
    }
    if (status == SG_OK)
        fputs(text + from, to);
    if (to && fclose(to) != 0 && status == SG_OK)
        status = sg_fail_memory(err, "the recipe");
    if (status == SG_OK) {
        *out = edited;
        edited = NULL;
    }
    free(edited);
    free(splices);
    return status;
}
