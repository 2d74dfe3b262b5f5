/* sg_row.h: tables of named rows (compressors, codes, feedback rules, links ...), and the checks of a row that is added
 * to one; not installed. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_ROW_H
#define SG_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_parameter.h"
#include "sg_status.h"

enum {
    SG_ROW_PARAMS = 16, /* maximum number of parameters of a row */
    SG_ADDED_ROWS = 128 /* maximum number of rows added to a table */
};

struct sg_row {
    const char *what, *name, *summary; /* what: the kind, "compressor"; name and summary of the row */
    const struct sg_parameter *params; /* [n_params] */
    size_t n_params;
};

/* A table: the library's rows, followed by the added ones. Every row is a struct whose first member is its name, a
 * const char *. */
struct sg_rows {
    const void *const *row; /* [count] */
    size_t count;
    const void *added[SG_ADDED_ROWS];
    size_t n_added;
};
#define SG_ROWS(table)                                                                                                 \
    { (table), sizeof(table) / sizeof *(table), {NULL}, 0 }

const void *sg_row_at(const struct sg_rows *rows, size_t i);           /* NULL past the end */
const void *sg_row_find(const struct sg_rows *rows, const char *name); /* NULL = no such row */

/* Appends the row. `what` is its kind, for the message. SG_ERR_ARGUMENT: the table is full. */
SG_CHECKED sg_status sg_row_add(struct sg_rows *rows, const void *row, const char *what, struct sg_error *err);

/* Checks that the row can be named in a recipe and shown in help: its name, its line of help, its parameters with their
 * ranges and presets, and that no row of the table has its name. SG_ERR_ARGUMENT says what is wrong and what is
 * right. */
SG_CHECKED sg_status sg_row_check(const struct sg_rows *rows, const struct sg_row *row, struct sg_error *err);

/* Returns whether the text is a name: lower-case letters, digits and '-', at most 40 of them. NULL is none. */
bool sg_is_row_name(const char *text);

#endif
