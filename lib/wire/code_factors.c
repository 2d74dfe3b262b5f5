/* code_factors.c: matrices as sums of a few products of a column and a row, each layer with a rank of its own; what is
 * no matrix is written as floats.
 *
 *     bytes 0 .. 3       parts
 *     12 bytes a part    how many numbers it has, its rows (0: it is no matrix), its rank r
 *     each part          no matrix: its numbers, 4 bytes each; else r columns of as many floats as it has rows, and
 *     then
 *                        r rows of as many floats as it has columns
 *
 * Number j of a matrix of c columns is the sum over its products i, in this order and in double, of element j / c of
 * column i times element j % c of row i, rounded to a float. All integers and floats are little-endian. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "sg_debug.h"
#include "sg_half.h"
#include "sg_wire_bits.h"

enum { HEAD = 4, PART_HEAD = 12 };

/* One part, where it lies in `data`. */
struct part {
    size_t first, count, rows, columns, rank;
    const uint8_t *at, *end;
};

static size_t floats_of(size_t count, size_t rows, size_t rank) {
    return rows == 0 ? count : rank * (rows + count / rows);
}

static struct part next_part(const uint8_t *data, size_t parts, size_t i, const struct part *before) {
    const uint8_t *head = data + HEAD + PART_HEAD * i;
    struct part p = {.first = before->first + before->count,
                     .count = wire_load32(head),
                     .rows = wire_load32(head + 4),
                     .rank = wire_load32(head + 8),
                     .at = i > 0 ? before->end : data + HEAD + PART_HEAD * parts};
    p.columns = p.rows > 0 ? p.count / p.rows : 0;
    p.end = p.at + 4 * floats_of(p.count, p.rows, p.rank);
    return p;
}

static float float_at(const uint8_t *at, size_t i) {
    return sg_float_of_bits(wire_load32(at + 4 * i));
}

/* ---- writing ---- */

static size_t most_bytes(const struct sg_numbers *n) {
    return HEAD + PART_HEAD * n->parts + 4 * n->count;
}

size_t sg_factors_encode(void *to, const struct sg_factors *part, size_t parts, double *bits) {
    uint8_t *data = to, *end = data + HEAD + PART_HEAD * parts;
    wire_store32(data, (uint32_t)parts);
    *bits = 0;
    for (size_t i = 0; i < parts; i++) {
        uint8_t *head = data + HEAD + PART_HEAD * i;
        const size_t floats = floats_of(part[i].count, part[i].rows, part[i].rank);
        SG_ASSERT((part[i].rows == 0 || part[i].count % part[i].rows == 0) && sg_all_finite(part[i].value, floats));
        wire_store32(head, (uint32_t)part[i].count);
        wire_store32(head + 4, (uint32_t)part[i].rows);
        wire_store32(head + 8, (uint32_t)part[i].rank);
        for (size_t j = 0; j < floats; j++, end += 4)
            wire_store32(end, sg_float_bits(part[i].value[j]));
        *bits += 32.0 * (double)floats + (part[i].rows > 0 ? 8 : 0); /* and the rank */
    }
    return (size_t)(end - data);
}

/* Numbers that nobody calls a matrix are written as they are. */
static size_t encode_factors(void *to, const struct sg_numbers *n, double *bits) {
    uint8_t *data = to, *end = data + HEAD + PART_HEAD * n->parts;
    wire_store32(data, (uint32_t)n->parts);
    for (size_t i = 0; i < n->parts; i++) {
        wire_store32(data + HEAD + PART_HEAD * i, (uint32_t)n->part[i]);
        wire_store32(data + HEAD + PART_HEAD * i + 4, 0);
        wire_store32(data + HEAD + PART_HEAD * i + 8, 0);
    }
    for (size_t j = 0; j < n->count; j++, end += 4)
        wire_store32(end, sg_float_bits(n->value[j]));
    *bits = 32.0 * (double)n->count;
    return (size_t)(end - data);
}

/* ---- reading ---- */

static float number_at(const struct part *p, size_t j) {
    const uint8_t *columns = p->at, *rows = p->at + 4 * p->rank * p->rows;
    double sum = 0;
    if (p->rows == 0)
        return float_at(p->at, j);
    for (size_t i = 0; i < p->rank; i++)
        sum += (double)float_at(columns, i * p->rows + j / p->columns) *
               (double)float_at(rows, i * p->columns + j % p->columns);
    return (float)sum;
}

static void decode_factors(float *out, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    const size_t parts = wire_load32(data), end = first + count;
    struct part p = {0};
    SG_ASSERT(end <= m->count);
    for (size_t i = 0; i < parts && p.first + p.count < end; i++) {
        p = next_part(data, parts, i, &p);
        const size_t from = first > p.first ? first : p.first, to = end < p.first + p.count ? end : p.first + p.count;
        for (size_t j = from; j < to; j++)
            out[j - first] = number_at(&p, j - p.first);
    }
}

/* Every number is finite, and so is every sum. */
static bool valid_part(const struct part *p) {
    const size_t floats = floats_of(p->count, p->rows, p->rank);
    double most = 0;
    uint32_t wrong = 0;
    for (size_t j = 0; j < floats; j++)
        wrong |= (wire_load32(p->at + 4 * j) & 0x7f800000) == 0x7f800000;
    for (size_t i = 0; i < p->rank && !wrong; i++) {
        double column = 0, row = 0;
        for (size_t j = 0; j < p->rows; j++)
            column = fmax(column, fabs((double)float_at(p->at, i * p->rows + j)));
        for (size_t j = 0; j < p->columns; j++)
            row = fmax(row, fabs((double)float_at(p->at + 4 * p->rank * p->rows, i * p->columns + j)));
        most += column * row;
    }
    return !wrong && most <= (double)FLT_MAX;
}

static bool valid_factors(const struct sg_message *m) {
    const uint8_t *data = m->data;
    const size_t parts = m->bytes >= HEAD ? wire_load32(data) : 0;
    struct part p = {0};
    if (m->bytes < HEAD || parts > (m->bytes - HEAD) / PART_HEAD)
        return false;
    p.end = data + HEAD + PART_HEAD * parts;
    for (size_t i = 0; i < parts; i++) {
        const size_t left = m->bytes - (size_t)(p.end - data);
        const uint8_t *head = data + HEAD + PART_HEAD * i;
        const uint64_t count = wire_load32(head), rows = wire_load32(head + 4), rank = wire_load32(head + 8);
        const bool fits = rows == 0 ? rank == 0 : count % rows == 0 && rank <= rows && rank <= count / rows;
        if (!fits || count > m->count - p.first - p.count || floats_of(count, rows, rank) > left / 4)
            return false;
        p = next_part(data, parts, i, &p);
        if (!valid_part(&p))
            return false;
    }
    return p.first + p.count == m->count && p.end == data + m->bytes;
}

const struct sg_code sg_code_factors = {
    .name = "factors",
    .summary = "a layer's matrix as a sum of columns times rows, else floats",
    .number = 65,
    .most_bytes = most_bytes,
    .encode = encode_factors,
    .decode = decode_factors,
    .valid = valid_factors,
};
