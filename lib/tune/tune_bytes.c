/* tune_bytes.c: --match-bytes: for each budget, the value of each method's knob at which a worker sends that many bytes
 * over the whole run.
 *
 * The knob is what a controller may set: the density of Top-k, the lambda of hard-threshold, the levels of QSGD, the
 * rank of PowerSGD. A method is tuned if the recipe gives its knob a number, which is where the search begins. Pilots of
 * 2 % of the run come first. For most compressors they tell the whole, because every message is as long as the last.
 * Then come whole runs, which are cells that sparsebench finds again: with the first seed, then with all. A knob that
 * cannot come within the tolerance, for it is a whole number or at its limit, gets the value that comes nearest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_bytes.h"

enum { TURNS = 12, REPEATS = 2 };

static const double TOLERANCE = 0.05, PILOT = 0.02, LEAST_PILOT = 10, STEP = 4;

/* ---- values ---- */

/* The value that is nearest to x among those that the knob can have and a recipe can spell. */
static double possible(const struct search *s, double x) {
    char text[TUNE_LAMBDA_CHARS];
    x = s->parameter->integer ? rint(x) : tune_round(x, text);
    x = fmin(fmax(x, s->parameter->min), s->parameter->max);
    return x > 0 ? x : tune_round(ldexp(1, -40), text);
}

/* The search of tune_search.c is for curves that fall. */
static double mapped(const struct search *s, double value) {
    return s->rises ? 1 / value : value;
}

/* ---- runs ---- */

static void say(const struct search *s, const char *what, size_t n, double steps) {
    char text[256];
    snprintf(text, sizeof text, "%s: %s at %zu value%s of %s, %.0f of %.0f steps", s->name, what, n, n == 1 ? "" : "s",
             s->key, steps, s->length.steps);
    if (s->t->say)
        s->t->say(text);
}

static double last_bytes(const struct sg_run *run) {
    const double *bytes = sg_run_series(run, "bytes_sent");
    return bytes != NULL && run->n_points > 0 ? bytes[run->n_points - 1] / sg_json_number(run->end, "steps", NAN) : NAN;
}

static bool set_values(const struct search *s, struct tune_sets *sets, const double *value, size_t n) {
    char list[BUDGETS * (TUNE_LAMBDA_CHARS + 2)];
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.10g", i ? ", " : "", value[i]);
    return tune_set_values(sets, s->name, s->key, list);
}

/* bytes [n] <- what each of these values sends, each another one: mean over the first `seeds` seeds, of a worker at a
 * step. */
static sg_status measure(struct search *s, const double *value, double *bytes, size_t n, double steps, size_t seeds,
                         struct sg_error *err) {
    struct tune_sets sets;
    struct tune_trials b = {.count = 0};
    const bool whole = steps >= s->length.steps;
    tune_sets_start(&sets, s->t);
    sg_status status =
        set_values(s, &sets, value, n) &&
                (whole || (tune_set_length(&sets, &s->length, steps) &&
                           tune_set(&sets, "record={every: %.0f, evaluate: 0, series: [bytes-sent]}", steps)))
            ? SG_OK
            : sg_fail_memory(err, "the pilots");
    SG_DO(status, tune_trials_open(&b, s->t, &sets, s->name, NULL, seeds, err));
    if (status == SG_OK) {
        say(s, whole ? "whole run" : "pilot", n, steps);
        status = tune_trials_run(&b, s->t, &sets, true, err);
    }
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < b.count; c++)
            if (sg_node_number(b.cells[c].method, s->key, NAN) == value[i])
                sum += last_bytes(&b.outcomes[c].run);
        bytes[i] = sum / (double)seeds;
        cJSON *trial = cJSON_CreateObject();
        sg_json_set_number(trial, "value", value[i]);
        sg_json_set_number(trial, "steps", steps);
        sg_json_set_bool(trial, "whole", whole);
        sg_json_set_number(trial, "seeds", (double)seeds);
        sg_json_set_number(trial, "bytes_a_step", bytes[i]);
        sg_json_push(s->trials, trial);
        if (!(bytes[i] > 0))
            status = sg_fail(err, SG_ERR_FORMAT, "%s: a run does not tell its bytes", s->name);
    }
    s->pilot_steps += whole ? 0 : (double)n * steps;
    tune_trials_close(&b);
    tune_sets_free(&sets);
    return status;
}

