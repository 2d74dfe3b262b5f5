/* compress_global_qsgd.c: every element as a level, in the scale of the largest magnitude that any worker has in the
 * layer (Global-QSGD, Xin et al., ECAI 2025).
 *
 *     round 0    the largest |p_i| of each layer           combine: M, the largest of all workers
 *
 * Linear levels, `global-qsgd`, with L = 2^(bits-1) - 1 and P workers:
 *
 *     round 1    q = p L / (P M), rounded at random        combine: sum q P M / L
 *
 * Exponential levels, `global-qsgd-exp`, with R the power of two from P on:
 *
 *     round 1    q = p / (2 R M), rounded at random to 0 or +-2^-1 .. 2^-L
 *     combine    2 R M times the sum of all q in a tree, where the sum of two becomes a power of two, at random and
 *                without bias: a + b, a >= b > 0, becomes 2 a with the probability b / a, else a; a - b becomes a / 2
 *                with the probability 2 b / a, else a
 *
 * So a sum takes no more bits than a number: |q| <= 1 / (2 R), and the sum of 2^h workers is at most 2^h / (2 R). What
 * a worker sends it takes out of its residual; what the tree rounds is nobody's. The authors' code needs P = R, and
 * rounds what is below 2^-L up. Memory: M of each layer. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

#include "sg_philox.h"
#include "zoo_private.h"

enum { BITS, PARAMS };

/* ---- linear levels, and what both have in common ---- */

static size_t length(const struct sg_shared *s, unsigned round) {
    return round == 0 ? s->workers * s->layout.n_layers : s->layout.offset[s->layout.n_layers];
}

/* Units in p = 1; 0 where all elements of the layer are 0. */
static double factor_of(const struct sg_shared *s, size_t layer) {
    const double largest = (double)s->memory[layer];
    return largest > 0 ? (exp2(s->param[BITS] - 1) - 1) / ((double)s->workers * largest) : 0;
}

/* No element is larger than the largest of all, unless another worker's message was damaged. */
static void round_layers(const struct sg_worker *w, float *q, const float *p) {
    const size_t *offset = w->shared->layout.offset;
    const double most = exp2(w->shared->param[BITS] - 1) - 1;
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        sg_integers_round(w, q + offset[l], p + offset[l], offset[l], offset[l + 1] - offset[l],
                          factor_of(w->shared, l), most);
}

static void encode_largest(struct sg_worker *w, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const size_t *offset = s->layout.offset;
    float *q = w->value;
    for (size_t l = 0; l < s->layout.n_layers; l++)
        q[l] = s->kernels->max_abs(&s->exec, p + offset[l], offset[l + 1] - offset[l]);
    sg_integers_agree(w, s->layout.n_layers, 0, out);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    if (round == 0) {
        encode_largest(w, p, out);
    } else {
        round_layers(w, w->value, p);
        sg_integers_write(w, length(s, round), (unsigned)s->param[BITS], out);
    }
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    const size_t *offset = s->layout.offset, layers = s->layout.n_layers;
    for (size_t l = 0; l < layers; l++) {
        if (round == 0)
            s->memory[l] = sg_integers_agreed(s, sum, layers, l);
        const double factor = factor_of(s, l);
        for (size_t i = offset[l]; round == 1 && i < offset[l + 1]; i++)
            sum[i] = factor > 0 ? sg_integers_value((double)sum[i] / factor) : 0;
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const size_t *offset = s->layout.offset;
    float *q = w->value;
    (void)sum;
    round_layers(w, q, e);
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const double factor = factor_of(s, l);
        for (size_t i = offset[l]; factor > 0 && i < offset[l + 1]; i++)
            e[i] -= sg_integers_value((double)q[i] / factor);
    }
}

static sg_status open_global_qsgd(struct sg_worker *w, struct sg_error *err) {
    return sg_integers_open(w, w->shared->layout.n_layers, true, "global-qsgd", err);
}

static const struct sg_parameter params[PARAMS] = {
    [BITS] = {"bits", 2, 24, 8, true, "bits of an integer, and nearly of the sum over workers"},
};

static const struct sg_rounds rounds = {
    .count = 2, .length = length, .integers = true, .floats = method_float_a_layer, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_global_qsgd = {
    .name = "global-qsgd",
    .summary = "every element rounded at random to an integer, by the workers' largest",
    .source = "Xin et al., ECAI 2025",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .open = open_global_qsgd,
    .data_bytes = sg_integers_bytes,
    .encode = encode,
    .rounds = &rounds,
};

/* ---- exponential levels ---- */

/* Messages have q times this, so that all levels of 8 bits are numbers of the code natural-8. */
#define RAISED 0x1p19

static double levels_of(const struct sg_shared *s) {
    return exp2(s->param[BITS] - 1) - 1;
}

static double power_from(size_t workers) {
    double power = 1;
    while (power < (double)workers)
        power *= 2;
    return power;
}

/* What q = 1 is in p; 0 where all elements of the layer are 0. */
static double unit_of(const struct sg_shared *s, size_t layer) {
    return 2 * power_from(s->workers) * (double)s->memory[layer];
}

/* 0 <= x <= 1/2 as 0 or a power of two from `least` on; u: a number from 0 up to 1. */
static double round_to_power(double x, double least, double u) {
    int exponent;
    if (x < least)
        return u < x / least ? least : 0;
    const double mantissa = frexp(x, &exponent);
    return ldexp(1, u < 2 * mantissa - 1 ? exponent : exponent - 1);
}

/* a + b, where both are 0 or powers of two with signs. */
static float add_powers(float a, float b, double u) {
    const float large = fabsf(a) >= fabsf(b) ? a : b, small = fabsf(a) >= fabsf(b) ? b : a;
    const double share = small != 0 ? fabs((double)small / (double)large) : 0;
    if ((large < 0) == (small < 0))
        return u < share ? 2 * large : large;
    return share == 1 ? 0 : u < 2 * share ? large / 2 : large;
}

static double draw_of(uint32_t word) {
    return 0x1p-24 * (double)(word >> 8);
}

/* q [d] <- RAISED times the levels of p [d]. */
static void round_to_powers(const struct sg_worker *w, float *q, const float *p) {
    const struct sg_shared *s = w->shared;
    const sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, w->number, s->step);
    const double least = exp2(-levels_of(s));
    uint32_t room[SG_PHILOX_ROOM];
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const double unit = unit_of(s, l);
        for (size_t at = s->layout.offset[l], end = s->layout.offset[l + 1], now; at < end; at += now) {
            now = end - at < SG_PHILOX_PIECE ? end - at : SG_PHILOX_PIECE;
            const uint32_t *draw = sg_philox_draws(room, rng.key, rng.counter, at, now);
            for (size_t j = 0; j < now; j++) {
                const double x = unit > 0 ? fmin(fabs((double)p[at + j]) / unit, 0.5) : 0;
                const double level = RAISED * round_to_power(x, least, draw_of(draw[j]));
                q[at + j] = (float)(p[at + j] < 0 ? -level : level);
            }
        }
    }
}

