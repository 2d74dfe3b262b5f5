/* compress_sparse_signs.c: some elements of every layer, each sent as its sign: those of at least tau as tau (Strom),
 * the largest ones as their mean magnitude (sign-Top-k, STC), a share of both sides as the mean of each (Dryden et
 * al.).
 *
 * A message costs what these publications count: for an entry its sign and ceil(log2 n) bits of its position in a layer
 * of n elements, and 32 bits for a mean. Top-k both ways stands here because STC is built in the same way; it sends
 * numbers as they are and counts like Top-k. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "zoo_private.h"

/* ---- the message of what was selected ---- */

static double position_bits(size_t count, size_t n) {
    return n > 1 ? (double)count * (64 - __builtin_clzll(n - 1)) : 0;
}

/* Writes the selection in the worker's room as a message; its values in `code`, with this magnitude of each layer. */
static void finish(struct sg_worker *w, const struct sg_code *code, const double *magnitude, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    double positions = 0;
    out->n = layout->offset[layout->n_layers];
    out->index = w->index;
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t n = layout->offset[l + 1] - layout->offset[l];
        out->count += w->count[l];
        positions += position_bits(w->count[l], n);
    }
    w->status =
        method_write(w, code, (struct sg_numbers){.value = w->value, .count = out->count, .knob = magnitude}, out);
    out->bits += positions;
}

/* ---- strom: a fixed threshold ---- */

enum { TAU, STROM_PARAMS };

/* The threshold of each layer, as the kernels and as the code take it. */
struct strom {
    float *tau;
    double magnitude[]; /* [n_layers]; tau lies behind it */
};

static sg_status open_strom(struct sg_worker *w, struct sg_error *err) {
    const size_t n = w->shared->layout.n_layers;
    struct strom *t = w->scratch = malloc(sizeof *t + n * (sizeof *t->magnitude + sizeof *t->tau));
    if (!t)
        return sg_fail_memory(err, "strom");
    t->tau = (float *)(t->magnitude + n);
    return SG_OK;
}

static void encode_strom(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    struct strom *t = w->scratch;
    for (size_t l = 0; l < w->shared->layout.n_layers; l++) {
        t->tau[l] = fmaxf((float)(w->shared->knob[l] * w->unit), FLT_TRUE_MIN);
        t->magnitude[l] = (double)t->tau[l];
    }
    const struct sg_select s = method_selection(w, p);
    w->status = w->shared->kernels->select_threshold(&s, t->tau);
    if (w->status == SG_KERNEL_OK)
        finish(w, &sg_code_signs_fixed, t->magnitude, out);
    (void)round;
}

static sg_status check_strom(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return param[TAU] > 0 ? SG_OK : sg_fail(err, SG_ERR_ARGUMENT, "needs 'tau', above 0");
}

static const struct sg_parameter strom_params[STROM_PARAMS] = {
    [TAU] = {"tau", 0, FLT_MAX, NAN, false, "sends where |p / gamma| >= tau"},
};

/* What an element has above tau stays, so no bound holds where |p| > 2 tau: a residual may grow at every step. */
const struct sg_compressor_ops sg_compress_strom = {
    .name = "strom",
    .summary = "tau or -tau for every element at least tau in magnitude",
    .source = "Strom, Interspeech 2015",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = strom_params,
    .n_params = STROM_PARAMS,
    .check = check_strom,
    .knob = method_first_knob,
    .open = open_strom,
    .encode = encode_strom,
};

/* ---- sign-Top-k, and STC and Top-k both ways, which compress the sum again ---- */

static void encode_topk(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    struct sg_select s = method_selection(w, p);
    w->status = sg_topk_select(w, &s);
    if (w->status == SG_KERNEL_OK)
        finish(w, &sg_code_signs, NULL, out);
    (void)round;
}

/* Of k numbers with the sum S of magnitudes S^2 / k is kept. That is least where one number is not 0, 1/k of |x|^2, or
 * where all n are equal, k/n of it. */
