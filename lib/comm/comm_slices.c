/* comm_slices.c: messages of all n numbers, from several ranks. Every rank adds up one slice of them, and all ranks get
 * the sums. Every number is summed over the same workers in the same order as on one rank, so the bits are the same. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "comm_private.h"

/* The code of all messages. */
static const struct sg_code *code_of(const sg_comm *c) {
    return sg_code_of(c->like->code);
}

/* The first of `length` numbers that a rank adds up. */
static size_t slice_of(const sg_comm *c, size_t length, int rank) {
    return rank == c->world.size ? length : length * (size_t)rank / (size_t)c->world.size / SLICE_STEP * SLICE_STEP;
}

static size_t blocks_of(size_t bytes) {
    return bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES > 0);
}

/* All ranks get the sums of start .. start + length - 1, of which this one has its slice. */
static sg_status gather_sums(sg_comm *c, size_t start, size_t length, struct sg_error *err) {
    const size_t begin = slice_of(c, length, c->world.rank), end = slice_of(c, length, c->world.rank + 1);
    float *const sum = c->sum + start, *const host = c->exec.device ? c->decoded : sum;
    if (c->exec.device &&
        c->kernels->get(&c->exec, host + begin, sum + begin, (end - begin) * sizeof *sum) != SG_KERNEL_OK)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "the device failed");
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = (int)(slice_of(c, length, r + 1) - slice_of(c, length, r));
    const sg_status status = comm_gather(c, NULL, host, sizeof *sum, err);
    if (status == SG_OK && c->exec.device)
        c->kernels->put(&c->exec, sum, host, length * sizeof *sum);
    return status;
}

static double workers_of_rank(const sg_comm *c) {
    return (double)((c->workers + (size_t)c->world.size - 1) / (size_t)c->world.size);
}

/* Decoding the messages of one rank's workers takes the time of so many bytes between ranks. Measured, a number takes
 * 0.3 to 0.5 ns with its checks, and some 7 ns in the codes that cannot be cut, which decode whole blocks; a byte takes
 * 1 ns in the memory of a host. Between hosts it may take 10 ns, so that numbers of the first kind count nothing. */
static double decoding_bytes(const sg_comm *c, const struct sg_code *code, size_t n) {
    const bool one_host = c->world.local_ranks == c->world.size, slow = code->cut == NULL;
    const double number = slow ? one_host ? 4 : 1 : one_host ? 0.5 : 0;
    return code->width > 0 ? 0 : (double)n * workers_of_rank(c) * number;
}

/* ---- messages that are all here ---- */

bool comm_shares_decoding(const sg_comm *c) {
    return c->dense && !c->exec.device && c->n <= INT32_MAX &&
           LATENCY_BYTES + (double)(c->n * sizeof *c->sum) / c->world.size < decoding_bytes(c, code_of(c), c->n);
}

sg_status comm_add_slices(sg_comm *c, size_t present, struct sg_error *err) {
    sg_message_add_slice(c->sum, slice_of(c, c->n, c->world.rank), slice_of(c, c->n, c->world.rank + 1), c->arrived,
                         present, &c->exec);
    return gather_sums(c, 0, c->n, err);
}

/* ---- whole messages in chunks ---- */

/* Every rank gets all messages, whose code has a width, and adds them up. */
static sg_status gather_whole(sg_comm *c, size_t start, size_t length, struct sg_error *err) {
    const struct sg_code *code = code_of(c);
    const size_t bytes = length * code->width, stride = blocks_of(bytes) * BLOCK_BYTES,
                 present = c->workers - c->skipped;
    comm_items_of_messages(c);
    for (int m = 0; m < c->items[c->world.rank]; m++)
        memcpy((uint8_t *)c->mine + (size_t)m * stride, (const uint8_t *)c->put[m].data + start * code->width, bytes);
    sg_status status = comm_gather(c, c->mine, c->all, stride, err);
    if (status != SG_OK)
        return status;
    for (size_t m = 0; m < present; m++)
        c->arrived[m] = (struct sg_message){
            .code = code, .n = length, .count = length, .data = (const uint8_t *)c->all + m * stride, .bytes = bytes};
    sg_message_add_all(c->sum + start, length, c->arrived, present, c->kernels, &c->exec);
    return SG_OK;
}

