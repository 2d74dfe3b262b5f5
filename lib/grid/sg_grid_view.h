/* sg_grid_view.h: shows the progress of a grid on stderr: redrawn on a terminal, elsewhere a line per finished cell. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_GRID_VIEW_H
#define SG_GRID_VIEW_H

#include "sg_grid.h"

struct sg_grid_view {
    bool live; /* stderr is a terminal, so redraw */
    bool started;
    bool begun; /* it was said how many cells run */
    bool waits; /* it was reported that all remaining cells run in other processes */
    double start_s, last_s;
    int lines; /* number of lines that are on the terminal now */
    size_t finished;
    bool *told;                            /* [count] true if the cell was reported */
    const struct sg_grid_options *options; /* of the grid, to say at its start what will run; NULL = nothing is said */
};

/* Opens the view for a grid of `count` cells. */
void sg_grid_view_open(struct sg_grid_view *view, size_t count);
/* Reports what sg_grid_look found: the finished cells, and why other finished cells are not reused. */
void sg_grid_view_found(const struct sg_cell_outcome *outcomes, size_t count);
/* For sg_grid_options.changed, with the view as its arg. */
void sg_grid_view_changed(void *view, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                          size_t count);
void sg_grid_view_close(struct sg_grid_view *view); /* erases its lines on the terminal; may be called twice */

#endif
