/* comm_link.c: how long messages between two ranks take, for a model of the network between them. */
#include <stdlib.h>
#include <time.h>

#include "comm_private.h"

static const double BUDGET_S = 0.15; /* for all trips of one size */
enum { LEAST_TRIPS = 5, MOST_TRIPS = 41, LARGEST = 1 << 21 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

/* The median of one size. The first trip also says how many there is time for. */
static sg_status time_size(sg_comm *c, char *data, size_t bytes, double *seconds, struct sg_error *err) {
    double took_s[MOST_TRIPS];
    int trips = 1;
    sg_status status = SG_OK;
    for (int i = -1; i < trips && status == SG_OK; i++) {
        status = sg_comm_agree(c, SG_OK, err); /* all ranks are here */
        const double start_s = now_s();
        SG_DO(status, go_and_return(c, data, bytes, err));
        const double trip_s = now_s() - start_s;
        if (i >= 0) {
            took_s[i] = trip_s / 2;
            continue;
        }
        const double wanted = BUDGET_S / (trip_s + 1e-9);
        trips = wanted < LEAST_TRIPS ? LEAST_TRIPS : wanted > MOST_TRIPS ? MOST_TRIPS : (int)wanted;
        SG_DO(status, sg_comm_broadcast(c, &trips, sizeof trips, err));
    }
    if (status != SG_OK)
        return status;
    qsort(took_s, (size_t)trips, sizeof *took_s, compare);
    *seconds = took_s[trips / 2];
    return SG_OK;
}

sg_status sg_comm_time_messages(sg_comm *c, struct sg_comm_times *out, struct sg_error *err) {
    static const size_t size[SG_COMM_SIZES] = {4,     256,    1024,   4096,   16384,   32768,
                                               65536, 131072, 262144, 524288, 1048576, LARGEST};
    if (c->world.size < 2)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "a link is between two ranks, and there is one: start it by a launcher, "
                       "as mpirun -n 2 --host a,b");
    char *data = calloc(LARGEST, 1);
    sg_status status = sg_comm_agree(c, data ? SG_OK : sg_fail_memory(err, "the messages"), err);
    for (size_t s = 0; s < SG_COMM_SIZES && status == SG_OK; s++) {
        out->bytes[s] = (double)size[s];
        status = time_size(c, data, size[s], &out->seconds[s], err);
    }
    free(data);
    return status;
}
