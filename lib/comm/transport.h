/* transport.h: what MPI adds to the exchange within a process; private to lib/comm. Every call is collective. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TRANSPORT_H
#define SG_TRANSPORT_H

#include <stddef.h>

#include "sg_status.h"

enum { SG_HOST_NAME = 256 };

/* The ranks, filled in when MPI is opened. */
struct sg_world {
    int rank, size, local_rank, local_ranks;
    char library[64];
    char (*host)[SG_HOST_NAME]; /* [size] */
};

/* Which parts of a buffer belong to each rank, in items; both [size]. */
struct sg_parts {
    const int *count, *displacement;
};

/* The collective operations of a transport. */
struct sg_transport {
    /* all <- the blocks of all ranks in rank order, in items of `unit` bytes, laid out as `parts`. mine NULL: this
     * rank's block is already in `all`. */
    sg_status (*gather)(const void *mine, void *all, struct sg_parts parts, size_t unit, int rank,
                        struct sg_error *err);
    /* Sends its part of `mine` to every rank, and puts what rank r sends into part r of `all`. */
    sg_status (*deal)(const void *mine, struct sg_parts sent, void *all, struct sg_parts received, size_t unit,
                      struct sg_error *err);
    sg_status (*send)(const void *data, size_t bytes, int to, struct sg_error *err);
    sg_status (*receive)(void *data, size_t bytes, int from, struct sg_error *err);
    sg_status (*broadcast)(void *data, size_t bytes, int from, struct sg_error *err);
    void (*close)(void);
    void (*abort)(int code);
    /* The same for a thread beside the one that computes: gather and deal leave it the cores while they wait. One
     * thread of a process at a time may call the transport. NULL = this MPI is for the first thread only. */
    const struct sg_transport *beside;
};

/* Around each call that waits for a rank; -1 = for any of them (comm_watch.c). */
void transport_wait_begin(int peer);
void transport_wait_end(void);

/* Opens MPI. *out NULL: the launcher started one rank, and this build has no MPI, which it does not need then. */
sg_status sg_transport_open(const struct sg_transport **out, struct sg_world *world, struct sg_error *err);

#endif
