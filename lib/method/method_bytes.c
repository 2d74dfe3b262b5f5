/* method_bytes.c: a step of a method whose messages travel as bytes, in the caller's own exchange. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_private.h"
#include "sg_flat.h"
#include "sg_wire.h"

/* What stands before the message: what it costs as its publication counts, and what sg_method_note says. */
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
    struct sent *sent;    /* [count] */
    struct room *heard;   /* [workers] positions and numbers of the messages below */
    struct sg_message *m; /* [workers] */
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
    free(b->heard);
    free(b->m);
    free(b);
}

sg_status method_bytes_open(sg_method *m, struct sg_error *err) {
    struct method_bytes *b = m->bytes = calloc(1, sizeof *b);
    if (b != NULL) {
        b->sent = calloc(m->count, sizeof *b->sent);
        b->heard = calloc(m->shared.workers, sizeof *b->heard);
        b->m = calloc(m->shared.workers, sizeof *b->m);
    }
    return b != NULL && b->sent != NULL && b->heard != NULL && b->m != NULL
               ? SG_OK
               : sg_fail_memory(err, "the messages of a method");
}

sg_status sg_method_send_bytes(sg_method *m, size_t worker, unsigned round, const float *g, float *e,
                               const uint8_t **bytes, size_t *size, struct sg_error *err) {
    struct sg_message message;
    struct sg_wire_plan plan;
    if (m->shared.exec.device != NULL || sg_method_is_local(m))
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "steps in bytes are for vectors in host memory and for workers that "
                       "share their parameters");
    sg_status status = sg_method_send(m, worker, round, g, e, NULL, &message, err);
    SG_DO(status, sg_wire_plan(&plan, NULL, &message, err));
    if (status != SG_OK)
        return status;
    struct sent *sent = &m->bytes->sent[worker - m->first];
    struct room *to = &sent->room;
    sent->code = message.code;
    if (!reserve(to, HEAD + plan.bytes))
        return sg_fail_memory(err, "a message's bytes");
    const double head[] = {message.bits, sg_method_note(m, worker)};
    memcpy(to->memory, head, HEAD);
    status = sg_wire_encode((uint8_t *)to->memory + HEAD, plan.bytes, &plan, err);
    if (status != SG_OK)
        return status;
    *bytes = to->memory;
    *size = HEAD + plan.bytes;
    return SG_OK;
}

/* out <- the message in [bytes], which stands for n numbers; its positions and numbers lie in the room. */
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

sg_status sg_method_receive_bytes(sg_method *m, unsigned round, const uint8_t *const *bytes, const size_t *size,
                                  float *sum, struct sg_error *err) {
    const size_t n = sg_method_length(m, round), workers = m->shared.workers;
    struct method_bytes *b = m->bytes;
    double entries = 0, bits = 0;
    if (round == 0)
        b->spent = (struct sg_spent){0};
    for (size_t w = 0; w < workers; w++) {
        if (hear(b, w, n, bytes[w], size[w], err) != SG_OK)
            return sg_prefix(err, "from worker %zu: ", w);
        entries += (double)b->m[w].count;
        bits += b->m[w].bits;
    }
    b->spent.entries += entries / (double)workers;
    b->spent.bits += bits / (double)workers;
    memset(sum, 0, n * sizeof *sum);
    sg_message_add_all(sum, n, b->m, workers, m->shared.kernels, &m->shared.exec);
    if (sg_method_hears(m))
        sg_method_hear(m, b->m);
    sg_method_receive(m, round, sum);
    const struct sg_message *again = sg_method_again(m);
    if (again != NULL) {
        b->spent.entries += (double)again->count / (double)workers;
        b->spent.bits += again->bits / (double)workers;
    }
    return SG_OK;
}

void sg_method_end_bytes(sg_method *m, float *sum) {
    sg_method_end(m, sum, &m->bytes->spent);
}
