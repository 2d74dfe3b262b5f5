/* tune_measure.c: tries values of a search's knob in runs, and measures the amount that they send and their quality. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"
#include "tune_search.h"

/* The amount that the run of a cell sent at a step; for a pilot an estimate for the whole run, if one can be made. */
static double sent(const struct tune_search *s, const struct sg_cell_outcome *outcome, const struct sg_cell *cell,
                   bool pilot) {
    const struct sg_run *run = &outcome->run;
    if (pilot && (s->by_law || s->unit == TUNE_ENTRIES))
        return tune_extrapolate(run, &s->length, s->d,
                                s->unit == TUNE_BYTES ? TUNE_BYTES_SENT
                                : s->t->padded        ? TUNE_PADDED
                                                      : TUNE_SENT);
    if (s->unit == TUNE_BYTES)
        return sg_run_last(run, "bytes_sent") / sg_json_number(run->end, "steps", NAN);
    return tune_entries(run, cell, s->d, s->t->padded);
}

/* ---- trials ---- */

void tune_change_values(struct tune_changes *c, const struct tune_search *s, const struct tune_point *p, size_t n) {
    struct sg_node list = {.kind = SG_NODE_LIST};
    char *path = sg_format("methods.%s.%s", s->name, s->key), text[TUNE_LAMBDA_CHARS];
    for (size_t i = 0; i < n; i++) {
        if (s->integer)
            snprintf(text, sizeof text, "%.10g", p[i].value);
        else
            tune_round(p[i].value, text);
        sg_node_push_yaml(&list, p[i].spelling ? p[i].spelling : text);
    }
    tune_change_value(c, path, &list);
    free(path);
}

static void add_trial(struct tune_search *s, const struct tune_point *p, double steps) {
    const bool bytes = s->unit == TUNE_BYTES;
    cJSON *trial = SG_OBJECT(SG_NUMBER(bytes ? "value" : "lambda", p->value), SG_NUMBER("steps", steps),
                             SG_BOOL("whole", steps >= s->length.steps), SG_NUMBER("seeds", p->seeds),
                             SG_NUMBER(bytes ? "bytes_a_step" : "density", bytes ? p->amount : p->amount / s->d));
    if (s->metric)
        SG_SET(trial, SG_NUMBER("value", p->quality), SG_NUMBER("baseline", p->base),
               SG_BOOL("reaches", tune_reaches(s, p)));
    sg_json_push(s->trials, trial);
}

/* Fills in the members that are measured in the cells of the point's value. */
static void look(struct tune_search *s, struct tune_point *p, const struct tune_trials *b, bool whole, size_t seeds) {
    double amount = 0, quality = 0;
    p->entries = p->entries_once = p->gradient = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (sg_node_number(b->cells[i].method, s->key, NAN) != p->value)
            continue;
        amount += sent(s, &b->outcomes[i], &b->cells[i], !whole && !s->metric);
        if (!whole && s->by_law) {
            const struct sg_run *run = &b->outcomes[i].run;
            p->entries += tune_extrapolate(run, &s->length, s->d, TUNE_SENT) / (double)seeds;
            p->entries_once += sg_run_last(run, "bits_values") / 32 / (double)seeds;
            p->gradient += tune_extrapolate(run, &s->length, s->d, TUNE_GRADIENT) / (double)seeds;
        }
        quality += s->metric ? tune_tail_median(&b->outcomes[i], s->metric) : NAN;
    }
    p->amount = amount / (double)seeds;
    p->quality = quality / (double)seeds;
    p->base = seeds == 1 ? s->base_first : s->base;
    p->seeds = seeds;
    p->estimated = false;
    if (!s->metric && s->unit == TUNE_ENTRIES) /* half an entry where nothing was sent: amounts have logarithms */
        p->amount = fmax(p->amount, 0.5 / s->length.steps);
}

sg_status tune_measure(struct tune_search *s, struct tune_point *p, size_t n, double steps, size_t seeds,
                       struct sg_error *err) {
    const bool whole = steps >= s->length.steps;
    struct tune_trials b;
    struct tune_changes *c = &b.changes;
    tune_trials_start(&b, s->t, s->changes);
    tune_change_values(c, s, p, n);
    tune_change(c, "{claims: null, plots: null}"); /* of other values */
    if (!whole)
        tune_change_length(c, &s->length, steps);
    if (!whole && s->by_law)
        tune_change_record(c, 1, false, "bits-values, average-density-padded, bytes-sent, gradient-norm");
    else if (!whole && !s->metric && s->unit == TUNE_BYTES)
        tune_change_record(c, steps, false, "bytes-sent");
    else if (!whole && !s->metric)
        tune_change_record(c, 1, true, TUNE_VOLUME_SERIES);
    sg_status status = tune_trials_open(&b, s->name, NULL, seeds, err);
    if (status == SG_OK) {
        tune_say(s->t, "%s: %s at %zu value%s of %s, %.0f of %.0f steps", s->name, whole ? "whole run" : "pilot", n,
                 n == 1 ? "" : "s", s->key, steps, s->length.steps);
        status = tune_trials_run(&b, s->t, s->metric == NULL, err);
    }
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        look(s, &p[i], &b, whole, seeds);
        add_trial(s, &p[i], steps);
        if (!s->metric && !(p[i].amount > 0))
            status = sg_fail(err, SG_ERR_FORMAT, "%s: a run does not tell what it sent", s->name);
    }
    s->pilot_steps += whole ? 0 : (double)n * steps;
    tune_trials_close(&b);
    return status;
}

double tune_pilot_steps(const struct tune_search *s, double share, double least) {
    return fmin(s->length.steps, fmax(least, floor(share * s->length.steps)));
}

bool tune_reaches(const struct tune_search *s, const struct tune_point *p) {
    return tune_within(&s->margin, p->quality, p->base);
}
