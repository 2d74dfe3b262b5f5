/* logreg_rows.h: rows of a data matrix as the logistic regression uses them, whatever their storage; private to
 * lib/task. */
/* SPDX-License-Identifier: MIT */
#ifndef LOGREG_ROWS_H
#define LOGREG_ROWS_H

#include <math.h>
#include <stddef.h>

#include "sg_dense.h"
#include "sg_matrix.h"

/* The dense kernels of this machine; never NULL (every table gives the same bits, so an unknown SG_CPU is for the
 * programs to report). */
const struct sg_dense *sg_logreg_kernels(void);

/* a_i^T x. */
static inline double row_dot(const struct sg_dense *k, const struct sg_matrix *a, size_t i, const double *x) {
    if (a->i16)
        return k->dot_i16(a->i16 + i * a->d, x, a->d);
    if (a->f32)
        return k->dot_f32(a->f32 + i * a->d, x, a->d);
    if (a->f64)
        return k->dot_f64(a->f64 + i * a->d, x, a->d);
    double sum = 0;
    for (size_t j = (size_t)a->csr_start[i]; j < (size_t)a->csr_start[i + 1]; j++)
        sum += a->csr_value[j] * x[a->csr_column[j]];
    return sum;
}

/* y <- y + c a_i. */
static inline void row_axpy(const struct sg_dense *k, const struct sg_matrix *a, size_t i, double c, double *y) {
    if (a->i16) {
        k->axpy_i16(y, c, a->i16 + i * a->d, a->d);
    } else if (a->f32) {
        k->axpy_f32(y, c, a->f32 + i * a->d, a->d);
    } else if (a->f64) {
        k->axpy_f64(y, c, a->f64 + i * a->d, a->d);
    } else {
        for (size_t j = (size_t)a->csr_start[i]; j < (size_t)a->csr_start[i + 1]; j++)
            y[a->csr_column[j]] += c * a->csr_value[j];
    }
}

/* Doubles between rows of a wide copy: each starts a cache line. */
static inline size_t wide_stride(size_t d) {
    return (d + 7) / 8 * 8;
}

/* SG_DENSE_ROWS rows of a dense matrix at once: z [SG_DENSE_ROWS] <- products with x; row [SG_DENSE_ROWS] <- the rows
 * in double, copied to wide [SG_DENSE_ROWS * wide_stride(d)] if the matrix is stored narrower. */
static inline void rows_dot(const struct sg_dense *k, const struct sg_matrix *a, const size_t *i, const double *x,
                            double *z, const double **row, double *wide) {
    if (a->f64) {
        for (size_t q = 0; q < SG_DENSE_ROWS; q++)
            row[q] = a->f64 + i[q] * a->d;
        k->dot4_f64(z, row, x, a->d);
        return;
    }
    const int16_t *whole[SG_DENSE_ROWS];
    const float *narrow[SG_DENSE_ROWS];
    for (size_t q = 0; q < SG_DENSE_ROWS; q++) {
        whole[q] = a->i16 ? a->i16 + i[q] * a->d : NULL;
        narrow[q] = a->f32 ? a->f32 + i[q] * a->d : NULL;
        row[q] = wide + q * wide_stride(a->d);
    }
    if (a->i16)
        k->dot4_i16(z, wide, wide_stride(a->d), whole, x, a->d);
    else
        k->dot4_f32(z, wide, wide_stride(a->d), narrow, x, a->d);
}

static inline double vector_dot(const double *x, const double *y, size_t n) {
    return sg_logreg_kernels()->dot_f64(x, y, n);
}

/* y <- y + c x. */
static inline void vector_axpy(double *y, double c, const double *x, size_t n) {
    sg_logreg_kernels()->axpy_f64(y, c, x, n);
}

/* log(1 + exp(-z)) for any finite z. */
static inline double logistic_loss(double z) {
    return z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z;
}

/* 1 / (1 + exp(z)); branch-free, because a branch on a margin's sign is mispredicted. */
static inline double logistic_tail(double z) {
    double t = exp(-fabs(z));
    return (z > 0 ? t : 1) / (1 + t);
}

/* First row of block b when m rows are cut into `blocks`. */
static inline size_t block_start(size_t m, size_t b, size_t blocks) {
    return m / blocks * b + m % blocks * b / blocks;
}

/* One pass over all rows: each is used twice, for its product and for the sum, while it is in the cache.
 *   z_i = a_i^T x;  y [d] <- sum_i factor(arg, i, z_i) a_i
 * `factor` is called once for every row, from several threads. The rows are cut into SG_PASS_BLOCKS blocks that are
 * added in order, so the result does not depend on threads. partial [SG_PASS_BLOCKS * d] is scratch. */
enum { SG_PASS_BLOCKS = 16 };
void sg_logreg_pass(double *y, const struct sg_matrix *a, const double *x,
                    double (*factor)(void *arg, size_t i, double z), void *arg, double *partial, int threads);

#endif
