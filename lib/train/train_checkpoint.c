/* A checkpoint is the whole state of a run between two steps, for all workers, so that it resumes under any number of
 * ranks: magic, cell key, program identity, step, sums, length of the series so far, x, optimizer state, per worker:
 * residual, task state; then the SHA-256 of all that. Random draws are named by step, so no generator state is needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_file.h"
#include "sg_version.h"
#include "train_state.h"

static const char magic[16] = "sg-checkpoint/1";

enum { HASH_DIGITS = 64 };

struct preamble {
    char magic[16];
    char key[72], identity[64];
    uint64_t step, series_bytes, d, x_bytes, optimizer_floats, workers, state_bytes, has_residual;
    struct totals totals;
};

struct sink {
    FILE *out;
    sg_sha256 hash;
};

static void put(struct sink *s, const void *data, size_t bytes) {
    if (!s->out || bytes == 0) /* no state may also be no pointer */
        return;
    fwrite(data, 1, bytes, s->out); /* a failed write shows at commit */
    sg_sha256_add(&s->hash, data, bytes);
}

static size_t state_bytes(const struct train *t) {
    return t->task_ops->state_bytes ? t->task_ops->state_bytes(t->task) : 0;
}

static struct preamble describe(const struct train *t) {
    struct preamble p = {.step = t->step,
                         .d = t->d,
                         .x_bytes = train_x_bytes(t),
                         .optimizer_floats = t->optimizer_floats,
                         .workers = t->workers,
                         .state_bytes = state_bytes(t),
                         .has_residual = t->residual[0] != NULL,
                         .totals = t->totals};
    memcpy(p.magic, magic, sizeof magic);
    snprintf(p.key, sizeof p.key, "%s", t->options->cell->key);
    snprintf(p.identity, sizeof p.identity, "%s", sg_version_identity());
    return p;
}

/* Worker by worker through rank 0, so that it never holds more than one worker's state: mine [state], incoming
 * [residual
 * + state]. */
static sg_status put_workers(struct train *t, struct sink *s, char *mine, char *incoming, struct sg_error *err) {
    size_t residual_bytes = t->residual[0] ? t->d * sizeof(float) : 0, extra = state_bytes(t);
    sg_status status = SG_OK;
    for (size_t w = 0; status == SG_OK && w < t->workers; w++) {
        bool here = w >= t->first && w < t->first + t->count;
        if (residual_bytes)
            status =
                sg_comm_collect(t->comm, w, here ? t->residual[w - t->first] : NULL, incoming, residual_bytes, err);
        if (extra && status == SG_OK) {
            if (here)
                t->task_ops->state_save(t->task, w, mine);
            status = sg_comm_collect(t->comm, w, mine, incoming + residual_bytes, extra, err);
        }
        if (status == SG_OK)
            put(s, incoming, residual_bytes + extra);
    }
    return status;
}

sg_status train_save(struct train *t, struct sg_error *err) {
    if (!t->options->checkpoint)
        return SG_OK;
    struct sg_file_writer w = {0};
    struct sink s = {0};
    struct preamble p = describe(t);
    size_t residual_bytes = p.has_residual ? t->d * sizeof(float) : 0;
    char *mine = malloc((size_t)p.state_bytes + 1), *incoming = malloc(residual_bytes + (size_t)p.state_bytes + 1);
    sg_status status = mine && incoming ? train_flush(t, err) : sg_fail_memory(err, "the checkpoint");
    if (status == SG_OK && t->options->series) {
        off_t at = ftello(t->options->series);
        p.series_bytes = at > 0 ? (uint64_t)at : 0;
        if (fsync(fileno(t->options->series)) != 0 && errno != EINVAL && errno != EROFS)
            status = sg_fail_errno(err, SG_ERR_IO, "cannot write the series");
        else
            status = sg_file_begin(&w, t->options->checkpoint, true, err);
    }
    status = sg_comm_agree(t->comm, status, err); /* from here on all ranks take part */
    if (status == SG_OK) {
        s.out = w.stream;
        sg_sha256_start(&s.hash);
        put(&s, &p, sizeof p);
        put(&s, t->task_ops->parameters(t->task), p.x_bytes);
        put(&s, t->optimizer_state, t->optimizer_floats * sizeof(float));
        status = put_workers(t, &s, mine, incoming, err);
    }
    if (status == SG_OK && w.stream) {
        char hex[65];
        sg_sha256_end(&s.hash, hex);
        fwrite(hex, 1, HASH_DIGITS, w.stream);
        status = sg_file_commit(&w, err);
    }
    sg_file_abandon(&w);
    free(mine);
    free(incoming);
    return sg_comm_agree(t->comm, status, err);
}

