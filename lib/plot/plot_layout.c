/* plot_layout.c: computes the position and size of every part of a figure on the sheet. */
/* SPDX-License-Identifier: MIT */
#include "plot_layout.h"

#include <math.h>
#include <stdlib.h>

#include "sg_text.h"

/* Inches. */
#define PANEL_WIDTH 3.5
#define LONE_WIDTH  4.6
#define LEAST_WIDTH 2.0 /* of a panel, where the width is chosen */
#define EDGE        0.06
#define RIGHT       0.20

double sg_sheet_title_ems(const struct sg_sheet *s) {
    return (s->width - 2 * EDGE) / s->em;
}

double sg_sheet_footnote_ems(const struct sg_sheet *s) {
    return (s->width - EDGE - RIGHT) / (SG_SMALL * s->em);
}

double sg_sheet_caption_ems(const struct sg_sheet *s, size_t p) {
    return (s->place[p].x1 - s->place[p].left + RIGHT - EDGE) / s->em;
}

double sg_sheet_legend_ems(const struct sg_sheet *s, size_t p) {
    return p == SG_PLOT_ALL ? sg_sheet_title_ems(s) : sg_sheet_caption_ems(s, p);
}

double sg_sheet_label_ems(const struct sg_sheet *s, size_t p, bool is_x) {
    const struct sg_place *place = &s->place[p];
    return (is_x ? place->x1 - place->x0 + 2 * RIGHT - EDGE : 1.08 * (place->y1 - place->y0)) / s->em;
}

void sg_sheet_ticks(struct sg_ticks *out, const struct sg_sheet *s, const struct sg_figure *f, size_t p, bool is_x) {
    const struct sg_place *place = &s->place[p];
    const struct sg_tick_room room = {
        .inches = is_x ? place->x1 - place->x0 : place->y1 - place->y0, .em = s->em, .across = is_x};
    sg_plot_ticks(out, is_x ? &f->panel[p].x : &f->panel[p].y, &room);
}

char *sg_sheet_label(const struct sg_axis *axis, const struct sg_ticks *ticks) {
    char power[SG_POWER_CHARS];
    return ticks->exponent ? sg_format("%s (%s)", axis->label, sg_plot_power(power, ticks->exponent))
                           : sg_format("%s", axis->label);
}

static size_t label_lines(const struct sg_sheet *s, const struct sg_figure *f, size_t p, bool is_x) {
    struct sg_ticks ticks;
    if (!is_x && f->panel[p].ranking)
        return 0;
    sg_sheet_ticks(&ticks, s, f, p, is_x);
    char *label = sg_sheet_label(is_x ? &f->panel[p].x : &f->panel[p].y, &ticks);
    const size_t lines = sg_plot_lines(label, sg_sheet_label_ems(s, p, is_x));
    free(label);
    return lines;
}

static size_t legend_rows(const struct sg_sheet *s, const struct sg_figure *f, size_t p) {
    struct sg_entry e = {0};
    while (sg_plot_next_entry(f, p, sg_sheet_legend_ems(s, p), &e))
        ;
    return e.text ? e.row + 1 : 0;
}

double sg_sheet_row_left(const struct sg_sheet *s, const struct sg_figure *f, struct sg_entry e) {
    const double most = sg_sheet_legend_ems(s, SG_PLOT_ALL);
    const size_t row = e.row;
    double end;
    do
        end = e.end;
    while (sg_plot_next_entry(f, SG_PLOT_ALL, most, &e) && e.row == row);
    return (s->width - (end - (SG_ENTRY - SG_SAMPLE - SG_GAP)) * s->em) / 2;
}

/* ---- panels ---- */

static double y_margin(const struct sg_sheet *s, const struct sg_figure *f, size_t p) {
    struct sg_ticks ticks;
    double widest = 0;
    if (f->panel[p].ranking) { /* its rows have names in place of numbers and a title */
        for (size_t c = 0; c < f->panel[p].n_curves; c++)
            widest = fmax(widest, f->panel[p].curve[c].level ? 0 : SG_SMALL * sg_plot_ems(f->panel[p].curve[c].row));
        return EDGE + (0.5 + widest + 0.7) * s->em;
    }
    sg_sheet_ticks(&ticks, s, f, p, false);
    for (size_t i = 0; i < ticks.n; i++)
        if (ticks.tick[i].labelled)
            widest = fmax(widest, sg_tick_ems(&ticks.tick[i]));
    return EDGE + (SG_LINE * (double)label_lines(s, f, p, false) + 0.5 + widest + 0.7) * s->em;
}

