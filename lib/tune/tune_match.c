/* tune_match.c: --match-density: for each Top-k density of the recipe, the lambda that sends as much over the whole
 * run. With --padded, a step of it counts as the largest message of all workers, else as their mean.
 *
 * Top-k sends the same at every step, so one step of it tells the target. Hard-threshold does not. Pilots of 1, 2 and 5
 * % of the run, each closer to the target than the one before, are extrapolated along the learning-rate schedule. Then
 * whole runs, which are cells that sparsebench finds again, tell what a lambda really sends. If that is further from
 * the target than the tolerance, lambda is corrected: by the first seed alone as long as it is far off, then by the
 * mean over the seeds. Of several targets the middle one is verified first, because its error of extrapolation helps
 * the others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_private.h"

enum { TARGETS = TUNE_DENSITIES, POINTS = 512, VERIFICATIONS = 12 };

/* TOLERANCE: the action's own. NEAR: closer to the target than that, the first seed alone is not enough. */
static const double TOLERANCE = 0.05, SPREAD = 1.5, LEAST_PILOT = 5, NEAR = 0.25;

struct target {
    const char *label; /* of the Top-k cell */
    double entries;    /* a step and worker; padded: of the largest message */
    double lambda;
    double reached; /* mean over the seeds; 0 = not verified yet */
};

struct match {
    struct sg_tune *t;
    double tolerance, d;
    struct tune_targets topk;
    struct target target[TARGETS];
    size_t n_targets;
    /* the name of the method being tuned */
    const char *name;
    struct tune_length length;
    size_t seeds;
    struct tune_point whole[POINTS]; /* the whole runs so far, each lambda once; means over the seeds */
    bool rough[POINTS];              /* estimated: entries at the first seed times mean_of_first */
    size_t n_whole;
    double mean_of_first, pilot_steps;
    cJSON *trials;
};

static void say(const struct match *m, const char *what, size_t n, double steps) {
    char text[256];
    snprintf(text, sizeof text, "%s: %s at %zu lambda%s, %.0f of %.0f steps", m->name, what, n, n == 1 ? "" : "s",
             steps, m->length.steps);
    if (m->t->say)
        m->t->say(text);
}

static void note_trial(struct match *m, const struct tune_point *p, double steps, size_t seeds) {
    cJSON *trial = cJSON_CreateObject();
    sg_json_set_number(trial, "lambda", p->lambda);
    sg_json_set_number(trial, "steps", steps);
    sg_json_set_bool(trial, "whole", steps >= m->length.steps);
    sg_json_set_number(trial, "seeds", (double)seeds);
    sg_json_set_number(trial, "density", p->entries / m->d);
    sg_json_push(m->trials, trial);
}

/* "methods.NAME.lambda=[…]": each lambda once. Returns how many, 0 = no memory. */
static size_t set_lambdas(struct tune_sets *sets, const char *name, const struct tune_point *p, size_t n) {
    char list[TARGETS * 2 * TUNE_LAMBDA_CHARS], text[TUNE_LAMBDA_CHARS];
    size_t used = 0, different = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || p[j].lambda == p[i].lambda;
        if (seen)
            continue;
        tune_round(p[i].lambda, text);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", different++ ? ", " : "", text);
    }
    return tune_set_values(sets, name, "lambda", list) ? different : 0;
}

/* Measures the entries that each lambda of p [n], rounded before, sends. For whole runs it is the mean over the first
 * `seeds` seeds, for pilots the extrapolation at the first seed. A run that sent nothing counts as half an entry, so
 * the result is never 0. */
static sg_status measure(struct match *m, struct tune_point *p, size_t n, double steps, size_t seeds,
                         struct sg_error *err) {
    struct tune_sets sets;
    struct tune_trials b = {.count = 0};
    const bool whole = steps >= m->length.steps;
    tune_sets_start(&sets, m->t);
    const size_t different = set_lambdas(&sets, m->name, p, n);
    sg_status status = different > 0 && (whole || (tune_set_length(&sets, &m->length, steps) && tune_set_record(&sets)))
                           ? SG_OK
                           : sg_fail_memory(err, "the pilots");
    SG_DO(status, tune_trials_open(&b, m->t, &sets, m->name, NULL, seeds, err));
    if (status == SG_OK) {
        say(m, whole ? "whole run" : "pilot", different, steps);
        status = tune_trials_run(&b, m->t, &sets, true, err);
    }
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < b.count; c++)
            if (sg_node_number(b.cells[c].method, "lambda", NAN) == p[i].lambda)
                sum += whole ? tune_entries(&b.outcomes[c].run, &b.cells[c], m->d, m->t->padded)
                             : tune_extrapolate(&b.outcomes[c].run, &m->length, m->d, m->t->padded);
        p[i].entries = fmax(sum / (double)seeds, 0.5 / m->length.steps);
    }
    for (size_t i = 0; status == SG_OK && i < n; i++)
        note_trial(m, &p[i], steps, seeds);
    if (status == SG_OK && !whole)
        m->pilot_steps += (double)different * steps;
    tune_trials_close(&b);
    tune_sets_free(&sets);
    return status;
}

