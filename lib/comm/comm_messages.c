/* comm_messages.c: gathers the messages of all workers on every rank, and adds them up. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "comm_private.h"

static bool encoded(const sg_comm *c) {
    return c->like->kind == COMM_ENCODED; /* all messages are of the same kind */
}

static bool known(const sg_comm *c) {
    return c->put->known; /* if one message has known positions, all have the same ones */
}

/* The bytes of a worker's message between ranks. Its count is in the note, so a plain one is only its entries. */
static size_t moved_bytes(const sg_comm *c, size_t worker) {
    return encoded(c) ? c->note[worker].bytes : c->note[worker].count * (known(c) ? sizeof(float) : ENTRY_BYTES);
}

static sg_status put_message(sg_comm *c, size_t local, struct sg_error *err) {
    const struct sg_message *m = &c->put[local];
    if (!m->code)
        return SG_OK;
    uint8_t *out = (uint8_t *)c->mine + c->place[local];
    if (encoded(c))
        return sg_wire_encode(out, moved_bytes(c, c->first + local), &c->plan[local], err);
    const size_t index_bytes = known(c) ? 0 : m->count * sizeof *m->index;
    if (m->count) { /* an empty message may have a NULL index, which memcpy must not see */
        memcpy(out, m->index, index_bytes);
        memcpy(out + index_bytes, m->data, m->bytes);
    }
    return SG_OK;
}

/* Decodes a worker's message to where c->arrived points. */
static sg_status get_message(sg_comm *c, size_t worker, struct sg_error *err) {
    struct sg_message *to = &c->arrived[worker];
    const struct note *note = &c->note[worker];
    if (!to->code)
        return SG_OK;
    const uint8_t *in = (const uint8_t *)c->all + c->place[worker];
    struct sg_wire_header header;
    sg_status status = sg_wire_peek(&header, in, note->bytes, err);
    if (status == SG_OK &&
        (header.n != (known(c) ? note->count : c->n) || header.count != note->count ||
         header.code->number != note->code || header.data_bytes != note->data_bytes || header.bytes != note->bytes))
        status = sg_fail(err, SG_ERR_FORMAT, "not the message that was announced");
    SG_DO(status, sg_wire_decode(to, (uint32_t *)(uintptr_t)to->index, (void *)(uintptr_t)to->data, &header, in, err));
    if (status == SG_OK && known(c)) {
        to->n = c->n;
        to->index = c->put->index;
    }
    return status == SG_OK ? SG_OK : sg_prefix(err, "from worker %zu: ", worker);
}

/* Lays out the messages of each rank side by side, padded to whole blocks, because MPI counts in int and blocks reach
 * 32 GiB. Sets c->items, *local and *total to the blocks of each rank, of this one and of all. */
static sg_status count_blocks(sg_comm *c, size_t *local, size_t *total, struct sg_error *err) {
    *total = 0;
    for (int r = 0; r < c->world.size; r++) {
        size_t bytes = 0;
        for (size_t w = comm_first_of(c, r); w < comm_first_of(c, r + 1); w++)
            bytes += moved_bytes(c, w);
        const size_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
        if (*total + blocks > INT32_MAX)
            return sg_fail(err, SG_ERR_COMM, "more than 32 GiB in one exchange: use fewer workers or send less");
        c->items[r] = (int)blocks;
        *total += blocks;
        if (r == c->world.rank)
            *local = blocks;
    }
    return SG_OK;
}

/* Writes this rank's messages into c->mine; padding is zero. */
static sg_status put_messages(sg_comm *c, size_t bytes, struct sg_error *err) {
    size_t end = 0, entries = 0;
    for (size_t w = 0; w < c->count; w++) {
        c->place[w] = end;
        end += moved_bytes(c, c->first + w);
        entries += c->put[w].count;
    }
    memset((uint8_t *)c->mine + end, 0, bytes - end);
    return comm_for_workers(c, c->count, entries, put_message, err);
}

/* A message of all n numbers, or with positions that all ranks have, needs none written. */
static size_t index_bytes(const sg_comm *c, size_t count) {
    return known(c) || (encoded(c) && count == c->n) ? 0 : count * sizeof(uint32_t);
}

/* The bytes reserved for data, rounded up so that a float may follow. */
static size_t data_room(size_t bytes) {
    return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

/* Finds the messages of all workers in c->all. Plain ones stay where they are; others are decoded side by side into
 * c->decoded. */
static sg_status get_messages(sg_comm *c, struct sg_error *err) {
    size_t block = 0, entries = 0, room = 0;
    for (int r = 0; r < c->world.size; r++) {
        size_t at = block * BLOCK_BYTES;
        for (size_t w = comm_first_of(c, r); w < comm_first_of(c, r + 1); w++) {
            c->place[w] = at;
            at += moved_bytes(c, w);
        }
        block += (size_t)c->items[r];
    }
    for (size_t w = 0; w < c->workers; w++) {
        const struct note *note = &c->note[w];
        if (known(c) && note->count != c->put->count)
            return sg_fail(err, SG_ERR_ARGUMENT, "worker %zu sends %zu entries where all should send the same %zu", w,
                           note->count, c->put->count);
        entries += note->count;
        c->arrived[w] = (struct sg_message){.code = note->kind == COMM_SKIPPED ? NULL : sg_code_of(note->code),
                                            .n = c->n,
                                            .count = note->count,
                                            .bytes = note->data_bytes};
        room += index_bytes(c, note->count) + data_room(note->data_bytes);
    }
    sg_status status = encoded(c) ? comm_reserve(&c->decoded, &c->decoded_bytes, room, err) : SG_OK;
    uint8_t *at = c->decoded;
    for (size_t w = 0; status == SG_OK && w < c->workers; w++) {
        struct sg_message *m = &c->arrived[w];
        const size_t before = index_bytes(c, m->count);
        at = encoded(c) ? at : (uint8_t *)c->all + c->place[w];
        m->index = known(c) && !encoded(c) ? c->put->index : before || m->count == 0 ? (const void *)at : NULL;
        m->data = at + before;
        at += before + data_room(m->bytes);
    }
    if (status == SG_OK && encoded(c))
        status = comm_for_workers(c, c->workers, entries, get_message, err);
    return status;
}

sg_status comm_sum_gathered(sg_comm *c, struct sg_error *err) {
    size_t local = 0, total = 0;
    sg_status status = count_blocks(c, &local, &total, err);
    SG_DO(status, comm_reserve(&c->mine, &c->mine_bytes, local * BLOCK_BYTES, err));
    SG_DO(status, comm_reserve(&c->all, &c->all_bytes, total * BLOCK_BYTES, err));
    SG_DO(status, put_messages(c, local * BLOCK_BYTES, err));
    if (status == SG_OK && total)
        status = comm_gather(c, c->mine, c->all, BLOCK_BYTES, err);
    SG_DO(status, get_messages(c, err));
    if (status != SG_OK)
        return status;
    const size_t present = comm_present(c->arrived, c->workers);
    if (comm_shares_decoding(c))
        return comm_add_slices(c, present, err);
    sg_message_add_all(c->sum, c->n, c->arrived, present, c->kernels, &c->exec);
    return SG_OK;
}
