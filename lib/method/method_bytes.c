/* method_bytes.c: a step of a method whose messages are exchanged as bytes, by a function of the caller. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_private.h"
#include "sg_drive.h"
#include "sg_flat.h"
#include "sg_wire.h"

/* Bytes before the message: two doubles, its cost in bits as its publication counts, and sg_method_note. */
enum { HEAD = 2 * sizeof(double) };

struct room {
    void *memory;
    size_t bytes;
};

struct sent {
    struct room room;
    const struct sg_code *code;
};

struct method_bytes {
    struct sent *sent;     /* [count] */
    const uint8_t **bytes; /* [count] what `sent` holds, for the exchange */
    size_t *size;          /* [count] */
    struct room *heard;    /* [workers] positions and numbers of the messages below */
    struct sg_message *m;  /* [workers] */
    struct sg_spent spent;
};

static bool reserve(struct room *room, size_t bytes) {
    if (bytes <= room->bytes)
        return true;
    free(room->memory);
    room->memory = malloc(bytes);
    room->bytes = room->memory != NULL ? bytes : 0;
    return room->memory != NULL;
}

void method_bytes_close(sg_method *m) {
    struct method_bytes *b = m->bytes;
    if (b == NULL)
        return;
    for (size_t w = 0; b->sent != NULL && w < m->count; w++)
        free(b->sent[w].room.memory);
    for (size_t w = 0; b->heard != NULL && w < m->shared.workers; w++)
        free(b->heard[w].memory);
    free(b->sent);
    free(b->bytes);
    free(b->size);
    free(b->heard);
    free(b->m);
    free(b);
}

sg_status method_bytes_open(sg_method *m, struct sg_error *err) {
    struct method_bytes *b = m->bytes = calloc(1, sizeof *b);
    if (b != NULL) {
        b->sent = calloc(m->count, sizeof *b->sent);
        b->bytes = calloc(m->count, sizeof *b->bytes);
        b->size = calloc(m->count, sizeof *b->size);
        b->heard = calloc(m->shared.workers, sizeof *b->heard);
        b->m = calloc(m->shared.workers, sizeof *b->m);
    }
    const bool fine =
        b != NULL && b->sent != NULL && b->bytes != NULL && b->size != NULL && b->heard != NULL && b->m != NULL;
    return fine ? SG_OK : sg_fail_memory(err, "the messages of a method");
}

/* The message of own worker w of this round, as bytes. */
static sg_status send_bytes(sg_method *m, size_t w, unsigned round, const float *g, float *e, struct sg_error *err) {
    struct method_bytes *b = m->bytes;
    struct sg_message message;
    struct sg_wire_plan plan;
    sg_status status = sg_method_send(m, m->first + w, round, g, e, NULL, &message, err);
    SG_DO(status, sg_wire_plan(&plan, NULL, &message, err));
    if (status != SG_OK)
        return status;
    struct room *to = &b->sent[w].room;
    b->sent[w].code = message.code;
    if (!reserve(to, HEAD + plan.bytes))
        return sg_fail_memory(err, "a message's bytes");
    const double head[] = {message.bits, sg_method_note(m, m->first + w)};
    memcpy(to->memory, head, HEAD);
    b->bytes[w] = to->memory;
    b->size[w] = HEAD + plan.bytes;
    return sg_wire_encode((uint8_t *)to->memory + HEAD, plan.bytes, &plan, err);
}

/* out <- the message decoded from in [bytes], which must represent n numbers; `room` has its positions and numbers. */
static sg_status decode(struct sg_message *out, struct room *room, size_t n, const uint8_t *in, size_t bytes,
                        struct sg_error *err) {
    struct sg_wire_header h;
    sg_status status = sg_wire_peek(&h, in, bytes, err);
    if (status != SG_OK)
        return status;
    if (h.bytes != bytes)
        return sg_fail(err, SG_ERR_FORMAT, "%zu bytes hold a message of %zu", bytes, h.bytes);
    if (h.n != n)
        return sg_fail(err, SG_ERR_MISMATCH, "a message for %llu numbers, where %zu are expected",
                       (unsigned long long)h.n, n);
    const size_t index_bytes = h.count < n ? h.count * sizeof(uint32_t) : 0;
    if (!reserve(room, index_bytes + h.data_bytes + 1))
        return sg_fail_memory(err, "decoding a message");
    return sg_wire_decode(out, h.count < n ? room->memory : NULL, (uint8_t *)room->memory + index_bytes, &h, in, err);
}

sg_status sg_decode(float *sum, size_t n, const uint8_t *message, size_t bytes, struct sg_error *err) {
    struct sg_message m;
    struct room room = {NULL, 0};
    const sg_status status = decode(&m, &room, n, message, bytes, err);
    if (status == SG_OK)
        sg_message_add(sum, &m, 1, &(struct sg_exec){.threads = 1});
    free(room.memory);
    return status;
}

