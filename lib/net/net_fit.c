/* net_fit.c: alpha and beta from measured times. */
/* SPDX-License-Identifier: MIT */
#include "sg_net_fit.h"

#include <math.h>

#include "sg_stats.h"

/* Sums that are weighted with one over the square of the time, so that residuals are relative. */
struct moments {
    struct sg_sum weight, x, y;
};

static bool fit(struct net_fit *out, const double *bytes, const double *seconds, size_t n) {
    struct moments m = {0};
    for (size_t i = 0; i < n; i++) {
        const double weight = 1 / (seconds[i] * seconds[i]);
        sg_sum_add(&m.weight, weight);
        sg_sum_add(&m.x, weight * bytes[i]);
        sg_sum_add(&m.y, weight * seconds[i]);
    }
    const double weights = sg_sum_total(&m.weight), x = sg_sum_total(&m.x) / weights, y = sg_sum_total(&m.y) / weights;
    struct sg_sum xx = {0, 0}, xy = {0, 0}, squares = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const double weight = 1 / (seconds[i] * seconds[i]);
        sg_sum_add(&xx, weight * (bytes[i] - x) * (bytes[i] - x));
        sg_sum_add(&xy, weight * (bytes[i] - x) * (seconds[i] - y));
    }
    const double spread = sg_sum_total(&xx), moment = spread + weights * x * x;
    if (!(spread > 0) || !isfinite(spread))
        return false;
    *out = (struct net_fit){.byte_s = sg_sum_total(&xy) / spread};
    out->alpha_s = y - out->byte_s * x;
    size_t parameters = 2;
    if (out->byte_s < 0)
        *out = (struct net_fit){.alpha_s = y}, parameters = 1;
    else if (out->alpha_s < 0)
        *out = (struct net_fit){.byte_s = (sg_sum_total(&xy) + weights * x * y) / moment}, parameters = 1;
    for (size_t i = 0; i < n; i++) {
        const double off = (out->alpha_s + bytes[i] * out->byte_s) / seconds[i] - 1;
        sg_sum_add(&squares, off * off);
        out->worst = fmax(out->worst, fabs(off));
    }
    out->squares = sg_sum_total(&squares);
    const double variance = n > parameters ? out->squares / (double)(n - parameters) : NAN;
    if (parameters == 2) {
        out->alpha_error_s = sqrt(variance * (1 / weights + x * x / spread));
        out->byte_error_s = sqrt(variance / spread);
    } else if (out->byte_s > 0)
        out->byte_error_s = sqrt(variance / moment);
    else
        out->alpha_error_s = sqrt(variance / weights);
    return true;
}

sg_status net_fit_line(struct net_fit *out, const double *bytes, const double *seconds, size_t n,
                       struct sg_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!(bytes[i] >= 0 && isfinite(bytes[i]) && seconds[i] > 0 && isfinite(seconds[i])))
            return sg_fail(err, SG_ERR_ARGUMENT, "measurement %zu is %g s for %g bytes: a time must be above 0", i + 1,
                           seconds[i], bytes[i]);
    return n >= 2 && fit(out, bytes, seconds, n)
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "a line needs times for at least two different sizes");
}
