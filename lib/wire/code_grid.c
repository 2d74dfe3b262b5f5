/* code_grid.c: numbers as whole multiples of a fixed step (Gupta et al., ICML 2015).
 *
 * x becomes q steps of the size D: the nearest ones, ties to even, or with `stochastic` one of the two around x at
 * random, so that what is read back is x in expectation. q has b bits. Where |x| is above 2^(b-1) - 1 steps, and where
 * q D would be no float, x is sent as it is. So no error is above D, or D / 2 without `stochastic`. With D = 0 all is
 * sent as it is.
 *
 * The layout is that of sg_wire_buckets.h, and the setting of a part is b. The scalar of a part is its step. A field is
 * q in two's complement; -2^(b-1) says that the number is sent as it is. Such numbers stand in the place of the 8 bytes
 * of zeros:
 *
 *     8 bytes each      its place among all numbers of the message, ascending, and the number as a float
 *     8 bytes           how many these are */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sg_half.h"
#include "sg_wire_buckets.h"

enum { STEP, BITS, STOCHASTIC, PARAMS };
enum { MOST_BITS = 24, ENTRY = 8 };

static uint32_t setting_of(const struct sg_numbers *n, size_t part, size_t first) {
    (void)part, (void)first;
    return (uint32_t)n->param[BITS];
}

static float step_of(const struct sg_numbers *n, size_t part) {
    return fminf((float)(n->knob ? n->knob[part] : n->param[STEP]), FLT_MAX);
}

static void measure(float *scalar, const float *x, size_t count, const struct wire_part *p,
                    const struct sg_numbers *n) {
    (void)x, (void)count;
    *scalar = step_of(n, p->number);
}

/* ---- writing ---- */

static bool at_random(const struct sg_numbers *n) {
    return n->param[STOCHASTIC] > 0;
}

/* step > 0 */
static struct sg_multiples multiples_of(float step, uint32_t bits) {
    const double most = fmin((1U << (bits - 1)) - 1, floor((double)FLT_MAX / (double)step));
    return (struct sg_multiples){.unit = (double)step, .most = (uint32_t)most, .bits = bits};
}

static void write_steps(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                        const float *scalar, uint32_t bits, const uint32_t *draw) {
    if (*scalar > 0) {
        const struct sg_multiples m = multiples_of(*scalar, bits);
        kernels->write_multiples(field, x, count, &m, draw);
    } else {
        for (size_t j = 0; j < count; j++)
            field[j] = x[j] != 0 ? 1U << (bits - 1) : 0;
    }
}

static void read_steps(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                       const float *scalar, uint32_t bits) {
    kernels->read_multiples(out, field, count, *scalar, bits);
}

static const struct wire_buckets grid = {
    .layout = {.scalars = 1,
               .least_setting = 2,
               .most_setting = MOST_BITS,
               .sign = WIRE_TWOS_COMPLEMENT,
               .on_gpu = SG_BUCKETS_STEPS},
    .draws = at_random,
    .setting = setting_of,
    .measure = measure,
    .write = write_steps,
    .read = read_steps,
    .overflows = true,
};

static size_t most_bytes(const struct sg_numbers *n) {
    return wire_buckets_most(&grid, n) + ENTRY * n->count;
}

/* Fields of a part that were read last: begin .. end-1. */
struct scan {
    uint32_t field[WIRE_PIECE];
    size_t begin, end;
};

/* The place of the first number from `from` on that is sent as it is; the part's count if there is none. */
static size_t next_beyond(struct scan *s, const uint8_t *data, const struct wire_part *p, size_t from) {
    for (; from < p->count; from++) {
        if (from >= s->end) {
            s->begin = from;
            s->end = p->count - from < WIRE_PIECE ? p->count : from + WIRE_PIECE;
            wire_fields(s->field, data, p, from, s->end - from);
        }
        if (s->field[from - s->begin] == 1U << (p->bits - 1))
            break;
    }
    return from;
}

/* Returns whether the part may have a number that does not fit into a field and is sent unchanged. */
static bool has_beyond(const struct sg_numbers *n, const uint8_t *data, const struct wire_part *p) {
    const struct sg_exec exec = {.threads = n->threads};
    const float step = sg_float_of_bits(wire_load32(data + p->scalar_at));
    if (p->count == 0)
        return false;
    const double largest = (double)n->kernels->max_abs(&exec, n->value + p->first, p->count);
    return step > 0 ? largest / (double)step > multiples_of(step, p->bits).most : largest > 0;
}

static size_t encode_grid(void *to, const struct sg_numbers *n, double *bits) {
    uint8_t *data = to;
    size_t end = wire_buckets_encode(&grid, data, n, bits);
    struct wire_part p = {0};
    uint64_t beyond = 0;
    const size_t list = end - WIRE_BUCKETS_TAIL;
    *bits = 0;
    for (size_t i = 0; i < n->parts; i++) {
        p = wire_next_part(&grid.layout, data, i, &p);
        *bits += (double)p.bits * (double)p.count;
        /* Entries may be written over the 8 bytes behind the fields: those that are read with a field do not matter. */
        if (!has_beyond(n, data, &p))
            continue;
        struct scan s = {.end = 0};
        for (size_t j = 0; (j = next_beyond(&s, data, &p, j)) < p.count; j++, beyond++) {
            wire_store32(data + list + ENTRY * beyond, (uint32_t)(p.first + j));
            wire_store32(data + list + ENTRY * beyond + 4, sg_float_bits(n->value[p.first + j]));
        }
    }
    wire_store64(data + list + ENTRY * beyond, beyond);
    *bits += 64.0 * (double)beyond;
    return end + ENTRY * beyond;
}

