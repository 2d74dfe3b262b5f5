/* tune_match.c: --match-density: for each Top-k density of the recipe, the lambda that sends as much over the whole
 * run. With --padded, a step counts as the largest message of all workers, else as their mean.
 *
 * Top-k sends the same number of entries at every step, so one step determines the target. Hard-threshold does not.
 * Where its residual is a sum of gradients, one pilot of 5 % of the run for the middle target gives the gradients of
 * which the law of a random walk predicts the volume of every lambda (tune_search.c). Elsewhere pilots of 1, 2 and 5 %
 * for every target, each closer to it than the one before, are extrapolated along the learning-rate schedule. Then
 * whole runs, whose cells sparsebench reuses, measure what a lambda sends. If that differs from the target by more than
 * the tolerance, lambda is corrected: by the first seed alone while it is far off, then by the mean over the seeds. Of
 * several targets the middle one is tried first, because its extrapolation error corrects the others. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_feedback.h"
#include "tune_search.h"

enum { VERIFICATIONS = 12 };

/* TOLERANCE: the action's default. NEAR: values closer to the target than this are tried at all seeds. */
static const double TOLERANCE = 0.05, LEAST_PILOT = 5, NEAR = 0.25;

/* ---- what Top-k sends: the goals of this search, of --rule and of --reach-baseline ---- */

/* The lambda at which a search starts. A random walk reaches lambda, and its entry is sent, after (lambda / rms)^2
 * steps, so a share rms^2 / lambda^2 of all entries is sent at a step. rms is that of the residual after one step,
 * which is nearly all of the first gradient. */
static double first_lambda(const struct sg_cell *cell, const struct sg_run *run, double entries) {
    const struct sg_feedback_rule *rule =
        sg_feedback_find(sg_node_string(&cell->resolved, "error-feedback.form", "update"));
    const double error = sg_run_last(run, "error_norm"),
                 scale = rule && rule->in_updates ? sg_run_last(run, "learning_rate") : 1;
    return error > 0 ? sqrt(error / entries) / scale : 0.5 / sqrt(entries);
}

static void take(struct tune_search *s, const struct tune_trials *b) {
    for (size_t i = 0; i < b->count; i++) {
        const struct sg_run *run = &b->outcomes[i].run;
        struct tune_goal goal = {.target = tune_entries(run, &b->cells[i], 0, false)};
        goal.guess = first_lambda(&b->cells[i], run, goal.target);
        snprintf(goal.label, sizeof goal.label, "%s", b->cells[i].label);
        s->d = goal.target / sg_run_last(run, "average_density");
        s->steps_per_epoch = 1 / sg_run_last(run, "epoch");
        bool seen = false;
        for (size_t j = 0; j < s->n_goals; j++)
            seen = seen || s->goal[j].target == goal.target;
        if (!seen)
            s->goal[s->n_goals++] = goal;
    }
}

static sg_status no_topk(const struct sg_tune *t, struct sg_error *err) {
    return sg_fail(err, SG_ERR_ARGUMENT, "%s: no method with compressor: topk, whose density could be matched",
                   t->recipe->path);
}

sg_status tune_topk_goals(struct tune_search *s, struct sg_error *err) {
    struct sg_tune *t = s->t;
    struct tune_trials b;
    tune_trials_start(&b, t, NULL);
    tune_change_length(&b.changes, NULL, 1);
    tune_change_record(&b.changes, 1, true, TUNE_VOLUME_SERIES);
    sg_status status = tune_trials_open(&b, NULL, "topk", 1, err);
    if (status == SG_OK && b.count == 0)
        status = no_topk(t, err);
    if (status == SG_OK && b.count > TUNE_GOALS)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s: more than %d Top-k densities", t->recipe->path, TUNE_GOALS);
    if (status == SG_OK)
        tune_say(t, "one step of every Top-k method, for its density");
    SG_DO(status, tune_trials_run(&b, t, true, err));
    if (status == SG_OK)
        take(s, &b);
    tune_trials_close(&b);
    return status;
}

sg_status tune_plan(const struct sg_tune *t, const char *how, struct sg_error *err) {
    size_t topk = 0, wanting = 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        const struct sg_cell *cell = &t->cells[i];
        topk += tune_compresses_by(cell->method, "topk");
        wanting += tune_wants_lambda(cell->method) && tune_is_chosen(t, cell->name);
    }
    if (wanting == 0)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: no method with compressor: hard-threshold and a lambda to find (lambda: match will do)",
                       t->recipe->path);
    if (topk == 0)
        return no_topk(t, err);
    for (size_t i = 0; t->dry_run && i < t->n_cells; i++)
        if (tune_wants_lambda(t->cells[i].method) && tune_is_chosen(t, t->cells[i].name) &&
            (i == 0 || strcmp(t->cells[i].name, t->cells[i - 1].name) != 0))
            tune_say(t, "%s: one lambda for each Top-k density%s", t->cells[i].name, how);
    return SG_OK;
}

/* ---- the search ---- */

