/* logreg.c: value and gradient of l2-regularised logistic regression, summed in a fixed order. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "logreg_rows.h"
#include "sg_debug.h"
#include "sg_logreg.h"
#include "sg_memory.h"
#include "sg_stats.h"

static double ridge(const double *x, size_t d, double l2) {
    struct sg_sum s = {0};
    for (size_t j = 0; j < d; j++)
        sg_sum_add(&s, x[j] * x[j]);
    return l2 / 2 * sg_sum_total(&s);
}

/* Losses are summed in a few hundred blocks of rows, which are added in order. All tiles of `margins` are whole but the
 * last. */
enum { VALUE_BLOCKS = 256, VALUE_TILE = 4 };

static size_t value_start(size_t m, size_t b) {
    return b == VALUE_BLOCKS ? m : block_start(m, b, VALUE_BLOCKS) / VALUE_TILE * VALUE_TILE;
}

double sg_logreg_value(const struct sg_matrix *a, const double *x, double l2, int threads) {
    SG_ASSERT(threads >= 1 && a->m > 0);
    const struct sg_dense *k = sg_logreg_kernels();
    struct sg_sum block[VALUE_BLOCKS] = {{0}}, total = {0};
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < VALUE_BLOCKS; b++)
        for (size_t i = value_start(a->m, b); i < value_start(a->m, b + 1); i++)
            sg_sum_add(&block[b], logistic_loss(a->label[i] * row_dot(k, a, i, x)));
    for (size_t b = 0; b < VALUE_BLOCKS; b++) {
        sg_sum_add(&total, block[b].total);
        sg_sum_add(&total, block[b].lost);
    }
    return sg_sum_total(&total) / (double)a->m + ridge(x, a->d, l2);
}

/* Margins of CSR rows: one sum per row and point in column order, as `margins` does for dense ones. */
static void csr_margins(double *out, const struct sg_matrix *a, size_t first, size_t rows, const double *xt,
                        size_t points) {
    SG_ASSERT(a->csr_start && first + rows <= a->m);
    memset(out, 0, rows * points * sizeof *out);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = (size_t)a->csr_start[first + r]; j < (size_t)a->csr_start[first + r + 1]; j++)
            for (size_t b = 0; b < points; b++)
                out[r * points + b] += a->csr_value[j] * xt[(size_t)a->csr_column[j] * points + b];
}

/* Losses at all points of the rows of value blocks first..first+SPAN-1, into sum [SPAN][SG_DENSE_POINTS]. Rows go
 * through `margins` in groups that are large enough to read xt seldom, and whose sums fit the stack. */
enum { SPAN = 8, GROUP = 128 };

static void span_losses(struct sg_sum *sum, const struct sg_matrix *a, size_t first, const double *xt, size_t points) {
    SG_ASSERT(first + SPAN <= VALUE_BLOCKS && points <= SG_DENSE_POINTS);
    const struct sg_dense *k = sg_logreg_kernels();
    double margin[GROUP * SG_DENSE_POINTS];
    const size_t to = value_start(a->m, first + SPAN);
    size_t next = value_start(a->m, ++first); /* row at which the following block begins */
    for (size_t i = value_start(a->m, first - 1); i < to; i += GROUP) {
        size_t rows = to - i < GROUP ? to - i : GROUP;
        if (a->i16)
            k->margins_i16(margin, a->i16 + i * a->d, rows, a->d, xt, points);
        else if (a->f32)
            k->margins_f32(margin, a->f32 + i * a->d, rows, a->d, xt, points);
        else if (a->f64)
            k->margins_f64(margin, a->f64 + i * a->d, rows, a->d, xt, points);
        else
            csr_margins(margin, a, i, rows, xt, points);
        for (size_t r = 0; r < rows; r++) {
            for (; i + r == next; sum += SG_DENSE_POINTS)
                next = value_start(a->m, ++first);
            for (size_t b = 0; b < points; b++)
                sg_sum_add(&sum[b], logistic_loss(a->label[i + r] * margin[r * points + b]));
        }
    }
}

/* Computes f at up to SG_DENSE_POINTS points. sum [VALUE_BLOCKS][SG_DENSE_POINTS] and xt [d][points] are scratch. */
static void batch_values(double *value, const struct sg_matrix *a, const double *x, size_t count, double l2,
                         int threads, struct sg_sum *sum, double *xt) {
    SG_ASSERT(count >= 1 && count <= SG_DENSE_POINTS && threads >= 1);
    size_t points = (count + SG_DENSE_POINTS_STEP - 1) / SG_DENSE_POINTS_STEP * SG_DENSE_POINTS_STEP;
    memset(sum, 0, VALUE_BLOCKS * SG_DENSE_POINTS * sizeof *sum);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (size_t j = 0; j < a->d; j++)
            for (size_t b = 0; b < points; b++)
                xt[j * points + b] = b < count ? x[b * a->d + j] : 0;
#pragma omp for schedule(dynamic)
        for (size_t c = 0; c < VALUE_BLOCKS; c += SPAN)
            span_losses(sum + c * SG_DENSE_POINTS, a, c, xt, points);
    }
    for (size_t b = 0; b < count; b++) {
        struct sg_sum total = {0};
        for (size_t c = 0; c < VALUE_BLOCKS; c++) {
            sg_sum_add(&total, sum[c * SG_DENSE_POINTS + b].total);
            sg_sum_add(&total, sum[c * SG_DENSE_POINTS + b].lost);
        }
        value[b] = sg_sum_total(&total) / (double)a->m + ridge(x + b * a->d, a->d, l2);
    }
}

