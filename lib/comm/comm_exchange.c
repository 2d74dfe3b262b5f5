/* comm_exchange.c: one exchange: its begin, each put of a message, and its end. At the end the ranks first gather the
 * notes, which describe the messages, and then move the messages. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "comm_private.h"
#include "sg_debug.h"

/* True if messages are added when they are put, as those of a GPU are within one process. */
static bool adds_at_once(const sg_comm *c) {
    return c->exec.device && c->world.size == 1;
}

void sg_comm_begin(sg_comm *c, float *sum, size_t n, const struct sg_kernels *kernels, const struct sg_exec *exec) {
    SG_ASSERT((sum || n == 0) && exec->threads >= 1);
    c->sum = sum;
    c->n = n;
    c->kernels = kernels;
    c->exec = *exec;
    c->added = 0;
    c->copies = c->hears = c->counts = false;
    memset(c->put, 0, c->count * sizeof *c->put);
    memset(c->note + c->first, 0, c->count * sizeof *c->note);
    if (n && adds_at_once(c))
        kernels->zero(exec, sum, n * sizeof *sum);
}

void sg_comm_note(sg_comm *c, size_t worker, const double note[SG_COMM_NOTES]) {
    SG_ASSERT(worker >= c->first && worker < c->first + c->count);
    memcpy(c->note[worker].number, note, sizeof c->note[worker].number);
}

/* ---- a message ---- */

static enum comm_kind kind_of(const sg_comm *c, const struct sg_message *m) {
    if (!m->code)
        return COMM_NOTHING;
    if (!m->index && m->count > 0 && m->count == m->n && m->code->width > 0)
        return COMM_WHOLE;
    return m->code == &sg_code_fp32 && c->raw ? COMM_PLAIN : COMM_ENCODED;
}

/* True if numbers are written in fewer bits where that saves bytes. */
static bool shortens(const sg_comm *c) {
    return c->encoding == NULL;
}

/* Copies a message to memory of its own on the host; of a GPU's message what ranks or encodings need, into memory that
 * is large enough for later messages too. */
static sg_status copy_message(sg_comm *c, size_t local, struct sg_error *err) {
    struct sg_message *m = &c->put[local];
    struct copy *copy = &c->copy[local];
    const size_t index_bytes = m->index ? m->count * sizeof *m->index : 0;
    const size_t least = c->exec.device ? c->n * sizeof(float) : 0;
    int got = SG_KERNEL_OK;
    sg_status status =
        comm_reserve(&copy->index, &copy->index_bytes, m->index && index_bytes < least ? least : index_bytes, err);
    SG_DO(status, comm_reserve(&copy->data, &copy->data_bytes, m->bytes < least ? least : m->bytes, err));
    if (status != SG_OK)
        return status;
    if (index_bytes)
        got = c->kernels->get(&c->exec, copy->index, m->index, index_bytes);
    if (got == SG_KERNEL_OK && m->bytes > 0 && (!c->exec.device || c->world.size > 1 || shortens(c)))
        got = c->kernels->get(&c->exec, copy->data, m->data, m->bytes);
    m->index = m->index ? copy->index : NULL;
    m->data = copy->data;
    return got == SG_KERNEL_OK ? SG_OK : sg_fail(err, SG_ERR_UNSUPPORTED, "the device failed");
}

void sg_comm_copy(sg_comm *c) {
    c->copies = !c->exec.device;
}

void sg_comm_hear(sg_comm *c) {
    c->hears = true;
}

void sg_comm_only_count(sg_comm *c) {
    c->counts = true;
}

