/* sg_stats.h: the few statistics that results are reported in. NaN in, NaN out, unless stated. */
#ifndef SG_STATS_H
#define SG_STATS_H

#include <math.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sum that keeps what rounding drops (Neumaier 1974). Starts as {0, 0}. */
struct sg_sum {
    double total, lost;
};

static inline void sg_sum_add(struct sg_sum *s, double x) {
    const double total = s->total + x;
    s->lost += fabs(s->total) >= fabs(x) ? s->total - total + x : x - total + s->total;
    s->total = total;
}

/* An infinite total has no rounding error to give back, only Inf - Inf. */
static inline double sg_sum_total(const struct sg_sum *s) {
    return isfinite(s->total) ? s->total + s->lost : s->total;
}

/* The whole of x [n], in index order. */
double sg_stats_sum(const double *x, size_t n);

/* Arithmetic mean; NaN for n = 0. */
double sg_stats_mean(const double *x, size_t n);

/* Sample standard deviation (divisor n - 1), two-pass; 0 for n = 1, NaN for n = 0. */
double sg_stats_stddev(const double *x, size_t n);

/* Quantile q in [0, 1] by linear interpolation between order statistics at q (n - 1) (Hyndman-Fan type 7,
 * NumPy's default). x [n] is sorted in place. NaN for n = 0 or any NaN in x. */
double sg_stats_quantile(double *x, size_t n, double q);

/* Quantile 0.5; sorts x in place. */
double sg_stats_median(double *x, size_t n);

/* Median absolute deviation from the median, unscaled; sorts and overwrites x. */
double sg_stats_mad(double *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif
