/* method_bytes.c: a step of a method whose messages are exchanged as bytes or added up, by functions of the caller. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"
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
    struct room numbers;   /* what is added up on its way */
    struct room dealt;     /* the pointers to, and the sizes of, the messages of all parts */
    struct sg_spent spent;
    struct sg_sent own; /* of the workers of this process */
};

static bool reserve(struct room *room, size_t bytes) {
    if (bytes <= room->bytes)
        return true;
    free(room->memory);
    room->memory = malloc(bytes);
    room->bytes = room->memory ? bytes : 0;
    return room->memory != NULL;
}

void method_bytes_close(sg_method *m) {
    struct method_bytes *b = m->bytes;
    if (!b)
        return;
    for (size_t w = 0; b->sent && w < m->count; w++)
        free(b->sent[w].room.memory);
    for (size_t w = 0; b->heard && w < m->shared.workers; w++)
        free(b->heard[w].memory);
    free(b->sent);
    free(b->bytes);
    free(b->size);
    free(b->heard);
    free(b->m);
    free(b->numbers.memory);
    free(b->dealt.memory);
    free(b);
}

sg_status method_bytes_open(sg_method *m, struct sg_error *err) {
    struct method_bytes *b = m->bytes = calloc(1, sizeof *b);
    if (b) {
        b->sent = calloc(m->count, sizeof *b->sent);
        b->bytes = calloc(m->count, sizeof *b->bytes);
        b->size = calloc(m->count, sizeof *b->size);
        b->heard = calloc(m->shared.workers, sizeof *b->heard);
        b->m = calloc(m->shared.workers, sizeof *b->m);
    }
    const bool fine = b && b->sent && b->bytes && b->size && b->heard && b->m;
    return fine ? SG_OK : sg_fail_memory(err, "the messages of a method");
}

static void count_own(struct method_bytes *b, const struct sg_message *message, size_t bytes) {
    b->own.entries += (double)message->count;
    b->own.bits += message->bits;
    b->own.bytes += (double)bytes;
}

/* Writes the message of own worker w as bytes. */
static sg_status write_bytes(sg_method *m, size_t w, const struct sg_message *message, struct sg_error *err) {
    struct method_bytes *b = m->bytes;
    struct sg_wire_plan plan;
    if (sg_wire_plan(&plan, NULL, message, err) != SG_OK)
        return err->status;
    struct room *to = &b->sent[w].room;
    b->sent[w].code = message->code;
    if (!reserve(to, HEAD + plan.bytes))
        return sg_fail_memory(err, "a message's bytes");
    const double head[] = {message->bits, sg_method_note(m, m->first + w)};
    count_own(b, message, HEAD + plan.bytes);
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
                       b->sent->code ? b->sent->code->name : "none");
    b->spent.largest = fmax(b->spent.largest, head[1]);
    b->m[w].bits = head[0];
    return SG_OK;
}

/* ---- the hooks of a step (sg_drive.h) ---- */

struct step {
    sg_method *const *m; /* [parts] */
    size_t parts;
    const float *const *g; /* [parts][count] */
    float *const *e;       /* [parts][count], or NULL */
    float *const *sum;     /* [parts] */
    const struct sg_exchange *by;
};

static float *residual(const struct step *s, size_t part, size_t w) {
    return s->e ? s->e[part * s->m[part]->count + w] : NULL;
}

/* The part that this process adds up. */
static sg_method *mine(const struct step *s) {
    return s->m[s->parts > 1 ? s->by->mine : 0];
}

/* Bytes of all workers: those of `gather`, or the own ones where there are no others. */
static sg_status gather(const struct step *s, const uint8_t *const **all, const size_t **size, struct sg_error *err) {
    struct method_bytes *b = s->m[0]->bytes;
    const size_t count = s->m[0]->count, n = s->parts * count;
    *all = b->bytes;
    *size = b->size;
    if (s->parts > 1) {
        if (!reserve(&b->dealt, n * (sizeof **all + sizeof **size)))
            return sg_fail_memory(err, "the messages of all parts");
        const uint8_t **bytes = b->dealt.memory;
        size_t *sizes = (size_t *)(bytes + n);
        for (size_t i = 0; i < n; i++) {
            bytes[i] = s->m[i / count]->bytes->bytes[i % count];
            sizes[i] = s->m[i / count]->bytes->size[i % count];
        }
        *all = bytes;
        *size = sizes;
    }
    return s->by->gather ? s->by->gather(s->by->of, *all, *size, all, size, err) : SG_OK;
}

/* The process of worker 0 sends the result for its gradient; the bytes of other processes are ignored. */
static sg_status lead_bytes(void *of, double *square, struct sg_error *err) {
    const struct step *s = of;
    sg_method *m = s->m[0];
    const size_t count = m->count, bytes = m->shared.layout.n_layers * sizeof *square;
    const uint8_t *const *all;
    const size_t *size;
    if (m->first == 0)
        sg_method_lead(m, s->g[0], square);
    for (size_t w = 0; w < count; w++) {
        m->bytes->bytes[w] = (const uint8_t *)square;
        m->bytes->size[w] = bytes;
        m->bytes->own.bytes += (double)bytes;
    }
    if (gather(s, &all, &size, err) != SG_OK)
        return err->status;
    if (size[0] != bytes)
        return sg_fail(err, SG_ERR_FORMAT, "from worker 0: %zu bytes are no squares of %zu layers", size[0],
                       m->shared.layout.n_layers);
    memmove(square, all[0], bytes);
    return SG_OK;
}

