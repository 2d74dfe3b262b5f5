/* row.c: tables of rows with names, and checks of rows that are added to them. */
/* SPDX-License-Identifier: MIT */
#include "sg_row.h"

#include <math.h>
#include <string.h>

enum { NAME_LETTERS = 40 };

const void *sg_row_at(const struct sg_rows *rows, size_t i) {
    if (i < rows->count)
        return rows->row[i];
    return i - rows->count < rows->n_added ? rows->added[i - rows->count] : NULL;
}

static const char *name_of(const void *row) {
    return *(const char *const *)row;
}

const void *sg_row_find(const struct sg_rows *rows, const char *name) {
    const void *row;
    size_t i = 0;
    while ((row = sg_row_at(rows, i++)) != NULL && strcmp(name_of(row), name) != 0)
        ;
    return row;
}

sg_status sg_row_add(struct sg_rows *rows, const void *row, const char *what, struct sg_error *err) {
    if (rows->n_added == SG_ADDED_ROWS)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s': no more than %d can be added", what, name_of(row),
                       SG_ADDED_ROWS);
    rows->added[rows->n_added++] = row;
    return SG_OK;
}

bool sg_is_row_name(const char *text) {
    const size_t length = text ? strlen(text) : 0;
    return length > 0 && length <= NAME_LETTERS && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static sg_status check_parameter(const struct sg_row *row, const struct sg_parameter *p, struct sg_error *err) {
    if (!sg_is_row_name(p->name))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s '%s': '%s' is no name of a parameter: use lower-case letters, digits and '-'", row->what,
                       row->name, p->name ? p->name : "");
    if (!p->help)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s': its parameter '%s' has no help: write a line for it", row->what,
                       row->name, p->name);
    if (!(p->min <= p->max) || p->preset < p->min || p->preset > p->max)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s '%s': its parameter '%s' is between %g and %g, and %g when it is not given: write min <= "
                       "preset <= max, or NAN as preset",
                       row->what, row->name, p->name, p->min, p->max, p->preset);
    return SG_OK;
}

sg_status sg_row_check(const struct sg_rows *rows, const struct sg_row *row, struct sg_error *err) {
    if (!sg_is_row_name(row->name))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "'%s' is no name of a %s: use lower-case letters, digits and '-', at most %d of them",
                       row->name ? row->name : "", row->what, NAME_LETTERS);
    if (!row->summary)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s' has no summary: write its line for --help-recipe", row->what,
                       row->name);
    if (row->n_params > SG_ROW_PARAMS || (row->n_params > 0 && !row->params))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s' has %zu parameters: at most %d can be declared", row->what,
                       row->name, row->params ? row->n_params : 0, SG_ROW_PARAMS);
    for (size_t i = 0; i < row->n_params; i++) {
        const sg_status status = check_parameter(row, &row->params[i], err);
        if (status != SG_OK)
            return status;
        for (size_t j = 0; j < i; j++)
            if (strcmp(row->params[i].name, row->params[j].name) == 0)
                return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s' has two parameters '%s': give them different names",
                               row->what, row->name, row->params[i].name);
    }
    if (sg_row_find(rows, row->name))
        return sg_fail(err, SG_ERR_ARGUMENT, "there is a %s '%s' already: give yours another name", row->what,
                       row->name);
    return SG_OK;
}
