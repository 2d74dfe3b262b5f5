/* sg_net.h: how long a step of training would take on a network, from the bytes of its messages.
 *
 * The costs are those of the literature: a message of m bytes takes alpha + m beta seconds, and adding up costs gamma a
 * byte. A table of collectives has the cost of an exchange among P workers, a table of links has alpha and beta, and a
 * table of overlaps which part of the cost the backward pass hides. All of it is a model: its results are never
 * measurements, and lib/FORMULAS.md lists how far it is from published ones.
 *
 * Nothing here allocates, prints or keeps state, so every function is safe in any thread. Times are in seconds and
 * sizes in bytes, both as doubles, which are finite and >= 0. Arrays belong to the caller and are borrowed for the
 * call. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_NET_H
#define SG_NET_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Links ---- */

/* What a message costs between two workers. */
struct sg_link {
    const char *name;    /* "10gbe-tcp" */
    const char *summary; /* for --help */
    const char *source;  /* who measured it */
    double alpha_s;      /* a message without bytes */
    double byte_s;       /* each byte: one over the bus bandwidth that collectives reach */
    bool interpolated;   /* not measured but interpolated between its neighbours in the table */
};

const struct sg_link *sg_link_at(size_t i); /* NULL past the end */

const struct sg_link *sg_link_find(const char *name); /* NULL = no such link */

/* ---- Collectives ---- */

/* A straight piece of measured times: from `bytes` bytes on, a message of m takes alpha_s + m byte_s. */
struct sg_net_piece {
    double bytes, alpha_s, byte_s;
};

struct sg_net {
    size_t workers;                   /* P >= 1 */
    size_t nodes;                     /* N: machines, each with P / N workers; divides P */
    struct sg_link between;           /* nodes; what a flat collective uses for all its messages */
    struct sg_link within;            /* a node; used by `hierarchical` and `nccl` */
    size_t ports;                     /* network ports of a node, >= 1, that share its traffic */
    size_t servers;                   /* K <= P; 0 = P of `parameter-server` and 1 of `star` */
    double sum_s;                     /* gamma: adding a byte to another */
    const struct sg_net_piece *piece; /* [n_pieces], ascending bytes, the first from 0 on: what an exchange by
                                       * `measured` takes, or a message of `open-mpi` and `open-mpi-gather` */
    size_t n_pieces;
};

/* What one exchange moves. */
struct sg_traffic {
    const double *bytes; /* [senders], each worker's message; NULL = all are `most` long */
    size_t senders;      /* 1 .. P; worker w sends a message as long as that of sender w mod senders */
    double most, sum;    /* the largest and the sum of them */
    double dense;        /* the same numbers without compression; `sparcml` needs it */
    bool unions;         /* sparse: the sum has the positions of all messages; else it is as long as the longest one */
};

/* The traffic of messages of these lengths. Sums are taken in eight interleaved parts. */
struct sg_traffic sg_traffic_of(const double *bytes, size_t senders, size_t workers, double dense);
/* The traffic of messages that are all of one length. */
struct sg_traffic sg_traffic_equal(double bytes, size_t workers, double dense);

/* How many messages a worker decodes in an exchange, each counted by its numbers. */
enum sg_decodes {
    SG_DECODES_ONE,    /* the sum */
    SG_DECODES_TWICE,  /* a part of all workers' messages, as many numbers as one message has, and the result */
    SG_DECODES_SERVED, /* the same of a K-th of all messages */
    SG_DECODES_LOG,    /* one at each of log2(P) merges */
    SG_DECODES_ALL     /* the messages of all P workers */
};

struct sg_collective {
    const char *name, *summary;
    const char *source; /* where the formula is from */
    const char *formula;
    bool sums;    /* for messages that are added up on their way; all count as the largest one, but not with `star` */
    bool outside; /* its servers are no workers */
    bool partial; /* a part of an exchange, or not given by a formula, so recipes cannot name it */
    enum sg_decodes decodes;
    double (*seconds)(const struct sg_net *net, const struct sg_traffic *traffic); /* 0 for one worker */
};

const struct sg_collective *sg_collective_at(size_t i); /* NULL past the end */

const struct sg_collective *sg_collective_find(const char *name); /* NULL = no such collective */

/* The number of messages that are decoded one after the other, by a worker or by a server and a worker; at least 1. */
double sg_collective_decoded(const struct sg_collective *collective, const struct sg_net *net);

/* The same of messages that are encoded: a worker's own, and in two rounds or at a server the sum of its part. */
double sg_collective_encoded(const struct sg_collective *collective, const struct sg_net *net);