static void spend(struct method_bytes *b, double entries, double bits) {
    b->spent.entries += entries;
    b->spent.bits += bits;
}

static bool is_float(const struct sg_code *code) {
    return code == &sg_code_fp32 || code == &sg_code_fp16 || code == &sg_code_bf16;
}

/* Returns whether the network may add such messages, which all workers then write alike. A controller may go by the
 * workers' notes, which no sum has. */
static bool is_added(const struct step *s, const struct sg_message *x) {
    const sg_method *m = s->m[0];
    const struct sg_rounds *rounds = m->compressor->rounds;
    const bool sums = sg_compressor_traits(m->compressor, m->param) & SG_TRAIT_SUMS || (rounds && rounds->length);
    return s->by->reduce && s->parts == 1 && sums && is_float(x->code) && (x->count == x->n || x->known) &&
           !sg_method_hears(m) && !m->controller;
}

/* numbers += those of a message. */
static void add_numbers(float *numbers, const struct sg_message *x, const struct sg_exec *exec) {
    struct sg_message all = *x;
    all.n = x->count;
    all.index = NULL;
    sg_message_add(numbers, &all, 1, exec);
}

static size_t promised(const sg_method *m, unsigned round) {
    const char *code;
    return sg_method_reduces(m, round, &code);
}

/* The sum of messages like x, the first one, is the network's. */
static sg_status add_on_the_way(const struct step *s, unsigned round, struct sg_message *x, struct sg_error *err) {
    sg_method *m = s->m[0];
    struct method_bytes *b = m->bytes;
    const bool whole = x->count == x->n;
    SG_ASSERT(promised(m, round) == 0 || promised(m, round) == x->count);
    if (!whole && !reserve(&b->numbers, x->count * sizeof(float)))
        return sg_fail_memory(err, "the numbers of a message");
    float *numbers = whole ? s->sum[0] : b->numbers.memory;
    memset(numbers, 0, x->count * sizeof *numbers);
    add_numbers(numbers, x, &m->shared.exec);
    count_own(b, x, x->bytes);
    for (size_t w = 1; w < m->count; w++) {
        const float *g = round == 0 ? s->g[w] : NULL;
        if (sg_method_send(m, m->first + w, round, g, residual(s, 0, w), NULL, x, err) != SG_OK)
            return err->status;
        add_numbers(numbers, x, &m->shared.exec);
        count_own(b, x, 0);
    }
    if (s->by->reduce(s->by->of, numbers, x->count, x->code->name, err) != SG_OK)
        return err->status;
    spend(b, (double)x->count, x->bits);
    if (whole)
        return SG_OK;
    memset(s->sum[0], 0, x->n * sizeof *numbers);
    x->code = &sg_code_fp32;
    x->data = numbers;
    x->bytes = x->count * sizeof *numbers;
    sg_message_add(s->sum[0], x, 1, &m->shared.exec);
    return SG_OK;
}

static sg_status exchange_bytes(void *of, unsigned round, size_t n, const struct sg_message **heard,
                                struct sg_error *err) {
    const struct step *s = of;
    sg_method *m = mine(s);
    struct method_bytes *b = m->bytes;
    const size_t workers = m->shared.workers, count = m->count;
    const uint8_t *const *all;
    const size_t *size;
    double entries = 0, bits = 0;
    for (size_t i = 0; i < s->parts * count; i++) {
        sg_method *part = s->m[i / count];
        struct sg_message message;
        const size_t w = i % count;
        sg_status status = sg_method_send(part, part->first + w, round, round == 0 ? s->g[i] : NULL,
                                          residual(s, i / count, w), NULL, &message, err);
        if (status == SG_OK && i == 0 && is_added(s, &message))
            return add_on_the_way(s, round, &message, err);
        SG_ASSERT(status != SG_OK || !s->by->reduce || s->parts > 1 || promised(part, round) == 0);
        SG_DO(status, write_bytes(part, w, &message, err));
        if (status != SG_OK)
            return status;
    }
    if (gather(s, &all, &size, err) != SG_OK)
        return err->status;
    n = sg_method_exchanges(m, round) ? method_round_length(m, round) : n;
    for (size_t w = 0; w < workers; w++) {
        if (hear(b, w, n, all[w], size[w], err) != SG_OK)
            return sg_prefix(err, "from worker %zu: ", w);
        entries += (double)b->m[w].count;
        bits += b->m[w].bits;
    }
    spend(b, entries / (double)workers, bits / (double)workers);
    float *sum = s->sum[s->parts > 1 ? s->by->mine : 0];
    memset(sum, 0, n * sizeof *sum);
    sg_message_add_all(sum, n, b->m, workers, m->shared.kernels, &m->shared.exec);
    *heard = b->m;
    return s->parts > 1 ? s->by->spread(s->by->of, s->sum, err) : SG_OK;
}

