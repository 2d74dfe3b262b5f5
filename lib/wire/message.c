/* message.c: the table of codes, and adding what a message stands for. */
/* SPDX-License-Identifier: MIT */
#include "sg_message.h"

#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_device_codes.h"
#include "sg_row.h"
#include "sg_wire_buckets.h"

#define ROW(name) &name
static const void *const table[] = {SG_CODES(ROW)};
static struct sg_rows rows = SG_ROWS(table);

/* Numbers that messages keep for codes of these names, which a build may lack. */
static const struct {
    const char *name;
    uint8_t number;
} kept[] = {
    {"natural", 32},         {"natural-8", 33},  {"8bit", 35}, {"int-block", 37}, {"minmax", 38}, {"eden", 39},
    {"sketch-quantile", 40}, {"inceptionn", 41}, {"fp8", 42},  {"mxfp8", 43},     {"nvfp4", 44},  {"least", 64}};

#ifdef SG_ZOO /* that this table names the function brings the codes of lib/zoo out of their archive */
__attribute__((constructor)) static void add_zoo(void) {
    sg_zoo_register_codes();
}
#endif

enum { WORTH_ENTRIES = 1 << 14 }; /* from here on a second thread saves more than it costs */
enum { BATCH = 64, LARGE_PIECE = 1 << 18 };

const struct sg_code *sg_code_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_code *sg_code_of(unsigned number) {
    const struct sg_code *code;
    for (size_t i = 0; (code = sg_code_at(i)) != NULL; i++)
        if (code->number == number)
            return code;
    return NULL;
}

const struct sg_code *sg_code_find(const char *name) {
    return sg_row_find(&rows, name);
}

static bool may_have(const struct sg_code *code) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(kept[i].name, code->name) == 0)
            return code->number == kept[i].number;
    return code->number >= SG_CODE_ADDED_FIRST && code->number <= SG_CODE_ADDED_LAST;
}

sg_status sg_code_add(const struct sg_code *code, struct sg_error *err) {
    const struct sg_row row = {"code", code->name, code->summary, code->params, code->n_params};
    const sg_status status = sg_row_check(&rows, &row, err);
    if (status != SG_OK)
        return status;
    if (!may_have(code) || sg_code_of(code->number))
        return sg_fail(err, SG_ERR_ARGUMENT, "code '%s': its number %d is %s: choose another from %d to %d", code->name,
                       code->number, sg_code_of(code->number) ? "taken" : "out of range", SG_CODE_ADDED_FIRST,
                       SG_CODE_ADDED_LAST);
    if (!code->most_bytes || !code->encode || !code->decode || !code->valid)
        return sg_fail(err, SG_ERR_ARGUMENT, "code '%s' lacks the function '%s'", code->name,
                       !code->most_bytes ? "most_bytes"
                       : !code->encode   ? "encode"
                       : !code->decode   ? "decode"
                                         : "valid");
    return sg_row_add(&rows, code, row.what, err);
}

bool sg_code_on_gpu(const struct sg_code *code) {
    return code->encode_on_gpu != NULL;
}

const float *sg_message_values(const struct sg_message *m, float *room, const struct sg_kernels *kernels,
                               const struct sg_exec *exec) {
    SG_ASSERT(m->count <= m->n && (m->index || m->count == m->n));
    SG_ASSERT(m->code == &sg_code_fp32 || room || m->count == 0);
    if (m->code == &sg_code_fp32)
        return m->data;
    sg_message_read(&(struct sg_sink){.kind = SG_SINK_STORE, .to = room}, m, kernels, exec);
    return room;
}

