/* logreg_measure.c: the constants of a logistic regression: Lipschitz constants by Lanczos, norms of rows. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "logreg_rows.h"
#include "sg_debug.h"
#include "sg_logreg.h"
#include "sg_memory.h"
#include "sg_rng.h"

enum { BASIS = 48, RESTARTS = 200 };

/* Lanczos on A^T A: v [BASIS + 1][d] orthonormal, alpha and beta the tridiagonal matrix T. */
struct lanczos {
    const struct sg_matrix *a;
    int threads;
    double *v, *partial;
    double alpha[BASIS], beta[BASIS];
    double ritz[BASIS]; /* eigenvector of T for its largest eigenvalue */
};

static double identity(void *arg, size_t i, double z) {
    (void)arg;
    (void)i;
    return z;
}

static void scale(double *x, double c, size_t n) {
    for (size_t j = 0; j < n; j++)
        x[j] *= c;
}

/* Pivots of x I - T: all are positive exactly when x exceeds the largest eigenvalue. */
static int exceeds(const struct lanczos *l, int k, double x, double *pivot) {
    for (int j = 0; j < k; j++) {
        pivot[j] = x - l->alpha[j] - (j ? l->beta[j - 1] * l->beta[j - 1] / pivot[j - 1] : 0);
        if (!(pivot[j] > 0))
            return 0;
    }
    return 1;
}

/* The largest eigenvalue of the k x k matrix T, from above by bisection; its vector by inverse iteration on the
 * positive definite x I - T. */
static double top_of_tridiagonal(struct lanczos *l, int k) {
    SG_ASSERT(k >= 1 && k <= BASIS);
    double low = 0, high = 0, pivot[BASIS];
    for (int j = 0; j < k; j++) {
        double reach = l->alpha[j] + (j ? l->beta[j - 1] : 0) + (j + 1 < k ? l->beta[j] : 0);
        high = fmax(high, reach * (1 + 1e-12));
        low = fmax(low, l->alpha[j]);
    }
    while (high - low > 1e-15 * high) {
        double middle = low + (high - low) / 2;
        if (exceeds(l, k, middle, pivot))
            high = middle;
        else
            low = middle;
    }
    if (!exceeds(l, k, high, pivot))
        exceeds(l, k, high *= 1 + 1e-14, pivot);
    for (int j = 0; j < k; j++)
        l->ritz[j] = 1;
    for (int round = 0; round < 4; round++) {
        double norm = 0;
        for (int j = 1; j < k; j++)
            l->ritz[j] += l->ritz[j - 1] * l->beta[j - 1] / pivot[j - 1];
        for (int j = k - 1; j >= 0; j--) {
            l->ritz[j] = (l->ritz[j] + (j + 1 < k ? l->beta[j] * l->ritz[j + 1] : 0)) / pivot[j];
            norm = fmax(norm, fabs(l->ritz[j]));
        }
        for (int j = 0; j < k; j++)
            l->ritz[j] /= norm;
    }
    double square = 0;
    for (int j = 0; j < k; j++)
        square += l->ritz[j] * l->ritz[j];
    for (int j = 0; j < k; j++)
        l->ritz[j] /= sqrt(square);
    return high;
}

/* Runs Lanczos from the unit vector v[0] until the residual of the largest Ritz pair is small or the basis is full;
 * v[0] becomes the Ritz vector. Returns the residual relative to the Ritz value. The error of the Rayleigh quotient is
 * quadratic in it. */
