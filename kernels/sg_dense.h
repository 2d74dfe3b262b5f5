/* sg_dense.h: the arithmetic of logistic regression: dense rows against vectors of double.
 *
 * Rows are 16-bit integers, floats or doubles; vectors and sums are doubles. Every product is added with one rounding
 * (a fused multiply-add; the plain C table calls fma(), which is slow on a processor that has none). Every table gives
 * the same bits, whatever its vector width, because the order of sums is fixed:
 *   dot      as sum_squares in sg_kernels.h: blocks of SG_KERNEL_BLOCK elements with SG_KERNEL_LANES partial sums
 *   margins  one sum for each row and point, in column order
 *   others   element by element
 * NaN and Inf propagate. Calls run on the caller's thread, and callers share out the rows. Arrays do not overlap and
 * need no alignment beyond that of their type. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_DENSE_H
#define SG_DENSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SG_DENSE_POINTS = 64,    /* most points of one call of `margins` */
    SG_DENSE_ROWS = 4,       /* rows of one call of dot4 and axpy4 */
    SG_DENSE_POINTS_STEP = 8 /* the number of points is a multiple of this: pad with any finite points */
};

struct sg_dense {
    const char *name; /* "c", "avx2", "avx512" */

    /* The sum over j of a[j] x[j]; 0 for n = 0. */
    double (*dot_i16)(const int16_t *a, const double *x, size_t n);
    double (*dot_f32)(const float *a, const double *x, size_t n);
    double (*dot_f64)(const double *a, const double *x, size_t n);

    /* out[r] <- dot(a[r], x) for SG_DENSE_ROWS rows anywhere in memory, with the bits of `dot` but faster. Narrow rows
     * are also written as doubles, wide[r * stride + j] <- a[r][j] with stride >= n, because a later axpy4 needs them
     * so and widening takes as long as adding. */
    void (*dot4_i16)(double *out, double *wide, size_t stride, const int16_t *const *a, const double *x, size_t n);
    void (*dot4_f32)(double *out, double *wide, size_t stride, const float *const *a, const double *x, size_t n);
    void (*dot4_f64)(double *out, const double *const *a, const double *x, size_t n);

    /* y[j] <- y[j] + c a[j]. */
    void (*axpy_i16)(double *y, double c, const int16_t *a, size_t n);
    void (*axpy_f32)(double *y, double c, const float *a, size_t n);
    void (*axpy_f64)(double *y, double c, const double *a, size_t n);

    /* y[j] <- y[j] + c[0] a[0][j], then + c[1] a[1][j], … for SG_DENSE_ROWS rows, with the bits of one `axpy` after
     * another. */
    void (*axpy4_f64)(double *y, const double *c, const double *const *a, size_t n);

    /* g[j] <- (float)(c a[j] + l2 x[j]); l2 x[j] is rounded, then c a[j] is added with one rounding. */
    void (*row_gradient_i16)(float *g, double c, const int16_t *a, double l2, const double *x, size_t n);
    void (*row_gradient_f32)(float *g, double c, const float *a, double l2, const double *x, size_t n);
    void (*row_gradient_f64)(float *g, double c, const double *a, double l2, const double *x, size_t n);

    /* g[j] <- (float)(y[j] + l2 (x[j] - center[j])); every operation rounds. A center that is NULL means zeros. */
    void (*ridge_gradient)(float *g, const double *y, double l2, const double *x, const double *center, size_t n);

    /* out[r * points + b] <- sum over j of a[r * n + j] xt[j * points + b], for r < rows and b < points.
     *   a   [rows][n]        rows of the matrix, one behind the other
     *   xt  [n][points]      coordinate j of all points, one beside the other
     *   out [rows][points]
     * A result depends on its row and its point only, not on what else is in the call. */
    void (*margins_i16)(double *out, const int16_t *a, size_t rows, size_t n, const double *xt, size_t points);
    void (*margins_f32)(double *out, const float *a, size_t rows, size_t n, const double *xt, size_t points);
    void (*margins_f64)(double *out, const double *a, size_t rows, size_t n, const double *xt, size_t points);
};

#ifdef __cplusplus
}
#endif
#endif