/* Everything is checked before anything is taken over. *ours: written by this very program; else it says nothing to it.
 */
static sg_status check(bool *ours, const struct train *t, const char *data, size_t length, struct sg_error *err) {
    const char *path = t->options->checkpoint;
    struct preamble now = describe(t), then;
    size_t per_worker = (now.has_residual ? now.d * sizeof(float) : 0) + (size_t)now.state_bytes;
    size_t expected = sizeof then + (size_t)now.x_bytes + (size_t)now.optimizer_floats * sizeof(float) +
                      (size_t)now.workers * per_worker + HASH_DIGITS;
    if (length < sizeof then + HASH_DIGITS || memcmp(data, magic, sizeof magic) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s is not a checkpoint of this program: delete it to start afresh", path);
    memcpy(&then, data, sizeof then);
    if (memcmp(then.key, now.key, sizeof now.key) != 0)
        return sg_fail(err, SG_ERR_MISMATCH,
                       "%s belongs to another recipe, method or seed: give another -o, or delete it to start afresh",
                       path);
    char hex[65];
    sg_sha256_of(data, length - HASH_DIGITS, hex);
    *ours = memcmp(then.identity, now.identity, sizeof now.identity) == 0;
    if (memcmp(hex, data + length - HASH_DIGITS, HASH_DIGITS) != 0 || (*ours && length != expected))
        return sg_fail(err, SG_ERR_FORMAT, "%s is damaged: delete it to start afresh", path);
    return SG_OK;
}

/* Back to the length it had; rank 0. */
static sg_status cut_series(const struct train *t, uint64_t bytes, struct sg_error *err) {
    FILE *series = t->options->series;
    if (!series)
        return SG_OK;
    if (fseeko(series, 0, SEEK_END) != 0 || ftello(series) < (off_t)bytes)
        return sg_fail(err, SG_ERR_MISMATCH, "the partial series is shorter than %s says: delete both to start afresh",
                       t->options->checkpoint);
    if (ftruncate(fileno(series), (off_t)bytes) != 0 || fseeko(series, (off_t)bytes, SEEK_SET) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot cut the partial series back to the checkpoint");
    return SG_OK;
}

static sg_status restore(struct train *t, const char *data, struct sg_error *err) {
    struct preamble p;
    memcpy(&p, data, sizeof p);
    const char *at = data + sizeof p;
    t->step = p.step;
    t->totals = p.totals;
    memcpy(t->task_ops->parameters(t->task), at, (size_t)p.x_bytes);
    at += p.x_bytes;
    if (t->optimizer_floats)
        memcpy(t->optimizer_state, at, t->optimizer_floats * sizeof(float));
    at += t->optimizer_floats * sizeof(float);
    for (size_t w = 0; w < t->workers; w++) {
        bool here = w >= t->first && w < t->first + t->count;
        if (p.has_residual) {
            if (here)
                memcpy(t->residual[w - t->first], at, t->d * sizeof(float));
            at += t->d * sizeof(float);
        }
        if (here && p.state_bytes)
            t->task_ops->state_load(t->task, w, at);
        at += p.state_bytes;
    }
    return cut_series(t, p.series_bytes, err);
}

sg_status train_load(struct train *t, bool *found, struct sg_error *err) {
    char *data = NULL;
    size_t length = 0;
    *found = false;
    if (!t->options->checkpoint || !t->options->resume)
        return SG_OK;
    sg_status status = sg_file_read(&data, &length, t->options->checkpoint, SIZE_MAX / 2, err);
    bool present = status == SG_OK;
    if (status == SG_ERR_MISSING)
        status = SG_OK;
    bool ours = false;
    if (present)
        status = check(&ours, t, data, length, err);
    if (present && status == SG_OK && !ours) {
        if (t->options->notice)
            t->options->notice("the checkpoint was written by another version of the program: starting afresh");
        present = false;
        status = cut_series(t, 0, err);
    }
    char lead = present; /* rank 0 decides; a rank that cannot see the file says so */
    status = sg_comm_agree(t->comm, status, err);
    if (status == SG_OK)
        status = sg_comm_broadcast(t->comm, &lead, 1, err);
    if (status == SG_OK && lead) {
        status = present ? restore(t, data, err)
                         : sg_fail(err, SG_ERR_MISSING, "%s is not visible on this host: use a shared folder",
                                   t->options->checkpoint);
        *found = true;
    }
    free(data);
    return sg_comm_agree(t->comm, status, err);
}
