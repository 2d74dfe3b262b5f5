/* audit_compare.c: compares the numbers of runs with what they were. */
#include "audit_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const audit_word[AUDIT_VERDICTS] = {"same bits", "within tolerance", "differs", "other data", "not run"};

/* A place of a value in a run or a label. */
struct place {
    const char *column, *statistic;
    size_t layer;
    double step;
    double scale; /* the largest magnitude of the column */
    bool counts;  /* it is a constant or a number of runs: it must come back whatever the tolerance */
};

static bool same_bits(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static double largest(const double *x, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* How far a value of this column may be off, as a share of the column's largest magnitude. */
static double allowed(const cJSON *tolerance, const char *column) {
    return sg_json_number(tolerance, column, sg_json_number(tolerance, "other", 0));
}

/* Compares one value. The first that differs is kept, by step; a value without a step comes after all others. */
static void compare_value(struct audit_compare *c, const struct place *at, double then, double now) {
    struct audit_found *f = &c->found;
    if (same_bits(then, now))
        return;
    const double off = at->scale > 0 ? fabs(now - then) / at->scale : INFINITY;
    const bool within = !at->counts && off <= allowed(c->tolerance, at->column);
    const enum audit_verdict verdict = within ? AUDIT_WITHIN : AUDIT_DIFFERS;
    const bool sooner = at->step < f->step || (isnan(f->step) && !isnan(at->step)) ||
                        (at->step == f->step && at->layer > 0 && f->layer == 0); /* which layer it is says more */
    if (verdict < f->verdict || (verdict == f->verdict && !(within ? off > f->largest : sooner)))
        return;
    *f = (struct audit_found){
        .verdict = verdict, .statistic = at->statistic, .layer = at->layer, .step = at->step, .then = then, .now = now};
    f->largest = isfinite(off) ? off : NAN;
    snprintf(f->column, sizeof f->column, "%s", at->column);
}

void audit_compare_number(struct audit_compare *c, const char *what, double then, double now, bool counts) {
    compare_value(c, &(struct place){.column = what, .step = NAN, .scale = fabs(then), .counts = counts}, then, now);
}

/* ---- runs ---- */

/* A text of the whole run, as a status or a hash. With a tolerance a hash may be another. */
static void compare_text(struct audit_compare *c, const char *what, const char *then, const char *now,
                         bool may_differ) {
    struct audit_found *f = &c->found;
    if (strcmp(then, now) == 0 || f->verdict == AUDIT_DIFFERS || (may_differ && f->verdict == AUDIT_WITHIN))
        return;
    *f = (struct audit_found){
        .verdict = may_differ ? AUDIT_WITHIN : AUDIT_DIFFERS, .step = NAN, .then = NAN, .now = NAN, .largest = NAN};
    snprintf(f->column, sizeof f->column, "%s", what);
    snprintf(f->message, sizeof f->message, "%.80s then, %.80s now", then, now);
}

/* The layers of a record: {"error_norm":[of each layer],…}. */
static void compare_layers(struct audit_compare *c, const cJSON *then, const cJSON *now, double step) {
    const cJSON *column, *value;
    cJSON_ArrayForEach(column, then) {
        const cJSON *same = sg_json_get(now, column->string);
        struct place at = {.column = column->string, .step = step};
        size_t l = 0;
        cJSON_ArrayForEach(value, column) at.scale = fmax(at.scale, fabs(sg_json_number(value, "", 0)));
        cJSON_ArrayForEach(value, column) {
            at.layer = l + 1;
            compare_value(c, &at, sg_json_number(value, "", NAN),
                          sg_json_number(cJSON_GetArrayItem(same, (int)l++), "", NAN));
        }
    }
}

void audit_compare_runs(struct audit_compare *c, const struct sg_run *then, const struct sg_run *now) {
    const double *step = sg_run_series(then, "step");
    const cJSON *constant, *constants = sg_json_get(now->header, "constants");
    const size_t n = then->n_points < now->n_points ? then->n_points : now->n_points;
    for (size_t s = 0; s < then->n_series; s++) {
        const struct sg_series *column = &then->series[s];
        const double *x = sg_run_series(now, column->name);
        struct place at = {.column = column->name, .scale = largest(column->value, then->n_points)};
        for (size_t i = 0; i < n; i++) {
            at.step = step ? step[i] : NAN;
            compare_value(c, &at, column->value[i], x ? x[i] : NAN);
        }
    }
    const cJSON *old_layers = then->layers ? then->layers->child : NULL;
    const cJSON *new_layers = now->layers ? now->layers->child : NULL;
    for (size_t i = 0; i < n && old_layers; i++, old_layers = old_layers->next) {
        compare_layers(c, old_layers, new_layers, step ? step[i] : NAN);
        new_layers = new_layers ? new_layers->next : NULL;
    }
    cJSON_ArrayForEach(constant, sg_json_get(then->header, "constants")) {
        audit_compare_number(c, constant->string, sg_json_number(constant, "", NAN),
                             sg_json_number(constants, constant->string, NAN), true);
    }
    compare_value(c, &(struct place){.column = "records", .step = NAN}, (double)then->n_points, (double)now->n_points);
    compare_text(c, "status", sg_json_string(then->end, "status", ""), sg_json_string(now->end, "status", ""), false);
    compare_text(c, "parameters_sha256", sg_json_string(then->end, "parameters_sha256", ""),
                 sg_json_string(now->end, "parameters_sha256", ""), c->tolerance != NULL);
}

/* ---- labels ---- */

static const char *const statistic_word[SG_STATISTICS] = {"mean",           "deviation", "number",
                                                          "first quartile", "median",    "third quartile"};

/* Compares the curves of a column at the points that the result has. */
static void compare_curves(struct audit_compare *c, const struct sg_frame_column *then,
                           const struct sg_frame_column *now, const double *step, const struct sg_frame_column *steps) {
    struct place at = {.column = then->name, .scale = largest(then->curve[SG_MEAN], then->n_points)};
    for (size_t i = 0, j = 0; i < then->n_points; i++) {
        while (j < steps->n_points && steps->curve[SG_MEAN][j] < step[i])
            j++;
        const bool there = j < steps->n_points && j < now->n_points && steps->curve[SG_MEAN][j] == step[i];
        at.step = step[i];
        for (size_t s = 0; s < SG_STATISTICS; s++)
            if (then->curve[s]) {
                at.statistic = statistic_word[s];
                at.counts = s == SG_COUNT;
                compare_value(c, &at, then->curve[s][i], there && now->curve[s] ? now->curve[s][j] : NAN);
            }
    }
}

void audit_compare_labels(struct audit_found *found, const cJSON *tolerance, const struct sg_frame_label *then,
                          const struct sg_frame_label *now) {
    struct audit_compare all = {.tolerance = tolerance, .found = {.step = NAN}};
    const struct sg_frame_column *steps = sg_frame_column(now, "step"), *was = sg_frame_column(then, "step");
    for (size_t i = 0; i < then->n_seeds; i++)
        found[i] = (struct audit_found){.step = NAN};
    for (size_t k = 0; k < then->n_columns; k++) {
        const struct sg_frame_column *column = &then->column[k], *same = sg_frame_column(now, column->name);
        if (!same)
            continue; /* one that the grid adds */
        if (column->in_series && column->curve[SG_MEAN] && was && was->n_points == column->n_points)
            compare_curves(&all, column, same, was->curve[SG_MEAN], steps);
        for (size_t i = 0; column->value && i < then->n_seeds && i < column->n_values && i < same->n_values; i++) {
            struct audit_compare one = {.tolerance = tolerance, .found = found[i]};
            const struct place at = {
                .column = column->name, .step = NAN, .scale = largest(column->value, column->n_values)};
            compare_value(&one, &at, column->value[i], same->value[i]);
            found[i] = one.found;
        }
    }
    bool known = false; /* the cells whose final values differ are those behind a statistic that does */
    for (size_t i = 0; i < then->n_seeds; i++)
        known = known || found[i].verdict >= all.found.verdict;
    for (size_t i = 0; i < then->n_seeds; i++)
        if (known ? found[i].verdict == all.found.verdict && all.found.verdict == AUDIT_DIFFERS
                  : found[i].verdict < all.found.verdict)
            found[i] = all.found;
}
