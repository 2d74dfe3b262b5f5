/* run_print.c: a run as a table that a person reads. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_output.h"
#include "sg_table.h"
#include "sg_text.h"

enum { ROWS = 20, DIGITS = 6 };

/* The point that row i of n shows: the first, the last, and between them every n_points / n. */
static size_t point_of(const struct sg_run *run, size_t i, size_t n) {
    return n < 2 ? 0 : (i * (run->n_points - 1) + (n - 1) / 2) / (n - 1);
}

/* "-" where the series has no value. Counts are written in full, all other numbers with six digits. */
static void put_number(sg_table *t, double x) {
    if (isfinite(x))
        sg_table_format(t, "%.*g", x == floor(x) && fabs(x) < 1e9 ? 9 : DIGITS, x);
    else
        sg_table_cell(t, "-", NULL);
}

void sg_run_print(FILE *out, const struct sg_run *run, int columns) {
    SG_ASSERT(columns > 0);
    const size_t rows = run->n_points < ROWS ? run->n_points : ROWS;
    const struct sg_table_lines how = {.width = (size_t)columns, .mark = "# ", .inset = true};
    sg_table *t = sg_table_open(NULL, 0);
    for (size_t c = 0; c < run->n_series; c++) {
        const char *name = run->series[c].name, *unit = sg_json_string(sg_json_get(run->header, "units"), name, "");
        char *in_brackets = sg_format("(%s)", *unit ? unit : "1");
        sg_table_column(t, &(struct sg_table_column){.head = name, .unit = in_brackets, .align = SG_TABLE_RIGHT});
        free(in_brackets);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < run->n_series; c++)
            put_number(t, run->series[c].value[point_of(run, i, rows)]);
    fprintf(out, "# %s, %s, seed %s: %s\n", sg_json_string(run->header, "name", ""),
            sg_json_string(run->header, "method", ""), sg_json_string(run->header, "seed", ""),
            sg_json_string(run->end, "status", ""));
    if (run->n_series > 0)
        sg_table_write_lines(out, t, &how);
    fprintf(out, "# %zu of %zu points, %d digits; all of it: -o FILE or --ndjson\n", rows, run->n_points, DIGITS);
    sg_table_free(t);
}
