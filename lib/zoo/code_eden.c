/* code_eden.c: numbers of a block rotated at random, which makes them nearly normal, and rounded to the best levels for
 * normal numbers: DRIVE (Vargaftik et al., NeurIPS 2021) with 1 bit, EDEN (Vargaftik et al., ICML 2022) with 2 and 3.
 *
 * A block has B numbers, a power of two; the last one of a part is filled up with zeros to the next power of two n'.
 * With random signs D and the Walsh-Hadamard matrix H it is rotated to y = H D x / sqrt(n'). y_i sqrt(n') / |y| becomes
 * the nearest of 2^b levels c_i, those of Lloyd and Max for normal numbers. What is read back is D H (S c) / sqrt(n'),
 * where S is |y|^2 / <c, y>, or with `least-error` <c, y> / <c, c>. With the first S, the mean over all rotations would
 * be x; these ones are nearly as good. The second S has the least error |x - C(x)|.
 *
 * The layout is that of sg_wire_buckets.h, and the setting of a part is b. The scalar of a block is S. There is a field
 * for every number that a block was filled up to: the number of |c_i| from below, and above it 1 if y_i < 0. In the
 * place of the 8 bytes of zeros stands the seed of the signs: number i of the message has the sign - if the highest bit
 * of draw i of the stream (seed, SG_RNG_CODE, 0, 0) is 1. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "sg_half.h"
#include "sg_philox.h"
#include "sg_rng.h"
#include "sg_wire_buckets.h"
#include "zoo_private.h"

enum { BITS, BLOCK, LEAST_ERROR, PARAMS };
enum { MOST_BITS = 3, MOST_BLOCK = 4096 };

static const double levels_of[MOST_BITS + 1][4] = {{0}, {1}, {0.45278, 1.51042}, {0.24509, 0.75601, 1.34391, 2.15195}};

static size_t power_of_two(size_t n) {
    size_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static size_t fields_of(size_t count, size_t block) {
    return count / block * block + (count % block > 0 ? power_of_two(count % block) : 0);
}

static size_t block_of(const struct sg_numbers *n) {
    return power_of_two((size_t)n->param[BLOCK]);
}

/* ---- the rotation ---- */

static void change_signs(double *y, size_t count, uint64_t seed, uint64_t first) {
    const sg_rng rng = sg_rng_open(seed, SG_RNG_CODE, 0, 0);
    uint32_t room[SG_PHILOX_ROOM];
    for (size_t at = 0, now; at < count; at += now) {
        now = count - at < SG_PHILOX_PIECE ? count - at : SG_PHILOX_PIECE;
        const uint32_t *draw = sg_philox_draws(room, rng.key, rng.counter, first + at, now);
        for (size_t j = 0; j < now; j++)
            y[at + j] = draw[j] >> 31 ? -y[at + j] : y[at + j];
    }
}

/* y = H y / sqrt(n), n a power of two. */
static void hadamard(double *y, size_t n) {
    for (size_t half = 1; half < n; half *= 2)
        for (size_t at = 0; at < n; at += 2 * half)
            for (size_t j = at; j < at + half; j++) {
                const double a = y[j], b = y[j + half];
                y[j] = a + b;
                y[j + half] = a - b;
            }
    const double scale = 1 / sqrt((double)n);
    for (size_t j = 0; j < n; j++)
        y[j] *= scale;
}

/* ---- writing ---- */

/* field [n] <- one block of y [n], which is rotated; returns its S. */
static float write_block(uint32_t *field, const double *y, size_t n, uint32_t bits, bool least_error) {
    const double *level = levels_of[bits];
    const uint32_t levels = 1U << (bits - 1);
    double square = 0, product = 0, levels_square = 0;
    for (size_t j = 0; j < n; j++)
        square += y[j] * y[j];
    const double scale = square > 0 ? sqrt((double)n) / sqrt(square) : 0;
    for (size_t j = 0; j < n; j++) {
        const double z = fabs(y[j]) * scale;
        uint32_t at = 0;
        for (uint32_t i = 0; i + 1 < levels; i++)
            at += z > (level[i] + level[i + 1]) / 2;
        product += level[at] * fabs(y[j]);
        levels_square += level[at] * level[at];
        field[j] = square > 0 ? at | (uint32_t)(y[j] < 0) << (bits - 1) : 0;
    }
    const double s = least_error ? product / levels_square : square / product;
    return square > 0 ? (float)fmin(s, (double)FLT_MAX) : 0;
}

static uint64_t seed_of(const struct sg_numbers *n) {
    sg_rng rng = sg_rng_open(n->seed, SG_RNG_CODE, n->worker, n->step);
    return sg_rng_u64(&rng);
}

