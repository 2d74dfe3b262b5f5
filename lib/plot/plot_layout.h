/* plot_layout.h: where the parts of a figure lie on its sheet, in inches from the upper left corner. Every text has the
 * room that it takes in the widest font, so that no two lie over each other. */
/* SPDX-License-Identifier: MIT */
#ifndef PLOT_LAYOUT_H
#define PLOT_LAYOUT_H

#include "plot_private.h"

/* In ems. */
#define SG_LINE 1.25 /* from one line of a text to the next */
#define SG_ROW  1.25 /* from one row of a legend to the next, and of a ranking at least */

/* A panel. Texts are placed by the middle of their first line, and their other lines follow. */
struct sg_place {
    double x0, x1, y0, y1;  /* the axes; y0 is above y1 */
    double left;            /* where caption and legend begin: at the axis, or, to have more room, beside its numbers */
    double caption, legend; /* how far down */
    double x_numbers, x_label; /* how far down the numbers of the x axis and its title are */
    double y_numbers, y_label; /* where the numbers of the y axis end, and its title, which is turned, begins */
};
struct sg_sheet {
    double width, height, em;
    size_t columns, rows;
    bool shared; /* one legend for all panels */
    double title, legend, footnote;
    struct sg_place place[SG_PLOT_MAX_PANELS];
};

void sg_sheet_lay_out(struct sg_sheet *sheet, const struct sg_figure *figure);

/* Ticks and title of an axis of panel `p` on this sheet; the title has the power of ten its numbers are in, and is
 * The caller frees it. */
void sg_sheet_ticks(struct sg_ticks *out, const struct sg_sheet *sheet, const struct sg_figure *f, size_t p, bool is_x);
char *sg_sheet_label(const struct sg_axis *axis, const struct sg_ticks *ticks);
/* How many ems a line of these may have. */
double sg_sheet_title_ems(const struct sg_sheet *sheet);
double sg_sheet_footnote_ems(const struct sg_sheet *sheet);
double sg_sheet_caption_ems(const struct sg_sheet *sheet, size_t p);
double sg_sheet_label_ems(const struct sg_sheet *sheet, size_t p, bool is_x);
/* The same for the rows of a legend, of a panel or SG_PLOT_ALL. */
double sg_sheet_legend_ems(const struct sg_sheet *sheet, size_t p);
/* Where a row of the legend of all panels begins, which stands in the middle; `e` is its first entry. */
double sg_sheet_row_left(const struct sg_sheet *sheet, const struct sg_figure *f, struct sg_entry e);

#endif