/* ---- the search ---- */

static const struct tune_point *find_point(const struct search *s, double value) {
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].lambda == mapped(s, value))
            return &s->point[i];
    return NULL;
}

static double off(const struct goal *goal, double bytes) {
    return fabs(log(bytes / goal->target));
}

/* The point that comes nearest to the goal becomes its value. */
static void take_nearest(const struct search *s, struct goal *goal) {
    const struct tune_point *near = &s->point[0];
    for (size_t i = 1; i < s->n_points; i++)
        if (off(goal, s->point[i].entries) < off(goal, near->entries))
            near = &s->point[i];
    goal->value = possible(s, mapped(s, near->lambda));
    goal->bytes = near->entries;
}

/* Measures the values of all goals that are not known at this stage. */
static sg_status measure_goals(struct search *s, double steps, size_t seeds, struct sg_error *err) {
    double value[BUDGETS], bytes[BUDGETS];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool known = find_point(s, s->goal[i].value) != NULL;
        for (size_t j = 0; j < n; j++)
            known = known || value[j] == s->goal[i].value;
        if (!known)
            value[n++] = s->goal[i].value;
    }
    const sg_status status =
        n > 0 && s->n_points + n <= POINTS ? measure(s, value, bytes, n, steps, seeds, err) : SG_OK;
    for (size_t i = 0; status == SG_OK && i < n && s->n_points < POINTS; i++)
        s->point[s->n_points++] = (struct tune_point){mapped(s, value[i]), bytes[i]};
    return status;
}

/* Does another point have the bytes of this value's? Then bytes go in steps here. */
static bool repeats(const struct search *s, double value) {
    const struct tune_point *own = find_point(s, value);
    for (size_t i = 0; i < s->n_points; i++)
        if (own != NULL && &s->point[i] != own && s->point[i].entries == own->entries)
            return true;
    return false;
}

/* One stage: runs of `steps` steps, from the values that the goals have. Each gets the value that comes nearest. */
static sg_status stage(struct search *s, double steps, size_t seeds, struct sg_error *err) {
    bool open = true;
    for (size_t i = 0; i < s->n; i++)
        s->goal[i].repeats = 0;
    for (int turn = 0; open && turn < TURNS; turn++) {
        const sg_status status = measure_goals(s, steps, seeds, err);
        if (status != SG_OK)
            return status;
        open = false;
        for (size_t i = 0; i < s->n; i++) {
            struct goal *goal = &s->goal[i];
            goal->repeats += repeats(s, goal->value);
            take_nearest(s, goal);
            if (bytes_hits(s, goal, goal->bytes) || goal->repeats > REPEATS)
                continue;
            const double slope = s->n_points > 1 ? tune_secant(s->point, s->n_points, goal->target) : s->slope;
            const double next = possible(s, mapped(s, tune_solve(s->point, s->n_points, goal->target, slope)));
            if (find_point(s, next) == NULL) {
                goal->value = next;
                open = true;
            }
        }
    }
    for (size_t i = 0; i < s->n; i++)
        take_nearest(s, &s->goal[i]);
    s->slope = s->n_points > 1 ? tune_slope(s->point, s->n_points) : s->slope;
    return SG_OK;
}

/* Which way do the bytes go with the value? Measured at the recipe's value and at one that differs from it. */
static sg_status find_direction(struct search *s, double first, double steps, struct sg_error *err) {
    double value[2] = {possible(s, first), possible(s, first * STEP)}, bytes[2];
    if (value[1] == value[0])
        value[1] = possible(s, first / STEP);
    if (value[1] == value[0])
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: %s has no other value than %g", s->name, s->key, first);
    const sg_status status = measure(s, value, bytes, 2, steps, 1, err);
    if (status != SG_OK)
        return status;
    s->rises = (bytes[1] > bytes[0]) == (value[1] > value[0]);
    for (size_t i = 0; i < 2; i++)
        s->point[s->n_points++] = (struct tune_point){mapped(s, value[i]), bytes[i]};
    for (size_t i = 0; i < s->n; i++)
        s->goal[i].value = possible(s, mapped(s, tune_solve(s->point, 2, s->goal[i].target, tune_slope(s->point, 2))));
    return SG_OK;
}

