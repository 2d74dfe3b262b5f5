/* sg_grid_view.h: a grid on stderr while it runs: redrawn on a terminal, elsewhere a line per finished cell. */
#ifndef SG_GRID_VIEW_H
#define SG_GRID_VIEW_H

#include "sg_grid.h"

struct sg_grid_view {
    bool live; /* redraw on a terminal, else a line per finished cell */
    bool started;
    double start_s, last_s;
    int lines; /* standing on the terminal now */
    size_t finished;
    bool *told; /* [count] cells that were reported */
};

/* For a grid of `count` cells; false = no memory. */
bool sg_grid_view_open(struct sg_grid_view *view, size_t count);
/* Say what was found of a grid that was looked at: what is finished, and why other finished cells are not reused. */
void sg_grid_view_found(const struct sg_cell_outcome *outcomes, size_t count);
/* sg_grid_options.changed, with the view as its arg. */
void sg_grid_view_changed(void *view, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                          size_t count);
void sg_grid_view_close(struct sg_grid_view *view); /* erases what stands on the terminal; harmless twice */

#endif
