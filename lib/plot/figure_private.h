/* figure_private.h: shared by the files that read a figure: its panels and curves, its points and its bands. */
#ifndef FIGURE_PRIVATE_H
#define FIGURE_PRIVATE_H

#include "plot_private.h"

struct sg_reading {
    struct sg_figure *figure;
    const cJSON *document;
    const struct sg_plot_select *select;
    struct sg_error *err;
    bool *shown; /* of each result: is it in some panel? */
    bool bands, log_bands, bars, seeds, ranked;
    char quartiles[SG_PLOT_MAX_PANELS + 1]; /* letters of the panels with quartiles, */
    char smoothed[SG_PLOT_MAX_PANELS + 1];  /* and of those whose curves are smoothed */
    int window;                             /* over so many records, the largest of these panels */
};

/* These return false when they failed, with r->err. */
bool sg_reading_failed(const struct sg_reading *r); /* no memory */
/* Appends a curve that has the legend's entry `label`, which it copies, of this result. */
bool sg_reading_add(struct sg_reading *r, struct sg_panel *panel, const char *label, const cJSON *result,
                    struct sg_curve **out);
/* Reads the band of a curve as the plot asks for, and smooths the curve. `column` is that of its y. */
bool sg_reading_band(struct sg_reading *r, const struct sg_panel *panel, struct sg_curve *curve, const cJSON *plot,
                     const cJSON *column);
/* "mean over 3 seeds; bands: ±1 standard deviation", "" = no band; malloc'ed, NULL = no memory. */
char *sg_reading_footnote(const struct sg_reading *r);
void sg_axis_free(struct sg_axis *axis); /* its texts */
/* The first n numbers of a JSON array; NULL = no memory. */
double *sg_reading_numbers(const cJSON *array, size_t n);
/* Adds a result to a panel of points. `points` of the plot may be NULL; there are `capacity` results. */
bool sg_reading_point(struct sg_reading *r, struct sg_panel *panel, const cJSON *result, const cJSON *points,
                      size_t capacity);
/* The point that the document gives for a label (`plots[].points`), else its final values. */
void sg_reading_find_point(const cJSON *points, const cJSON *result, const struct sg_panel *panel, double *x, double *y,
                           double *std);
/* Adds a result to a ranking if the plot's range of x holds it, or it is a baseline. `points` may be NULL. */
bool sg_reading_ranked(struct sg_reading *r, struct sg_panel *panel, const cJSON *result, const cJSON *plot,
                       const cJSON *points);
/* Sorts and names the rows, and turns the panel unless data are exported. */
bool sg_reading_end_ranking(const struct sg_reading *r, struct sg_panel *panel);
/* Makes level lines of those baselines that have no place of their own on the x axis. */
void sg_reading_end_points(const struct sg_reading *r, struct sg_panel *panel);

#endif
