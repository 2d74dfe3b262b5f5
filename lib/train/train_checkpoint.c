/* train_checkpoint.c: writes and reads checkpoints. A checkpoint is the whole state of a run between two steps, for all
 * workers, so that it resumes under any number of ranks. lib/FORMATS.md names every byte. Random draws are named by
 * step, so no state of a generator is needed. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sg_dataset.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_plugins.h"
#include "sg_result.h"
#include "sg_text.h"
#include "train_private.h"

/* In all formats the key and the identity are at the same place, and the hash is at the end. */
static const char magic[16] = "sg-checkpoint/5";
enum { MAGIC_KIND = 14 }; /* characters before the number of the format */

enum { HASH_DIGITS = 64, IDENTITY_CHARS = 64 };

struct preamble {
    char magic[16];
    char key[72], identity[IDENTITY_CHARS];
    char series_sha256[64], inputs_sha256[64]; /* inputs_sha256 is zeros if nothing is recorded */
    uint64_t step, updates, series_bytes, d, x_bytes, optimizer_floats, workers, has_residual, common_bytes,
        workers_bytes,              /* of all workers together */
        is_recorded,                /* 1 = a recording was written up to here */
        segments_bytes, byte_order; /* byte_order is 1 for a reader with the writer's order of bytes */
    struct totals totals;
};

enum { COMMON_BYTES = offsetof(struct preamble, series_sha256) }; /* what all formats share */

struct sink {
    FILE *out;
    sg_sha256 hash;
};

static void put(struct sink *s, const void *data, size_t bytes) {
    if (!s->out || bytes == 0) /* data may be NULL for 0 bytes */
        return;
    fwrite(data, 1, bytes, s->out); /* sg_file_commit reports a failed write */
    sg_sha256_add(&s->hash, data, bytes);
}

/* The bytes of one worker's state. Workers of a method may have states of different sizes. */
struct sizes {
    size_t residual, steps, state, task, method;
};

static struct sizes sizes_of(const struct train *t, size_t worker) {
    return (struct sizes){.residual = t->worker[0].residual ? t->d * sizeof(float) : 0,
                          .steps = t->of_workers ? sizeof t->worker[0].steps : 0,
                          .state = t->of_workers ? t->of_workers->floats * sizeof(float) : 0,
                          .task = train_state_bytes(t),
                          .method = sg_method_worker_bytes(t->method, worker)};
}

static size_t total(struct sizes s) {
    return s.residual + s.steps + s.state + s.task + s.method;
}

/* The bytes of the state of the optimizer that updates x. */
static size_t optimizer_bytes(const struct train *t) {
    return t->of_x ? t->of_x->floats * sizeof *t->state : 0;
}

static size_t task_common_bytes(const struct train *t) {
    return t->task_ops->common_bytes ? t->task_ops->common_bytes(t->task) : 0;
}

static size_t parts_of(const struct train *t, struct part out[TRAIN_PARTS]) {
    size_t n = train_monitor_parts(t, out);
    return n + train_errors_parts(t, out + n);
}

static size_t common_bytes(const struct train *t) {
    struct part part[TRAIN_PARTS];
    size_t bytes = task_common_bytes(t) + sg_method_common_bytes(t->method);
    for (size_t i = 0, n = parts_of(t, part); i < n; i++)
        bytes += part[i].bytes;
    return bytes;
}

/* Writes the identity of the run's program and data, cut to fit. A checkpoint with another identity is ignored. */
static void identify(char out[IDENTITY_CHARS], const struct sg_cell *cell, const cJSON *dataset) {
    char data[SG_DATASET_IDENTITY], program[SG_CELL_IDENTITY];
    memset(out, 0, IDENTITY_CHARS);
    snprintf(out, IDENTITY_CHARS, "%.31s %.31s", sg_cell_identity(program, cell), sg_dataset_identity(data, dataset));
}

/* True if both are equal up to the first blank, where the program's part ends. */
static bool begins_alike(const char *then, const char *now) {
    return strncmp(then, now, strcspn(now, " ") + 1) == 0;
}

