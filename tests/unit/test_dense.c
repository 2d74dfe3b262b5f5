/* Dense row kernels: exact on integers, the same bits in every instruction set, margins independent of the batch. */
/* SPDX-License-Identifier: MIT */
#include "kernel_tables.h"
#include "sg_dense.h"

enum { ROWS = 11, N = 9000, POINTS = SG_DENSE_POINTS };

static int16_t whole[ROWS * N];
static float narrow[ROWS * N], gradient[N];
static double wide[ROWS * N], x[N], points[N * POINTS], out[ROWS * POINTS], part[ROWS * POINTS], sum[N];

static void integers(void) {
    sg_rng r = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < ROWS * N; i++)
        wide[i] = narrow[i] = whole[i] = (int16_t)((int)sg_rng_below(&r, 2001) - 1000);
    for (size_t j = 0; j < N; j++)
        x[j] = (double)sg_rng_below(&r, 2001) - 1000;
    for (size_t i = 0; i < N * POINTS; i++)
        points[i] = (double)sg_rng_below(&r, 2001) - 1000;
}

static void reals(void) {
    sg_rng r = sg_rng_open(2, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < ROWS * N; i++)
        wide[i] = narrow[i] = (float)sg_rng_normal(&r);
    for (size_t j = 0; j < N; j++)
        x[j] = sg_rng_normal(&r);
    for (size_t i = 0; i < N * POINTS; i++)
        points[i] = sg_rng_normal(&r);
}

static double plain_dot(const double *a, const double *b, size_t stride, size_t n) {
    double s = 0;
    for (size_t j = 0; j < n; j++)
        s += a[j] * b[j * stride];
    return s;
}

static void test_exact(const struct sg_dense *dense) {
    static const size_t lengths[] = {0, 1, 15, 16, 17, 127, 128, 129, 4095, 4096, 4097, N};
    integers();
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t n = lengths[i];
        const double want = plain_dot(wide, x, 1, n);
        wrong += dense->dot_f32(narrow, x, n) != want || dense->dot_f64(wide, x, n) != want;
        wrong += dense->dot_i16(whole, x, n) != want;
        for (size_t j = 0; j < n; j++)
            sum[j] = x[j];
        dense->axpy_i16(sum, 1, whole, n);
        dense->axpy_f32(sum, 2, narrow, n);
        dense->axpy_f64(sum, -7, wide + N, n);
        dense->row_gradient_f32(gradient, 5, narrow, 2, x, n);
        for (size_t j = 0; j < n; j++) {
            wrong += sum[j] != x[j] + 3 * wide[j] - 7 * wide[N + j];
            wrong += (double)gradient[j] != 5 * wide[j] + 2 * x[j];
        }
        dense->row_gradient_f64(gradient, 5, wide, 2, x, n);
        for (size_t j = 0; j < n; j++)
            wrong += (double)gradient[j] != 5 * wide[j] + 2 * x[j];
        dense->row_gradient_i16(gradient, 5, whole, 2, x, n);
        for (size_t j = 0; j < n; j++)
            wrong += (double)gradient[j] != 5 * wide[j] + 2 * x[j];
        for (int centred = 0; centred < 2; centred++) {
            dense->ridge_gradient(gradient, wide, 3, x, centred ? wide + N : NULL, n);
            for (size_t j = 0; j < n; j++)
                wrong += (double)gradient[j] != wide[j] + 3 * (x[j] - (centred ? wide[N + j] : 0));
        }
    }
    ok(wrong == 0, "%s: dot, axpy and row gradients of integers are exact", dense->name);
    wrong = 0;
    for (size_t p = SG_DENSE_POINTS_STEP; p <= POINTS; p += SG_DENSE_POINTS_STEP)
        for (size_t rows = 0; rows <= ROWS; rows++)
            for (size_t n = 0; n <= 300; n += 100) {
                for (int type = 0; type < 3; type++) {
                    if (type == 0)
                        dense->margins_i16(out, whole, rows, n, points, p);
                    else if (type == 1)
                        dense->margins_f32(out, narrow, rows, n, points, p);
                    else
                        dense->margins_f64(out, wide, rows, n, points, p);
                    for (size_t r = 0; r < rows; r++)
                        for (size_t b = 0; b < p; b++)
                            wrong += out[r * p + b] != plain_dot(wide + r * n, points + b, p, n);
                }
            }
    ok(wrong == 0, "%s: margins of integers are exact for any rows and points", dense->name);
}

