/* gradient_layers.c: the layers of an array of gradients, from a list of shapes or from a file with a layer a line. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "gradients_private.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { MOST_FILE_BYTES = 1 << 20 };

void gradient_layers_free(struct gradient_layers *l) {
    free(l->offset);
    free(l->rows);
    free(l->name);
    free(l->text);
    *l = (struct gradient_layers){0};
}

void gradient_layers_allocate(struct gradient_layers *l, size_t n, bool named) {
    l->offset = sg_calloc(n + 1, sizeof *l->offset);
    l->rows = sg_calloc(n, sizeof *l->rows);
    l->name = named ? sg_calloc(n, sizeof *l->name) : NULL;
    l->n = n;
}

/* Appends a layer of the shape that `text` begins with, as 64x3x3x3. Returns what follows the shape; NULL = there is
 * none, or the elements of all layers are too many for an index. */
static const char *append_shape(struct gradient_layers *l, const char *text) {
    uint64_t elements = 1;
    for (l->rows[l->n] = 0;; text++) {
        const size_t digits = strspn(text, "0123456789");
        const uint64_t size = digits > 0 && digits < 11 ? strtoull(text, NULL, 10) : 0;
        if (size == 0 || elements > UINT32_MAX / size)
            return NULL;
        elements *= size;
        text += digits;
        if (l->rows[l->n] == 0) /* a vector has one row */
            l->rows[l->n] = *text == 'x' || *text == 'X' ? (size_t)size : 1;
        if (*text != 'x' && *text != 'X')
            break;
    }
    l->offset[l->n + 1] = l->offset[l->n] + (size_t)elements;
    l->n++;
    return l->offset[l->n] <= UINT32_MAX ? text : NULL;
}

static sg_status read_list(struct gradient_layers *out, const char *shapes, struct sg_error *err) {
    const char *at = shapes;
    size_t most = 1;
    for (const char *c = shapes; *c; c++)
        most += *c == ',';
    gradient_layers_allocate(out, most, false);
    for (out->n = 0; (at = append_shape(out, at)) != NULL && *at == ','; at++)
        at += strspn(at + 1, " ");
    return at && *at == '\0'
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "'%.80s' is not a list of shapes as 64x3x3x3,64,10x64", shapes);
}

/* Appends the layer of a line: a shape, or a name and a shape. Returns whether it is one. */
static bool append_line(struct gradient_layers *l, char *line) {
    static const char blanks[] = " \t\r";
    char *rest = NULL, *first = strtok_r(line, blanks, &rest), *second = strtok_r(NULL, blanks, &rest);
    const char *end = append_shape(l, second ? second : first);
    for (const char *c = first; second && *c; c++)
        if (!isgraph((unsigned char)*c) && (unsigned char)*c < 0x80)
            return false;
    if (!end || *end != '\0' || strtok_r(NULL, blanks, &rest) || (l->n > 1 && !second != !l->name[0]))
        return false;
    l->name[l->n - 1] = second ? first : NULL;
    return true;
}

static sg_status read_file(struct gradient_layers *out, const char *file, struct sg_error *err) {
    size_t length, most = 1, number = 1;
    sg_status status = sg_file_read_regular(&out->text, &length, file, MOST_FILE_BYTES, err);
    if (status != SG_OK)
        return status;
    for (size_t i = 0; i < length; i++)
        most += out->text[i] == '\n';
    gradient_layers_allocate(out, most, true);
    out->n = 0;
    for (char *line = out->text + sg_text_mark(out->text, length), *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] != '\0' && !append_line(out, line))
            return sg_fail(err, SG_ERR_FORMAT,
                           "%s:%zu: a line is the shape of a layer, as 64x3x3x3, or its name and its shape, as all "
                           "other lines are; # begins a comment",
                           file, number);
    }
    if (out->n == 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: it has no layers", file);
    if (!out->name[0]) {
        free(out->name);
        out->name = NULL;
    }
    return SG_OK;
}

sg_status gradient_layers_read(struct gradient_layers *out, const char *shapes, const char *file,
                               struct sg_error *err) {
    *out = (struct gradient_layers){0};
    if (shapes && file)
        return sg_fail(err, SG_ERR_ARGUMENT, "they are given twice, here and in %s (leave one key out)", file);
    sg_status status = shapes ? read_list(out, shapes, err) : read_file(out, file, err);
    if (status != SG_OK)
        gradient_layers_free(out);
    return status;
}