static void encode_powers(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    float *q = w->value;
    if (round == 0) {
        encode_largest(w, p, out);
        return;
    }
    const size_t d = method_count_all(w);
    round_to_powers(w, q, p);
    *out = (struct sg_message){.n = d, .count = d, .layer_count = w->count};
    method_write(w, &sg_code_natural_8, (struct sg_numbers){.value = q, .count = d}, out);
    out->summed = true;
    out->bits = s->param[BITS] * (double)d;
}

/* Each worker's part of a piece of elements. */
static size_t room_for_pieces(const struct sg_shared *s) {
    return s->workers * SG_PHILOX_PIECE * sizeof(float);
}

/* sum [count] <- the sum of all workers' elements first .. first + count - 1. Worker r + step, which hands its part on
 * to worker r, gives its number to the draws. */
static void add_piece(const struct sg_shared *s, float *sum, size_t first, size_t count) {
    float *part = s->room;
    uint32_t room[SG_PHILOX_ROOM];
    for (size_t w = 0; w < s->workers; w++)
        s->heard[w].code->decode(part + w * SG_PHILOX_PIECE, &s->heard[w], first, count);
    for (size_t step = 1; step < s->workers; step *= 2)
        for (size_t r = 0; r + step < s->workers; r += 2 * step) {
            float *to = part + r * SG_PHILOX_PIECE;
            const float *from = to + step * SG_PHILOX_PIECE;
            const sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, (uint32_t)(s->workers + r + step), s->step);
            const uint32_t *draw = sg_philox_draws(room, rng.key, rng.counter, first, count);
            for (size_t j = 0; j < count; j++)
                to[j] = add_powers(to[j], from[j], draw_of(draw[j]));
        }
    for (size_t j = 0; j < count; j++)
        sum[j] = part[j];
}

static void combine_powers(const struct sg_shared *s, unsigned round, float *sum) {
    const size_t *offset = s->layout.offset, layers = s->layout.n_layers;
    for (size_t l = 0; l < layers; l++) {
        if (round == 0)
            s->memory[l] = sg_integers_agreed(s, sum, layers, l);
        for (size_t at = offset[l], now; round == 1 && at < offset[l + 1]; at += now) {
            now = offset[l + 1] - at < SG_PHILOX_PIECE ? offset[l + 1] - at : SG_PHILOX_PIECE;
            add_piece(s, sum + at, at, now);
            for (size_t i = at; i < at + now; i++)
                sum[i] = sg_integers_value((double)sum[i] / RAISED * unit_of(s, l));
        }
    }
}

static void keep_powers(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const size_t *offset = s->layout.offset;
    float *q = w->value;
    (void)sum;
    round_to_powers(w, q, e);
    for (size_t l = 0; l < s->layout.n_layers; l++)
        for (size_t i = offset[l]; i < offset[l + 1]; i++)
            e[i] -= sg_integers_value((double)q[i] / RAISED * unit_of(s, l));
}

static sg_status open_powers(struct sg_worker *w, struct sg_error *err) {
    const struct sg_shared *s = w->shared;
    const bool fits = levels_of(s) >= 1 + log2(power_from(s->workers));
    return sg_integers_open(w, s->layout.n_layers, fits, "global-qsgd-exp", err);
}

static const struct sg_parameter power_params[PARAMS] = {
    [BITS] = {"bits", 2, 8, 8, true, "bits of sign and exponent, and of the sum over workers"},
};

static const struct sg_rounds power_rounds = {.count = 2,
                                              .hears = true,
                                              .length = length,
                                              .integers = true,
                                              .floats = method_float_a_layer,
                                              .room = room_for_pieces,
                                              .combine = combine_powers,
                                              .keep = keep_powers};

const struct sg_compressor_ops sg_compress_global_qsgd_exp = {
    .name = "global-qsgd-exp",
    .summary = "every element rounded at random to a power of two, by the workers' largest",
    .source = "Xin et al., ECAI 2025",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM,
    .params = power_params,
    .n_params = PARAMS,
    .open = open_powers,
    .data_bytes = sg_integers_bytes,
    .encode = encode_powers,
    .rounds = &power_rounds,
};
