/* plot_axis.c: decides what a panel shows of its curves, how its axes run and where they have labels. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "plot_private.h"
#include "sg_debug.h"
#include "sg_memory.h"

/* True if v is far enough from the limits of double that views, ticks and their logarithms stay finite and positive. */
static bool in_domain(const struct sg_axis *axis, double v) {
    return fabs(v) <= 1e300 && (!axis->log || v >= 1e-300);
}

bool sg_plot_can_show(const struct sg_panel *panel, const struct sg_curve *curve, size_t i) {
    SG_ASSERT(i < curve->n);
    if (panel->ranking)
        return in_domain(&panel->x, curve->x[i]);
    return (curve->level || in_domain(&panel->x, curve->x[i])) && in_domain(&panel->y, curve->y[i]);
}

bool sg_plot_shows(const struct sg_panel *panel, const struct sg_curve *curve) {
    for (size_t i = 0; i < curve->n; i++)
        if (sg_plot_can_show(panel, curve, i))
            return true;
    return false;
}

size_t sg_plot_visible(const struct sg_panel *panel, const struct sg_curve *curve, size_t max, size_t *index) {
    SG_ASSERT(max >= 2);
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < curve->n; i++)
        if (sg_plot_can_show(panel, curve, i))
            index[n++] = i;
    if (n <= max)
        return n;
    size_t stride = (n - 2) / (max - 1) + 1; /* the smallest with ceil((n - 1) / stride) + 1 <= max */
    size_t last = index[n - 1];
    for (size_t i = 0; i < n - 1; i += stride)
        index[kept++] = index[i];
    index[kept++] = last;
    SG_ASSERT(kept <= max);
    return kept;
}

void sg_plot_band(const struct sg_panel *panel, const struct sg_curve *curve, size_t i, double *low, double *high) {
    if (curve->low) {
        *low = isfinite(curve->low[i]) ? curve->low[i] : curve->y[i];
        *high = isfinite(curve->high[i]) ? curve->high[i] : curve->y[i];
        return;
    }
    const double value = panel->ranking ? curve->x[i] : curve->y[i];
    const double std = curve->y_std && isfinite(curve->y_std[i]) ? curve->y_std[i] : 0;
    *low = (panel->ranking ? panel->x.log : panel->y.log) ? value / (1 + std / value) : value - std;
    *high = value + std;
}

/* The points of a curve into spot [curve->n + 1], through index [curve->n]; returns how many there are. */
static size_t find_spots(struct sg_spot *spot, size_t *index, const struct sg_panel *panel,
                         const struct sg_curve *curve, size_t max) {
    const size_t n = sg_plot_visible(panel, curve, max, index);
    for (size_t i = 0; i < n; i++) {
        const size_t k = index[i];
        spot[i] = (struct sg_spot){.x = curve->x[k], .y = curve->y[k], .label = curve->point ? curve->point[k] : NULL};
        sg_plot_band(panel, curve, k, &spot[i].low, &spot[i].high);
    }
    if (!curve->level || n == 0)
        return n;
    const struct sg_axis *along = panel->ranking ? &panel->y : &panel->x;
    spot[1] = spot[0];
    *(panel->ranking ? &spot[0].y : &spot[0].x) = along->min;
    *(panel->ranking ? &spot[1].y : &spot[1].x) = along->max;
    return 2;
}

void sg_plot_each_curve(const struct sg_figure *f, size_t p, size_t max,
                        void (*put)(void *to, const struct sg_drawn *drawn), void *to) {
    const struct sg_panel *panel = &f->panel[p];
    for (size_t c = 0; c < panel->n_curves; c++) {
        const struct sg_curve *curve = &panel->curve[c];
        const bool marks = sg_plot_draws_marks(panel, curve);
        size_t *index = sg_malloc((curve->n + 1) * sizeof *index);
        struct sg_drawn d = {.panel = panel,
                             .curve = curve,
                             .entry = &f->legend[curve->legend],
                             .number = c + 1,
                             .row = panel->ranking && !curve->level,
                             .marks = marks,
                             .bars = marks && curve->y_std,
                             .band = !marks && curve->y_std,
                             .spot = sg_malloc((curve->n + 1) * sizeof *d.spot)};
        const bool fine = index && d.spot;
        if (fine) {
            d.n = find_spots(d.spot, index, panel, curve, max);
            put(to, &d);
        }
        free(index);
        free(d.spot);
    }
}

