/* comm.c: opening and closing, workers and ranks, small collectives. */
#include <stdlib.h>
#include <string.h>

#include "comm_private.h"

int sg_comm_launch_rank(void) {
    static const char *const rank[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof rank / sizeof *rank && !text; i++)
        text = getenv(rank[i]);
    return text ? atoi(text) : -1;
}

sg_status sg_comm_open(sg_comm **out, struct sg_error *err) {
    sg_comm *c = calloc(1, sizeof *c);
    if (!c)
        return sg_fail_memory(err, "the exchange");
    c->world = (struct sg_world){.size = 1, .local_ranks = 1};
    if (sg_comm_launch_rank() >= 0) {
        sg_status status = sg_transport_open(&c->world, err);
        if (status != SG_OK) {
            free(c);
            return status;
        }
        c->mpi = sg_comm_has_mpi();
    }
    size_t ranks = (size_t)c->world.size;
    c->items = calloc(2 * ranks, sizeof *c->items);
    c->agreed = calloc(ranks, sizeof *c->agreed);
    if (!c->items || !c->agreed) {
        sg_comm_close(c);
        return sg_fail_memory(err, "the exchange");
    }
    c->displacement = c->items + ranks;
    c->format = (struct sg_wire_format){sg_wire_find("raw"), &sg_code_fp32};
    *out = c;
    return SG_OK;
}

size_t comm_first_of(const sg_comm *c, int rank) {
    return (size_t)rank * c->n / (size_t)c->world.size;
}

int comm_owner_of(const sg_comm *c, size_t worker) {
    int owner = 0;
    while (worker >= comm_first_of(c, owner + 1))
        owner++;
    return owner;
}

sg_status sg_comm_set_workers(sg_comm *c, size_t workers, struct sg_error *err) {
    size_t ranks = (size_t)c->world.size;
    if (workers < ranks)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%zu ranks for %zu workers: start at most one rank a worker (mpirun -n %zu)", ranks, workers,
                       workers);
    c->n = workers;
    c->first = comm_first_of(c, c->world.rank);
    c->count = comm_first_of(c, c->world.rank + 1) - c->first;
    free(c->note);
    free(c->number);
    free(c->plan);
    c->note = calloc(workers, sizeof *c->note);
    c->number = calloc(workers, sizeof *c->number);
    free(c->message);
    c->message = calloc(workers, sizeof *c->message);
    c->plan = calloc(c->count, sizeof *c->plan);
    free(c->place);
    c->place = calloc(workers, sizeof *c->place);
    return c->note && c->number && c->message && c->plan && c->place ? SG_OK : sg_fail_memory(err, "the exchange");
}

void sg_comm_set_format(sg_comm *c, const struct sg_wire_format *format) {
    c->format = *format;
    c->encoded = format->code != &sg_code_fp32 || format->encoding != sg_wire_find("raw");
}

int sg_comm_rank(const sg_comm *c) {
    return c->world.rank;
}

int sg_comm_size(const sg_comm *c) {
    return c->world.size;
}

int sg_comm_local_ranks(const sg_comm *c) {
    return c->world.local_ranks;
}

int sg_comm_local_rank(const sg_comm *c) {
    return c->world.local_rank;
}

bool sg_comm_reads_messages(const sg_comm *c) {
    return c->world.size > 1 || c->encoded;
}

const char *sg_comm_library(const sg_comm *c) {
    return c->mpi ? c->world.library : NULL;
}

size_t sg_comm_first(const sg_comm *c) {
    return c->first;
}

size_t sg_comm_count(const sg_comm *c) {
    return c->count;
}

sg_status sg_comm_collect(sg_comm *c, size_t worker, const void *data, void *out, size_t bytes, struct sg_error *err) {
    int owner = comm_owner_of(c, worker);
    if (owner == 0) {
        if (c->world.rank == 0)
            memcpy(out, data, bytes);
        return SG_OK;
    }
    if (c->world.rank == owner)
        return sg_transport_send_to_lead(data, bytes, err);
    return c->world.rank == 0 ? sg_transport_receive(out, bytes, owner, err) : SG_OK;
}

sg_status sg_comm_broadcast(sg_comm *c, void *data, size_t bytes, struct sg_error *err) {
    return c->world.size > 1 ? sg_transport_broadcast(data, bytes, 0, err) : SG_OK;
}

sg_status sg_comm_agree(sg_comm *c, sg_status mine, struct sg_error *err) {
    if (c->world.size == 1)
        return mine;
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = 1;
    struct sg_error trouble;
    sg_status status = comm_gather(c, &mine, c->agreed, sizeof mine, &trouble), theirs = SG_OK;
    int failed = 0;
    while (status == SG_OK && failed < c->world.size && c->agreed[failed] == SG_OK)
        failed++;
    if (status == SG_OK && failed < c->world.size)
        theirs = c->agreed[failed];
    if (theirs != SG_OK) {
        memcpy(&trouble, err, sizeof trouble); /* only the failing rank's text survives the broadcast */
        status = sg_transport_broadcast(trouble.msg, sizeof trouble.msg, failed, &trouble);
        trouble.status = theirs;
    }
    if (status == SG_OK && theirs == SG_OK)
        return SG_OK;
    *err = trouble;
    return status != SG_OK ? status : theirs;
}

void sg_comm_close(sg_comm *c) {
    if (!c)
        return;
    if (c->mpi)
        sg_transport_close();
    free(c->note);
    free(c->number);
    free(c->message);
    free(c->items);
    free(c->agreed);
    free(c->mine);
    free(c->all);
    free(c->decoded);
    free(c->plan);
    free(c->place);
    free(c);
}

void sg_comm_abort(sg_comm *c, int code) {
    if (c && c->mpi && c->world.size > 1)
        sg_transport_abort(code);
}
