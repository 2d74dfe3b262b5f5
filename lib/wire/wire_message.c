/* wire_message.c: header and data around what the encodings of the table write. */
/* SPDX-License-Identifier: MIT */
#include "sg_debug.h"
#include "sg_row.h"
#include "wire_fields.h"

enum {
    VERSION = 1,
    FIXED_BYTES = 3,
    NUMBER_BYTES = 10,
    ROW_MASK = 7,
    IS_SHORTER = 8
}; /* a 64-bit number takes at most 10 bytes */

extern const struct sg_wire_encoding sg_wire_raw, sg_wire_bitmap, sg_wire_delta_varint, sg_wire_rice,
    sg_wire_elias_fano;
/* Append only: a row's place is its number on the wire. */
static const void *const table[] = {
    &sg_wire_raw, &sg_wire_bitmap, &sg_wire_delta_varint, &sg_wire_rice, &sg_wire_elias_fano,
};
enum { ROWS = sizeof table / sizeof *table };
static const struct sg_rows rows = SG_ROWS(table);

const struct sg_wire_encoding *sg_wire_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_wire_encoding *sg_wire_find(const char *name) {
    return sg_row_find(&rows, name);
}

static uint8_t row_of(const struct sg_wire_encoding *encoding) {
    SG_ASSERT(encoding == sg_wire_find(encoding->name));
    uint8_t row = 0;
    while (table[row] != encoding)
        row++;
    return row;
}

/* ---- sizes ---- */

/* Empty and full sets need no bytes: header and values say it all. */
static bool trivial(uint64_t n, size_t count) {
    return count == 0 || count == n;
}

static bool is_ascending(const struct sg_wire_set *set) {
    uint32_t wrong = 0;
    for (size_t j = 1; j < set->count; j++)
        wrong |= set->index[j] <= set->index[j - 1];
    return !wrong && set->index[set->count - 1] < set->n;
}

static struct sg_wire_set positions_of(const struct sg_message *m) {
    return (struct sg_wire_set){m->n, m->count, m->index};
}

/* Least bytes among `encoding`, or all of the table for NULL. */
static uint64_t choose(struct sg_wire_plan *plan, const struct sg_wire_encoding *encoding) {
    SG_ASSERT(!encoding || encoding == sg_wire_find(encoding->name));
    const struct sg_wire_set set = positions_of(&plan->message);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < ROWS; i++) {
        const struct sg_wire_encoding *row = sg_wire_at(i);
        if (encoding && row != encoding)
            continue;
        unsigned parameter = 0;
        const uint64_t bytes = trivial(set.n, set.count) ? 0 : row->size(&set, &parameter);
        if (bytes < least) {
            plan->encoding = row;
            plan->parameter = parameter;
            least = bytes;
        }
    }
    return least;
}

/* The sizes of a message whose numbers travel in so many bytes. */
static void set_sizes(struct sg_wire_plan *plan, size_t number_bytes) {
    const struct sg_message *m = &plan->message;
    plan->number_bytes = number_bytes;
    plan->header_bytes = FIXED_BYTES + wire_number_bytes(m->n) + wire_number_bytes(m->count) +
                         wire_number_bytes(plan->index_bytes + number_bytes) +
                         (m->code->width > 0 ? 0 : wire_number_bytes(m->bytes)) +
                         (plan->shorter ? wire_number_bytes(number_bytes) : 0);
    plan->bytes = plan->header_bytes + plan->index_bytes + number_bytes;
}

void sg_wire_shorten(struct sg_wire_plan *plan) {
    if (!plan->message.code->layout || plan->message.summed || plan->message.bytes == 0)
        return;
    struct sg_wire_plan other = *plan;
    other.shorter = true;
    set_sizes(&other, (size_t)wire_fields_size(&plan->message));
    if (other.bytes < plan->bytes)
        *plan = other;
}

