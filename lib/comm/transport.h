/* transport.h: what MPI adds to the exchange within a process; private to lib/comm. Every call is collective. */
#ifndef SG_TRANSPORT_H
#define SG_TRANSPORT_H

#include <stddef.h>

#include "sg_status.h"

/* The ranks that there are, known once MPI is open. */
struct sg_world {
    int rank, size, local_rank, local_ranks;
    char library[64];
};

sg_status sg_transport_open(struct sg_world *world, struct sg_error *err);
/* all <- the blocks of all ranks in rank order, in items of `unit` bytes. count [size] and displacement [size] are in
 * items. mine NULL: this rank's block lies in its place of `all` already. */
sg_status sg_transport_gather(const void *mine, void *all, const int *count, const int *displacement, size_t unit,
                              const struct sg_world *world, struct sg_error *err);
/* Which parts of a buffer belong to each rank, in items; both [size]. */
struct sg_parts {
    const int *count, *displacement;
};
/* Sends its part of `mine` to every rank, and puts what rank r sends into part r of `all`. */
sg_status sg_transport_deal(const void *mine, struct sg_parts sent, void *all, struct sg_parts received, size_t unit,
                            struct sg_error *err);
sg_status sg_transport_send_to_lead(const void *data, size_t bytes, struct sg_error *err);
sg_status sg_transport_receive(void *data, size_t bytes, int from, struct sg_error *err);
sg_status sg_transport_broadcast(void *data, size_t bytes, int from, struct sg_error *err);
void sg_transport_close(void);
void sg_transport_abort(int code);

#endif
