/* tune_search.c: the stages of a search over a knob: pilots, whole runs at the first seed, whole runs at all seeds.
 *
 * A pilot by the law records |g_i|^2 at every step, from which the law tells what any lambda sends over a whole run. A
 * pilot that sent fewer than d entries is too short. Its volume is then taken from the law, if that is larger. One
 * whole run replaces the pilot: the law
 * through its volume is the curve on which all goals are solved. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_memory.h"
#include "tune_search.h"

enum { REPEATS = 2 };

/* SPREAD: ratio of the two values that determine the slope. STEP: ratio of the two that determine the direction. */
static const double SPREAD = 1.5, STEP = 4;

void tune_search_open(struct tune_search *s, struct sg_tune *t, enum tune_unit unit, double tolerance) {
    *s = (struct tune_search){.t = t,
                              .unit = unit,
                              .tolerance = isnan(t->tolerance) ? tolerance : t->tolerance,
                              .steps_per_epoch = NAN,
                              .seeds = sg_node_get(&t->recipe->root, "seeds")->count,
                              .slope = 1};
}

void tune_search_start(struct tune_search *s, const struct sg_cell *cell, const char *key,
                       const struct sg_parameter *parameter) {
    s->name = cell->name;
    s->key = key;
    s->integer = parameter && parameter->integer;
    s->min = parameter ? parameter->min : 0;
    s->max = parameter ? parameter->max : INFINITY;
    s->rises = s->by_law = false;
    s->law.gradient = NAN;
    s->length = tune_length(&cell->resolved, s->steps_per_epoch);
    s->n_points = 0;
    s->mean_of_first = 1;
    s->pilot_steps = 0;
    s->trials = cJSON_CreateArray();
}

double tune_possible(const struct tune_search *s, double x) {
    char text[TUNE_LAMBDA_CHARS];
    x = s->integer ? rint(x) : tune_round(x, text);
    x = fmin(fmax(x, s->min), s->max);
    return x > 0 ? x : tune_round(ldexp(1, -40), text);
}

static bool hits(const struct tune_search *s, const struct tune_goal *goal, double amount) {
    return fabs(amount / goal->target - 1) <= s->tolerance;
}

/* ---- points ---- */

static struct tune_point *find(struct tune_search *s, double value) {
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].value == value)
            return &s->point[i];
    return NULL;
}

static void keep(struct tune_search *s, const struct tune_point *p) {
    struct tune_point *at = find(s, p->value);
    if (!at && s->n_points < TUNE_POINTS)
        at = &s->point[s->n_points++];
    if (at)
        *at = *p;
}

/* True if another point has the amount of this value, which means that amounts change in steps here. */
static bool repeats(struct tune_search *s, double value) {
    const struct tune_point *own = find(s, value);
    for (size_t i = 0; i < s->n_points; i++)
        if (own && &s->point[i] != own && s->point[i].amount == own->amount)
            return true;
    return false;
}

/* The point nearest to the target; estimated points count only if `estimates`. NULL = there is none. */
static const struct tune_point *nearest(const struct tune_search *s, double target, bool estimates) {
    const struct tune_point *near = NULL;
    for (size_t i = 0; i < s->n_points; i++) {
        const struct tune_point *p = &s->point[i];
        if ((estimates || !p->estimated) && (!near || fabs(log(p->amount / target)) < fabs(log(near->amount / target))))
            near = p;
    }
    return near;
}

/* Copies the points, transformed so that the amount falls with the value. */
static size_t falling(struct tune_point out[TUNE_POINTS], const struct tune_search *s) {
    for (size_t i = 0; i < s->n_points; i++) {
        out[i] = s->point[i];
        out[i].value = s->rises ? 1 / out[i].value : out[i].value;
    }
    return s->n_points;
}

static double slope_of(const struct tune_search *s) {
    struct tune_point p[TUNE_POINTS];
    return tune_slope(p, falling(p, s));
}

/* The value that sends the target, by the law through this point. */
static double law_solve(const struct tune_search *s, const struct tune_point *through, double target) {
    struct sg_walk_law law = s->law;
    sg_walk_fit(&law, through->value, through->amount / s->law_unit);
    return sg_walk_lambda(&law, target / s->law_unit);
}