/* ---- slices ---- */

static size_t cut(void *to, const struct sg_message *m, size_t first, size_t count) {
    const size_t width = m->code->width;
    if (width == 0)
        return m->code->cut(to, m, first, count);
    memcpy(to, (const uint8_t *)m->data + first * width, count * width);
    return count * width;
}

/* Cuts this rank's messages, of which there are `mine`, for the ranks that add them up. Each slice is padded to whole
 * blocks. c->cut <- its bytes without that. */
static void cut_messages(sg_comm *c, size_t start, size_t length, size_t mine) {
    size_t *bytes = c->cut;
    uint8_t *to = c->mine;
    for (int r = 0; r < c->world.size; r++) {
        const size_t begin = slice_of(c, length, r), count = slice_of(c, length, r + 1) - begin;
        for (size_t m = 0; m < mine; m++, bytes++) {
            *bytes = cut(to, &c->put[m], start + begin, count);
            const size_t padded = blocks_of(*bytes) * BLOCK_BYTES;
            memset(to + *bytes, 0, padded - *bytes);
            to += padded;
        }
    }
}

/* c->place <- the bytes of the slices that this rank will get. */
static sg_status exchange_sizes(sg_comm *c, size_t slice, int mine, struct sg_error *err) {
    const size_t width = code_of(c)->width;
    for (size_t m = 0; m < c->workers; m++)
        c->place[m] = slice * width;
    if (width > 0)
        return SG_OK;
    comm_items_of_messages(c);
    for (int r = 0, from = 0; r < c->world.size; from += c->items[r++]) {
        c->dealt[r] = mine;
        c->dealt_from[r] = r * mine;
        c->displacement[r] = from;
    }
    return c->transport->deal(c->cut, (struct sg_parts){c->dealt, c->dealt_from}, c->place,
                              (struct sg_parts){c->items, c->displacement}, sizeof *c->place, err);
}

/* Lays out what this rank sends and gets in blocks: c->dealt and c->items. c->arrived <- the slices, and c->place their
 * places in c->all, which is made large enough. */
static sg_status place_slices(sg_comm *c, size_t slice, size_t mine, struct sg_error *err) {
    const size_t *bytes = c->cut;
    size_t sent = 0, got = 0, m = 0;
    comm_items_of_messages(c);
    for (int r = 0; r < c->world.size; r++) {
        const size_t sent_before = sent, got_before = got, from_there = m + (size_t)c->items[r];
        for (size_t i = 0; i < mine; i++)
            sent += blocks_of(*bytes++);
        for (; m < from_there; m++) {
            c->arrived[m] = (struct sg_message){.code = code_of(c), .n = slice, .count = slice, .bytes = c->place[m]};
            c->place[m] = got;
            got += blocks_of(c->arrived[m].bytes);
        }
        if (sent > INT32_MAX || got > INT32_MAX)
            return sg_fail(err, SG_ERR_COMM, "more than 32 GiB in one exchange: use fewer workers or send less");
        c->dealt_from[r] = (int)sent_before;
        c->dealt[r] = (int)(sent - sent_before);
        c->displacement[r] = (int)got_before;
        c->items[r] = (int)(got - got_before);
    }
    const sg_status status = comm_reserve(&c->all, &c->all_bytes, got * BLOCK_BYTES, err);
    for (size_t i = 0; status == SG_OK && i < m; i++)
        c->arrived[i].data = (const uint8_t *)c->all + c->place[i] * BLOCK_BYTES;
    return status;
}

static sg_status check_slice(sg_comm *c, size_t m, struct sg_error *err) {
    return c->arrived[m].code->valid(&c->arrived[m])
               ? SG_OK
               : sg_fail(err, SG_ERR_FORMAT, "message %zu: its slice is damaged, or has a value that is NaN or Inf", m);
}