static double bound_topk(const double *param, size_t n) {
    const size_t knob = sg_share_knob(param), k = sg_share_of(param[knob], knob == SG_SHARE_DENSITY, n);
    return n > 0 ? fmin(1 / (double)k, (double)k / (double)n) : 1;
}

/* x <- what is left of x + sum / workers when the k largest of it are sent, as they are or as their mean magnitude; sum
 * <- what was sent, as often as there are workers. */
static void send_again(const struct sg_shared *s, float *x, float *sum, size_t n, size_t k, bool as_signs) {
    const float workers = (float)s->workers;
    double total = 0;
    method_add_mean(s, x, sum, n);
    const struct sg_largest of = sg_largest_of(x, n, k);
    struct sg_largest still = of;
    for (size_t i = 0; i < n; i++)
        total += sg_is_largest(&still, x[i]) ? (double)fabsf(x[i]) : 0;
    const float mean = (float)(total / (double)k);
    still = of;
    for (size_t i = 0; i < n; i++) {
        const float size = !as_signs ? x[i] : x[i] < 0 ? -mean : mean;
        const float sent = sg_is_largest(&still, x[i]) ? size : 0;
        x[i] -= sent;
        sum[i] = workers * sent;
    }
}

/* The memory is the receivers' residual, the same on every rank. */
static void combine_largest(const struct sg_shared *s, float *sum, bool as_signs) {
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
        if (n > 0)
            send_again(s, s->memory + begin, sum + begin, n, sg_share_in(s, l, n), as_signs);
    }
}

static void combine_stc(const struct sg_shared *s, unsigned round, float *sum) {
    combine_largest(s, sum, true);
    (void)round;
}

static void combine_values(const struct sg_shared *s, unsigned round, float *sum) {
    combine_largest(s, sum, false);
    (void)round;
}

static size_t room_stc(const struct sg_shared *s) {
    return s->layout.offset[s->layout.n_layers] * sizeof(uint32_t);
}

static void again_stc(const struct sg_shared *s, const float *sum, struct sg_message *out) {
    uint32_t *index = s->room;
    *out = (struct sg_message){.code = &sg_code_signs, .n = s->layout.offset[s->layout.n_layers], .index = index};
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], end = s->layout.offset[l + 1], before = out->count;
        for (size_t i = begin; i < end; i++)
            if (sum[i] != 0)
                index[out->count++] = (uint32_t)i;
        const size_t count = out->count - before;
        out->bits += position_bits(count, end - begin) + (double)count + (count > 0 ? 32 : 0);
    }
    out->bytes = sg_code_signs.most_bytes(&(struct sg_numbers){.count = out->count, .parts = s->layout.n_layers});
}

/* The same positions as floats. */
static void again_values(const struct sg_shared *s, const float *sum, struct sg_message *out) {
    again_stc(s, sum, out);
    out->code = &sg_code_fp32;
    out->bytes = out->count * sg_code_fp32.width;
    out->bits = 64 * (double)out->count;
}

static void encode_values(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    method_topk_message(w, p, out);
    (void)round;
}

static const struct sg_rounds values_rounds = {
    .count = 1, .floats = method_elements, .room = room_stc, .combine = combine_values, .again = again_values};

static const struct sg_rounds stc_rounds = {
    .count = 1, .floats = method_elements, .room = room_stc, .combine = combine_stc, .again = again_stc};

const struct sg_compressor_ops sg_compress_signtopk = {
    .name = "signtopk",
    .summary = "the k largest magnitudes of every layer, as their mean with a sign (Qsparse)",
    .source = "Basu et al., NeurIPS 2019",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = sg_share_params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .encode = encode_topk,
    .bound = bound_topk,
};

const struct sg_compressor_ops sg_compress_stc = {
    .name = "stc",
    .summary = "signtopk twice, as sign-l2-twice",
    .source = "Sattler et al., IEEE TNNLS 2020",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK,
    .params = sg_share_params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .encode = encode_topk,
    .rounds = &stc_rounds,
    .bound = bound_topk,
};

/* Both publications compress what workers send and their mean, with feedback on both sides. In the second an adaptive
 * optimizer follows (FORMULAS.md). */
