/* tune_bytes.c: --match-bytes: for each budget, the value of each method's knob at which a worker sends that many bytes
 * over the whole run. A budget is a share of what no compression sends, or what a method of the recipe sends.
 *
 * The knob is what a controller may set: the density of Top-k, the lambda of hard-threshold, the levels of QSGD, the
 * rank of PowerSGD. A method is tuned if the recipe gives its knob a number, at which the search starts. Pilots of 2 %
 * of the run come first. For most compressors they predict the whole run, because all messages have the same length.
 * For a threshold of which the law of a random walk holds, it is one step and one pilot of 5 % (tune_search.c). Then
 * come whole runs, whose cells sparsebench reuses: with the first seed, then with all. A knob that cannot come within
 * the tolerance, because it is a whole number or at its limit, gets the nearest value. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_search.h"

#define ACTION "sparsetune --match-bytes: "

enum { BUDGETS = 8, TURNS = 12 };

static const double TOLERANCE = 0.05, PILOT = 0.02, LEAST_PILOT = 10, LAW_PILOT = 0.05, BYTES = 8; /* of an entry */

/* ---- the search ---- */

/* Runs one step of one cell, to find the number of elements, of steps in an epoch, and |g_i|^2 at this step, NaN where
 * it is not recorded. */
static sg_status look(struct tune_search *s, double start, double *gradient, struct sg_error *err) {
    struct tune_trials b;
    tune_trials_start(&b, s->t, NULL);
    tune_change_values(&b.changes, s, &(struct tune_point){.value = start}, 1);
    tune_change_length(&b.changes, NULL, 1);
    tune_change_record(&b.changes, 1, false, "bytes-sent, gradient-norm");
    sg_status status = tune_trials_open(&b, s->name, NULL, 1, err);
    SG_DO(status, tune_trials_run(&b, s->t, true, err));
    if (status == SG_OK) {
        const struct sg_run *run = &b.outcomes[0].run;
        s->steps_per_epoch = 1 / sg_run_last(run, "epoch");
        *gradient = sg_run_last(run, "gradient_norm");
        s->d = sg_json_number(sg_json_get(run->header, "constants"), "d", NAN);
    }
    tune_trials_close(&b);
    return status;
}

static sg_status search(struct tune_search *s, const struct sg_cell *cell, double start, struct sg_error *err) {
    double gradient = NAN;
    s->by_law = tune_law_holds(cell);
    sg_status status = isnan(s->steps_per_epoch) || s->by_law ? look(s, start, &gradient, err) : SG_OK;
    s->length = tune_length(&cell->resolved, s->steps_per_epoch);
    const double pilot = tune_pilot_steps(s, LAW_PILOT, LEAST_PILOT);
    s->by_law = s->by_law && gradient > 0 && pilot < s->length.steps;
    for (size_t i = 0; i < s->n_goals; i++) {
        struct tune_goal *goal = &s->goal[i];
        goal->share = goal->bytes > 0 ? goal->bytes / (s->length.steps * 4 * s->d) : goal->share;
        goal->target = goal->share * 4 * s->d;
        goal->value = s->by_law ? sg_rule_noise(goal->target / BYTES, gradient) : start;
    }
    struct tune_refine stage = {
        .steps = tune_pilot_steps(s, PILOT, LEAST_PILOT), .first = 1, .seeds = 1, .turns = TURNS, .goes_on = true};
    if (s->by_law) {
        SG_DO(status, tune_law_pilot(s, pilot, err));
    } else {
        SG_DO(status, tune_find_direction(s, start, stage.steps, err));
        SG_DO(status, tune_refine(s, &stage, err));
    }
    stage.steps = s->length.steps;
    stage.goes_on = false;
    stage.middle_first = s->by_law;
    SG_DO(status, tune_refine(s, &stage, err));
    stage.middle_first = false;
    stage.first = stage.seeds = s->seeds;
    return status == SG_OK && s->seeds > 1 ? tune_refine(s, &stage, err) : status;
}

/* ---- results ---- */

/* "the budget 0.1", or "what Top-k k=4 sends". Returns out. */
enum { GOAL_CHARS = 160 };
static const char *goal_text(char out[GOAL_CHARS], const struct tune_goal *goal) {
    if (goal->bytes > 0)
        snprintf(out, GOAL_CHARS, "what %s sends", goal->label);
    else
        snprintf(out, GOAL_CHARS, "the budget %g", goal->share);
    return out;
}

static double difference(const struct tune_goal *goal) {
    return goal->reached / goal->target - 1;
}

