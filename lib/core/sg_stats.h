/* sg_stats.h: the few statistics that results are reported in. If an input is NaN, the result is NaN, unless stated. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_STATS_H
#define SG_STATS_H

#include "sg_unstable.h"

#include <math.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sum that also keeps what rounding loses (Neumaier 1974). It starts as {0, 0}. */
struct sg_sum {
    double total, lost;
};

static inline void sg_sum_add(struct sg_sum *s, double x) {
    const double total = s->total + x;
    s->lost += fabs(s->total) >= fabs(x) ? s->total - total + x : x - total + s->total;
    s->total = total;
}

/* If the total is infinite, `lost` is not added: it would be NaN, from Inf - Inf. */
static inline double sg_sum_total(const struct sg_sum *s) {
    return isfinite(s->total) ? s->total + s->lost : s->total;
}

/* The compensated sum of x [n] in index order. */
SG_UNSTABLE double sg_stats_sum(const double *x, size_t n);

/* Arithmetic mean; NaN for n = 0. */
SG_UNSTABLE double sg_stats_mean(const double *x, size_t n);

/* The sample standard deviation with divisor n - 1, in two passes. It is 0 for n = 1 and NaN for n = 0. */
SG_UNSTABLE double sg_stats_stddev(const double *x, size_t n);

/* The quantile q in [0, 1], interpolated linearly between order statistics at q (n - 1) (Hyndman-Fan type 7, NumPy's
 * default); between a number and an infinity it is that infinity. Sorts x [n] in place. NaN for n = 0 and if any x is
 * NaN. */
SG_UNSTABLE double sg_stats_quantile(double *x, size_t n, double q);

/* The quantile 0.5. Sorts x in place. */
SG_UNSTABLE double sg_stats_median(double *x, size_t n);

/* The median absolute deviation from the median, not scaled. Overwrites x. */
SG_UNSTABLE double sg_stats_mad(double *x, size_t n);

/* The quantile 0.975 of Student's distribution with these degrees of freedom, to 4 digits. With freedom = n - 1, the
 * mean of n normal numbers is within as many standard errors of the true mean with probability 0.95. NaN for 0. */
SG_UNSTABLE double sg_stats_student(size_t freedom);

/* Half of that interval of the mean of x [n], which lies in its middle. Equal numbers, also infinite ones, have no
 * noise: it is 0. NaN for fewer than 2 numbers, and if only some are infinite. */
SG_UNSTABLE double sg_stats_half_interval(const double *x, size_t n);

/* How likely a sum at least as far from 0 as that of x [n] is if every x has either sign with equal chance: the
 * two-sided p of the sign-flip test (Fisher, The Design of Experiments, section 21). It is exact up to 16 numbers, and
 * that of the normal distribution above. n numbers have no p below 2 / 2^n. 1 for n = 0. x are finite. */
SG_UNSTABLE double sg_stats_sign_flip(const double *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif
