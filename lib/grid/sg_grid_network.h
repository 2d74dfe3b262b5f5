/* sg_grid_network.h: what the messages of finished runs would have taken on modelled networks.
 *
 * The messages of a run are taken out of its records once, and then serve any number of networks. Everything here is
 * computed from what runs recorded: nothing is run, and no time is a measurement (sg_net.h). */
#ifndef SG_GRID_NETWORK_H
#define SG_GRID_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sg_net.h"
#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_status.h"

/* A cluster that runs are put on. */
struct sg_grid_network {
    struct sg_net net;
    const struct sg_collective *sum;    /* of messages that are added up on their way */
    const struct sg_collective *gather; /* of all others; NULL = as each method's publication has it */
    const struct sg_overlap *overlap;
    double compute_s; /* forward and backward pass of a step */
    double coding_s;  /* encoding and decoding of one number of the model */
    bool bursts;      /* results get the series of sg_burst_table, too */
};

/* What the recipe's section `network` says; false = it has none, and *out is unchanged. Where neither it nor the recipe
 * has one number of workers, it is that of 1 worker. */
bool sg_grid_network_read(struct sg_grid_network *out, const struct sg_recipe *recipe);

/* The same cluster with another bandwidth between its nodes and another number of workers. Nodes keep their number of
 * workers, and parameter servers their number, where there are workers enough. SG_ERR_ARGUMENT: so many workers do not
 * fill whole nodes; *out is then unchanged. */
SG_CHECKED sg_status sg_grid_network_change(struct sg_grid_network *out, const struct sg_grid_network *of,
                                            double bits_per_s, size_t workers, struct sg_error *err);

/* A result's "network": {"model","modelled":true,"workers","nodes","link":{"name","alpha_s","bits_per_s","source",
 * "interpolated"},"collective","gather","overlap","compute_s","coding_ns"}; gather null: as each method has it. `model`
 * names it in titles. NULL = no memory. */
cJSON *sg_grid_network_json(const struct sg_grid_network *n, const char *model);

/* What a finished run sent at each of its records. */
struct sg_grid_messages;

/* Reads them. Both the run and the cell may be freed afterwards. sg_grid_messages_free(NULL) is fine. */
SG_CHECKED sg_status sg_grid_messages_open(struct sg_grid_messages **out, const struct sg_cell *cell,
                                           const struct sg_run *run, struct sg_error *err);
void sg_grid_messages_free(struct sg_grid_messages *messages);

/* The seconds from the first step to each of the first n records, n at most the number of records: column c [n] gets
 * the series c of sg_net_series. Columns that are NULL are left out. The memory needed does not depend on n. */
SG_CHECKED sg_status sg_grid_messages_time(double *const column[SG_NET_SERIES], const struct sg_grid_messages *messages,
                                           const struct sg_grid_network *network, size_t n, struct sg_error *err);

#endif
