/* comm.c: opening and closing, workers and ranks, small collectives, and functions for the other files of this room. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "comm_private.h"
#include "sg_debug.h"

int sg_comm_launch_rank(void) {
    static const char *const rank[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof rank / sizeof *rank && !text; i++)
        text = getenv(rank[i]);
    if (!text && getenv("SLURM_PROCID")) {
        /* A batch script has this variable too, but is no step. One task, a step or not, needs no MPI. */
        const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
        return tasks && atoi(tasks) > 1 ? atoi(getenv("SLURM_PROCID")) : -1;
    }
    if (!text)
        text = getenv("PMIX_RANK");
    return text ? atoi(text) : -1;
}

/* *out <- exchanges over a transport that is open. */
static sg_status open_over(sg_comm **out, const struct sg_transport *transport, const struct sg_world *world,
                           struct sg_error *err) {
    sg_comm *c = calloc(1, sizeof *c);
    if (!c)
        return sg_fail_memory(err, "the exchange");
    c->transport = transport;
    c->world = *world;
    size_t ranks = (size_t)c->world.size;
    c->items = calloc(4 * ranks, sizeof *c->items);
    c->agreed = calloc(ranks, sizeof *c->agreed);
    if (!c->items || !c->agreed) {
        sg_comm_close(c);
        return sg_fail_memory(err, "the exchange");
    }
    c->displacement = c->items + ranks;
    c->dealt = c->items + 2 * ranks;
    c->dealt_from = c->items + 3 * ranks;
    sg_comm_set_encoding(c, sg_wire_find("raw"));
    *out = c;
    return SG_OK;
}

sg_status sg_comm_open(sg_comm **out, struct sg_error *err) {
    const struct sg_transport *transport = NULL;
    struct sg_world world = {.size = 1, .local_ranks = 1};
    if (sg_comm_launch_rank() >= 0 && sg_transport_open(&transport, &world, err) != SG_OK)
        return err->status;
    if (open_over(out, transport, &world, err) != SG_OK)
        return err->status;
    comm_watch_world(&(*out)->world);
    return SG_OK;
}

bool sg_comm_has_beside(const sg_comm *c) {
    return c->transport && c->transport->beside;
}

sg_status sg_comm_open_beside(sg_comm **out, const sg_comm *c, struct sg_error *err) {
    SG_ASSERT(sg_comm_has_beside(c));
    sg_status status = open_over(out, c->transport->beside, &c->world, err);
    if (status != SG_OK)
        return status;
    return sg_comm_set_workers(*out, c->workers, err);
}

size_t comm_first_of(const sg_comm *c, int rank) {
    return (size_t)rank * c->workers / (size_t)c->world.size;
}

int comm_owner_of(const sg_comm *c, size_t worker) {
    int owner = 0;
    while (worker >= comm_first_of(c, owner + 1))
        owner++;
    return owner;
}

static void release_workers(sg_comm *c) {
    for (size_t w = 0; c->copy && w < c->count; w++) {
        free(c->copy[w].index);
        free(c->copy[w].data);
    }
    void *const owned[] = {c->note, c->number, c->arrived, c->place, c->put, c->plan, c->copy};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

sg_status sg_comm_set_workers(sg_comm *c, size_t workers, struct sg_error *err) {
    size_t ranks = (size_t)c->world.size;
    if (workers < ranks)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%zu ranks for %zu workers: start at most one rank a worker (mpirun -n %zu)", ranks, workers,
                       workers);
    release_workers(c);
    c->workers = workers;
    c->first = comm_first_of(c, c->world.rank);
    c->count = comm_first_of(c, c->world.rank + 1) - c->first;
    c->note = calloc(workers, sizeof *c->note);
    c->number = calloc(workers, sizeof *c->number);
    c->arrived = calloc(workers, sizeof *c->arrived);
    c->place = calloc(workers, sizeof *c->place);
    c->put = calloc(c->count, sizeof *c->put);
    c->plan = calloc(c->count, sizeof *c->plan);
    c->copy = calloc(c->count, sizeof *c->copy);
    return c->note && c->number && c->arrived && c->place && c->put && c->plan && c->copy
               ? SG_OK
               : sg_fail_memory(err, "the exchange");
}

