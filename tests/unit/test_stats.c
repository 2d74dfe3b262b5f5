/* Statistics against closed forms and hand-computed values. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>

#include "sg_stats.h"

static double ramp[1000];

/* first, first + 1, ... in an order that is not sorted. */
static double *shuffled_ramp(size_t n, double first) {
    for (size_t i = 0; i < n; i++)
        ramp[i] = first + (double)(i * 7 % n); /* 7 and the n used here have no common factor */
    return ramp;
}

static void test_sums(void) {
    ok(sg_stats_sum(ramp, 0) == 0, "sum of nothing");
    const double cancel[] = {1, 1e100, 1, -1e100};
    ok(sg_stats_sum(cancel, 4) == 2, "Neumaier's sum keeps what 1e100 swallows");
    const double tenths[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    ok(sg_stats_sum(tenths, 10) == 1, "ten tenths make one");
    const double infinite[] = {1, INFINITY, 2}, opposed[] = {INFINITY, -INFINITY}, nan[] = {1, NAN};
    ok(sg_stats_sum(infinite, 3) == INFINITY, "Inf in, Inf out");
    ok(isnan(sg_stats_sum(opposed, 2)) && isnan(sg_stats_sum(nan, 2)), "Inf - Inf and NaN give NaN");
    ok(sg_stats_mean(shuffled_ramp(1000, 1), 1000) == 500.5, "mean of 1..1000");
    ok(isnan(sg_stats_mean(ramp, 0)), "mean of nothing is NaN");
}

static void test_spread(void) {
    /* Variance of n consecutive integers with divisor n - 1: n (n + 1) / 12. */
    double got = sg_stats_stddev(shuffled_ramp(1000, 1), 1000), want = sqrt(1000.0 * 1001 / 12);
    ok(fabs(got - want) <= 2e-16 * 4 * want, "standard deviation of 1..1000: %.17g", got);
    got = sg_stats_stddev(shuffled_ramp(1000, 1e9), 1000);
    ok(fabs(got - want) <= 2e-16 * 4 * want, "the same far from zero: %.17g", got);
    const double one = 3, nan = NAN, three[] = {2, 4, 9};
    ok(sg_stats_stddev(&one, 1) == 0 && isnan(sg_stats_stddev(&one, 0)), "of one value 0, of none NaN");
    ok(isnan(sg_stats_stddev(&nan, 1)), "of NaN, NaN");
    ok(sg_stats_stddev(three, 3) == sqrt(13), "of 2, 4, 9: sqrt((9 + 1 + 16) / 2)");
}

static void test_quantiles(void) {
    ok(sg_stats_quantile(shuffled_ramp(11, 0), 11, 0.25) == 2.5, "quartile of 0..10");
    ok(ramp[0] == 0 && ramp[10] == 10, "quantile sorts in place");
    ok(sg_stats_quantile(shuffled_ramp(11, 0), 11, 0) == 0 && sg_stats_quantile(ramp, 11, 1) == 10, "extremes");
    ok(sg_stats_median(shuffled_ramp(10, 1), 10) == 5.5, "median of 1..10");
    double two[] = {7, 3}, one[] = {5}, nan[] = {1, NAN, 2}, infinite[] = {INFINITY, 1, INFINITY, INFINITY};
    double wide[] = {1, 1e16}; /* from the lower one, 0.9 would give 9000000000000001 */
    ok(sg_stats_quantile(two, 2, 0.1) == 3 + 4 * 0.1 && sg_stats_quantile(wide, 2, 0.9) == 9e15,
       "linear between order statistics, from the nearer one");
    ok(sg_stats_quantile(one, 1, 0.3) == 5, "of one value");
    ok(isnan(sg_stats_quantile(one, 0, 0.5)) && isnan(sg_stats_quantile(nan, 3, 0.5)), "of none or with NaN: NaN");
    ok(isnan(sg_stats_quantile(one, 1, 1.5)) && isnan(sg_stats_quantile(one, 1, NAN)), "q outside [0, 1] gives NaN");
    ok(sg_stats_median(infinite, 4) == INFINITY, "between equal infinities");
    double deviating[] = {1, 1, 2, 2, 4, 6, 9};
    ok(sg_stats_mad(deviating, 7) == 1, "median absolute deviation of 1 1 2 2 4 6 9");
    ok(isnan(sg_stats_mad(nan, 3)) && isnan(sg_stats_mad(nan, 0)), "of NaN or nothing: NaN");
    double mostly[] = {INFINITY, INFINITY, 1};
    ok(sg_stats_mad(mostly, 3) == 0, "equal infinities are 0 apart");
}

static void test_sign_flip(void) {
    static const double same[] = {1, 2, 3, 4, 5, 6}, mixed[] = {1, -2, 3}, none[] = {0, 0}, tie[] = {0.1, 0.2, -0.3};
    ok(sg_stats_sign_flip(same, 6) == 2.0 / 64 && sg_stats_sign_flip(same, 5) == 2.0 / 32, "all of one sign: 2 / 2^n");
    ok(sg_stats_sign_flip(mixed, 3) == 6.0 / 8, "1 - 2 + 3: only +-(1 + 2 - 3) is nearer to 0");
    ok(sg_stats_sign_flip(none, 2) == 1 && sg_stats_sign_flip(none, 0) == 1 && sg_stats_sign_flip(tie, 3) == 1,
       "nothing, and what rounding makes of it");
    double many[40];
    for (size_t i = 0; i < 40; i++)
        many[i] = i % 4 == 0 ? -1 : 1;
    ok(fabs(sg_stats_sign_flip(many, 40) - erfc(sqrt(5))) < 1e-12, "of many numbers that of the normal distribution");
    double sum = 0;
    for (unsigned flips = 0; flips < 1 << 5; flips++) { /* of a number of all sign patterns a share p has p or less */
        double x[5];
        for (size_t i = 0; i < 5; i++)
            x[i] = (flips >> i & 1 ? -1 : 1) * (double)(1 << i);
        sum += sg_stats_sign_flip(x, 5) <= 0.25;
    }
    ok(sum == 8, "under equal signs a quarter of cases has p <= 1/4: %g of 32", sum);
}

int main(void) {
    test_sign_flip();
    test_sums();
    test_spread();
    test_quantiles();
    return tap_done();
}