static sg_status search_method(struct search *s, const struct sg_cell *cell, double steps_per_epoch,
                               struct sg_error *err) {
    s->length = tune_length(cell, steps_per_epoch);
    s->n_points = 0;
    s->pilot_steps = 0;
    for (size_t i = 0; i < s->n; i++)
        s->goal[i] = (struct goal){.target = s->budget[i] * 4 * s->d};
    const double pilot = fmin(s->length.steps, fmax(LEAST_PILOT, floor(PILOT * s->length.steps)));
    sg_status status = find_direction(s, s->start, pilot, err);
    SG_DO(status, stage(s, pilot, 1, err));
    for (size_t seeds = 1; status == SG_OK && seeds <= s->seeds; seeds = seeds < s->seeds ? s->seeds : s->seeds + 1) {
        s->n_points = 0;
        status = stage(s, s->length.steps, seeds, err);
    }
    return status;
}

/* ---- all methods ---- */

static sg_status read_budgets(struct search *s, const char *list, struct sg_error *err) {
    s->n = tune_read_list(s->budget, BUDGETS, list, 1);
    return s->n > 0 ? SG_OK
                    : sg_fail(err, SG_ERR_ARGUMENT,
                              "--match-bytes=%s: give up to %d shares of what no compression sends, above 0 and up to "
                              "1, with commas between them",
                              list, BUDGETS);
}

/* One step of one cell tells how many elements there are, and how many steps an epoch has. */
static sg_status look(struct search *s, double *steps_per_epoch, struct sg_error *err) {
    struct tune_sets sets;
    struct tune_trials b = {.count = 0};
    tune_sets_start(&sets, s->t);
    sg_status status = set_values(s, &sets, &s->start, 1) && tune_set_length(&sets, NULL, 1) &&
                               tune_set(&sets, "record={every: 1, evaluate: 0, series: [bytes-sent]}")
                           ? SG_OK
                           : sg_fail_memory(err, "the pilots");
    SG_DO(status, tune_trials_open(&b, s->t, &sets, s->name, NULL, 1, err));
    SG_DO(status, tune_trials_run(&b, s->t, &sets, true, err));
    if (status == SG_OK) {
        const struct sg_run *run = &b.outcomes[0].run;
        *steps_per_epoch = 1 / sg_run_series(run, "epoch")[run->n_points - 1];
        s->d = sg_json_number(sg_json_get(run->header, "constants"), "d", NAN);
    }
    tune_trials_close(&b);
    tune_sets_free(&sets);
    return status;
}

/* A method's search. One whose runs diverge or fail takes nothing from the others. */
static sg_status search_one(struct search *s, const struct sg_cell *cell, double *steps_per_epoch,
                            struct tune_found *found, cJSON *list, struct sg_error *err) {
    struct sg_error reason;
    s->name = cell->name;
    s->parameter = tune_knob(cell->method);
    s->key = s->parameter->name;
    s->start = tune_start(cell->method, s->parameter);
    if (!s->parameter->integer &&
        sg_node_get(cell->method, s->key)->kind == SG_NODE_STRING) /* a share: 64 bits an entry */
        s->start = possible(s, s->budget[0] / 2);
    s->trials = cJSON_CreateArray();
    sg_status status = isnan(*steps_per_epoch) ? look(s, steps_per_epoch, err) : SG_OK;
    SG_DO(status, search_method(s, cell, *steps_per_epoch, err));
    const bool failed = status == SG_ERR_NONFINITE;
    reason = *err;
    if (failed)
        status = bytes_keep_failed(found, s, cell->method, reason.msg, err);
    else if (status == SG_OK)
        status = bytes_keep(found, s, err);
    if (status == SG_OK)
        sg_json_push(list, bytes_json(s, failed ? reason.msg : NULL));
    else
        cJSON_Delete(s->trials);
    return status;
}