/* ---- one method ---- */

static double pilot_steps(const struct match *m, double share) {
    return fmin(m->length.steps, fmax(LEAST_PILOT, floor(share * m->length.steps)));
}

/* Finds a lambda for every target by pilots of three lengths, each closer than the one before. */
static sg_status run_pilots(struct match *m, double *slope, struct sg_error *err) {
    char text[TUNE_LAMBDA_CHARS];
    struct tune_point p[2 * TARGETS];
    const size_t n = m->n_targets;
    for (size_t j = 0; j < n; j++)
        p[j].lambda = tune_round(m->target[j].lambda, text);
    sg_status status = measure(m, p, n, pilot_steps(m, 0.01), 1, err);
    for (size_t j = 0; status == SG_OK && j < n; j++)
        m->target[j].lambda = tune_solve(p, n, m->target[j].entries, tune_slope(p, n));
    for (size_t j = 0; j < n; j++) {
        p[2 * j].lambda = tune_round(m->target[j].lambda / sqrt(SPREAD), text);
        p[2 * j + 1].lambda = tune_round(m->target[j].lambda * sqrt(SPREAD), text);
    }
    SG_DO(status, measure(m, p, 2 * n, pilot_steps(m, 0.02), 1, err));
    *slope = tune_slope(p, 2 * n);
    for (size_t j = 0; status == SG_OK && j < n; j++)
        m->target[j].lambda = tune_solve(p, 2 * n, m->target[j].entries, *slope);
    for (size_t j = 0; j < n; j++)
        p[j].lambda = tune_round(m->target[j].lambda, text);
    SG_DO(status, measure(m, p, n, pilot_steps(m, 0.05), 1, err));
    for (size_t j = 0; status == SG_OK && j < n; j++)
        m->target[j].lambda = tune_solve(p, n, m->target[j].entries, *slope);
    return status;
}

static bool hits(const struct match *m, const struct target *target, double entries) {
    return fabs(entries / target->entries - 1) <= m->tolerance;
}

/* Fails: between the two nearest lambdas the density jumps. */
static sg_status unreachable(const struct match *m, const struct target *target, struct sg_error *err) {
    const struct tune_point *above = NULL, *below = NULL;
    char text[2][96] = {"", ""};
    for (size_t i = 0; i < m->n_whole; i++) {
        const struct tune_point *p = &m->whole[i];
        if (p->entries > target->entries && (!above || p->lambda > above->lambda))
            above = p;
        if (p->entries < target->entries && (!below || p->lambda < below->lambda))
            below = p;
    }
    const struct tune_point *side[] = {below, above};
    for (int i = 0; i < 2; i++)
        if (side[i])
            snprintf(text[i], sizeof text[i], "%slambda %.4g sends %.4g %%", i && side[0] ? ", " : "", side[i]->lambda,
                     100 * side[i]->entries / m->d);
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: no lambda sends %s's %.4g %%%s within %g %%: %s%s (allow more with --tolerance)", m->name,
                   target->label, 100 * target->entries / m->d, m->t->padded ? " (padded)" : "", 100 * m->tolerance,
                   text[0], text[1]);
}

/* The index of lambda among the whole runs; n_whole = it is not there. */
static size_t find_whole(const struct match *m, double lambda) {
    size_t i = 0;
    while (i < m->n_whole && m->whole[i].lambda != lambda)
        i++;
    return i;
}

static void keep_whole(struct match *m, const struct tune_point *p, bool rough) {
    const size_t i = find_whole(m, p->lambda);
    if (i == POINTS)
        return;
    m->whole[i] = *p;
    m->rough[i] = rough;
    m->n_whole += i == m->n_whole;
}

static void learn_mean_of_first(struct match *m, double ratio) {
    for (size_t i = 0; i < m->n_whole; i++)
        if (m->rough[i])
            m->whole[i].entries *= ratio / m->mean_of_first;
    m->mean_of_first = ratio;
}

