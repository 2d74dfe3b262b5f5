/* test_logreg.c: logistic regression against NumPy and SciPy and finite differences; the cache of L and x*. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../golden/logreg_golden.h"
#include "sg_file.h"
#include "sg_dataset.h"
#include "sg_logreg.h"
#include "sg_optimum.h"
#include "sg_rng.h"
#include "tap.h"
#include "temporary.h"

enum { M = 40, D = 9 };

static double scratch[128]; /* sg_logreg_scratch(D), checked in main */
static const double l2 = 1.0 / 64;
static struct sg_error err;

/* The matrix of logreg_golden.py. */
static void golden_matrix(struct sg_matrix *out, enum sg_storage storage) {
    struct sg_matrix_room room;
    if (sg_matrix_allocate(out, &room, storage, M, D, M * D, &err) != SG_OK)
        exit(1);
    size_t at = 0;
    for (size_t i = 0; i < M; i++) {
        room.label[i] = i * 7 % 3 == 0 ? 1 : -1;
        for (size_t j = 0; j < D; j++) {
            double value = ((double)((i * 37 + j * 101 + i * j * 13) % 64) - 31) / 16;
            if (room.f32) {
                room.f32[i * D + j] = (float)value;
            } else if (room.f64) {
                room.f64[i * D + j] = value;
            } else if (value != 0) {
                room.csr_column[at] = (uint32_t)j;
                room.csr_value[at++] = value;
            }
        }
        if (room.csr_start)
            room.csr_start[i + 1] = at;
    }
}

static void golden_point(double *x) {
    for (int j = 0; j < D; j++)
        x[j] = ((j * 29) % 17 - 8) / 32.0;
}

static double distance(const double *x, const double *y, size_t n) {
    double largest = 0;
    for (size_t j = 0; j < n; j++)
        largest = fabs(x[j] - y[j]) >= largest ? fabs(x[j] - y[j]) : largest;
    return isfinite(largest) ? largest : INFINITY;
}

static void test_golden(enum sg_storage storage, const char *name) {
    struct sg_matrix a;
    struct sg_logreg_constants c;
    double x[D], g[D], value, norm;
    float rounded[D];
    golden_matrix(&a, storage);
    golden_point(x);
    sg_logreg_measure(&c, &a, 2);
    ok(fabs(c.lipschitz / golden_lipschitz[0] - 1) <= 4 * DBL_EPSILON && c.row_mean == golden_row_mean[0] &&
           c.row_max == golden_row_max[0],
       "%s: L, mean and maximum as NumPy has them", name);
    /* Sums of 9 and 40 terms of order one. */
    ok(fabs(sg_logreg_value(&a, x, l2, 2) - golden_value[0]) <= 4 * DBL_EPSILON, "%s: f", name);
    sg_logreg_gradient(g, &a, NULL, M, x, l2, scratch);
    ok(distance(g, golden_gradient, D) <= 8 * DBL_EPSILON, "%s: gradient", name);
    double mean[D] = {0};
    for (uint32_t i = 0; i < M; i++) {
        sg_logreg_row_gradient(rounded, &a, i, x, l2);
        sg_logreg_gradient(g, &a, &i, 1, x, l2, scratch);
        for (int j = 0; j < D; j++)
            mean[j] += fabs((double)rounded[j] - g[j]) <= fabs(g[j]) * FLT_EPSILON / 2 ? g[j] / M : NAN;
    }
    ok(distance(mean, golden_gradient, D) <= 16 * DBL_EPSILON,
       "%s: row gradients are rounded, and average to the gradient", name);
    ok(sg_logreg_solve(g, &value, &norm, &a, l2, 2, NULL, NULL, &err) == SG_OK &&
           distance(g, golden_optimum, D) <= 64 * DBL_EPSILON &&
           fabs(value - golden_optimum_value[0]) <= 4 * DBL_EPSILON && norm <= 8 * DBL_EPSILON,
       "%s: x* and f*", name);
    ok(sg_logreg_solve(g, &value, &norm, &a, 0, 2, NULL, NULL, &err) == SG_ERR_ARGUMENT, "%s: no optimum without l2",
       name);
    sg_matrix_free(&a);
}