/* Every rank adds up one slice of all messages, and all ranks get the sums. */
static sg_status share_slices(sg_comm *c, size_t start, size_t length, struct sg_error *err) {
    const size_t begin = slice_of(c, length, c->world.rank), slice = slice_of(c, length, c->world.rank + 1) - begin;
    const size_t present = c->workers - c->skipped;
    comm_items_of_messages(c);
    const int mine = c->items[c->world.rank];
    cut_messages(c, start, length, (size_t)mine);
    sg_status status = exchange_sizes(c, slice, mine, err);
    SG_DO(status, place_slices(c, slice, (size_t)mine, err));
    SG_DO(status, c->transport->deal(c->mine, (struct sg_parts){c->dealt, c->dealt_from}, c->all,
                                     (struct sg_parts){c->items, c->displacement}, BLOCK_BYTES, err));
    if (status == SG_OK && code_of(c)->width == 0)
        status = comm_for_workers(c, present, slice * present, check_slice, err);
    if (status != SG_OK)
        return status;
    sg_message_add_all(c->sum + start + begin, slice, c->arrived, present, c->kernels, &c->exec);
    return gather_sums(c, start, length, err);
}

/* True if sharing the work is faster than gathering all messages, of n numbers in this code. By the model of lib/net,
 * gathering takes R - 1 times alpha + m beta on R ranks, where m is a rank's messages. Sharing takes twice as many
 * messages: an R-th of m, and then an R-th of the sums. Slices of a code without a width have their sizes sent before.
 * Every rank that gathers decodes the messages of all R ranks, and one that shares an R-th of that. */
static bool shares(const sg_comm *c, const struct sg_code *code, size_t n, size_t data_bytes, size_t bytes) {
    const double ranks = c->world.size, sums = (double)(n * sizeof *c->sum), workers = workers_of_rank(c);
    const bool wide = code->width > 0;
    const double whole = workers * (double)data_bytes, gathered = wide ? whole : workers * (double)bytes;
    return (wide ? 1 : 2) * LATENCY_BYTES + (whole + sums) / ranks < gathered + decoding_bytes(c, code, n);
}

/* The same of the messages that are here. */
static bool shares_these(const sg_comm *c) {
    return shares(c, code_of(c), c->n, c->like->data_bytes, c->like->bytes);
}

bool comm_cuts(const sg_comm *c) {
    return c->dense && !c->hears && code_of(c)->cut && shares_these(c);
}

bool sg_comm_cuts(const sg_comm *c, const struct sg_code *code, size_t n, size_t bytes) {
    return code->cut && shares(c, code, n, bytes, bytes);
}

/* A rank's slice of a chunk in a code with a width has at most so many blocks of each worker. */
static const size_t MOST_BLOCKS = DENSE_CHUNK / BLOCK_BYTES * sizeof(float);

sg_status comm_sum_chunks(sg_comm *c, struct sg_error *err) {
    const size_t width = code_of(c)->width;
    const bool share = width == 0 || (shares_these(c) && c->workers <= INT32_MAX / MOST_BLOCKS);
    const size_t mine = comm_present(c->put, c->count); /* the messages of this rank stand first */
    const size_t ranks = share ? (size_t)c->world.size : 1;
    const size_t chunk = c->n < DENSE_CHUNK * ranks ? c->n : DENSE_CHUNK * ranks;
    size_t room = 0;
    for (size_t m = 0; m < mine; m++)
        room += (width > 0 ? chunk * width : c->put[m].bytes) + ranks * (SG_CUT_MORE + BLOCK_BYTES);
    sg_status status = comm_reserve(&c->mine, &c->mine_bytes, room, err);
    if (status == SG_OK && !share)
        status = comm_reserve(&c->all, &c->all_bytes, c->workers * (blocks_of(chunk * width) * BLOCK_BYTES), err);
    SG_DO(status, comm_reserve(&c->cut, &c->cut_bytes, ranks * mine * sizeof(size_t), err));
    if (status == SG_OK && share && c->exec.device)
        status = comm_reserve(&c->decoded, &c->decoded_bytes, chunk * sizeof *c->sum, err);
    for (size_t start = 0; status == SG_OK && start < c->n; start += chunk) {
        const size_t length = c->n - start < chunk ? c->n - start : chunk;
        status = (share ? share_slices : gather_whole)(c, start, length, err);
    }
    return status;
}