void sg_comm_set_encoding(sg_comm *c, const struct sg_wire_encoding *encoding) {
    c->encoding = encoding;
    c->raw = encoding == sg_wire_find("raw");
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

const char *sg_comm_library(const sg_comm *c) {
    return c->transport ? c->world.library : NULL;
}

size_t sg_comm_first(const sg_comm *c) {
    return c->first;
}

size_t sg_comm_count(const sg_comm *c) {
    return c->count;
}

/* ---- services ---- */

sg_status comm_reserve(void **buffer, size_t *have, size_t want, struct sg_error *err) {
    if (*buffer && want <= *have)
        return SG_OK;
    free(*buffer);
    *buffer = malloc(want ? want : 1);
    *have = *buffer ? want : 0;
    return *buffer ? SG_OK : sg_fail_memory(err, "exchanged messages");
}

sg_status comm_gather(sg_comm *c, const void *mine, void *all, size_t unit, struct sg_error *err) {
    for (int r = 0, at = 0; r < c->world.size; at += c->items[r++])
        c->displacement[r] = at;
    return c->transport->gather(mine, all, (struct sg_parts){c->items, c->displacement}, unit, c->world.rank, err);
}

void comm_items_of_workers(sg_comm *c) {
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = (int)(comm_first_of(c, r + 1) - comm_first_of(c, r));
}

void comm_items_of_messages(sg_comm *c) {
    comm_items_of_workers(c);
    for (size_t w = 0; w < c->workers; w++)
        c->items[comm_owner_of(c, w)] -= c->note[w].kind == COMM_SKIPPED;
}

size_t comm_present(struct sg_message *m, size_t count) {
    size_t present = 0;
    for (size_t w = 0; w < count; w++)
        if (m[w].code)
            m[present++] = m[w];
    return present;
}

sg_status comm_for_workers(sg_comm *c, size_t count, size_t entries,
                           sg_status (*one)(sg_comm *c, size_t worker, struct sg_error *err), struct sg_error *err) {
    sg_status status = SG_OK;
    if (c->exec.threads == 1 || entries < WORTH_ENTRIES) {
        for (size_t w = 0; status == SG_OK && w < count; w++)
            status = one(c, w, err);
        return status;
    }
    size_t failed = count;
#pragma omp parallel for schedule(dynamic) num_threads(c->exec.threads)
    for (size_t w = 0; w < count; w++) {
        struct sg_error mine;
        const sg_status outcome = one(c, w, &mine);
        if (outcome != SG_OK) {
#pragma omp critical(sg_comm_failure)
            if (w < failed) {
                failed = w;
                status = outcome;
                *err = mine;
            }
        }
    }
    return status;
}

/* ---- small collectives ---- */

sg_status sg_comm_collect(sg_comm *c, size_t worker, const void *data, void *out, size_t bytes, struct sg_error *err) {
    SG_ASSERT(worker < c->workers);
    int owner = comm_owner_of(c, worker);
    if (owner == 0) {
        if (c->world.rank == 0)
            memcpy(out, data, bytes);
        return SG_OK;
    }
    if (c->world.rank == owner)
        return c->transport->send(data, bytes, 0, err);
    return c->world.rank == 0 ? c->transport->receive(out, bytes, owner, err) : SG_OK;
}

sg_status sg_comm_broadcast(sg_comm *c, void *data, size_t bytes, struct sg_error *err) {
    return c->world.size > 1 ? c->transport->broadcast(data, bytes, 0, err) : SG_OK;
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
        status = c->transport->broadcast(trouble.msg, sizeof trouble.msg, failed, &trouble);
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
    if (c->transport && c->transport->close) {
        c->transport->close();
        comm_watch_world(NULL);
        free(c->world.host);
    }
    release_workers(c);
    free(c->items);
    free(c->agreed);
    free(c->mine);
    free(c->all);
    free(c->decoded);
    free(c->cut);
    free(c);
}

void sg_comm_abort(sg_comm *c, int code) {
    if (c && c->world.size > 1)
        c->transport->abort(code);
}
