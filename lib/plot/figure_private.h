/* figure_private.h: shared by the files that read a figure: its panels and curves, its points and its bands. */
/* SPDX-License-Identifier: MIT */
#ifndef FIGURE_PRIVATE_H
#define FIGURE_PRIVATE_H

#include "plot_private.h"

struct sg_reading {
    struct sg_figure *figure;
    const struct sg_document *document;
    const struct sg_plot_select *select;
    struct sg_error *err;
    bool *shown; /* [n_labels] true if the label is in some panel */
    bool bands, log_bands, bars, seeds, ranked, places;
    char quartiles[SG_PLOT_MAX_PANELS + 1]; /* letters of the panels with quartiles */
    char smoothed[SG_PLOT_MAX_PANELS + 1];  /* letters of the panels whose curves are smoothed */
    char joined[SG_PLOT_MAX_PANELS + 1];    /* letters of the panels whose lines join settings that x does not say */
    int window;                             /* of smoothing, in records; the largest of these panels */
};

/* Adds the letter of the panel being read. */
void sg_reading_add_letter(const struct sg_reading *r, char *letters);
/* Appends a curve of this label that has the legend's entry `name`, which it copies. */
struct sg_curve *sg_reading_add(struct sg_reading *r, struct sg_panel *panel, const char *name,
                                const struct sg_frame_label *label);
/* Reads y and band of a curve as the plot asks for from its column, and smooths the curve. */
void sg_reading_band(struct sg_reading *r, const struct sg_panel *panel, struct sg_curve *curve,
                     const struct sg_document_plot *plot, const struct sg_frame_column *column);
/* "mean over 3 seeds; bands: ±1 standard deviation", "" = no band. The caller frees it. */
char *sg_reading_footnote(const struct sg_reading *r);
void sg_axis_free(struct sg_axis *axis); /* its texts */
/* A copy of x [n]. */
double *sg_reading_copy(const double *x, size_t n);
/* Adds a label to a panel of points. `points`, the plot that has them, may be NULL. */
void sg_reading_point(struct sg_reading *r, struct sg_panel *panel, const struct sg_frame_label *label,
                      const struct sg_document_plot *points);
/* Finds the point of a label: the one of the plot, else its final values. */
void sg_reading_find_point(const struct sg_document_plot *points, const struct sg_frame_label *label,
                           const struct sg_panel *panel, double *x, double *y, double *std);
/* Allocates a curve of points for up to n of them. */
void sg_reading_make_points(struct sg_curve *curve, size_t n);
/* Adds a label to a ranking if the plot's range of x holds it, or it is a baseline. `points` may be NULL. */
void sg_reading_ranked(struct sg_reading *r, struct sg_panel *panel, const struct sg_frame_label *label,
                       const struct sg_document_plot *plot, const struct sg_document_plot *points);
/* Sorts and names the rows and finds their places, and turns the panel unless data are exported. */
void sg_reading_end_ranking(struct sg_reading *r, struct sg_panel *panel);
/* Makes a level line of each baseline whose points do not differ in x. */
void sg_reading_end_points(const struct sg_reading *r, struct sg_panel *panel);

#endif
