/* comm_sum.c: moving the messages, and their sum. */
#include <stdlib.h>
#include <string.h>

#include "comm_private.h"

/* Bytes of a worker's sparse message between ranks. Its count is in the note, so plain ones are the entries alone. */
static size_t moved_bytes(const sg_comm *c, size_t worker) {
    return c->encoded ? (size_t)c->note[worker].bytes : (size_t)c->note[worker].count * ENTRY_BYTES;
}

static sg_status put_message(const struct for_workers *f, size_t local, struct sg_error *err) {
    const sg_comm *c = f->c;
    const struct sg_message *m = &f->message[local];
    uint8_t *out = (uint8_t *)c->mine + c->place[local];
    if (c->encoded)
        return sg_wire_encode(out, moved_bytes(c, c->first + local), &c->plan[local], err);
    if (m->count) { /* also keeps a NULL index of an empty message away from memcpy */
        memcpy(out, m->index, m->count * sizeof *m->index);
        memcpy(out + m->count * sizeof *m->index, m->data, m->bytes);
    }
    return SG_OK;
}

/* Decode a worker's message where c->message says. */
static sg_status get_message(const struct for_workers *f, size_t worker, struct sg_error *err) {
    const sg_comm *c = f->c;
    struct sg_message *to = &c->message[worker];
    const uint8_t *in = (const uint8_t *)c->all + c->place[worker];
    struct sg_wire_header header;
    sg_status status = sg_wire_peek(&header, in, moved_bytes(c, worker), err);
    if (status == SG_OK && (header.n != f->d || header.count != to->count || header.code != c->format.code ||
                            header.bytes != moved_bytes(c, worker)))
        status = sg_fail(err, SG_ERR_FORMAT, "not the message that was announced");
    if (status == SG_OK)
        status = sg_wire_decode(to, (uint32_t *)(uintptr_t)to->index, (void *)(uintptr_t)to->data, &header, in, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "from worker %zu: ", worker);
}

/* Each rank's messages side by side, padded to whole blocks: MPI counts in int, and blocks take it to 32 GiB. Sets
 * c->items, and in blocks the bytes of this rank and of all. */
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

/* This rank's messages into c->mine, padding zeroed. */
static sg_status put_messages(sg_comm *c, const struct sg_message *message, size_t bytes, int threads,
                              struct sg_error *err) {
    size_t end = 0, entries = 0;
    for (size_t w = 0; w < c->count; w++) {
        c->place[w] = end;
        end += moved_bytes(c, c->first + w);
        entries += message[w].count;
    }
    memset((uint8_t *)c->mine + end, 0, bytes - end);
    return comm_for_workers(&(struct for_workers){c, message, 0}, c->count, entries, threads, put_message, err);
}

/* All workers' messages out of c->all: in place when plain, else decoded side by side into c->decoded. */
static sg_status get_messages(sg_comm *c, size_t d, int threads, struct sg_error *err) {
    size_t block = 0, entries = 0;
    for (int r = 0; r < c->world.size; r++) {
        size_t at = block * BLOCK_BYTES;
        for (size_t w = comm_first_of(c, r); w < comm_first_of(c, r + 1); w++) {
            c->place[w] = at;
            at += moved_bytes(c, w);
            entries += (size_t)c->note[w].count;
        }
        block += (size_t)c->items[r];
    }
    sg_status status = c->encoded ? comm_reserve(&c->decoded, &c->decoded_bytes, entries * ENTRY_BYTES, err) : SG_OK;
    if (status != SG_OK)
        return status;
    for (size_t w = 0, decoded = 0; w < c->n; w++) {
        const size_t count = (size_t)c->note[w].count;
        const uint8_t *at = c->encoded ? (uint8_t *)c->decoded + decoded : (uint8_t *)c->all + c->place[w];
        c->message[w] = (struct sg_message){.code = c->format.code,
                                            .n = d,
                                            .count = count,
                                            .index = (const void *)at,
                                            .data = at + count * sizeof(uint32_t),
                                            .bytes = count * c->format.code->width};
        decoded += count * ENTRY_BYTES;
    }
    return c->encoded ? comm_for_workers(&(struct for_workers){c, NULL, d}, c->n, entries, threads, get_message, err)
                      : SG_OK;
}

sg_status comm_sum_sparse(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                          const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err) {
    size_t local = 0, total = 0;
    sg_status status = count_blocks(c, &local, &total, err);
    if (status == SG_OK)
        status = comm_reserve(&c->mine, &c->mine_bytes, local * BLOCK_BYTES, err);
    if (status == SG_OK)
        status = comm_reserve(&c->all, &c->all_bytes, total * BLOCK_BYTES, err);
    if (status == SG_OK)
        status = put_messages(c, message, local * BLOCK_BYTES, exec->threads, err);
    if (status == SG_OK && total)
        status = comm_gather(c, c->mine, c->all, BLOCK_BYTES, err);
    if (status == SG_OK)
        status = get_messages(c, d, exec->threads, err);
    if (status == SG_OK)
        sg_message_add_all(sum, d, c->message, c->n, kernels, exec);
    return status;
}

sg_status comm_sum_dense(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                         const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err) {
    const size_t chunk = d < DENSE_CHUNK ? d : DENSE_CHUNK, width = c->format.code->width;
    sg_status status = comm_reserve(&c->mine, &c->mine_bytes, c->count * chunk * width, err);
    if (status == SG_OK)
        status = comm_reserve(&c->all, &c->all_bytes, c->n * chunk * width, err);
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = (int)(comm_first_of(c, r + 1) - comm_first_of(c, r));
    for (size_t start = 0; status == SG_OK && start < d; start += chunk) {
        const size_t length = d - start < chunk ? d - start : chunk;
        for (size_t w = 0; w < c->count; w++)
            memcpy((uint8_t *)c->mine + w * length * width, (const uint8_t *)message[w].data + start * width,
                   length * width);
        status = comm_gather(c, c->mine, c->all, length * width, err);
        for (size_t w = 0; status == SG_OK && w < c->n; w++)
            c->message[w] = (struct sg_message){.code = c->format.code,
                                                .n = length,
                                                .count = length,
                                                .data = (const uint8_t *)c->all + w * length * width,
                                                .bytes = length * width};
        if (status == SG_OK)
            sg_message_add_all(sum + start, length, c->message, c->n, kernels, exec);
    }
    return status;
}
