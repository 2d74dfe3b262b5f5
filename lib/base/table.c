/* table.c: tables of texts and numbers, for people and as markup. */
/* SPDX-License-Identifier: MIT */
#include "table_private.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_text.h"

/* ---- what stands in it ---- */

static bool is_power_of_two(size_t n) {
    return (n & (n - 1)) == 0;
}

/* Grows the array for one more item; its capacity doubles when n is a power of two. */
static void *grown(void *array, size_t n, size_t size) {
    return is_power_of_two(n) ? sg_realloc(array, (n ? 2 * n : 1) * size) : array;
}

static char *copy(const char *text) {
    return sg_text_clean(text ? text : "");
}

void sg_table_column(sg_table *t, const struct sg_table_column *column) {
    t->column = grown(t->column, t->n_columns, sizeof *t->column);
    t->column[t->n_columns++] =
        (struct table_column){*column, copy(column->head), copy(column->unit), copy(column->tex)};
}

sg_table *sg_table_open(const struct sg_table_column *column, size_t n) {
    sg_table *t = sg_calloc(1, sizeof *t);
    for (size_t i = 0; i < n; i++)
        sg_table_column(t, &column[i]);
    return t;
}

void sg_table_cell(sg_table *t, const char *text, const char *deviation) {
    t->cell = grown(t->cell, t->n_cells, sizeof *t->cell);
    t->cell[t->n_cells++] = (struct table_cell){copy(text), copy(deviation), copy(""), NAN};
}

void sg_table_value(sg_table *t, double value) {
    t->cell[t->n_cells - 1].value = value;
}

void sg_table_more(sg_table *t, const char *line) {
    struct table_cell *cell = &t->cell[t->n_cells - 1];
    char *longer = sg_format("%s%s\n", cell->more, line);
    free(cell->more);
    cell->more = longer;
}

void sg_table_format(sg_table *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = sg_vformat(format, args);
    va_end(args);
    sg_table_cell(t, text, NULL);
    free(text);
}

void sg_table_number(sg_table *t, const char *format, double x) {
    char text[64] = "-";
    if (!isnan(x))
        snprintf(text, sizeof text, format, x);
    sg_table_cell(t, text, NULL);
    sg_table_value(t, x);
}

void sg_table_free(sg_table *t) {
    for (size_t i = 0; t && i < t->n_columns; i++) {
        free(t->column[i].head);
        free(t->column[i].unit);
        free(t->column[i].tex);
    }
    for (size_t i = 0; t && i < t->n_cells; i++) {
        free(t->cell[i].text);
        free(t->cell[i].deviation);
        free(t->cell[i].more);
    }
    if (t) {
        free(t->column);
        free(t->cell);
    }
    free(t);
}

size_t table_rows(const sg_table *t) {
    return t->n_columns ? t->n_cells / t->n_columns : 0;
}

const struct table_cell *table_cell_at(const sg_table *t, size_t row, size_t column) {
    return &t->cell[row * t->n_columns + column];
}

/* The width of a text without its escape sequences of colour. */
static size_t visible_width(const char *text) {
    size_t width = sg_text_width(text);
    for (const char *escape = text; (escape = strchr(escape, '\033')) != NULL; escape++)
        width -= strcspn(escape, "m") + 1;
    return width;
}

void sg_put_wrapped(FILE *out, const char *given, size_t width, const char *first, const char *next) {
    char *clean = sg_text_clean(given);
    const char *text = clean;
    for (const char *before = first; *text; before = next) {
        const size_t inset = visible_width(before), room = width > inset ? width - inset : 1;
        const size_t n = width > 0 ? sg_text_line(text, room) : strlen(text);
        fprintf(out, "%s%.*s\n", before, (int)n, text);
        text += n;
        text += *text == ' ';
    }
    free(clean);
}
