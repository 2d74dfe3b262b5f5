/* task_quantity.c: how two values of a column are compared, by the kind of its quantity: on which scale, by which
 * margin a quality may be worse and still count as reached, and in which words. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_task.h"

const struct sg_quantity_kind sg_quantity_kinds[SG_QUANTITIES] = {
    [SG_QUANTITY_AMOUNT] = {.logarithm = true, .unit = "times", .margin = NAN},
    [SG_QUANTITY_SIGNED] = {.unit = "", .per_unit = 1, .margin = NAN},
    [SG_QUANTITY_SHARE] = {.unit = "points", .per_unit = 0.01, .margin = 0.005},
    [SG_QUANTITY_LOSS] = {.unit = "nats", .per_unit = 1, .margin = 0.01},
    [SG_QUANTITY_PERPLEXITY] = {.logarithm = true, .unit = "nats", .per_unit = 1, .margin = 0.01},
    [SG_QUANTITY_SUBOPTIMALITY] = {.logarithm = true,
                                   .unit = "times",
                                   .margin = 0.22314355131420976, /* ln 1.25 */
                                   .floor = 1e-11},
};

double sg_quantity_distance(enum sg_quantity quantity, double value, double other) {
    return sg_quantity_kinds[quantity].logarithm ? log(value) - log(other) : value - other;
}

double sg_metric_loss(const struct sg_metric *metric, double value, double baseline) {
    const double floor = sg_quantity_kinds[metric->quantity].floor;
    if (floor > 0) {
        value = value < floor ? floor : value; /* a NaN stays */
        baseline = baseline < floor ? floor : baseline;
    }
    return (metric->higher ? -1 : 1) * sg_quantity_distance(metric->quantity, value, baseline);
}

double sg_metric_worse(const struct sg_metric *metric, double baseline, double loss) {
    const double distance = metric->higher ? -loss : loss;
    return sg_quantity_kinds[metric->quantity].logarithm ? baseline * exp(distance) : baseline + distance;
}

static bool is_ratio(enum sg_quantity quantity) {
    return strcmp(sg_quantity_kinds[quantity].unit, "times") == 0;
}

double sg_quantity_amount(enum sg_quantity quantity, double distance) {
    return is_ratio(quantity) ? exp(distance) : distance / sg_quantity_kinds[quantity].per_unit;
}

/* A ratio with three digits, and no more than they say: "4552", "12.3", "1.25". */
static void put_ratio(char out[24], double ratio) {
    snprintf(out, 24, ratio < 100 ? "%.3g" : ratio < 1e6 ? "%.0f" : "%.2g", ratio);
}

char *sg_loss_text(char out[SG_LOSS_CHARS], enum sg_quantity quantity, double loss, double half) {
    const char *unit = sg_quantity_kinds[quantity].unit;
    const double x = sg_quantity_amount(quantity, loss);
    if (is_ratio(quantity)) {
        char mean[24], low[24], high[24];
        put_ratio(mean, x);
        put_ratio(low, exp(loss - half));
        put_ratio(high, exp(loss + half));
        snprintf(out, SG_LOSS_CHARS, half > 0 ? "%s (%s to %s) times" : "%s times", mean, low, high);
        return out;
    }
    const double h = half / sg_quantity_kinds[quantity].per_unit;
    const int digits = h > 0 ? (int)fmin(6, fmax(0, 1 - floor(log10(h)))) : 0; /* two of the half width */
    if (h > 0)
        snprintf(out, SG_LOSS_CHARS, "%.*f ± %.*f %s", digits, x, digits, h, unit);
    else
        snprintf(out, SG_LOSS_CHARS, "%.2g %s", x, unit);
    return out;
}
