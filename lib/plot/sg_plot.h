/* sg_plot.h: turns results in JSON into tables and figures. It computes nothing that is not in the JSON but statistics
 * of the seeds' values there: the places of a ranking.
 *
 *   text -> sg_plot_parse -> document -> sg_figure_read  -> exporters that draw (svg, csv, …)
 *                                     -> sg_summary_read -> exporters that tabulate (markdown, …)
 *                          documents                      -> sg_page_write (html)
 *
 * A document always has the shape of a sparsebench result; a run of sparsetrain becomes one with a single label. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PLOT_H
#define SG_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_document.h"
#include "sg_places.h"
#include "sg_status.h"

/* Parses a sparsebench result, a sparsetrain result or a series. A result of kernels can only become the plain table.
 * `name` begins messages, which give line:column. The caller frees *out. SG_ERR_UNSUPPORTED: the schema is newer than
 * ours. */
SG_CHECKED sg_status sg_plot_parse(struct sg_document *out, const char *text, size_t length, const char *name,
                                   struct sg_error *err);

/* Reads a file of at most 256 MiB and parses it by sg_plot_parse; "-" = stdin. */
SG_CHECKED sg_status sg_plot_read(struct sg_document *out, const char *path, struct sg_error *err);

/* Reads n files, 1 .. SG_PLOT_OVERLAYS, into one document. If n > 1, it has the plots of the first file and no claims,
 * and each label ends with the name of its file. SG_ERR_ARGUMENT: one of several is a result of kernels. */
enum { SG_PLOT_OVERLAYS = 8 };
SG_CHECKED sg_status sg_plot_read_all(struct sg_document *out, const char *const *path, size_t n, struct sg_error *err);

/* Overrides of the document's "plots". NULL and 0 = as in the document. */
struct sg_plot_select {
    const char *x, *y; /* a column for every panel; panels that become equal are merged */
    const char *log;   /* "none", "x", "y", "xy" */
    const char *title;
    size_t panel;         /* counts from 1; 0 = all */
    double width, height; /* of the whole figure, inches */
    bool seeds;           /* tables: also every seed of every claim, and claims that are not judged */
    bool claims;          /* latex: also the table of the claims */
    bool color;           /* the plain table: colour the verdicts, for a terminal */
    size_t columns;       /* the plain table: width of the terminal; 0 = none: 80, and sentences are not wrapped */
    const char *sort;     /* tables: the column that orders the methods, best first; "" = the one that measures
                             their quality; NULL = as in the document */
    bool recorded;        /* figures: means and deviations as recorded, without quartiles and smoothing */
};

/* Notes for the reader of a figure, for example about labels without values or unfinished runs. */
enum { SG_PLOT_NOTES = 16 };
struct sg_plot_notes {
    size_t n;
    char text[SG_PLOT_NOTES][256];
};

/* How a curve looks, in every format. */
enum { SG_DASH_MOST = 6 };
enum sg_marker {
    SG_MARKER_CIRCLE,
    SG_MARKER_SQUARE,
    SG_MARKER_UP, /* a triangle */
    SG_MARKER_DIAMOND,
    SG_MARKER_DOWN,
    SG_MARKER_PENTAGON,
    SG_MARKERS
};
struct sg_style {
    char color[8];             /* "#RRGGBB" */
    size_t n_dash;             /* 0 = a solid line */
    double dash[SG_DASH_MOST]; /* [n_dash] drawn, left out, drawn, … in points */
    enum sg_marker marker;
    bool hollow;  /* the marker has an outline only */
    double width; /* of the line in points */
};

/* An entry of the legend, which looks the same in all panels. */
struct sg_legend {
    char *label;                     /* of a cell, or, in panels of points, of its method */
    char *text;                      /* the label as it is drawn: "Hard-threshold λ=0.0794" */
    char *tuned;                     /* of a curve, " scale=0.1": what the trial drew that won; "" = nothing */
    const char *method, *compressor; /* of the label; `compressor` is "" if the result does not name it */
    bool baseline;                   /* the paper's line without compression */
    struct sg_style style;
};

/* One line of a panel. */
struct sg_curve {
    size_t legend; /* index into figure->legend */
    size_t n;
    double *x, *y;      /* [n]; NaN = no value */
    double *y_std;      /* [n]; NULL = no band, as there is one seed */
    double *low, *high; /* [n] the band, if it is not mean ± 1 standard deviation; both or neither */
    const char **point; /* [n] the label of each point if panel->points, else NULL */
    bool level; /* a baseline drawn as a line across the panel: in a points panel at y[0], in a ranking at x[0] */
    char *row;  /* the name of the row in a ranking, else NULL */
    size_t n_seeds;
    double *seed;             /* [n_seeds] a ranking's value of each seed; NULL = none */
    double median;            /* of them, and */
    struct sg_standing place; /* the place by it, if panel->places */
};

struct sg_axis {
    const char *name;    /* column: "bits" */
    char *label;         /* with the unit: "bits per worker" */
    char *words;         /* `label` without its formula */
    const char *formula; /* the formula in `label`; "" = none */
    bool log;
    double min, max; /* the view: min < max, positive if log; both NaN if the panel is empty */
};

struct sg_panel {
    const char *title; /* the plot's own, or NULL */
    struct sg_axis x, y;
    /* One point per label (final y over final x). Lines join the points of a method; a baseline is a level line. If x
     * is a key that is a list of the recipe, lines join the points that differ in it alone, also of baselines. */
    bool points;
    /* One row per label, the best at the top. x is the label's value, with the deviation in y_std; y counts rows from
     * the bottom, under the name of the column that chose them. Exporters of data get the plot's own x and y. */
    bool ranking;
    bool places; /* every row and baseline of a ranking has a place */
    size_t n_curves;
    struct sg_curve *curve;
};

