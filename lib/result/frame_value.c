/* frame_value.c: reduces a series to one number, as a recipe's `at` says: its last, best, mean, first below … */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_frame.h"
#include "sg_memory.h"
#include "sg_stats.h"
#include "sg_text.h"

double sg_last_number(const double *x, size_t n) {
    while (n > 0 && isnan(x[n - 1]))
        n--;
    return n > 0 ? x[n - 1] : NAN;
}

double sg_run_last(const struct sg_run *run, const char *column) {
    const double *x = sg_run_series(run, column);
    return x ? sg_last_number(x, run->n_points) : NAN;
}

static double extreme(const double *x, size_t n, bool largest) {
    double m = x[0];
    for (size_t i = 1; i < n; i++)
        m = (largest ? x[i] > m : x[i] < m) ? x[i] : m;
    return m;
}

/* The last ceil(share n) points, at least one: 0.2 of 10 points is 2, whatever 0.2 is in binary. */
static size_t tail_points(double share, size_t n) {
    double points = ceil(share * (double)n - 1e-9);
    size_t whole = points >= 1 ? (size_t)points : 1;
    return whole < n ? whole : n;
}

/* The index of the first point where series >= bound (rising) or <= bound; n = there is none. */
static size_t first_point(const double *series, size_t n, double bound, bool rising) {
    for (size_t i = 0; i < n; i++)
        if (rising ? series[i] >= bound : series[i] <= bound)
            return i;
    return n;
}

/* The first point from i on where x has a value; n = there is none. Not every record has every column. */
static size_t known_from(const double *x, size_t n, size_t i) {
    while (i < n && isnan(x[i]))
        i++;
    return i;
}

static double at_when(const struct sg_run *run, const double *x, const char *when, double below,
                      char why[SG_WHY_CHARS]) {
    char name[64];
    sg_snake(name, sizeof name, when);
    const double *condition = sg_run_series(run, name);
    if (!condition) {
        snprintf(why, SG_WHY_CHARS, "%s was not recorded", name);
        return NAN;
    }
    size_t n = run->n_points, first = first_point(condition, n, below, false), i = known_from(x, n, first);
    if (first < n)
        return i < n ? x[i] : NAN;
    snprintf(why, SG_WHY_CHARS, "%s " SG_NEVER " %g", name, below);
    return INFINITY;
}

static double at_place(const struct sg_run *run, const double *x, const char *column, double place,
                       char why[SG_WHY_CHARS]) {
    const double *axis = sg_run_series(run, column);
    size_t n = run->n_points, i = axis ? known_from(x, n, first_point(axis, n, place * (1 - 1e-12), true)) : n;
    if (i < n)
        return x[i];
    snprintf(why, SG_WHY_CHARS, "no record at or after %s %g", column, place);
    return NAN;
}

/* One number from x [n], n >= 1, without NaN; x may be reordered. `at` holds exactly one of its keys, as the recipe's
 * parser made sure. */
static double statistic(double *x, size_t n, const struct sg_node *at) {
    double share = at ? sg_node_number(at, "tail-median", NAN) : NAN;
    if (!isnan(share))
        return sg_stats_median(x + n - tail_points(share, n), tail_points(share, n));
    share = at ? sg_node_number(at, "tail-mean", NAN) : NAN;
    if (!isnan(share))
        return sg_stats_mean(x + n - tail_points(share, n), tail_points(share, n));
    if (at && sg_node_bool(at, "max", false))
        return extreme(x, n, true);
    if (at && sg_node_bool(at, "min", false))
        return extreme(x, n, false);
    if (at && sg_node_bool(at, "mean", false))
        return sg_stats_mean(x, n);
    if (at && sg_node_bool(at, "sum", false))
        return sg_stats_sum(x, n);
    return sg_last_number(x, n);
}

/* Records without a value do not count: before the first step, for example, there is no density. */
static double over_records(const struct sg_run *run, const double *x, const struct sg_node *at) {
    double *known = sg_malloc(run->n_points * sizeof *known), value = NAN;
    size_t n = 0;
    for (size_t i = 0; i < run->n_points; i++)
        if (!isnan(x[i]))
            known[n++] = x[i];
    if (n > 0)
        value = statistic(known, n, at);
    free(known);
    return value;
}

