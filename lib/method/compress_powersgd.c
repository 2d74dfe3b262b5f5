/* compress_powersgd.c: PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019, Algorithm 1): every matrix M = p of n rows
 * and m columns as the product of two thin ones of r columns.
 *
 *     round 0    P_i = M_i Q        combine: P = an orthonormal basis of sum P_i
 *     round 1    Q_i = M_i' P       combine: sum = P (sum Q_i)';  the next step begins with Q = sum Q_i
 *
 * Layers that are no matrices, or that two factors would not make smaller, are sent as they are in round 0. The
 * residual is what the mean over workers did not bring, or, with `local-residual`, what the worker's own product P Q_i'
 * lacks.
 *
 * Shared by all ranks: first Q of every layer, column by column, which one step leaves to the next one, and then P, in
 * which the sum of a layer that is sent as it is waits for the second round. Q starts random, for a column that is 0
 * would stay 0; a column for which the gradients give 0 stays what it was.
 *
 * With SG_TRAIT_DIRECTIONS the rounds are those of Dion (zoo/compress_dion.c): every matrix has them, however small,
 * the sum is made of columns of Q that are 1 long, and a share of it stays in the residual.
 *
 * PowerSGD's Q has the unit of the gradients, and M Q would have its square, which floats do not hold for gradients of
 * 1e-24 or 1e20. So the next step begins with columns of Q that are divided by a power of two, which makes them about 1
 * long. Such a factor is exact, and the basis that follows does not depend on it. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_products.h"
#include "sg_rng.h"

enum { RANK, LEAST, LOCAL, PARAMS };
enum { MU = RANK + 1 }; /* of compress_dion.c */
enum { LANES = SG_KERNEL_LANES };

static const double EPSILON = 1e-8; /* of Dion, added to a column's norm */

static bool makes_directions(const struct sg_shared *s) {
    return s->ops->traits & SG_TRAIT_DIRECTIONS;
}

/* A layer as a matrix; rank 0 = it is sent as it is. */
struct matrix {
    size_t layer, begin, rows, columns, rank;
    float *p, *q; /* [rank][rows], [rank][columns]; NULL without memory */
};

static struct matrix shape_at(const struct sg_shared *s, size_t l, double given) {
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    const size_t rows = method_rows(s, l), columns = n / rows;
    const double knob = floor(given), least = makes_directions(s) ? 0 : s->param[LEAST];
    size_t rank = knob < 1 ? 1 : knob < (double)rows ? (size_t)knob : rows;
    rank = rank < columns ? rank : columns;
    const bool worth = rows > 1 && columns > 1 && least * (double)(rank * (rows + columns)) < (double)n;
    return (struct matrix){.layer = l, .begin = begin, .rows = rows, .columns = columns, .rank = worth ? rank : 0};
}

/* The room of a layer's P and Q: of all ranks that it may have, if a controller may change them. Behind P stand the
 * norms of Dion's R. */
static size_t room_p(const struct sg_shared *s, size_t l) {
    const struct matrix a = shape_at(s, l, s->param[RANK]);
    const size_t norms = makes_directions(s) ? (a.rows < a.columns ? a.rows : a.columns) : 0;
    return norms + (s->controlled || a.rank == 0 ? a.rows * a.columns : a.rank * a.rows);
}

static size_t room_q(const struct sg_shared *s, size_t l) {
    const struct matrix a = shape_at(s, l, s->param[RANK]);
    return s->controlled ? a.rows * a.columns : a.rank * a.columns;
}

static size_t kept(const struct sg_shared *s) {
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++)
        n += room_q(s, l);
    return n;
}

static size_t floats(const struct sg_shared *s) {
    size_t n = kept(s);
    for (size_t l = 0; l < s->layout.n_layers; l++)
        n += room_p(s, l);
    return n;
}

/* for (struct matrix a = before(s); next(s, &a);) goes through all layers. */
static struct matrix before(const struct sg_shared *s) {
    return (struct matrix){.layer = SIZE_MAX, .p = s->memory + kept(s), .q = s->memory};
}

static bool next(const struct sg_shared *s, struct matrix *a) {
    const size_t l = a->layer + 1;
    float *p = a->p + (l > 0 ? room_p(s, l - 1) : 0), *q = a->q + (l > 0 ? room_q(s, l - 1) : 0);
    if (l == s->layout.n_layers)
        return false;
    *a = shape_at(s, l, s->knob[l]);
    a->p = p;
    a->q = q;
    return true;
}

/* How many numbers a layer sends in a round. */
static size_t part_of(const struct matrix *a, unsigned round) {
    if (a->rank == 0)
        return round == 0 ? a->rows * a->columns : 0;
    return a->rank * (round == 0 ? a->rows : a->columns);
}

static size_t length(const struct sg_shared *s, unsigned round) {
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct matrix a = shape_at(s, l, s->knob[l]);
        n += part_of(&a, round);
    }
    return n;
}

