/* code_signs.c: codes of one or two bits a number: every part (layer) has a value for each pattern of these bits, which
 * is read back for the numbers that have it.
 *
 * The bit of a number is 1 if the number is below 0. What the two values of a part are is what the codes differ in:
 *
 *     signs         +m and -m, m the mean magnitude of the part's numbers
 *     signs-rms     +m and -m, m the root of the mean of their squares
 *     signs-fixed   +m and -m, m a parameter
 *     two-means     the mean of the numbers >= 0, and that of the numbers below 0; 0 where there are none
 *
 * Two bits a number, as SparseLoCo sends them (Sarfi et al., 2025), are the code `lookup`. With the mean m of a part's
 * numbers and their standard deviation sigma (divisor n - 1), a number x has the bits rint((x - m) / (1.5 sigma)) + 2,
 * at least 0 and at most 3; all have 2 if sigma is 0. The value is the mean of the numbers that have these bits, 0 if
 * there are none. So a number may be read back with the other sign. The publication counts 2 bits a number, and 160 a
 * part: m and four values around it.
 *
 *     bytes 0 .. 3             parts
 *     4 + 4 2^w bytes a part   how many numbers it has; the value of each pattern of w bits, finite floats
 *     ceil(count w / 8)        the bits of all numbers, from bit w j % 8 of byte w j / 8 on; padded with zeros
 *
 * All integers are little-endian. Means are sums in double, rounded once to a float: those of one bit in the order of
 * sg_kernels.h, those of two in the order of the numbers. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sg_codes.h"
#include "sg_debug.h"
#include "sg_device_codes.h"
#include "sg_half.h"
#include "sg_wire_bits.h"

enum { HEAD = 4, BLOCK = SG_KERNEL_BLOCK, GROUP = 256, STRETCH = 1 << 15 };

/* ---- the layout of w bits a number ---- */

static size_t part_bytes(unsigned w) {
    return 4 + ((size_t)4 << w);
}

/* Where the bits of the numbers begin, and where they end. */
static size_t bits_at(size_t parts, unsigned w) {
    return HEAD + part_bytes(w) * parts;
}

static size_t bytes_of(size_t parts, size_t count, unsigned w) {
    return bits_at(parts, w) + wire_bytes_of_bits((uint64_t)w * count);
}

static void put_part(uint8_t *data, size_t number, size_t count, const float *value, unsigned w) {
    uint8_t *head = data + bits_at(number, w);
    wire_store32(head, (uint32_t)count);
    for (size_t v = 0; v < (size_t)1 << w; v++)
        wire_store32(head + 4 + 4 * v, sg_float_bits(value[v]));
}

static unsigned width_of(const struct sg_message *m) {
    return m->code == &sg_code_lookup ? 2 : 1;
}

static void decode(float *out, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    const unsigned w = width_of(m);
    const size_t parts = wire_load32(data), end = first + count;
    const uint8_t *packed = data + bits_at(parts, w);
    const struct sg_code_kernels *kernels = sg_kernels_cpu(NULL)->loops;
    SG_ASSERT(end <= m->count);
    for (size_t i = 0, begin = 0, of; i < parts && begin < end; i++, begin += of) {
        const uint8_t *head = data + bits_at(i, w);
        float value[4] = {0};
        for (size_t v = 0; v < (size_t)1 << w; v++)
            value[v] = sg_float_of_bits(wire_load32(head + 4 + 4 * v));
        of = wire_load32(head);
        const size_t from = first > begin ? first : begin, to = end < begin + of ? end : begin + of;
        if (from < to && w == 1)
            kernels->unpack_signs(out + (from - first), packed, from, to - from, value);
        for (size_t j = from; j < to && w == 2; j++)
            out[j - first] = value[packed[j / 4] >> 2 * (j % 4) & 3];
    }
}