/* *f <- the value of each budget. One that is the nearest of several has the comment of the first of these. */
static void keep(struct tune_found *f, const struct tune_search *s) {
    tune_found_open(f, s, s->n_goals);
    for (size_t i = 0; i < s->n_goals; i++) {
        const struct tune_goal *goal = &s->goal[i];
        char text[GOAL_CHARS];
        size_t at = 0;
        goal_text(text, goal);
        if (goal->missed)
            tune_say(s->t, "%s: no %s comes within %g %% of %s; %.10g is the nearest, %+.1f %%%s", s->name, s->key,
                     100 * s->tolerance, text, goal->value, 100 * difference(goal),
                     s->integer ? " (it is a whole number)" : "");
        f->value[f->n++].x = goal->value;
        while (f->value[at].x != goal->value)
            at++;
        if (at < i)
            continue;
        snprintf(f->value[i].how, TUNE_HOW_CHARS, ACTION "%s %.10g sends %.4g MB, %+.1f %% of %s (%zu seed%s)%s",
                 s->key, goal->value, goal->reached * s->length.steps / 1e6, 100 * difference(goal), text, s->seeds,
                 s->seeds == 1 ? "" : "s", goal->missed ? ": the nearest" : "");
    }
}

/* *f <- the failure to find a value. A method with `match` gets the value at which the search started. */
static void keep_failed(struct tune_found *f, const struct tune_search *s, const struct sg_node *method, double start,
                        const char *reason) {
    char text[TUNE_LAMBDA_CHARS];
    tune_found_open(f, s, 1);
    f->failed = true;
    f->n = sg_node_get(method, s->key)->kind == SG_NODE_STRING;
    f->value[0].x = tune_round(start, text);
    snprintf(f->value[0].how, TUNE_HOW_CHARS, ACTION "no %s was found: %.180s", s->key, reason);
}

static cJSON *method_json(struct tune_search *s, const char *failed) {
    cJSON *out = tune_search_json(s), *targets = cJSON_CreateArray();
    for (size_t i = 0; !failed && i < s->n_goals; i++) {
        const struct tune_goal *goal = &s->goal[i];
        sg_json_push(targets,
                     SG_OBJECT(SG_TEXT("of", goal->bytes > 0 ? goal->label : NULL), SG_NUMBER("budget", goal->share),
                               SG_NUMBER("value", goal->value), SG_NUMBER("bytes", goal->reached * s->length.steps),
                               SG_NUMBER("difference", difference(goal)), SG_BOOL("within", !goal->missed)));
    }
    SG_SET(out, SG_TEXT("key", s->key), SG_VALUE("targets", targets), SG_TEXT("failed", failed));
    return out;
}

/* If runs of a method diverge or fail, the other methods are still tuned. */
static sg_status match_method(struct tune_search *s, const struct sg_cell *cell, struct tune_found *f, cJSON **evidence,
                              struct sg_error *err) {
    const struct sg_parameter *knob = tune_knob(cell->method);
    struct sg_error reason;
    tune_search_start(s, cell, knob->name, knob);
    double start = tune_start(cell->method, knob);
    if (!knob->integer && sg_node_get(cell->method, knob->name)->kind == SG_NODE_STRING)
        start = tune_possible(s, s->goal[0].share / 2); /* a share: 64 bits an entry */
    sg_status status = search(s, cell, start, err);
    const bool failed = status == SG_ERR_NONFINITE;
    reason = *err;
    if (failed)
        keep_failed(f, s, cell->method, start, reason.msg);
    else if (status == SG_OK)
        keep(f, s);
    *evidence = method_json(s, failed ? reason.msg : NULL);
    return failed ? SG_OK : status; /* the others are looked for */
}

/* Fails if no method has a knob to find, before any run. */
static sg_status need_methods(const struct sg_tune *t, struct sg_error *err) {
    for (size_t i = 0; i < t->n_cells; i++)
        if (tune_is_chosen(t, t->cells[i].name) && tune_knob_key(t->cells[i].method))
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: no method has a number to find, as the density of topk, the lambda of hard-threshold or the "
                   "levels of qsgd, to start from",
                   t->recipe->path);
}

/* Fails if no value was found for any method. Else t->failed gets the number of methods without values. */
static sg_status judge(const struct tune_search *s, const struct tune_found *found, size_t n, struct sg_error *err) {
    size_t failed = 0, first = n;
    for (size_t i = 0; i < n; i++) {
        failed += found[i].failed;
        first = found[i].failed && first == n ? i : first;
    }
    if (failed == n)
        return sg_fail(err, SG_ERR_NONFINITE, "%s: %s", found[0].name, found[0].value[0].how + strlen(ACTION));
    if (failed > 0)
        snprintf(s->t->failed, sizeof s->t->failed, "%s: %s (the other %zu methods are in the recipe%s)",
                 found[first].name, found[first].value[0].how + strlen(ACTION), n - 1,
                 failed > 1 ? ", the comments of which name more" : "");
    return SG_OK;
}

