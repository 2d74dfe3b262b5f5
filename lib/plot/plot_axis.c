/* plot_axis.c: decides what a panel shows of its curves, how its axes run and where they have labels. */
#include <math.h>

#include "plot_private.h"
#include "sg_debug.h"

/* Is it far enough from the ends of double that views, ticks and their logarithms stay finite and positive? */
static bool in_domain(const struct sg_axis *axis, double v) {
    return fabs(v) <= 1e300 && (!axis->log || v >= 1e-300);
}

bool sg_plot_can_show(const struct sg_panel *panel, const struct sg_curve *curve, size_t i) {
    SG_ASSERT(i < curve->n);
    return (curve->level || in_domain(&panel->x, curve->x[i])) && in_domain(&panel->y, curve->y[i]);
}

bool sg_plot_shows(const struct sg_panel *panel, const struct sg_curve *curve) {
    for (size_t i = 0; i < curve->n; i++)
        if (sg_plot_can_show(panel, curve, i))
            return true;
    return false;
}

bool sg_plot_has_marks(const struct sg_figure *f, size_t entry) {
    for (size_t p = 0; p < f->n_panels; p++)
        for (size_t c = 0; c < f->panel[p].n_curves; c++)
            if (f->panel[p].points && f->panel[p].curve[c].legend == entry && !f->panel[p].curve[c].level)
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
    double std = curve->y_std && isfinite(curve->y_std[i]) ? curve->y_std[i] : 0;
    *low = curve->y[i] - std;
    *high = curve->y[i] + std;
    if (panel->y.log && !(*low > panel->y.min))
        *low = fmin(panel->y.min, curve->y[i]);
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

/* `margin` is the share of the axis left free at each end that is not a natural end. */
static void set_view(struct sg_axis *axis, struct range r, double margin) {
    SG_ASSERT(r.min <= r.max && (!axis->log || r.min > 0));
    double min = r.min, max = r.max;
    if (axis->log) {
        double free = margin * decades_between(min, max);
        if (!(max / min > 1.5)) /* a flat line: half a decade around it */
            free = 0.25;
        min = fmax(min * pow(10, -free), 1e-305);
        max = fmin(max * pow(10, free), 1e305);
    } else {
        if (min >= 0 && min < 0.4 * max && margin > 0)
            min = 0; /* densities, errors and bits start at 0 */
        double free = margin * (max - min);
        if (!(max > min))
            free = max != 0 ? 0.5 * fabs(max) : 1;
        min -= min == 0 && max > 0 ? 0 : free;
        max += free;
    }
    if (isnan(axis->min))
        axis->min = min;
    if (isnan(axis->max))
        axis->max = max;
    if (!(axis->max > axis->min)) /* a chosen limit lies beyond all data */
        axis->max = axis->log ? axis->min * 10 : axis->min + 1;
    SG_ASSERT(axis->min < axis->max && (!axis->log || axis->min > 0));
}

void sg_plot_fit(struct sg_panel *panel) {
    struct range x = {INFINITY, -INFINITY}, y = x;
    for (size_t c = 0; c < panel->n_curves; c++) {
        const struct sg_curve *curve = &panel->curve[c];
        for (size_t i = 0; i < curve->n; i++) {
            if (!sg_plot_can_show(panel, curve, i))
                continue;
            double std = curve->y_std && isfinite(curve->y_std[i]) ? curve->y_std[i] : 0;
            double low = curve->y[i] - std;
            if (!curve->level) /* without compression the density is 1, which would squeeze the others */
                widen(&x, &panel->x, curve->x[i]);
            widen(&y, &panel->y, curve->y[i]);
            widen(&y, &panel->y, curve->y[i] + std);
            /* A band that reaches below zero must neither squeeze a log axis nor make norms look negative. */
            widen(&y, &panel->y, panel->y.log ? fmax(low, curve->y[i] / 3) : curve->y[i] >= 0 ? fmax(low, 0) : low);
        }
    }
    if (!(x.min <= x.max && y.min <= y.max)) {
        panel->x.min = panel->x.max = panel->y.min = panel->y.max = NAN;
        return;
    }
    set_view(&panel->x, x, panel->points ? 0.06 : 0);
    set_view(&panel->y, y, 0.05);
}

struct sg_ticks sg_plot_ticks(const struct sg_axis *axis) {
    SG_ASSERT(axis->min < axis->max);
    struct sg_ticks ticks = {0};
    double decades = axis->log ? decades_between(axis->min, axis->max) : 0;
    if (decades >= 1.5) {
        ticks.kind = SG_TICKS_DECADES;
        ticks.step = ceil(decades / 7);
        return ticks;
    }
    if (decades >= 0.6) {
        ticks.kind = SG_TICKS_DIGITS;
        return ticks;
    }
    double largest = fmax(fabs(axis->min), fabs(axis->max));
    double raw = fmax(axis->max - axis->min, 1e-12 * largest) / 5, power = pow(10, floor(log10(raw)));
    double digit = raw / power;
    ticks.step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
    if (!isnormal(ticks.step))
        ticks.step = 1;
    if (!(largest < 1e4 && largest >= 1e-2))
        ticks.exponent = 3 * (int)floor(log10(largest) / 3);
    return ticks;
}
