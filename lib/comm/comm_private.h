/* comm_private.h: private to lib/comm. What the parts of an exchange share. */
#ifndef COMM_PRIVATE_H
#define COMM_PRIVATE_H

#include "sg_comm.h"
#include "transport.h"

/* How a message moves between ranks. */
enum comm_kind {
    COMM_NOTHING, /* there is no message */
    COMM_WHOLE,   /* all n numbers of a fixed width, as they are, in chunks */
    COMM_PLAIN,   /* positions and floats as they are */
    COMM_ENCODED  /* as sg_wire.h has it */
};

/* What every rank learns of each worker before the payload moves. */
struct note {
    double number[SG_COMM_NOTES], bits;
    size_t count, data_bytes; /* of the message */
    size_t bytes;             /* of the message in its format */
    int stop, save;           /* of the worker's rank */
    sg_status status;
    enum comm_kind kind;
    unsigned code; /* its number */
};

/* Where a message of a GPU is copied to. */
struct copy {
    void *index, *data;
    size_t index_bytes, data_bytes; /* reserved */
};

struct sg_comm {
    struct sg_world world;
    bool mpi;
    size_t workers, first, count;
    const struct sg_wire_encoding *encoding;
    bool raw; /* that encoding */

    /* The exchange that was begun. */
    float *sum; /* [n] */
    size_t n;
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    struct sg_message *put; /* [count] of this rank's workers; no code = none yet */
    size_t added;           /* messages of a GPU that are in the sum already */
    float *room;            /* of that GPU, to decode in; NULL = none needed yet */

    struct note *note;               /* [workers] */
    double (*number)[SG_COMM_NOTES]; /* [workers] handed out */
    struct sg_message *arrived;      /* [workers] what is added up, over ranks */
    size_t *place;                   /* [workers] scratch: offsets of the workers' messages */
    struct sg_wire_plan *plan;       /* [count] of messages that are encoded */
    struct copy *copy;               /* [count] */
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

/* ---- comm.c: services of the others ---- */

size_t comm_first_of(const sg_comm *c, int rank); /* worker of a rank */
int comm_owner_of(const sg_comm *c, size_t worker);

/* At least `want` bytes; never NULL, even for none. */
sg_status comm_reserve(void **buffer, size_t *have, size_t want, struct sg_error *err);

/* Gather blocks of `unit` bytes of all ranks; c->items must hold the count of each rank, which comm_items_of_workers
 * makes one a worker. */
sg_status comm_gather(sg_comm *c, const void *mine, void *all, size_t unit, struct sg_error *err);
void comm_items_of_workers(sg_comm *c);

/* One step of work a worker, workers on different threads where there are enough entries; `one` touches nothing of
 * another's. The error is that of the first worker that has one, whatever the threads. */
sg_status comm_for_workers(sg_comm *c, size_t count, size_t entries,
                           sg_status (*one)(sg_comm *c, size_t worker, struct sg_error *err), struct sg_error *err);

/* ---- comm_messages.c: messages over ranks ---- */

/* sum += all workers' messages in worker order: those that are of kind COMM_WHOLE, and the others. */
sg_status comm_sum_whole(sg_comm *c, struct sg_error *err);
sg_status comm_sum_sparse(sg_comm *c, struct sg_error *err);
#endif
