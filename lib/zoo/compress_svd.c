/* compress_svd.c: two compressors that send some singular triplets of every layer's matrix M = p.
 *
 *     svd-threshold    those whose singular value is above tau. What is lost of a layer is the sum of the squares of
 *     the
 *                      others, at most min(rows, columns) tau^2: an absolute compressor whose rank follows the
 *                      gradient.
 *     atomo            each with a probability in proportion to its singular value, of which `rank` are expected, and
 *                      scaled by its inverse, so that the mean is M.
 *
 * Layers that are no matrices, and those that the triplets would not make smaller, are sent as they are. The left
 * vectors u are the eigenvectors of M M', or of M' M if M has fewer columns than rows; the other factor is M' u, which
 * is in the row space to the last bit. That takes min(rows, columns)^2 times the elements: seconds for the widest
 * layers. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sg_rng.h"

struct room {
    struct sg_factors *part; /* [n_layers] */
    struct sg_triplets matrix;
};

static bool is_matrix(const struct sg_layout *layout, size_t l) {
    const size_t n = layout->offset[l + 1] - layout->offset[l], rows = layout->rows ? layout->rows[l] : 1;
    return n > 0 && rows > 1 && n > rows;
}

sg_status sg_triplets_open(struct sg_worker *w, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    const size_t layers = layout->n_layers;
    size_t elements = 0, side = 0;
    for (size_t l = 0; l < layers; l++)
        if (is_matrix(layout, l)) {
            const size_t n = layout->offset[l + 1] - layout->offset[l], rows = layout->rows[l];
            const size_t m = rows < n / rows ? rows : n / rows;
            elements = n > elements ? n : elements;
            side = m > side ? m : side;
        }
    struct room *room = w->scratch =
        malloc(sizeof *room + layers * sizeof *room->part + (2 * elements + 2 * side * side) * sizeof(double) +
               side * (sizeof(size_t) + sizeof(float)));
    if (!room)
        return sg_fail_memory(err, "svd");
    room->part = (struct sg_factors *)(room + 1);
    room->matrix.a = (double *)(room->part + layers);
    room->matrix.q = room->matrix.a + elements;
    room->matrix.gram = room->matrix.q + elements;
    room->matrix.u = room->matrix.gram + side * side;
    room->matrix.order = (size_t *)(room->matrix.u + side * side);
    room->matrix.size = (float *)(room->matrix.order + side);
    return SG_OK;
}

static size_t data_bytes(const struct sg_shared *s) {
    return method_code_bytes(s, &sg_code_factors);
}

static double product(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Fills u, q, size and order. */
static void decompose(struct sg_triplets *x, const float *p) {
    const bool wide = x->rows <= x->columns;
    for (size_t i = 0; i < x->m; i++)
        for (size_t j = 0; j < x->n; j++)
            x->a[i * x->n + j] = (double)p[wide ? i * x->columns + j : j * x->columns + i];
    for (size_t i = 0; i < x->m; i++)
        for (size_t j = 0; j <= i; j++)
            x->gram[i * x->m + j] = x->gram[j * x->m + i] = product(x->a + i * x->n, x->a + j * x->n, x->n);
    sg_symmetric_eigen(x->gram, x->u, x->m);
    for (size_t i = 0; i < x->m; i++) {
        double *q = x->q + i * x->n;
        for (size_t j = 0; j < x->n; j++)
            q[j] = 0;
        for (size_t k = 0; k < x->m; k++)
            for (size_t j = 0; j < x->n; j++)
                q[j] += x->u[i * x->m + k] * x->a[k * x->n + j];
        x->size[i] = (float)fmin(sqrt(product(q, q, x->n)), (double)FLT_MAX);
        size_t at = i; /* insertion: as a rule there are few */
        for (; at > 0 && x->size[x->order[at - 1]] < x->size[i]; at--)
            x->order[at] = x->order[at - 1];
        x->order[at] = i;
    }
}

/* The first `rank` triplets of x->order as factors, each times its scale. False if they are not smaller than the
 * matrix, or too large for floats. */
static bool put_factors(struct sg_factors *part, float *value, const struct sg_triplets *x, size_t rank,
                        const double *scale) {
    const bool wide = x->rows <= x->columns;
    float *u = wide ? value : value + rank * x->rows, *q = wide ? value + rank * x->rows : value;
    double most = 0;
    for (size_t i = 0; i < rank; i++)
        most += scale[i] * (double)x->size[x->order[i]]; /* no sum of products is larger */
    if (rank * (x->rows + x->columns) >= x->rows * x->columns || most > (double)FLT_MAX / 2)
        return false;
    for (size_t i = 0; i < rank; i++) {
        for (size_t j = 0; j < x->m; j++)
            u[i * x->m + j] = (float)x->u[x->order[i] * x->m + j];
        for (size_t j = 0; j < x->n; j++)
            q[i * x->n + j] = (float)(scale[i] * x->q[x->order[i] * x->n + j]);
    }
    *part = (struct sg_factors){x->rows * x->columns, x->rows, rank, value};
    return true;
}

/* The sum of the first `rank` triplets of x->order, each times its scale, as plain numbers. */
static void put_sum(float *value, const struct sg_triplets *x, size_t rank, const double *scale) {
    const bool wide = x->rows <= x->columns;
    for (size_t j = 0; j < x->m; j++)
        for (size_t k = 0; k < x->n; k++) {
            double sum = 0;
            for (size_t i = 0; i < rank; i++)
                sum += x->u[x->order[i] * x->m + j] * (scale[i] * x->q[x->order[i] * x->n + k]);
            value[wide ? j * x->n + k : k * x->m + j] = (float)fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, sum));
        }
}

