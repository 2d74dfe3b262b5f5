/* tune_when_model.c: the arithmetic of --when: when a run attains the target, how long that takes on a network, and at
 * which bandwidths a method gains. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_stats.h"
#include "tune_when.h"

/* ---- the record that attains the target ---- */

/* Adds up to `most` values to `window` [*n], from `at` on in steps of 1 or -1; NaN is skipped. */
static void collect(double window[WHEN_WINDOW], size_t *n, const double *value, size_t size, size_t at, int step,
                    size_t most) {
    for (size_t i = at; i < size && most > 0; i += (size_t)step) /* below 0 it is above every size */
        if (!isnan(value[i])) {
            window[(*n)++] = value[i];
            most--;
        }
}

size_t when_attained(const double *value, size_t n, double target, bool higher) {
    for (size_t i = 0; i < n; i++) {
        double window[WHEN_WINDOW] = {value[i]};
        size_t count = 1;
        if (isnan(value[i]))
            continue;
        collect(window, &count, value, n, i - 1, -1, WHEN_WINDOW / 2);
        collect(window, &count, value, n, i + 1, 1, WHEN_WINDOW / 2);
        const double median = sg_stats_median(window, count);
        if (higher ? median >= target : median <= target)
            return i;
    }
    return n;
}

/* ---- one cluster ---- */

/* One method's times; w->seed_s [n_methods][seeds] gets those of its seeds. */
static sg_status measure(struct when_time *out, const struct when *w, size_t method,
                         const struct sg_grid_network *network, struct sg_error *err) {
    const struct when_method *m = &w->method[method];
    const double seeds = (double)w->seeds;
    sg_status status = SG_OK;
    *out = (struct when_time){.mean_s = m->why[0] ? NAN : 0, .speedup = NAN, .least = NAN, .most = NAN};
    for (size_t s = 0; status == SG_OK && !m->why[0] && s < w->seeds; s++) {
        double total[SG_NET_TOTALS];
        status = tune_network_seconds(total, m->run[s].messages, network, m->run[s].records, err);
        if (status == SG_OK) {
            w->seed_s[method * w->seeds + s] = total[SG_NET_TIME];
            out->mean_s += total[SG_NET_TIME] / seeds;
            out->compute_s += total[SG_NET_COMPUTE_TIME] / seeds;
        }
    }
    return status;
}

/* The speed-ups over the baseline, once all methods have their times. */
static void relate(struct when_time *time, const struct when *w, size_t method) {
    const double *own = w->seed_s + method * w->seeds, *base = w->seed_s + w->baseline * w->seeds;
    if (w->method[method].why[0])
        return;
    time[method].speedup = time[w->baseline].mean_s / time[method].mean_s;
    time[method].least = time[method].most = time[method].speedup; /* which rounding may put outside the seeds' */
    for (size_t s = 0; s < w->seeds; s++) {
        time[method].least = fmin(time[method].least, base[s] / own[s]); /* fmin ignores a NaN */
        time[method].most = fmax(time[method].most, base[s] / own[s]);
    }
}

size_t when_fastest(const struct when *w, const struct when_time *time) {
    size_t best = w->baseline;
    for (size_t m = 0; m < w->n_methods; m++)
        if (time[m].mean_s < time[best].mean_s) /* false for a NaN */
            best = m;
    return best;
}

double when_free(const struct when *w, const struct when_time *time) {
    return time[w->baseline].mean_s / time[w->baseline].compute_s;
}

sg_status when_compare(struct when_time *time, const struct when *w, double bits_per_s, size_t workers,
                       struct sg_error *err) {
    struct sg_grid_network network;
    sg_status status = sg_grid_network_change(&network, &w->network, bits_per_s, workers, err);
    for (size_t m = 0; status == SG_OK && m < w->n_methods; m++)
        status = measure(&time[m], w, m, &network, err);
    if (status != SG_OK)
        return status;
    for (size_t m = 0; m < w->n_methods; m++)
        relate(time, w, m);
    const double *best = w->seed_s + when_fastest(w, time) * w->seeds;
    for (size_t m = 0; m < w->n_methods; m++)
        for (size_t s = 0; !w->method[m].why[0] && s < w->seeds; s++)
            time[m].may_be_fastest |= w->seed_s[m * w->seeds + s] <= best[s];
    return SG_OK;
}

/* ---- bandwidths at which a method gains ---- */

/* *out <- true if a method gains at this bandwidth. Only its times and the baseline's are needed. */
static sg_status gains(bool *out, const struct when *w, size_t method, double bits_per_s, size_t workers,
                       struct sg_error *err) {
    struct sg_grid_network network;
    struct when_time own, base;
    sg_status status = sg_grid_network_change(&network, &w->network, bits_per_s, workers, err);
    SG_DO(status, measure(&own, w, method, &network, err));
    SG_DO(status, measure(&base, w, w->baseline, &network, err));
    *out = status == SG_OK && own.mean_s < base.mean_s;
    return status;
}

/* *out <- the bandwidth between `low` and `high` at which a method that gains at only one of them changes to a loss. */
static sg_status bisect(double *out, const struct when *w, size_t method, size_t workers, double low, double high,
                        bool gains_low, struct sg_error *err) {
    sg_status status = SG_OK;
    while (status == SG_OK && high > low * (1 + 1e-4)) {
        const double middle = sqrt(low * high);
        bool gains_middle;
        status = gains(&gains_middle, w, method, middle, workers, err);
        if (gains_middle == gains_low)
            low = middle;
        else
            high = middle;
    }
    *out = sqrt(low * high);
    return status;
}

static sg_status find_gain(struct when_gain *out, const struct when *w, size_t method, size_t cluster,
                           struct sg_error *err) {
    const size_t last = w->n_bandwidths - 1;
    sg_status status = SG_OK;
    *out = (struct when_gain){.at_lowest = when_times(w, cluster, 0)[method].speedup > 1,
                              .at_highest = when_times(w, cluster, last)[method].speedup > 1,
                              .from = NAN,
                              .to = NAN};
    for (size_t b = 0; status == SG_OK && b < last; b++) {
        const bool low = when_times(w, cluster, b)[method].speedup > 1;
        const bool high = when_times(w, cluster, b + 1)[method].speedup > 1;
        if (low == high || (high && !isnan(out->from)))
            continue;
        status = bisect(high ? &out->from : &out->to, w, method, w->workers[cluster], w->bandwidth[b],
                        w->bandwidth[b + 1], low, err);
    }
    return status;
}

sg_status when_find_gains(struct when *w, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t c = 0; c < w->n_clusters; c++)
        for (size_t m = 0; status == SG_OK && m < w->n_methods; m++)
            status = find_gain(&w->gain[c * w->n_methods + m], w, m, c, err);
    return status;
}
