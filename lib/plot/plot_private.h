/* plot_private.h: shared by the readers and exporters of lib/plot. */
#ifndef SG_PLOT_PRIVATE_H
#define SG_PLOT_PRIVATE_H

#include "sg_json.h"
#include "sg_plot.h"

/* Drawn curves are thinned to so many points; panels are lettered a to z. */
enum { SG_PLOT_MAX_POINTS = 2000, SG_PLOT_MAX_PANELS = 26 };

/* -- reading -------------------------------------------------------------------------------------------------- */

/* `text` as UTF-8 on one line: line ends and tabs become blanks, other control characters, marks that reorder a line
 * and bytes that are not UTF-8 are shown as \x1b or \u202e. malloc'ed, NULL = no memory. */
char *sg_plot_clean(const char *text);
/* The same for every string and every name of a document and of those that follow it in its list. */
SG_CHECKED sg_status sg_plot_clean_document(cJSON *document, const char *name, struct sg_error *err);

void sg_plot_note(struct sg_plot_notes *notes, const char *format, ...) SG_PRINTF(2, 3);

/* Title, source and footnote lines of a document; malloc'ed, NULL = no memory. */
char *sg_plot_title(const cJSON *document, const char *override);
char *sg_plot_source(const cJSON *document);
/* Number of seeds when all labels have the same, else 0. */
int sg_plot_seeds(const cJSON *document);
/* Notes about unfinished results. */
void sg_plot_note_status(struct sg_plot_notes *notes, const cJSON *document);

/* The column of this name in "series" or "final", '-' and '_' alike; NULL if absent. */
const cJSON *sg_plot_column(const cJSON *object, const char *name);
/* The document's own spelling of a column, looked up in all results; SG_ERR_ARGUMENT with the list if unknown. */
SG_CHECKED sg_status sg_plot_resolve(const char **out, const cJSON *document, const char *name, struct sg_error *err);
/* Is this what `kind: kernels` measured? It has times of kernels instead of labels, series and plots. */
bool sg_plot_is_kernels(const cJSON *document);
/* Does some result have it as a column? If not, it is a constant, over which plots of points may be drawn. */
bool sg_plot_is_recorded(const cJSON *document, const char *name);
/* Final mean and standard deviation of a column (NaN = none); the last value of the series when there is no "final". */
void sg_plot_final(const cJSON *result, const char *column, double *mean, double *std);
/* Is this label one without compression? */
bool sg_plot_is_baseline(const cJSON *result);

/* Axis title of a column with its unit: plain text and TeX. malloc'ed. */
SG_CHECKED sg_status sg_plot_label(char **plain, char **latex, const cJSON *document, const char *column,
                                   struct sg_error *err);

/* The heading of a column with its unit, malloc'ed; NULL = no memory. *formula and *latex <- its formula, plain and for
 * TeX; "" = the name says it. */
char *sg_plot_heading(const cJSON *document, const char *column, const char **formula, const char **latex);
/* "×10⁻³". Returns out. */
enum { SG_POWER_CHARS = 64 };
const char *sg_plot_power(char out[SG_POWER_CHARS], int exponent);
/* What plots[].points of the document have for a label: {"label","x","y"}; NULL = nothing. */
const cJSON *sg_plot_point(const cJSON *points, const cJSON *result);

/* -- tables --------------------------------------------------------------------------------------------------- */

/* How the numbers of one column are written: all in the same power of ten with the same decimals. If they span more
 * decades than such numbers can show, `scientific`: each in its own power of ten, with the same decimals. */
struct sg_column_style {
    bool scientific;
    int exponent, decimals;
};
enum sg_text_kind { SG_TEXT_PLAIN, SG_TEXT_TEX };
enum { SG_CELL_CHARS = 96 };
struct sg_column_style sg_plot_column_style(const struct sg_summary *summary, size_t metric);
/* Writes a number into `mean`, "–" for NaN, and " ± deviation" into `rest`, or "" if there is no deviation or it is too
 * small for the decimals. A scientific number is in `mean` as a whole. */
void sg_plot_cell(char mean[SG_CELL_CHARS], char rest[SG_CELL_CHARS], const struct sg_column_style *style, double value,
                  double std, enum sg_text_kind kind);
/* "ratio 0.97 … 1.03, 10 seeds; true at 9 of 10 seeds" into out. */
enum { SG_NUMBERS_CHARS = 512 };
void sg_plot_claim_numbers(char out[SG_NUMBERS_CHARS], const struct sg_claim *claim);
/* "seed 1: 1.200e-3 ≤ 1.800e-3 (ratio 0.667)" into out. */
void sg_plot_claim_seed(char out[SG_NUMBERS_CHARS], const struct sg_claim *claim, const struct sg_claim_seed *seed);

/* -- drawing -------------------------------------------------------------------------------------------------- */

/* The indices of those points of a curve that its panel can show, in order, thinned to `max`; index [curve->n]. */
size_t sg_plot_visible(const struct sg_panel *panel, const struct sg_curve *curve, size_t max, size_t *index);
bool sg_plot_can_show(const struct sg_panel *panel, const struct sg_curve *curve, size_t i);
/* Does the panel show any point of the curve? */
bool sg_plot_shows(const struct sg_panel *panel, const struct sg_curve *curve);
/* Does some panel draw points of this entry of the legend? */
bool sg_plot_has_marks(const struct sg_figure *figure, size_t entry);
/* The ends of the band at point i; the lower one stays inside a log axis. */
void sg_plot_band(const struct sg_panel *panel, const struct sg_curve *curve, size_t i, double *low, double *high);
/* Chooses the views of a panel; a limit that is not NaN stays. All are NaN if there is nothing to show. */
void sg_plot_fit(struct sg_panel *panel);

enum sg_tick_kind {
    SG_TICKS_EVEN,    /* every `step` */
    SG_TICKS_DECADES, /* every `step` decades of a log axis */
    SG_TICKS_DIGITS   /* 1, 2, 5 within the few decades of a log axis */
};
struct sg_ticks {
    enum sg_tick_kind kind;
    double step;
    int exponent; /* labels count in 10^exponent, a multiple of 3; 0 = plain */
};
struct sg_ticks sg_plot_ticks(const struct sg_axis *axis);

/* Columns of panels, and the caption "(a) title" of panel i (empty for a lone panel without title); malloc'ed. */
size_t sg_plot_grid_columns(size_t n_panels);
char *sg_plot_caption(const struct sg_figure *figure, size_t i);

/* Text for TeX. */
void sg_plot_put_tex(FILE *out, const char *text);

/* -- exporters ------------------------------------------------------------------------------------------------- */

/* `format` is the exporter's name, for those that write several. */
typedef sg_status sg_plot_figure_writer(FILE *out, const struct sg_figure *figure, const char *format,
                                        struct sg_error *err);
typedef sg_status sg_plot_summary_writer(FILE *out, const struct sg_summary *summary, struct sg_error *err);
sg_plot_figure_writer sg_export_columns, sg_export_gnuplot, sg_export_image, sg_export_pgfplots, sg_export_vegalite;
sg_plot_summary_writer sg_export_markdown, sg_export_latex, sg_export_table;

#endif