static void test_shifted(enum sg_storage storage, const char *name) {
    struct sg_matrix a;
    double x[D], origin[D], slope[M], at_x[D], at_origin[D], worst = 0;
    float g[D];
    golden_matrix(&a, storage);
    golden_point(x);
    const struct sg_logreg_origin o = {origin, slope};
    for (int j = 0; j < D; j++)
        origin[j] = x[j] * 0.5 + 0.1;
    for (size_t i = 0; i < M; i++)
        slope[i] = sg_logreg_slope(&a, i, origin);
    sg_logreg_gradient(at_x, &a, NULL, M, x, l2, scratch);
    sg_logreg_gradient(at_origin, &a, NULL, M, origin, l2, scratch);
    sg_logreg_shifted_gradient(g, &a, NULL, M, x, l2, &o, scratch);
    for (int j = 0; j < D; j++) {
        double want = at_x[j] - at_origin[j], gap = fabs((double)g[j] - want) / (fabs(want) + DBL_EPSILON);
        worst = gap <= worst ? worst : gap;
    }
    /* One rounding to float, and double roundings that cancellation magnifies less than a million times. */
    ok(worst <= FLT_EPSILON, "%s: shifted gradient is the difference of two (%g)", name, worst);
    sg_logreg_shifted_gradient(g, &a, NULL, M, origin, l2, &o, scratch);
    bool zero = true;
    for (int j = 0; j < D; j++)
        zero &= g[j] == 0;
    ok(zero, "%s: and exactly zero at its origin", name);
    sg_logreg_shifted_gradient(g, &a, NULL, M, x, l2, NULL, scratch);
    bool plain = true;
    for (int j = 0; j < D; j++)
        plain &= g[j] == (float)at_x[j];
    ok(plain, "%s: without origin it is the rounded gradient", name);
    sg_matrix_free(&a);
}

static void test_finite_differences(void) {
    struct sg_matrix a;
    double x[D], g[D], worst = 0, step = 1e-5;
    golden_matrix(&a, SG_STORAGE_F64);
    golden_point(x);
    sg_logreg_gradient(g, &a, NULL, M, x, l2, scratch);
    for (int j = 0; j < D; j++) {
        double before = x[j];
        x[j] = before + step;
        double high = sg_logreg_value(&a, x, l2, 1);
        x[j] = before - step;
        double low = sg_logreg_value(&a, x, l2, 1);
        x[j] = before;
        double gap = fabs((high - low) / (2 * step) - g[j]);
        worst = gap <= worst ? worst : gap;
    }
    /* |f'''| step^2 / 6 < 1e-10 with |a_ij| <= 2, rounding 1e-16 / step. */
    ok(worst <= 1e-9, "gradient against central differences of f: %g", worst);
    sg_matrix_free(&a);
}

/* One row per margin: a = margin, y = 1, x = 1, so f is the loss of that margin. */
static void test_extreme_margins(void) {
    static const double margin[] = {0, 1e-8, 30, 800, 1e5, -1e-8, -30, -800, -1e5};
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof margin / sizeof *margin; i++) {
        struct sg_matrix a;
        struct sg_matrix_room room;
        double x = 1, g, z = margin[i];
        if (sg_matrix_allocate(&a, &room, SG_STORAGE_F64, 1, 1, 0, &err) != SG_OK)
            exit(1);
        room.label[0] = 1;
        room.f64[0] = z;
        long double loss = z > 0 ? log1pl(expl(-(long double)z)) : log1pl(expl(z)) - (long double)z;
        long double slope = z > 0 ? -z * expl(-(long double)z) / (1 + expl(-(long double)z)) : -z / (1 + expl(z));
        double f = sg_logreg_value(&a, &x, 0, 1);
        sg_logreg_gradient(&g, &a, NULL, 1, &x, 0, scratch);
        if (!(fabs(f - (double)loss) <= 2 * DBL_EPSILON * (double)loss &&
              fabs(g - (double)slope) <= 4 * DBL_EPSILON * fabs((double)slope)) &&
            ++wrong)
            printf("#   margin %g: f %.17g, slope %.17g\n", z, f, g);
        sg_matrix_free(&a);
    }
    ok(wrong == 0, "loss and slope at margins from -1e5 to 1e5");
}

