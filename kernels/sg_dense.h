/* sg_dense.h: dense rows against double vectors, the arithmetic of logistic regression.
 *
 * Rows are 16-bit integers, float or double, vectors and sums double. Every product is added with one rounding (a fused multiply-add; the
 * plain C table calls fma(), which is slow where the processor has none). Every table gives the same bits, whatever its
 * vector width:
 *   dot      blocks of SG_KERNEL_BLOCK elements with SG_KERNEL_LANES interleaved partial sums, added pairwise, then block
 *            by block (as sum_squares in sg_kernels.h)
 *   margins  one sum per (row, point), strictly in column order
 *   others   element by element
 * Single-threaded: callers cut the rows. Arrays do not overlap and need no alignment beyond their type's. */
#ifndef SG_DENSE_H
#define SG_DENSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SG_DENSE_POINTS = 64,    /* most points `margins` takes at once */
    SG_DENSE_ROWS = 4,       /* rows that dot4 and axpy4 take */
    SG_DENSE_POINTS_STEP = 8 /* their number is a multiple of this: pad with any finite points */
};

struct sg_dense {
    const char *name; /* "c", "avx2", "avx512" */

    /* sum_j a[j] x[j], n = 0 gives 0. */
    double (*dot_i16)(const int16_t *a, const double *x, size_t n);
    double (*dot_f32)(const float *a, const double *x, size_t n);
    double (*dot_f64)(const double *a, const double *x, size_t n);

    /* out[r] <- dot(a[r], x) for SG_DENSE_ROWS rows anywhere in memory; the same bits as one by one, sooner. Narrow rows
     * are widened on the way, wide[r * stride + j] <- a[r][j], stride >= n, for an axpy4 to follow: widening takes as
     * long as adding. */
    void (*dot4_i16)(double *out, double *wide, size_t stride, const int16_t *const *a, const double *x, size_t n);
    void (*dot4_f32)(double *out, double *wide, size_t stride, const float *const *a, const double *x, size_t n);
    void (*dot4_f64)(double *out, const double *const *a, const double *x, size_t n);

    /* y[j] <- y[j] + c a[j]. */
    void (*axpy_i16)(double *y, double c, const int16_t *a, size_t n);
    void (*axpy_f32)(double *y, double c, const float *a, size_t n);
    void (*axpy_f64)(double *y, double c, const double *a, size_t n);

    /* y <- axpy with c[0] a[0], then c[1] a[1], …: the same bits as one by one. */
    void (*axpy4_f64)(double *y, const double *c, const double *const *a, size_t n);

    /* g[j] <- (float)(c a[j] + l2 x[j]), the second product rounded first. */
    void (*row_gradient_i16)(float *g, double c, const int16_t *a, double l2, const double *x, size_t n);
    void (*row_gradient_f32)(float *g, double c, const float *a, double l2, const double *x, size_t n);
    void (*row_gradient_f64)(float *g, double c, const double *a, double l2, const double *x, size_t n);

    /* g[j] <- (float)(y[j] + l2 (x[j] - center[j])), every operation rounded; center NULL = zeros. */
    void (*ridge_gradient)(float *g, const double *y, double l2, const double *x, const double *center, size_t n);

    /* out[r * points + b] <- sum_j a[r * n + j] xt[j * points + b] for r < rows, b < points.
     *   a   [rows][n]        rows of the matrix, contiguous
     *   xt  [n][points]      the points interleaved: all points' coordinate j side by side
     *   out [rows][points]
     * A value depends on its row and its point only, not on what else is in the call. */
    void (*margins_i16)(double *out, const int16_t *a, size_t rows, size_t n, const double *xt, size_t points);
    void (*margins_f32)(double *out, const float *a, size_t rows, size_t n, const double *xt, size_t points);
    void (*margins_f64)(double *out, const double *a, size_t rows, size_t n, const double *xt, size_t points);
};

/* The table of that name, chosen as by sg_kernels_cpu: NULL = the best one here, SG_CPU overrides NULL. Returns NULL
 * when the name is unknown or the machine lacks it. */
const struct sg_dense *sg_dense_cpu(const char *name);

#ifdef __cplusplus
}
#endif
#endif