struct range {
    double min, max;
};

static void widen(struct range *r, const struct sg_axis *axis, double v) {
    if (!in_domain(axis, v))
        return;
    r->min = fmin(r->min, v);
    r->max = fmax(r->max, v);
}

/* Between the ends of a log axis, whose quotient may be no double. */
static double decades_between(double min, double max) {
    return isfinite(max / min) ? log10(max / min) : log10(max) - log10(min);
}

/* `margin` is the share of the axis left free at each end that is not a natural end, as 0 is unless a marker lies
 * there. Values that come near 0 are shown from 0 if `zero`. */
static void set_view(struct sg_axis *axis, struct range r, double margin, bool marks, bool zero) {
    SG_ASSERT(r.min <= r.max && (!axis->log || r.min > 0));
    double min = r.min, max = r.max;
    if (axis->log) {
        double free = margin * decades_between(min, max);
        if (!(max / min > 1.5)) /* a flat line: half a decade around it */
            free = 0.25;
        min = fmax(min * pow(10, -free), 1e-305);
        max = fmin(max * pow(10, free), 1e305);
    } else {
        const double least = min;
        if (zero && min >= 0 && min < (margin > 0 ? 0.4 : 0.25) * max)
            min = 0; /* densities, errors and bits start at 0, and a run does */
        double free = margin * (max - min);
        if (!(max > min))
            free = max != 0 ? 0.5 * fabs(max) : 1;
        min -= min == 0 && max > 0 && !(marks && least == 0) ? 0 : free;
        max += free;
    }
    if (isnan(axis->min))
        axis->min = min;
    if (isnan(axis->max))
        axis->max = max;
    if (!(axis->max > axis->min)) /* a chosen limit lies beyond all data */
        axis->max = axis->log ? axis->min * 10 : axis->min + 1;
    if (axis->log && decades_between(axis->min, axis->max) < 1e-9) { /* chosen limits may have one logarithm */
        axis->min *= pow(10, -0.25);
        axis->max *= pow(10, 0.25);
    }
    SG_ASSERT(axis->min < axis->max && (!axis->log || (axis->min > 0 && log10(axis->min) < log10(axis->max))));
}

/* Of a ranking the axis of values, which runs to the right and need not begin at 0, and a row for each. */
static void set_views(struct sg_panel *panel, struct range x, struct range values) {
    if (panel->ranking) {
        set_view(&panel->x, values, 0.04, true, false);
        panel->y.min = 0.3;
        panel->y.max = (double)sg_plot_rows(panel) + 0.7;
    } else {
        set_view(&panel->x, x, panel->points ? 0.06 : 0, panel->points, true);
        set_view(&panel->y, values, 0.05, false, true);
    }
}

void sg_plot_fit(struct sg_panel *panel) {
    const bool ranking = panel->ranking;
    const struct sg_axis *axis = ranking ? &panel->x : &panel->y;
    struct range x = {INFINITY, -INFINITY}, values = x;
    for (size_t c = 0; c < panel->n_curves; c++) {
        const struct sg_curve *curve = &panel->curve[c];
        for (size_t i = 0; i < curve->n; i++) {
            if (!sg_plot_can_show(panel, curve, i))
                continue;
            const double value = ranking ? curve->x[i] : curve->y[i];
            double low, high;
            sg_plot_band(panel, curve, i, &low, &high);
            if (ranking || !curve->level) /* without compression the density is 1, which would squeeze the others */
                widen(&x, &panel->x, curve->x[i]);
            widen(&values, axis, value);
            widen(&values, axis, high);
            /* A band that reaches below zero must not make norms look negative. */
            widen(&values, axis, value >= 0 && !ranking ? fmax(low, 0) : low);
        }
        for (size_t i = 0; i < curve->n_seeds; i++)
            widen(&values, axis, curve->seed[i]);
    }
    if (x.min <= x.max && values.min <= values.max)
        set_views(panel, x, values);
    else
        panel->x.min = panel->x.max = panel->y.min = panel->y.max = NAN;
}
