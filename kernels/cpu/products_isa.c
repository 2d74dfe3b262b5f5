/* products_isa.c: see sg_products.h. Compiled once per instruction set. */
/* SPDX-License-Identifier: MIT */
#include "cpu_isa.h"

enum {
    TILE = 512,                            /* columns whose sums stay in the first-level cache */
    WORTH_THREADS = 1 << 15,               /* from so many elements on a second thread saves more than it costs */
    GROUP = 4,                             /* rows of M that share what is loaded of P, Q or the sums */
    ROWS = VECTOR_DOUBLES > 4 ? GROUP : 1, /* rows and columns of P whose sums fit the registers in `times` */
    RANKS = VECTOR_DOUBLES > 2 ? 2 : 1
};

/* acc + a x. The product is exact, so one rounding gives the bits of two. */
static inline vec add_product(vec a, vec x, vec acc) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, x, acc);
#elif defined(__AVX2__)
    return _mm256_fmadd_pd(a, x, acc);
#else
    return a * x + acc;
#endif
}

static inline vec broadcast(float x) {
    return (double)x - (vec){0}; /* subtracting +0 keeps every value, -0 too */
}

static inline void store_f32(float *out, vec v) {
#if defined(__AVX512F__)
    _mm256_storeu_ps(out, _mm512_cvtpd_ps(v));
#elif defined(__AVX2__)
    _mm_storeu_ps(out, _mm256_cvtpd_ps(v));
#else
    for (int l = 0; l < VECTOR_DOUBLES; l++)
        out[l] = (float)v[l];
#endif
}

static size_t at_most(size_t n, size_t limit) {
    return n < limit ? n : limit;
}

/* ---- M Q ---- */

/* Rows row .. row + rows - 1 with columns k .. k + ranks - 1 of Q. */
__attribute__((always_inline)) static inline void times_block(float *p, const float *m, const float *q,
                                                              const struct sg_shape *s, size_t row, size_t rows,
                                                              size_t k, size_t ranks) {
    const size_t n = s->columns;
    vec sum[GROUP][2][LANE_VECTORS];
    size_t j = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < ranks; c++)
            for (size_t v = 0; v < LANE_VECTORS; v++)
                sum[r][c][v] = (vec){0};
    m += row * n;
    q += k * n;
    for (; j + SG_KERNEL_LANES <= n; j += SG_KERNEL_LANES)
        for (size_t v = 0; v < LANE_VECTORS; v++) {
            const size_t at = j + v * VECTOR_DOUBLES;
            vec x[2];
            for (size_t c = 0; c < ranks; c++)
                x[c] = vec_load_f32(q + c * n + at);
            for (size_t r = 0; r < rows; r++) {
                const vec a = vec_load_f32(m + r * n + at);
                for (size_t c = 0; c < ranks; c++)
                    sum[r][c][v] = add_product(a, x[c], sum[r][c][v]);
            }
        }
    double lane[SG_KERNEL_LANES];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < ranks; c++) {
            double total = 0;
            __builtin_memcpy(lane, sum[r][c], sizeof lane);
            for (size_t i = j; i < n; i++)
                lane[i - j] += (double)m[r * n + i] * (double)q[c * n + i];
            for (size_t l = 0; l < SG_KERNEL_LANES; l++)
                total += lane[l];
            p[(k + c) * s->rows + row + r] = (float)total;
        }
}

static void times_rows(float *p, const float *m, const float *q, const struct sg_shape *s, size_t row, size_t rows) {
    for (size_t k = 0, ranks; k < s->rank; k += ranks) {
        ranks = at_most(s->rank - k, RANKS);
        if (rows == ROWS && ranks == RANKS)
            times_block(p, m, q, s, row, ROWS, k, RANKS);
        else if (rows == ROWS)
            times_block(p, m, q, s, row, ROWS, k, 1);
        else
            for (size_t r = row; r < row + rows; r++)
                for (size_t c = k; c < k + ranks; c++)
                    times_block(p, m, q, s, r, 1, c, 1);
    }
}

static void times(const struct sg_exec *exec, float *p, const float *m, const float *q, const struct sg_shape *s) {
    SG_ASSERT(exec->threads >= 1);
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (s->rows * s->columns >= WORTH_THREADS)
    for (size_t row = 0; row < s->rows; row += ROWS)
        times_rows(p, m, q, s, row, at_most(s->rows - row, ROWS));
}