/* ---- what the host computes of vectors on a GPU ---- */

static size_t room(const struct sg_shared *s) {
    return s->exec.device ? s->layout.offset[s->layout.n_layers] * sizeof(float) : 0;
}

/* Returns the host memory for x: x itself, or s->room if x is in a GPU's memory. */
static float *on_host(const struct sg_shared *s, float *x) {
    return s->exec.device ? s->room : x;
}

/* Returns x [n] in host memory. If the device fails, the old content of s->room is returned; the run then ends when the
 * exchange waits for the device. */
static float *fetch(const struct sg_shared *s, float *x, size_t n) {
    float *host = on_host(s, x);
    if (host != x)
        (void)s->kernels->get(&s->exec, host, x, n * sizeof *x);
    return host;
}

/* ---- a basis ---- */

/* The dot product: element j is added in lane j % LANES, and then the lanes are added one after another. */
static double dot(const float *x, const float *y, size_t n) {
    double lane[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += (double)x[j + k] * (double)y[j + k];
    for (size_t k = 0; j < n; j++, k++)
        lane[k] += (double)x[j] * (double)y[j];
    for (size_t k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

static struct sg_shape shape_of(const struct matrix *a) {
    return (struct sg_shape){a->rows, a->columns, a->rank};
}

void sg_orthonormalize(float *columns, size_t rank, size_t n) {
    for (size_t k = 0; k < rank; k++) {
        float *x = columns + k * n;
        const double whole = sqrt(dot(x, x, n));
        for (int again = 0; again < 2; again++)
            for (size_t before = 0; before < k; before++) {
                const double part = dot(columns + before * n, x, n);
                for (size_t i = 0; i < n; i++)
                    x[i] = (float)((double)x[i] - part * (double)columns[before * n + i]);
            }
        const double norm = sqrt(dot(x, x, n));
        const bool independent = norm > 0x1p-20 * whole;
        for (size_t i = 0; i < n; i++)
            x[i] = independent ? (float)((double)x[i] / norm) : 0;
    }
}

static void start(const struct sg_shared *s) {
    float *q = s->memory, *host = on_host(s, q);
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_START, 0, 0);
    for (struct matrix a = before(s); next(s, &a);) {
        const size_t used = room_q(s, a.layer);
        for (size_t i = 0; i < a.rows * a.columns; i++) { /* a number for each element, whatever the rank */
            const float x = (float)sg_rng_normal(&rng);
            if (i < used)
                host[(size_t)(a.q - q) + i] = x;
        }
    }
    if (host != q)
        s->kernels->put(&s->exec, q, host, kept(s) * sizeof *q);
}

/* ---- a step ---- */

void method_low_rank_encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const struct sg_products *products = s->kernels->products;
    float *to = w->data;
    size_t n = 0;
    for (struct matrix a = before(s); next(s, &a);) {
        const struct sg_shape shape = shape_of(&a);
        const float *m = p + a.begin;
        const size_t part = w->count[a.layer] = part_of(&a, round);
        if (a.rank == 0 && round == 0)
            s->kernels->copy(&s->exec, to + n, m, part);
        else if (round == 0)
            products->times(&s->exec, to + n, m, a.q, &shape);
        else if (a.rank > 0)
            products->transposed(&s->exec, to + n, m, a.p, &shape);
        n += part;
    }
    method_send_floats(w, n, n, NULL, to, 32.0 * (double)n, out);
}

/* Makes the columns of sum [rank][columns] those of Q; host is the same for the host. If one is 0, the old column stays
 * and P's column becomes 0, so that its product is left out. */
static void take_over(const struct sg_shared *s, const struct matrix *a, const float *sum, const float *host) {
    for (size_t k = 0; k < a->rank; k++) {
        const float *column = host + k * a->columns;
        if (dot(column, column, a->columns) > 0)
            s->kernels->copy(&s->exec, a->q + k * a->columns, sum + k * a->columns, a->columns);
        else
            s->kernels->zero(&s->exec, a->p + k * a->rows, a->rows * sizeof *a->p);
    }
}

/* Divides every column of Q [rank][columns] by the power of two that makes it 1/2 to 1 long; host is the same for the
 * host. A column that is 0 there stays what it was. */
static void normalize(const struct sg_shared *s, const struct matrix *a, const float *host) {
    for (size_t k = 0; k < a->rank; k++) {
        const float *column = host + k * a->columns;
        float *q = a->q + k * a->columns;
        int exponent;
        (void)frexp(sqrt(dot(column, column, a->columns)), &exponent); /* 0 of a column that is 0 */
        const float factor = ldexpf(1, -(exponent > 126 ? 126 : exponent < -126 ? -126 : exponent));
        if (factor != 1)
            s->kernels->mix(&s->exec, q, factor, q, 0, q, a->columns);
    }
}

/* R [rank][columns], the sum over workers, becomes the mean's Q, and its norms are kept. */
static void make_directions(const struct sg_shared *s, const struct matrix *a) {
    for (size_t k = 0; k < a->rank; k++) {
        float *q = a->q + k * a->columns;
        const double workers = (double)s->workers, norm = sqrt(dot(q, q, a->columns)) / workers + EPSILON;
        a->p[a->rank * a->rows + k] = (float)norm;
        for (size_t i = 0; i < a->columns; i++)
            q[i] = (float)((double)q[i] / workers / norm);
    }
}

/* sum <- P Q' of a layer, and Q becomes that of the next step. */
static void make_product(const struct sg_shared *s, const struct matrix *a, float *sum, const float *host) {
    const struct sg_shape shape = shape_of(a);
    if (makes_directions(s))
        make_directions(s, a);
    s->kernels->products->outer(&s->exec, sum + a->begin, a->p, a->q, &shape, false);
    if (makes_directions(s)) /* the workers' sum, which is divided by their number */
        s->kernels->mix(&s->exec, sum + a->begin, (float)s->workers, sum + a->begin, 0, sum + a->begin,
                        a->rows * a->columns);
    else
        normalize(s, a, s->exec.device ? host : a->q); /* on a CPU host is sum, which has changed */
}

/* The sum of a layer that is sent uncompressed is stored in its part of P after round 0, and read after round 1. */
static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    float *host = fetch(s, sum, length(s, round));
    size_t at = 0;
    for (struct matrix a = before(s); next(s, &a);) {
        const size_t n = part_of(&a, round);
        if (a.rank == 0) {
            s->kernels->copy(&s->exec, a.p, sum + at, n); /* 0 numbers in round 1 */
        } else if (round == 0) {
            sg_orthonormalize(host + at, a.rank, a.rows);
            s->kernels->put(&s->exec, a.p, host + at, n * sizeof *host);
        } else {
            take_over(s, &a, sum + at, host + at);
        }
        at += n;
    }
    SG_ASSERT(at == length(s, round));
    at = 0;
    for (struct matrix a = before(s); round == 1 && next(s, &a);) {
        if (a.rank == 0)
            s->kernels->copy(&s->exec, sum + a.begin, a.p, a.rows * a.columns);
        else
            make_product(s, &a, sum, host + at);
        at += part_of(&a, round);
    }
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    const struct sg_shared *s = w->shared;
    const struct sg_products *products = s->kernels->products;
    const float workers = (float)s->workers;
    for (struct matrix a = before(s); next(s, &a);) {
        const struct sg_shape shape = shape_of(&a);
        const size_t n = a.rows * a.columns;
        float *m = e + a.begin, *q = w->data;
        if (a.rank == 0) {
            s->kernels->zero(&s->exec, m, n * sizeof *m);
        } else if (makes_directions(s)) {
            for (size_t k = 0; k < a.rank; k++) /* (1 - mu) R */
                s->kernels->mix(&s->exec, q + k * a.columns, (float)(1 - s->param[MU]) * a.p[a.rank * a.rows + k],
                                a.q + k * a.columns, 0, a.q, a.columns);
            products->outer(&s->exec, m, a.p, q, &shape, true);
        } else if (s->param[LOCAL] > 0) {
            products->transposed(&s->exec, q, m, a.p, &shape);
            products->outer(&s->exec, m, a.p, q, &shape, true);
        } else {
            s->kernels->add_quotient(&s->exec, m, sum + a.begin, -workers, n);
        }
    }
}

