/* tune_reach.c: --reach-baseline: the lambda that sends least among those whose metric comes within a tolerance of the
 * run without compression.
 *
 * The search halves a ladder of lambdas that are a factor of 2 apart. At 1/9 and 1/3 of the run, with the learning-rate
 * schedule scaled, only those lambdas stay that are nearest to the largest one that reaches a baseline of the same
 * length. Whole runs at the first seed then narrow the gap between the largest lambda that reaches the baseline and the
 * next that does not, until both have been confirmed at all seeds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_stats.h"
#include "sg_text.h"
#include "tune_reach.h"

enum { LADDER = 9, STEPS_OUT = 8, GIVEN = REACH_POINTS - LADDER - STEPS_OUT };

static const double TOLERANCE = 0.05, NARROW = 1.25;

/* The baseline's value at this length. */
static sg_status measure_baseline(struct reach *r, double steps, size_t seeds, struct sg_error *err) {
    struct tune_search *s = &r->search;
    struct tune_changes c;
    struct tune_trials b = {.count = 0};
    tune_changes_start(&c, s->t, NULL);
    if (steps < s->length.steps)
        tune_change_length(&c, &s->length, steps);
    sg_status status = tune_trials_open(&b, &c, r->baseline, NULL, seeds, err);
    SG_DO(status, tune_trials_run(&b, s->t, true, err));
    double sum = 0;
    for (size_t i = 0; status == SG_OK && i < b.count; i++)
        sum += tune_tail_median(&b.outcomes[i], s->metric);
    s->base = sum / (double)b.count;
    s->base_first = status == SG_OK ? tune_tail_median(&b.outcomes[0], s->metric) : NAN;
    if (status == SG_OK && isnan(s->base))
        status = sg_fail(err, SG_ERR_ARGUMENT, "'%s': %s has no value at the end of a run", s->metric, r->baseline);
    if (status == SG_OK)
        r->base_steps = sg_json_number(b.outcomes[0].run.end, "steps", NAN);
    tune_trials_close(&b);
    tune_changes_free(&c);
    return status;
}

/* Keeps the m points nearest to the largest lambda that reaches the baseline; p [n] with lambda descending. */
static void narrow(const struct reach *r, struct tune_point *p, size_t n, size_t m) {
    size_t best = 0;
    while (best + 1 < n && !tune_reaches(&r->search, &p[best]))
        best++;
    size_t from = best > m / 2 ? best - m / 2 : 0;
    from = from + m > n ? n - m : from;
    memmove(p, p + from, m * sizeof *p);
}

/* Runs the ladder at the lengths below a whole run. */
static sg_status halve(struct reach *r, struct tune_point p[LADDER], size_t *left, struct sg_error *err) {
    struct tune_search *s = &r->search;
    static const size_t keep[] = {5, 3};
    sg_status status = SG_OK;
    *left = LADDER;
    for (size_t rung = 0; status == SG_OK && rung < 2; rung++) {
        const double steps = fmax(1, floor(s->length.steps / (rung == 0 ? 9 : 3)));
        status = measure_baseline(r, steps, 1, err);
        SG_DO(status, tune_measure(s, p, *left, steps, 1, err));
        if (status == SG_OK) {
            narrow(r, p, *left, keep[rung]);
            *left = keep[rung];
        }
    }
    return status;
}

/* Finds the largest lambda that reaches the baseline, and the smallest above it that does not; NULL = none. */
static void ends(struct reach *r, struct tune_point **in, struct tune_point **out) {
    struct tune_search *s = &r->search;
    *in = *out = NULL;
    for (size_t i = 0; i < s->n_points; i++)
        if (tune_reaches(s, &s->point[i]) && (!*in || s->point[i].value > (*in)->value))
            *in = &s->point[i];
    for (size_t i = 0; i < s->n_points; i++)
        if (!tune_reaches(s, &s->point[i]) && (!*in || s->point[i].value > (*in)->value) &&
            (!*out || s->point[i].value < (*out)->value))
            *out = &s->point[i];
}