/* Solves along the given slope; NAN = the one near the target. From a single point the law is followed. */
static double solve(const struct tune_search *s, double target, double slope) {
    struct tune_point p[TUNE_POINTS];
    const size_t n = falling(p, s);
    if (s->by_law && n == 1)
        return law_solve(s, p, target);
    if (isnan(slope))
        slope = n > 1 ? tune_secant(p, n, target) : s->slope;
    const double found = tune_solve(p, n, target, slope);
    return s->rises ? 1 / found : found;
}

/* Adds a value to those that are to be tried; each once. */
static size_t add(struct tune_point *p, size_t n, double value) {
    for (size_t i = 0; i < n; i++)
        if (p[i].value == value)
            return n;
    p[n] = (struct tune_point){.value = value};
    return n + 1;
}

/* ---- pilots ---- */

static sg_status try_all(struct tune_search *s, struct tune_point *p, size_t n, double steps, struct sg_error *err) {
    const sg_status status = tune_measure(s, p, n, steps, 1, err);
    s->n_points = 0;
    for (size_t i = 0; status == SG_OK && i < n; i++)
        keep(s, &p[i]);
    return status;
}

sg_status tune_pilot(struct tune_search *s, double steps, bool spread, bool fit, struct sg_error *err) {
    struct tune_point p[2 * TUNE_GOALS];
    size_t n = 0;
    for (size_t i = 0; i < s->n_goals; i++) {
        const double value = s->goal[i].value, apart = spread ? sqrt(SPREAD) : 1;
        n = add(p, n, tune_possible(s, value / apart));
        n = add(p, n, tune_possible(s, value * apart));
    }
    const sg_status status = try_all(s, p, n, steps, err);
    if (status == SG_OK && fit)
        s->slope = slope_of(s);
    for (size_t i = 0; status == SG_OK && i < s->n_goals; i++)
        s->goal[i].value = solve(s, s->goal[i].target, s->slope);
    return status;
}

sg_status tune_find_direction(struct tune_search *s, double start, double steps, struct sg_error *err) {
    struct tune_point p[2] = {{.value = tune_possible(s, start)}, {.value = tune_possible(s, start * STEP)}};
    if (p[1].value == p[0].value)
        p[1].value = tune_possible(s, start / STEP);
    if (p[1].value == p[0].value)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: %s has no other value than %g", s->name, s->key, start);
    const sg_status status = try_all(s, p, 2, steps, err);
    s->rises = (p[1].amount > p[0].amount) == (p[1].value > p[0].value);
    for (size_t i = 0; status == SG_OK && i < s->n_goals; i++)
        s->goal[i].value = solve(s, s->goal[i].target, slope_of(s));
    return status;
}

/* ---- a pilot by the law of sg_lambda_rules.h ---- */

bool tune_law_holds(const struct sg_cell *cell) {
    return tune_wants_lambda(cell->method) && sg_node_absent(sg_node_get(cell->method, "controller")) &&
           tune_sums_gradients(&cell->resolved);
}

sg_status tune_law_pilot(struct tune_search *s, double steps, struct sg_error *err) {
    const struct tune_goal *middle = &s->goal[s->n_goals / 2];
    struct tune_point p = {.value = tune_possible(s, middle->value)};
    sg_status status = tune_measure(s, &p, 1, steps, 1, err);
    if (status == SG_OK && !(p.gradient > 0))
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "%s: gradients are 0 along the pilot, so no lambda sends anything", s->name);
    if (status != SG_OK)
        return status;
    s->law = (struct sg_walk_law){.gradient = p.gradient, .d = s->d, .steps = s->length.steps};
    s->law_unit = p.entries > 0 ? p.amount / p.entries : s->unit == TUNE_BYTES ? 8 : 1;
    if (p.entries_once < s->d)
        p.amount = fmax(p.amount, s->law_unit * sg_walk_sent(&s->law, p.value));
    for (size_t i = 0; i < s->n_goals; i++)
        s->goal[i].value = law_solve(s, &p, s->goal[i].target);
    return SG_OK;
}

