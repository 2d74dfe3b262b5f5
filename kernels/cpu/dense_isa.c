/* dense_isa.c: see sg_dense.h. Compiled once per instruction set. */
/* SPDX-License-Identifier: MIT */
#include "cpu_isa.h"

#include <stdbool.h>

#if !defined(__AVX2__)
#include <math.h>
#endif

/* acc + a x with one rounding, in every instruction set: the plain C version calls fma(). */
static inline vec vec_fma(vec a, vec x, vec acc) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, x, acc);
#elif defined(__AVX2__)
    return _mm256_fmadd_pd(a, x, acc);
#else
    for (int l = 0; l < VECTOR_DOUBLES; l++)
        acc[l] = fma(a[l], x[l], acc[l]);
    return acc;
#endif
}

/* The next min(n, VECTOR_DOUBLES) elements, padded with zeros: a padded lane adds 0 x 0. */
static inline vec vec_upto_f64(const double *x, size_t n) {
    return n < VECTOR_DOUBLES ? vec_part_f64(x, n) : vec_load_f64(x);
}

static inline vec vec_upto_f32(const float *x, size_t n) {
    return n < VECTOR_DOUBLES ? vec_part_f32(x, n) : vec_load_f32(x);
}

static inline vec vec_upto_i16(const int16_t *x, size_t n) {
    return n < VECTOR_DOUBLES ? vec_part_i16(x, n) : vec_load_i16(x);
}

static inline void vec_store_upto(double *out, vec v, size_t n) {
    if (n < VECTOR_DOUBLES)
        vec_store_part(out, v, n);
    else
        __builtin_memcpy(out, &v, sizeof v);
}

/* The element types differ in the load only, and in that narrow rows leave a wide copy. */
#define DEFINE_ROW_KERNELS(type, suffix)                                                                               \
    static double dot_block_##suffix(const type *a, const double *x, size_t n) {                                       \
        vec sum[LANE_VECTORS] = {{0}};                                                                                 \
        size_t j = 0;                                                                                                  \
        for (; j + SG_KERNEL_LANES <= n; j += SG_KERNEL_LANES)                                                         \
            for (size_t v = 0; v < LANE_VECTORS; v++) {                                                                \
                size_t at = j + v * VECTOR_DOUBLES;                                                                    \
                sum[v] = vec_fma(vec_load_##suffix(a + at), vec_load_f64(x + at), sum[v]);                             \
            }                                                                                                          \
        for (size_t v = 0; j < n; j += VECTOR_DOUBLES, v++)                                                            \
            sum[v] = vec_fma(vec_upto_##suffix(a + j, n - j), vec_upto_f64(x + j, n - j), sum[v]);                     \
        return add_pairwise(sum);                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static double dot_##suffix(const type *a, const double *x, size_t n) {                                             \
        double sum = 0;                                                                                                \
        for (size_t j = 0; j < n; j += SG_KERNEL_BLOCK)                                                                \
            sum += dot_block_##suffix(a + j, x + j, n - j < SG_KERNEL_BLOCK ? n - j : SG_KERNEL_BLOCK);                \
        return sum;                                                                                                    \
    }                                                                                                                  \
                                                                                                                       \
    /* Four rows at once: their sums hide each other's latency, and four streams of memory are under way. */           \
    __attribute__((always_inline)) static inline void dot4_block_##suffix(double *out, bool widen, double *wide,       \
                                                                          size_t stride, const type *const *a,         \
                                                                          size_t j, const double *x, size_t n) {       \
        vec sum[SG_DENSE_ROWS][LANE_VECTORS];                                                                          \
        const type *const row[SG_DENSE_ROWS] = {a[0] + j, a[1] + j, a[2] + j, a[3] + j};                               \
        x += j;                                                                                                        \
        if (widen)                                                                                                     \
            wide += j;                                                                                                 \
        size_t i = 0;                                                                                                  \
        for (size_t r = 0; r < SG_DENSE_ROWS; r++)                                                                     \
            for (size_t v = 0; v < LANE_VECTORS; v++)                                                                  \
                sum[r][v] = (vec){0};                                                                                  \
        for (; i + SG_KERNEL_LANES <= n; i += SG_KERNEL_LANES)                                                         \
            for (size_t v = 0; v < LANE_VECTORS; v++) {                                                                \
                const size_t at = i + v * VECTOR_DOUBLES;                                                              \
                const vec b = vec_load_f64(x + at);                                                                    \
                for (size_t r = 0; r < SG_DENSE_ROWS; r++) {                                                           \
                    const vec c = vec_load_##suffix(row[r] + at);                                                      \
                    if (widen)                                                                                         \
                        vec_store_upto(wide + r * stride + at, c, VECTOR_DOUBLES);                                     \
                    sum[r][v] = vec_fma(c, b, sum[r][v]);                                                              \
                }                                                                                                      \
            }                                                                                                          \
        for (size_t v = 0; v < LANE_VECTORS; v++, i += VECTOR_DOUBLES) {                                               \
            if (i >= n)                                                                                                \
                break;                                                                                                 \
            const vec b = vec_upto_f64(x + i, n - i);                                                                  \
            for (size_t r = 0; r < SG_DENSE_ROWS; r++) {                                                               \
                const vec c = vec_upto_##suffix(row[r] + i, n - i);                                                    \
                if (widen)                                                                                             \
                    vec_store_upto(wide + r * stride + i, c, n - i);                                                   \
                sum[r][v] = vec_fma(c, b, sum[r][v]);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t r = 0; r < SG_DENSE_ROWS; r++)                                                                     \
            out[r] += add_pairwise(sum[r]);                                                                            \
    }                                                                                                                  \
                                                                                                                       \
    __attribute__((always_inline)) static inline void dot4_rows_##suffix(                                              \
        double *out, bool widen, double *wide, size_t stride, const type *const *a, const double *x, size_t n) {       \
        for (size_t r = 0; r < SG_DENSE_ROWS; r++)                                                                     \
            out[r] = 0;                                                                                                \
        for (size_t j = 0; j < n; j += SG_KERNEL_BLOCK)                                                                \
            dot4_block_##suffix(out, widen, wide, stride, a, j, x, n - j < SG_KERNEL_BLOCK ? n - j : SG_KERNEL_BLOCK); \
    }                                                                                                                  \
                                                                                                                       \
    static void axpy_##suffix(double *restrict y, double c, const type *restrict a, size_t n) {                        \
        for (size_t j = 0; j < n; j++)                                                                                 \
            y[j] = __builtin_fma(c, (double)a[j], y[j]);                                                               \
    }                                                                                                                  \
                                                                                                                       \
    static void row_gradient_##suffix(float *restrict g, double c, const type *restrict a, double l2,                  \
                                      const double *restrict x, size_t n) {                                            \
        for (size_t j = 0; j < n; j++)                                                                                 \
            g[j] = (float)__builtin_fma(c, (double)a[j], l2 * x[j]);                                                   \
    }

