/* tune_measure.c: tries values of a search's knob in runs: what they send, and how good they are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"
#include "tune_search.h"

/* ---- units ---- */

static double entries_sent(const struct tune_search *s, const struct sg_cell_outcome *outcome,
                           const struct sg_cell *cell, bool whole) {
    return whole ? tune_entries(&outcome->run, cell, s->d, s->t->padded)
                 : tune_extrapolate(&outcome->run, &s->length, s->d, s->t->padded);
}

static double density(const struct tune_search *s, double entries) {
    return entries / s->d;
}

static double bytes_sent(const struct tune_search *s, const struct sg_cell_outcome *outcome, const struct sg_cell *cell,
                         bool whole) {
    (void)s, (void)cell, (void)whole;
    return tune_last(&outcome->run, "bytes_sent") / sg_json_number(outcome->run.end, "steps", NAN);
}

static double bytes(const struct tune_search *s, double amount) {
    (void)s;
    return amount;
}

static const char *const bytes_series[] = {"bytes-sent", NULL};

const struct tune_unit tune_in_entries = {.value = "lambda",
                                          .amount = "density",
                                          .sent = entries_sent,
                                          .shown = density,
                                          .series = tune_volume_series,
                                          .every_step = true,
                                          .least = 0.5},
                       tune_in_bytes = {.value = "value",
                                        .amount = "bytes_a_step",
                                        .sent = bytes_sent,
                                        .shown = bytes,
                                        .series = bytes_series};

/* ---- trials ---- */

void tune_change_values(struct tune_changes *c, const struct tune_search *s, const struct tune_point *p, size_t n) {
    struct sg_node list = {.kind = SG_NODE_LIST};
    char *path = sg_format("methods.%s.%s", s->name, s->key), text[TUNE_LAMBDA_CHARS];
    for (size_t i = 0; i < n; i++) {
        if (s->integer)
            snprintf(text, sizeof text, "%.10g", p[i].value);
        else
            tune_round(p[i].value, text);
        c->lost = !sg_node_push_plain(&list, NULL, p[i].spelling ? p[i].spelling : text) || c->lost;
    }
    tune_change(c, path ? path : "methods", &list);
    c->lost = c->lost || !path;
    free(path);
}

static void say(const struct tune_search *s, size_t n, double steps) {
    char text[256];
    snprintf(text, sizeof text, "%s: %s at %zu value%s of %s, %.0f of %.0f steps", s->name,
             steps < s->length.steps ? "pilot" : "whole run", n, n == 1 ? "" : "s", s->key, steps, s->length.steps);
    if (s->t->say)
        s->t->say(text);
}

static void add_trial(struct tune_search *s, const struct tune_point *p, double steps) {
    cJSON *trial = cJSON_CreateObject();
    sg_json_set_number(trial, s->unit->value, p->value);
    sg_json_set_number(trial, "steps", steps);
    sg_json_set_bool(trial, "whole", steps >= s->length.steps);
    sg_json_set_number(trial, "seeds", (double)p->seeds);
    sg_json_set_number(trial, s->unit->amount, s->unit->shown(s, p->amount));
    if (s->metric) {
        sg_json_set_number(trial, "value", p->quality);
        sg_json_set_number(trial, "baseline", p->base);
        sg_json_set_bool(trial, "reaches", tune_reaches(s, p));
    }
    sg_json_push(s->trials, trial);
}

/* Fills in what the cells of the point's value tell. */
static void look(struct tune_search *s, struct tune_point *p, const struct tune_trials *b, bool whole, size_t seeds) {
    double amount = 0, quality = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (sg_node_number(b->cells[i].method, s->key, NAN) != p->value)
            continue;
        amount += s->unit->sent(s, &b->outcomes[i], &b->cells[i], whole || s->metric);
        quality += s->metric ? tune_tail_median(&b->outcomes[i], s->metric) : NAN;
    }
    p->amount = amount / (double)seeds;
    p->quality = quality / (double)seeds;
    p->base = seeds == 1 ? s->base_first : s->base;
    p->seeds = seeds;
    p->estimated = false;
    if (!s->metric && s->unit->least > 0)
        p->amount = fmax(p->amount, s->unit->least / s->length.steps);
}

sg_status tune_measure(struct tune_search *s, struct tune_point *p, size_t n, double steps, size_t seeds,
                       struct sg_error *err) {
    const bool whole = steps >= s->length.steps;
    struct tune_changes c;
    struct tune_trials b = {.count = 0};
    tune_changes_start(&c, s->t, s->changes);
    tune_change_values(&c, s, p, n);
    tune_change_null(&c, "claims"); /* of other values */
    tune_change_null(&c, "plots");
    if (!whole)
        tune_change_length(&c, &s->length, steps);
    if (!whole && !s->metric)
        tune_change_record(&c, s->unit->every_step ? 1 : steps, s->unit->every_step, s->unit->series);
    sg_status status = tune_trials_open(&b, &c, s->name, NULL, seeds, err);
    if (status == SG_OK) {
        say(s, n, steps);
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
    tune_changes_free(&c);
    return status;
}

double tune_pilot_steps(const struct tune_search *s, double share, double least) {
    return fmin(s->length.steps, fmax(least, floor(share * s->length.steps)));
}

bool tune_reaches(const struct tune_search *s, const struct tune_point *p) {
    const double room = s->tolerance * fabs(p->base);
    return s->higher ? p->quality >= p->base - room : p->quality <= p->base + room;
}
