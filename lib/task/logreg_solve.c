/* logreg_solve.c: the minimum x* by Newton steps, to the limit of double precision. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "logreg_rows.h"
#include "sg_debug.h"
#include "sg_logreg.h"
#include "sg_memory.h"
#include "sg_stats.h"

enum { MOST_STEPS = 200, MOST_HALVINGS = 40 };

/* State of the Newton iteration: vectors [d], except curvature and loss [m]. */
struct newton {
    const struct sg_matrix *a;
    double l2;
    int threads;
    double *x, *g; /* the best point and the gradient there */
    double *trial, *g_trial;
    double *step;                                  /* -H^-1 g, nearly */
    double *residual, *direction, *image, *scaled; /* of conjugate gradients */
    double *variance;                              /* of each column */
    double *curvature;                             /* second derivative of each row's loss, over m */
    double *loss;
    double *partial, *memory;
};

static void newton_allocate(struct newton *n) {
    double **place[] = {&n->x,        &n->g,         &n->trial, &n->g_trial, &n->step,
                        &n->residual, &n->direction, &n->image, &n->scaled,  &n->variance};
    size_t d = n->a->d, vectors = sizeof place / sizeof *place;
    n->memory = sg_calloc((vectors + SG_PASS_BLOCKS) * d + 2 * n->a->m, sizeof *n->memory);
    for (size_t i = 0; i < vectors; i++)
        *place[i] = n->memory + i * d;
    n->partial = n->memory + vectors * d;
    n->curvature = n->partial + SG_PASS_BLOCKS * d;
    n->loss = n->curvature + n->a->m;
}

static double gradient_factor(void *arg, size_t i, double z) {
    struct newton *n = arg;
    double margin = n->a->label[i] * z, tail = logistic_tail(margin), share = 1 / (double)n->a->m;
    n->loss[i] = logistic_loss(margin);
    n->curvature[i] = tail * (1 - tail) * share;
    return -n->a->label[i] * tail * share;
}

/* g <- grad f(x); stores the curvature at x in n. Returns |g|. */
static double gradient_at(struct newton *n, const double *x, double *g, double *value) {
    struct sg_sum sum = {0};
    sg_logreg_pass(g, n->a, x, gradient_factor, n, n->partial, n->threads);
    vector_axpy(g, n->l2, x, n->a->d);
    for (size_t i = 0; i < n->a->m; i++)
        sg_sum_add(&sum, n->loss[i]);
    *value = sg_sum_total(&sum) / (double)n->a->m + n->l2 / 2 * vector_dot(x, x, n->a->d);
    return sqrt(vector_dot(g, g, n->a->d));
}

static double hessian_factor(void *arg, size_t i, double z) {
    const struct newton *n = arg;
    SG_ASSERT(i < n->a->m);
    return n->curvature[i] * z;
}

static double mean_factor(void *arg, size_t i, double z) {
    const struct newton *n = arg;
    (void)i;
    (void)z;
    return 1 / (double)n->a->m;
}

static void column_variances(struct newton *n) {
    const struct sg_matrix *a = n->a;
    size_t d = a->d;
    sg_logreg_pass(n->image, a, n->x, mean_factor, n, n->partial, n->threads);
    for (size_t i = 0; i < a->m; i++) {
        if (a->csr_value) {
            for (size_t at = (size_t)a->csr_start[i]; at < (size_t)a->csr_start[i + 1]; at++)
                n->variance[a->csr_column[at]] += a->csr_value[at] * a->csr_value[at];
        } else {
            for (size_t j = 0; j < d; j++) {
                const double c = sg_matrix_dense_value(a, i, j);
                n->variance[j] += c * c;
            }
        }
    }
    for (size_t j = 0; j < d; j++)
        n->variance[j] = fmax(0, n->variance[j] / (double)a->m - n->image[j] * n->image[j]);
}

/* step <- about -H^-1 g with H = A^T diag(curvature) A + l2, until the residual is below forcing |g|.
 * The preconditioner is the Hessian's diagonal less the share of the columns' means: data that is not centred puts one
 * huge eigenvalue on top, which costs conjugate gradients one iteration, while the diagonal with it would hide all
 * scales. */
