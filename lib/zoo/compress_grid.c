/* compress_grid.c: an absolute compressor: every element rounded to a multiple of a step D (lib/wire/code_grid.c).
 *
 * Elements that are rounded to 0 are not sent. With rounding to the nearest these are |x| <= D / 2, so D also acts as a
 * threshold. It is the knob that a controller such as `budget` sets; the entries of the budget are those sent. With a
 * budget of entries, the largest of the nonzero magnitudes are sent.
 *
 * A message costs the smaller of two sizes: b bits for every element, or b + 32 bits (with position) for every sent
 * one. A number that the code sends unchanged costs 64 bits more. The step is not sent: all workers have it. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { STEP, BITS, STOCHASTIC, PARAMS };

/* The step of each layer in units of p, and the least magnitude above 0. */
struct grid {
    float *least;
    double step[]; /* [n_layers]; least lies behind it */
};

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[STEP]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'step'") : SG_OK;
}

/* What follows a message begins where the kernels of a GPU take a vector. */
static size_t message_bytes(const struct sg_shared *s) {
    const size_t unit = 16;
    return (method_code_bytes(s, &sg_code_grid) + unit - 1) / unit * unit;
}

/* A message, and behind it all of p as it is read back. */
static size_t data_bytes(const struct sg_shared *s) {
    return message_bytes(s) + s->layout.offset[s->layout.n_layers] * sizeof(float);
}

static sg_status open_grid(struct sg_worker *w, struct sg_error *err) {
    const size_t layers = w->shared->layout.n_layers;
    struct grid *g = w->scratch = malloc(sizeof *g + layers * (sizeof *g->step + sizeof *g->least));
    if (!g)
        return sg_fail_memory(err, "grid");
    g->least = (float *)(g->step + layers);
    for (size_t l = 0; l < layers; l++)
        g->least[l] = 0x1p-149F;
    return SG_OK;
}

/* Selects what is not 0, or the largest of it if the controller allows less: of equal ones those with the lower
 * index. */
static int select_nonzero(struct sg_worker *w, const struct sg_select *nonzero, size_t *count, bool *is_cut) {
    const struct sg_kernels *kernels = w->shared->kernels;
    const struct sg_layout *layout = &w->shared->layout;
    const struct grid *g = w->scratch;
    int status = kernels->select_threshold(nonzero, g->least);
    *count = 0;
    for (size_t l = 0; status == SG_KERNEL_OK && l < layout->n_layers; l++)
        *count += w->count[l];
    *is_cut = (double)*count > w->most;
    if (status != SG_KERNEL_OK || !*is_cut)
        return status;
    const size_t most = (size_t)w->most;
    struct sg_select largest = *nonzero;
    largest.n_layers = 1;
    largest.offset = (const size_t[]){0, layout->offset[layout->n_layers]};
    largest.count = count;
    status = kernels->select_topk(&largest, &most, NULL);
    return status == SG_KERNEL_OK ? method_count_layers(kernels, nonzero, *count) : status;
}

/* All of p is written and read back once, so that each element has its own random draw. What is not 0 is then written
 * for the message; it is a multiple of D, which needs no rounding, or beyond b bits. */
static void encode_grid(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const size_t d = method_count_all(w);
    const double nearest[PARAMS] = {[BITS] = s->param[BITS]};
    struct grid *g = w->scratch;
    float *rounded = (float *)((char *)w->data + message_bytes(s));
    struct sg_message all = {.n = d, .count = d};
    size_t count;
    bool is_cut;
    (void)round;
    for (size_t l = 0; l < s->layout.n_layers; l++)
        g->step[l] = fmin(s->knob[l] * w->unit, (double)FLT_MAX);
    w->status = method_write(w, &sg_code_grid,
                             (struct sg_numbers){.value = p, .count = d, .param = s->param, .knob = g->step}, &all);
    if (w->status != SG_KERNEL_OK)
        return;
    const struct sg_select nonzero = method_selection(w, sg_message_values(&all, rounded, s->kernels, &s->exec));
    w->status = select_nonzero(w, &nonzero, &count, &is_cut);
    if (w->status != SG_KERNEL_OK)
        return;
    out->n = d;
    out->count = count;
    out->index = w->index;
    w->status =
        method_write(w, &sg_code_grid,
                     (struct sg_numbers){.value = w->value, .count = count, .param = nearest, .knob = g->step}, out);
    /* If only the largest are sent, the receiver needs their positions. */
    out->bits = fmin(out->bits + 32.0 * (double)count, is_cut ? (double)INFINITY : all.bits);
}

/* An element x lies between two multiples of D: to the nearest it loses at most D / 2, and at random D^2 / 4 in the
 * mean. */
static double bound(const double *param, size_t n) {
    return (double)n * param[STEP] * param[STEP] / 4;
}

static unsigned traits_of(const double *param) {
    return SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU |
           (param[STOCHASTIC] > 0 ? SG_TRAIT_RANDOM | SG_TRAIT_UNBIASED : 0);
}

static const struct sg_parameter params[PARAMS] = {
    [STEP] = {"step", 0, FLT_MAX, NAN, false, "distance D between neighbours of the grid, on the gradient's scale"},
    [BITS] = {"bits", 2, 24, 8, true, "bits b of a number; above 2^(b-1) - 1 steps it is sent as it is"},
    [STOCHASTIC] = {"stochastic", 0, 1, 0, true, "0: rounds to the nearest; 1: at random, without bias"},
};

const struct sg_compressor_ops sg_compress_grid = {
    .name = "grid",
    .summary = "every element rounded to a multiple of a fixed step; zeros are not sent",
    .source = "Gupta et al., ICML 2015; section 5 names it as absolute",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .traits_of = traits_of,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = method_first_knob,
    .open = open_grid,
    .data_bytes = data_bytes,
    .encode = encode_grid,
    .bound = bound,
};
