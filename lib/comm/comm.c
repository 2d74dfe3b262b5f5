#include "sg_comm.h"

#include <stdlib.h>
#include <string.h>

#include "transport.h"

/* What every rank learns of each worker before the payload moves. */
struct note {
    double count, bits, number[SG_COMM_NOTES];
    int stop, save; /* of the worker's rank */
    sg_status status;
    enum sg_message_kind kind; /* of its message */
};

struct entry {
    uint32_t index;
    float value;
};

struct sg_comm {
    struct sg_world world;
    bool mpi;
    size_t n, first, count;
    struct note *note;               /* [n] of the last exchange */
    double (*number)[SG_COMM_NOTES]; /* [n] handed out */
    int *items, *displacement;       /* [size] scratch of gathers */
    sg_status *agreed;               /* [size] scratch of sg_comm_agree */
    void *mine, *all;                /* payload scratch, grown on demand */
    size_t mine_bytes, all_bytes;
};

enum { DENSE_CHUNK = 1 << 18 }; /* dense sums move this many values of each worker at a time, to bound memory */

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
    c->note = calloc(workers, sizeof *c->note);
    c->number = calloc(workers, sizeof *c->number);
    return c->note && c->number ? SG_OK : sg_fail_memory(err, "the exchange");
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

static sg_status reserve(void **buffer, size_t *have, size_t want, struct sg_error *err) {
    if (want <= *have)
        return SG_OK;
    free(*buffer);
    *buffer = malloc(want);
    *have = *buffer ? want : 0;
    return *buffer ? SG_OK : sg_fail_memory(err, "exchanged messages");
}

/* Gather `items_of_rank`-sized blocks; c->items must hold the count of each rank. */
static sg_status gather(sg_comm *c, const void *mine, void *all, size_t unit, struct sg_error *err) {
    for (int r = 0, at = 0; r < c->world.size; at += c->items[r++])
        c->displacement[r] = at;
    return sg_transport_gather(mine, all, c->items, c->displacement, unit, &c->world, err);
}

