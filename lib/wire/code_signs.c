/* code_signs.c: codes of one bit a number: every part (layer) has two values, one of which is read back for each number.
 *
 * The bit of a number is 1 if the number is below 0. What the two values of a part are is what the codes differ in:
 *
 *     signs         +m and -m, m the mean magnitude of the part's numbers
 *     signs-rms     +m and -m, m the root of the mean of their squares
 *     signs-fixed   +m and -m, m a parameter
 *     two-means     the mean of the numbers >= 0, and that of the numbers below 0; 0 where there are none
 *
 *     bytes 0 .. 3       parts
 *     12 bytes a part    how many numbers it has; the value of a bit 0 and that of a bit 1, finite floats
 *     ceil(count / 8)    the bits of all numbers, bit j % 8 of byte j / 8; padded with zeros
 *
 * All integers are little-endian. Means are sums in double, in the order of sg_kernels.h, rounded once to a float. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sg_codes.h"
#include "sg_debug.h"
#include "sg_device_codes.h"
#include "sg_half.h"
#include "wire_private.h"

enum { HEAD = 4, PART = 12, BLOCK = SG_KERNEL_BLOCK, GROUP = 256, STRETCH = 1 << 15 };

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
    bool sums; /* does `values` need sums? */
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
    return HEAD + PART * n->parts + wire_bytes_of_bits(n->count);
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
    uint8_t *packed = data + HEAD + PART * n->parts;
    wire_store32(data, (uint32_t)n->parts);
    *bits = (double)n->count;
    for (size_t i = 0, first = 0; i < n->parts; first += n->part[i++]) {
        const struct part p = {i, first, n->part[i]};
        const struct sums s = write_part(packed, n, kind, &p);
        float value[2];
        *bits += kind->values(n, &p, &s, value);
        wire_store32(data + HEAD + PART * i, (uint32_t)p.count);
        for (size_t v = 0; v < 2; v++)
            wire_store32(data + HEAD + PART * i + 4 + 4 * v, sg_float_bits(value[v]));
    }
    return most_bytes(n);
}

static size_t encode_signs(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, &(struct kind){true, SG_TERM_MAGNITUDES, mean_magnitude}, bits);
}

static size_t encode_rms(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, &(struct kind){true, SG_TERM_SQUARES, root_mean_square}, bits);
}

static size_t encode_fixed(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, &(struct kind){.values = fixed_magnitude}, bits);
}

static size_t encode_two_means(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, &(struct kind){true, SG_TERM_SIDES, mean_of_each_side}, bits);
}

/* ---- reading ---- */

static void decode(float *out, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    const size_t parts = wire_load32(data), end = first + count;
    const uint8_t *packed = data + HEAD + PART * parts;
    const struct sg_code_kernels *kernels = sg_kernels_cpu(NULL)->loops;
    SG_ASSERT(end <= m->count);
    for (size_t i = 0, begin = 0, of; i < parts && begin < end; i++, begin += of) {
        const uint8_t *head = data + HEAD + PART * i;
        const float value[2] = {sg_float_of_bits(wire_load32(head + 4)), sg_float_of_bits(wire_load32(head + 8))};
        of = wire_load32(head);
        const size_t from = first > begin ? first : begin, to = end < begin + of ? end : begin + of;
        if (from < to)
            kernels->unpack_signs(out + (from - first), packed, from, to - from, value);
    }
}

/* ---- on a GPU ---- */

/* The values of a part that are given, and the bits that a part's two values cost. */
static double begin_part(uint8_t *head, const struct sg_numbers *n, size_t i, enum sg_two_values values) {
    const struct part p = {i, 0, n->part[i]};
    float value[2] = {0};
    if (values == SG_VALUES_GIVEN)
        (void)fixed_magnitude(n, &p, NULL, value);
    wire_store32(head, (uint32_t)p.count);
    for (size_t v = 0; v < 2; v++)
        wire_store32(head + 4 + 4 * v, sg_float_bits(value[v]));
    return values != SG_VALUES_GIVEN && p.count > 0 ? 32 : 0;
}

