/* sg_plot.h: results JSON to tables and figures. Nothing is computed here that is not in the JSON.
 *
 *   text -> sg_plot_parse -> document (cJSON) -> sg_figure_read  -> exporters that draw (svg, csv, …)
 *                                             -> sg_summary_read -> exporters that tabulate (markdown, …)
 *
 * A document always has the shape of a sparsebench result; a run of sparsetrain becomes one with a single label. */
#ifndef SG_PLOT_H
#define SG_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sg_status.h"

/* Parse a sparsebench result (also one of kernels, which is a plain table only), a sparsetrain result or a series; `name` is for messages, which give line:column.
 * A schema newer than ours is SG_ERR_UNSUPPORTED. The caller deletes *out. */
SG_CHECKED sg_status sg_plot_parse(cJSON **out, const char *text, size_t length, const char *name,
                                   struct sg_error *err);

/* What to show: overrides of the document's "plots". NULL, 0 = as the document says. */
struct sg_plot_select {
    const char *x, *y; /* column for every panel; panels that become the same are merged */
    const char *log;   /* "none", "x", "y", "xy" */
    const char *title;
    size_t panel;         /* 1-based; 0 = all */
    double width, height; /* of the whole figure, inches */
    bool seeds;           /* tables: every seed of every claim, and claims that are not judged */
    bool color;           /* the plain table: verdicts in colour, for a terminal */
};

/* Things the reader of a figure must be told: labels without values, unfinished runs. */
enum { SG_PLOT_NOTES = 16 };
struct sg_plot_notes {
    size_t n;
    char text[SG_PLOT_NOTES][256];
};

/* An entry of the legend, shared by all panels: one colour, one line style. */
struct sg_legend {
    const char *label;
    bool baseline; /* dashed black, as the paper's no-compression line */
    size_t style;  /* counts from 0 among baselines and among the others */
};

/* One line of a panel. */
struct sg_curve {
    size_t legend; /* index into figure->legend */
    size_t n;
    double *x, *y;      /* [n]; NaN = no value */
    double *y_std;      /* [n]; NULL = no band (one seed) */
    const char **point; /* [n] label of each point where panel->points, else NULL */
    bool level;         /* the baseline of a points panel: a line across it at y[0] */
};

struct sg_axis {
    const char *name;    /* column: "bits" */
    char *label, *latex; /* with unit: "bits per worker"; the same for TeX */
    bool log;
    double min, max; /* of the view: positive when log, min < max; both NaN in a panel with nothing to draw */
};

struct sg_panel {
    const char *title; /* the plot's own, or NULL */
    struct sg_axis x, y;
    bool points; /* one point per label (final y over final x), joined per method; a baseline is a level line */
    size_t n_curves;
    struct sg_curve *curve;
};

/* Names and strings are borrowed from the document, which must outlive the figure. */
struct sg_figure {
    char *title;    /* says when data are generated; "" = none */
    char *source;   /* recipe, data, seeds and program on one line */
    char *footnote; /* what the band or the bars are; "" = no band */
    double width, height;
    size_t n_legend, n_panels;
    struct sg_legend *legend;
    struct sg_panel *panel;
    size_t hidden; /* values a log axis cannot show: in data exports, not drawn */
    struct sg_plot_notes notes;
};

/* Needs "plots" in the document or select->y; an unknown column is SG_ERR_ARGUMENT with a suggestion and the list. */
SG_CHECKED sg_status sg_figure_read(struct sg_figure *out, const cJSON *document, const struct sg_plot_select *select,
                                    struct sg_error *err);
void sg_figure_free(struct sg_figure *figure); /* zeroes it */
/* SG_ERR_FORMAT names a panel without anything to draw. To be asked before an exporter that is not `data`. */
SG_CHECKED sg_status sg_figure_drawable(const struct sg_figure *figure, struct sg_error *err);

/* Final values and claims. */
struct sg_summary_metric {
    const char *name;
    char *heading;               /* with its unit: "hit rate (%), largest" */
    const char *formula, *latex; /* what it is, plain and for TeX; "" = the heading says it */
};
struct sg_summary_row {
    const char *label;
    double *mean, *std; /* [n_metrics]; NaN = none */
};
struct sg_claim_seed {
    const char *seed;
    double value, bound, ratio; /* NaN = none */
};
struct sg_claim {
    const char *text, *verdict, *reason; /* reason may be NULL */
    bool at_least, judged;
    double ratio_min, ratio_max; /* of the seeds' ratios; NaN = none */
    size_t n_seeds;
    struct sg_claim_seed *seed;
};
struct sg_summary {
    char *title, *source, *footnote;
    const char *finding; /* a sentence on the methods and the baseline; NULL = none */
    char *traffic;       /* what "times less sent" compares; NULL = no such column */
    bool seeds, color;   /* as selected */
    size_t n_metrics, n_rows, n_claims;
    struct sg_summary_metric *metric;
    struct sg_summary_row *row;
    struct sg_claim *claim;
    struct sg_plot_notes notes;
};

/* The metrics of the selected plots, or every column of a document without plots. */
SG_CHECKED sg_status sg_summary_read(struct sg_summary *out, const cJSON *document, const struct sg_plot_select *select,
                                     struct sg_error *err);
void sg_summary_free(struct sg_summary *summary); /* zeroes it */

/* An export format. Adding one = one file + one row in plot_table.c; exactly one of figure and summary is set.
 * Output errors show in ferror(out). */
struct sg_exporter {
    const char *name, *summary;
    const char *extensions; /* "tex|latex": chosen by -o; NULL = by --format only */
    bool binary;            /* not for a terminal */
    bool data;              /* every number as recorded: not thinned, nothing left out for a log axis */
    sg_status (*figure)(FILE *out, const struct sg_figure *figure, const char *format, struct sg_error *err);
    sg_status (*tables)(FILE *out, const struct sg_summary *summary, struct sg_error *err);
};
/* The escape sequence of the colour in which a verdict is shown on a terminal. */
const char *sg_verdict_color(const char *verdict);

const struct sg_exporter *sg_exporter_at(size_t i);              /* NULL past the end */
const struct sg_exporter *sg_exporter_find(const char *name);    /* NULL if unknown */
const struct sg_exporter *sg_exporter_by_path(const char *path); /* by extension; NULL if unknown */

/* Read what the exporter needs from the document, write it, and hand the notes over (notes may be NULL). */
SG_CHECKED sg_status sg_export(FILE *out, const struct sg_exporter *exporter, const cJSON *document,
                               const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err);

#endif
