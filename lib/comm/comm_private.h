/* comm_private.h: private to lib/comm. What the parts of an exchange share. */
#ifndef COMM_PRIVATE_H
#define COMM_PRIVATE_H

#include "sg_comm.h"
#include "transport.h"

/* What every rank learns of each worker before the payload moves. */
struct note {
    double count, bits, bytes, number[SG_COMM_NOTES];
    int stop, save; /* of the worker's rank */
    sg_status status;
    bool dense; /* its message has no positions: everything is sent */
};

struct sg_comm {
    struct sg_world world;
    bool mpi;
    size_t n, first, count;
    struct note *note;               /* [n] of the last exchange */
    double (*number)[SG_COMM_NOTES]; /* [n] handed out */
    struct sg_message *message;      /* [n] what is added up, where it arrived over ranks */
    size_t *place;                   /* [n] scratch: offsets of the workers' messages */
    struct sg_wire_format format;    /* of the messages */
    bool encoded;                    /* messages with positions go through the encodings, not as they are */
    struct sg_wire_plan *plan;       /* [count of this rank] of sparse messages, when encoded */
    int *items, *displacement;       /* [size] scratch of gathers */
    sg_status *agreed;               /* [size] scratch of sg_comm_agree */
    void *mine, *all, *decoded;      /* payload scratch, grown on demand */
    size_t mine_bytes, all_bytes, decoded_bytes;
};

enum {
    DENSE_CHUNK = 1 << 18, /* dense sums move this many values of each worker at a time, to bound memory */
    BLOCK_BYTES = 16,      /* sparse messages of a rank move in blocks of this size */
    ENTRY_BYTES = sizeof(uint32_t) + sizeof(float),
    WORTH_ENTRIES = 1 << 12, /* from here on a second thread saves more than it costs */
    COUNT_BYTES = 4          /* what the length of a message that is not encoded is counted as */
};

size_t comm_first_of(const sg_comm *c, int rank); /* worker of a rank */
int comm_owner_of(const sg_comm *c, size_t worker);

/* At least `want` bytes; never NULL, even for none. */
sg_status comm_reserve(void **buffer, size_t *have, size_t want, struct sg_error *err);

/* Gather blocks of `unit` bytes of all ranks; c->items must hold the count of each rank. */
sg_status comm_gather(sg_comm *c, const void *mine, void *all, size_t unit, struct sg_error *err);

/* One step of work a worker, workers on different threads; `one` touches nothing of another's. The error is that of the
 * first worker that has one, whatever the threads. */
struct for_workers {
    sg_comm *c;
    const struct sg_message *message; /* of this rank's workers */
    size_t d;
};
sg_status comm_for_workers(const struct for_workers *f, size_t count, size_t entries, int threads,
                           sg_status (*one)(const struct for_workers *f, size_t worker, struct sg_error *err),
                           struct sg_error *err);

/* sum [d] += all workers' messages in worker order, over ranks; message: of this rank's workers. */
sg_status comm_sum_sparse(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                          const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err);
sg_status comm_sum_dense(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                         const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err);
#endif
