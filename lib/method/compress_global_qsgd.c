/* compress_global_qsgd.c: every element as an integer, in the scale of the largest magnitude that any worker has in the layer
 * (Global-QSGD with linear levels, Xin et al., ECAI 2025).
 *
 *     round 0    the largest |p_i| of each layer           combine: M, the largest of all workers
 *     round 1    q = p L / (P M), rounded at random        combine: sum q P M / L
 *
 * with L = 2^(bits-1) - 1 and P workers. Memory: M of each layer. */
#include "method_private.h"

#include <math.h>

enum { BITS, PARAMS };

static size_t length(const struct sg_shared *s, unsigned round) {
    return round == 0 ? s->workers * s->layout.n_layers : s->layout.offset[s->layout.n_layers];
}

static size_t floats(const struct sg_layout *layout) {
    return layout->n_layers;
}

/* Units in p = 1; 0 where all elements of the layer are 0. */
static double factor_of(const struct sg_shared *s, size_t layer) {
    const double largest = (double)s->memory[layer];
    return largest > 0 ? (exp2(s->param[BITS] - 1) - 1) / ((double)s->workers * largest) : 0;
}

static void round_layers(const struct sg_worker *w, float *q, const float *p) {
    const size_t *offset = w->shared->layout.offset;
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        sg_integers_round(w, q + offset[l], p + offset[l], offset[l], offset[l + 1] - offset[l],
                          factor_of(w->shared, l), INFINITY);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const size_t *offset = s->layout.offset;
    float *q = ((struct sg_integers *)w->scratch)->q;
    for (size_t l = 0; round == 0 && l < s->layout.n_layers; l++)
        q[l] = s->kernels->max_abs(&s->exec, p + offset[l], offset[l + 1] - offset[l]);
    if (round == 0) {
        sg_integers_agree(w, s->layout.n_layers, 0, out);
    } else {
        round_layers(w, q, p);
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
            sum[i] = factor > 0 ? (float)((double)sum[i] / factor) : 0;
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const size_t *offset = s->layout.offset;
    float *q = ((struct sg_integers *)w->scratch)->q;
    (void)sum;
    round_layers(w, q, e);
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const double factor = factor_of(s, l);
        for (size_t i = offset[l]; factor > 0 && i < offset[l + 1]; i++)
            e[i] -= (float)((double)q[i] / factor);
    }
}

static sg_status open_global_qsgd(struct sg_worker *w, struct sg_error *err) {
    return sg_integers_open(w, w->shared->layout.n_layers, "global-qsgd", err);
}

static const struct sg_parameter params[PARAMS] = {
    [BITS] = {"bits", 2, 24, 8, true, "of an integer, and nearly of the sum over workers"},
};

static const struct sg_rounds rounds = {
    .count = 2, .length = length, .floats = floats, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_global_qsgd = {
    .name = "global-qsgd",
    .summary = "every element rounded at random to an integer, in the scale of the largest of all workers",
    .source = "Xin et al., ECAI 2025",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM,
    .params = params,
    .n_params = PARAMS,
    .open = open_global_qsgd,
    .encode = encode,
    .rounds = &rounds,
};
