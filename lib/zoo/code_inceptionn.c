/* code_inceptionn.c: numbers as whole multiples of a step in 0, 8 or 16 bits, and large ones in 32 as they are
 * (INCEPTIONN, Li et al., MICRO 2018).
 *
 * The step is twice the error bound, and x becomes the nearest multiple q of it, ties to even. A tag of 2 bits says in
 * how many bits q is written: 0 if q is 0, 8 up to 127, 16 up to 32767, and 32 for x itself beyond.
 *
 *     bytes 0 .. 3          the step, a float, finite and at least 0
 *     a quarter byte each   the tags of the numbers: 0, 1, 2, 3 for 0, 8, 16, 32 bits; the unused ones of the last byte
 *     are
 *     0
 *     8 bytes for each 1024 numbers    where the first of them begins, counted from where the very first does
 *     0, 1, 2 or 4 bytes each          q in two's complement, which is not the least of its bits, or x as a float
 *
 * All are little-endian. Number j has the bits 2 (j % 4) and 2 (j % 4) + 1 of byte j / 4 of the tags. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "sg_half.h"
#include "sg_wire_bits.h"
#include "zoo_private.h"

enum { BOUND, PARAMS };
enum { STEP_BYTES = 4, PLACE = 8, GROUP = 1024, TAG_BITS = 2 };

static const uint8_t size_of_tag[] = {0, 1, 2, 4};

/* Where what begins in the data. */
struct parts {
    size_t places, numbers;
};
static struct parts parts_of(size_t count) {
    const size_t places = STEP_BYTES + (count + 3) / 4;
    return (struct parts){places, places + PLACE * ((count + GROUP - 1) / GROUP)};
}

static size_t most_bytes(const struct sg_numbers *n) {
    return parts_of(n->count).numbers + 4 * n->count;
}

/* What is written of x, and how. */
struct tagged {
    uint32_t word;
    unsigned tag;
};

static struct tagged multiple_of(float x, float step) {
    const double a = fmin(fabs((double)x) / (double)step, 0x1p40), q = (a + 0x1p52) - 0x1p52;
    if (!(q <= 32767 && q * (double)step <= (double)FLT_MAX))
        return (struct tagged){sg_float_bits(x), 3};
    return (struct tagged){(uint32_t)(int32_t)(x < 0 ? -q : q), q > 127 ? 2 : q > 0};
}

static size_t encode_tagged(void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(sg_all_finite(n->value, n->count));
    uint8_t *data = to;
    const float step = (float)fmax(fmin(2 * n->param[BOUND], (double)FLT_MAX), 0x1p-149);
    const struct parts at = parts_of(n->count);
    size_t place = 0;
    wire_store32(data, sg_float_bits(step));
    memset(data + STEP_BYTES, 0, at.places - STEP_BYTES);
    for (size_t j = 0; j < n->count; j++) {
        const struct tagged x = multiple_of(n->value[j], step);
        if (j % GROUP == 0)
            wire_store64(data + at.places + PLACE * (j / GROUP), place);
        data[STEP_BYTES + j / 4] |= (uint8_t)(x.tag << TAG_BITS * (j % 4));
        wire_store_part(data + at.numbers + place, x.word, size_of_tag[x.tag]);
        place += size_of_tag[x.tag];
    }
    *bits = TAG_BITS * (double)n->count + 8.0 * (double)place;
    return at.numbers + place;
}

static unsigned tag_of(const uint8_t *data, size_t j) {
    return data[STEP_BYTES + j / 4] >> TAG_BITS * (j % 4) & 3;
}

/* The number of this tag at `in`. */
static float number_at(const uint8_t *in, unsigned tag, float step) {
    const uint32_t word = (uint32_t)wire_load_part(in, size_of_tag[tag]);
    const int32_t q = tag == 1 ? (int8_t)word : tag == 2 ? (int16_t)word : 0;
    return tag == 3 ? sg_float_of_bits(word) : (float)((double)step * q);
}

static void decode_tagged(float *out, const struct sg_message *m, size_t first, size_t count) {
    SG_ASSERT(first + count <= m->count);
    const uint8_t *data = m->data;
    const struct parts at = parts_of(m->count);
    if (count == 0)
        return;
    const float step = sg_float_of_bits(wire_load32(data));
    const uint8_t *in = data + at.numbers + wire_load64(data + at.places + PLACE * (first / GROUP));
    for (size_t j = first / GROUP * GROUP; j < first + count; j++) {
        const unsigned tag = tag_of(data, j);
        if (j >= first)
            out[j - first] = number_at(in, tag, step);
        in += size_of_tag[tag];
    }
}

static bool valid_tagged(const struct sg_message *m) {
    const uint8_t *data = m->data;
    const struct parts at = parts_of(m->count);
    if (m->bytes < at.numbers || !(sg_float_of_bits(wire_load32(data)) >= 0) ||
        (m->count % 4 > 0 && data[at.places - 1] >> TAG_BITS * (m->count % 4)))
        return false;
    const float step = sg_float_of_bits(wire_load32(data));
    size_t place = at.numbers;
    for (size_t j = 0; j < m->count; j++) {
        const unsigned tag = tag_of(data, j);
        if ((j % GROUP == 0 && wire_load64(data + at.places + PLACE * (j / GROUP)) != place - at.numbers) ||
            size_of_tag[tag] > m->bytes - place)
            return false;
        const uint32_t word = (uint32_t)wire_load_part(data + place, size_of_tag[tag]);
        if (!isfinite(number_at(data + place, tag, step)) ||
            (step > 0 && ((tag == 1 && word == 0x80) || (tag == 2 && word == 0x8000))))
            return false;
        place += size_of_tag[tag];
    }
    return isfinite(step) && place == m->bytes;
}

const struct sg_parameter sg_code_inceptionn_params[PARAMS] = {
    [BOUND] = {"error-bound", 0x1p-126, 0x1p126, 0x1p-10, false, "largest error of a number"},
};

const struct sg_code sg_code_inceptionn = {
    .name = "inceptionn",
    .summary = "2, 10, 18 or 34 bits, as an error bound requires",
    .number = 41,
    .params = sg_code_inceptionn_params,
    .n_params = PARAMS,
    .most_bytes = most_bytes,
    .encode = encode_tagged,
    .decode = decode_tagged,
    .valid = valid_tagged,
};
