/* figure_bands.c: reads what a panel of curves shows of the seeds, mean and deviation or median and quartiles, smooths
 * it and says so. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "figure_private.h"
#include "sg_memory.h"
#include "sg_text.h"

static bool wants_quartiles(const struct sg_panel *panel, const char *band) {
    return strcmp(band, "quartiles") == 0 || (strcmp(band, "auto") == 0 && panel->y.log);
}

void sg_reading_add_letter(const struct sg_reading *r, char *letters) {
    const char letter = (char)('a' + (int)(r->figure->n_panels - 1));
    if (!strchr(letters, letter))
        letters[strlen(letters)] = letter;
}

/* ---- smoothing ---- */

/* The mean of `window` values around each, at the ends of as many as there are; geometric if they are positive and it
 * is for a log axis. NaN is passed over. */
static void smooth(double *value, size_t n, size_t window, bool log) {
    double *out = sg_malloc((n ? n : 1) * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const size_t first = i < (window - 1) / 2 ? 0 : i - (window - 1) / 2;
        const size_t end = i + window / 2 + 1 < n ? i + window / 2 + 1 : n;
        double sum = 0, logs = 0, known = 0;
        bool positive = true;
        for (size_t k = first; k < end; k++)
            if (isfinite(value[k])) {
                positive = positive && value[k] > 0;
                sum += value[k];
                logs += positive ? log10(value[k]) : 0;
                known++;
            }
        out[i] = !isfinite(value[i]) ? value[i] : log && positive ? pow(10, logs / known) : sum / known;
    }
    memcpy(value, out, n * sizeof *value);
    free(out);
}

static void smooth_curve(const struct sg_panel *panel, struct sg_curve *curve, size_t window) {
    double *const columns[] = {curve->y, curve->y_std, curve->low, curve->high};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i])
            smooth(columns[i], curve->n, window, panel->y.log);
}

/* ---- bands ---- */

/* The median in the place of the mean, with the quartiles as band. */
static void take_quartiles(struct sg_curve *curve, const struct sg_frame_column *column) {
    free(curve->y);
    curve->y = sg_reading_copy(column->curve[SG_MEDIAN], curve->n);
    curve->low = sg_reading_copy(column->curve[SG_Q1], curve->n);
    curve->high = sg_reading_copy(column->curve[SG_Q3], curve->n);
}

/* Drops records without a y: a curve goes from one evaluation to the next. */
static void drop_unknown(struct sg_curve *curve) {
    double *const columns[] = {curve->x, curve->y, curve->y_std, curve->low, curve->high};
    size_t kept = 0;
    for (size_t i = 0; i < curve->n; i++) {
        if (isnan(curve->y[i]))
            continue;
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            if (columns[c])
                columns[c][kept] = columns[c][i];
        kept++;
    }
    curve->n = kept;
}

void sg_reading_band(struct sg_reading *r, const struct sg_panel *panel, struct sg_curve *curve,
                     const struct sg_document_plot *plot, const struct sg_frame_column *column) {
    const char *band = sg_or(plot ? plot->band : NULL, "auto");
    const double window = plot ? plot->smooth : NAN;
    if (!r->select->recorded && curve->y_std && strcmp(band, "none") == 0) {
        free(curve->y_std);
        curve->y_std = NULL;
    }
    /* A result of an earlier version has no quartiles. */
    const bool quartiles = !r->select->recorded && curve->y_std && wants_quartiles(panel, band) &&
                           column->curve[SG_MEDIAN] && column->curve[SG_Q1] && column->curve[SG_Q3];
    if (quartiles)
        take_quartiles(curve, column);
    drop_unknown(curve);
    if (!r->select->recorded && window >= 2 && window <= 1e6) {
        smooth_curve(panel, curve, (size_t)window);
        r->window = window > r->window ? (int)window : r->window;
        sg_reading_add_letter(r, r->smoothed);
    }
    if (quartiles)
        sg_reading_add_letter(r, r->quartiles);
    r->bands |= curve->y_std && !quartiles;
    r->log_bands |= curve->y_std && !quartiles && panel->y.log;
}

/* ---- words ---- */

/* " in (b) and (c)", nothing if it is so in all panels. */
static void put_where(FILE *out, const struct sg_reading *r, const char *letters) {
    const size_t n = strlen(letters);
    for (size_t i = 0; n < r->figure->n_panels && i < n; i++)
        fprintf(out, "%s(%c)", i == 0 ? " in " : i + 1 == n ? " and " : ", ", letters[i]);
}

char *sg_reading_footnote(const struct sg_reading *r) {
    const int seeds = sg_plot_seeds(&r->document->results);
    const char *of = sg_or(r->document->over, "seeds"); /* what the values of a label are of */
    char *text = NULL, over[64];
    const char *before = "";
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    if (seeds)
        snprintf(over, sizeof over, " over %d %.32s", seeds, of);
    else
        snprintf(over, sizeof over, " over %.32s", of);
    if (r->bands || r->bars) {
        fprintf(out, "mean%s; %s: ±1 standard deviation%s", over,
                r->bands && r->bars ? "bands and bars"
                : r->bands          ? "bands"
                                    : "bars",
                r->log_bands ? ", downwards by the same factor on a logarithmic axis" : "");
        before = "; ";
    }
    if (r->seeds) {
        fprintf(out, "%srings: the %.32s", before, of);
        before = "; ";
    }
    if (r->ranked) {
        fprintf(out, "%sdashed: no compression", before);
        before = "; ";
    }
    if (r->places) {
        fprintf(out, "%sin brackets: places, shared where a sign-flip test parts no two", before);
        before = "; ";
    }
    if (r->quartiles[0]) {
        fprintf(out, "%smedian and quartiles%s", before, r->bands || r->bars ? "" : over);
        put_where(out, r, r->quartiles);
        before = "; ";
    }
    if (r->smoothed[0]) {
        fprintf(out, "%smean of %d records around each", before, r->window);
        put_where(out, r, r->smoothed);
        before = "; ";
    }
    if (r->joined[0]) {
        fprintf(out, "%slines join a method's settings", before);
        put_where(out, r, r->joined);
    }
    return sg_stream_text(out, &text);
}