/* Fails: between the two nearest lambdas the density jumps. */
static sg_status unreachable(const struct tune_search *s, const struct tune_goal *goal, struct sg_error *err) {
    const struct tune_point *above = NULL, *below = NULL;
    char text[2][96] = {"", ""};
    for (size_t i = 0; i < s->n_points; i++) {
        const struct tune_point *p = &s->point[i];
        if (p->amount > goal->target && (!above || p->value > above->value))
            above = p;
        if (p->amount < goal->target && (!below || p->value < below->value))
            below = p;
    }
    const struct tune_point *side[] = {below, above};
    for (int i = 0; i < 2; i++)
        if (side[i])
            snprintf(text[i], sizeof text[i], "%slambda %.4g sends %.4g %%", i && side[0] ? ", " : "", side[i]->value,
                     100 * side[i]->amount / s->d);
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: no lambda sends %s's %.4g %%%s within %g %%: %s%s (allow more with --tolerance)", s->name,
                   goal->label, 100 * goal->target / s->d, s->t->padded ? " (padded)" : "", 100 * s->tolerance, text[0],
                   text[1]);
}

static sg_status search(struct tune_search *s, struct sg_error *err) {
    const struct tune_refine whole = {.steps = s->length.steps,
                                      .first = 1,
                                      .seeds = s->seeds,
                                      .turns = VERIFICATIONS,
                                      .near = NEAR,
                                      .middle_first = true,
                                      .strict = true};
    const double pilot = tune_pilot_steps(s, 0.05, LEAST_PILOT);
    sg_status status = SG_OK;
    s->by_law = s->by_law && pilot < s->length.steps;
    if (s->by_law) {
        status = tune_law_pilot(s, pilot, err);
    } else {
        status = tune_pilot(s, tune_pilot_steps(s, 0.01, LEAST_PILOT), false, true, err);
        SG_DO(status, tune_pilot(s, tune_pilot_steps(s, 0.02, LEAST_PILOT), true, true, err));
        SG_DO(status, tune_pilot(s, pilot, false, false, err));
    }
    SG_DO(status, tune_refine(s, &whole, err));
    for (size_t i = 0; status == SG_OK && i < s->n_goals; i++)
        if (s->goal[i].missed)
            status = unreachable(s, &s->goal[i], err);
    return status;
}

static cJSON *method_json(struct tune_search *s) {
    cJSON *out = tune_search_json(s), *targets = cJSON_CreateArray();
    double cells = 0;
    for (size_t i = 0; i < s->n_goals; i++) {
        const struct tune_goal *goal = &s->goal[i];
        sg_json_push(targets, SG_OBJECT(SG_TEXT("label", goal->label), SG_NUMBER("target_density", goal->target / s->d),
                                        SG_NUMBER("lambda", goal->value), SG_NUMBER("density", goal->reached / s->d),
                                        SG_NUMBER("difference", goal->reached / goal->target - 1)));
    }
    for (size_t i = 0; i < s->n_points; i++)
        cells += s->point[i].estimated ? 1 : (double)s->seeds;
    SG_SET(out, SG_VALUE("targets", targets),
           SG_NUMBER("pilot_share", s->pilot_steps / s->length.steps / (double)s->n_goals),
           SG_NUMBER("whole_runs", cells), SG_NUMBER("corrections", cells - (double)(s->seeds * s->n_goals)));
    return out;
}

static sg_status match_method(struct tune_search *s, const struct sg_cell *cell, struct tune_found *f, cJSON **evidence,
                              struct sg_error *err) {
    tune_search_start(s, cell, "lambda", NULL);
    s->by_law = tune_law_holds(cell);
    for (size_t i = 0; i < s->n_goals; i++)
        s->goal[i].value = s->goal[i].guess;
    sg_status status = search(s, err);
    if (status == SG_OK)
        tune_found_open(f, s, s->n_goals);
    for (; status == SG_OK && f->n < s->n_goals; f->n++) {
        const struct tune_goal *goal = &s->goal[f->n];
        f->value[f->n].x = goal->value;
        snprintf(f->value[f->n].how, TUNE_HOW_CHARS,
                 "sparsetune --match-density%s: lambda %.4g sends %.4g %%, %s %.4g %% (%zu seed%s)",
                 s->t->padded ? " --padded" : "", goal->value, 100 * goal->reached / s->d, goal->label,
                 100 * goal->target / s->d, s->seeds, s->seeds == 1 ? "" : "s");
    }
    *evidence = method_json(s);
    return status;
}

/* Checks that the runs of every method that is tuned record what they send. */
static sg_status check(struct sg_tune *t, struct sg_error *err) {
    sg_status status = tune_plan(t, "", err);
    for (size_t i = 0; status == SG_OK && i < t->n_cells; i++)
        if (tune_wants_lambda(t->cells[i].method) && tune_is_chosen(t, t->cells[i].name))
            status = tune_need_volume(t, &t->cells[i], err);
    return status;
}

sg_status sg_tune_match_density(struct sg_tune *t, struct sg_error *err) {
    static const struct tune_matching how = {.action = "match-density",
                                             .targets = "Top-k densities",
                                             .compressor = "hard-threshold",
                                             .key_of = tune_lambda_key,
                                             .method = match_method};
    struct tune_search s;
    sg_status status = check(t, err);
    if (status != SG_OK || t->dry_run)
        return status;
    tune_search_open(&s, t, TUNE_ENTRIES, TOLERANCE);
    status = tune_topk_goals(&s, err);
    return status == SG_OK ? tune_match_methods(&s, &how, SG_OBJECT(SG_BOOL("padded", t->padded)), err) : status;
}
