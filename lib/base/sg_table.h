/* sg_table.h: a table of texts and numbers, and how it is written: for people in lines of a width, and in the markup of
 * Markdown, LaTeX and HTML. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TABLE_H
#define SG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_status.h" /* SG_PRINTF */

enum sg_table_align {
    SG_TABLE_LEFT,
    SG_TABLE_RIGHT,
    SG_TABLE_NUMBER, /* numbers stand right, and their deviations behind them in a line; the head stands left */
    SG_TABLE_WORDS   /* the last column: its words continue in the next line, or stand below their row */
};

enum { SG_TABLE_ALWAYS = 1000 };
struct sg_table_column {
    const char *head, *unit; /* `unit` stands in a row of its own below the heads; NULL = none */
    enum sg_table_align align;
    int weight;       /* where there is no room, columns that are the same in all rows are left out, then those of least
                    weight, of several the last */
    size_t head_most; /* the head continues in the next line where it is wider; 0 = any width */
    /* In markup only: */
    const char *tex;     /* LaTeX: a formula that is the last line of the head; NULL = none */
    double share;        /* of a line, that a column of words has in LaTeX; 0 = as wide as its cells */
    bool names;          /* HTML: the cells name their rows */
    const char *kind;    /* HTML: the class of cells that are no numbers; NULL = none */
    const char *unfolds; /* HTML: the text on which a reader clicks to unfold sg_table_more */
    void (*html)(FILE *out, const char *text); /* HTML: writes the text of a cell; NULL = as text */
};

typedef struct sg_table sg_table;

/* Opens a table with these columns [n], to which more may be added. Texts are copied. sg_table_free(NULL) is fine. */
sg_table *sg_table_open(const struct sg_table_column *column, size_t n);
void sg_table_column(sg_table *t, const struct sg_table_column *column);
/* Appends a cell, row after row; `deviation` is what stands behind a number, NULL = nothing. */
void sg_table_cell(sg_table *t, const char *text, const char *deviation);
/* Appends a formatted cell; for a NaN sg_table_number appends "-". */
void sg_table_format(sg_table *t, const char *format, ...) SG_PRINTF(2, 3);
void sg_table_number(sg_table *t, const char *format, double x);
/* Sets the number by which HTML sorts the last cell; sg_table_number sets it, too. */
void sg_table_value(sg_table *t, double value);
/* Adds a line to the last cell in markup: after "; ", and in HTML in a list that unfolds. */
void sg_table_more(sg_table *t, const char *line);
void sg_table_free(sg_table *t);

/* How a table is written for people. */
struct sg_table_lines {
    size_t width;     /* of a line, in characters; 0 = any */
    const char *mark; /* what the lines of the head begin with: "# " or "" */
    bool inset;       /* every row is indented by the width of the mark; false = only the first head is */
};
/* Heads wrap more tightly, then columns are left out until a line fits. A line below the table names them and says that
 * COLUMNS=N shows them. */
void sg_table_write_lines(FILE *out, const sg_table *t, const struct sg_table_lines *how);

/* Write the table alone: the caller writes the style sheet of HTML and loads the LaTeX packages booktabs and graphicx.
 * In LaTeX and HTML the caption stands above it. In LaTeX the heads are in lines, and what is wider than the column of
 * the text is drawn smaller. */
void sg_table_write_markdown(FILE *out, const sg_table *t);
void sg_table_write_latex(FILE *out, const sg_table *t, const char *caption);
void sg_table_write_html(FILE *out, const sg_table *t, const char *caption);

/* Writes a text, cleaned (sg_text_clean), in lines of at most `width` characters, 0 = any, unless a word is longer. The
 * first line begins with `first`, the others with `next`; both may have escape sequences of colour. Each line ends in a
 * newline. */
void sg_put_wrapped(FILE *out, const char *text, size_t width, const char *first, const char *next);

#endif