void sg_logreg_values(double *value, const struct sg_matrix *a, const double *x, size_t count, double l2, int threads) {
    double *xt = sg_aligned_alloc(64, a->d * SG_DENSE_POINTS * sizeof *xt); /* a third faster than unaligned */
    struct sg_sum *sum = sg_malloc(VALUE_BLOCKS * SG_DENSE_POINTS * sizeof *sum);
    for (size_t at = 0; at < count; at += SG_DENSE_POINTS) {
        size_t now = count - at < SG_DENSE_POINTS ? count - at : SG_DENSE_POINTS;
        batch_values(value + at, a, x + at * a->d, now, l2, threads, sum, xt);
    }
    free(sum);
    free(xt);
}

/* d/dz of the loss of row i at margin y_i z, times y_i. */
static double slope(const struct sg_matrix *a, size_t i, double z) {
    SG_ASSERT(i < a->m && fabs(a->label[i]) == 1);
    return -a->label[i] * logistic_tail(a->label[i] * z);
}

double sg_logreg_slope(const struct sg_matrix *a, size_t i, const double *x) {
    return slope(a, i, row_dot(sg_logreg_kernels(), a, i, x));
}

size_t sg_logreg_scratch(size_t d) {
    return (1 + SG_DENSE_ROWS) * wide_stride(d);
}

/* g <- (1/count) sum of (slope_i(x) - less[i]) a_i; less NULL = zeros. wide [SG_DENSE_ROWS * wide_stride(d)] is
 * scratch. */
static void add_losses(double *g, const struct sg_matrix *a, const uint32_t *rows, size_t count, const double *x,
                       const double *less, double *wide) {
    SG_ASSERT(count > 0 && (rows || count <= a->m));
    const struct sg_dense *k = sg_logreg_kernels();
    memset(g, 0, a->d * sizeof *g);
    size_t r = 0;
    for (; !a->csr_start && r + SG_DENSE_ROWS <= count; r += SG_DENSE_ROWS) {
        size_t i[SG_DENSE_ROWS];
        double z[SG_DENSE_ROWS];
        const double *row[SG_DENSE_ROWS];
        for (size_t q = 0; q < SG_DENSE_ROWS; q++)
            i[q] = rows ? rows[r + q] : r + q;
        rows_dot(k, a, i, x, z, row, wide);
        for (size_t q = 0; q < SG_DENSE_ROWS; q++)
            z[q] = (slope(a, i[q], z[q]) - (less ? less[i[q]] : 0)) / (double)count;
        k->axpy4_f64(g, z, row, a->d);
    }
    for (; r < count; r++) {
        size_t i = rows ? rows[r] : r;
        row_axpy(k, a, i, (slope(a, i, row_dot(k, a, i, x)) - (less ? less[i] : 0)) / (double)count, g);
    }
}

void sg_logreg_gradient(double *g, const struct sg_matrix *a, const uint32_t *rows, size_t count, const double *x,
                        double l2, double *scratch) {
    add_losses(g, a, rows, count, x, NULL, scratch);
    for (size_t j = 0; j < a->d; j++)
        g[j] += l2 * x[j];
}

void sg_logreg_shifted_gradient(float *g, const struct sg_matrix *a, const uint32_t *rows, size_t count,
                                const double *x, double l2, const struct sg_logreg_origin *origin, double *scratch) {
    add_losses(scratch, a, rows, count, x, origin ? origin->slope : NULL, scratch + wide_stride(a->d));
    if (origin && origin->gradient)
        vector_axpy(scratch, 1, origin->gradient, a->d);
    sg_logreg_kernels()->ridge_gradient(g, scratch, l2, x, origin ? origin->x : NULL, a->d);
}

void sg_logreg_row_gradient(float *g, const struct sg_matrix *a, uint32_t row, const double *x, double l2) {
    SG_ASSERT(row < a->m);
    const struct sg_dense *k = sg_logreg_kernels();
    double c = slope(a, row, row_dot(k, a, row, x));
    if (a->i16) {
        k->row_gradient_i16(g, c, a->i16 + row * a->d, l2, x, a->d);
    } else if (a->f32) {
        k->row_gradient_f32(g, c, a->f32 + row * a->d, l2, x, a->d);
    } else if (a->f64) {
        k->row_gradient_f64(g, c, a->f64 + row * a->d, l2, x, a->d);
    } else {
        size_t j = 0;
        for (size_t at = (size_t)a->csr_start[row]; at < (size_t)a->csr_start[row + 1]; at++) {
            for (; j < a->csr_column[at]; j++)
                g[j] = (float)(l2 * x[j]);
            g[j] = (float)(c * a->csr_value[at] + l2 * x[j]);
            j++;
        }
        for (; j < a->d; j++)
            g[j] = (float)(l2 * x[j]);
    }
}