sg_status sg_wire_plan(struct sg_wire_plan *out, const struct sg_wire_encoding *encoding, const struct sg_message *m,
                       struct sg_error *err) {
    SG_ASSERT(m->code && (m->index || m->count == 0 || m->count == m->n));
    const struct sg_wire_set set = positions_of(m);
    if (set.n > SG_WIRE_MAX_N || set.count > set.n)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "a message of %zu entries for a vector of %llu: at most 2^32 and that many", set.count,
                       (unsigned long long)set.n);
    if (!trivial(set.n, set.count) && !is_ascending(&set))
        return sg_fail(err, SG_ERR_ARGUMENT, "indices of a message must ascend and stay below %llu",
                       (unsigned long long)set.n);
    if (m->code->width > 0 && m->bytes != m->count * m->code->width)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu entries in %zu bytes are not what %s writes", m->count, m->bytes,
                       m->code->name);
    struct sg_wire_plan plan = {.message = *m};
    plan.index_bytes = (size_t)choose(&plan, encoding);
    set_sizes(&plan, m->bytes);
    SG_ASSERT(plan.bytes <= sg_wire_bound(set.n, set.count, m->bytes));
    SG_TRACE(3, "%zu of %llu positions as %s, parameter %u: %zu + %zu bytes", set.count, (unsigned long long)set.n,
             plan.encoding->name, plan.parameter, plan.index_bytes, m->bytes);
    *out = plan;
    return SG_OK;
}

uint64_t sg_wire_bound(uint64_t n, size_t count, size_t data_bytes) {
    /* 5 bytes an index: delta-varint's longest, and above elias-fano's 35 bits and rice's 32 (b = 31 at worst) for
     * the pair of them 2 bytes of padding. */
    const uint64_t listed = 5 * (uint64_t)count + 2, mapped = wire_bytes_of_bits(n);
    return FIXED_BYTES + 4 * NUMBER_BYTES + (listed > mapped ? listed : mapped) + data_bytes;
}

/* ---- whole messages ---- */

sg_status sg_wire_encode(uint8_t *out, size_t capacity, const struct sg_wire_plan *plan, struct sg_error *err) {
    SG_ASSERT(plan->bytes == plan->header_bytes + plan->index_bytes + plan->number_bytes &&
              (plan->shorter || plan->number_bytes == plan->message.bytes));
    const struct sg_message *m = &plan->message;
    const struct sg_wire_set set = positions_of(m);
    if (capacity < plan->bytes)
        return sg_fail(err, SG_ERR_ARGUMENT, "a message of %zu bytes into %zu", plan->bytes, capacity);
    *out++ = (uint8_t)(VERSION << 4 | (m->code->number & 15));
    *out++ = (uint8_t)((m->code->number & 0xf0) | (plan->shorter ? IS_SHORTER : 0) | row_of(plan->encoding));
    *out++ = (uint8_t)plan->parameter;
    out = wire_put_number(out, set.n);
    out = wire_put_number(out, set.count);
    out = wire_put_number(out, plan->index_bytes + plan->number_bytes);
    if (m->code->width == 0)
        out = wire_put_number(out, m->bytes);
    if (plan->shorter)
        out = wire_put_number(out, plan->number_bytes);
    SG_ASSERT(trivial(set.n, set.count) == (plan->index_bytes == 0));
    if (plan->index_bytes)
        plan->encoding->encode(out, plan->index_bytes, &set, plan->parameter);
    if (!m->code->valid(m))
        return sg_fail(err, SG_ERR_NONFINITE, "a message with a value that is NaN or Inf");
    if (plan->shorter)
        wire_fields_encode(out + plan->index_bytes, plan->number_bytes, m);
    else if (m->bytes) /* no bytes may also be no pointer */
        memcpy(out + plan->index_bytes, m->data, m->bytes);
    return SG_OK;
}

/* The lower half of a code's number stands in the first byte, the upper half in the second. */
static const struct sg_code *code_of(const uint8_t *in) {
    return sg_code_of((in[0] & 15U) | (in[1] & 0xf0U));
}

