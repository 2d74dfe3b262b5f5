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

#include "sg_debug.h"
#include "sg_half.h"
#include "wire_private.h"

enum { HEAD = 4, PART = 12, LANES = SG_KERNEL_LANES, BLOCK = SG_KERNEL_BLOCK, GROUP = 256, STRETCH = 1 << 15 };

/* ---- the two values of a part ---- */

/* What is summed of a number: its magnitude, or twice what of it lies above 0 or below (which rounds as once does). */
enum term { MAGNITUDE, ABOVE, BELOW };

static inline double term_of(float x, enum term term) {
    const double magnitude = (double)fabsf(x);
    return term == MAGNITUDE ? magnitude : (double)x + (term == ABOVE ? magnitude : -magnitude);
}

static inline double sum_block(const float *x, size_t n, enum term term) {
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += term_of(x[i + k], term);
    for (size_t k = 0; i < n; i++, k++)
        lane[k] += term_of(x[i], term);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            lane[k] += lane[k + width];
    return lane[0];
}

static double sum_of(const float *x, size_t n, enum term term, int threads) {
    double sum = 0, of[GROUP];
    for (size_t begin = 0; begin < n; begin += GROUP * BLOCK) {
        const size_t count = n - begin < GROUP * BLOCK ? n - begin : GROUP * BLOCK;
        const size_t blocks = (count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(threads) if (count > STRETCH)
        for (size_t b = 0; b < blocks; b++) {
            const float *from = x + begin + b * BLOCK;
            const size_t some = count - b * BLOCK < BLOCK ? count - b * BLOCK : BLOCK;
            of[b] = term == MAGNITUDE ? sum_block(from, some, MAGNITUDE) /* three loops of constant terms */
                    : term == ABOVE   ? sum_block(from, some, ABOVE)
                                      : sum_block(from, some, BELOW);
        }
        for (size_t b = 0; b < blocks; b++)
            sum += of[b];
    }
    return sum;
}

static size_t count_below(const float *x, size_t n, int threads) {
    size_t below = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : below) if (n > STRETCH)
    for (size_t begin = 0; begin < n; begin += STRETCH) {
        const size_t count = n - begin < STRETCH ? n - begin : STRETCH;
        uint32_t some = 0;
        for (size_t i = 0; i < count; i++)
            some += x[begin + i] < 0;
        below += some;
    }
    return below;
}

/* Writes the values of a bit 0 and of a bit 1 for these numbers. Returns the bits that the two cost. */
typedef double values_fn(const struct sg_numbers *n, size_t part, const float *x, size_t count, float value[2]);

static void both_signs(float value[2], double magnitude) {
    value[0] = (float)magnitude;
    value[1] = 0 - value[0]; /* +0 if it is 0 */
}

static double mean_magnitude(const struct sg_numbers *n, size_t part, const float *x, size_t count, float value[2]) {
    both_signs(value, count > 0 ? sum_of(x, count, MAGNITUDE, n->threads) / (double)count : 0);
    (void)part;
    return count > 0 ? 32 : 0;
}

static double root_mean_square(const struct sg_numbers *n, size_t part, const float *x, size_t count, float value[2]) {
    const struct sg_exec exec = {.threads = n->threads};
    both_signs(value, count > 0 ? sqrt(n->kernels->sum_squares(&exec, x, count) / (double)count) : 0);
    (void)part;
    return count > 0 ? 32 : 0;
}

static double fixed_magnitude(const struct sg_numbers *n, size_t part, const float *x, size_t count, float value[2]) {
    const double magnitude = n->knob ? n->knob[part] : n->param[0];
    both_signs(value, fmin(fmax(magnitude, 0), (double)FLT_MAX));
    (void)x, (void)count;
    return 0; /* the receiver knows it */
}

static double mean_of_each_side(const struct sg_numbers *n, size_t part, const float *x, size_t count, float value[2]) {
    const size_t below = count_below(x, count, n->threads), others = count - below;
    value[0] = others > 0 ? (float)(sum_of(x, count, ABOVE, n->threads) / 2 / (double)others) : 0;
    value[1] = below > 0 ? (float)(sum_of(x, count, BELOW, n->threads) / 2 / (double)below) : 0;
    (void)part;
    return 32 * (double)((others > 0) + (below > 0));
}

