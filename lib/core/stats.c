/* stats.c: sums, means, deviations and quantiles of a few numbers. */
/* SPDX-License-Identifier: MIT */
#include "sg_stats.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sg_debug.h"

double sg_stats_sum(const double *x, size_t n) {
    struct sg_sum s = {0, 0};
    for (size_t i = 0; i < n; i++)
        sg_sum_add(&s, x[i]);
    return sg_sum_total(&s);
}

double sg_stats_mean(const double *x, size_t n) {
    return n > 0 ? sg_stats_sum(x, n) / (double)n : NAN;
}

double sg_stats_stddev(const double *x, size_t n) {
    if (n == 0)
        return NAN;
    if (n == 1)
        return isnan(x[0]) ? NAN : 0;
    const double mean = sg_stats_mean(x, n);
    struct sg_sum s = {0, 0};
    for (size_t i = 0; i < n; i++)
        sg_sum_add(&s, (x[i] - mean) * (x[i] - mean));
    return sqrt(sg_sum_total(&s) / (double)(n - 1));
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool any_nan(const double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return true;
    return false;
}

double sg_stats_quantile(double *x, size_t n, double q) {
    SG_ASSERT(x || n == 0);
    if (n == 0 || !(q >= 0 && q <= 1) || any_nan(x, n))
        return NAN;
    qsort(x, n, sizeof *x, ascending);
    const double at = q * (double)(n - 1);
    const size_t low = (size_t)at;
    SG_ASSERT(low < n);
    const double t = at - (double)low;
    if (t == 0 || x[low] == x[low + 1]) /* also keeps Inf - Inf out */
        return x[low];
    if (isinf(x[low]) || isinf(x[low + 1]))
        return isinf(x[low]) ? x[low] : x[low + 1];
    /* From the nearer end, as NumPy does, so that t = 1 would give exactly the upper neighbour. */
    const double step = x[low + 1] - x[low];
    return t < 0.5 ? x[low] + step * t : x[low + 1] - step * (1 - t);
}

double sg_stats_median(double *x, size_t n) {
    return sg_stats_quantile(x, n, 0.5);
}

double sg_stats_mad(double *x, size_t n) {
    const double median = sg_stats_median(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] == median ? 0 : fabs(x[i] - median); /* equal infinities are 0 apart */
    return sg_stats_median(x, n);
}

/* Above the table: Fisher's expansion in 1 / freedom. */
double sg_stats_student(size_t freedom) {
    static const double table[] = {NAN,   12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                   2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    const double z = 1.959964, n = (double)freedom, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    if (freedom < sizeof table / sizeof *table)
        return table[freedom];
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

double sg_stats_half_interval(const double *x, size_t n) {
    bool same = n > 1;
    for (size_t i = 1; i < n; i++)
        same = same && x[i] == x[0];
    return n < 2 ? NAN : same ? 0 : sg_stats_student(n - 1) * sg_stats_stddev(x, n) / sqrt((double)n);
}

double sg_stats_sign_flip(const double *x, size_t n) {
    enum { EXACT = 16 };
    double sum = 0, squares = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        size += fabs(x[i]);
    }
    if (n > EXACT)
        return squares > 0 ? erfc(fabs(sum) / sqrt(2 * squares)) : 1;
    const double least = fabs(sum) - 1e-12 * size; /* sums that differ by rounding alone are equal */
    size_t far = 0;
    for (size_t flips = 0; flips < (size_t)1 << n; flips++) {
        double flipped = 0;
        for (size_t i = 0; i < n; i++)
            flipped += flips >> i & 1 ? -x[i] : x[i];
        far += fabs(flipped) >= least;
    }
    return (double)far / (double)((size_t)1 << n);
}