static int encode_there(void *data, const struct sg_numbers *n, enum sg_two_values values, size_t *bytes,
                        double *bits) {
    struct sg_device_signs s = {
        .x = n->value, .count = n->count, .head_bytes = HEAD + PART * n->parts, .parts = n->parts, .values = values};
    uint8_t *head = malloc(s.head_bytes);
    uint32_t *below = values == SG_VALUES_SIDES ? calloc(n->parts + 1, sizeof *below) : NULL;
    int status = head != NULL && (below != NULL || values != SG_VALUES_SIDES) ? SG_KERNEL_OK : SG_KERNEL_MEMORY;
    if (status == SG_KERNEL_OK) {
        s.head = head;
        wire_store32(head, (uint32_t)n->parts);
        *bits = (double)n->count;
        *bytes = most_bytes(n);
        for (size_t i = 0; i < n->parts; i++)
            *bits += begin_part(head + HEAD + PART * i, n, i, values);
        status = n->kernels->codes->write_signs(n->exec, data, &s, below);
        /* A part with numbers of both sides has a second value. */
        for (size_t i = 0; below != NULL && i < n->parts; i++)
            *bits += below[i] > 0 && below[i] < n->part[i] ? 32 : 0;
    }
    free(head);
    free(below);
    return status;
}

static int signs_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    return encode_there(data, n, SG_VALUES_MEAN, bytes, bits);
}

static int rms_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    return encode_there(data, n, SG_VALUES_RMS, bytes, bits);
}

static int fixed_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    return encode_there(data, n, SG_VALUES_GIVEN, bytes, bits);
}

static int two_means_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    return encode_there(data, n, SG_VALUES_SIDES, bytes, bits);
}

static void read_there(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                       const struct sg_exec *exec) {
    kernels->codes->read_signs(exec, to, m->data, m->count, m->parts);
}

static bool valid(const struct sg_message *m) {
    const uint8_t *data = m->data;
    const size_t parts = m->bytes >= HEAD ? wire_load32(data) : 0, packed = wire_bytes_of_bits(m->count);
    if (m->bytes < HEAD || parts > (m->bytes - HEAD) / PART || m->bytes != HEAD + PART * parts + packed)
        return false;
    uint64_t count = 0;
    bool wrong = m->count % 8 > 0 && data[m->bytes - 1] >> m->count % 8;
    for (size_t i = 0; i < parts; i++) {
        const uint8_t *head = data + HEAD + PART * i;
        count += wire_load32(head);
        for (size_t v = 4; v < PART; v += 4)
            wrong |= (wire_load32(head + v) & 0x7f800000) == 0x7f800000;
    }
    return count == m->count && !wrong;
}

const struct sg_code sg_code_signs = {
    .name = "signs",
    .summary = "1 bit a number: its sign, with the mean magnitude of the layer's numbers",
    .number = 16,
    .most_bytes = most_bytes,
    .encode = encode_signs,
    .decode = decode,
    .valid = valid,
    .encode_on_gpu = signs_there,
    .read_on_gpu = read_there,
};

const struct sg_code sg_code_signs_rms = {
    .name = "signs-rms",
    .summary = "1 bit a number: its sign, with the root of the mean square of the layer's numbers",
    .number = 17,
    .most_bytes = most_bytes,
    .encode = encode_rms,
    .decode = decode,
    .valid = valid,
    .encode_on_gpu = rms_there,
    .read_on_gpu = read_there,
};

static const struct sg_parameter fixed_params[] = {
    {"magnitude", 0, (double)FLT_MAX, 1, false, "what every number is read back as, with its sign"}};

const struct sg_code sg_code_signs_fixed = {
    .name = "signs-fixed",
    .summary = "1 bit a number: its sign, with a magnitude that is the same for all",
    .number = 18,
    .params = fixed_params,
    .n_params = 1,
    .most_bytes = most_bytes,
    .encode = encode_fixed,
    .decode = decode,
    .valid = valid,
    .encode_on_gpu = fixed_there,
    .read_on_gpu = read_there,
};

const struct sg_code sg_code_two_means = {
    .name = "two-means",
    .summary = "1 bit a number: the mean of the layer's numbers of the same sign",
    .number = 19,
    .most_bytes = most_bytes,
    .encode = encode_two_means,
    .decode = decode,
    .valid = valid,
    .encode_on_gpu = two_means_there,
    .read_on_gpu = read_there,
};