/* ---- writing ---- */

static size_t most_bytes(const struct sg_numbers *n) {
    return HEAD + PART * n->parts + wire_bytes_of_bits(n->count);
}

static void write_bits(uint8_t *to, const float *x, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        unsigned byte = 0;
        for (unsigned b = 0; b < 8; b++)
            byte |= (unsigned)(x[i + b] < 0) << b;
        to[i / 8] = (uint8_t)byte;
    }
    if (i < n)
        to[i / 8] = 0;
    for (; i < n; i++)
        to[i / 8] |= (uint8_t)((unsigned)(x[i] < 0) << i % 8);
}

static size_t encode(uint8_t *data, const struct sg_numbers *n, values_fn *values, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && sg_all_finite(n->value, n->count)));
    uint8_t *packed = data + HEAD + PART * n->parts;
    const size_t count = n->count;
    wire_store32(data, (uint32_t)n->parts);
    *bits = (double)count;
    for (size_t i = 0, first = 0; i < n->parts; first += n->part[i++]) {
        float value[2];
        *bits += values(n, i, n->value + first, n->part[i], value);
        wire_store32(data + HEAD + PART * i, (uint32_t)n->part[i]);
        for (size_t v = 0; v < 2; v++)
            wire_store32(data + HEAD + PART * i + 4 + 4 * v, sg_float_bits(value[v]));
    }
#pragma omp parallel for schedule(static) num_threads(n->threads) if (count > STRETCH)
    for (size_t at = 0; at < count; at += STRETCH)
        write_bits(packed + at / 8, n->value + at, count - at < STRETCH ? count - at : STRETCH);
    return most_bytes(n);
}

static size_t encode_signs(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, mean_magnitude, bits);
}

static size_t encode_rms(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, root_mean_square, bits);
}

static size_t encode_fixed(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, fixed_magnitude, bits);
}

static size_t encode_two_means(void *data, const struct sg_numbers *n, double *bits) {
    return encode(data, n, mean_of_each_side, bits);
}

/* ---- reading ---- */

static void read_bits(float *out, const uint8_t *packed, size_t begin, size_t end, const uint32_t value[2]) {
    const uint32_t differ = value[0] ^ value[1];
    uint32_t word[8];
    size_t i = begin;
    for (; i < end && i % 8 > 0; i++)
        *out++ = sg_float_of_bits(value[packed[i / 8] >> i % 8 & 1]);
    for (; i + 8 <= end; i += 8, out += 8) {
        const uint32_t byte = packed[i / 8];
        for (unsigned b = 0; b < 8; b++)
            word[b] = value[0] ^ (differ & (0 - (byte >> b & 1)));
        memcpy(out, word, sizeof word);
    }
    for (; i < end; i++)
        *out++ = sg_float_of_bits(value[packed[i / 8] >> i % 8 & 1]);
}

static void decode(float *out, const struct sg_message *m, size_t first, size_t count) {
    const uint8_t *data = m->data;
    const size_t parts = wire_load32(data), end = first + count;
    const uint8_t *packed = data + HEAD + PART * parts;
    SG_ASSERT(end <= m->count);
    for (size_t i = 0, begin = 0, of; i < parts && begin < end; i++, begin += of) {
        const uint8_t *head = data + HEAD + PART * i;
        const uint32_t value[2] = {wire_load32(head + 4), wire_load32(head + 8)};
        of = wire_load32(head);
        const size_t from = first > begin ? first : begin, to = end < begin + of ? end : begin + of;
        if (from < to)
            read_bits(out + (from - first), packed, from, to, value);
    }
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
};

const struct sg_code sg_code_signs_rms = {
    .name = "signs-rms",
    .summary = "1 bit a number: its sign, with the root of the mean square of the layer's numbers",
    .number = 17,
    .most_bytes = most_bytes,
    .encode = encode_rms,
    .decode = decode,
    .valid = valid,
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
};

const struct sg_code sg_code_two_means = {
    .name = "two-means",
    .summary = "1 bit a number: the mean of the layer's numbers of the same sign",
    .number = 19,
    .most_bytes = most_bytes,
    .encode = encode_two_means,
    .decode = decode,
    .valid = valid,
};