/* ---- reading ---- */

static size_t count_beyond(const struct sg_message *m) {
    return wire_load64((const uint8_t *)m->data + m->bytes - WIRE_BUCKETS_TAIL);
}

/* Which of the numbers that are sent as they are is the first at the place `first` or behind it. */
static size_t first_from(const uint8_t *list, size_t beyond, size_t first) {
    size_t low = 0, high = beyond;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (wire_load32(list + ENTRY * middle) < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void decode_grid(float *out, const struct sg_message *m, size_t first, size_t count) {
    const size_t beyond = count_beyond(m);
    const uint8_t *list = (const uint8_t *)m->data + m->bytes - WIRE_BUCKETS_TAIL - ENTRY * beyond;
    wire_buckets_decode(&grid, out, m, first, count);
    for (size_t low = first_from(list, beyond, first); low < beyond && wire_load32(list + ENTRY * low) < first + count;
         low++)
        out[wire_load32(list + ENTRY * low) - first] = sg_float_of_bits(wire_load32(list + ENTRY * low + 4));
}

static size_t cut_grid(void *to, const struct sg_message *m, size_t first, size_t count) {
    const size_t beyond = count_beyond(m);
    const uint8_t *list = (const uint8_t *)m->data + m->bytes - WIRE_BUCKETS_TAIL - ENTRY * beyond;
    uint8_t *out = (uint8_t *)to + wire_buckets_cut(&grid.layout, to, m, first, count) - WIRE_BUCKETS_TAIL;
    size_t at = first_from(list, beyond, first), of = 0;
    for (; at < beyond && wire_load32(list + ENTRY * at) < first + count; at++, of++, out += ENTRY) {
        wire_store32(out, wire_load32(list + ENTRY * at) - (uint32_t)first);
        memcpy(out + 4, list + ENTRY * at + 4, 4);
    }
    wire_store64(out, of);
    return (size_t)(out - (uint8_t *)to) + WIRE_BUCKETS_TAIL;
}

static bool valid_grid(const struct sg_message *m) {
    const size_t beyond = m->bytes >= WIRE_BUCKETS_TAIL ? count_beyond(m) : 0;
    if (beyond > m->count || beyond > m->bytes / ENTRY ||
        !wire_buckets_valid_before(&grid, m, WIRE_BUCKETS_TAIL + ENTRY * beyond))
        return false;
    const uint8_t *data = m->data, *list = data + m->bytes - WIRE_BUCKETS_TAIL - ENTRY * beyond;
    struct wire_part p = {0};
    size_t at = 0;
    for (size_t i = 0; i < wire_parts_of(data); i++) {
        p = wire_next_part(&grid.layout, data, i, &p);
        struct scan s = {.end = 0};
        for (size_t j = 0; (j = next_beyond(&s, data, &p, j)) < p.count; j++, at++)
            if (at == beyond || wire_load32(list + ENTRY * at) != p.first + j ||
                !isfinite(sg_float_of_bits(wire_load32(list + ENTRY * at + 4))))
                return false;
    }
    return at == beyond;
}

/* ---- on a GPU ---- */

static int grid_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    float *step = malloc((n->parts + 1) * sizeof *step);
    uint32_t beyond = 0;
    if (!step)
        return SG_KERNEL_MEMORY;
    for (size_t i = 0; i < n->parts; i++)
        step[i] = step_of(n, i);
    const struct sg_device_buckets b = {.nearest = !at_random(n), .step = step, .beyond = &beyond};
    const int status = wire_buckets_encode_on_gpu(&grid, data, n, &b, bytes, bits);
    *bytes += (size_t)ENTRY * beyond;
    *bits = n->param[BITS] * (double)n->count + 64.0 * beyond;
    free(step);
    return status;
}

const struct sg_parameter sg_code_grid_params[PARAMS] = {
    [STEP] = {"step", 0, FLT_MAX, 0.03125, false, "distance D between neighbours of the grid"},
    [BITS] = {"bits", 2, MOST_BITS, 8, true, "bits b of a number; above 2^(b-1) - 1 steps it is sent as it is"},
    [STOCHASTIC] = {"stochastic", 0, 1, 0, true, "0: rounds to the nearest; 1: at random, without bias"},
};

const struct sg_code sg_code_grid = {
    .name = "grid",
    .summary = "multiples of a fixed step in b bits",
    .number = 34,
    .random = true,
    .params = sg_code_grid_params,
    .n_params = PARAMS,
    .most_bytes = most_bytes,
    .encode = encode_grid,
    .decode = decode_grid,
    .cut = cut_grid,
    .valid = valid_grid,
    .layout = &grid.layout,
    .encode_on_gpu = grid_there,
    .read_on_gpu = wire_buckets_read_on_gpu,
};
