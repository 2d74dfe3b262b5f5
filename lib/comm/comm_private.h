/* comm_private.h: what the parts of an exchange share; private to lib/comm. */
/* SPDX-License-Identifier: MIT */
#ifndef COMM_PRIVATE_H
#define COMM_PRIVATE_H

#include <stdbool.h>

#include "sg_comm.h"
#include "transport.h"

/* How a message moves between ranks. */
enum comm_kind {
    COMM_NOTHING, /* there is no message */
    COMM_SKIPPED, /* nor will there be one */
    COMM_WHOLE,   /* all n numbers of a fixed width as they are, in chunks */
    COMM_PLAIN,   /* positions and floats as they are */
    COMM_ENCODED  /* as sg_wire.h writes it */
};

/* What every rank learns about each worker before the messages move. */
struct note {
    double number[SG_COMM_NOTES], bits;
    size_t count, data_bytes; /* of the message */
    size_t bytes;             /* of the message as it travels */
    int stop, save;           /* of the worker's rank (struct sg_control) */
    sg_status status;
    enum comm_kind kind;
    unsigned code; /* the number of the message's code */
};

/* Where a message is copied to. */
struct copy {
    void *index, *data;
    size_t index_bytes, data_bytes; /* reserved */
};

struct sg_comm {
    struct sg_world world;
    const struct sg_transport *transport; /* NULL = this process is alone */
    size_t workers, first, count;
    const struct sg_wire_encoding *encoding;
    bool raw; /* that encoding is raw */

    /* The present exchange. */
    float *sum; /* [n] */
    size_t n;
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    bool hears;              /* every rank gets all messages as they are */
    bool copies;             /* messages on a CPU are copied when they are put */
    bool counts;             /* messages are counted only */
    struct sg_message *put;  /* [count] of this rank's workers; code NULL = not put (yet) */
    size_t added;            /* how many messages of a GPU were put, or skipped */
    const struct note *like; /* at its end: of the first message, whose kind and code all messages have */
    size_t skipped;          /* at its end: how many workers of all ranks have no message */
    bool dense;              /* at its end: all messages are encoded, and have all n numbers */
    bool in_chunks;          /* at its end: no rank has whole messages of other ranks */

    struct note *note;                /* [workers] */
    double (*number)[SG_COMM_NOTES];  /* [workers] the notes of the outcome */
    struct sg_message *arrived;       /* [workers] the messages that are added up, over ranks */
    size_t *place;                    /* [workers] scratch: where each worker's message lies */
    struct sg_wire_plan *plan;        /* [count] for messages that are encoded */
    struct copy *copy;                /* [count] */
    int *items, *displacement;        /* [size] scratch for gathers */
    int *dealt, *dealt_from;          /* [size] scratch for what every rank is sent */
    sg_status *agreed;                /* [size] scratch for sg_comm_agree */
    void *mine, *all, *decoded, *cut; /* memory for messages that travel; it grows when needed */
    size_t mine_bytes, all_bytes, decoded_bytes, cut_bytes;
};

enum {
    DENSE_CHUNK = 1 << 18, /* a rank receives so many numbers of a whole message at a time, to bound memory */
    LATENCY_BYTES = 4096,  /* starting a message costs about the time of so many bytes, on fast and slow links */
    SLICE_STEP = 8,        /* slices begin at multiples of it (sg_code.cut) */
    BLOCK_BYTES = 16,      /* messages move in blocks of this size, except whole ones that are gathered */
    ENTRY_BYTES = sizeof(uint32_t) + sizeof(float),
    WORTH_ENTRIES = 1 << 12, /* from so many entries on a second thread saves more than it costs */
    COUNT_BYTES = 4          /* counted for the length of a message that is not encoded */
};

/* ---- comm_watch.c: the thread that looks at calls that wait ---- */

double comm_now_s(void);
/* The ranks whose names it says, borrowed; NULL ends the thread. */
void comm_watch_world(const struct sg_world *world);

/* ---- comm.c: functions for the other files ---- */

size_t comm_first_of(const sg_comm *c, int rank); /* the first worker of a rank */
int comm_owner_of(const sg_comm *c, size_t worker);

/* Makes *buffer at least `want` bytes large; it is never NULL afterwards, even for 0. Its content may be lost. */
sg_status comm_reserve(void **buffer, size_t *have, size_t want, struct sg_error *err);

/* Gathers blocks of `unit` bytes of all ranks. c->items [size] must hold the number of each rank's blocks.
 * comm_items_of_workers sets them to one for each worker. */
sg_status comm_gather(sg_comm *c, const void *mine, void *all, size_t unit, struct sg_error *err);
void comm_items_of_workers(sg_comm *c);
/* Sets them to one for each message, which is less if workers are skipped. */
void comm_items_of_messages(sg_comm *c);

/* Moves the messages of `count` workers to the front of m, without changing their order. Returns how many there are. */
size_t comm_present(struct sg_message *m, size_t count);

/* Calls `one` for each worker, on different threads if there are enough entries; `one` touches nothing of other
 * workers. The error is that of the first worker that has one, for any number of threads. */
sg_status comm_for_workers(sg_comm *c, size_t count, size_t entries,
                           sg_status (*one)(sg_comm *c, size_t worker, struct sg_error *err), struct sg_error *err);

/* ---- comm_messages.c, comm_slices.c: messages between ranks ---- */

/* sum += the messages of all workers in worker order. The first gathers them on every rank. The second is for those
 * that are COMM_WHOLE, or for which comm_cuts is true. */
sg_status comm_sum_gathered(sg_comm *c, struct sg_error *err);
sg_status comm_sum_chunks(sg_comm *c, struct sg_error *err);
bool comm_cuts(const sg_comm *c);

/* Returns whether each rank should decode only one slice of the messages that it has gathered. The second does it, for
 * c->arrived [present]. */
bool comm_shares_decoding(const sg_comm *c);
sg_status comm_add_slices(sg_comm *c, size_t present, struct sg_error *err);
#endif
