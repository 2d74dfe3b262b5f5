/* plot_private.h: shared by the readers and exporters of lib/plot. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PLOT_PRIVATE_H
#define SG_PLOT_PRIVATE_H

#include "sg_frame.h"
#include "sg_plot.h"
#include "sg_table.h"

/* Drawn curves are thinned to so many points; panels are lettered a to z. */
enum { SG_PLOT_MAX_POINTS = 2000, SG_PLOT_MAX_PANELS = 26 };

/* -- reading -------------------------------------------------------------------------------------------------- */

void sg_plot_note(struct sg_plot_notes *notes, const char *format, ...) SG_PRINTF(2, 3);

/* Title, source and footnote lines of a document; the caller frees it. */
char *sg_plot_title(const struct sg_document *document, const char *override);
char *sg_plot_source(const struct sg_document *document);
/* Appends the progress of unfinished cells to a footnote, if there are any. It takes over the footnote. NULL = no
 * memory; a footnote NULL is returned as it is. */
char *sg_plot_add_unfinished(char *take_footnote, const struct sg_document *document);
/* SG_ERR_ARGUMENT: --panel names a plot that the document does not have. */
SG_CHECKED sg_status sg_plot_check_panel(const struct sg_document *document, const struct sg_plot_select *select,
                                         struct sg_error *err);
/* Number of seeds when all labels have the same, else 0. */
int sg_plot_seeds(const struct sg_frame *frame);
/* Notes about unfinished results. */
void sg_plot_note_status(struct sg_plot_notes *notes, const struct sg_document *document);

/* The result's own spelling of a column, a list of the recipe or a constant, looked up in all labels; SG_ERR_ARGUMENT
 * with the list of columns if it is unknown. Equal names are the same pointer. */
SG_CHECKED sg_status sg_plot_resolve(const char **out, const struct sg_frame *frame, const char *name,
                                     struct sg_error *err);
/* True if some label has `name` as a column. Else it is a constant, over which plots of points may be drawn. */
bool sg_plot_is_recorded(const struct sg_frame *frame, const char *name);
/* The final statistics of a column; all NaN if the label has no such column. */
void sg_plot_final(double out[SG_STATISTICS], const struct sg_frame_label *label, const char *column);

/* Sets the texts of an axis from the column that it names. The caller frees them, also after SG_ERR_MEMORY. */
void sg_plot_label(struct sg_axis *axis, const struct sg_document *document);

/* The heading of a column with its unit, which the caller frees. *formula <- its formula; "" = the name says
 * it. */
char *sg_plot_heading(const struct sg_document *document, const char *column, const char **formula);

/* What of a run `at` takes, behind a heading: ", median of the last 20 %", of the final value nothing; into out, of
 * size >= 96. */
void sg_plot_at_words(char *out, size_t size, const cJSON *at);
/* "×10⁻³". Returns out. */
enum { SG_POWER_CHARS = 64 };
const char *sg_plot_power(char out[SG_POWER_CHARS], int exponent);
/* The label's value of a key that is a list of the recipe; NULL = there is no such list. */
const cJSON *sg_plot_swept(const struct sg_frame_label *label, const char *name);
/* The label without the words of a key that is a list, as " workers=8", so that cells that differ in this key alone
 * have the same text. The caller frees it. */
char *sg_plot_label_without(const char *label, const char *name);
/* True if the range of a plot, [from, to] or null for all numbers, contains x. */
bool sg_plot_is_within(const struct sg_number_list *range, double x);

/* -- tables --------------------------------------------------------------------------------------------------- */

enum { SG_SUMMARY_COLUMNS = 32 }; /* at most, without that of traffic */
/* Sorts the rows by this column, "" = that of quality, the best first; NULL = not at all. SG_ERR_ARGUMENT: no such
 * column, or none of quality. */
SG_CHECKED sg_status sg_summary_sort(struct sg_summary *summary, const char *sort, struct sg_error *err);

/* How the numbers of one column are written: all in the same power of ten with the same decimals. If they span more
 * decades than such numbers can show, `scientific`: each in its own power of ten, with the same decimals. */
struct sg_column_style {
    bool scientific;
    int exponent, decimals;
};
enum { SG_PLOT_WIDTH = 80 }; /* of a line if select.columns is 0 */
enum { SG_CELL_CHARS = 96 };
struct sg_column_style sg_plot_column_style(const struct sg_summary *summary, size_t metric);
/* Writes a number into `mean`, "–" for NaN, and " ± deviation" into `rest`, or "" if there is no deviation or it is too
 * small for the decimals. A scientific number is in `mean` as a whole. */
void sg_plot_cell(char mean[SG_CELL_CHARS], char rest[SG_CELL_CHARS], const struct sg_column_style *style, double value,
                  double std);
/* The methods with their final values. With `lines`, for text that people read, the explanations of headings are below
 * the table. The caller frees it. */