/* Run each target at its lambda with the first seed. If the result is near the target, or if one seed was not enough the
 * last time, run it with all seeds. */
static sg_status verify(struct match *m, struct target *const *open, size_t n, struct sg_error *err) {
    struct tune_point p[TARGETS], sure[TARGETS];
    size_t which[TARGETS], n_sure = 0;
    for (size_t j = 0; j < n; j++)
        p[j].lambda = open[j]->lambda;
    sg_status status = measure(m, p, n, m->length.steps, 1, err);
    for (size_t j = 0; status == SG_OK && j < n; j++) {
        const struct tune_point guess = {p[j].lambda, p[j].entries * m->mean_of_first};
        const double off = fabs(guess.entries / open[j]->entries - 1);
        if (off <= fmax(NEAR, m->tolerance) || find_whole(m, p[j].lambda) < m->n_whole) {
            which[n_sure] = j;
            sure[n_sure++] = p[j];
        } else {
            keep_whole(m, &guess, true);
        }
    }
    if (status == SG_OK && n_sure > 0 && m->seeds > 1)
        status = measure(m, sure, n_sure, m->length.steps, m->seeds, err);
    for (size_t i = 0; status == SG_OK && i < n_sure; i++) {
        keep_whole(m, &sure[i], false);
        learn_mean_of_first(m, sure[i].entries / p[which[i]].entries);
        if (hits(m, open[which[i]], sure[i].entries))
            open[which[i]]->reached = sure[i].entries;
    }
    return status;
}

static sg_status verify_all(struct match *m, double slope, struct sg_error *err) {
    char text[TUNE_LAMBDA_CHARS];
    for (int turn = 0;; turn++) {
        struct target *open[TARGETS];
        size_t n = 0;
        for (size_t j = 0; j < m->n_targets; j++)
            if (m->target[j].reached == 0 && (turn > 0 || j == m->n_targets / 2))
                open[n++] = &m->target[j];
        if (n == 0 && turn > 0)
            return SG_OK;
        const struct target *middle = &m->target[m->n_targets / 2];
        const double shift = turn == 1 ? tune_solve(m->whole, m->n_whole, middle->entries, slope) / middle->lambda : 1;
        for (size_t j = 0; j < n; j++) {
            if (turn > 1)
                open[j]->lambda = tune_solve(m->whole, m->n_whole, open[j]->entries,
                                             tune_secant(m->whole, m->n_whole, open[j]->entries));
            else
                open[j]->lambda *= shift;
            open[j]->lambda = tune_round(open[j]->lambda, text);
            const size_t made = find_whole(m, open[j]->lambda);
            const bool missed = made < m->n_whole && !m->rough[made] && !hits(m, open[j], m->whole[made].entries);
            if (missed || turn == VERIFICATIONS)
                return unreachable(m, open[j], err);
        }
        sg_status status = verify(m, open, n, err);
        if (status != SG_OK)
            return status;
    }
}

static cJSON *method_json(const struct match *m) {
    cJSON *out = cJSON_CreateObject(), *targets = cJSON_CreateArray();
    size_t cells = 0;
    for (size_t j = 0; j < m->n_targets; j++) {
        const struct target *target = &m->target[j];
        cJSON *entry = cJSON_CreateObject();
        sg_json_set_string(entry, "label", target->label);
        sg_json_set_number(entry, "target_density", target->entries / m->d);
        sg_json_set_number(entry, "lambda", target->lambda);
        sg_json_set_number(entry, "density", target->reached / m->d);
        sg_json_set_number(entry, "difference", target->reached / target->entries - 1);
        sg_json_push(targets, entry);
    }
    sg_json_set_string(out, "method", m->name);
    sg_json_set(out, "targets", targets);
    sg_json_set_number(out, "run_steps", m->length.steps);
    sg_json_set_number(out, "pilot_steps", m->pilot_steps);
    sg_json_set_number(out, "pilot_share", m->pilot_steps / m->length.steps / (double)m->n_targets);
    for (size_t i = 0; i < m->n_whole; i++)
        cells += m->rough[i] ? 1 : m->seeds;
    sg_json_set_number(out, "whole_runs", (double)cells);
    sg_json_set_number(out, "corrections", (double)cells - (double)(m->seeds * m->n_targets));
    sg_json_set(out, "trials", m->trials);
    return out;
}

