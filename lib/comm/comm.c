#include "sg_comm.h"

#include <stdlib.h>
#include <string.h>

#include "transport.h"

/* What every rank learns of each worker before the payload moves. */
struct note {
    double count, bits, bytes, number[SG_COMM_NOTES];
    int stop, save; /* of the worker's rank */
    sg_status status;
    enum sg_message_kind kind; /* of its message */
};

struct sg_comm {
    struct sg_world world;
    bool mpi;
    size_t n, first, count;
    struct note *note;               /* [n] of the last exchange */
    double (*number)[SG_COMM_NOTES]; /* [n] handed out */
    struct sg_entries *entries;      /* [n] what is added up */
    size_t *place;                   /* [n] scratch: offsets of the workers' messages */
    struct sg_wire_format format;    /* of the messages */
    bool encoded;                    /* sparse messages go through the encodings, not as they are */
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

int sg_comm_launch_rank(void) {
    static const char *const rank[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof rank / sizeof *rank && !text; i++)
        text = getenv(rank[i]);
    return text ? atoi(text) : -1;
}

sg_status sg_comm_open(sg_comm **out, struct sg_error *err) {
    sg_comm *c = calloc(1, sizeof *c);
    if (!c)
        return sg_fail_memory(err, "the exchange");
    c->world = (struct sg_world){.size = 1, .local_ranks = 1};
    if (sg_comm_launch_rank() >= 0) {
        sg_status status = sg_transport_open(&c->world, err);
        if (status != SG_OK) {
            free(c);
            return status;
        }
        c->mpi = sg_comm_has_mpi();
    }
    size_t ranks = (size_t)c->world.size;
    c->items = calloc(2 * ranks, sizeof *c->items);
    c->agreed = calloc(ranks, sizeof *c->agreed);
    if (!c->items || !c->agreed) {
        sg_comm_close(c);
        return sg_fail_memory(err, "the exchange");
    }
    c->displacement = c->items + ranks;
    c->format.encoding = sg_wire_find("raw");
    *out = c;
    return SG_OK;
}

static size_t first_of(const sg_comm *c, int rank) {
    return (size_t)rank * c->n / (size_t)c->world.size;
}

static int owner_of(const sg_comm *c, size_t worker) {
    int owner = 0;
    while (worker >= first_of(c, owner + 1))
        owner++;
    return owner;
}

sg_status sg_comm_set_workers(sg_comm *c, size_t workers, struct sg_error *err) {
    size_t ranks = (size_t)c->world.size;
    if (workers < ranks)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%zu ranks for %zu workers: start at most one rank a worker (mpirun -n %zu)", ranks, workers,
                       workers);
    c->n = workers;
    c->first = first_of(c, c->world.rank);
    c->count = first_of(c, c->world.rank + 1) - c->first;
    free(c->note);
    free(c->number);
    free(c->plan);
    c->note = calloc(workers, sizeof *c->note);
    c->number = calloc(workers, sizeof *c->number);
    free(c->entries);
    c->entries = calloc(workers, sizeof *c->entries);
    c->plan = calloc(c->count, sizeof *c->plan);
    free(c->place);
    c->place = calloc(workers, sizeof *c->place);
    return c->note && c->number && c->entries && c->plan && c->place ? SG_OK : sg_fail_memory(err, "the exchange");
}

