/* table_private.h: what a table holds, for its writers. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TABLE_PRIVATE_H
#define SG_TABLE_PRIVATE_H

#include "sg_table.h"

struct table_column {
    struct sg_table_column as;
    char *head, *unit, *tex;
};
struct table_cell {
    char *text, *deviation, *more; /* `more` is lines */
    double value;                  /* NaN = none */
};
struct sg_table {
    struct table_column *column;
    struct table_cell *cell; /* [n_cells] row after row */
    size_t n_columns, n_cells;
};

size_t table_rows(const sg_table *t);
const struct table_cell *table_cell_at(const sg_table *t, size_t row, size_t column);

#endif