static void write_blocks(uint8_t *data, const struct sg_numbers *n, const struct wire_part *p, size_t begin,
                         size_t end) {
    const uint64_t seed = seed_of(n);
    struct wire_packer packer = {.out = data + p->at + begin * p->bits / 8};
    uint32_t field[MOST_BLOCK];
    double y[MOST_BLOCK];
    for (size_t at = begin; at < end; at += p->bucket) {
        const size_t count = end - at < p->bucket ? end - at : p->bucket, whole = power_of_two(count);
        for (size_t j = 0; j < whole; j++)
            y[j] = j < count ? (double)n->value[p->first + at + j] : 0;
        change_signs(y, count, seed, p->first + at);
        hadamard(y, whole);
        const float s = write_block(field, y, whole, p->setting, n->param[LEAST_ERROR] > 0);
        wire_store32(data + p->scalar_at + 4 * (at / p->bucket), sg_float_bits(s));
        for (size_t j = 0; j < whole; j++)
            wire_pack(&packer, field[j], p->bits);
    }
    wire_pack_flush(&packer);
}

/* ---- reading ---- */

/* y [n] <- the numbers of the block that begins with number `at` of the part. */
static void read_block(double *y, const uint8_t *data, const struct wire_part *p, uint64_t seed, size_t at,
                       size_t count) {
    const size_t whole = power_of_two(count);
    const double *level = levels_of[p->setting];
    const double s = (double)sg_float_of_bits(wire_load32(data + p->scalar_at + 4 * (at / p->bucket)));
    const uint32_t sign = 1U << (p->bits - 1);
    uint32_t field[MOST_BLOCK];
    wire_fields(field, data, p, at, whole);
    for (size_t j = 0; j < whole; j++)
        y[j] = (field[j] & sign ? -s : s) * level[field[j] & (sign - 1)];
    hadamard(y, whole);
    change_signs(y, count, seed, p->first + at);
}

static void read_blocks(float *out, const struct sg_message *m, const struct wire_part *p, size_t begin, size_t end) {
    const uint8_t *data = m->data;
    const uint64_t seed = wire_load64(data + m->bytes - WIRE_BUCKETS_TAIL);
    double y[MOST_BLOCK];
    for (size_t at = begin / p->bucket * p->bucket; at < end; at += p->bucket) {
        const size_t whole = p->count - at < p->bucket ? p->count - at : p->bucket;
        read_block(y, data, p, seed, at, whole);
        for (size_t j = at < begin ? begin - at : 0; j < whole && at + j < end; j++)
            out[at + j - begin] = (float)fmin(fmax(y[j], -(double)FLT_MAX), (double)FLT_MAX);
    }
}

static const struct wire_buckets eden = {
    .layout = {.scalars = 1, .least_setting = 1, .most_setting = MOST_BITS, .fields = fields_of},
    .bucket = block_of,
    .write_stretch = write_blocks,
    .read_stretch = read_blocks,
};

/* The last block of a part is filled up. */
static size_t most_bytes(const struct sg_numbers *n) {
    const size_t block = block_of(n);
    return wire_parts_most(&eden.layout, n, block, MOST_BITS) + block * n->parts * MOST_BITS / 8;
}

static size_t encode_eden(void *data, const struct sg_numbers *n, double *bits) {
    const size_t bytes = wire_buckets_encode(&eden, data, n, bits);
    wire_store64((uint8_t *)data + bytes - WIRE_BUCKETS_TAIL, seed_of(n));
    return bytes;
}

static void decode_eden(float *out, const struct sg_message *m, size_t first, size_t count) {
    wire_buckets_decode(&eden, out, m, first, count);
}

static bool valid_part(const void *format, const uint8_t *data, const struct wire_part *p) {
    uint32_t wrong = !wire_padding_is_zero(data, p) || p->bucket > MOST_BLOCK || (p->bucket & (p->bucket - 1)) != 0;
    (void)format;
    for (size_t b = 0; !wrong && b < wire_bucket_count(p->count, p->bucket); b++)
        wrong |= wire_load32(data + p->scalar_at + 4 * b) >= 0x7f800000;
    return !wrong;
}

static bool valid_eden(const struct sg_message *m) {
    return wire_parts_valid(&eden.layout, m, WIRE_BUCKETS_TAIL, valid_part, NULL);
}

const struct sg_parameter sg_code_eden_params[PARAMS] = {
    [BITS] = {"bits", 1, MOST_BITS, 1, true, "bits b of a number: 1 is DRIVE, 2 and 3 are EDEN"},
    [BLOCK] = {"block", 1, MOST_BLOCK, 1024, true,
               "numbers that share a rotation and a 32-bit scale, rounded up to a power of two"},
    [LEAST_ERROR] = {"least-error", 0, 1, 0, true, "0: the unbiased scale; 1: the scale with the least error"},
};

const struct sg_code sg_code_eden = {
    .name = "eden",
    .summary = "1 to 3 bits of randomly rotated blocks (DRIVE, EDEN)",
    .number = 39,
    .random = true,
    .params = sg_code_eden_params,
    .n_params = PARAMS,
    .most_bytes = most_bytes,
    .encode = encode_eden,
    .decode = decode_eden,
    .valid = valid_eden,
};