/* Makes whole runs of the points of p [n] that have no whole run yet. */
static sg_status measure_whole(struct reach *r, const struct tune_point *p, size_t n, size_t seeds,
                               struct sg_error *err) {
    struct tune_search *s = &r->search;
    const size_t first = s->n_points;
    for (size_t i = 0; i < n; i++) {
        bool made = false;
        for (size_t j = 0; j < s->n_points; j++)
            made = made || s->point[j].value == p[i].value;
        if (!made)
            s->point[s->n_points++] = p[i];
    }
    return s->n_points > first ? tune_measure(s, s->point + first, s->n_points - first, s->length.steps, seeds, err)
                               : SG_OK;
}

/* Runs the recipe's own lambdas, which are cells of its figure, at all seeds. */
static sg_status measure_given(struct reach *r, struct sg_error *err) {
    const struct tune_search *s = &r->search;
    struct tune_point given[GIVEN];
    const size_t n = r->given->kind == SG_NODE_LIST ? r->given->count : 0;
    for (size_t i = 0; i < n; i++)
        given[i] = (struct tune_point){.value = r->given->child[i].number, .spelling = r->given->child[i].string};
    return measure_whole(r, given, n, s->seeds, err);
}

/* The lambda to try next, between the two ends, of which one may be missing. */
static double next_lambda(const struct tune_point *in, const struct tune_point *out) {
    return !out ? in->value * 2 : !in || in->value == 0 ? out->value / 2 : sqrt(in->value * out->value);
}

/* Reports caveats on the result. */
static void say_ends(const struct reach *r) {
    const struct tune_search *s = &r->search;
    if (r->base_steps != s->length.steps)
        tune_say(s->t, "%s: its runs have %.0f steps, those of the baseline %s %.0f", s->name, s->length.steps,
                 r->baseline, r->base_steps);
    if (!r->next)
        tune_say(s->t, "%s: no lambda was found that fails, up to %.4g: the tolerance is wide", s->name,
                 r->best->value);
    else if (r->next->value > NARROW * r->best->value)
        tune_say(s->t, "%s: stopped with %.4g reaching %s and %.4g not: the largest may lie between", s->name,
                 r->best->value, r->baseline, r->next->value);
}

/* Makes whole runs until the two ends are close and both are confirmed at all seeds. */
static sg_status decide(struct reach *r, const struct tune_point *start, size_t n, struct sg_error *err) {
    struct tune_search *s = &r->search;
    struct tune_point *in = NULL, *out = NULL;
    char text[TUNE_LAMBDA_CHARS];
    s->n_points = 0;
    sg_status status = measure_baseline(r, s->length.steps, s->seeds, err);
    SG_DO(status, measure_given(r, err));
    SG_DO(status, measure_whole(r, start, n, 1, err));
    for (int turn = 0; status == SG_OK;) {
        ends(r, &in, &out);
        if (turn == STEPS_OUT || (in && out && out->value <= NARROW * in->value)) {
            struct tune_point *open = in && in->seeds < s->seeds ? in : out && out->seeds < s->seeds ? out : NULL;
            if (!open)
                break;
            status = tune_measure(s, open, 1, s->length.steps, s->seeds, err);
            continue;
        }
        const double lambda = tune_round(next_lambda(in, out), text);
        status = measure_whole(r, &(struct tune_point){.value = lambda}, 1, 1, err);
        turn++;
    }
    if (status == SG_OK && !in)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: no lambda down to %.4g reaches %s's %s of %.4g within %g %%: that one has %.4g (allow more "
                       "with --tolerance)",
                       s->name, out->value, r->baseline, s->metric, s->base, 100 * s->tolerance, out->quality);
    r->best = in;
    r->next = out;
    if (status == SG_OK)
        say_ends(r);
    return status;
}

/* ---- the recipe ---- */