/* Names and strings are borrowed from the document, which must outlive the figure. */
struct sg_figure {
    char *title;    /* it mentions if data are generated; "" = no title */
    char *source;   /* recipe, data, seeds and program on one line */
    char *footnote; /* explains the band or the bars; "" = no footnote */
    double width, height;
    size_t n_legend, n_panels;
    struct sg_legend *legend;
    struct sg_panel *panel;
    size_t hidden; /* values that a log axis cannot show; data exports have them */
    struct sg_plot_notes notes;
};

/* Reads the figure. It needs "plots" in the document or select->y. SG_ERR_ARGUMENT: unknown column, with a suggestion
 * and the list. */
SG_CHECKED sg_status sg_figure_read(struct sg_figure *out, const struct sg_document *document,
                                    const struct sg_plot_select *select, struct sg_error *err);
void sg_figure_free(struct sg_figure *figure); /* zeroes it */
/* SG_ERR_FORMAT: a panel, named in the message, has nothing to draw. Call it before an exporter that is not `data`. */
SG_CHECKED sg_status sg_figure_drawable(const struct sg_figure *figure, struct sg_error *err);

/* Final values and claims. */
struct sg_summary_metric {
    const char *name;
    char *heading;       /* with its unit: "hit rate (%), largest" */
    const char *formula; /* "" = the heading is the definition */
    bool higher;         /* larger values are better */
};
struct sg_summary_row {
    const char *label;
    double *mean, *std; /* [n_metrics]; NaN = none */
};
struct sg_summary {
    char *title, *source, *footnote;
    const char *finding;       /* a sentence that compares the methods with the baseline; NULL = none */
    char *traffic;             /* the quantity that "times less sent" compares; NULL = no such column */
    bool seeds, claims, color; /* as selected, as is columns */
    size_t columns;
    size_t n_metrics, n_rows, n_claims;
    size_t quality; /* index of the metric of a method's quality; n_metrics = there is none */
    struct sg_summary_metric *metric;
    struct sg_summary_row *row;
    const struct sg_document_claim *claim; /* of the document, which must outlive the summary, as names must */
    size_t n_rankings;
    struct sg_figure *ranking; /* [n_rankings] of one panel each, which has places */
    struct sg_plot_notes notes;
};

/* Reads the metrics of the selected plots; of a document without plots, every column; of times of kernels, the claims
 * alone. SG_ERR_ARGUMENT: there is no such column or panel, or none to sort by. */
SG_CHECKED sg_status sg_summary_read(struct sg_summary *out, const struct sg_document *document,
                                     const struct sg_plot_select *select, struct sg_error *err);
void sg_summary_free(struct sg_summary *summary); /* zeroes it */

/* A section of a page. */
struct sg_page_result {
    const struct sg_document *document;
    const char *name; /* shown above its title; NULL = the recipe's name */
};
enum { SG_PAGE_RESULTS = 256 };

/* Writes one page in HTML that needs no other file, with a section for each result [n], n >= 1. It holds the documents
 * as JSON. Results of kernels may be among them. SG_ERR_ARGUMENT: an unknown column or panel. Errors of output are
 * reported through ferror(out). */
SG_CHECKED sg_status sg_page_write(FILE *out, const struct sg_page_result *result, size_t n,
                                   const struct sg_plot_select *select, struct sg_plot_notes *notes,
                                   struct sg_error *err);

/* The second line of a page begins with "<!-- ", this text and the status of its results. */
#define SG_PAGE_MARK "sparsegrad page, status "
/* True if `path` is a page of sg_page_write that shows an unfinished run. */
bool sg_page_is_partial(const char *path);

/* An export format: one file and one row in plot_table.c. Exactly one of figure, tables and page is not NULL. They
 * report errors of output through ferror(out). */
struct sg_exporter {
    const char *name, *summary;
    const char *extensions; /* "tex|latex": -o FILE chooses the format by these; NULL = only --format chooses it */
    bool binary;            /* must not be written to a terminal */
    bool data;              /* writes every recorded number, also those that a log axis cannot show */
    sg_status (*figure)(FILE *out, const struct sg_figure *figure, const char *format, struct sg_error *err);
    void (*tables)(FILE *out, const struct sg_summary *summary);
    /* Writes several results into one output. For the other exporters sg_plot_read_all merges them first. */
    sg_status (*page)(FILE *out, const struct sg_page_result *result, size_t n, const struct sg_plot_select *select,
                      struct sg_plot_notes *notes, struct sg_error *err);
};
/* The escape sequence of the colour in which a verdict is shown on a terminal. */
const char *sg_verdict_color(const char *verdict);

const struct sg_exporter *sg_exporter_at(size_t i);              /* NULL past the end */
const struct sg_exporter *sg_exporter_find(const char *name);    /* NULL if unknown */
const struct sg_exporter *sg_exporter_by_path(const char *path); /* by extension; NULL if unknown */

/* Reads from the document what the exporter needs, writes it to `out`, and copies the notes to *notes, which may be
 * NULL. SG_ERR_MEMORY: memory ran out in this process, and some part of the output may be missing. */
SG_CHECKED sg_status sg_export(FILE *out, const struct sg_exporter *exporter, const struct sg_document *document,
                               const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err);

#endif
