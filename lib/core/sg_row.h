/* sg_row.h: what a row must have that somebody adds to a table of compressors, codes or feedback rules; not installed. */
#ifndef SG_ROW_H
#define SG_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_parameter.h"
#include "sg_status.h"

enum {
    SG_ROW_PARAMS = 16, /* most parameters of a row */
    SG_ADDED_ROWS = 64  /* most rows that are added to a table */
};

struct sg_row {
    const char *what, *name, *summary; /* "compressor", and as the row has them */
    const struct sg_parameter *params; /* [n_params] */
    size_t n_params;
};

/* Checks that the row can be named in a recipe and shown in help: its name, its line of help, its parameters with their
 * ranges and presets. SG_ERR_ARGUMENT says what is wrong and what is right. */
SG_CHECKED sg_status sg_row_check(const struct sg_row *row, struct sg_error *err);

/* Returns whether the text is a name: lower-case letters, digits and '-', at most 40 of them. NULL is none. */
bool sg_is_row_name(const char *text);

#endif