/* The left ends of all axes of a column are in one line, and so are those of its rankings. */
static void place_column(struct sg_sheet *s, const struct sg_figure *f, size_t column) {
    const double cell = s->width / (double)s->columns, left = (double)column * cell;
    double margin[2] = {0, 0};
    for (size_t p = column; p < f->n_panels; p += s->columns)
        margin[f->panel[p].ranking] = fmax(margin[f->panel[p].ranking], y_margin(s, f, p));
    for (size_t p = column; p < f->n_panels; p += s->columns) {
        struct sg_place *place = &s->place[p];
        place->x0 = left + fmin(margin[f->panel[p].ranking], 0.6 * cell);
        place->x1 = left + cell - RIGHT;
        place->left = f->panel[p].ranking || !s->shared ? left + EDGE : place->x0;
        place->y_numbers = place->x0 - 0.7 * s->em;
        place->y_label = left + EDGE + SG_LINE / 2 * s->em;
    }
}

/* Places a row of panels, of which captions, axes and texts are in one line, below `top`; returns where it ends. */
static double place_row(struct sg_sheet *s, const struct sg_figure *f, size_t row, double top, double axes) {
    const size_t first = row * s->columns, end = first + s->columns < f->n_panels ? first + s->columns : f->n_panels;
    double above = 0; /* room for captions and legends, which begin at the top */
    size_t labels = 1;
    for (size_t p = first; p < end; p++) {
        char *caption = sg_plot_caption(f, p);
        const size_t lines = sg_plot_lines(caption, sg_sheet_caption_ems(s, p));
        const size_t rows = s->shared ? 0 : legend_rows(s, f, p), x = label_lines(s, f, p, true);
        s->place[p].caption = top + SG_LINE / 2 * s->em;
        s->place[p].legend = top + (SG_LINE * (double)lines + SG_ROW / 2) * s->em;
        above = fmax(above, (SG_LINE * (double)lines + SG_ROW * (double)rows + 0.5) * s->em);
        labels = x > labels ? x : labels;
        free(caption);
    }
    for (size_t p = first; p < end; p++) {
        struct sg_place *place = &s->place[p];
        place->y0 = top + above;
        place->y1 = place->y0 + axes;
        place->x_numbers = place->y1 + 1.3 * s->em;
        place->x_label = place->x_numbers + 1.5 * s->em;
    }
    return top + above + axes + (1.3 + 1.5 + SG_LINE * (double)labels - 0.2) * s->em;
}

/* How high the axes of a row of panels are: `axes`, or more where rankings have many rows. */
static double row_height(const struct sg_sheet *s, const struct sg_figure *f, size_t row, double axes) {
    for (size_t p = row * s->columns; p < (row + 1) * s->columns && p < f->n_panels; p++)
        axes = fmax(axes, SG_ROW * s->em * ((double)sg_plot_rows(&f->panel[p]) + 0.4));
    return axes;
}

/* Lays out the sheet with axes of this height; returns how high it is. */
static double lay_out(struct sg_sheet *s, const struct sg_figure *f, double axes) {
    double y = EDGE;
    for (size_t p = 0; p < f->n_panels; p++) {
        s->place[p].y0 = 0;
        s->place[p].y1 = row_height(s, f, p / s->columns, axes);
    }
    for (size_t column = 0; column < s->columns; column++)
        place_column(s, f, column);
    s->title = y + SG_LINE / 2 * s->em;
    y += SG_LINE * (double)sg_plot_lines(f->title, sg_sheet_title_ems(s)) * s->em;
    s->legend = y + (0.3 + SG_ROW / 2) * s->em;
    y += s->shared ? SG_ROW * (double)legend_rows(s, f, SG_PLOT_ALL) * s->em : 0;
    for (size_t row = 0; row < s->rows; row++)
        y = place_row(s, f, row, y + 0.6 * s->em, row_height(s, f, row, axes));
    s->footnote = y + SG_LINE / 2 * SG_SMALL * s->em;
    return y + SG_LINE * SG_SMALL * s->em * (double)sg_plot_lines(f->footnote, sg_sheet_footnote_ems(s)) + EDGE;
}

void sg_sheet_lay_out(struct sg_sheet *s, const struct sg_figure *f) {
    *s = (struct sg_sheet){.shared = sg_plot_shares_legend(f), .columns = sg_plot_grid_columns(f->n_panels)};
    s->width = f->width > 0 ? f->width : s->columns == 1 ? LONE_WIDTH : PANEL_WIDTH * (double)s->columns;
    while (s->columns > 1 && s->width / (double)s->columns < LEAST_WIDTH)
        s->columns--;
    s->rows = (f->n_panels + s->columns - 1) / s->columns;
    const double cell = s->width / (double)s->columns;
    s->em = (cell < 3.4 ? 8 : 9) / 72.0;
    double axes = fmax(1.2, fmin(2.3, 0.66 * (cell - 0.8)));
    s->height = lay_out(s, f, axes);
    if (f->height > 0) {
        axes = fmax(0.5, axes + (f->height - s->height) / (double)s->rows);
        lay_out(s, f, axes);
        s->height = f->height;
    }
}
