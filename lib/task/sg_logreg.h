/* sg_logreg.h: the mathematics of l2-regularised logistic regression (Figure 1).
 *
 *   f(x) = (1/m) sum_i log(1 + exp(-y_i a_i^T x)) + (l2/2) |x|^2
 *
 * Everything here is double precision. gamma = 1/(L + l2) is as small as 3e-8 on madelon, suboptimalities down to 1e-12
 * of f are plotted, and f* is asked for to 1e-13. Sums over rows and features have a fixed order (lanes as in
 * sg_kernels.h), so results do not depend on threads or instruction set. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_LOGREG_H
#define SG_LOGREG_H

#include <stddef.h>
#include <stdint.h>

#include "sg_matrix.h"
#include "sg_status.h"

struct sg_logreg_constants {
    double lipschitz; /* L = sigma_max(A)^2 / (4 m), to at least 12 digits */
    double row_mean;  /* mean_i |a_i|^2 / 4 */
    double row_max;   /* max_i  |a_i|^2 / 4 */
};

/* Measures the constants; threads >= 1. L comes from Lanczos on A^T A with full reorthogonalisation, refined until the
 * Rayleigh quotient, summed in extended precision, no longer changes. */
void sg_logreg_measure(struct sg_logreg_constants *out, const struct sg_matrix *a, int threads);

/* |a_i|^2. */
double sg_logreg_row_square(const struct sg_matrix *a, size_t i);

/* Finds x* [d] to the limit of double precision, by Newton steps with preconditioned conjugate gradients until |grad f|
 * no longer falls. *value = f(x*), *gradient_norm = |grad f(x*)|. `progress` is called now and then; it may be NULL. */
SG_CHECKED sg_status sg_logreg_solve(double *x, double *value, double *gradient_norm, const struct sg_matrix *a,
                                     double l2, int threads,
                                     void (*progress)(void *arg, int step, double gradient_norm), void *arg,
                                     struct sg_error *err);

/* f(x) with compensated sums. */
double sg_logreg_value(const struct sg_matrix *a, const double *x, double l2, int threads);

/* f at `count` points at once, x [count][d] row by row, into value [count]. One pass over the data serves up to 64
 * points. A value does not depend on the other points. */
void sg_logreg_values(double *value, const struct sg_matrix *a, const double *x, size_t count, double l2, int threads);

/* The number of doubles of scratch that the gradients below need. They are fastest if the scratch starts at a cache
 * line. */
size_t sg_logreg_scratch(size_t d);

/* g [d] <- the mean over rows[0..count-1] of the loss gradients at x, plus l2 x. rows NULL = rows 0..count-1. It uses
 * one thread, because workers run in parallel. */
void sg_logreg_gradient(double *g, const struct sg_matrix *a, const uint32_t *rows, size_t count, const double *x,
                        double l2, double *scratch);

/* The derivative of row i's loss by its margin a_i^T x: the gradient is this times a_i. */
double sg_logreg_slope(const struct sg_matrix *a, size_t i, const double *x);

/* The point whose gradient is subtracted: x [d], slope [m], which is sg_logreg_slope there of every row that is used,
 * and a vector gradient [d] that is added; gradient NULL = zeros. */
struct sg_logreg_origin {
    const double *x, *slope, *gradient;
};

/* g [d] <- the gradient at x less the gradient at the origin ("GD*", Appendix C.5), plus origin->gradient (SVRG),
 * rounded to float. origin NULL = the plain gradient. The differences are taken row by row and coordinate by
 * coordinate, so nothing cancels: the result is exactly zero, or the rounded origin->gradient, at the origin and
 * relatively accurate next to it. */
void sg_logreg_shifted_gradient(float *g, const struct sg_matrix *a, const uint32_t *rows, size_t count,
                                const double *x, double l2, const struct sg_logreg_origin *origin, double *scratch);

/* The plain gradient of a single row, rounded to float, in one fused pass (the stochastic oracle of Figure 1). */
void sg_logreg_row_gradient(float *g, const struct sg_matrix *a, uint32_t row, const double *x, double l2);

#endif