static sg_status gather_notes(sg_comm *c, const struct sg_contribution *mine, struct sg_error *err) {
    struct note *local = c->note + c->first;
    memset(local, 0, c->count * sizeof *local);
    for (size_t w = 0; w < c->count; w++) {
        struct note *note = &local[w];
        note->status = (int)mine->status;
        note->stop = mine->stop;
        note->save = mine->save;
        if (mine->status != SG_OK)
            continue;
        note->kind = (int)mine->message[w].kind;
        note->count = (double)mine->message[w].count;
        note->bits = sg_message_bits(&mine->message[w]);
        if (mine->note)
            memcpy(note->number, mine->note[w], sizeof note->number);
    }
    if (c->world.size == 1)
        return SG_OK;
    sg_status status = reserve(&c->mine, &c->mine_bytes, c->count * sizeof *local, err);
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

static struct sg_volume volume_of(const sg_comm *c, bool dense) {
    struct sg_volume v = {0};
    for (size_t w = 0; w < c->n; w++) {
        v.elements_mean += c->note[w].count;
        v.elements_max = c->note[w].count > v.elements_max ? c->note[w].count : v.elements_max;
        v.bits_mean += c->note[w].bits;
        v.bytes_sent += 4 + c->note[w].count * (dense ? sizeof(float) : sizeof(struct entry));
    }
    v.elements_mean /= (double)c->n;
    v.bits_mean /= (double)c->n;
    v.bytes_sent /= (double)c->n;
    return v;
}

/* Indices of a worker's message, then its values, rank after rank. */
static sg_status sum_sparse(sg_comm *c, const struct sg_message *message, float *sum, const struct sg_kernels *kernels,
                            const struct sg_exec *exec, struct sg_error *err) {
    size_t total = 0, local = 0;
    for (int r = 0; r < c->world.size; r++) {
        size_t entries = 0;
        for (size_t w = first_of(c, r); w < first_of(c, r + 1); w++)
            entries += (size_t)c->note[w].count;
        if (entries > INT32_MAX || total + entries > INT32_MAX)
            return sg_fail(err, SG_ERR_COMM,
                           "more than 2^31 entries in one exchange: use fewer workers or a higher threshold");
        c->items[r] = (int)entries;
        total += entries;
        local = r == c->world.rank ? entries : local;
    }
    sg_status status = reserve(&c->mine, &c->mine_bytes, local * sizeof(struct entry), err);
    if (status == SG_OK)
        status = reserve(&c->all, &c->all_bytes, total * sizeof(struct entry), err);
    if (status != SG_OK)
        return status;
    char *at = c->mine;
    for (size_t w = 0; w < c->count; w++) {
        const struct sg_message *m = &message[w];
        if (m->count == 0)
            continue; /* also keeps a NULL index of an empty message away from memcpy */
        memcpy(at, m->index, m->count * sizeof *m->index);
        memcpy(at + m->count * sizeof *m->index, m->value, m->count * sizeof *m->value);
        at += m->count * sizeof(struct entry);
    }
    status = total ? gather(c, c->mine, c->all, sizeof(struct entry), err) : SG_OK;
    char *from = c->all;
    for (size_t w = 0; status == SG_OK && w < c->n; w++) {
        size_t count = (size_t)c->note[w].count;
        const uint32_t *index = (const void *)from;
        const float *value = (const void *)(from + count * sizeof *index);
        if (count)
            kernels->scatter_add(exec, sum, index, value, count);
        from += count * sizeof(struct entry);
    }
    return status;
}

static sg_status sum_dense(sg_comm *c, const struct sg_message *message, float *sum, size_t d,
                           const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_error *err) {
    size_t chunk = d < DENSE_CHUNK ? d : DENSE_CHUNK;
    sg_status status = reserve(&c->mine, &c->mine_bytes, c->count * chunk * sizeof(float), err);
    if (status == SG_OK)
        status = reserve(&c->all, &c->all_bytes, c->n * chunk * sizeof(float), err);
    for (size_t start = 0; status == SG_OK && start < d; start += chunk) {
        size_t length = d - start < chunk ? d - start : chunk;
        float *mine = c->mine, *all = c->all;
        for (size_t w = 0; w < c->count; w++)
            memcpy(mine + w * length, message[w].value + start, length * sizeof(float));
        for (int r = 0; r < c->world.size; r++)
            c->items[r] = (int)(first_of(c, r + 1) - first_of(c, r));
        status = gather(c, mine, all, length * sizeof(float), err);
        for (size_t w = 0; status == SG_OK && w < c->n; w++)
            kernels->scatter_add(exec, sum + start, NULL, all + w * length, length);
    }
    return status;
}

sg_status sg_comm_exchange(sg_comm *c, const struct sg_contribution *mine, float *sum, size_t d,
                           const struct sg_kernels *kernels, const struct sg_exec *exec, struct sg_outcome *out,
                           struct sg_error *err) {
    struct sg_outcome outcome = {.failed_rank = -1};
    bool dense, mixed;
    sg_status status = gather_notes(c, mine, err);
    if (status != SG_OK)
        return status;
    read_notes(c, &outcome, &dense, &mixed);
    if (outcome.status == SG_OK) {
        if (mixed)
            return sg_fail(err, SG_ERR_ARGUMENT, "sparse and dense messages in one exchange");
        outcome.volume = volume_of(c, dense);
        outcome.note = (const double(*)[SG_COMM_NOTES])c->number;
        memset(sum, 0, d * sizeof *sum);
        if (c->world.size == 1)
            for (size_t w = 0; w < c->n; w++)
                kernels->scatter_add(exec, sum, mine->message[w].index, mine->message[w].value, mine->message[w].count);
        else if (dense)
            status = sum_dense(c, mine->message, sum, d, kernels, exec, err);
        else
            status = sum_sparse(c, mine->message, sum, kernels, exec, err);
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
    free(c->items);
    free(c->agreed);
    free(c->mine);
    free(c->all);
    free(c);
}

void sg_comm_abort(sg_comm *c, int code) {
    if (c && c->mpi && c->world.size > 1)
        sg_transport_abort(code);
}