static struct preamble describe(const struct train *t) {
    struct preamble p = {.step = t->step,
                         .updates = t->updates,
                         .d = t->d,
                         .x_bytes = sg_task_x_bytes(t->task),
                         .optimizer_floats = optimizer_bytes(t) / sizeof(float),
                         .workers = t->workers,
                         .has_residual = t->worker[0].residual != NULL,
                         .common_bytes = common_bytes(t),
                         .is_recorded = recording_path(t) != NULL,
                         .byte_order = 1,
                         .totals = t->totals};
    for (size_t w = 0; w < t->workers; w++)
        p.workers_bytes += total(sizes_of(t, w));
    memcpy(p.magic, magic, sizeof magic);
    snprintf(p.key, sizeof p.key, "%s", t->options->cell->key);
    cJSON *facts = sg_task_describe(t->task);
    identify(p.identity, t->options->cell, sg_json_get(facts, "dataset"));
    cJSON_Delete(facts);
    return p;
}

/* Writes the workers' states one by one through rank 0, which so never holds more than one. mine and incoming are as
 * large as the largest. */
static sg_status put_workers(struct train *t, struct sink *s, char *mine, char *incoming, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t w = 0; status == SG_OK && w < t->workers; w++) {
        const struct sizes n = sizes_of(t, w);
        if (train_hosts(t, w)) {
            const struct worker *worker = &t->worker[w - t->first];
            char *const state = mine + n.residual + n.steps, *const of_task = state + n.state;
            if (n.residual)
                status = train_get(t, mine, worker->residual, n.residual, err);
            memcpy(mine + n.residual, &worker->steps, n.steps);
            if (n.state && status == SG_OK)
                status = train_get(t, state, worker->state, n.state, err);
            if (n.task)
                t->task_ops->state_save(t->task, w, of_task);
            sg_method_worker_save(t->method, w, of_task + n.task);
        }
        status = sg_comm_agree(t->comm, status, err);
        SG_DO(status, sg_comm_collect(t->comm, w, mine, incoming, total(n), err));
        if (status == SG_OK)
            put(s, incoming, total(n));
    }
    return status;
}

/* Writes a vector of the kernels' memory from rank 0. scratch is as long as the vector. */
static sg_status put_vector(const struct train *t, struct sink *s, const void *from, size_t bytes, void *scratch,
                            struct sg_error *err) {
    sg_status status = bytes && t->lead ? train_get(t, scratch, from, bytes, err) : SG_OK;
    put(s, scratch, bytes);
    return status;
}

/* Writes what all workers share, from rank 0. */
static void put_common(const struct train *t, struct sink *s, char *scratch) {
    const size_t of_task = task_common_bytes(t);
    struct part part[TRAIN_PARTS];
    if (of_task && t->lead)
        t->task_ops->common_save(t->task, scratch);
    sg_method_common_save(t->method, scratch + of_task);
    put(s, scratch, of_task + sg_method_common_bytes(t->method));
    for (size_t i = 0, n = parts_of(t, part); i < n; i++)
        put(s, part[i].memory, part[i].bytes);
}

size_t train_checkpoint_bytes(const struct train *t) {
    if (!t->options->checkpoint)
        return 0;
    const struct preamble p = describe(t);
    return sizeof p + (size_t)(p.x_bytes + p.common_bytes + p.workers_bytes) + optimizer_bytes(t) + HASH_DIGITS;
}