static sg_status hear(struct method_bytes *b, size_t w, size_t n, const uint8_t *in, size_t bytes,
                      struct sg_error *err) {
    double head[2];
    if (bytes < HEAD)
        return sg_fail(err, SG_ERR_FORMAT, "%zu bytes are no message", bytes);
    memcpy(head, in, HEAD);
    if (!(head[0] >= 0 && isfinite(head[0]) && head[1] >= 0 && isfinite(head[1])))
        return sg_fail(err, SG_ERR_FORMAT, "a message that costs %g bits, with the note %g", head[0], head[1]);
    if (decode(&b->m[w], &b->heard[w], n, in + HEAD, bytes - HEAD, err) != SG_OK)
        return err->status;
    if (b->m[w].code != b->sent->code) /* all workers of a round write alike */
        return sg_fail(err, SG_ERR_MISMATCH, "a message in the code %s, where %s is expected", b->m[w].code->name,
                       b->sent->code != NULL ? b->sent->code->name : "none");
    b->spent.largest = fmax(b->spent.largest, head[1]);
    b->m[w].bits = head[0];
    return SG_OK;
}

/* ---- the hooks of a step (sg_drive.h) ---- */

struct step {
    sg_method *m;
    const float *const *g;
    float *const *e;
    float *sum;
    sg_gather *gather;
    void *of;
};

/* Bytes of all workers: those of `gather`, or the own ones where there are no others. */
static sg_status gather(const struct step *s, const uint8_t *const **all, const size_t **size, struct sg_error *err) {
    struct method_bytes *b = s->m->bytes;
    *all = b->bytes;
    *size = b->size;
    return s->gather != NULL ? s->gather(s->of, b->bytes, b->size, all, size, err) : SG_OK;
}

/* The process of worker 0 sends the result for its gradient; the bytes of other processes are ignored. */
static sg_status lead_bytes(void *of, double *square, struct sg_error *err) {
    const struct step *s = of;
    const size_t count = s->m->count, bytes = s->m->shared.layout.n_layers * sizeof *square;
    const uint8_t *const *all;
    const size_t *size;
    if (s->m->first == 0)
        sg_method_lead(s->m, s->g[0], square);
    for (size_t w = 0; w < count; w++) {
        s->m->bytes->bytes[w] = (const uint8_t *)square;
        s->m->bytes->size[w] = bytes;
    }
    if (gather(s, &all, &size, err) != SG_OK)
        return err->status;
    if (size[0] != bytes)
        return sg_fail(err, SG_ERR_FORMAT, "from worker 0: %zu bytes are no squares of %zu layers", size[0],
                       s->m->shared.layout.n_layers);
    memmove(square, all[0], bytes);
    return SG_OK;
}

static sg_status exchange_bytes(void *of, unsigned round, size_t n, const struct sg_message **heard,
                                struct sg_error *err) {
    const struct step *s = of;
    struct method_bytes *b = s->m->bytes;
    const size_t workers = s->m->shared.workers;
    const uint8_t *const *all;
    const size_t *size;
    double entries = 0, bits = 0;
    for (size_t w = 0; w < s->m->count; w++)
        if (send_bytes(s->m, w, round, round == 0 ? s->g[w] : NULL, s->e != NULL ? s->e[w] : NULL, err) != SG_OK)
            return err->status;
    if (gather(s, &all, &size, err) != SG_OK)
        return err->status;
    for (size_t w = 0; w < workers; w++) {
        if (hear(b, w, n, all[w], size[w], err) != SG_OK)
            return sg_prefix(err, "from worker %zu: ", w);
        entries += (double)b->m[w].count;
        bits += b->m[w].bits;
    }
    b->spent.entries += entries / (double)workers;
    b->spent.bits += bits / (double)workers;
    memset(s->sum, 0, n * sizeof *s->sum);
    sg_message_add_all(s->sum, n, b->m, workers, s->m->shared.kernels, &s->m->shared.exec);
    *heard = b->m;
    return SG_OK;
}

/* A second compression of the sum is a message as well, which one process would send to all. */
static void arrived_bytes(void *of) {
    const struct step *s = of;
    const double workers = (double)s->m->shared.workers;
    const struct sg_message *again = sg_method_again(s->m);
    struct sg_spent *spent = &s->m->bytes->spent;
    if (again != NULL) {
        spent->entries += (double)again->count / workers;
        spent->bits += again->bits / workers;
    }
}

static sg_status keep_bytes(void *of, struct sg_error *err) {
    const struct step *s = of;
    (void)err;
    for (size_t w = 0; w < s->m->count; w++)
        sg_method_keep(s->m, s->m->first + w, s->e != NULL ? s->e[w] : NULL, s->sum);
    return SG_OK;
}

static void spend_bytes(void *of, struct sg_spent *spent) {
    const struct step *s = of;
    *spent = s->m->bytes->spent;
}

sg_status sg_method_step(sg_method *m, uint64_t step, double gamma, const float *const *g, float *const *e, float *sum,
                         sg_gather *others, void *of, struct sg_error *err) {
    static const struct sg_drive_hooks hooks = {lead_bytes, exchange_bytes, arrived_bytes, keep_bytes, spend_bytes};
    struct step s = {m, g, e, sum, others, of};
    const struct sg_drive drive = {&m, 1, &sum, true, &hooks, &s};
    if (m->shared.exec.device != NULL || sg_method_is_local(m))
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "steps in bytes are for vectors in host memory and for workers that "
                       "share their parameters");
    if (others == NULL && m->count < m->shared.workers)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%zu of %zu workers are here, and no gather brings the messages of the others", m->count,
                       m->shared.workers);
    m->bytes->spent = (struct sg_spent){0};
    return sg_method_drive(&drive, step, gamma, err);
}