static size_t cut(void *to, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    const unsigned w = width_of(m);
    const size_t end = first + count, all = wire_load32(data);
    uint8_t *out = to;
    size_t parts = 0;
    for (size_t i = 0, begin = 0, of; i < all && begin < end; i++, begin += of) {
        of = wire_load32(data + bits_at(i, w));
        const size_t from = first > begin ? first : begin, until = end < begin + of ? end : begin + of;
        if (from >= until)
            continue;
        memcpy(out + bits_at(parts, w), data + bits_at(i, w), part_bytes(w));
        wire_store32(out + bits_at(parts++, w), (uint32_t)(until - from));
    }
    wire_store32(out, (uint32_t)parts);
    memcpy(out + bits_at(parts, w), data + bits_at(all, w) + w * first / 8, wire_bytes_of_bits((uint64_t)w * count));
    return bytes_of(parts, count, w);
}

static bool valid(const struct sg_message *m) {
    const uint8_t *data = m->data;
    const unsigned w = width_of(m);
    const size_t parts = m->bytes >= HEAD ? wire_load32(data) : 0;
    if (m->bytes < HEAD || parts > (m->bytes - HEAD) / part_bytes(w) || m->bytes != bytes_of(parts, m->count, w))
        return false;
    uint64_t count = 0;
    bool wrong = w * m->count % 8 > 0 && data[m->bytes - 1] >> w * m->count % 8;
    for (size_t i = 0; i < parts; i++) {
        const uint8_t *head = data + bits_at(i, w);
        count += wire_load32(head);
        for (size_t v = 4; v < part_bytes(w); v += 4)
            wrong |= (wire_load32(head + v) & 0x7f800000) == 0x7f800000;
    }
    return count == m->count && !wrong;
}

/* ---- one bit a number ---- */

/* ---- writing ---- */

/* One part (layer) that is being written: its numbers are first .. first + count - 1. */
struct part {
    size_t number, first, count;
};

/* What the numbers of a part add up to: `sum` as the term says, and how many are below 0 if that is SG_TERM_SIDES. */
struct sums {
    double sum[2];
    size_t below;
};

/* The values of a bit 0 and of a bit 1. Returns the bits that the two cost. */
typedef double values_fn(const struct sg_numbers *n, const struct part *p, const struct sums *s, float value[2]);

/* How the two values are found. */
struct kind {
    bool sums; /* true: `values` needs sums */
    enum sg_term term;
    values_fn *values;
};

static void both_signs(float value[2], double magnitude) {
    value[0] = (float)magnitude;
    value[1] = 0 - value[0]; /* +0 if it is 0 */
}

static double mean_magnitude(const struct sg_numbers *n, const struct part *p, const struct sums *s, float value[2]) {
    both_signs(value, p->count > 0 ? s->sum[0] / (double)p->count : 0);
    (void)n;
    return p->count > 0 ? 32 : 0;
}

static double root_mean_square(const struct sg_numbers *n, const struct part *p, const struct sums *s, float value[2]) {
    both_signs(value, p->count > 0 ? sqrt(s->sum[0] / (double)p->count) : 0);
    (void)n;
    return p->count > 0 ? 32 : 0;
}

static double fixed_magnitude(const struct sg_numbers *n, const struct part *p, const struct sums *s, float value[2]) {
    const double magnitude = n->knob ? n->knob[p->number] : n->param[0];
    both_signs(value, fmin(fmax(magnitude, 0), (double)FLT_MAX));
    (void)s;
    return 0; /* the receiver knows it */
}

static double mean_of_each_side(const struct sg_numbers *n, const struct part *p, const struct sums *s,
                                float value[2]) {
    const size_t others = p->count - s->below;
    value[0] = others > 0 ? (float)(s->sum[0] / (double)others) : 0;
    value[1] = s->below > 0 ? (float)(s->sum[1] / (double)s->below) : 0;
    (void)n;
    return 32 * (double)((others > 0) + (s->below > 0));
}

static size_t most_bytes(const struct sg_numbers *n) {
    return bytes_of(n->parts, n->count, 1);
}

/* One block of a part while it is in the cache: what is summed of it, and all bits of the bytes that begin in it. */
static struct sums write_block(uint8_t *packed, const struct sg_numbers *n, const struct kind *kind,
                               const struct sg_code_kernels *kernels, size_t begin, size_t end) {
    struct sums s = {{0}, 0};
    if (kind->sums) {
        kernels->sum_block(s.sum, n->value + begin, end - begin, kind->term);
        s.below = kind->term == SG_TERM_SIDES ? kernels->count_below(n->value + begin, end - begin) : 0;
    }
    const size_t from = (begin + 7) / 8 * 8, to = (end + 7) / 8 * 8 < n->count ? (end + 7) / 8 * 8 : n->count;
    if (from < to)
        kernels->pack_signs(packed + from / 8, n->value + from, to - from);
    return s;
}