sg_table *sg_plot_values_table(const struct sg_summary *summary, bool lines);
/* Reads the selected rankings whose rows have places. */
SG_CHECKED sg_status sg_plot_read_rankings(struct sg_summary *summary, const struct sg_document *document,
                                           const struct sg_plot_select *select, struct sg_error *err);
/* Calls `put` for each: the methods in the order of their places, with the interval of each, and a caption. */
typedef void sg_plot_places_writer(FILE *out, const struct sg_summary *summary, const sg_table *table,
                                   const char *caption);
void sg_plot_put_places(FILE *out, const struct sg_summary *summary, sg_plot_places_writer *put);
/* The table of the claims that are shown, and their number; `seeds`: with every seed of each. */
sg_table *sg_plot_claims_table(const struct sg_summary *summary, bool seeds);
size_t sg_plot_claims_shown(const struct sg_summary *summary);
/* Writes the claims that are shown as lines of text. */
void sg_plot_put_claims(FILE *out, const struct sg_summary *summary);
/* "suboptimality: f(x) − f*; error norm: ‖e‖²" behind `before`; false = no metric has a formula, and nothing is
 * written. */
bool sg_plot_put_formulas(FILE *out, const struct sg_summary *summary, const char *before,
                          void (*put)(FILE *out, const char *text));
/* "ratio 0.97 … 1.03, 10 seeds; descriptive; true at 9 of 10 seeds; the note" into out. */
enum { SG_NUMBERS_CHARS = 2048 };
void sg_plot_claim_numbers(char out[SG_NUMBERS_CHARS], const struct sg_document_claim *claim);
/* "seed 1: 1.200e-3 ≤ 1.800e-3 (ratio 0.667)" of a seed, or the same of a case, into out. */
void sg_plot_claim_seed(char out[SG_NUMBERS_CHARS], const struct sg_document_claim *claim, size_t seed);
/* How many seeds, or cases, a claim has; and the least and the largest of their ratios, NaN = none. */
size_t sg_plot_claim_size(const struct sg_document_claim *claim);
void sg_plot_claim_ratios(double *least, double *largest, const struct sg_document_claim *claim);
/* "undecided" if there is none. */
const char *sg_plot_verdict(const struct sg_document_claim *claim);

/* -- drawing -------------------------------------------------------------------------------------------------- */

/* The indices of those points of a curve that its panel can show, in order, thinned to `max`; index [curve->n]. */
size_t sg_plot_visible(const struct sg_panel *panel, const struct sg_curve *curve, size_t max, size_t *index);
bool sg_plot_can_show(const struct sg_panel *panel, const struct sg_curve *curve, size_t i);
/* True if the panel shows any point of the curve. */
bool sg_plot_shows(const struct sg_panel *panel, const struct sg_curve *curve);
/* The ends of the band at point i; the lower one stays inside a log axis. */
void sg_plot_band(const struct sg_panel *panel, const struct sg_curve *curve, size_t i, double *low, double *high);
/* A curve as it is drawn: the points that its panel can show, or for a level line its two ends. `low` and `high` are
 * the ends of the band or bar; they are values of y, or in a ranking values of x. */
struct sg_spot {
    double x, y, low, high;
    const char *label; /* of a panel of points, else NULL */
};
struct sg_drawn {
    const struct sg_panel *panel;
    const struct sg_curve *curve;
    const struct sg_legend *entry;
    size_t number;          /* of the curve in its panel, counts from 1 */
    bool row;               /* it is a row of a ranking, which has no line */
    bool marks, bars, band; /* which of these are drawn */
    size_t n;
    struct sg_spot *spot; /* [n] */
};
/* Calls `put` for each curve of panel `p`, with `max` points at most, in order. */
void sg_plot_each_curve(const struct sg_figure *figure, size_t p, size_t max,
                        void (*put)(void *to, const struct sg_drawn *drawn), void *to);
/* How many rows a ranking has; 0 = the panel is none. */
size_t sg_plot_rows(const struct sg_panel *panel);
/* "← 0.2" for a row of a ranking whose value lies outside the view and has no marker; else "". Returns out. */
enum { SG_BEYOND_CHARS = 32 };
const char *sg_plot_beyond(char out[SG_BEYOND_CHARS], const struct sg_panel *panel, const struct sg_curve *curve);
/* Chooses the views of a panel; a limit that is not NaN stays. All are NaN if there is nothing to show. */
void sg_plot_fit(struct sg_panel *panel);

/* -- ticks ---------------------------------------------------------------------------------------------------- */

struct sg_tick {
    double at;
    bool labelled; /* else it is a minor tick of a log axis */
    bool power;    /* the text is the exponent of ten */
    char text[32]; /* on a log axis also "5×10⁻⁹" */
};
/* The ticks of an axis, ascending. Numbers of an axis that is not log count in 10^exponent, a multiple of 3; 0 = plain.
 */