DEFINE_ROW_KERNELS(int16_t, i16)
DEFINE_ROW_KERNELS(float, f32)
DEFINE_ROW_KERNELS(double, f64)

static void dot4_i16(double *out, double *wide, size_t stride, const int16_t *const *a, const double *x, size_t n) {
    dot4_rows_i16(out, true, wide, stride, a, x, n);
}

static void dot4_f32(double *out, double *wide, size_t stride, const float *const *a, const double *x, size_t n) {
    dot4_rows_f32(out, true, wide, stride, a, x, n);
}

static void dot4_f64(double *out, const double *const *a, const double *x, size_t n) {
    dot4_rows_f64(out, false, NULL, 0, a, x, n);
}

static void axpy4_f64(double *restrict y, const double *c, const double *const *a, size_t n) {
    const double *restrict a0 = a[0], *restrict a1 = a[1], *restrict a2 = a[2], *restrict a3 = a[3];
    const double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
    for (size_t j = 0; j < n; j++)
        y[j] = __builtin_fma(c3, a3[j],
                             __builtin_fma(c2, a2[j], __builtin_fma(c1, a1[j], __builtin_fma(c0, a0[j], y[j]))));
}

static void ridge_gradient(float *restrict g, const double *restrict y, double l2, const double *restrict x,
                           const double *restrict center, size_t n) {
    for (size_t j = 0; center && j < n; j++)
        g[j] = (float)(y[j] + l2 * (x[j] - center[j]));
    for (size_t j = 0; !center && j < n; j++)
        g[j] = (float)(y[j] + l2 * x[j]);
}

/* margins: columns are taken in panels, and a panel's strip of points (16 KiB of xt) stays in the first-level cache
 * while all rows pass over it; the sums wait in `out` between panels, which keeps them in column order. Within a panel,
 * a tile of rows x strip of points is held in registers. */
enum {
    PANEL = 64,                         /* columns */
    TILE = 4,                           /* rows */
    STRIP = VECTOR_DOUBLES == 8 ? 4 : 2 /* vectors of points, so that the tile's sums fit the registers */
};

