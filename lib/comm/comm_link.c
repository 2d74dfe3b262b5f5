/* comm_link.c: how long messages between two ranks take, for a model of the network between them. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "comm_private.h"

static const double SIZE_S = 0.15; /* for all trips of one size, if there are enough of them */
enum { LEAST_TRIPS = 5, MOST_TRIPS = 41, LARGEST = 1 << 21 };

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sends a message from rank 0 to rank 1 and back. */
static sg_status go_and_return(sg_comm *c, char *data, size_t bytes, struct sg_error *err) {
    const int rank = c->world.rank;
    sg_status status = SG_OK;
    if (rank == 0) {
        status = c->transport->send(data, bytes, 1, err);
        SG_DO(status, c->transport->receive(data, bytes, 1, err));
    } else if (rank == 1) {
        status = c->transport->receive(data, bytes, 0, err);
        SG_DO(status, c->transport->send(data, bytes, 0, err));
    }
    return status;
}

/* How many trips of trip_s to time, of those that left_s has room for; at least 1. */
static int trips_for(double trip_s, double left_s) {
    const double room = left_s / (trip_s + 1e-9), wanted = SIZE_S / (trip_s + 1e-9);
    const double trips = fmin(fmin(fmax(wanted, LEAST_TRIPS), MOST_TRIPS), room);
    return trips > 1 ? (int)trips : 1;
}

/* The median of one size. The first trip also says how many there is time for. */
static sg_status time_size(sg_comm *c, char *data, size_t bytes, double until_s, double *seconds,
                           struct sg_error *err) {
    double took_s[MOST_TRIPS];
    int trips = 1;
    sg_status status = SG_OK;
    for (int i = -1; i < trips && status == SG_OK; i++) {
        status = sg_comm_agree(c, SG_OK, err); /* all ranks are here */
        const double start_s = comm_now_s();
        SG_DO(status, go_and_return(c, data, bytes, err));
        const double end_s = comm_now_s(), trip_s = end_s - start_s;
        if (i >= 0) {
            took_s[i] = trip_s / 2;
            continue;
        }
        trips = trips_for(trip_s, until_s - end_s);
        SG_DO(status, sg_comm_broadcast(c, &trips, sizeof trips, err));
    }
    if (status != SG_OK)
        return status;
    qsort(took_s, (size_t)trips, sizeof *took_s, compare);
    *seconds = took_s[trips / 2];
    return SG_OK;
}

/* True if there is time for two trips of size s, by the line through the two sizes before it. */
static bool has_room(const struct sg_comm_times *t, size_t s, double left_s) {
    if (s < 2)
        return true;
    const double slope = (t->seconds[s - 1] - t->seconds[s - 2]) / (t->bytes[s - 1] - t->bytes[s - 2]);
    return 4 * (t->seconds[s - 1] + fmax(slope, 0) * (t->bytes[s] - t->bytes[s - 1])) < left_s;
}

sg_status sg_comm_time_messages(sg_comm *c, struct sg_comm_times *out, double budget_s,
                                void (*progress)(double done, double total), struct sg_error *err) {
    static const size_t size[SG_COMM_SIZES] = {4,     256,    1024,   4096,   16384,   32768,
                                               65536, 131072, 262144, 524288, 1048576, LARGEST};
    if (c->world.size < 2)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "a link is between two ranks, and there is one: start it by a launcher, "
                       "as mpirun -n 2 --host a,b");
    const double until_s = comm_now_s() + budget_s;
    char *data = calloc(LARGEST, 1);
    sg_status status = sg_comm_agree(c, data ? SG_OK : sg_fail_memory(err, "the messages"), err);
    bool room = true;
    out->count = 0;
    for (size_t s = 0; s < SG_COMM_SIZES && status == SG_OK; s++) {
        out->bytes[s] = (double)size[s];
        room = has_room(out, s, until_s - comm_now_s()); /* rank 0 decides */
        status = sg_comm_broadcast(c, &room, sizeof room, err);
        if (status != SG_OK || !room)
            break;
        status = time_size(c, data, size[s], until_s, &out->seconds[s], err);
        out->count = s + 1;
        progress((double)out->count, SG_COMM_SIZES);
    }
    free(data);
    return status;
}
