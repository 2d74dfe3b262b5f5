/* grid_private.h: what the files of a grid's cells share, and those of its result; private to lib/grid. */
#ifndef GRID_PRIVATE_H
#define GRID_PRIVATE_H

#include "sg_grid.h"

/* sg_grid_value of a cell that may be unfinished: of what it has recorded so far. */
double grid_value_so_far(const struct sg_cell_outcome *outcome, const char *metric, const struct sg_node *at,
                         char why[SG_WHY_CHARS]);

/* How far a cell came, and how far it is to go; NaN = not known. */
struct grid_reach {
    double step, steps, epoch, epochs;
};
struct grid_reach grid_reach(const struct sg_cell *cell, const struct sg_cell_outcome *outcome);

/* What the first baseline that recorded its traffic sent: bytes_sent, else bits, else bits_values. Of several baselines, a
 * cell is compared with the one that has its swept values, if there is one. */
struct grid_traffic {
    const char *column, *baseline; /* NULL = there is no baseline, or its traffic is not known */
    double sent;                   /* mean over the seeds, at the end */
    const struct sg_cell *cells;   /* [count], all of them */
    const struct sg_cell_outcome *outcomes;
    size_t count;
};
struct grid_traffic grid_traffic(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* How many times less the label of cells[0] sent in all; NaN for a baseline, and where it is not known. */
double grid_times_less(const struct grid_traffic *traffic, const struct sg_cell *cells,
                       const struct sg_cell_outcome *outcomes, size_t count);

/* "traffic": null|{"column","baseline"}, what "times_less" of the results is about. */
cJSON *grid_traffic_json(const struct grid_traffic *traffic);

/* "summary": {"text","reason","baseline","metric","at","better","within","value","std",
 *   "methods":null|[{"label","value","std","ratio","reaches","times_less"}]}; reason says why there is no text. NULL = no memory. */
cJSON *grid_summary_json(const struct sg_recipe *recipe, const struct sg_cell *cells,
                         const struct sg_cell_outcome *outcomes, size_t count);

/* "network": null, or that of the recipe's section (sg_grid_network.h). Where the recipe's workers are a list and each run
 * has a network of its own workers, "workers" is null, and "nodes" unless the section has them. */
cJSON *grid_network_json(const struct sg_recipe *recipe);

/* Writes what every cell and its check are told on their command lines, --set and --plugin with their values, into word,
 * which has room for 2 (o->n_set + sg_plugin_count()) words; returns how many these are. */
size_t grid_put_changes(const char **word, const struct sg_grid_options *o);

struct sg_net;
/* Adds the series of sg_burst_table on this network to a finished cell. They are null where the entries of each worker
 * are not recorded. */
SG_CHECKED sg_status grid_add_bursts(const struct sg_net *net, struct sg_run *run, struct sg_error *err);

#endif