void sg_comm_set_format(sg_comm *c, const struct sg_wire_format *format) {
    c->format = *format;
    c->encoded = format->precision != SG_FP32 || format->encoding != sg_wire_find("raw");
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

const char *sg_comm_library(const sg_comm *c) {
    return c->mpi ? c->world.library : NULL;
}

size_t sg_comm_first(const sg_comm *c) {
    return c->first;
}

size_t sg_comm_count(const sg_comm *c) {
    return c->count;
}

/* At least `want` bytes; never NULL, even for none. */
static sg_status reserve(void **buffer, size_t *have, size_t want, struct sg_error *err) {
    if (*buffer && want <= *have)
        return SG_OK;
    free(*buffer);
    *buffer = malloc(want ? want : 1);
    *have = *buffer ? want : 0;
    return *buffer ? SG_OK : sg_fail_memory(err, "exchanged messages");
}

/* Gather `items_of_rank`-sized blocks; c->items must hold the count of each rank. */
static sg_status gather(sg_comm *c, const void *mine, void *all, size_t unit, struct sg_error *err) {
    for (int r = 0, at = 0; r < c->world.size; at += c->items[r++])
        c->displacement[r] = at;
    return sg_transport_gather(mine, all, c->items, c->displacement, unit, &c->world, err);
}

/* One step of work a worker, workers on different threads; `one` touches nothing of another's. The error is that of the
 * first worker that has one, whatever the threads. */
struct for_workers {
    sg_comm *c;
    const struct sg_message *message; /* of this rank's workers */
    size_t d;
};

static sg_status for_workers(const struct for_workers *f, size_t count, size_t entries, int threads,
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

/* Exact bytes of this rank's worker's message; an encoded one is planned, not yet written. */
static sg_status size_message(const struct for_workers *f, size_t local, struct sg_error *err) {
    sg_comm *c = f->c;
    const struct sg_message *m = &f->message[local];
    double *bytes = &c->note[c->first + local].bytes;
    if (m->kind == SG_MESSAGE_DENSE) {
        const size_t width = c->format.precision == SG_FP16 ? sizeof(uint16_t) : sizeof(float);
        *bytes = (double)(COUNT_BYTES + m->count * width);
    } else if (!c->encoded) {
        *bytes = (double)(COUNT_BYTES + m->count * ENTRY_BYTES);
    } else {
        const struct sg_wire_set set = {.n = m->n, .count = m->count, .index = m->index};
        sg_status status = sg_wire_plan(&c->plan[local], &c->format, &set, err);
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
        note->kind = mine->message[w].kind;
        note->count = (double)mine->message[w].count;
        note->bits = sg_message_bits(&mine->message[w]);
        entries += c->encoded ? mine->message[w].count : 0; /* else sizes are a product */
        if (mine->note)
            memcpy(note->number, mine->note[w], sizeof note->number);
    }
    if (mine->status == SG_OK)
        status = for_workers(&(struct for_workers){c, mine->message, 0}, c->count, entries, threads, size_message, err);
    if (status != SG_OK || c->world.size == 1)
        return status;
    status = reserve(&c->mine, &c->mine_bytes, c->count * sizeof *local, err);
    if (status != SG_OK)
        return status;
    memcpy(c->mine, local, c->count * sizeof *local);
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = (int)(first_of(c, r + 1) - first_of(c, r));
    return gather(c, c->mine, c->note, sizeof *c->note, err);
}

/* What the notes say together. */
static void read_notes(sg_comm *c, struct sg_outcome *out, bool *dense, bool *mixed) {
    int kinds = 0;
    for (size_t w = 0; w < c->n; w++) {
        const struct note *note = &c->note[w];
        if (note->status != SG_OK && out->status == SG_OK) {
            out->status = note->status;
            out->failed_rank = owner_of(c, w);
        }
        out->stop = note->stop > out->stop ? note->stop : out->stop;
        out->save = note->save > out->save ? note->save : out->save;
        kinds |= 1 << note->kind;
        memcpy(c->number[w], note->number, sizeof c->number[w]);
    }
    *dense = kinds == 1 << SG_MESSAGE_DENSE;
    *mixed = !*dense && kinds != 1 << SG_MESSAGE_SPARSE;
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

/* ---- sums over ranks ---- */

/* Bytes of a worker's sparse message between ranks. Its count is in the note, so plain ones are the entries alone. */
static size_t moved_bytes(const sg_comm *c, size_t worker) {
    return c->encoded ? (size_t)c->note[worker].bytes : (size_t)c->note[worker].count * ENTRY_BYTES;
}

static sg_status put_message(const struct for_workers *f, size_t local, struct sg_error *err) {
    const sg_comm *c = f->c;
    const struct sg_message *m = &f->message[local];
    uint8_t *out = (uint8_t *)c->mine + c->place[local];
    if (c->encoded)
        return sg_wire_encode(out, moved_bytes(c, c->first + local), &c->plan[local], m->value, err);
    if (m->count) { /* also keeps a NULL index of an empty message away from memcpy */
        memcpy(out, m->index, m->count * sizeof *m->index);
        memcpy(out + m->count * sizeof *m->index, m->value, m->count * sizeof *m->value);
    }
    return SG_OK;
}

/* Decode a worker's message where c->entries says. */
static sg_status get_message(const struct for_workers *f, size_t worker, struct sg_error *err) {
    const sg_comm *c = f->c;
    const struct sg_entries *to = &c->entries[worker];
    const uint8_t *in = (const uint8_t *)c->all + c->place[worker];
    struct sg_wire_header header;
    sg_status status = sg_wire_peek(&header, in, moved_bytes(c, worker), err);
    if (status == SG_OK && (header.n != f->d || header.count != to->count || header.bytes != moved_bytes(c, worker)))
        status = sg_fail(err, SG_ERR_FORMAT, "not the message that was announced");
    if (status == SG_OK)
        status = sg_wire_decode((uint32_t *)to->index, (float *)to->value, &header, in, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "from worker %zu: ", worker);
}

/* Each rank's messages side by side, padded to whole blocks: MPI counts in int, and blocks take it to 32 GiB. Sets
 * c->items, and in blocks the bytes of this rank and of all. */
static sg_status count_blocks(sg_comm *c, size_t *local, size_t *total, struct sg_error *err) {
    *total = 0;
    for (int r = 0; r < c->world.size; r++) {
        size_t bytes = 0;
        for (size_t w = first_of(c, r); w < first_of(c, r + 1); w++)
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
    return for_workers(&(struct for_workers){c, message, 0}, c->count, entries, threads, put_message, err);
}

/* All workers' messages out of c->all: in place when plain, else decoded side by side into c->decoded. */
static sg_status get_messages(sg_comm *c, size_t d, int threads, struct sg_error *err) {
    size_t block = 0, entries = 0;
    for (int r = 0; r < c->world.size; r++) {
        size_t at = block * BLOCK_BYTES;
        for (size_t w = first_of(c, r); w < first_of(c, r + 1); w++) {
            c->place[w] = at;
            at += moved_bytes(c, w);
            entries += (size_t)c->note[w].count;
        }
        block += (size_t)c->items[r];
    }
    sg_status status = c->encoded ? reserve(&c->decoded, &c->decoded_bytes, entries * ENTRY_BYTES, err) : SG_OK;
    if (status != SG_OK)
        return status;
    for (size_t w = 0, decoded = 0; w < c->n; w++) {
        const size_t count = (size_t)c->note[w].count;
        const uint8_t *at = c->encoded ? (uint8_t *)c->decoded + decoded : (uint8_t *)c->all + c->place[w];
        c->entries[w] = (struct sg_entries){(const void *)at, (const void *)(at + count * sizeof(uint32_t)), count};
        decoded += count * ENTRY_BYTES;
    }
    return c->encoded ? for_workers(&(struct for_workers){c, NULL, d}, c->n, entries, threads, get_message, err)
                      : SG_OK;
}

static sg_status sum_sparse(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                            const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err) {
    size_t local = 0, total = 0;
    sg_status status = count_blocks(c, &local, &total, err);
    if (status == SG_OK)
        status = reserve(&c->mine, &c->mine_bytes, local * BLOCK_BYTES, err);
    if (status == SG_OK)
        status = reserve(&c->all, &c->all_bytes, total * BLOCK_BYTES, err);
    if (status == SG_OK)
        status = put_messages(c, message, local * BLOCK_BYTES, exec->threads, err);
    if (status == SG_OK && total)
        status = gather(c, c->mine, c->all, BLOCK_BYTES, err);
    if (status == SG_OK)
        status = get_messages(c, d, exec->threads, err);
    if (status == SG_OK)
        kernels->scatter_add_messages(exec, sum, d, c->entries, c->n);
    return status;
}

static void put_halves(uint8_t *out, const float *value, size_t count) {
    for (size_t j = 0; j < count; j++) {
        const uint16_t half = sg_half_of(value[j]);
        memcpy(out + j * sizeof half, &half, sizeof half);
    }
}

static void get_halves(float *value, const uint8_t *in, size_t count) {
    for (size_t j = 0; j < count; j++) {
        uint16_t half;
        memcpy(&half, in + j * sizeof half, sizeof half);
        value[j] = sg_half_value(half);
    }
}

static sg_status sum_dense(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                           const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err) {
    const bool half = c->format.precision == SG_FP16;
    const size_t chunk = d < DENSE_CHUNK ? d : DENSE_CHUNK, width = half ? sizeof(uint16_t) : sizeof(float);
    sg_status status = reserve(&c->mine, &c->mine_bytes, c->count * chunk * width, err);
    if (status == SG_OK)
        status = reserve(&c->all, &c->all_bytes, c->n * chunk * width, err);
    if (status == SG_OK && half)
        status = reserve(&c->decoded, &c->decoded_bytes, chunk * sizeof(float), err);
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = (int)(first_of(c, r + 1) - first_of(c, r));
    for (size_t start = 0; status == SG_OK && start < d; start += chunk) {
        const size_t length = d - start < chunk ? d - start : chunk;
        for (size_t w = 0; w < c->count; w++) {
            uint8_t *to = (uint8_t *)c->mine + w * length * width;
            if (half)
                put_halves(to, message[w].value + start, length);
            else
                memcpy(to, message[w].value + start, length * width);
        }
        status = gather(c, c->mine, c->all, length * width, err);
        for (size_t w = 0; status == SG_OK && w < c->n; w++) {
            const uint8_t *from = (const uint8_t *)c->all + w * length * width;
            if (half)
                get_halves(c->decoded, from, length);
            kernels->scatter_add(exec, sum + start, NULL, half ? c->decoded : (const void *)from, length);
        }
    }
    return status;
}

/* One process has all messages: its threads share the sum. */
static void add_local(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                      const struct sg_kernels *kernels, const struct sg_exec *exec) {
    for (size_t w = 0; w < c->n; w++)
        c->entries[w] = (struct sg_entries){message[w].index, message[w].value, message[w].count};
    kernels->scatter_add_messages(exec, sum, d, c->entries, c->n);
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
        memset(sum, 0, d * sizeof *sum);
        if (c->world.size == 1)
            add_local(c, mine->message, sum, d, kernels, exec);
        else if (dense)
            status = sum_dense(c, mine->message, sum, d, kernels, exec, err);
        else
            status = sum_sparse(c, mine->message, sum, d, kernels, exec, err);
    }
    if (status == SG_OK)
        *out = outcome;
    return status;
}

sg_status sg_comm_collect(sg_comm *c, size_t worker, const void *data, void *out, size_t bytes, struct sg_error *err) {
    int owner = owner_of(c, worker);
    if (owner == 0) {
        if (c->world.rank == 0)
            memcpy(out, data, bytes);
        return SG_OK;
    }
    if (c->world.rank == owner)
        return sg_transport_send_to_lead(data, bytes, err);
    return c->world.rank == 0 ? sg_transport_receive(out, bytes, owner, err) : SG_OK;
}

sg_status sg_comm_broadcast(sg_comm *c, void *data, size_t bytes, struct sg_error *err) {
    return c->world.size > 1 ? sg_transport_broadcast(data, bytes, 0, err) : SG_OK;
}

sg_status sg_comm_agree(sg_comm *c, sg_status mine, struct sg_error *err) {
    if (c->world.size == 1)
        return mine;
    for (int r = 0; r < c->world.size; r++)
        c->items[r] = 1;
    struct sg_error trouble;
    sg_status status = gather(c, &mine, c->agreed, sizeof mine, &trouble), theirs = SG_OK;
    int failed = 0;
    while (status == SG_OK && failed < c->world.size && c->agreed[failed] == SG_OK)
        failed++;
    if (status == SG_OK && failed < c->world.size)
        theirs = c->agreed[failed];
    if (theirs != SG_OK) {
        memcpy(&trouble, err, sizeof trouble); /* only the failing rank's text survives the broadcast */
        status = sg_transport_broadcast(trouble.msg, sizeof trouble.msg, failed, &trouble);
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
    if (c->mpi)
        sg_transport_close();
    free(c->note);
    free(c->number);
    free(c->entries);
    free(c->items);
    free(c->agreed);
    free(c->mine);
    free(c->all);
    free(c->decoded);
    free(c->plan);
    free(c->place);
    free(c);
}

void sg_comm_abort(sg_comm *c, int code) {
    if (c && c->mpi && c->world.size > 1)
        sg_transport_abort(code);
}