static sg_status search_all(struct search *s, const struct sg_cell *cells, size_t n_cells, struct tune_found *found,
                            size_t *n, cJSON *list, struct sg_error *err) {
    double steps_per_epoch = NAN;
    sg_status status = tune_emit_check(s->t, tune_knob_key, s->n, "budgets", err);
    for (size_t i = 0; status == SG_OK && i < n_cells; i++) {
        if ((i > 0 && strcmp(cells[i].name, cells[i - 1].name) == 0) || tune_knob(cells[i].method) == NULL)
            continue;
        status = search_one(s, &cells[i], &steps_per_epoch, &found[(*n)++], list, err);
    }
    SG_DO(status, bytes_judge(s->t, found, *n, err));
    return status == SG_OK ? tune_emit_recipe(&s->t->text, s->t, found, *n, err) : status;
}

/* Which methods have a knob but no number there, from which a search could start. */
static void say_left(const struct search *s) {
    const struct sg_node *methods = sg_node_get(&s->t->recipe->root, "methods");
    char text[256];
    for (size_t i = 0; s->t->say && i < methods->count; i++) {
        const struct sg_parameter *knob = tune_wordy_knob(&methods->child[i]);
        if (!knob)
            continue;
        snprintf(text, sizeof text, "%s: %s stays '%s'; to find it, give a number to start from, as %s: 0.01",
                 sg_node_string(&methods->child[i], "name", ""), knob->name,
                 sg_node_string(&methods->child[i], knob->name, ""), knob->name);
        s->t->say(text);
    }
}

static void plan(const struct search *s) {
    const struct sg_node *methods = sg_node_get(&s->t->recipe->root, "methods");
    char text[256];
    for (size_t i = 0; s->t->say && i < methods->count; i++) {
        const char *key = tune_knob_key(&methods->child[i]);
        if (tune_wordy_knob(&methods->child[i]))
            continue; /* said already */
        snprintf(text, sizeof text, key ? "%s: one %s for each of %zu budgets" : "%s: nothing to find",
                 sg_node_string(&methods->child[i], "name", ""), key ? key : "", s->n);
        s->t->say(text);
    }
}

sg_status tune_match_bytes(struct sg_tune *t, struct sg_error *err) {
    struct search *s = calloc(1, sizeof *s);
    struct sg_cell *cells = NULL;
    size_t n_cells = 0, n = 0;
    sg_status status = s ? sg_recipe_cells(t->recipe, &cells, &n_cells, err) : sg_fail_memory(err, "the search");
    struct tune_found *found = calloc(n_cells + 1, sizeof *found);
    cJSON *tune = cJSON_CreateObject(), *list = cJSON_CreateArray();
    sg_json_set_string(tune, "action", "match-bytes");
    sg_json_set(tune, "methods", list);
    if (status == SG_OK && (!found || !tune))
        status = sg_fail_memory(err, "the search");
    if (status != SG_OK)
        goto out;
    s->t = t;
    s->tolerance = isnan(t->tolerance) ? TOLERANCE : t->tolerance;
    s->seeds = sg_node_get(&t->recipe->root, "seeds")->count;
    s->slope = 1;
    sg_json_set_number(tune, "tolerance", s->tolerance);
    status = read_budgets(s, t->budgets, err);
    if (status == SG_OK && !tune_recorded(t, "bytes_sent"))
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "%s: record.series has no bytes-sent, by which the volume of a whole run is known (add it)",
                         t->recipe->path);
    if (status == SG_OK)
        say_left(s);
    if (status == SG_OK && t->dry_run)
        plan(s);
    else if (status == SG_OK)
        status = search_all(s, cells, n_cells, found, &n, list, err);
    if (status == SG_OK && !t->dry_run) {
        status = tune_cells_evidence(t, t->text, NULL, tune, err);
        tune = NULL;
    }
out:
    for (size_t i = 0; found != NULL && i < n; i++) {
        free(found[i].value);
        free(found[i].how);
    }
    free(found);
    sg_recipe_cells_free(cells, n_cells);
    cJSON_Delete(tune);
    free(s);
    return status;
}
