/* dense_isa.c: see sg_dense.h. Compiled once per instruction set. */
#include "cpu_isa.h"

#if defined(__AVX2__)
#include <immintrin.h>
#else
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

/* The two element types differ in the load only. */
#define DEFINE_ROW_KERNELS(type, suffix)                                                                               \
    static double dot_block_##suffix(const type *a, const double *x, size_t n) {                                       \
        vec sum[LANE_VECTORS] = {{0}};                                                                                 \
        size_t j = 0;                                                                                                  \
        for (; j + SG_KERNEL_LANES <= n; j += SG_KERNEL_LANES)                                                         \
            for (size_t v = 0; v < LANE_VECTORS; v++) {                                                                \
                size_t at = j + v * VECTOR_DOUBLES;                                                                    \
                sum[v] += vec_load_##suffix(a + at) * vec_load_f64(x + at);                                            \
            }                                                                                                          \
        double lane[SG_KERNEL_LANES];                                                                                  \
        __builtin_memcpy(lane, sum, sizeof lane);                                                                      \
        for (size_t l = 0; j + l < n; l++)                                                                             \
            lane[l] += (double)a[j + l] * x[j + l];                                                                    \
        return add_pairwise(lane);                                                                                     \
    }                                                                                                                  \
                                                                                                                       \
    static double dot_##suffix(const type *a, const double *x, size_t n) {                                             \
        double sum = 0;                                                                                                \
        for (size_t j = 0; j < n; j += SG_KERNEL_BLOCK)                                                                \
            sum += dot_block_##suffix(a + j, x + j, n - j < SG_KERNEL_BLOCK ? n - j : SG_KERNEL_BLOCK);                \
        return sum;                                                                                                    \
    }                                                                                                                  \
                                                                                                                       \
    static void axpy_##suffix(double *restrict y, double c, const type *restrict a, size_t n) {                        \
        for (size_t j = 0; j < n; j++)                                                                                 \
            y[j] += c * (double)a[j];                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static void row_gradient_##suffix(float *restrict g, double c, const type *restrict a, double l2,                  \
                                      const double *restrict x, size_t n) {                                            \
        for (size_t j = 0; j < n; j++)                                                                                 \
            g[j] = (float)(c * (double)a[j] + l2 * x[j]);                                                              \
    }

DEFINE_ROW_KERNELS(float, f32)
DEFINE_ROW_KERNELS(double, f64)

/* margins: columns are taken in panels, so that a panel of xt (32 KiB for 32 points) stays in the first-level cache
 * while all rows pass over it; the sums wait in `out` between panels, which keeps them in column order. Within a panel,
 * a tile of rows x strip of points is held in registers. */
enum {
    PANEL = 128,                        /* columns */
    TILE = 4,                           /* rows */
    STRIP = VECTOR_DOUBLES == 8 ? 4 : 2 /* vectors of points, so that the tile's sums fit the registers */
};

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

/* The tile's shape is a compile-time constant in each branch: its loops unroll and its sums live in registers. */
static void margins_strips(double *out, const double *a, size_t rows, size_t stride, size_t n, const double *xt,
                           size_t points) {
    size_t b = 0;
    for (; b + STRIP * VECTOR_DOUBLES <= points; b += STRIP * VECTOR_DOUBLES) {
        if (rows == TILE)
            margins_tile(out + b, a, TILE, stride, n, xt + b, points, STRIP);
        else
            for (size_t r = 0; r < rows; r++)
                margins_tile(out + r * points + b, a + r * stride, 1, stride, n, xt + b, points, STRIP);
    }
    for (; b < points; b += VECTOR_DOUBLES) {
        if (rows == TILE)
            margins_tile(out + b, a, TILE, stride, n, xt + b, points, 1);
        else
            for (size_t r = 0; r < rows; r++)
                margins_tile(out + r * points + b, a + r * stride, 1, stride, n, xt + b, points, 1);
    }
}

static size_t at_most(size_t n, size_t limit) {
    return n < limit ? n : limit;
}

static void margins_f64(double *out, const double *a, size_t rows, size_t n, const double *xt, size_t points) {
    for (size_t i = 0; i < rows * points; i++)
        out[i] = 0;
    for (size_t j = 0; j < n; j += PANEL)
        for (size_t r = 0; r < rows; r += TILE)
            margins_strips(out + r * points, a + r * n + j, at_most(rows - r, TILE), n, at_most(n - j, PANEL),
                           xt + j * points, points);
}

static void margins_f32(double *out, const float *a, size_t rows, size_t n, const double *xt, size_t points) {
    for (size_t i = 0; i < rows * points; i++)
        out[i] = 0;
    for (size_t j = 0; j < n; j += PANEL)
        for (size_t r = 0; r < rows; r += TILE) {
            size_t tile_rows = at_most(rows - r, TILE), columns = at_most(n - j, PANEL);
            double tile[TILE * PANEL]; /* widening is exact */
            for (size_t i = 0; i < tile_rows; i++)
                for (size_t l = 0; l < columns; l++)
                    tile[i * PANEL + l] = (double)a[(r + i) * n + j + l];
            margins_strips(out + r * points, tile, tile_rows, PANEL, columns, xt + j * points, points);
        }
}

const struct sg_dense ISA_NAME(sg_dense_table_) = {
    ISA_STRING, dot_f32, dot_f64, axpy_f32, axpy_f64, row_gradient_f32, row_gradient_f64, margins_f32, margins_f64,
};