sg_status train_save(struct train *t, struct sg_error *err) {
    if (!t->options->checkpoint)
        return SG_OK;
    struct sg_file_writer w = {0};
    struct sink s = {0};
    struct preamble p = describe(t);
    size_t largest = (size_t)p.common_bytes;
    largest = p.x_bytes > largest ? (size_t)p.x_bytes : largest;
    largest = optimizer_bytes(t) > largest ? optimizer_bytes(t) : largest;
    for (size_t i = 0; i < t->workers; i++)
        largest = total(sizes_of(t, i)) > largest ? total(sizes_of(t, i)) : largest;
    cJSON *segments = train_segments_json(t);
    char *mine = sg_malloc(largest + 1), *incoming = sg_malloc(largest + 1), *history = sg_json_text(segments, false);
    cJSON_Delete(segments);
    p.segments_bytes = history ? strlen(history) : 0;
    sg_status status = train_flush(t, err);
    SG_DO(status, recording_sync(t, err));
    if (status == SG_OK && t->options->series) {
        off_t at = ftello(t->options->series);
        char hex[65];
        p.series_bytes = at > 0 ? (uint64_t)at : 0;
        train_series_hash(t, hex);
        memcpy(p.series_sha256, hex, sizeof p.series_sha256);
        recording_hash(t, hex);
        memcpy(p.inputs_sha256, hex, sizeof p.inputs_sha256);
        if (fsync(fileno(t->options->series)) != 0 && errno != EINVAL && errno != EROFS)
            status = sg_fail_errno(err, SG_ERR_IO, "cannot write the series");
        else if ((status = sg_file_make_way(t->options->checkpoint, err)) == SG_OK)
            status = sg_file_begin(&w, t->options->checkpoint, true, err);
    }
    status = sg_comm_agree(t->comm, status, err); /* from here on all ranks take part */
    if (status == SG_OK) {
        s.out = w.stream;
        sg_sha256_start(&s.hash);
        put(&s, &p, sizeof p);
        status = put_vector(t, &s, sg_task_x(t->task), (size_t)p.x_bytes, mine, err);
        SG_DO(status, put_vector(t, &s, t->state, optimizer_bytes(t), mine, err));
        status = sg_comm_agree(t->comm, status, err);
    }
    if (status == SG_OK) {
        put_common(t, &s, mine);
        status = put_workers(t, &s, mine, incoming, err);
    }
    if (status == SG_OK)
        put(&s, history, (size_t)p.segments_bytes);
    if (status == SG_OK && w.stream) {
        char hex[65];
        sg_sha256_end(&s.hash, hex);
        fwrite(hex, 1, HASH_DIGITS, w.stream);
        status = sg_file_commit(&w, err);
    }
    sg_file_abandon(&w);
    free(mine);
    free(incoming);
    free(history);
    return sg_comm_agree(t->comm, status, err);
}

/* Checks the whole checkpoint before any of it is used. *ours: a program of the same identity wrote it with the same
 * data; any other checkpoint is ignored, without an error. *same_program: its program has the same identity. */