static double lanczos_run(struct lanczos *l, double enough) {
    size_t d = l->a->d;
    double residual = 1;
    int k = 0;
    while (k < BASIS && residual > enough) {
        double *next = l->v + (size_t)(k + 1) * d;
        sg_logreg_pass(next, l->a, l->v + (size_t)k * d, identity, NULL, l->partial, l->threads);
        double alpha = 0, before = sqrt(vector_dot(next, next, d));
        for (int sweep = 0; sweep < 2; sweep++) /* twice is enough (Kahan, Parlett) */
            for (int j = 0; j <= k; j++) {
                double c = vector_dot(next, l->v + (size_t)j * d, d);
                vector_axpy(next, -c, l->v + (size_t)j * d, d);
                alpha += j == k ? c : 0;
            }
        l->alpha[k] = alpha;
        l->beta[k] = sqrt(vector_dot(next, next, d));
        double top = top_of_tridiagonal(l, ++k);
        if (l->beta[k - 1] <= 1e-15 * before) /* the basis is invariant: T is all there is */
            break;
        scale(next, 1 / l->beta[k - 1], d);
        residual = l->beta[k - 1] * fabs(l->ritz[k - 1]) / top;
    }
    scale(l->v, l->ritz[0], d);
    for (int j = 1; j < k; j++)
        vector_axpy(l->v, l->ritz[j], l->v + (size_t)j * d, d);
    scale(l->v, 1 / sqrt(vector_dot(l->v, l->v, d)), d);
    return k < BASIS ? 0 : residual;
}

/* (sum_j a_ij v_j)^2 and |a_i|^2 in extended precision. */
static void row_products(const struct sg_matrix *a, size_t i, const double *v, long double *product,
                         long double *square) {
    long double p = 0, s = 0;
    if (a->csr_value) {
        for (size_t j = (size_t)a->csr_start[i]; j < (size_t)a->csr_start[i + 1]; j++) {
            p += (long double)a->csr_value[j] * v[a->csr_column[j]];
            s += (long double)a->csr_value[j] * a->csr_value[j];
        }
    } else {
        for (size_t j = 0; j < a->d; j++) {
            const long double c = sg_matrix_dense_value(a, i, j);
            p += c * v[j];
            s += c * c;
        }
    }
    *product = p;
    *square = s;
}

double sg_logreg_row_square(const struct sg_matrix *a, size_t i) {
    SG_ASSERT(i < a->m);
    double sum = 0;
    if (a->csr_value)
        for (size_t j = (size_t)a->csr_start[i]; j < (size_t)a->csr_start[i + 1]; j++)
            sum += a->csr_value[j] * a->csr_value[j];
    else
        for (size_t j = 0; j < a->d; j++)
            sum += sg_matrix_dense_value(a, i, j) * sg_matrix_dense_value(a, i, j);
    return sum;
}

static void constants_at(struct sg_logreg_constants *out, const struct sg_matrix *a, const double *v, int threads) {
    long double *row = sg_malloc(2 * a->m * sizeof *row);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < a->m; i++)
        row_products(a, i, v, &row[2 * i], &row[2 * i + 1]);
    long double rayleigh = 0, norm = 0, sum = 0, largest = 0;
    for (size_t i = 0; i < a->m; i++) {
        rayleigh += row[2 * i] * row[2 * i];
        sum += row[2 * i + 1];
        largest = fmaxl(largest, row[2 * i + 1]);
    }
    for (size_t j = 0; j < a->d; j++)
        norm += (long double)v[j] * v[j];
    free(row);
    *out = (struct sg_logreg_constants){.lipschitz = (double)(rayleigh / norm / (4 * (long double)a->m)),
                                        .row_mean = (double)(sum / (4 * (long double)a->m)),
                                        .row_max = (double)(largest / 4)};
}

void sg_logreg_measure(struct sg_logreg_constants *out, const struct sg_matrix *a, int threads) {
    SG_ASSERT(threads >= 1);
    struct lanczos l = {.a = a, .threads = threads};
    l.v = sg_malloc((BASIS + 1) * a->d * sizeof *l.v);
    l.partial = sg_malloc(SG_PASS_BLOCKS * a->d * sizeof *l.partial);
    sg_rng rng = sg_rng_open(0, SG_RNG_SOLVE, 0, 0);
    for (size_t j = 0; j < a->d; j++)
        l.v[j] = sg_rng_normal(&rng);
    scale(l.v, 1 / sqrt(vector_dot(l.v, l.v, a->d)), a->d);
    for (int restart = 0; restart < RESTARTS && lanczos_run(&l, 1e-11) > 1e-11; restart++)
        ;
    constants_at(out, a, l.v, threads);
    free(l.partial);
    free(l.v);
}