/* The error of this model: how far it is from published times (results/NETWORK.md, Validation). */
enum sg_net_kind { SG_NET_SUM, SG_NET_ROUNDS, SG_NET_CODE, SG_NET_SPARSE, SG_NET_SERVED, SG_NET_KINDS };

struct sg_net_error {
    const char *what;               /* travels so: "sums" */
    size_t compared;                /* published numbers */
    double least, most;             /* per cent, as it comes; NaN: the model never chooses this exchange by itself */
    double given_least, given_most; /* with the exchange, the overlap and the coding of the publication */
};
extern const struct sg_net_error sg_net_errors[SG_NET_KINDS];

/* The kind of a method's exchanges. SG_NET_KINDS = no published time of such ones was compared. */
enum sg_net_kind sg_net_kind_of(const struct sg_collective *collective, unsigned exchanges);

/* NCCL's own model of an all-reduce (src/graph/tuning.cc of NCCL 2.27, commit 5067397), of Ampere GPUs and Intel's
 * processors. */
enum sg_nccl_algorithm { SG_NCCL_TREE, SG_NCCL_RING, SG_NCCL_ALGORITHMS };
enum sg_nccl_protocol { SG_NCCL_LL, SG_NCCL_LL128, SG_NCCL_SIMPLE, SG_NCCL_PROTOCOLS };

/* What NCCL finds out about a machine when it starts. */
struct sg_nccl {
    size_t ranks, nodes;
    bool nvlink; /* within a node; else PCIe */
    size_t channels;
    double channel_bytes_per_s; /* of the slower of the links within and between nodes */
};

/* Seconds of one all-reduce. */
double sg_nccl_seconds(const struct sg_nccl *machine, enum sg_nccl_algorithm algorithm, enum sg_nccl_protocol protocol,
                       double bytes);
/* Seconds of one all-reduce with the fastest algorithm and protocol, which NCCL chooses. */
double sg_nccl_fastest(const struct sg_nccl *machine, double bytes);

/* The seconds that pieces [n] give for a message of this length. 0 bytes belong to the first piece. */
double sg_net_pieces_seconds(const struct sg_net_piece *piece, size_t n, double bytes);

/* ---- Encoding and decoding ---- */

/* Nanoseconds that a compressor takes on some processor. */
struct sg_coding {
    const char *compressor;
    double element_ns; /* of each number of the model: to make a message, and what decoding costs once a step */
    double number_ns;  /* of each number of each message that is decoded */
};

struct sg_processor {
    const char *name, *summary;
    const char *source;          /* who measured it */
    const struct sg_coding *row; /* a compressor NULL is past the end; NULL = coding takes no time */
};

const struct sg_processor *sg_processor_at(size_t i); /* NULL past the end */

const struct sg_processor *sg_processor_find(const char *name); /* NULL = no such processor */

/* The row of a compressor in a table as that of sg_processor, or NULL as an empty one; if it has none, that of onebit
 * for codes of every element, and of dgc for others, which are the slowest that are published of their kind but for a
 * sort. NULL = neither is there. */
const struct sg_coding *sg_coding_find(const struct sg_coding *row, const char *compressor, bool dense);

/* ---- Overlap with the backward pass ---- */

enum sg_overlap_kind { SG_OVERLAP_NONE, SG_OVERLAP_LAYER, SG_OVERLAP_FUSED, SG_OVERLAP_PRIORITY };

struct sg_overlap {
    const char *name, *summary, *source;
    enum sg_overlap_kind kind;
};

const struct sg_overlap *sg_overlap_at(size_t i); /* NULL past the end */

const struct sg_overlap *sg_overlap_find(const char *name); /* NULL = no such overlap */

/* One step of training. Layers stand in the order of the backward pass: layer 0 is the last of the model, whose
 * gradient is ready first. */
struct sg_net_step {
    size_t layers;            /* >= 1 */
    const double *forward_s;  /* [layers] */
    const double *backward_s; /* [layers] */
    const double *encode_s;   /* [layers], of the slowest worker, on the processor of the backward pass; NULL = 0 */
    const double *decode_s;   /* [layers], of the slowest worker, on the same processor; NULL = 0 */
    const double *bytes;      /* [layers][senders], each worker's message of each layer */
    size_t senders;           /* 1 .. P, as in sg_traffic: a run of few workers can stand for a model of many */
    const double *dense;      /* [layers], bytes without compression; NULL = 0, not known */
    bool unions;              /* as in sg_traffic */
    const size_t *bucket;     /* of `fused`: [layers], equal for neighbours that travel together */
};

