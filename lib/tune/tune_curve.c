/* tune_curve.c: computes the value of a knob at which a given amount is sent, from measured points of that curve. It
 * runs no cells, so tests can use synthetic curves. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sg_debug.h"
#include "tune_search.h"

static const double SLOPE = 2, LEAST_SLOPE = 0.5, MOST_SLOPE = 4;

double tune_slope(const struct tune_point *points, size_t n) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        x += log(points[i].value) / (double)n;
        y += log(points[i].amount) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double dx = log(points[i].value) - x;
        xx += dx * dx;
        xy += dx * (log(points[i].amount) - y);
    }
    return xx > 1e-4 ? fmin(MOST_SLOPE, fmax(LEAST_SLOPE, -xy / xx)) : SLOPE;
}

static double distance(const struct tune_point *p, double target) {
    return fabs(log(p->amount / target));
}

double tune_secant(const struct tune_point *points, size_t n, double target) {
    SG_ASSERT(n >= 1);
    struct tune_point near[2] = {points[0], points[0]};
    for (size_t i = 1; i < n; i++) {
        const struct tune_point p = points[i];
        if (distance(&p, target) < distance(&near[0], target)) {
            near[1] = near[0];
            near[0] = p;
        } else if (near[1].value == near[0].value || distance(&p, target) < distance(&near[1], target)) {
            near[1] = p;
        }
    }
    return tune_slope(near, 2);
}

double tune_solve(const struct tune_point *points, size_t n, double target, double slope) {
    SG_ASSERT(n >= 1 && slope > 0);
    const struct tune_point *above = NULL, *below = NULL, *near = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct tune_point *p = &points[i];
        if (p->amount >= target && (!above || p->value > above->value))
            above = p;
        if (p->amount <= target && (!below || p->value < below->value))
            below = p;
        if (!near || distance(p, target) < distance(near, target))
            near = p;
    }
    if (above && below && above->value < below->value && above->amount > below->amount) {
        const double share = log(above->amount / target) / log(above->amount / below->amount);
        return above->value * pow(below->value / above->value, share);
    }
    return near->value * pow(near->amount / target, 1 / slope);
}

double tune_round(double lambda, char text[TUNE_LAMBDA_CHARS]) {
    snprintf(text, TUNE_LAMBDA_CHARS, "%.4g", lambda);
    return strtod(text, NULL);
}
