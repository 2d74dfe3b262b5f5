/* tune_targets.c: how many entries each Top-k sends, which is the goal of a search. Top-k sends the same at every
 * step and from every worker, so one step is enough, and the largest message is as long as the mean. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_feedback.h"
#include "tune_search.h"

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
    struct tune_changes c;
    struct tune_trials b = {.count = 0};
    tune_changes_start(&c, t, NULL);
    tune_change_length(&c, NULL, 1);
    tune_change_record(&c, 1, true, TUNE_VOLUME_SERIES);
    sg_status status = tune_trials_open(&b, &c, NULL, "topk", 1, err);
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
    tune_changes_free(&c);
    return status;
}

struct tune_length tune_length(const struct sg_node *resolved, double steps_per_epoch) {
    struct tune_length length = {
        .resolved = resolved, .steps_per_epoch = steps_per_epoch, .steps = sg_node_number(resolved, "steps", NAN)};
    if (isnan(length.steps))
        length.steps = floor(sg_node_number(resolved, "epochs", 0) * steps_per_epoch + 0.5);
    return length;
}

sg_status tune_plan(const struct sg_tune *t, const char *how, struct sg_error *err) {
    size_t topk = 0, wanting = 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        const struct sg_cell *cell = &t->cells[i];
        topk += tune_compresses_by(cell->method, "topk");
        wanting += tune_wants_lambda(cell->method);
    }
    if (wanting == 0)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: no method with compressor: hard-threshold and a lambda to find (lambda: match will do)",
                       t->recipe->path);
    if (topk == 0)
        return no_topk(t, err);
    for (size_t i = 0; t->dry_run && i < t->n_cells; i++)
        if (tune_wants_lambda(t->cells[i].method) && (i == 0 || strcmp(t->cells[i].name, t->cells[i - 1].name) != 0))
            tune_say(t, "%s: one lambda for each Top-k density%s", t->cells[i].name, how);
    return SG_OK;
}