/* Finds lambda for every target of the method that `cell` belongs to. */
static sg_status match_method(struct match *m, const struct sg_cell *cell, struct sg_error *err) {
    double slope;
    m->name = cell->name;
    m->length = tune_length(cell, m->topk.steps_per_epoch);
    m->n_whole = 0;
    m->mean_of_first = 1;
    m->pilot_steps = 0;
    m->trials = cJSON_CreateArray();
    for (size_t j = 0; j < m->n_targets; j++) {
        const struct tune_density *density = &m->topk.density[j];
        m->target[j] = (struct target){.label = density->label, .entries = density->entries, .lambda = density->lambda};
    }
    sg_status status = run_pilots(m, &slope, err);
    return status == SG_OK ? verify_all(m, slope, err) : status;
}

static sg_status keep(struct tune_found *f, const struct match *m, struct sg_error *err) {
    f->n = m->n_targets;
    f->name = m->name;
    f->key = "lambda";
    f->value = calloc(f->n, sizeof *f->value);
    f->how = calloc(f->n, sizeof *f->how);
    if (!f->value || !f->how)
        return sg_fail_memory(err, "the result");
    for (size_t j = 0; j < f->n; j++) {
        const struct target *target = &m->target[j];
        f->value[j] = target->lambda;
        snprintf(f->how[j], sizeof f->how[j],
                 "sparsetune --match-density%s: lambda %.4g sends %.4g %%, %s %.4g %% (%zu seed%s)",
                 m->t->padded ? " --padded" : "", target->lambda, 100 * target->reached / m->d, target->label,
                 100 * target->entries / m->d, m->seeds, m->seeds == 1 ? "" : "s");
    }
    return SG_OK;
}

/* *out <- one cell of every method that is tuned, in recipe order. Returns their number. */
static size_t tuned_cells(const struct sg_cell **out, const struct sg_cell *cells, size_t n) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || strcmp(cells[i].name, cells[i - 1].name) != 0) && tune_wants_lambda(cells[i].method))
            out[found++] = &cells[i];
    return found;
}

static sg_status match_all(struct match *m, const struct sg_cell *const *cell, size_t n, struct tune_found *found,
                           cJSON *list, struct sg_error *err) {
    sg_status status = tune_targets(&m->topk, m->t, err);
    m->n_targets = m->topk.n;
    m->d = m->topk.d;
    SG_DO(status, tune_emit_check(m->t, tune_lambda_key, m->n_targets, "Top-k densities", err));
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        status = match_method(m, cell[i], err);
        SG_DO(status, keep(&found[i], m, err));
        sg_json_push(list, method_json(m));
    }
    return status == SG_OK ? tune_emit_recipe(&m->t->text, m->t, found, n, err) : status;
}

sg_status tune_match_density(struct sg_tune *t, struct sg_error *err) {
    struct match *m = calloc(1, sizeof *m);
    struct sg_cell *cells = NULL;
    size_t n_cells = 0, n = 0;
    sg_status status = m ? sg_recipe_cells(t->recipe, &cells, &n_cells, err) : sg_fail_memory(err, "the search");
    const struct sg_cell **cell = calloc(n_cells + 1, sizeof *cell);
    struct tune_found *found = calloc(n_cells + 1, sizeof *found);
    cJSON *tune = cJSON_CreateObject(), *list = cJSON_CreateArray();
    sg_json_set_string(tune, "action", "match-density");
    sg_json_set(tune, "methods", list);
    if (status == SG_OK && (!cell || !found || !tune))
        status = sg_fail_memory(err, "the search");
    if (status != SG_OK)
        goto out;
    n = tuned_cells(cell, cells, n_cells);
    status = tune_need_lambda(t, err);
    m->t = t;
    m->tolerance = isnan(t->tolerance) ? TOLERANCE : t->tolerance;
    m->seeds = sg_node_get(&t->recipe->root, "seeds")->count;
    sg_json_set_number(tune, "tolerance", m->tolerance);
    sg_json_set_bool(tune, "padded", t->padded);
    for (size_t i = 0; status == SG_OK && i < n; i++)
        status = tune_need_volume(t, cell[i], err);
    SG_DO(status, t->dry_run ? tune_plan(t, "", err) : match_all(m, cell, n, found, list, err));
    if (status == SG_OK && !t->dry_run) {
        status = tune_cells_evidence(t, t->text, "hard-threshold", tune, err);
        tune = NULL;
    }
out:
    for (size_t i = 0; i < n; i++) {
        free(found[i].value);
        free(found[i].how);
    }
    free(found);
    free(cell);
    sg_recipe_cells_free(cells, n_cells);
    cJSON_Delete(tune);
    free(m);
    return status;
}
