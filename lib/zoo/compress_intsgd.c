/* compress_intsgd.c: every element as an integer, in one scale that every worker computes from the sums of earlier
 * steps (IntSGD, Mishchenko, Wang, Kovalev and Richtárik, ICLR 2022).
 *
 * Worker i sends q = alpha p, rounded at random without bias; the result is sum q / alpha. At the first step p is sent
 * as it is. After each step with the mean over workers m, r = beta r + (1 - beta) |m|^2, at first |m|^2, and alpha =
 * scale sqrt(d) / sqrt(2 P (r + 1e-16)) for P workers. |q| is at most floor((2^(bits-1) - 1) / P), so that the sum fits
 * into the bits.
 *
 * Memory: alpha of this step, 0 where p is sent as it is; alpha of the next; r. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>
#include <string.h>

enum { BITS, BETA, SCALE, PARAMS };
enum { NOW, NEXT, MOVING, FLOATS };

static size_t length(const struct sg_shared *s, unsigned round) {
    (void)round;
    return s->layout.offset[s->layout.n_layers];
}

static size_t floats(const struct sg_shared *s) {
    (void)s;
    return FLOATS;
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const size_t d = length(s, round);
    if (s->memory[NEXT] > 0) {
        sg_integers_round(w, w->value, p, 0, d, (double)s->memory[NEXT], sg_integers_most(s));
        sg_integers_write(w, d, (unsigned)s->param[BITS], out);
        return;
    }
    memcpy(w->value, p, d * sizeof *p);
    method_send_floats(w, d, method_count_all(w), NULL, w->value, 32.0 * (double)d, out);
}

static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    const size_t d = length(s, round);
    const double workers = (double)s->workers, beta = s->param[BETA];
    float *memory = s->memory;
    const bool first = memory[NEXT] == 0;
    memory[NOW] = memory[NEXT];
    for (size_t i = 0; !first && i < d; i++)
        sum[i] = sg_integers_value((double)sum[i] / (double)memory[NOW]);
    const double square = s->kernels->sum_squares(&s->exec, sum, d) / (workers * workers);
    memory[MOVING] = (float)(first ? square : beta * (double)memory[MOVING] + (1 - beta) * square);
    const double alpha = s->param[SCALE] * sqrt((double)d) / sqrt(2 * workers * ((double)memory[MOVING] + 1e-16));
    memory[NEXT] = (float)fmin(fmax(alpha, 0x1p-126), 0x1p126);
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const size_t d = length(s, 0);
    const double alpha = (double)s->memory[NOW];
    (void)sum;
    if (alpha > 0)
        sg_integers_round(w, w->value, e, 0, d, alpha, sg_integers_most(s));
    for (size_t i = 0; i < d; i++)
        e[i] = alpha > 0 ? e[i] - sg_integers_value((double)w->value[i] / alpha) : 0;
}

static sg_status open_intsgd(struct sg_worker *w, struct sg_error *err) {
    return sg_integers_open(w, 0, sg_integers_most(w->shared) >= 1, "intsgd", err);
}

static const struct sg_parameter params[PARAMS] = {
    [BITS] = {"bits", 2, 24, 8, true, "bits of an integer and of the sum over workers"},
    [BETA] = {"beta", 0, 1, 0.9, false, "factor on the old moving average of |mean|^2"},
    [SCALE] = {"scale", 1e-9, 1e9, 1, false, "factor on alpha; larger is finer"},
};

static const struct sg_rounds rounds = {
    .count = 1, .length = length, .integers = true, .floats = floats, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_intsgd = {
    .name = "intsgd",
    .summary = "every element as an integer, in a scale from the steps before",
    .source = "Mishchenko et al., ICLR 2022",
    .traits = SG_TRAIT_DENSE | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .open = open_intsgd,
    .data_bytes = sg_integers_bytes,
    .encode = encode,
    .rounds = &rounds,
};
