/* comm_exchange.c: what the ranks tell each other before the payload moves, and the exchange itself. */
#include <stdlib.h>
#include <string.h>

#include "comm_private.h"

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
    return sg_transport_gather(mine, all, c->items, c->displacement, unit, &c->world, err);
}

sg_status comm_for_workers(const struct for_workers *f, size_t count, size_t entries, int threads,
                           sg_status (*one)(const struct for_workers *f, size_t worker, struct sg_error *err),
                           struct sg_error *err) {
    sg_status status = SG_OK;
    if (threads == 1 || entries < WORTH_ENTRIES) {
        for (size_t w = 0; status == SG_OK && w < count; w++)
            status = one(f, w, err);
        return status;
    }
    size_t failed = count;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t w = 0; w < count; w++) {
        struct sg_error mine;
        const sg_status outcome = one(f, w, &mine);
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

/* An empty message has no positions either, and is a sparse one. */
static bool is_dense(const struct sg_message *m) {
    return !m->index && m->count > 0 && m->count == m->n;
}

/* Exact bytes of this rank's worker's message; an encoded one is planned, not yet written. */
static sg_status size_message(const struct for_workers *f, size_t local, struct sg_error *err) {
    sg_comm *c = f->c;
    const struct sg_message *m = &f->message[local];
    double *bytes = &c->note[c->first + local].bytes;
    if (is_dense(m)) {
        *bytes = (double)(COUNT_BYTES + m->bytes);
    } else if (!c->encoded) {
        *bytes = (double)(COUNT_BYTES + m->count * ENTRY_BYTES);
    } else {
        sg_status status = sg_wire_plan(&c->plan[local], c->format.encoding, m, err);
        if (status != SG_OK)
            return status;
        *bytes = (double)c->plan[local].bytes;
    }
    return SG_OK;
}

static sg_status gather_notes(sg_comm *c, const struct sg_contribution *mine, int threads, struct sg_error *err) {
    sg_status status = SG_OK;
    size_t entries = 0;
    struct note *local = c->note + c->first;
    memset(local, 0, c->count * sizeof *local);
    for (size_t w = 0; w < c->count; w++) {
        struct note *note = &local[w];
        note->status = mine->status;
        note->stop = mine->stop;
        note->save = mine->save;
        if (mine->status != SG_OK)
            continue;
        note->dense = is_dense(&mine->message[w]);
        note->count = (double)mine->message[w].count;
        note->bits = mine->message[w].bits;
        entries += c->encoded ? mine->message[w].count : 0; /* else sizes are a product */
        if (mine->note)
            memcpy(note->number, mine->note[w], sizeof note->number);
    }
    if (mine->status == SG_OK)
        status =
            comm_for_workers(&(struct for_workers){c, mine->message, 0}, c->count, entries, threads, size_message, err);
    if (status != SG_OK || c->world.size == 1)
        return status;
    status = comm_reserve(&c->mine, &c->mine_bytes, c->count * sizeof *local, err);
    if (status != SG_OK)
        return status;
    memcpy(c->mine, local, c->count * sizeof *local);
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = (int)(comm_first_of(c, r + 1) - comm_first_of(c, r));
    return comm_gather(c, c->mine, c->note, sizeof *c->note, err);
}

/* What the notes say together. */
static void read_notes(sg_comm *c, struct sg_outcome *out, bool *dense, bool *mixed) {
    size_t dense_messages = 0;
    for (size_t w = 0; w < c->n; w++) {
        const struct note *note = &c->note[w];
        if (note->status != SG_OK && out->status == SG_OK) {
            out->status = note->status;
            out->failed_rank = comm_owner_of(c, w);
        }
        out->stop = note->stop > out->stop ? note->stop : out->stop;
        out->save = note->save > out->save ? note->save : out->save;
        dense_messages += note->dense;
        memcpy(c->number[w], note->number, sizeof c->number[w]);
    }
    *dense = dense_messages == c->n;
    *mixed = !*dense && dense_messages > 0;
}

static struct sg_volume volume_of(const sg_comm *c) {
    struct sg_volume v = {0};
    for (size_t w = 0; w < c->n; w++) {
        v.elements_mean += c->note[w].count;
        v.elements_max = c->note[w].count > v.elements_max ? c->note[w].count : v.elements_max;
        v.bits_mean += c->note[w].bits;
        v.bytes_sent += c->note[w].bytes;
    }
    v.elements_mean /= (double)c->n;
    v.bits_mean /= (double)c->n;
    v.bytes_sent /= (double)c->n;
    return v;
}

sg_status sg_comm_exchange(sg_comm *c, const struct sg_contribution *mine, float *sum, size_t d,
                           const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_outcome *out,
                           struct sg_error *err) {
    struct sg_outcome outcome = {.failed_rank = -1};
    bool dense, mixed;
    sg_status status = gather_notes(c, mine, exec->threads, err);
    if (status != SG_OK)
        return status;
    read_notes(c, &outcome, &dense, &mixed);
    if (outcome.status == SG_OK) {
        if (mixed)
            return sg_fail(err, SG_ERR_ARGUMENT, "sparse and dense messages in one exchange");
        outcome.volume = volume_of(c);
        outcome.note = (const double(*)[SG_COMM_NOTES])c->number;
        if (sum)
            kernels->zero(exec, sum, d * sizeof *sum);
        if (c->world.size > 1)
            status = (dense ? comm_sum_dense : comm_sum_sparse)(c, mine->message, sum, d, kernels, exec, err);
        else if (sum)
            sg_message_add_all(sum, d, mine->message, c->n, kernels, exec);
    }
    if (status == SG_OK)
        *out = outcome;
    return status;
}
