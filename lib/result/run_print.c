/* run_print.c: a run as a table that a person reads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_output.h"

enum { ROWS = 20, DIGITS = 6, CELL = 32 };

/* "-" if the series has no value here. Counts are written in full, all other numbers with six digits. */
static const char *cell_text(double x, char out[CELL]) {
    if (!isfinite(x))
        return "-";
    snprintf(out, CELL, "%.*g", x == floor(x) && fabs(x) < 1e9 ? 9 : DIGITS, x);
    return out;
}

static size_t rows_of(const struct sg_run *run) {
    return run->n_points < ROWS ? run->n_points : ROWS;
}

/* The point that row i shows: the first, the last, and between them every n_points / ROWS. */
static size_t point_of(const struct sg_run *run, size_t i) {
    const size_t rows = rows_of(run);
    return rows < 2 ? 0 : (i * (run->n_points - 1) + (rows - 1) / 2) / (rows - 1);
}

static void unit_text(const struct sg_run *run, const char *name, char out[CELL]) {
    const char *unit = sg_json_string(sg_json_get(run->header, "units"), name, "");
    snprintf(out, CELL, "(%.*s)", CELL - 3, *unit ? unit : "1");
}

static int width_of(const struct sg_run *run, const struct sg_series *s) {
    char text[CELL];
    unit_text(run, s->name, text);
    size_t width = strlen(text) > strlen(s->name) ? strlen(text) : strlen(s->name);
    for (size_t i = 0; i < rows_of(run); i++) {
        const size_t length = strlen(cell_text(s->value[point_of(run, i)], text));
        width = length > width ? length : width;
    }
    return (int)width;
}

/* Prints a cell. The first of a line begins with `mark`; the others stand two blanks apart. */
static void print_cell(FILE *out, size_t column, const char *mark, int width, const char *text) {
    fprintf(out, "%s%*s", column ? "  " : mark, width, text);
}

void sg_run_print(FILE *out, const struct sg_run *run, int columns) {
    SG_ASSERT(columns > 0);
    char text[CELL];
    int *width = calloc(run->n_series + 1, sizeof *width);
    size_t shown = 0;
    for (int used = 0; width && shown < run->n_series; shown++) {
        width[shown] = width_of(run, &run->series[shown]);
        used += width[shown] + 2; /* the blanks before it, or the mark */
        if (used > columns && shown > 0)
            break;
    }
    fprintf(out, "# %s, %s, seed %s: %s\n", sg_json_string(run->header, "name", ""),
            sg_json_string(run->header, "method", ""), sg_json_string(run->header, "seed", ""),
            sg_json_string(run->end, "status", ""));
    for (size_t c = 0; c < shown; c++)
        print_cell(out, c, "# ", width[c], run->series[c].name);
    fputc('\n', out);
    for (size_t c = 0; c < shown; c++) {
        unit_text(run, run->series[c].name, text);
        print_cell(out, c, "# ", width[c], text);
    }
    fputc('\n', out);
    for (size_t i = 0; shown > 0 && i < rows_of(run); i++) {
        for (size_t c = 0; c < shown; c++)
            print_cell(out, c, "  ", width[c], cell_text(run->series[c].value[point_of(run, i)], text));
        fputc('\n', out);
    }
    fprintf(out, "# %zu of %zu points, %zu of %zu columns, %d digits; all of it: -o FILE or --ndjson\n", rows_of(run),
            run->n_points, shown, run->n_series, DIGITS);
    free(width);
}
