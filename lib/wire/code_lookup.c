/* code_lookup.c: numbers of two bits, which name one of four values that a part (layer) has: as SparseLoCo sends them
 * (Sarfi et al., 2025).
 *
 * With the mean m of a part's numbers and their standard deviation sigma (divisor n - 1), a number x has the code
 * rint((x - m) / (1.5 sigma)) + 2, at least 0 and at most 3; all have 2 if sigma is 0. The value of a code is the mean of
 * the numbers that have it, 0 if there are none. So a number may be read back with the other sign.
 *
 *     bytes 0 .. 3      parts
 *     20 bytes a part   how many numbers it has, and its four values, finite floats
 *     ceil(count / 4)   the codes of all numbers, number j in bits 2 (j % 4) and above of byte j / 4; padded with zeros
 *
 * All integers are little-endian. Sums are in double, in the order of the numbers. The publication counts 2 bits a number,
 * and 160 a part: m and four values around it. */
#include <math.h>

#include "sg_debug.h"
#include "sg_half.h"
#include "wire_private.h"

enum { HEAD = 4, VALUES = 4, PART = 4 + 4 * VALUES, PER_BYTE = 4 };

static size_t most_bytes(const struct sg_numbers *n) {
    return HEAD + PART * n->parts + (n->count + PER_BYTE - 1) / PER_BYTE;
}

static void standardize(const float *x, size_t n, double *mean, double *step) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *step = n > 1 ? 1.5 * sqrt(squares / (double)(n - 1)) : 0;
}

/* Writes the codes of n >= 1 numbers, of which the first is number `at` of the message, and the values of the part. */
static void write_part(uint8_t *codes, uint8_t *values, const float *x, size_t n, size_t at) {
    double mean, step, sum[VALUES] = {0};
    size_t count[VALUES] = {0};
    standardize(x, n, &mean, &step);
    for (size_t i = 0; i < n; i++) {
        const double level = step > 0 ? rint(((double)x[i] - mean) / step) + 2 : 2;
        const unsigned code = level < 0 ? 0 : level > 3 ? 3 : (unsigned)level;
        codes[(at + i) / PER_BYTE] |= (uint8_t)(code << 2 * ((at + i) % PER_BYTE));
        sum[code] += (double)x[i];
        count[code]++;
    }
    for (size_t c = 0; c < VALUES; c++)
        wire_store32(values + 4 * c, sg_float_bits(count[c] > 0 ? (float)(sum[c] / (double)count[c]) : 0));
}

static size_t encode_lookup(void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && sg_all_finite(n->value, n->count)));
    uint8_t *data = to, *codes = data + HEAD + PART * n->parts;
    const size_t bytes = (n->count + PER_BYTE - 1) / PER_BYTE;
    size_t at = 0;
    memset(data, 0, HEAD + PART * n->parts + bytes);
    wire_store32(data, (uint32_t)n->parts);
    *bits = 2 * (double)n->count;
    for (size_t i = 0; i < n->parts; at += n->part[i++]) {
        wire_store32(data + HEAD + PART * i, (uint32_t)n->part[i]);
        if (n->part[i] == 0)
            continue;
        write_part(codes, data + HEAD + PART * i + 4, n->value + at, n->part[i], at);
        *bits += 160;
    }
    SG_ASSERT(at == n->count);
    return HEAD + PART * n->parts + bytes;
}

static unsigned code_at(const uint8_t *codes, size_t j) {
    return codes[j / PER_BYTE] >> 2 * (j % PER_BYTE) & 3;
}

static void decode_lookup(float *out, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    SG_ASSERT(first + count <= m->count);
    const size_t parts = wire_load32(data), end = first + count;
    const uint8_t *codes = data + HEAD + PART * parts;
    for (size_t i = 0, at = 0; i < parts && at < end; i++) {
        const uint8_t *part = data + HEAD + PART * i;
        const size_t past = at + wire_load32(part);
        float value[VALUES];
        for (size_t c = 0; c < VALUES; c++)
            value[c] = sg_float_of_bits(wire_load32(part + 4 + 4 * c));
        for (size_t j = at > first ? at : first; j < past && j < end; j++)
            out[j - first] = value[code_at(codes, j)];
        at = past;
    }
}

static bool valid_lookup(const struct sg_message *m) {
    const uint8_t *data = m->data;
    const size_t code_bytes = (m->count + PER_BYTE - 1) / PER_BYTE;
    if (m->bytes < HEAD + code_bytes || (m->bytes - HEAD - code_bytes) / PART != wire_load32(data) ||
        (m->bytes - HEAD - code_bytes) % PART > 0)
        return false;
    const size_t parts = wire_load32(data);
    uint64_t count = 0;
    bool wrong = false;
    for (size_t i = 0; i < parts; i++) {
        count += wire_load32(data + HEAD + PART * i);
        for (size_t c = 1; c <= VALUES; c++)
            wrong |= !isfinite(sg_float_of_bits(wire_load32(data + HEAD + PART * i + 4 * c)));
    }
    if (m->count % PER_BYTE > 0)
        wrong |= data[m->bytes - 1] >> 2 * (m->count % PER_BYTE) != 0;
    return count == m->count && !wrong;
}

const struct sg_code sg_code_lookup = {
    .name = "lookup",
    .summary = "two bits a number, which name one of four values of a layer: the means of their numbers (SparseLoCo)",
    .number = 80,
    .most_bytes = most_bytes,
    .encode = encode_lookup,
    .decode = decode_lookup,
    .valid = valid_lookup,
};