/* When the message of a layer is ready, starts and has arrived at all workers, from the start of the step. */
struct sg_layer_time {
    double ready_s, start_s, end_s;
    size_t bucket; /* layers of one bucket travel together */
};

struct sg_step_time {
    double step_s;          /* forward_s + backward_s + coding_s + exposed_s */
    double compute_s;       /* forward and backward passes */
    double coding_s;        /* encoding and decoding */
    double communication_s; /* of all exchanges */
    double exposed_s;       /* the processor waits for exchanges */
    double hidden_s;        /* communication_s - exposed_s */
    size_t exchanges;
};

/* Doubles that sg_net_step_time needs as work space. */
size_t sg_net_work(size_t layers, size_t senders);

/* The time of a step. timeline [layers] may be NULL.
 *   none       one exchange after the backward pass
 *   layer      one exchange a layer, in order, as soon as its gradient is there (wait-free backpropagation)
 *   fused      one exchange a bucket; sg_net_plan chooses them, once for many steps
 *   priority   one exchange a layer; among those that wait, the foremost layer goes first, and the next step's forward
 *              pass waits for each layer on its own. The times are those of a step among many like it. */
void sg_net_step_time(struct sg_step_time *out, struct sg_layer_time *timeline, const struct sg_net *net,
                      const struct sg_collective *collective, const struct sg_overlap *overlap,
                      const struct sg_net_step *step, double *work);

/* The buckets of neighbours that end the exchanges of a step like this one first; among equal ones the shortest. They
 * are no slower than those of MG-WFBP, than every layer alone and than all layers in one bucket, so that a slower
 * network never makes a shorter step. bucket [layers]; step->bucket is not read. Returns their number. Time: the square
 * of the layers. */
size_t sg_net_plan(size_t *bucket, const struct sg_net *net, const struct sg_collective *collective,
                   const struct sg_net_step *step, double *work);

/* The buckets of PyTorch's DistributedDataParallel: neighbours are collected until their bytes without compression,
 * dense [layers], are `most` or more, in the first bucket 1 MiB or more (Li et al., VLDB 2020; DDP's bucket_cap_mb and
 * its first bucket). bucket [layers] is ascending. Returns their number. */
size_t sg_net_fill(size_t *bucket, size_t layers, const double *dense, double most);

/* The series that results have of a network beside what runs recorded. Times are sums from the first step on; the peak
 * is the largest of the steps so far. */
enum { SG_NET_TIME, SG_NET_EXPOSED_TIME, SG_NET_COMPUTE_TIME, SG_NET_PEAK, SG_NET_SERIES };
/* What the steps give: these, and of the compute time the part that is encoding and decoding. */
enum { SG_NET_CODING_TIME = SG_NET_SERIES, SG_NET_TOTALS };
struct sg_net_series {
    const char *name; /* of a column of results: "exposed_time" */
    const char *unit, *help;
};
extern const struct sg_net_series sg_net_series[SG_NET_SERIES];

/* ---- Bursts ---- */

/* A cost c(k) of a step in which each worker sends k entries. A run that sends k_t at step t is compared with one that
 * sends the same total in equal numbers at each step. Jensen's inequality says which sign mean c(k_t) - c(mean k_t)
 * has: >= 0 where c is convex, <= 0 where it is concave, and 0 on a line. */
struct sg_burst_cost {
    const char *series, *of_workers; /* columns of results: "burst_union", "burst_union_workers" */
    const char *summary;
    int bend;      /* 1 = convex, -1 = concave, 0 = a line */
    double hidden; /* computation hides this share of what the mean step costs */
    /* The cost before anything is hidden. traffic: what workers send, 8 bytes an entry, with `dense` > 0. messages: the
     * number of layers of which some worker sends entries; the cost `messages` is this number, with alpha = 1 s. */
    double (*seconds)(const struct sg_net *net, const struct sg_traffic *traffic, double messages);
};
enum { SG_BURSTS = 8 };
extern const struct sg_burst_cost sg_burst_table[SG_BURSTS];

/* gap [steps] <- what bursts up to each step add to the cost of a step, on average and relative to of_mean; below 0
 * they save. seconds [steps]: the cost of each step. of_mean [steps]: the cost of the mean of all steps so far, which
 * after the last one is the mean step. Costs are those before anything is hidden. What is below 1e-12 is rounding, and
 * becomes 0. */
void sg_burst_gaps(double *gap, const double *seconds, const double *of_mean, size_t steps, double hidden);

#ifdef __cplusplus
}
#endif
#endif