/* Values do not depend on the batch, nothing depends on threads. */
static void test_batches(void) {
    enum { POINTS = 37 };
    struct sg_matrix a;
    double x[POINTS * 40], all[POINTS], one, worst = 0;
    if (sg_generate(&a, "two-clouds", 1, &err) != SG_OK || a.d != 40)
        exit(1);
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < POINTS * a.d; i++)
        x[i] = 0.3 * sg_rng_normal(&rng);
    size_t wrong = 0;
    sg_logreg_values(all, &a, x, POINTS, l2, 2);
    for (size_t b = 0; b < POINTS; b++) {
        sg_logreg_values(&one, &a, x + b * a.d, 1, l2, 3);
        wrong += one != all[b];
        double gap = fabs(sg_logreg_value(&a, x + b * a.d, l2, 1) / one - 1);
        worst = gap <= worst ? worst : gap;
    }
    ok(wrong == 0, "a value does not depend on its batch or the threads");
    ok(worst <= 8 * DBL_EPSILON, "and agrees with f of one point: %g", worst);

    double best[2][40], value[2], norm[2];
    struct sg_logreg_constants c[2];
    memset(c, 0, sizeof c);
    for (int t = 0; t < 2; t++) {
        sg_logreg_measure(&c[t], &a, 1 + 2 * t);
        wrong += sg_logreg_solve(best[t], &value[t], &norm[t], &a, l2, 1 + 2 * t, NULL, NULL, &err) != SG_OK;
    }
    ok(wrong == 0 && memcmp(best[0], best[1], sizeof best[0]) == 0 && value[0] == value[1] && norm[0] == norm[1] &&
           memcmp(&c[0], &c[1], sizeof c[0]) == 0,
       "x*, f* and L have the same bits from 1 and 3 threads");
    sg_matrix_free(&a);
}

static int progress_calls;
static void count_progress(const char *what, double done, double total) {
    progress_calls += what && done <= total;
}

static int notices;
static void count_notice(const char *message) {
    notices += strstr(message, "made again") != NULL;
}

/* Each byte of the file changed by one bit, in turn another of the eight, is noticed; returns how often it was not. The
 * four bytes of the version, 8 to 11, make it a file of another version, which is made again in silence. */
static size_t count_unnoticed(const char *path, sg_status (*again)(void *arg), void *arg) {
    char *bytes;
    size_t length, unnoticed = 0;
    if (sg_file_read(&bytes, &length, path, 1 << 20, &err) != SG_OK)
        return SIZE_MAX;
    for (size_t at = 0; at < length; at++) {
        const char bit = (char)(1 << (at + at / 8) % 8);
        bytes[at] ^= bit;
        if (sg_file_replace(path, bytes, length, &err) != SG_OK)
            return SIZE_MAX;
        bytes[at] ^= bit;
        notices = progress_calls = 0;
        unnoticed += again(arg) != SG_OK || notices != (at / 4 != 2) || progress_calls == 0;
    }
    free(bytes);
    return unnoticed;
}

struct question {
    struct sg_matrix a;
    struct sg_optimum_options options;
    struct sg_optimum best;
    struct sg_logreg_constants constants;
    bool same;
};

static sg_status solve_again(void *arg) {
    struct question *q = arg;
    struct sg_optimum best;
    sg_status status = sg_optimum_solve(&best, &q->a, l2, &q->options, &err);
    if (status != SG_OK)
        return status;
    q->same &= memcmp(best.x, q->best.x, D * sizeof(double)) == 0 && best.value == q->best.value;
    sg_optimum_free(&best);
    return SG_OK;
}

static sg_status measure_again(void *arg) {
    struct question *q = arg;
    struct sg_logreg_constants c;
    sg_optimum_lipschitz(&c, &q->a, &q->options);
    sg_status status = SG_OK;
    q->same &= status == SG_OK && memcmp(&c, &q->constants, sizeof c) == 0;
    return status;
}