void sg_triplets_encode(struct sg_worker *w, const float *p, struct sg_message *out, sg_triplets_fn *choose,
                        bool random) {
    const struct sg_layout *layout = &w->shared->layout;
    struct room *room = w->scratch;
    struct sg_triplets *x = &room->matrix;
    sg_rng rng = sg_rng_open(w->shared->seed, SG_RNG_COMPRESS, w->number, w->shared->step);
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t begin = layout->offset[l], n = layout->offset[l + 1] - begin;
        w->count[l] = n;
        room->part[l] = (struct sg_factors){n, 0, 0, p + begin};
        if (!is_matrix(layout, l))
            continue;
        x->rows = layout->rows[l];
        x->columns = n / x->rows;
        x->m = x->rows < x->columns ? x->rows : x->columns;
        x->n = n / x->m;
        decompose(x, p + begin);
        const size_t rank = choose(w, l, x, &rng, x->gram);
        if (!put_factors(&room->part[l], w->value + begin, x, rank, x->gram) && random) {
            put_sum(w->value + begin, x, rank, x->gram);
            room->part[l].value = w->value + begin;
        }
    }
    out->code = &sg_code_factors;
    out->n = out->count = method_elements(w->shared);
    out->data = w->data;
    out->bytes = sg_factors_encode(w->data, room->part, layout->n_layers, &out->bits);
}

/* ---- svd-threshold ---- */

static size_t choose_above(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng, double *scale) {
    const double tau = w->shared->knob[layer] * w->unit;
    size_t rank = 0;
    (void)rng;
    for (; rank < x->m && (double)x->size[x->order[rank]] > tau; rank++)
        scale[rank] = 1;
    return rank;
}

static void encode_above(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    sg_triplets_encode(w, p, out, choose_above, false);
}

static sg_status check_tau(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[0]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'tau'") : SG_OK;
}

/* min(rows, columns) is at most n / 2 of a matrix, and 0 is lost of all else; so this holds for the whole model,
 * too. */
static double bound_above(const double *param, size_t n) {
    return (double)n / 2 * param[0] * param[0];
}

static const struct sg_parameter threshold_params[] = {
    {"tau", 0, FLT_MAX, NAN, false, "threshold on the gradient's scale"},
};

const struct sg_compressor_ops sg_compress_svd_threshold = {
    .name = "svd-threshold",
    .summary = "the singular triplets of a layer's matrix with values above tau",
    .source = "section 4.2, for singular values",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE,
    .params = threshold_params,
    .n_params = 1,
    .check = check_tau,
    .knob = method_first_knob,
    .open = sg_triplets_open,
    .data_bytes = data_bytes,
    .encode = encode_above,
    .collective = "auto-gather",
    .bound = bound_above,
};

/* ---- ATOMO ---- */

enum { EXPECTED, ATOMO_PARAMS };

size_t sg_triplets_draw(struct sg_triplets *x, double level, sg_rng *rng, double *scale) {
    size_t sent = 0;
    for (size_t i = 0; i < x->m; i++) {
        const size_t at = x->order[i];
        const double chance = fmin(1, (double)x->size[at] / level);
        if ((double)(sg_rng_u32(rng) >> 8) * 0x1p-24 < chance) {
            x->order[sent] = at;
            scale[sent++] = 1 / chance;
        }
    }
    return sent;
}

static size_t choose_at_random(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng,
                               double *scale) {
    const double knob = fmax(1, floor(w->shared->knob[layer]));
    const size_t rank = knob < (double)x->m ? (size_t)knob : x->m;
    for (size_t i = 1; i < x->m; i++) /* what is rounding only must not be scaled up */
        if (x->size[x->order[i]] < 0x1p-40F * x->size[x->order[0]])
            x->size[x->order[i]] = 0;
    return sg_triplets_draw(x, (double)sg_proportional_level(x->size, x->m, rank), rng, scale);
}

static void encode_at_random(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    sg_triplets_encode(w, p, out, choose_at_random, true);
}

static const struct sg_parameter atomo_params[ATOMO_PARAMS] = {
    [EXPECTED] = {"rank", 1, 1024, 3, true, "expected triplets of every layer's matrix"},
};

const struct sg_compressor_ops sg_compress_atomo = {
    .name = "atomo",
    .summary = "random singular triplets of a layer's matrix, without bias",
    .source = "Wang et al., NeurIPS 2018",
    .traits = SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM | SG_TRAIT_DENSE,
    .params = atomo_params,
    .n_params = ATOMO_PARAMS,
    .knob = method_first_knob,
    .open = sg_triplets_open,
    .data_bytes = data_bytes,
    .encode = encode_at_random,
    .collective = "auto-gather",
};