sg_status sg_comm_put(sg_comm *c, size_t worker, const struct sg_message *message, struct sg_error *err) {
    SG_ASSERT(worker >= c->first && worker < c->first + c->count && message->code);
    const size_t local = worker - c->first;
    sg_status status = SG_OK;
    if (message->n != c->n)
        return sg_fail(err, SG_ERR_ARGUMENT, "a message for %zu numbers in an exchange of %zu", message->n, c->n);
    c->put[local] = *message;
    if (!c->exec.device)
        return c->copies ? copy_message(c, local, err) : SG_OK;
    if (local != c->added++)
        return sg_fail(err, SG_ERR_ARGUMENT, "on a GPU workers put their messages in order");
    if (adds_at_once(c))
        sg_message_read(&(struct sg_sink){.kind = SG_SINK_ADD, .to = c->sum, .index = message->index, .weight = 1},
                        message, c->kernels, &c->exec);
    if (status == SG_OK && (c->world.size > 1 || kind_of(c, message) == COMM_ENCODED))
        status = copy_message(c, local, err);
    return status;
}

void sg_comm_skip(sg_comm *c, size_t worker) {
    SG_ASSERT(worker >= c->first && worker < c->first + c->count && !c->put[worker - c->first].code);
    c->note[worker].kind = COMM_SKIPPED;
    if (c->exec.device) /* on a CPU threads of several workers are here */
        c->added++;
}

/* ---- the end ---- */

/* Finds the exact bytes of a message of this kind. An encoded one is planned, not yet written. */
static sg_status size_of(const sg_comm *c, const struct sg_message *m, enum comm_kind kind, struct sg_wire_plan *plan,
                         size_t *bytes, struct sg_error *err) {
    *bytes = COUNT_BYTES + m->bytes + (kind == COMM_WHOLE || m->known ? 0 : m->count * sizeof *m->index);
    if (kind != COMM_ENCODED)
        return SG_OK;
    struct sg_message travels = *m;
    if (m->known) {
        travels.n = m->count;
        travels.index = NULL;
    }
    sg_status status = sg_wire_plan(plan, c->encoding, &travels, err);
    if (status != SG_OK)
        return status;
    if (shortens(c))
        sg_wire_shorten(plan);
    *bytes = plan->bytes;
    return SG_OK;
}

static sg_status size_message(sg_comm *c, size_t local, struct sg_error *err) {
    const struct sg_message *m = &c->put[local];
    struct note *note = &c->note[c->first + local];
    if (note->kind == COMM_SKIPPED)
        return SG_OK;
    note->kind = kind_of(c, m);
    if (note->kind == COMM_NOTHING)
        return c->n == 0
                   ? SG_OK
                   : sg_fail(err, SG_ERR_ARGUMENT, "worker %zu put no message into the exchange", c->first + local);
    note->code = m->code->number;
    note->count = m->count;
    note->data_bytes = m->bytes;
    note->bits = m->bits;
    return size_of(c, m, note->kind, &c->plan[local], &note->bytes, err);
}

sg_status sg_comm_bytes(const sg_comm *c, const struct sg_message *message, double *bytes, struct sg_error *err) {
    struct sg_wire_plan plan;
    size_t exact = 0;
    sg_status status = size_of(c, message, kind_of(c, message), &plan, &exact, err);
    *bytes = (double)exact;
    return status;
}

static sg_status gather_notes(sg_comm *c, const struct sg_control *mine, struct sg_error *err) {
    sg_status status = SG_OK;
    size_t entries = 0;
    struct note *local = c->note + c->first;
    for (size_t w = 0; w < c->count; w++) {
        local[w].status = mine->status;
        local[w].stop = mine->stop;
        local[w].save = mine->save;
        entries += kind_of(c, &c->put[w]) == COMM_ENCODED ? c->put[w].count : 0; /* all other sizes are products */
    }
    if (mine->status == SG_OK)
        status = comm_for_workers(c, c->count, entries, size_message, err);
    if (status != SG_OK || c->world.size == 1)
        return status;
    status = comm_reserve(&c->mine, &c->mine_bytes, c->count * sizeof *local, err);
    if (status != SG_OK)
        return status;
    memcpy(c->mine, local, c->count * sizeof *local);
    comm_items_of_workers(c);
    return comm_gather(c, c->mine, c->note, sizeof *c->note, err);
}