static void test_optimum_cache(void) {
    char sha256[65], l_path[512] = "", x_path[512] = "";
    struct question q = {
        .options = {
            .sha256 = sha256, .data_dir = temporary, .threads = 1, .progress = count_progress, .notice = count_notice}};
    sg_sha256_of("data", 4, sha256);
    golden_matrix(&q.a, SG_STORAGE_F32);
    q.same = true;
    progress_calls = 0;
    sg_optimum_lipschitz(&q.constants, &q.a, &q.options);
    ok(sg_optimum_solve(&q.best, &q.a, l2, &q.options, &err) == SG_OK && progress_calls > 1,
       "L and x* are computed at first");
    progress_calls = 0;
    ok(solve_again(&q) == SG_OK && measure_again(&q) == SG_OK && progress_calls == 0, "then remembered");
    ok(q.same && notices == 0, "with the same bits");

    glob_t found;
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/derived/*-*.cache", temporary);
    ok(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 2, "in two files");
    for (size_t i = 0; i < found.gl_pathc; i++)
        snprintf(strstr(found.gl_pathv[i], "/optimum-") ? x_path : l_path, sizeof x_path, "%s", found.gl_pathv[i]);
    globfree(&found);
    ok(count_unnoticed(x_path, solve_again, &q) == 0 && q.same, "a flipped bit of x* is told of, and x* computed anew");
    ok(count_unnoticed(l_path, measure_again, &q) == 0 && q.same, "a flipped bit of L is told of, and L computed anew");
    notices = 0;
    ok(truncate(x_path, 100) == 0 && solve_again(&q) == SG_OK && q.same && notices == 1, "so is a truncated file");
    ok(unlink(x_path) == 0 && mkfifo(x_path, 0666) == 0 && solve_again(&q) == SG_OK && q.same && notices == 2,
       "a named pipe in its place is not waited for");
    sg_optimum_free(&q.best);

    progress_calls = 0;
    ok(sg_optimum_solve(&q.best, &q.a, 2 * l2, &q.options, &err) == SG_OK && progress_calls > 0,
       "another l2 is another optimum");
    sg_optimum_free(&q.best);
    q.options = (struct sg_optimum_options){.sha256 = sha256, .data_dir = "/proc/none", .threads = 1};
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    setenv("HOME", "/proc/none", 1);
    ok(sg_optimum_solve(&q.best, &q.a, l2, &q.options, &err) == SG_OK && q.best.x,
       "a folder that cannot be written is done without");
    sg_optimum_free(&q.best);
    sg_matrix_free(&q.a);
}

/* The published constants, on the real data. */
static void test_madelon(void) {
    const char *shared = getenv("SPARSE_SHARED_DATA");
    char path[512];
    struct sg_matrix a;
    struct sg_provenance from;
    struct sg_logreg_constants c;
    const struct sg_dataset_request request = {.name = path, .data_dir = temporary};
    snprintf(path, sizeof path, "%s/madelon/madelon.xz", shared ? shared : "../shared/data");
    if (access(path, R_OK) != 0) {
        skip("the real madelon is not at %s", path);
        return;
    }
    if (!ok(sg_dataset_load(&a, &from, &request, &err) == SG_OK && a.m == 2000 && a.d == 500 && a.i16,
            "madelon is read"))
        return;
    ok(strcmp(from.sha256, "09de631700d61b8d5f57a2c7de5022ac528cc7039b0b7b066cd751313cf24fe9") == 0,
       "madelon: checksum of the text");
    sg_provenance_free(&from);
    /* L = 29790805.649335104774301806… in exact arithmetic on the integers (power iteration on A^T A with rationals).
     * The published 29790805.64933511, from an SVD in double precision, is the next double above the nearest one. */
    sg_logreg_measure(&c, &a, 2);
    ok(c.lipschitz == 29790805.649335104774301806 && nextafter(c.lipschitz, INFINITY) == 29790805.64933511 &&
           c.row_mean == 29904489.146625 && c.row_max == 30596924.0,
       "madelon: L, mean and maximum to the last bit");
    double x[500], value = NAN, norm = NAN;
    sg_status status = sg_logreg_solve(x, &value, &norm, &a, c.lipschitz / 10000, 2, NULL, NULL, &err);
    ok(status == SG_OK && fabs(value - 0.6679195534295151) <= 2 * DBL_EPSILON && norm <= 4e-13,
       "madelon: f* = %.16g, |grad f| = %.2g", value, norm);
    for (int j = 0; j < 500; j++)
        x[j] += 1e-4;
    double start = sg_logreg_value(&a, x, c.lipschitz / 10000, 2);
    ok(fabs(start - 12.170929055946592) <= 1e-12, "madelon: f(x* + 1e-4) = %.16g", start);
    sg_matrix_free(&a);
}

int main(void) {
    ok(sg_logreg_scratch(D) <= sizeof scratch / sizeof *scratch, "scratch is enough");
    temporary_make();
    test_golden(SG_STORAGE_F32, "float rows");
    test_golden(SG_STORAGE_F64, "double rows");
    test_golden(SG_STORAGE_CSR, "compressed rows");
    test_shifted(SG_STORAGE_F32, "float rows");
    test_shifted(SG_STORAGE_F64, "double rows");
    test_shifted(SG_STORAGE_CSR, "compressed rows");
    test_finite_differences();
    test_extreme_margins();
    test_batches();
    test_optimum_cache();
    test_madelon();
    return tap_done();
}