/* The first j with index[j] >= at; count if there is none. */
static size_t first_at_least(const uint32_t *index, size_t count, size_t at) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (index[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What of the message lies in the elements begin .. end-1. */
static void add_range(float *to, const struct sg_message *m, float weight, size_t begin, size_t end) {
    SG_ASSERT(begin <= end && end <= m->n && (m->index || m->count == m->n || m->count == 0));
    SG_ASSERT((uintptr_t)m->data % sizeof(float) == 0 && (!m->index || sg_ascending_below(m->index, m->count, m->n)));
    float piece[SG_MESSAGE_PIECE];
    if (m->count == 0) /* such a message may have no positions */
        return;
    const size_t first = m->index ? first_at_least(m->index, m->count, begin) : begin;
    const size_t last = m->index ? first_at_least(m->index, m->count, end) : end;
    for (size_t at = first, count; at < last; at += count) {
        count = last - at < SG_MESSAGE_PIECE ? last - at : SG_MESSAGE_PIECE;
        m->code->decode(piece, m, at, count);
        if (m->index)
            for (size_t j = 0; j < count; j++)
                to[m->index[at + j]] += weight * piece[j];
        else
            for (size_t j = 0; j < count; j++)
                to[at + j] += weight * piece[j];
    }
}

static void add_shared(float *to, size_t begin, size_t end, const struct sg_message *messages, size_t count,
                       float weight, const struct sg_exec *exec) {
    SG_ASSERT(exec->threads >= 1 && !exec->device);
    const size_t n = end - begin;
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += messages[i].count;
    const size_t ranges = exec->threads > 1 && total >= WORTH_ENTRIES ? 4 * (size_t)exec->threads : 1;
#pragma omp parallel for schedule(dynamic) num_threads(exec->threads) if (ranges > 1)
    for (size_t r = 0; r < ranges; r++)
        for (size_t i = 0; i < count; i++)
            add_range(to, &messages[i], weight, begin + n / ranges * r,
                      r + 1 < ranges ? begin + n / ranges * (r + 1) : end);
}

void sg_message_add(float *to, const struct sg_message *m, float weight, const struct sg_exec *exec) {
    add_shared(to, 0, m->n, m, 1, weight, exec);
}

static void keep_rounding(const struct sg_sink *to, const struct sg_message *m) {
    float piece[SG_MESSAGE_PIECE];
    for (size_t at = 0, count; at < m->count; at += count) {
        count = m->count - at < SG_MESSAGE_PIECE ? m->count - at : SG_MESSAGE_PIECE;
        m->code->decode(piece, m, at, count);
        for (size_t j = at; j < at + count; j++)
            to->to[to->index ? to->index[j] : j] += to->value[j] - piece[j - at];
    }
}

void sg_message_read(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                     const struct sg_exec *exec) {
    SG_ASSERT(to->index == (to->kind == SG_SINK_STORE ? NULL : m->index));
    if (m->count == 0)
        return;
    if (exec->device)
        m->code->read_on_gpu(to, m, kernels, exec);
    else if (to->kind == SG_SINK_STORE)
        m->code->decode(to->to, m, 0, m->count);
    else if (to->kind == SG_SINK_DIFFERENCE)
        keep_rounding(to, m);
    else
        sg_message_add(to->to, m, to->weight, exec);
}

static void add_floats(float *to, size_t n, const struct sg_message *messages, size_t count,
                       const struct sg_kernels *kernels, const struct sg_exec *exec) {
    struct sg_entries batch[BATCH];
    for (size_t i = 0, now; i < count; i += now) {
        now = count - i < BATCH ? count - i : BATCH;
        for (size_t j = 0; j < now; j++)
            batch[j] = (struct sg_entries){messages[i + j].index, messages[i + j].data, messages[i + j].count};
        kernels->add_messages(exec, to, n, batch, now);
    }
}

/* Host messages of another code onto a GPU: decoded part by part, and sent there as floats. A part is small only where
 * there is no memory for a large one. */
static void add_decoded(float *to, size_t n, const struct sg_message *m, const struct sg_kernels *kernels,
                        const struct sg_exec *exec) {
    float small[SG_MESSAGE_PIECE], *large = malloc(LARGE_PIECE * sizeof *large), *part = large ? large : small;
    const size_t most = large ? LARGE_PIECE : SG_MESSAGE_PIECE;
    for (size_t at = 0, count; at < m->count; at += count) {
        count = m->count - at < most ? m->count - at : most;
        m->code->decode(part, m, at, count);
        const struct sg_entries entries = {m->index ? m->index + at : NULL, part, count};
        kernels->add_messages(exec, m->index ? to : to + at, m->index ? n : count, &entries, 1);
    }
    free(large);
}

void sg_message_add_all(float *to, size_t n, const struct sg_message *messages, size_t count,
                        const struct sg_kernels *kernels, const struct sg_exec *exec) {
    for (size_t i = 0, same; i < count; i += same) { /* runs of one kind, in order */
        const bool floats = messages[i].code == &sg_code_fp32;
        for (same = 1; i + same < count && (messages[i + same].code == &sg_code_fp32) == floats;)
            same++;
        if (floats)
            add_floats(to, n, messages + i, same, kernels, exec);
        else if (!exec->device)
            add_shared(to, 0, n, messages + i, same, 1, exec);
        else
            for (size_t j = 0; j < same; j++)
                add_decoded(to, n, &messages[i + j], kernels, exec);
    }
}

void sg_message_add_slice(float *to, size_t begin, size_t end, const struct sg_message *messages, size_t count,
                          const struct sg_exec *exec) {
    add_shared(to, begin, end, messages, count, 1, exec);
}
