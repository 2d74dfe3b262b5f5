/* figure_private.h: shared by the two files that read a figure: its panels and curves, and its points. */
#ifndef FIGURE_PRIVATE_H
#define FIGURE_PRIVATE_H

#include "plot_private.h"

struct sg_reading {
    struct sg_figure *figure;
    const cJSON *document;
    const struct sg_plot_select *select;
    struct sg_error *err;
    bool bands, log_bands, bars;
};

/* These return false when they failed, with r->err. */
bool sg_reading_failed(const struct sg_reading *r); /* no memory */
/* Appends a curve that has the legend's entry `label`, which it copies, of this result. */
bool sg_reading_add(struct sg_reading *r, struct sg_panel *panel, const char *label, const cJSON *result,
                    struct sg_curve **out);
/* Adds a result to a panel of points. `points` of the plot may be NULL; there are `capacity` results. */
bool sg_reading_point(struct sg_reading *r, struct sg_panel *panel, const cJSON *result, const cJSON *points,
                      size_t capacity);
/* Makes level lines of those baselines that have no place of their own on the x axis. */
void sg_reading_end_points(const struct sg_reading *r, struct sg_panel *panel);

#endif