/* ---- M' P ---- */

/* sum [width] += rows row .. row + rows - 1 of M from column `from` on, each times its number in p. */
__attribute__((always_inline)) static inline void add_rows(double *sum, const float *m, const float *p,
                                                           const struct sg_shape *s, size_t row, size_t rows,
                                                           size_t from, size_t width) {
    vec factor[GROUP];
    size_t j = 0;
    m += row * s->columns + from;
    for (size_t r = 0; r < rows; r++)
        factor[r] = broadcast(p[row + r]);
    for (; j + VECTOR_DOUBLES <= width; j += VECTOR_DOUBLES) {
        vec x = vec_load_f64(sum + j);
        for (size_t r = 0; r < rows; r++)
            x = add_product(vec_load_f32(m + r * s->columns + j), factor[r], x);
        __builtin_memcpy(sum + j, &x, sizeof x);
    }
    for (; j < width; j++)
        for (size_t r = 0; r < rows; r++)
            sum[j] += (double)m[r * s->columns + j] * (double)p[row + r];
}

static void transposed_tile(float *q, const float *m, const float *p, const struct sg_shape *s, size_t from,
                            size_t width) {
    double sum[4][TILE];
    for (size_t k = 0, ranks; k < s->rank; k += ranks) {
        size_t row = 0;
        ranks = at_most(s->rank - k, 4);
        for (size_t c = 0; c < ranks; c++)
            for (size_t j = 0; j < width; j++)
                sum[c][j] = 0;
        for (; row + GROUP <= s->rows; row += GROUP)
            for (size_t c = 0; c < ranks; c++)
                add_rows(sum[c], m, p + (k + c) * s->rows, s, row, GROUP, from, width);
        for (; row < s->rows; row++)
            for (size_t c = 0; c < ranks; c++)
                add_rows(sum[c], m, p + (k + c) * s->rows, s, row, 1, from, width);
        for (size_t c = 0; c < ranks; c++)
            for (size_t j = 0; j < width; j++)
                q[(k + c) * s->columns + from + j] = (float)sum[c][j];
    }
}

static void transposed(const struct sg_exec *exec, float *q, const float *m, const float *p, const struct sg_shape *s) {
    SG_ASSERT(exec->threads >= 1);
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (s->rows * s->columns >= WORTH_THREADS)
    for (size_t from = 0; from < s->columns; from += TILE)
        transposed_tile(q, m, p, s, from, at_most(s->columns - from, TILE));
}

/* ---- P Q' ---- */

/* Rows row .. row + rows - 1 from column `from` on. */
__attribute__((always_inline)) static inline void
outer_rows(float *m, const float *p, const float *q, const struct sg_shape *s, size_t row, size_t rows, bool subtract) {
    const size_t n = s->columns;
    size_t j = 0;
    m += row * n;
    for (; j + VECTOR_DOUBLES <= n; j += VECTOR_DOUBLES) {
        vec sum[GROUP] = {{0}};
        for (size_t k = 0; k < s->rank; k++) {
            const vec x = vec_load_f32(q + k * n + j);
            for (size_t r = 0; r < rows; r++)
                sum[r] = add_product(broadcast(p[k * s->rows + row + r]), x, sum[r]);
        }
        for (size_t r = 0; r < rows; r++)
            store_f32(m + r * n + j, subtract ? vec_load_f32(m + r * n + j) - sum[r] : sum[r]);
    }
    for (; j < n; j++)
        for (size_t r = 0; r < rows; r++) {
            double sum = 0;
            for (size_t k = 0; k < s->rank; k++)
                sum += (double)p[k * s->rows + row + r] * (double)q[k * n + j];
            m[r * n + j] = subtract ? (float)((double)m[r * n + j] - sum) : (float)sum;
        }
}

static void outer(const struct sg_exec *exec, float *m, const float *p, const float *q, const struct sg_shape *s,
                  bool subtract) {
    SG_ASSERT(exec->threads >= 1);
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (s->rows * s->columns >= WORTH_THREADS)
    for (size_t row = 0; row < s->rows; row += GROUP)
        if (row + GROUP <= s->rows)
            outer_rows(m, p, q, s, row, GROUP, subtract);
        else
            for (size_t r = row; r < s->rows; r++)
                outer_rows(m, p, q, s, r, 1, subtract);
}

const struct sg_products ISA_NAME(sg_products_) = {ISA_STRING, times, transposed, outer};
