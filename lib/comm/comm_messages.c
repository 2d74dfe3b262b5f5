/* comm_messages.c: moves messages between ranks and adds them up. */
#include <string.h>

#include "comm_private.h"

static bool encoded(const sg_comm *c) {
    return c->note->kind == COMM_ENCODED; /* if one is, all are */
}

/* The bytes of a worker's message between ranks. Its count is in the note, so a plain one is only its entries. */
static size_t moved_bytes(const sg_comm *c, size_t worker) {
    return encoded(c) ? c->note[worker].bytes : c->note[worker].count * ENTRY_BYTES;
}

static sg_status put_message(sg_comm *c, size_t local, struct sg_error *err) {
    const struct sg_message *m = &c->put[local];
    uint8_t *out = (uint8_t *)c->mine + c->place[local];
    if (encoded(c))
        return sg_wire_encode(out, moved_bytes(c, c->first + local), &c->plan[local], err);
    if (m->count) { /* an empty message may have a NULL index, which memcpy must not see */
        memcpy(out, m->index, m->count * sizeof *m->index);
        memcpy(out + m->count * sizeof *m->index, m->data, m->bytes);
    }
    return SG_OK;
}

/* Decodes a worker's message to where c->arrived points. */
static sg_status get_message(sg_comm *c, size_t worker, struct sg_error *err) {
    struct sg_message *to = &c->arrived[worker];
    const struct note *note = &c->note[worker];
    const uint8_t *in = (const uint8_t *)c->all + c->place[worker];
    struct sg_wire_header header;
    sg_status status = sg_wire_peek(&header, in, note->bytes, err);
    if (status == SG_OK && (header.n != c->n || header.count != note->count || header.code->number != note->code ||
                            header.data_bytes != note->data_bytes || header.bytes != note->bytes))
        status = sg_fail(err, SG_ERR_FORMAT, "not the message that was announced");
    if (status == SG_OK)
        status = sg_wire_decode(to, (uint32_t *)(uintptr_t)to->index, (void *)(uintptr_t)to->data, &header, in, err);
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

/* If all positions are there, they need not be written down. */
static size_t index_bytes(const sg_comm *c, size_t count) {
    return encoded(c) && count == c->n ? 0 : count * sizeof(uint32_t);
}

/* Room for data, rounded up so that a float may lie behind it. */
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
        entries += note->count;
        c->arrived[w] =
            (struct sg_message){.code = c->put->code, .n = c->n, .count = note->count, .bytes = note->data_bytes};
        room += index_bytes(c, note->count) + data_room(note->data_bytes);
    }
    sg_status status = encoded(c) ? comm_reserve(&c->decoded, &c->decoded_bytes, room, err) : SG_OK;
    uint8_t *at = c->decoded;
    for (size_t w = 0; status == SG_OK && w < c->workers; w++) {
        struct sg_message *m = &c->arrived[w];
        const size_t before = index_bytes(c, m->count);
        at = encoded(c) ? at : (uint8_t *)c->all + c->place[w];
        m->index = before || m->count == 0 ? (const void *)at : NULL;
        m->data = at + before;
        at += before + data_room(m->bytes);
    }
    if (status == SG_OK && encoded(c))
        status = comm_for_workers(c, c->workers, entries, get_message, err);
    return status;
}

sg_status comm_sum_sparse(sg_comm *c, struct sg_error *err) {
    size_t local = 0, total = 0;
    sg_status status = count_blocks(c, &local, &total, err);
    if (status == SG_OK)
        status = comm_reserve(&c->mine, &c->mine_bytes, local * BLOCK_BYTES, err);
    if (status == SG_OK)
        status = comm_reserve(&c->all, &c->all_bytes, total * BLOCK_BYTES, err);
    if (status == SG_OK)
        status = put_messages(c, local * BLOCK_BYTES, err);
    if (status == SG_OK && total)
        status = comm_gather(c, c->mine, c->all, BLOCK_BYTES, err);
    if (status == SG_OK)
        status = get_messages(c, err);
    if (status == SG_OK)
        sg_message_add_all(c->sum, c->n, c->arrived, c->workers, c->kernels, &c->exec);
    return status;
}

sg_status comm_sum_whole(sg_comm *c, struct sg_error *err) {
    const struct sg_code *code = c->put->code; /* the code of all messages */
    const size_t chunk = c->n < DENSE_CHUNK ? c->n : DENSE_CHUNK, width = code->width;
    sg_status status = comm_reserve(&c->mine, &c->mine_bytes, c->count * data_room(chunk * width), err);
    if (status == SG_OK)
        status = comm_reserve(&c->all, &c->all_bytes, c->workers * data_room(chunk * width), err);
    comm_items_of_workers(c);
    for (size_t start = 0; status == SG_OK && start < c->n; start += chunk) {
        const size_t length = c->n - start < chunk ? c->n - start : chunk, stride = data_room(length * width);
        for (size_t w = 0; w < c->count; w++)
            memcpy((uint8_t *)c->mine + w * stride, (const uint8_t *)c->put[w].data + start * width, length * width);
        status = comm_gather(c, c->mine, c->all, stride, err);
        for (size_t w = 0; status == SG_OK && w < c->workers; w++)
            c->arrived[w] = (struct sg_message){.code = code,
                                                .n = length,
                                                .count = length,
                                                .data = (const uint8_t *)c->all + w * stride,
                                                .bytes = length * width};
        if (status == SG_OK)
            sg_message_add_all(c->sum + start, length, c->arrived, c->workers, c->kernels, &c->exec);
    }
    return status;
}