/* Computes the outcome of the exchange from the notes of all workers. */
static void read_notes(sg_comm *c, struct sg_outcome *out) {
    for (size_t w = 0; w < c->workers; w++) {
        const struct note *note = &c->note[w];
        if (note->status != SG_OK && out->status == SG_OK) {
            out->status = note->status;
            out->failed_rank = comm_owner_of(c, w);
        }
        out->stop = note->stop > out->stop ? note->stop : out->stop;
        out->save = note->save > out->save ? note->save : out->save;
        memcpy(c->number[w], note->number, sizeof c->number[w]);
    }
    out->note = (const double(*)[SG_COMM_NOTES])c->number;
}

static struct sg_volume volume_of(const sg_comm *c) {
    struct sg_volume v = {0};
    for (size_t w = 0; w < c->workers; w++) {
        const double count = (double)c->note[w].count;
        v.elements_mean += count;
        v.elements_max = count > v.elements_max ? count : v.elements_max;
        v.bits_mean += c->note[w].bits;
        v.bytes_sent += (double)c->note[w].bytes;
    }
    v.elements_mean /= (double)c->workers;
    v.bits_mean /= (double)c->workers;
    v.bytes_sent /= (double)c->workers;
    return v;
}

/* Finds the first message, and checks that all others go together with it. */
static sg_status compare_messages(sg_comm *c, struct sg_error *err) {
    c->like = NULL;
    c->skipped = 0;
    c->dense = true;
    for (size_t w = 0; w < c->workers; w++) {
        const struct note *note = &c->note[w];
        if (note->kind == COMM_SKIPPED)
            c->skipped++;
        else if (!c->like)
            c->like = note;
        else if (note->kind != c->like->kind || note->code != c->like->code)
            return sg_fail(err, SG_ERR_ARGUMENT, "messages of different kinds or codes in one exchange");
        c->dense &= note->kind == COMM_SKIPPED || (note->kind == COMM_ENCODED && note->count == c->n);
    }
    for (size_t w = 0; w < c->count && c->skipped; w++)
        if (c->put[w].known)
            return sg_fail(err, SG_ERR_ARGUMENT, "the positions of a message are not sent, and a worker is skipped");
    return c->like || c->n == 0 ? SG_OK : sg_fail(err, SG_ERR_ARGUMENT, "no worker puts a message into the exchange");
}

static sg_status add_up(sg_comm *c, struct sg_error *err) {
    const sg_status status = compare_messages(c, err);
    if (status != SG_OK || c->n == 0 || c->counts || adds_at_once(c))
        return status;
    c->kernels->zero(&c->exec, c->sum, c->n * sizeof *c->sum);
    c->in_chunks = c->world.size > 1 && (c->like->kind == COMM_WHOLE || comm_cuts(c));
    if (c->world.size > 1)
        return (c->in_chunks ? comm_sum_chunks : comm_sum_gathered)(c, err);
    sg_message_add_all(c->sum, c->n, c->put, comm_present(c->put, c->workers), c->kernels, &c->exec);
    return SG_OK;
}

const struct sg_message *sg_comm_messages(const sg_comm *c) {
    if (c->exec.device || c->skipped || c->in_chunks || c->counts)
        return NULL;
    return c->world.size > 1 ? c->arrived : c->put;
}

sg_status sg_comm_end(sg_comm *c, const struct sg_control *mine, struct sg_outcome *out, struct sg_error *err) {
    struct sg_outcome outcome = {.failed_rank = -1};
    sg_status status = gather_notes(c, mine, err);
    if (status != SG_OK)
        return status;
    read_notes(c, &outcome);
    if (outcome.status == SG_OK) {
        outcome.volume = volume_of(c);
        status = add_up(c, err);
    }
    if (status == SG_OK)
        *out = outcome;
    return status;
}
