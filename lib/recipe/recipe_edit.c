/* Changes to a recipe's text that leave everything else as it was, byte for byte. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sg_recipe.h"

/* What goes between two bytes of the text. */
struct splice {
    size_t begin, end; /* of what is left out */
    const struct sg_recipe_edit *edit;
};

/* Byte of a character; libyaml's marks count characters, after a byte order mark. */
static size_t byte_of(const char *text, size_t character) {
    size_t i = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (; text[i] != '\0' && character > 0; character--)
        do
            i++;
        while (((unsigned char)text[i] & 0xc0) == 0x80);
    return i;
}

static size_t line_start(const char *text, int line) {
    const char *at = text;
    for (int l = 1; l < line && at != NULL; l++)
        at = (at = strchr(at, '\n')) != NULL ? at + 1 : NULL;
    return at != NULL ? (size_t)(at - text) : strlen(text);
}

/* Where the scalars that edits replace begin and end; false: not valid YAML, or no memory. */
static bool find_scalars(struct splice *splices, size_t n, const char *text) {
    yaml_parser_t parser;
    yaml_event_t event;
    bool more = true;
    if (!yaml_parser_initialize(&parser))
        return false;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    while (more && yaml_parser_parse(&parser, &event)) {
        for (size_t i = 0; i < n && event.type == YAML_SCALAR_EVENT; i++) {
            const struct sg_recipe_edit *edit = splices[i].edit;
            if (edit->value == NULL || (int)event.start_mark.line + 1 != edit->line ||
                (int)event.start_mark.column + 1 != edit->column)
                continue;
            splices[i].begin = byte_of(text, event.start_mark.index);
            splices[i].end = byte_of(text, event.end_mark.index);
        }
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return !more;
}

static int by_place(const void *a, const void *b) {
    const struct splice *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->edit < y->edit ? -1 : 1; /* as they were given */
}

/* A comment takes the indentation of the line that it stands before. */
static void put_comment(FILE *out, const char *text, const struct splice *s) {
    fprintf(out, "%.*s# %s\n", (int)strspn(text + s->begin, " "), text + s->begin, s->edit->comment);
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
        splices[i].begin = splices[i].end = edits[i].value ? SIZE_MAX : line_start(text, edits[i].line);
    }
    if (status == SG_OK && !find_scalars(splices, n, text))
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
        else if (i > 0 && splices[i].begin < from) /* the same place, named twice */
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
