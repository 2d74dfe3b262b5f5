/* audit_compare.c: compares the records of a run with what they were. */
/* SPDX-License-Identifier: MIT */
#include "audit_compare.h"

#include "audit_tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const audit_word[AUDIT_VERDICTS] = {"same bits", "within tolerance", "differs", "other data", "not run"};

/* A place of a value in a run. */
struct place {
    const char *column;
    size_t layer;
    double step;
    double scale; /* the largest magnitude of the column */
    bool counts;  /* it is a constant: it must come back whatever the tolerance */
};

static double largest(const double *x, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* Compares one value. The first that differs is kept, by step; a value without a step comes after all others. */
static void compare_value(struct audit_compare *c, const struct place *at, double then, double now) {
    struct audit_found *f = &c->found;
    if (audit_same_bits(then, now))
        return;
    const double off = at->scale > 0 ? fabs(now - then) / at->scale : INFINITY;
    const bool within = !at->counts && off <= audit_allowed(c->tolerance, at->column);
    const enum audit_verdict verdict = within ? AUDIT_WITHIN : AUDIT_DIFFERS;
    const bool sooner = at->step < f->step || (isnan(f->step) && !isnan(at->step)) ||
                        (at->step == f->step && at->layer > 0 && f->layer == 0); /* which layer it is says more */
    if (verdict < f->verdict || (verdict == f->verdict && !(within ? off > f->largest : sooner)))
        return;
    *f = (struct audit_found){.verdict = verdict, .layer = at->layer, .step = at->step, .then = then, .now = now};
    f->largest = isfinite(off) ? off : NAN;
    snprintf(f->path, sizeof f->path, "%s", at->column);
}

/* A text of the whole run, as a status or a hash. With a tolerance a hash may be another. */
static void compare_text(struct audit_compare *c, const char *what, const char *then, const char *now,
                         bool may_differ) {
    struct audit_found *f = &c->found;
    if (strcmp(then, now) == 0 || f->verdict == AUDIT_DIFFERS || (may_differ && f->verdict == AUDIT_WITHIN))
        return;
    *f = (struct audit_found){
        .verdict = may_differ ? AUDIT_WITHIN : AUDIT_DIFFERS, .step = NAN, .then = NAN, .now = NAN, .largest = NAN};
    snprintf(f->path, sizeof f->path, "%s", what);
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
        compare_value(c, &(struct place){.column = constant->string, .step = NAN, .counts = true},
                      sg_json_number(constant, "", NAN), sg_json_number(constants, constant->string, NAN));
    }
    compare_value(c, &(struct place){.column = "records", .step = NAN}, (double)then->n_points, (double)now->n_points);
    compare_text(c, "status", sg_json_string(then->end, "status", ""), sg_json_string(now->end, "status", ""), false);
    compare_text(c, "parameters_sha256", sg_json_string(then->end, "parameters_sha256", ""),
                 sg_json_string(now->end, "parameters_sha256", ""), c->tolerance != NULL);
}