/* The shape is a compile-time constant in each call: its loops unroll and its sums live in registers. */
__attribute__((always_inline)) static inline void margins_tile(double *out, const double *a, size_t rows, size_t stride,
                                                               size_t n, const double *xt, size_t points,
                                                               size_t vectors) {
    vec sum[TILE][STRIP];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = vec_load_f64(out + r * points + v * VECTOR_DOUBLES);
    for (size_t j = 0; j < n; j++) {
        vec x[STRIP];
        for (size_t v = 0; v < vectors; v++)
            x[v] = vec_load_f64(xt + j * points + v * VECTOR_DOUBLES);
        for (size_t r = 0; r < rows; r++) {
            vec c = a[r * stride + j] - (vec){0}; /* broadcast; subtracting +0 keeps every value, -0 too */
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] = vec_fma(c, x[v], sum[r][v]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++)
            __builtin_memcpy(out + r * points + v * VECTOR_DOUBLES, &sum[r][v], sizeof(vec));
}

/* One panel of up to TILE rows against one strip, which is one vector wide at the end of the points. */
static void margins_strip(double *out, const double *a, size_t rows, size_t stride, size_t n, const double *xt,
                          size_t points, size_t vectors) {
    if (rows == TILE && vectors == STRIP)
        margins_tile(out, a, TILE, stride, n, xt, points, STRIP);
    else if (rows == TILE)
        margins_tile(out, a, TILE, stride, n, xt, points, 1);
    else
        for (size_t r = 0; r < rows; r++)
            if (vectors == STRIP)
                margins_tile(out + r * points, a + r * stride, 1, stride, n, xt, points, STRIP);
            else
                margins_tile(out + r * points, a + r * stride, 1, stride, n, xt, points, 1);
}

static size_t at_most(size_t n, size_t limit) {
    return n < limit ? n : limit;
}

/* A tile of the matrix in double: where it is, or widened (exactly) into `wide` with its own distance of rows. */
static const double *tile_f64(double *wide, const double *a, size_t rows, size_t columns, size_t *stride) {
    (void)wide, (void)rows, (void)columns, (void)stride;
    return a;
}

#define DEFINE_TILE(type, suffix)                                                                                      \
    static const double *tile_##suffix(double *wide, const type *a, size_t rows, size_t columns, size_t *stride) {     \
        for (size_t i = 0; i < rows; i++)                                                                              \
            for (size_t l = 0; l < columns; l++)                                                                       \
                wide[i * PANEL + l] = (double)a[i * *stride + l];                                                      \
        *stride = PANEL;                                                                                               \
        return wide;                                                                                                   \
    }

DEFINE_TILE(int16_t, i16)
DEFINE_TILE(float, f32)

#define DEFINE_MARGINS(type, suffix)                                                                                   \
    static void margins_##suffix(double *out, const type *a, size_t rows, size_t n, const double *xt, size_t points) { \
        SG_ASSERT(points <= SG_DENSE_POINTS && points % SG_DENSE_POINTS_STEP == 0);                                    \
        for (size_t i = 0; i < rows * points; i++)                                                                     \
            out[i] = 0;                                                                                                \
        for (size_t j = 0; j < n; j += PANEL)                                                                          \
            for (size_t b = 0, vectors; b < points; b += vectors * VECTOR_DOUBLES) {                                   \
                vectors = b + STRIP * VECTOR_DOUBLES <= points ? STRIP : 1;                                            \
                for (size_t r = 0; r < rows; r += TILE) {                                                              \
                    const size_t tile_rows = at_most(rows - r, TILE), columns = at_most(n - j, PANEL);                 \
                    double wide[TILE * PANEL];                                                                         \
                    size_t stride = n;                                                                                 \
                    const double *tile = tile_##suffix(wide, a + r * n + j, tile_rows, columns, &stride);              \
                    margins_strip(out + r * points + b, tile, tile_rows, stride, columns, xt + j * points + b, points, \
                                  vectors);                                                                            \
                }                                                                                                      \
            }                                                                                                          \
    }

DEFINE_MARGINS(int16_t, i16)
DEFINE_MARGINS(float, f32)
DEFINE_MARGINS(double, f64)

const struct sg_dense ISA_NAME(sg_dense_table_) = {
    ISA_STRING,       dot_i16,          dot_f32,        dot_f64,     dot4_i16,    dot4_f32,
    dot4_f64,         axpy_i16,         axpy_f32,       axpy_f64,    axpy4_f64,   row_gradient_i16,
    row_gradient_f32, row_gradient_f64, ridge_gradient, margins_i16, margins_f32, margins_f64,
};