/* A second compression of the sum is a message as well, which one process would send to all. */
static void arrived_bytes(void *of) {
    const struct step *s = of;
    const double workers = (double)s->m[0]->shared.workers;
    const struct sg_message *again = sg_method_again(s->m[0]);
    if (again)
        spend(mine(s)->bytes, (double)again->count / workers, again->bits / workers);
}

static sg_status keep_bytes(void *of, struct sg_error *err) {
    const struct step *s = of;
    (void)err;
    for (size_t p = 0; p < s->parts; p++)
        for (size_t w = 0; w < s->m[p]->count; w++)
            sg_method_keep(s->m[p], s->m[p]->first + w, residual(s, p, w), s->sum[p]);
    return SG_OK;
}

static void spend_bytes(void *of, struct sg_spent *spent) {
    *spent = mine(of)->bytes->spent;
}

bool sg_method_is_by_layer(const sg_method *m) {
    return !m->controller && !m->shared.feedback.rule->measure;
}

bool sg_method_reads_sum(const sg_method *m) {
    return m->shared.feedback.rule == &sg_feedback_gradient && m->shared.feedback.decay == 1 && !m->controller;
}

size_t sg_method_reduces(const sg_method *m, unsigned call, const char **code) {
    const struct sg_rounds *rounds = m->compressor->rounds;
    const unsigned traits = sg_compressor_traits(m->compressor, m->param), dense = SG_TRAIT_DENSE | SG_TRAIT_SUMS;
    const struct sg_code *own = rounds ? &sg_code_fp32 : m->compressor->code ? m->compressor->code : m->shared.code;
    const bool known = rounds ? rounds->fixed : (traits & dense) == dense && is_float(own);
    *code = own->name;
    if (!known || !sg_method_is_by_layer(m) || sg_method_is_local(m) || m->shared.feedback.rule->resets)
        return 0;
    return call < (rounds ? rounds->count : 1) ? method_round_length(m, call) : 0;
}

bool sg_method_may_share(const sg_method *m) {
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    return m->compressor->code && !(sg_compressor_traits(m->compressor, m->param) & SG_TRAIT_SUMS) &&
           !m->compressor->rounds && sg_method_is_by_layer(m) && !rule->resets && !rule->result;
}

sg_status sg_method_step_with(sg_method *const *part, size_t parts, uint64_t step, double gamma, const float *const *g,
                              float *const *e, float *const *sum, const struct sg_exchange *by, struct sg_error *err) {
    static const struct sg_drive_hooks hooks = {lead_bytes, exchange_bytes, arrived_bytes, keep_bytes, spend_bytes};
    struct step s = {part, parts, g, e, sum, by};
    const struct sg_drive drive = {part, parts, sum, true, &hooks, &s};
    if (by->size != sizeof *by)
        return sg_fail(err, SG_ERR_ARGUMENT, "an exchange of %zu bytes, where this version's has %zu", by->size,
                       sizeof *by);
    if (parts < 1 || (parts > 1 && (!by->gather || !by->spread || by->mine >= parts)))
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu parts need a gather, a spread and the number of the own part", parts);
    for (size_t p = 0; p < parts; p++) {
        const sg_method *m = part[p];
        if (m->shared.exec.device || sg_method_is_local(m))
            return sg_fail(err, SG_ERR_UNSUPPORTED,
                           "steps in bytes are for vectors in host memory and for workers that "
                           "share their parameters");
        if (!by->gather && m->count < m->shared.workers)
            return sg_fail(err, SG_ERR_ARGUMENT,
                           "%zu of %zu workers are here, and no gather brings the messages of the others", m->count,
                           m->shared.workers);
        if (parts > 1 && (!sg_method_may_share(m) || m->count != part[0]->count))
            return sg_fail(err, SG_ERR_UNSUPPORTED, "messages of %s are not added in parts", m->compressor->name);
        for (size_t w = 0; w < m->count; w++)
            if (!g[p * m->count + w])
                return sg_fail(err, SG_ERR_ARGUMENT, "worker %zu has no gradient", m->first + w);
        m->bytes->spent = (struct sg_spent){0};
        m->bytes->own = (struct sg_sent){0};
        part[p]->shared.exec.threads = flat_threads(m->shared.exec.threads);
    }
    return sg_method_drive(&drive, step, gamma, err);
}

void sg_method_sent(const sg_method *m, struct sg_sent *out) {
    *out = m->bytes->own;
}

sg_status sg_method_step(sg_method *m, uint64_t step, double gamma, const float *const *g, float *const *e, float *sum,
                         sg_gather *others, void *of, struct sg_error *err) {
    const struct sg_exchange by = {.size = sizeof by, .gather = others, .of = of};
    return sg_method_step_with(&m, 1, step, gamma, g, e, &sum, &by, err);
}
