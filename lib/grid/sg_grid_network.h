/* sg_grid_network.h: the modelled time of the messages of finished runs on networks.
 *
 * The messages of a run are read from its records once, and can then be timed on any number of networks. All results
 * are computed from the records of runs: nothing is run, and no time is a measurement (sg_net.h). */
/* SPDX-License-Identifier: MIT */
#ifndef SG_GRID_NETWORK_H
#define SG_GRID_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sg_net.h"
#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_status.h"

enum { SG_GRID_CODINGS = 128, SG_GRID_PROCESSOR = 201 };

/* A cluster that runs are put on. */
struct sg_grid_network {
    struct sg_net net;
    const struct sg_collective *sum;    /* of messages that are summed during the exchange */
    const struct sg_collective *gather; /* of all other messages; NULL = as sg_grid_exchange_of has it */
    const struct sg_overlap *overlap;
    double elements;                          /* of the model that is meant; 0 = each run's own */
    double share;                             /* processes that share a link between nodes */
    double compute_s;                         /* forward and backward pass of a step */
    double bucket_bytes;                      /* of `fused`, without compression; 0 = those of sg_net_plan */
    double coding_s;                          /* encoding and decoding of one number of the model; NaN = by `coding` */
    struct sg_coding coding[SG_GRID_CODINGS]; /* as the rows of sg_processor */
    char processor[SG_GRID_PROCESSOR];        /* a name in sg_processor, or the file of the rows */
    bool processor_given;                     /* by the recipe */
    bool bursts;                              /* add the series of sg_burst_table to results */
};

/* Reads the recipe's section `network`, and the times of coding from its file if it names one. *there <- false: there
 * is no section, and *out is unchanged. If neither the section nor the recipe gives a single number of workers, the
 * network has 1 worker. SG_ERR_FORMAT: the file is no result of kernels with compressors. */
SG_CHECKED sg_status sg_grid_network_read(struct sg_grid_network *out, bool *there, const struct sg_recipe *recipe,
                                          struct sg_error *err);

/* "10gbe-tcp, auto, overlap fused in 25 MiB, coding of v100": the model in words, without the workers. NULL = no
 * memory. */
char *sg_grid_network_text(const struct sg_grid_network *n);
/* The source of the times of coding, as a sentence. */
char *sg_grid_coding_text(const struct sg_grid_network *n);

/* How far published times are from this model, for the exchanges of the recipe's methods, as a sentence. NULL = no
 * memory. */
char *sg_grid_error_text(const struct sg_grid_network *n, const struct sg_recipe *recipe);

/* How the messages of a method travel. */
struct sg_grid_exchange {
    const struct sg_collective *collective;
    unsigned exchanges; /* of a step, one after the other, each with its part of the bytes */
    bool sums;          /* the network adds the messages up on their way */
};

/* The exchange of a method: the one that the recipe gives it, else `sum` or `gather` of the network, else that of its
 * publication, two rounds for a code of every element, and an all-gather for what is sparse. method: a compressor and
 * its parameters; given: the method's key `exchange`, or NULL. */
struct sg_grid_exchange sg_grid_exchange_of(const struct sg_grid_network *network, const struct sg_node *method,
                                            const char *given);

/* Changes the bandwidth between the nodes and the number of workers. The workers per node and the number of servers
 * stay, if there are enough workers. SG_ERR_ARGUMENT: this number of workers does not fill whole nodes; *out is then
 * unchanged. */
SG_CHECKED sg_status sg_grid_network_change(struct sg_grid_network *out, const struct sg_grid_network *of,
                                            double bits_per_s, size_t workers, struct sg_error *err);

/* A result's "network":
 * {"model","modelled":true,"workers","nodes","elements","share","link":{"name","alpha_s","bits_per_s",
 * "source","interpolated"},"collective","gather","exchanges":{NAME:COLLECTIVE},"overlap","bucket_bytes","compute_s",
 * "coding_ns","processor","coding","error"}; elements null: each run's own; gather null: that of each method;
 * exchanges: the collective of each of the recipe's methods; bucket_bytes null: no buckets of a size; coding_ns null:
 * by the processor; coding: the source; error: sg_grid_error_text. `model` names the network in titles. NULL = no
 * memory. */
cJSON *sg_grid_network_json(const struct sg_grid_network *n, const struct sg_recipe *recipe, const char *model);

/* The messages that a finished run sent up to each of its records. */
struct sg_grid_messages;

/* Reads the messages of a run, which may be freed afterwards; the cell is borrowed until sg_grid_messages_free.
 * sg_grid_messages_free(NULL) is a no-op. */
void sg_grid_messages_open(struct sg_grid_messages **out, const struct sg_cell *cell, const struct sg_run *run);
void sg_grid_messages_free(struct sg_grid_messages *messages);

/* Writes the seconds from the first step to each of the first n records, n at most the number of records: column c [n]
 * gets the total c, unless it is NULL. The memory needed does not depend on n. SG_ERR_ARGUMENT: the
 * network's table of coding has no times of the compressor. */
SG_CHECKED sg_status sg_grid_messages_time(double *const column[SG_NET_TOTALS], const struct sg_grid_messages *messages,
                                           const struct sg_grid_network *network, size_t n, struct sg_error *err);

#endif
