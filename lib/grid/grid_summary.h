/* grid_summary.h: what several files about traffic and the baseline share; private to lib/grid. */
#ifndef GRID_SUMMARY_H
#define GRID_SUMMARY_H

#include "sg_grid.h"

/* What the first baseline that recorded its traffic sent: bytes_sent, else bits, else bits_values. */
struct grid_traffic {
    const char *column, *baseline; /* NULL = there is no baseline, or its traffic is not known */
    double sent;                   /* mean over the seeds, at the end */
};
struct grid_traffic grid_traffic(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* How many times less the label of cells[0] sent in all; NaN for a baseline, and where it is not known. */
double grid_times_less(const struct grid_traffic *traffic, const struct sg_cell *cells,
                       const struct sg_cell_outcome *outcomes, size_t count);

/* "traffic": null|{"column","baseline"}, what "times_less" of the results is about. */
cJSON *grid_traffic_json(const struct grid_traffic *traffic);

/* "summary": {"text","reason","baseline","metric","at","better","within","value",
 *   "methods":null|[{"label","value","ratio","reaches","times_less"}]}; reason says why there is no text. NULL = no memory. */
cJSON *grid_summary_json(const struct sg_recipe *recipe, const struct sg_cell *cells,
                         const struct sg_cell_outcome *outcomes, size_t count);

#endif