/* Integers are exact in every type, so all must give the same bits at vectors that are not. */
static void test_whole(const struct sg_dense *dense) {
    enum { STRIDE = N };
    static double copy[SG_DENSE_ROWS * STRIDE], left[N], right[N];
    integers();
    size_t differ = 0;
    for (size_t j = 0; j < N; j++)
        x[j] = 1 / (x[j] + 0.5);
    for (size_t n = 0; n + 3 <= N; n += n < 40 ? 1 : 337) {
        const int16_t *rows[SG_DENSE_ROWS] = {whole, whole + 1, whole + 3, whole + 2};
        double z[SG_DENSE_ROWS];
        dense->dot4_i16(z, copy, STRIDE, rows, x, n);
        for (size_t r = 0; r < SG_DENSE_ROWS; r++) {
            differ += z[r] != dense->dot_i16(rows[r], x, n) || z[r] != dense->dot_f64(wide + (rows[r] - whole), x, n);
            differ += memcmp(copy + r * STRIDE, wide + (rows[r] - whole), n * sizeof *copy) != 0;
        }
        memcpy(left, x, n * sizeof *x);
        memcpy(right, x, n * sizeof *x);
        dense->axpy_i16(left, 0.3, whole, n);
        dense->axpy_f64(right, 0.3, wide, n);
        differ += memcmp(left, right, n * sizeof *left) != 0;
    }
    ok(differ == 0, "%s: integer rows give the bits of double ones", dense->name);
}

/* Four rows at once are four rows one by one, bit for bit. */
static void test_rows(const struct sg_dense *dense) {
    enum { STRIDE = N + 1, UNTOUCHED = 7 };
    static double one[N], four[N], copy[SG_DENSE_ROWS * STRIDE];
    reals();
    size_t differ = 0;
    for (size_t n = 0; n + 3 <= N; n += n < 40 ? 1 : 337) {
        const float *f32[SG_DENSE_ROWS] = {narrow, narrow + 1, narrow + 3, narrow + 2};
        const double *f64[SG_DENSE_ROWS] = {wide, wide + 1, wide + 3, wide + 2};
        double z32[SG_DENSE_ROWS], z64[SG_DENSE_ROWS];
        for (size_t r = 0; r < SG_DENSE_ROWS; r++)
            copy[r * STRIDE + n] = UNTOUCHED;
        dense->dot4_f32(z32, copy, STRIDE, f32, x, n);
        dense->dot4_f64(z64, f64, x, n);
        for (size_t r = 0; r < SG_DENSE_ROWS; r++)
            differ += z32[r] != dense->dot_f32(f32[r], x, n) || z64[r] != dense->dot_f64(f64[r], x, n) ||
                      memcmp(copy + r * STRIDE, f64[r], n * sizeof *copy) != 0 || copy[r * STRIDE + n] != UNTOUCHED;
        memcpy(one, x, n * sizeof *x);
        memcpy(four, x, n * sizeof *x);
        for (size_t r = 0; r < SG_DENSE_ROWS; r++)
            dense->axpy_f64(one, z64[r], f64[r], n);
        dense->axpy4_f64(four, z64, f64, n);
        differ += memcmp(one, four, n * sizeof *one) != 0;
    }
    ok(differ == 0, "%s: four rows at once give the bits of one by one", dense->name);
}

static void test_bits(const struct sg_dense *dense, const struct sg_dense *c) {
    static double reference[ROWS * POINTS];
    static float rounded[N];
    reals();
    size_t differ = 0;
    for (size_t n = 1; n <= N; n += 337) {
        const double want = lane_sum(wide, x, n);
        differ += dense->dot_f32(narrow, x, n) != want || dense->dot_f64(wide, x, n) != want;
        dense->row_gradient_f32(gradient, 0.3, narrow, 1e-3, x, n);
        c->row_gradient_f64(rounded, 0.3, wide, 1e-3, x, n);
        differ += memcmp(gradient, rounded, n * sizeof *rounded) != 0;
    }
    ok(differ == 0, "%s: dots in the stated order, row gradients as in plain C", dense->name);
    /* The definition: one fma a column, in order. */
    dense->margins_f32(out, narrow, ROWS, 1000, points, POINTS);
    dense->margins_f64(part, wide, ROWS, 1000, points, POINTS);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t b = 0; b < POINTS; b++) {
            reference[r * POINTS + b] = 0;
            for (size_t j = 0; j < 1000; j++)
                reference[r * POINTS + b] = fma(wide[r * 1000 + j], points[j * POINTS + b], reference[r * POINTS + b]);
        }
    ok(memcmp(out, reference, sizeof out) == 0 && memcmp(part, reference, sizeof part) == 0,
       "%s: margins are one fma a column, in order", dense->name);
    /* Row 6 alone, with points 8..15 alone. */
    static double few[1000 * SG_DENSE_POINTS_STEP];
    for (size_t j = 0; j < 1000; j++)
        for (size_t b = 0; b < SG_DENSE_POINTS_STEP; b++)
            few[j * SG_DENSE_POINTS_STEP + b] = points[j * POINTS + 8 + b];
    dense->margins_f64(part, wide + 6000, 1, 1000, few, SG_DENSE_POINTS_STEP);
    ok(memcmp(part, reference + 6 * POINTS + 8, SG_DENSE_POINTS_STEP * sizeof *part) == 0,
       "%s: a margin does not depend on the rows and points around it", dense->name);
}

static void test_table(const struct sg_kernels *kernels) {
    test_exact(kernels->dense);
    test_rows(kernels->dense);
    test_whole(kernels->dense);
    test_bits(kernels->dense, sg_kernels_cpu("c")->dense);
}

int main(void) {
    test_tables(test_table);
    return tap_done();
}