const struct sg_compressor_ops sg_compress_topk_twice = {
    .name = "topk-twice",
    .summary = "topk twice, as sign-l2-twice",
    .source = "Tang et al. (DoubleSqueeze), ICML 2019; Zhong et al. (BytePS-Compress), 2021",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK,
    .params = sg_share_params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .encode = encode_values,
    .rounds = &values_rounds,
    .bound = sg_share_delta,
};

/* ---- dryden: a share of both sides ---- */

enum { SHARE, DRYDEN_PARAMS };

/* Selects the largest of the elements of a layer that have this sign: positions in the layer to w->index + first.
 * Returns how many. */
static size_t select_side(struct sg_worker *w, const float *x, size_t n, float sign, size_t l, size_t first) {
    float *side = w->data;
    size_t on = 0, sent = 0;
    for (size_t i = 0; i < n; i++) {
        const float y = sign * x[i];
        side[i] = y > 0 ? y : 0;
        on += y > 0;
    }
    const size_t k = on > 0 ? sg_share_of(w->shared->knob[l], true, on) : 0;
    const struct sg_select s = {.exec = &w->shared->exec,
                                .n_layers = 1,
                                .offset = (const size_t[]){0, n},
                                .g = side,
                                .scale = 1,
                                .decay = 1,
                                .index = w->index + first,
                                .value = w->value + first,
                                .count = &sent};
    const int status = w->shared->kernels->select_topk(&s, &k, NULL);
    w->status = status != SG_KERNEL_OK ? status : w->status;
    return sent;
}

/* Appends the chosen elements of layer l to the selection. The positive ones wait in scratch for the negative ones. */
static void select_both(struct sg_worker *w, const float *p, size_t l, size_t first) {
    const size_t begin = w->shared->layout.offset[l], n = w->shared->layout.offset[l + 1] - begin;
    uint32_t *above = w->scratch, *to = w->index + first;
    const size_t n_above = select_side(w, p + begin, n, 1, l, first);
    memcpy(above, to, n_above * sizeof *above);
    const size_t n_below = select_side(w, p + begin, n, -1, l, first);
    const uint32_t *below = memmove(to + n_above, to, n_below * sizeof *to); /* the merge ends where they end */
    w->count[l] = n_above + n_below;
    for (size_t j = 0, a = 0, b = 0; j < w->count[l]; j++) {
        to[j] = (uint32_t)begin + (b == n_below || (a < n_above && above[a] < below[b]) ? above[a++] : below[b++]);
        w->value[first + j] = p[to[j]];
    }
}

static void encode_dryden(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    size_t first = 0;
    for (size_t l = 0; l < w->shared->layout.n_layers && w->status == SG_KERNEL_OK; first += w->count[l++])
        select_both(w, p, l, first);
    if (w->status == SG_KERNEL_OK)
        finish(w, &sg_code_two_means, NULL, out);
    (void)round;
}

static sg_status check_dryden(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return param[SHARE] > 0 ? SG_OK : sg_fail(err, SG_ERR_ARGUMENT, "needs 'density', above 0");
}

/* On a side of N elements at least min(1/k, k/N) of the squares is kept, as by sign-Top-k. */
static double bound_dryden(const double *param, size_t n) {
    (void)param;
    return n > 0 ? 1 / (double)n : 1;
}

static const struct sg_parameter dryden_params[DRYDEN_PARAMS] = {
    [SHARE] = {"density", 0, 1, NAN, false, "fraction c of the N elements of a sign: sends max(1, floor(c N))"},
};

const struct sg_compressor_ops sg_compress_dryden = {
    .name = "dryden",
    .summary = "the largest positive and negative elements of every layer, as their two means",
    .source = "Dryden et al., MLHPC 2016",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK,
    .params = dryden_params,
    .n_params = DRYDEN_PARAMS,
    .check = check_dryden,
    .knob = method_first_knob,
    .open = sg_positions_open,
    .encode = encode_dryden,
    .bound = bound_dryden,
};