/* ---- to the tolerance ---- */

/* Corrects the estimated amounts of other points by the new ratio of the mean over all seeds to the first seed. */
static void learn_mean_of_first(struct tune_search *s, double ratio) {
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].estimated)
            s->point[i].amount *= ratio / s->mean_of_first;
    s->mean_of_first = ratio;
}

/* Tries these values, which were tried at the first seed, at all seeds. */
static sg_status confirm(struct tune_search *s, const struct tune_refine *how, struct tune_point *p, size_t n,
                         struct sg_error *err) {
    double first[TUNE_GOALS];
    for (size_t i = 0; i < n; i++)
        first[i] = find(s, p[i].value)->amount / s->mean_of_first;
    const sg_status status = n > 0 ? tune_measure(s, p, n, how->steps, how->seeds, err) : SG_OK;
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        keep(s, &p[i]);
        learn_mean_of_first(s, p[i].amount / first[i]);
    }
    return status;
}

/* Tries the values of the open goals at the first seeds. Values that are near their goal, or were tried at the first
 * seeds before, are tried at all seeds. */
static sg_status try_open(struct tune_search *s, const struct tune_refine *how, struct tune_goal *const *open, size_t n,
                          struct sg_error *err) {
    struct tune_point p[TUNE_GOALS], sure[TUNE_GOALS];
    size_t n_new = 0, n_sure = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tune_point *known = find(s, open[i]->value = tune_possible(s, open[i]->value));
        if (!known)
            n_new = add(p, n_new, open[i]->value);
        else if (known->estimated)
            n_sure = add(sure, n_sure, open[i]->value);
    }
    const sg_status status = n_new > 0 ? tune_measure(s, p, n_new, how->steps, how->first, err) : SG_OK;
    for (size_t i = 0; status == SG_OK && i < n_new; i++) {
        p[i].estimated = how->seeds > how->first;
        p[i].amount *= s->mean_of_first;
        keep(s, &p[i]);
        for (size_t j = 0; p[i].estimated && j < n; j++)
            if (open[j]->value == p[i].value &&
                fabs(p[i].amount / open[j]->target - 1) <= fmax(how->near, s->tolerance))
                n_sure = add(sure, n_sure, p[i].value);
    }
    return status == SG_OK ? confirm(s, how, sure, n_sure, err) : status;
}

static void end(struct tune_goal *goal, const struct tune_point *p, bool missed) {
    goal->value = p->value;
    goal->reached = p->amount;
    goal->done = true;
    goal->missed = missed;
}

/* Chooses the value that a goal tries next, or ends it. */
static void choose(struct tune_search *s, struct tune_goal *goal) {
    const struct tune_point *near = nearest(s, goal->target, true);
    goal->repeats += repeats(s, goal->value);
    if (!near->estimated && hits(s, goal, near->amount)) {
        end(goal, near, false);
        return;
    }
    const double next = goal->repeats > REPEATS ? near->value : tune_possible(s, solve(s, goal->target, NAN));
    const struct tune_point *known = find(s, next);
    if (!known || known->estimated)
        goal->value = next;
    else
        end(goal, near->estimated ? known : near, true);
}

/* Makes every goal open. */
static void open_all(struct tune_search *s) {
    for (size_t i = 0; i < s->n_goals; i++) {
        s->goal[i].done = s->goal[i].missed = false;
        s->goal[i].repeats = 0;
    }
}

/* Finds the open goals, or only the middle one of them; returns how many. */
static size_t find_open(struct tune_goal **open, struct tune_search *s, bool middle_alone) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_goals; i++)
        if (!s->goal[i].done && (!middle_alone || i == s->n_goals / 2))
            open[n++] = &s->goal[i];
    return n;
}

/* Corrects the values of the other goals by the error of the middle goal, which was tried: along the law, or by the
 * same ratio. */
