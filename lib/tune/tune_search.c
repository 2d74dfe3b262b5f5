/* tune_search.c: finds the lambda at which so many entries are sent, from known points of that curve. It runs nothing,
 * so tests can give it made-up curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sg_debug.h"
#include "tune_private.h"

static const double SLOPE = 2, LEAST_SLOPE = 0.5, MOST_SLOPE = 4;

double tune_slope(const struct tune_point *points, size_t n) {
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        x += log(points[i].lambda) / (double)n;
        y += log(points[i].entries) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double dx = log(points[i].lambda) - x;
        xx += dx * dx;
        xy += dx * (log(points[i].entries) - y);
    }
    return xx > 1e-4 ? fmin(MOST_SLOPE, fmax(LEAST_SLOPE, -xy / xx)) : SLOPE;
}

static double distance(const struct tune_point *p, double target) {
    return fabs(log(p->entries / target));
}

double tune_secant(const struct tune_point *points, size_t n, double target) {
    SG_ASSERT(n >= 1);
    struct tune_point near[2] = {points[0], points[0]};
    for (size_t i = 1; i < n; i++) {
        const struct tune_point p = points[i];
        if (distance(&p, target) < distance(&near[0], target)) {
            near[1] = near[0];
            near[0] = p;
        } else if (near[1].lambda == near[0].lambda || distance(&p, target) < distance(&near[1], target)) {
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
        if (p->entries >= target && (above == NULL || p->lambda > above->lambda))
            above = p;
        if (p->entries <= target && (below == NULL || p->lambda < below->lambda))
            below = p;
        if (near == NULL || distance(p, target) < distance(near, target))
            near = p;
    }
    if (above != NULL && below != NULL && above->lambda < below->lambda && above->entries > below->entries) {
        const double share = log(above->entries / target) / log(above->entries / below->entries);
        return above->lambda * pow(below->lambda / above->lambda, share);
    }
    return near->lambda * pow(near->entries / target, 1 / slope);
}

double tune_round(double lambda, char text[TUNE_LAMBDA_CHARS]) {
    snprintf(text, TUNE_LAMBDA_CHARS, "%.4g", lambda);
    return strtod(text, NULL);
}