static void conjugate_gradients(struct newton *n, double forcing) {
    size_t d = n->a->d;
    double weight = 0, enough = forcing * sqrt(vector_dot(n->g, n->g, d)), rho = 0;
    for (size_t i = 0; i < n->a->m; i++)
        weight += n->curvature[i];
    memset(n->step, 0, d * sizeof *n->step);
    memset(n->direction, 0, d * sizeof *n->direction);
    for (size_t j = 0; j < d; j++)
        n->residual[j] = -n->g[j];
    size_t limit = 2 * d + 20;
    for (size_t k = 0; k < limit && sqrt(vector_dot(n->residual, n->residual, d)) > enough; k++) {
        for (size_t j = 0; j < d; j++)
            n->scaled[j] = n->residual[j] / (weight * n->variance[j] + n->l2);
        double now = vector_dot(n->residual, n->scaled, d), beta = k ? now / rho : 0;
        rho = now;
        for (size_t j = 0; j < d; j++)
            n->direction[j] = n->scaled[j] + beta * n->direction[j];
        sg_logreg_pass(n->image, n->a, n->direction, hessian_factor, n, n->partial, n->threads);
        vector_axpy(n->image, n->l2, n->direction, d);
        double bend = vector_dot(n->direction, n->image, d);
        if (!(bend > 0))
            break;
        vector_axpy(n->step, rho / bend, n->direction, d);
        vector_axpy(n->residual, -rho / bend, n->image, d);
    }
}

/* Moves to a better point along the step: f falls enough or, if f is down to its rounding, |g| falls. Returns false if
 * there is none. */
static bool line_search(struct newton *n, double *value, double *norm) {
    size_t d = n->a->d;
    double slope = vector_dot(n->g, n->step, d), t = 1;
    for (int halving = 0; halving < MOST_HALVINGS; halving++, t /= 2) {
        double new_value;
        memcpy(n->trial, n->x, d * sizeof *n->trial);
        vector_axpy(n->trial, t, n->step, d);
        double new_norm = gradient_at(n, n->trial, n->g_trial, &new_value);
        bool falls = new_value <= *value + 1e-4 * t * slope && -t * slope > 64 * DBL_EPSILON * *value;
        if (falls || new_norm < *norm) {
            double *x = n->x, *g = n->g;
            n->x = n->trial, n->g = n->g_trial;
            n->trial = x, n->g_trial = g;
            *value = new_value;
            *norm = new_norm;
            SG_ASSERT(n->x != n->trial && n->g != n->g_trial);
            return true;
        }
        if (-slope <= 64 * DBL_EPSILON * *value) /* at the floor of rounding a shorter step is no better */
            return false;
    }
    return false;
}

sg_status sg_logreg_solve(double *x, double *value, double *gradient_norm, const struct sg_matrix *a, double l2,
                          int threads, void (*progress)(void *arg, int step, double gradient_norm), void *arg,
                          struct sg_error *err) {
    if (!(l2 > 0))
        return sg_fail(err, SG_ERR_ARGUMENT, "the optimum needs l2 > 0, got %g", l2);
    struct newton n = {.a = a, .l2 = l2, .threads = threads};
    newton_allocate(&n);
    sg_status status = SG_OK;
    double f, norm;
    column_variances(&n);
    norm = gradient_at(&n, n.x, n.g, &f);
    double first = norm;
    for (int step = 0; step < MOST_STEPS && norm > 0 && isfinite(norm); step++) {
        if (progress)
            progress(arg, step, norm);
        /* loose far from the optimum, for superlinear convergence, and never below the rounding of the gradient */
        double forcing = fmax(sqrt(norm / first), DBL_EPSILON / 10 * first / norm), before = norm;
        conjugate_gradients(&n, fmin(0.1, forcing));
        if (!line_search(&n, &f, &norm) || (norm < 1e-12 * first && norm > before / 4))
            break;
    }
    if (!isfinite(norm)) {
        status = sg_fail(err, SG_ERR_NONFINITE, "solving for the optimum: the gradient is not finite");
    } else {
        memcpy(x, n.x, a->d * sizeof *x);
        *value = sg_logreg_value(a, x, l2, threads);
        *gradient_norm = norm;
    }
    free(n.memory);
    return status;
}