/* The blocks' sums are added in order. */
static struct sums write_part(uint8_t *packed, const struct sg_numbers *n, const struct kind *kind,
                              const struct part *p) {
    const struct sg_code_kernels *kernels = n->kernels->loops;
    struct sums all = {{0}, 0}, of[GROUP];
    for (size_t at = 0; at < p->count; at += GROUP * BLOCK) {
        const size_t count = p->count - at < GROUP * BLOCK ? p->count - at : GROUP * BLOCK;
        const size_t begin = p->first + at, blocks = (count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(n->threads) if (count > STRETCH)
        for (size_t b = 0; b < blocks; b++)
            of[b] = write_block(packed, n, kind, kernels, begin + b * BLOCK,
                                begin + (count - b * BLOCK < BLOCK ? count : (b + 1) * BLOCK));
        for (size_t b = 0; b < blocks; b++) {
            all.sum[0] += of[b].sum[0];
            all.sum[1] += of[b].sum[1];
            all.below += of[b].below;
        }
    }
    return all;
}

static size_t encode(uint8_t *data, const struct sg_numbers *n, const struct kind *kind, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && sg_all_finite(n->value, n->count)));
    uint8_t *packed = data + bits_at(n->parts, 1);
    wire_store32(data, (uint32_t)n->parts);
    *bits = (double)n->count;
    for (size_t i = 0, first = 0; i < n->parts; first += n->part[i++]) {
        const struct part p = {i, first, n->part[i]};
        const struct sums s = write_part(packed, n, kind, &p);
        float value[2];
        *bits += kind->values(n, &p, &s, value);
        put_part(data, i, p.count, value, 1);
    }
    return most_bytes(n);
}

/* ---- on a GPU ---- */

/* The values of a part that are given, and the bits that a part's two values cost. */
static double begin_part(uint8_t *data, const struct sg_numbers *n, size_t i, enum sg_two_values values) {
    const struct part p = {i, 0, n->part[i]};
    float value[2] = {0};
    if (values == SG_VALUES_GIVEN)
        (void)fixed_magnitude(n, &p, NULL, value);
    put_part(data, i, p.count, value, 1);
    return values != SG_VALUES_GIVEN && p.count > 0 ? 32 : 0;
}

static int encode_there(void *data, const struct sg_numbers *n, enum sg_two_values values, size_t *bytes,
                        double *bits) {
    struct sg_device_signs s = {
        .x = n->value, .count = n->count, .head_bytes = bits_at(n->parts, 1), .parts = n->parts, .values = values};
    uint8_t *head = malloc(s.head_bytes);
    uint32_t *below = values == SG_VALUES_SIDES ? calloc(n->parts + 1, sizeof *below) : NULL;
    int status = head && (below || values != SG_VALUES_SIDES) ? SG_KERNEL_OK : SG_KERNEL_MEMORY;
    if (status == SG_KERNEL_OK) {
        s.head = head;
        wire_store32(head, (uint32_t)n->parts);
        *bits = (double)n->count;
        *bytes = most_bytes(n);
        for (size_t i = 0; i < n->parts; i++)
            *bits += begin_part(head, n, i, values);
        status = n->kernels->codes->write_signs(n->exec, data, &s, below);
        /* A part with numbers of both sides has a second value. */
        for (size_t i = 0; below && i < n->parts; i++)
            *bits += below[i] > 0 && below[i] < n->part[i] ? 32 : 0;
    }
    free(head);
    free(below);
    return status;
}

static void read_there(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                       const struct sg_exec *exec) {
    kernels->codes->read_signs(exec, to, m->data, m->count, m->parts);
}

