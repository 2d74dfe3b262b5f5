/* compress_wangni.c: an element of a layer is sent with a probability in proportion to its magnitude, which makes the
 * mean error the smallest for the number of elements that is expected.
 *
 * With a magnitude m of the layer, x is sent as it is if |x| >= m, else as m with x's sign with the probability |x| /
 * m. So what is sent is x in the mean. m is found by the greedy algorithm of the paper: first such that the
 * probabilities |x| / m, be they above 1, add up to k; then, as long as m falls, such that those below 1 add up to what
 * the others leave of k. The message is in the code `least`, and a position costs ceil(log2 n) bits. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <float.h>
#include <math.h>

#include "sg_rng.h"

enum { TURNS = 20 };

static size_t data_bytes(const struct sg_shared *s) {
    return method_code_bytes(s, &sg_code_least);
}

/* The sum of magnitudes below m, and how many reach it. */
static double sum_below(const float *x, size_t n, double m, size_t *reach) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = fabs((double)x[i]);
        sum += a < m ? a : 0;
        count += a >= m;
    }
    *reach = count;
    return sum;
}

/* m of a layer, rounded to a float, which may send some more than k of numbers near the largest float. INFINITY sends
 * nothing, where all is 0. */
float sg_proportional_level(const float *x, size_t n, size_t k) {
    size_t reach;
    double m = sum_below(x, n, INFINITY, &reach) / (double)k;
    if (!(m > 0))
        return INFINITY;
    for (int turn = 0; turn < TURNS; turn++) {
        const double sum = sum_below(x, n, m, &reach), next = k > reach ? sum / (double)(k - reach) : m;
        if (!(next < m) || !(next > 0))
            break;
        m = next;
    }
    return (float)fmin(fmax(m, (double)FLT_TRUE_MIN), (double)FLT_MAX);
}

/* One word of the stream for each element, whether it is needed or not. */
static size_t draw(const float *x, size_t n, float m, size_t begin, sg_rng *rng, uint32_t *index, float *value) {
    size_t sent = 0;
    for (size_t i = 0; i < n; i++) {
        const double chance = (double)fabsf(x[i]) / (double)m, u = (double)(sg_rng_u32(rng) >> 8) * 0x1p-24;
        index[sent] = (uint32_t)(begin + i);
        value[sent] = chance >= 1 ? x[i] : copysignf(m, x[i]);
        sent += u < chance;
    }
    return sent;
}

static void encode_wangni(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_COMPRESS, w->number, s->step);
    double positions = 0;
    (void)round;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
        const float m = sg_proportional_level(p + begin, n, sg_share_in(s, l, n));
        w->count[l] = draw(p + begin, n, m, begin, &rng, w->index + out->count, w->value + out->count);
        out->count += w->count[l];
        positions += (n > 0 ? (double)w->count[l] * ceil(log2((double)n)) : 0);
    }
    out->n = method_elements(s);
    out->index = w->index;
    w->status = method_write(w, &sg_code_least, (struct sg_numbers){.value = w->value, .count = out->count}, out);
    out->bits += positions;
}

static const struct sg_parameter params[SG_SHARE_PARAMS] = {
    [SG_SHARE_K] = {"k", 1, 4294967295.0, NAN, true, "expected elements of every layer"},
    [SG_SHARE_DENSITY] = {"density", 0, 1, NAN, false, "the same as a fraction"},
};

const struct sg_compressor_ops sg_compress_wangni = {
    .name = "wangni",
    .summary = "elements with a probability in proportion to their magnitude, without bias",
    .source = "Wangni et al., NeurIPS 2018",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = SG_SHARE_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .data_bytes = data_bytes,
    .encode = encode_wangni,
};