static sg_status check(bool *ours, bool *same_program, const struct train *t, const char *data, size_t length,
                       struct sg_error *err) {
    const char *path = t->options->checkpoint;
    struct preamble now = describe(t), then;
    if (length < COMMON_BYTES + HASH_DIGITS || memcmp(data, magic, MAGIC_KIND) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s is not a checkpoint of this program: delete it to start afresh", path);
    memset(&then, 0, sizeof then);
    memcpy(&then, data, length < sizeof then ? COMMON_BYTES : sizeof then);
    if (memcmp(then.key, now.key, sizeof now.key) != 0)
        return sg_fail(err, SG_ERR_MISMATCH,
                       "%s belongs to another recipe, method or seed: give another -o, or delete it to start afresh",
                       path);
    char hex[65];
    sg_sha256_of(data, length - HASH_DIGITS, hex);
    const bool same_format = memcmp(then.magic, now.magic, sizeof now.magic) == 0;
    *ours = same_format && memcmp(then.identity, now.identity, sizeof now.identity) == 0;
    *same_program = same_format && begins_alike(then.identity, now.identity);
    const bool whole = memcmp(hex, data + length - HASH_DIGITS, HASH_DIGITS) == 0;
    if (whole && *ours && then.byte_order != now.byte_order)
        return sg_fail(err, SG_ERR_FORMAT,
                       "%s was written on a machine with another order of bytes: go on there, or delete it to start "
                       "afresh",
                       path);
    if (!whole || (*ours && length != train_checkpoint_bytes(t) + then.segments_bytes))
        return sg_fail(err, SG_ERR_FORMAT, "%s is damaged: delete it to start afresh", path);
    return SG_OK;
}

static sg_status restore(struct train *t, const char *data, struct sg_error *err) {
    struct preamble p;
    struct part part[TRAIN_PARTS];
    memcpy(&p, data, sizeof p);
    const char *at = data + sizeof p;
    sg_status status = train_series_go_on(t, p.series_bytes, p.series_sha256, err);
    if (status != SG_OK)
        return status;
    memcpy(t->inputs_sha256, p.inputs_sha256, sizeof p.inputs_sha256);
    if (p.is_recorded && !recording_path(t))
        sg_notify(t->options->notice, "the run is no longer recorded: FILE.part of its recording can be deleted");
    t->step = p.step;
    t->updates = p.updates;
    t->totals = p.totals;
    t->kernels->put(&t->exec, sg_task_x(t->task), at, (size_t)p.x_bytes);
    at += p.x_bytes;
    t->kernels->put(&t->exec, t->state, at, optimizer_bytes(t));
    at += optimizer_bytes(t);
    if (task_common_bytes(t))
        t->task_ops->common_load(t->task, at);
    at += task_common_bytes(t);
    sg_method_common_load(t->method, at);
    at += sg_method_common_bytes(t->method);
    for (size_t i = 0, n = parts_of(t, part); i < n; at += part[i++].bytes)
        if (part[i].bytes > 0)
            memcpy(part[i].memory, at, part[i].bytes);
    for (size_t w = 0; w < t->workers; w++) {
        const struct sizes n = sizes_of(t, w);
        if (train_hosts(t, w)) {
            struct worker *worker = &t->worker[w - t->first];
            const char *const state = at + n.residual + n.steps, *const of_task = state + n.state;
            if (n.residual)
                t->kernels->put(&t->exec, worker->residual, at, n.residual);
            memcpy(&worker->steps, at + n.residual, n.steps);
            if (n.state)
                t->kernels->put(&t->exec, worker->state, state, n.state);
            if (n.task)
                t->task_ops->state_load(t->task, w, of_task);
            sg_method_worker_load(t->method, w, of_task + n.task);
        }
        at += total(n);
    }
    return train_segments_take(t, at, (size_t)p.segments_bytes, err);
}

sg_status train_load(struct train *t, bool *found, struct sg_error *err) {
    void *data = NULL; /* mapped, so that residuals need not fit into memory twice */
    size_t length = 0;
    *found = false;
    if (!t->options->checkpoint || !t->options->resume)
        return SG_OK;
    sg_status status = sg_file_map(&data, &length, t->options->checkpoint, err);
    bool present = status == SG_OK;
    if (status == SG_ERR_MISSING)
        status = SG_OK;
    bool ours = false, same_program = false;
    if (present)
        status = check(&ours, &same_program, t, data, length, err);
    if (present && status == SG_OK && !ours) {
        sg_notify(t->options->notice, "the checkpoint %s: starting afresh",
                  same_program ? "belongs to a run on other data" : "was written by another version of the program");
        present = false;
        status = train_series_go_on(t, 0, NULL, err);
    }
    char lead = present; /* rank 0 decides; a rank that cannot read the file fails */
    status = sg_comm_agree(t->comm, status, err);
    SG_DO(status, sg_comm_broadcast(t->comm, &lead, 1, err));
    if (status == SG_OK && lead) {
        status = present ? restore(t, data, err)
                         : sg_fail(err, SG_ERR_MISSING, "%s is not visible on this host: use a shared folder",
                                   t->options->checkpoint);
        *found = true;
    }
    sg_file_unmap(data, length);
    return sg_comm_agree(t->comm, status, err);
}

sg_status sg_train_resumable(bool *out, const char *checkpoint, const struct sg_cell *cell, const cJSON *dataset,
                             struct sg_error *err) {
    struct preamble then;
    char identity[IDENTITY_CHARS];
    *out = false;
    FILE *in;
    sg_status status = sg_file_stream(&in, checkpoint, err);
    if (status != SG_OK)
        return status == SG_ERR_MISSING ? SG_OK : status;
    const bool whole = fread(&then, sizeof then, 1, in) == 1;
    fclose(in);
    identify(identity, cell, dataset);
    *out = whole && memcmp(then.magic, magic, sizeof magic) == 0 &&
           strncmp(then.key, cell->key, sizeof then.key) == 0 &&
           (dataset ? memcmp(then.identity, identity, sizeof identity) == 0 : begins_alike(then.identity, identity));
    return SG_OK;
}