static double reduce(const struct sg_run *run, const double *x, const struct sg_node *at, char why[SG_WHY_CHARS]) {
    const char *when = at ? sg_node_string(at, "when", NULL) : NULL;
    if (when)
        return at_when(run, x, when, sg_node_number(at, "below", NAN), why);
    double epoch = at ? sg_node_number(at, "epoch", NAN) : NAN, step = at ? sg_node_number(at, "step", NAN) : NAN;
    if (!isnan(epoch))
        return at_place(run, x, "epoch", epoch, why);
    return isnan(step) ? over_records(run, x, at) : at_place(run, x, "step", step, why);
}

static bool is_end(const struct sg_node *at) {
    return !at || at->kind == SG_NODE_NULL || sg_node_bool(at, "final", false);
}

/* The key of a value in `values` of a run. */
static char *known_key(const char *metric, const cJSON *at) {
    char name[64], *text = at && !sg_json_bool(at, "final", false) ? sg_json_text(at, false) : sg_strdup("");
    char *key = text ? sg_format("%s %s", sg_snake(name, sizeof name, metric), text) : NULL;
    free(text);
    return key;
}

void sg_run_know(struct sg_run *run, const char *metric, const cJSON *at, double value) {
    cJSON *copy = sg_json_copy(at);
    char *key = known_key(metric, copy);
    if (key && !cJSON_GetObjectItemCaseSensitive(run->values, key))
        cJSON_AddNumberToObject(run->values, key, value);
    free(key);
    cJSON_Delete(copy);
}

/* The value that is known of a run; of a constant, which results had with 15 digits only, the nearer of two that are
 * the same but for that. */
static double known_value(const struct sg_run *run, const char *metric, const struct sg_node *at) {
    cJSON *json = is_end(at) ? NULL : sg_node_json(at);
    char *key = known_key(metric, json);
    const cJSON *value = key ? cJSON_GetObjectItemCaseSensitive(run->values, key) : NULL;
    const double constant = sg_json_number(sg_json_get(run->header, "constants"), metric, NAN);
    const double known = value ? value->valuedouble : NAN;
    free(key);
    cJSON_Delete(json);
    return isnan(constant) || fabs(known - constant) <= 1e-14 * fabs(constant) ? known : constant;
}

double sg_run_value(const struct sg_run *run, const char *metric, const struct sg_node *at, char why[SG_WHY_CHARS]) {
    char name[64], constant[96];
    why[0] = '\0';
    sg_snake(name, sizeof name, metric);
    const double *x = sg_run_series(run, name);
    double value = NAN;
    if (run->values && (!x || !is_end(at))) {
        value = known_value(run, name, at);
    } else if (x && run->n_points > 0) {
        value = reduce(run, x, at, why);
    } else {
        snprintf(constant, sizeof constant, "constants.%s", name);
        value = sg_json_number(run->header, constant, NAN);
        if (isnan(value))
            snprintf(why, SG_WHY_CHARS, "%s was not recorded", name);
    }
    if (isnan(value) && !*why)
        snprintf(why, SG_WHY_CHARS, "%s is not a number there", name);
    return value;
}

bool sg_run_status_is_finished(const char *status) {
    return strcmp(status, "ok") == 0 || strcmp(status, "diverged") == 0;
}

bool sg_run_status_is_open(const char *status) {
    return strcmp(status, "interrupted") == 0 || strcmp(status, "not_run") == 0 || strcmp(status, "running") == 0;
}

double sg_frame_value(const struct sg_frame_seed *seed, const char *metric, const struct sg_node *at,
                      char why[SG_WHY_CHARS]) {
    if (strcmp(seed->status, "ok") == 0)
        return sg_run_value(seed->run, metric, at, why);
    snprintf(why, SG_WHY_CHARS, "%s", strcmp(seed->status, "not_run") == 0 ? "not run" : seed->status);
    return NAN;
}
