/* compress_switchml.c: every element as an integer, in a scale that the workers agree on for each block, so that a
 * switch can add them (SwitchML, Sapio et al., NSDI 2021).
 *
 *     round 0    for each block of a layer the E with 2^E > max |p_i|    combine: the largest E of all workers
 *     round 1    q = p f, rounded half away from 0, f = L / (P 2^E), L = 2^(bits-1) - 1, P workers
 *                combine: sum q / f
 *
 * |q| is at most floor(L / P), so the sum of P workers fits into the bits. With 32 bits the sums are exact as well, but
 * floats have 24 bits: round 1 sends the upper halves of all q, and round 2 the lower ones. Else round 2 sends nothing.
 * Numbers of two halves are counted twice in entries; their bits are counted once.
 *
 * Memory: E of each block, then of each element the sum of round 1. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <math.h>
#include <string.h>

enum { BITS, BLOCK, PARAMS };
enum { EXPONENT_BITS = 8, LONGEST = 32, MOST_BITS = 24, HALF = 1 << 16, MOST_WORKERS = 512 };

static size_t blocks_of(const struct sg_shared *s) {
    return sg_blocks_of(&s->layout, (size_t)s->param[BLOCK]);
}

/* Block after block; `next` is that after *b. Returns false behind the last. */
struct block {
    size_t number, layer, begin, end;
};
static bool next_block(const struct sg_shared *s, struct block *b) {
    const size_t *offset = s->layout.offset, size = (size_t)s->param[BLOCK];
    b->number += b->end > 0;
    b->begin = b->end;
    while (b->layer < s->layout.n_layers && b->begin == offset[b->layer + 1])
        b->layer++;
    if (b->layer == s->layout.n_layers)
        return false;
    const size_t left = offset[b->layer + 1] - b->begin;
    b->end = b->begin + (left < size ? left : size);
    return true;
}

/* The scale f of a block. */
static double scale_of(const struct sg_shared *s, size_t block) {
    return (exp2(s->param[BITS] - 1) - 1) / (double)s->workers * exp2(-(double)s->memory[block]);
}

static double unit_of(float p, double scale, double most) {
    const double q = fmin(floor(fabs((double)p) * scale + 0.5), most);
    return p < 0 ? -q : q;
}

/* The upper half, to the nearest, and what it lacks. */
static double upper_of(double q) {
    return floor((q + HALF / 2) / HALF);
}

static size_t length(const struct sg_shared *s, unsigned round) {
    const size_t d = method_elements(s);
    return round == 0 ? s->workers * blocks_of(s) : round == 1 || s->param[BITS] == LONGEST ? d : 0;
}

/* Blocks have at least one element. */
static size_t floats(const struct sg_shared *s) {
    return 2 * method_elements(s);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const bool halves = s->param[BITS] == LONGEST;
    const double most = sg_integers_most(s);
    float *q = w->value;
    struct block b = {0};
    while ((round < 2 || halves) && next_block(s, &b)) {
        if (round == 0) { /* E - 1, which is the exponent of the largest magnitude as a normal float; 0 has -127 */
            const float largest = s->kernels->max_abs(&s->exec, p + b.begin, b.end - b.begin);
            q[b.number] = largest >= 0x1p-126F ? (float)ilogbf(largest) : -127;
            continue;
        }
        const double scale = scale_of(s, b.number);
        for (size_t i = b.begin; i < b.end; i++) {
            const double unit = unit_of(p[i], scale, most), upper = halves ? upper_of(unit) : unit;
            q[i] = (float)(round == 1 ? upper : unit - HALF * upper);
        }
    }
    if (round == 0)
        sg_integers_agree(w, blocks_of(s), EXPONENT_BITS, out);
    else
        sg_integers_write(w, length(s, round), halves ? LONGEST / 2 : (unsigned)s->param[BITS], out);
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    const bool halves = s->param[BITS] == LONGEST;
    const size_t d = method_elements(s), blocks = blocks_of(s);
    float *first = s->memory + d;
    struct block b = {0};
    for (size_t i = 0; round == 0 && i < blocks; i++)
        s->memory[i] = sg_integers_agreed(s, sum, blocks, i) + 1;
    if (round == 1)
        memcpy(first, sum, d * sizeof *sum);
    while (round == 2 && next_block(s, &b)) {
        const double scale = scale_of(s, b.number);
        for (size_t i = b.begin; i < b.end; i++)
            sum[i] = sg_integers_value((halves ? HALF * (double)first[i] + (double)sum[i] : (double)first[i]) / scale);
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const double most = sg_integers_most(s);
    struct block b = {0};
    (void)sum;
    while (next_block(s, &b)) {
        const double scale = scale_of(s, b.number);
        for (size_t i = b.begin; i < b.end; i++)
            e[i] -= sg_integers_value(unit_of(e[i], scale, most) / scale);
    }
}

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    if (param[BITS] > MOST_BITS && param[BITS] != LONGEST)
        return sg_fail(err, SG_ERR_ARGUMENT, "'bits' is %g: at most %d, or %d", param[BITS], MOST_BITS, LONGEST);
    return SG_OK;
}

static sg_status open_switchml(struct sg_worker *w, struct sg_error *err) {
    const struct sg_shared *s = w->shared;
    return sg_integers_open(w, blocks_of(s), sg_integers_most(s) >= 1 && s->workers <= MOST_WORKERS, "switchml", err);
}

static const struct sg_parameter params[PARAMS] = {
    [BITS] = {"bits", 2, LONGEST, LONGEST, true, "bits of an integer and of the sum over workers: up to 24, or 32"},
    [BLOCK] = {"block", 1, 4294967295.0, 256, true, "neighbours that share an exponent of 8 bits"},
};

static const struct sg_rounds rounds = {
    .count = 3, .length = length, .integers = true, .floats = floats, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_switchml = {
    .name = "switchml",
    .summary = "every element as an integer in the workers' common scale, for a switch to add",
    .source = "Sapio et al., NSDI 2021",
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .open = open_switchml,
    .data_bytes = sg_integers_bytes,
    .encode = encode,
    .rounds = &rounds,
};
