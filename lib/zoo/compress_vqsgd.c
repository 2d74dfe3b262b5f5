/* compress_vqsgd.c: vqSGD with the cross-polytope (Gandikota, Kane, Maity, Mazumdar, AISTATS 2021, arXiv 1911.07971),
 * one of the compressors that are made for a budget of bits a vector, equation (8) of the paper.
 *
 * A layer x of n elements lies in the convex hull of 2n vertices, +R and -R on each axis, R = sqrt(n) |x|. Of these k
 * are drawn: a vertex on the side of x_i with the probability |x_i| / R + c, one on the other side with c, where c is
 * such that all add up to 1. So x is the mean of what is drawn. The mean of the k vertices is sent: E|x - C(x)|^2 =
 * omega |x|^2, omega = (n - 1) / k. A vertex costs 1 + ceil(log2 n) bits, however often it is drawn, and |x| costs 32.
 *
 * The probabilities are those of the authors' code (rajkmaity/vqsgd); omega follows from |C(x)| = R for k = 1. With
 * `least-error` what is sent is multiplied by 1 / (1 + omega), as any unbiased compressor may be to make it relative.
 * That is not of the publication. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sg_rng.h"
#include "zoo_private.h"

enum { LEAST_ERROR = SG_SHARE_PARAMS, PARAMS };

static double omega(double n, double draws) {
    return (n - 1) / draws;
}

static size_t data_bytes(const struct sg_shared *s) {
    return method_code_bytes(s, &sg_code_least);
}

/* The draws of a layer, before they are assigned to elements. */
static sg_status open_vqsgd(struct sg_worker *w, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    size_t most = 0;
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t n = layout->offset[l + 1] - layout->offset[l];
        const size_t draws = w->shared->controlled ? n : sg_share_in(w->shared, l, n);
        most = draws > most ? draws : most;
    }
    w->scratch = malloc((most + 1) * sizeof(double));
    return w->scratch ? SG_OK : sg_fail_memory(err, "vqsgd");
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Draws axes by the sums of their two probabilities, and then the side of each. Vertices of both sides cancel, and an
 * axis without a rest is not sent. Returns how many are. Finite numbers may overflow when scaled. */
static size_t draw(const struct sg_worker *w, const float *x, size_t n, size_t begin, size_t draws, sg_rng *rng,
                   uint32_t *index, float *value) {
    const struct sg_shared *s = w->shared;
    const double radius = sqrt((double)n * s->kernels->sum_squares(&s->exec, x, n));
    const double shrink = s->param[LEAST_ERROR] > 0 ? 1 + omega((double)n, (double)draws) : 1;
    const double unit = radius / ((double)draws * shrink);
    double *at = w->scratch, magnitudes = 0, passed = 0;
    size_t sent = 0;
    for (size_t i = 0; i < n; i++)
        magnitudes += (double)fabsf(x[i]);
    const double spare = fmax(radius - magnitudes, 0) / (double)n; /* 2 c R */
    for (size_t j = 0; j < draws; j++)
        at[j] = radius * sg_rng_uniform(rng);
    qsort(at, draws, sizeof *at, ascending);
    for (size_t i = 0, j = 0; j < draws; i++) {
        const double a = (double)fabsf(x[i]);
        double net = 0;
        passed += a + spare;
        for (; j < draws && (at[j] < passed || i + 1 == n); j++)
            net += sg_rng_uniform(rng) * (a + spare) < a + spare / 2 ? 1 : -1;
        index[sent] = (uint32_t)(begin + i);
        value[sent] = (float)fmin(fmax((x[i] < 0 ? -net : net) * unit, -(double)FLT_MAX), (double)FLT_MAX);
        sent += net != 0;
    }
    return sent;
}

static void encode_vqsgd(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, w->number, s->step);
    double bits = 0;
    (void)round;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin, draws = sg_share_in(s, l, n);
        const bool zero = !(s->kernels->max_abs(&s->exec, p + begin, n) > 0); /* then |x| says all */
        w->count[l] =
            zero ? 0 : draw(w, p + begin, n, begin, draws, &rng, w->index + out->count, w->value + out->count);
        out->count += w->count[l];
        bits += (n > 0 ? 32 : 0) + (zero ? 0 : (double)draws * (1 + ceil(log2((double)n))));
    }
    out->n = method_elements(s);
    out->index = w->index;
    w->status = method_write(w, &sg_code_least, (struct sg_numbers){.value = w->value, .count = out->count}, out);
    out->bits = bits;
}

/* omega written as 1 - delta; multiplied by 1 / (1 + omega) the mean error is omega / (1 + omega). */
static double bound(const double *param, size_t n) {
    const double of = n > 0 ? omega((double)n, (double)n * sg_share_delta(param, n)) : 0;
    return param[LEAST_ERROR] > 0 ? 1 / (1 + of) : 1 - of;
}

static unsigned traits_of(const double *param) {
    return SG_TRAIT_RELATIVE | SG_TRAIT_RANDOM | (param[LEAST_ERROR] > 0 ? SG_TRAIT_WANTS_FEEDBACK : SG_TRAIT_UNBIASED);
}

static const struct sg_parameter params[PARAMS] = {
    [SG_SHARE_K] = {"k", 1, 4294967295.0, NAN, true, "vertices drawn for every layer"},
    [SG_SHARE_DENSITY] = {"density", 0, 1, NAN, false, "the same as a fraction"},
    [LEAST_ERROR] = {"least-error", 0, 1, 0, true,
                     "0: without bias; 1: shrunk to the least mean error, for error feedback"},
};

const struct sg_compressor_ops sg_compress_vqsgd = {
    .name = "vqsgd",
    .summary = "k random vertices of a cross-polytope around every layer, without bias",
    .source = "Gandikota et al., AISTATS 2021",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM,
    .traits_of = traits_of,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = open_vqsgd,
    .data_bytes = data_bytes,
    .encode = encode_vqsgd,
    .bound = bound,
};