static void correct_others(struct tune_search *s) {
    const struct tune_goal *middle = &s->goal[s->n_goals / 2];
    const double shift = solve(s, middle->target, s->slope) / middle->value;
    for (size_t i = 0; i < s->n_goals; i++)
        if (&s->goal[i] != middle)
            s->goal[i].value = s->by_law ? solve(s, s->goal[i].target, NAN) : s->goal[i].value * shift;
}

/* Ends all goals, or only the open ones, with the nearest value so far. */
static void end_goals(struct tune_search *s, bool all) {
    for (size_t i = 0; i < s->n_goals; i++) {
        struct tune_goal *goal = &s->goal[i];
        const struct tune_point *near = nearest(s, goal->target, false);
        if (near && (all || !goal->done))
            end(goal, near, !hits(s, goal, near->amount));
    }
}

sg_status tune_refine(struct tune_search *s, const struct tune_refine *how, struct sg_error *err) {
    struct tune_goal *open[TUNE_GOALS];
    bool stopped = false;
    s->n_points = how->goes_on ? s->n_points : 0;
    open_all(s);
    for (int turn = 1; !stopped && turn <= how->turns; turn++) {
        const bool middle_alone = how->middle_first && turn == 1;
        const size_t n = find_open(open, s, middle_alone);
        const sg_status status = try_open(s, how, open, n, err);
        if (status != SG_OK)
            return status;
        if (middle_alone)
            correct_others(s);
        for (size_t i = 0; i < n; i++) {
            choose(s, open[i]);
            stopped = stopped || (how->strict && open[i]->missed);
        }
    }
    if (!stopped)
        end_goals(s, !how->strict);
    s->slope = s->n_points > 1 ? slope_of(s) : s->slope;
    return SG_OK;
}

/* ---- results ---- */

cJSON *tune_search_json(struct tune_search *s) {
    cJSON *trials = s->trials;
    s->trials = NULL;
    return SG_OBJECT(SG_TEXT("method", s->name), SG_NUMBER("run_steps", s->length.steps),
                     SG_NUMBER("pilot_steps", s->pilot_steps), SG_NUMBER("gradient_norm", s->law.gradient),
                     SG_VALUE("trials", trials));
}

void tune_found_open(struct tune_found *f, const struct tune_search *s, size_t n) {
    *f = (struct tune_found){.name = s->name, .key = s->key};
    f->value = sg_calloc(n, sizeof *f->value);
}

/* ---- all methods ---- */

static sg_status match_cells(struct tune_search *s, const struct tune_matching *how, struct tune_found *found,
                             size_t *n, cJSON *list, struct sg_error *err) {
    const struct sg_cell *cells = s->t->cells;
    sg_status status = tune_emit_check(s->t, how->key_of, s->n_goals, how->targets, err);
    for (size_t i = 0; status == SG_OK && i < s->t->n_cells; i++) {
        cJSON *evidence = NULL;
        if ((i > 0 && strcmp(cells[i].name, cells[i - 1].name) == 0) || !how->key_of(cells[i].method) ||
            !tune_is_chosen(s->t, cells[i].name))
            continue;
        status = how->method(s, &cells[i], &found[(*n)++], &evidence, err);
        sg_json_push(list, evidence);
    }
    SG_DO(status, how->judge ? how->judge(s, found, *n, err) : SG_OK);
    return status == SG_OK ? tune_emit_recipe(&s->t->text, s->t, found, *n, err) : status;
}

sg_status tune_match_methods(struct tune_search *s, const struct tune_matching *how, cJSON *take_tune,
                             struct sg_error *err) {
    cJSON *list = cJSON_CreateArray();
    struct tune_found *found = sg_calloc(s->t->n_cells, sizeof *found);
    size_t n = 0;
    SG_SET(take_tune, SG_TEXT("action", how->action), SG_NUMBER("tolerance", s->tolerance), SG_VALUE("methods", list));
    sg_status status = match_cells(s, how, found, &n, list, err);
    if (status == SG_OK)
        status = tune_cells_evidence(s->t, s->t->text, how->compressor, take_tune, err);
    else
        cJSON_Delete(take_tune);
    for (size_t i = 0; i < n; i++)
        free(found[i].value);
    free(found);
    cJSON_Delete(s->trials);
    return status;
}