static sg_status find_methods(struct reach *r, struct sg_error *err) {
    struct tune_search *s = &r->search;
    const struct sg_recipe *recipe = s->t->recipe;
    const struct sg_node *methods = sg_node_get(&recipe->root, "methods");
    r->baseline = tune_baseline(methods);
    size_t wanting = 0;
    for (size_t i = 0; i < methods->count; i++)
        if (tune_wants_lambda(&methods->child[i]) && wanting++ == 0) {
            s->name = sg_node_string(&methods->child[i], "name", "");
            r->given = sg_node_get(&methods->child[i], "lambda");
        }
    if (!r->baseline || wanting != 1 || r->given->line == 0)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%s: --reach-baseline needs a method with compressor: none and one with compressor: hard-threshold "
            "and a lambda in the file (lambda: match will do)",
            recipe->path);
    const bool listed = r->given->kind == SG_NODE_LIST;
    if (listed && r->given->count > GIVEN)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s:%d:%d: more than %d lambdas", recipe->path, r->given->line,
                       r->given->column, GIVEN);
    for (size_t i = 0; listed && i < r->given->count; i++)
        if (r->given->child[i].kind != SG_NODE_NUMBER)
            return sg_fail(err, SG_ERR_ARGUMENT, "%s:%d:%d: a list of lambdas is searched beside: numbers only",
                           recipe->path, r->given->child[i].line, r->given->child[i].column);
    return SG_OK;
}

static sg_status write_found(char **out, const struct reach *r, const struct tune_point *best, struct sg_error *err) {
    const struct tune_search *s = &r->search;
    struct tune_value value = {.x = best->value};
    const struct tune_found found = {.name = s->name, .key = "lambda", .n = 1, .value = &value, .appends = true};
    snprintf(value.how, sizeof value.how,
             "sparsetune --reach-baseline: lambda %.4g sends %.4g %%, %s %.4g, %s %.4g (%zu seed%s)", value.x,
             100 * best->amount / s->d, s->metric, best->quality, r->baseline, s->base, s->seeds,
             s->seeds == 1 ? "" : "s");
    return tune_emit_recipe(out, s->t, &found, 1, err);
}

/* Checks before any run that the recipe stays valid with the lambda that is found. */
static sg_status check_text(const struct reach *r, struct sg_error *err) {
    char *text = NULL;
    sg_status status = write_found(&text, r, &(struct tune_point){.value = 0.1234}, err);
    free(text);
    return status;
}

static sg_status search(struct reach *r, const struct sg_cell *cell, struct sg_error *err) {
    struct tune_search *s = &r->search;
    struct tune_point ladder[LADDER];
    char text[TUNE_LAMBDA_CHARS];
    size_t left, least = 0;
    sg_status status = tune_topk_goals(s, err);
    if (status != SG_OK)
        return status;
    tune_search_start(s, cell, "lambda", NULL);
    for (size_t i = 1; i < s->n_goals; i++)
        least = s->goal[i].target < s->goal[least].target ? i : least;
    for (size_t i = 0; i < LADDER; i++) /* most of the ladder is below this, because gradients are largest at first */
        ladder[i] = (struct tune_point){.value = tune_round(s->goal[least].guess * ldexp(1, 2 - (int)i), text)};
    status = halve(r, ladder, &left, err);
    SG_DO(status, decide(r, ladder, left, err));
    SG_DO(status, write_found(&s->t->text, r, r->best, err));
    return status == SG_OK ? reach_document(r, err) : status;
}

sg_status sg_tune_reach_baseline(struct sg_tune *t, struct sg_error *err) {
    char metric[TUNE_METRIC_CHARS];
    struct reach reach = {.baseline = NULL}, *const r = &reach;
    struct tune_search *const s = &r->search;
    const struct sg_cell *cell = t->cells;
    tune_search_open(s, t, TUNE_ENTRIES, TOLERANCE);
    s->metric = metric;
    s->key = "lambda";
    sg_status status = find_methods(r, err);
    SG_DO(status, tune_metric(t, metric, &s->higher, err));
    SG_DO(status, check_text(r, err));
    for (size_t c = 0; status == SG_OK && c < t->n_cells; c++)
        if (!tune_compresses_by(t->cells[c].method, "none")) /* no volume of it is shown */
            status = tune_need_volume(t, &t->cells[c], err);
    while (status == SG_OK && strcmp(cell->name, s->name) != 0)
        cell++;
    if (status == SG_OK && t->dry_run)
        tune_say(t, "%s: the largest lambda whose %s comes within %g %% of %s's", s->name, metric, 100 * s->tolerance,
                 r->baseline);
    else if (status == SG_OK)
        status = search(r, cell, err);
    cJSON_Delete(s->trials);
    return status;
}