enum { SG_TICKS_MOST = 128 };
struct sg_ticks {
    size_t n, labels;
    int exponent;
    struct sg_tick tick[SG_TICKS_MOST];
};
/* How long the axis is, how large its type, and whether the labels stand side by side. */
struct sg_tick_room {
    double inches, em;
    bool across;
};
/* Chooses at most seven labels that do not touch; a log axis of a few decades has some between the powers of ten. */
void sg_plot_ticks(struct sg_ticks *out, const struct sg_axis *axis, const struct sg_tick_room *room);

/* -- texts ---------------------------------------------------------------------------------------------------- */

/* The width of a text, and of the label of a tick, in ems of the widest font in which they may be shown. */
double sg_plot_ems(const char *text);
double sg_tick_ems(const struct sg_tick *tick);
/* The number of bytes of whole words that fit into a line of `most` ems, at least one word. Words in brackets stay on
 * one line if possible. sg_plot_lines returns the number of such lines. */
size_t sg_plot_line(const char *text, double most);
size_t sg_plot_lines(const char *text, double most);
/* The smallest line width, up to `most` ems, with which the text has no more lines than with `most`. */
double sg_plot_balance(const char *text, double most);
/* A label as a legend shows it: "Top-k k/d=0.003", and of booleans those that are true. The caller frees it. */
char *sg_plot_name(const char *label, int digits);
/* True if a word of a label [length] is a parameter with this value: "layers=true". */
bool sg_plot_has_value(const char *word, size_t length, const char *value);
/* Sets `text` of all entries of the legend, with as few digits as tell them apart. */
void sg_plot_choose_names(struct sg_figure *figure);

/* -- styles: the one place that decides how curves look. The hue says which method a curve is of, in all panels; shade,
 * dash and marker tell the variants and parameters of a method ---------------------------------------------------- */

/* Okabe and Ito's colours without yellow, which cannot be seen on white, and two more; all differ for the
 * colour-blind. */
enum { SG_STYLE_HUES = 8 };

/* Sets `style` of every entry of the legend. Entries that start with the same word and have the same compressor are of
 * one method: "Top-k k=1", "Top-k k=5" and "Top-k, shuffled" share a hue. Baselines are black and dashed. The paper's
 * two methods have the same hues in all figures, and methods of one panel differ in hue while there are enough. */
void sg_plot_choose_styles(struct sg_figure *figure);

/* Are two entries of one method, as above? */
bool sg_plot_is_same_method(const struct sg_legend *a, const struct sg_legend *b);

/* -- legends --------------------------------------------------------------------------------------------------- */

enum { SG_PLOT_ALL = SG_PLOT_MAX_PANELS }; /* as index of a panel: all panels */
/* True if one legend above all panels is enough: all panels show the same entries, or one panel shows all of a few. */
bool sg_plot_shares_legend(const struct sg_figure *figure);
/* An entry in the rows of a legend, in ems: `x` is its start in its row, `end` that of the next. {0} before the first
 * entry. After an entry of the same method only the parameter is shown, and such entries share a row if possible. */
#define SG_SAMPLE 2.2 /* the sample of the line */
#define SG_GAP    0.5 /* between the sample and the text */
#define SG_ENTRY  3.7 /* sample, gap and the space before the next entry */
#define SG_SMALL  0.9 /* type size of legends and footnotes, relative to other texts */
struct sg_entry {
    size_t entry, row;
    const char *text;
    bool marks;
    double x, end;
};
/* Steps to the next entry of a legend with rows of at most `most` ems; false after the last. */
bool sg_plot_next_entry(const struct sg_figure *figure, size_t panel, double most, struct sg_entry *entry);
/* True if the curve has markers: it is in a panel of points or a ranking, or shows a single point. */
bool sg_plot_draws_marks(const struct sg_panel *panel, const struct sg_curve *curve);

/* Columns of panels, and the caption "(a) title" of panel i (empty for a lone panel without title); malloc'ed. */
size_t sg_plot_grid_columns(size_t n_panels);
char *sg_plot_caption(const struct sg_figure *figure, size_t i);

/* -- exporters ------------------------------------------------------------------------------------------------- */

/* `format` is the exporter's name, for those that write several. */
typedef sg_status sg_plot_figure_writer(FILE *out, const struct sg_figure *figure, const char *format,
                                        struct sg_error *err);
typedef void sg_plot_summary_writer(FILE *out, const struct sg_summary *summary);
sg_plot_figure_writer sg_export_columns, sg_export_svg, sg_export_image, sg_export_pgfplots;
sg_plot_summary_writer sg_export_markdown, sg_export_latex, sg_export_table;

/* Draws a figure as an svg element, which SVG, PNG, PDF and HTML share. Its elements carry their data: a group its
 * method in data-method, a line its values in data-x and data-y, a point its label and values, with the ends of band or
 * bar in data-low and data-high. `id` is the prefix of the ids of its parts, which are unique in a page: the curves of
 * the first panel have the id ID "curves1". */
void sg_svg_write(FILE *out, const struct sg_figure *figure, const char *id);

#endif
