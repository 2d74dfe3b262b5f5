/* stats.c: sums, means, deviations and quantiles of a few numbers. */
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
    SG_ASSERT(x != NULL || n == 0);
    if (n == 0 || !(q >= 0 && q <= 1) || any_nan(x, n))
        return NAN;
    qsort(x, n, sizeof *x, ascending);
    const double at = q * (double)(n - 1);
    const size_t low = (size_t)at;
    SG_ASSERT(low < n);
    const double t = at - (double)low;
    if (t == 0 || x[low] == x[low + 1]) /* also keeps Inf - Inf out */
        return x[low];
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