/* ---- options ---- */

/* Reports the methods whose knob has no number at which a search could start; with --dry-run also the others. */
static void say_methods(const struct tune_search *s) {
    const struct sg_node *methods = sg_node_get(&s->t->recipe->root, "methods");
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *method = &methods->child[i];
        const char *name = sg_node_string(method, "name", ""), *key = tune_knob_key(method);
        const struct sg_parameter *wordy = tune_wordy_knob(method);
        if (!tune_is_chosen(s->t, name))
            continue;
        if (wordy)
            tune_say(s->t, "%s: %s stays '%s'; to find it, give a number to start from, as %s: 0.01", name, wordy->name,
                     sg_node_string(method, wordy->name, ""), wordy->name);
        else if (s->t->dry_run && key)
            tune_say(s->t, "%s: one %s for each of %zu budgets", name, key, s->n_goals);
        else if (s->t->dry_run)
            tune_say(s->t, "%s: nothing to find", name);
    }
}

static const char OF[] = "of:";

/* Makes each cell of the method, or the cell of this label, a goal, whose bytes are not known yet. */
static sg_status set_measure(struct tune_search *s, const char *name, struct sg_error *err) {
    struct sg_tune *t = s->t;
    sg_status status = sg_cell_label_check(t->cells, t->n_cells, "--match-bytes=of:", name, err);
    for (size_t i = 0; status == SG_OK && i < t->n_cells; i++) {
        const struct sg_cell *cell = &t->cells[i];
        if (!sg_cell_is(cell, name) || (s->n_goals > 0 && strcmp(s->goal[s->n_goals - 1].label, cell->label) == 0))
            continue;
        if (s->n_goals == BUDGETS)
            return sg_fail(err, SG_ERR_ARGUMENT, "--match-bytes=of:%s: more than %d cells: give the label of one", name,
                           BUDGETS);
        snprintf(s->goal[s->n_goals++].label, sizeof s->goal->label, "%s", cell->label);
        t->measure = cell->name;
    }
    return status;
}

/* Runs the cells of the goals, which have the labels of these cells, for the bytes that they send. */
static sg_status measure(struct tune_search *s, const char *name, struct sg_error *err) {
    struct tune_trials b;
    tune_trials_start(&b, s->t, NULL);
    sg_status status = tune_trials_open(&b, name, NULL, s->seeds, err);
    tune_say(s->t, "%s: whole run, whose bytes the others are to send", name);
    SG_DO(status, tune_trials_run(&b, s->t, true, err));
    for (size_t i = 0; status == SG_OK && i < b.count; i++) {
        const struct sg_run *run = &b.outcomes[i].run;
        struct tune_goal *goal = &s->goal[i / s->seeds];
        goal->bytes += sg_run_last(run, "bytes_sent") / (double)s->seeds;
        goal->share = goal->bytes / sg_json_number(run->end, "steps", NAN) /
                      (4 * sg_json_number(sg_json_get(run->header, "constants"), "d", NAN));
        if ((i + 1) % s->seeds == 0 && !(goal->bytes > 0))
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s sends nothing, by which nothing can be measured", goal->label);
    }
    tune_trials_close(&b);
    return status;
}

/* Reads the shares, or the name of the method. */
static sg_status set_goals(struct tune_search *s, struct sg_error *err) {
    double budget[BUDGETS];
    if (strncmp(s->t->budgets, OF, strlen(OF)) == 0)
        return set_measure(s, s->t->budgets + strlen(OF), err);
    const sg_status status = tune_read_list(budget, &s->n_goals, BUDGETS, "match-bytes", s->t->budgets, 1, false,
                                            "shares of what no compression sends", err);
    for (size_t i = 0; i < s->n_goals; i++)
        s->goal[i].share = budget[i];
    return status;
}

sg_status sg_tune_match_bytes(struct sg_tune *t, struct sg_error *err) {
    static const struct tune_matching how = {
        .action = "match-bytes", .targets = "budgets", .key_of = tune_knob_key, .method = match_method, .judge = judge};
    struct tune_search s;
    sg_status status = SG_OK;
    tune_search_open(&s, t, TUNE_BYTES, TOLERANCE);
    if (!tune_recorded(t, "bytes_sent"))
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "%s: record.series has no bytes-sent, by which the volume of a whole run is known (add it)",
                         t->recipe->path);
    SG_DO(status, set_goals(&s, err));
    if (status == SG_OK)
        say_methods(&s);
    if (status != SG_OK || t->dry_run)
        return status;
    status = need_methods(t, err);
    SG_DO(status, t->measure ? measure(&s, t->budgets + strlen(OF), err) : SG_OK);
    return status == SG_OK ? tune_match_methods(&s, &how, cJSON_CreateObject(), err) : status;
}
