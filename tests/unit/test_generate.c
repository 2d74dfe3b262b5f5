/* test_generate.c: generated matrices: their bytes on any number of threads, and how like gisette gisette-like is. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_logreg.h"
#include "sg_matrix.h"
#include "sg_threads.h"
#include "tap.h"

static struct sg_error err;

/* Published for gisette. */
static const struct sg_logreg_constants gisette = {842.8680386162022, 1163.3450223356576, 1201.509044847137};

static int generated_sha256(const char *name, uint64_t seed, int threads, char sha256[65]) {
    struct sg_matrix a;
    omp_set_num_threads(threads);
    int good = sg_generate(&a, name, seed, &err) == SG_OK;
    if (good) {
        sg_matrix_sha256(&a, sha256);
        sg_matrix_free(&a);
    }
    return good;
}

static void test_two_clouds(void) {
    struct sg_matrix a;
    char one[65], other[65];
    if (!ok(sg_generate(&a, "two-clouds", 3, &err) == SG_OK && a.m == 240 && a.d == 40 && a.f32,
            "two-clouds: 240 x 40 floats"))
        return;
    double sum = 0;
    for (size_t i = 0; i < a.m; i++)
        sum += fabs(a.label[i]) == 1 ? a.label[i] : 1000;
    ok(sum == 0, "two-clouds: as many of either class");
    sg_matrix_free(&a);
    ok(generated_sha256("two-clouds", 3, 1, one) && generated_sha256("two-clouds", 3, 3, other) &&
           strcmp(one, other) == 0,
       "two-clouds: the same seed gives the same bytes");
    ok(generated_sha256("two-clouds", 4, 1, other) && strcmp(one, other) != 0, "two-clouds: another seed gives others");
    ok(sg_generate(&a, "three-clouds", 0, &err) == SG_ERR_ARGUMENT, "an unknown generator");
}

static void near(const char *what, double got, double wanted, double share) {
    ok(fabs(got / wanted - 1) <= share, "gisette-like: %s %.6g is within %g %% of %.6g", what, got, 100 * share,
       wanted);
}

static void test_gisette_like(void) {
    struct sg_matrix a;
    struct sg_logreg_constants c;
    if (!ok(sg_generate(&a, "gisette-like", 0, &err) == SG_OK && a.m == 6000 && a.d == 5000 && a.f64,
            "gisette-like: 6000 x 5000"))
        return;
    sg_logreg_measure(&c, &a, 2);
    near("L", c.lipschitz, gisette.lipschitz, 0.03);
    near("mean |a|^2/4", c.row_mean, gisette.row_mean, 0.03);
    near("max |a|^2/4", c.row_max, gisette.row_max, 0.03);
    size_t background = 0, off_grid = 0;
    for (size_t i = 0; i < a.m * a.d; i++) {
        double k = round((a.f64[i] + 1) * 999 / 2);
        background += a.f64[i] == -1;
        off_grid += !(k >= 0 && k <= 999 && a.f64[i] == 2.0 * k / 999 - 1);
    }
    ok(off_grid == 0, "gisette-like: every value is 2 k / 999 - 1");
    near("share of -1", (double)background / (double)(a.m * a.d), 0.868, 0.02); /* of the 168 real rows */
    char whole[65], again[65];
    sg_matrix_sha256(&a, whole);
    ok(generated_sha256("gisette-like", 0, 3, again) && strcmp(whole, again) == 0,
       "gisette-like: the same bytes from any number of threads");
    sg_matrix_free(&a);
}

int main(void) {
    test_two_clouds();
    test_gisette_like();
    return tap_done();
}