sg_status method_low_rank_open(struct sg_worker *w, struct sg_error *err) {
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        if (shape_at(w->shared, l, w->shared->knob[l]).rank > 0)
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: no layer is a matrix that two factors of this rank would make smaller: use a task with "
                   "matrices, scope: layer and a smaller rank",
                   w->shared->ops->name);
}

static const struct sg_parameter params[PARAMS] = {
    [RANK] = {"rank", 1, 1024, 4, true, "columns r of each factor"},
    [LEAST] = {"least-saving", 1, 1e6, 1, false,
               "sends a layer as it is unless its factors are this many times smaller"},
    [LOCAL] = {"local-residual", 0, 1, 0, true,
               "the residual is the error of the workers' mean (0) or the worker's own product (1)"},
};

const struct sg_rounds method_low_rank_rounds = {.count = 2,
                                                 .length = length,
                                                 .fixed = true,
                                                 .floats = floats,
                                                 .kept = kept,
                                                 .start = start,
                                                 .room = room,
                                                 .combine = combine,
                                                 .keep = keep};

const struct sg_compressor_ops sg_compress_powersgd = {
    .name = "powersgd",
    .summary = "every layer's matrix as a product of two thin ones, a power iteration a step",
    .source = "Vogels et al., NeurIPS 2019",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .open = method_low_rank_open,
    .encode = method_low_rank_encode,
    .rounds = &method_low_rank_rounds,
};