/* The two functions of a code that writes, and all that a struct sg_code has of them. */
#define SIGNS_FUNCTIONS(name, values_there, ...)                                                                       \
    static size_t name##_encode(void *data, const struct sg_numbers *n, double *bits) {                                \
        return encode(data, n, &(struct kind){__VA_ARGS__}, bits);                                                     \
    }                                                                                                                  \
    static int name##_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {                     \
        return encode_there(data, n, values_there, bytes, bits);                                                       \
    }
#define SIGNS_CODE(name)                                                                                               \
    .most_bytes = most_bytes, .encode = name##_encode, .decode = decode, .cut = cut, .valid = valid,                   \
    .encode_on_gpu = name##_there, .read_on_gpu = read_there

SIGNS_FUNCTIONS(signs, SG_VALUES_MEAN, true, SG_TERM_MAGNITUDES, mean_magnitude)
SIGNS_FUNCTIONS(rms, SG_VALUES_RMS, true, SG_TERM_SQUARES, root_mean_square)
SIGNS_FUNCTIONS(fixed, SG_VALUES_GIVEN, .values = fixed_magnitude)
SIGNS_FUNCTIONS(two_means, SG_VALUES_SIDES, true, SG_TERM_SIDES, mean_of_each_side)

const struct sg_code sg_code_signs = {
    .name = "signs",
    .summary = "1 bit: the sign, with the layer's mean magnitude",
    .number = 16,
    SIGNS_CODE(signs),
};

const struct sg_code sg_code_signs_rms = {
    .name = "signs-rms",
    .summary = "1 bit: the sign, with the layer's root mean square",
    .number = 17,
    SIGNS_CODE(rms),
};

static const struct sg_parameter fixed_params[] = {
    {"magnitude", 0, (double)FLT_MAX, 1, false, "magnitude of every number"}};

const struct sg_code sg_code_signs_fixed = {
    .name = "signs-fixed",
    .summary = "1 bit: the sign, with one magnitude for all",
    .number = 18,
    .params = fixed_params,
    .n_params = 1,
    SIGNS_CODE(fixed),
};

const struct sg_code sg_code_two_means = {
    .name = "two-means",
    .summary = "1 bit: the mean of the layer's numbers of its sign",
    .number = 19,
    SIGNS_CODE(two_means),
};

/* ---- two bits a number ---- */

static size_t lookup_bytes(const struct sg_numbers *n) {
    return bytes_of(n->parts, n->count, 2);
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

/* Writes the codes of n >= 1 numbers, of which the first is number `at` of the message, and value [4]. */
static void write_lookup(uint8_t *codes, float *value, const float *x, size_t n, size_t at) {
    double mean, step, sum[4] = {0};
    size_t count[4] = {0};
    standardize(x, n, &mean, &step);
    for (size_t i = 0; i < n; i++) {
        const double level = step > 0 ? rint(((double)x[i] - mean) / step) + 2 : 2;
        const unsigned code = level < 0 ? 0 : level > 3 ? 3 : (unsigned)level;
        codes[(at + i) / 4] |= (uint8_t)(code << 2 * ((at + i) % 4));
        sum[code] += (double)x[i];
        count[code]++;
    }
    for (size_t c = 0; c < 4; c++)
        value[c] = count[c] > 0 ? (float)(sum[c] / (double)count[c]) : 0;
}

static size_t encode_lookup(void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && sg_all_finite(n->value, n->count)));
    uint8_t *data = to;
    memset(data, 0, lookup_bytes(n));
    wire_store32(data, (uint32_t)n->parts);
    *bits = 2 * (double)n->count;
    for (size_t i = 0, at = 0; i < n->parts; at += n->part[i++]) {
        float value[4] = {0};
        if (n->part[i] > 0)
            write_lookup(data + bits_at(n->parts, 2), value, n->value + at, n->part[i], at);
        put_part(data, i, n->part[i], value, 2);
        *bits += n->part[i] > 0 ? 160 : 0;
    }
    return lookup_bytes(n);
}

const struct sg_code sg_code_lookup = {
    .name = "lookup",
    .summary = "2 bits: one of four means of a layer (SparseLoCo)",
    .number = 80,
    .most_bytes = lookup_bytes,
    .encode = encode_lookup,
    .decode = decode,
    .cut = cut,
    .valid = valid,
};