sg_status sg_wire_peek(struct sg_wire_header *out, const uint8_t *in, size_t available, struct sg_error *err) {
    const uint8_t *const end = in + available, *at = in + FIXED_BYTES;
    uint64_t n, count, payload, data_bytes, number_bytes;
    if (available < FIXED_BYTES || in[0] >> 4 != VERSION || !code_of(in) || (in[1] & ROW_MASK) >= ROWS ||
        !(at = wire_get_number(&n, SG_WIRE_MAX_N, at, end)) || !(at = wire_get_number(&count, n, at, end)) ||
        !(at = wire_get_number(&payload, (uint64_t)1 << 40, at, end)))
        return sg_fail(err, SG_ERR_FORMAT, "not an encoded message, or one of another version");
    const struct sg_code *code = code_of(in);
    const bool shorter = in[1] & IS_SHORTER;
    if (code->width > 0)
        data_bytes = count * code->width;
    else if (!(at = wire_get_number(&data_bytes, shorter ? WIRE_FIELDS_MOST * payload : payload, at, end)) ||
             (count > 8 * data_bytes && code != &sg_code_factors)) /* products of rank 0 stand for any count */
        return sg_fail(err, SG_ERR_FORMAT, "an encoded message of %s with damaged sizes", code->name);
    number_bytes = data_bytes;
    if (shorter && (!code->layout || !(at = wire_get_number(&number_bytes, payload, at, end)) ||
                    data_bytes > WIRE_FIELDS_MOST * number_bytes))
        return sg_fail(err, SG_ERR_FORMAT, "an encoded message of %s with damaged sizes", code->name);
    if (payload > (uint64_t)(end - at) || payload < number_bytes)
        return sg_fail(err, SG_ERR_FORMAT, "an encoded message of %llu entries is cut off or damaged",
                       (unsigned long long)count);
    *out = (struct sg_wire_header){.encoding = sg_wire_at(in[1] & ROW_MASK),
                                   .code = code,
                                   .parameter = in[2],
                                   .n = n,
                                   .count = (size_t)count,
                                   .header_bytes = (size_t)(at - in),
                                   .index_bytes = (size_t)(payload - number_bytes),
                                   .data_bytes = (size_t)data_bytes,
                                   .number_bytes = (size_t)number_bytes,
                                   .shorter = shorter,
                                   .bytes = (size_t)(at - in) + (size_t)payload};
    SG_ASSERT(out->bytes <= available &&
              (out->count <= 8 * (out->index_bytes + out->data_bytes) || code == &sg_code_factors));
    return SG_OK;
}

static bool decode_indices(uint32_t *index, const struct sg_wire_header *h, const uint8_t *in) {
    if (!trivial(h->n, h->count))
        return h->encoding->decode(index, h->count, h->n, h->parameter, in, h->index_bytes);
    for (size_t j = 0; index && j < h->count; j++)
        index[j] = (uint32_t)j;
    return h->index_bytes == 0 && h->parameter == 0;
}

sg_status sg_wire_decode(struct sg_message *out, uint32_t *index, void *data, const struct sg_wire_header *header,
                         const uint8_t *in, struct sg_error *err) {
    SG_ASSERT(header->bytes == header->header_bytes + header->index_bytes + header->number_bytes);
    SG_ASSERT((index || header->count == header->n || header->count == 0) && (data || header->data_bytes == 0));
    in += header->header_bytes;
    if (!decode_indices(index, header, in))
        return sg_fail(err, SG_ERR_FORMAT, "the %s indices of a message of %zu entries are damaged",
                       header->encoding->name, header->count);
    *out = (struct sg_message){.code = header->code,
                               .n = (size_t)header->n,
                               .count = header->count,
                               .index = index,
                               .data = data,
                               .bytes = header->data_bytes};
    if (header->shorter && !wire_fields_decode(data, out, in + header->index_bytes, header->number_bytes))
        return sg_fail(err, SG_ERR_FORMAT, "the numbers of a message of %zu entries are damaged", header->count);
    if (!header->shorter && header->data_bytes)
        memcpy(data, in + header->index_bytes, header->data_bytes);
    if (!header->code->valid(out))
        return sg_fail(err, SG_ERR_FORMAT, "a message holds a value that is NaN or Inf");
    return SG_OK;
}
