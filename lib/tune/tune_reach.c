/* tune_reach.c: --reach-baseline: the lambda that sends least among those whose metric comes within a margin of the
 * run without compression.
 *
 * The search halves a ladder of lambdas that are a factor of 2 apart. At 1/9 and 1/3 of the run, with the learning-rate
 * schedule scaled, only those lambdas stay that are nearest to the largest one that reaches a baseline of the same
 * length. Whole runs at the first seed then narrow the gap between the largest lambda that reaches the baseline and the
 * next that does not, until both have been confirmed at all seeds. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_memory.h"
#include "tune_search.h"

enum { POINTS = 64, LADDER = 9, STEPS_OUT = 8, GIVEN = POINTS - LADDER - STEPS_OUT };

static const double NARROW = 1.25;

struct reach {
    struct tune_search search; /* its points are the whole runs */
    const char *baseline;
    double base_steps;                    /* the baseline's length */
    const struct sg_node *given;          /* the method's lambda in the recipe: a number is replaced, a list is kept */
    const struct tune_point *best, *next; /* what was found, and the smallest larger lambda that fails (NULL: none) */
};

/* The baseline's value at this length. */
static sg_status measure_baseline(struct reach *r, double steps, size_t seeds, struct sg_error *err) {
    struct tune_search *s = &r->search;
    struct tune_trials b;
    tune_trials_start(&b, s->t, NULL);
    if (steps < s->length.steps)
        tune_change_length(&b.changes, &s->length, steps);
    sg_status status = tune_trials_open(&b, r->baseline, NULL, seeds, err);
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
    struct tune_point given[GIVEN];
    const size_t n = r->given->kind == SG_NODE_LIST ? r->given->count : 0;
    for (size_t i = 0; i < n; i++)
        given[i] = (struct tune_point){.value = r->given->child[i].number, .spelling = r->given->child[i].string};
    return measure_whole(r, given, n, r->search.seeds, err);
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
    char text[TUNE_LAMBDA_CHARS], margin[TUNE_MARGIN_CHARS];
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
        const double lambda = !out                    ? in->value * 2 /* between the two, of which one may be missing */
                              : !in || in->value == 0 ? out->value / 2
                                                      : sqrt(in->value * out->value);
        status = measure_whole(r, &(struct tune_point){.value = tune_round(lambda, text)}, 1, 1, err);
        turn++;
    }
    if (status == SG_OK && !in)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: no lambda down to %.4g reaches %s's %s of %.4g within %s: that one has %.4g (allow more "
                       "with --tolerance)",
                       s->name, out->value, r->baseline, s->metric, s->base, tune_margin_text(margin, &s->margin),
                       out->quality);
    r->best = in;
    r->next = out;
    if (status == SG_OK)
        say_ends(r);
    return status;
}

/* ---- the evidence: all whole runs at all seeds, the front of metric and volume, and the trials ---- */

/* Means over the seeds of one label. */
struct summary {
    const struct sg_cell *cell;
    double value, entries, volume; /* entries a step and in the whole run */
};

/* Fills out [number of cells of b] with one summary a label; returns how many. */
static size_t summarize(struct summary *out, const struct reach *r, const struct tune_trials *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (i == 0 || strcmp(b->cells[i].label, b->cells[i - 1].label) != 0)
            out[n++] = (struct summary){.cell = &b->cells[i]};
        out[n - 1].value += tune_tail_median(&b->outcomes[i], r->search.metric) / (double)r->search.seeds;
        const struct sg_run *run = &b->outcomes[i].run;
        const double entries = tune_entries(run, &b->cells[i], r->search.d, false) / (double)r->search.seeds;
        out[n - 1].entries += entries;
        out[n - 1].volume += entries * sg_json_number(run->end, "steps", NAN);
    }
    return n;
}

/* {"label","density","volume","value"} */
static cJSON *summary_json(const struct summary *s, double d) {
    return SG_OBJECT(SG_TEXT("label", s->cell->label), SG_NUMBER("density", s->entries / d),
                     SG_NUMBER("volume", s->volume), SG_NUMBER("value", s->value));
}

/* The Top-k cell that reaches the baseline with the smallest volume; NULL if none does. */
static const struct summary *best_topk(const struct reach *r, const struct summary *s, size_t n) {
    const struct summary *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (tune_compresses_by(s[i].cell->method, "topk") &&
            tune_reaches(&r->search, &(struct tune_point){.quality = s[i].value, .base = r->search.base}) &&
            (!best || s[i].volume < best->volume))
            best = &s[i];
    return best;
}

/* True if no other is better in one of metric and volume and at least as good in the other. */
static bool is_front(const struct reach *r, const struct summary *s, size_t n, const struct summary *p) {
    const double sign = r->search.higher ? -1 : 1;
    bool front = !isnan(p->value);
    for (size_t j = 0; j < n; j++) {
        const double value = sign * (s[j].value - p->value), volume = s[j].volume - p->volume;
        front = front && (tune_compresses_by(s[j].cell->method, "none") ||
                          !(value <= 0 && volume <= 0 && (value < 0 || volume < 0)));
    }
    return front;
}

static cJSON *tune_json(struct reach *r, const struct summary *s, size_t n, const char *price) {
    struct tune_search *of = &r->search;
    const struct tune_point *best = r->best;
    const double volume = best->amount * of->length.steps;
    const struct summary *topk = best_topk(r, s, n);
    char margin[TUNE_MARGIN_CHARS];
    cJSON *out = cJSON_CreateObject(), *points = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        if (!tune_compresses_by(s[i].cell->method, "none")) {
            cJSON *point = summary_json(&s[i], r->search.d);
            sg_json_set_bool(point, "front", is_front(r, s, n, &s[i]));
            sg_json_push(points, point);
        }
    SG_SET(out, SG_TEXT("action", "reach-baseline"), SG_TEXT("method", of->name), SG_TEXT("metric", of->metric),
           SG_TEXT("better", of->higher ? "higher" : "lower"), SG_NUMBER("tolerance", of->margin.share),
           SG_TEXT("margin", tune_margin_text(margin, &of->margin)), SG_TEXT("baseline", r->baseline),
           SG_NUMBER("baseline_value", of->base), SG_NUMBER("baseline_steps", r->base_steps),
           SG_NUMBER("steps", of->length.steps), SG_NUMBER("lambda", best->value),
           SG_NUMBER("lambda_that_fails", r->next ? r->next->value : NAN), SG_NUMBER("value", best->quality),
           SG_NUMBER("density", best->amount / r->search.d), SG_NUMBER("volume", volume),
           SG_VALUE("topk", topk ? summary_json(topk, r->search.d) : NULL),
           SG_NUMBER("times_less_volume", topk && volume > 0 ? topk->volume / volume : NAN), SG_VALUE("points", points),
           SG_VALUE("trials", of->trials), SG_TEXT("price", price));
    of->trials = NULL;
    return out;
}

/* A panel of metric over volume. */
static void change_plots(struct tune_changes *c, const struct reach *r) {
    static const char *const volumes[] = {"bits", "bits_values", "average_density"};
    char text[192];
    size_t volume = 0;
    while (volume < 2 && !tune_recorded(r->search.t, volumes[volume]))
        volume++;
    snprintf(text, sizeof text, "{plots: [{x: %s, y: %s, y-at: {tail-median: %g}, kind: points, log: x}]}",
             volumes[volume], r->search.metric, TUNE_TAIL);
    for (char *at = text; *at; at++) /* recipes spell columns so */
        *at = *at == '_' ? '-' : *at;
    tune_change(c, "%s", text);
}

/* All whole runs at all seeds. */
static void change_document(struct tune_changes *c, const struct reach *r) {
    const struct tune_search *s = &r->search;
    struct tune_point full[POINTS];
    size_t n = 0;
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].seeds == s->seeds)
            full[n++] = s->point[i];
    tune_change_values(c, s, full, n);
    tune_change(c, "{claims: null}");
    change_plots(c, r);
}

/* Runs all cells of the recipe's other methods. */
static sg_status run_others(struct reach *r, struct sg_error *err) {
    struct sg_tune *t = r->search.t;
    const struct sg_node *methods = sg_node_get(&t->recipe->root, "methods");
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < methods->count; i++) {
        const char *name = sg_node_string(&methods->child[i], "name", "");
        struct tune_trials b;
        if (strcmp(name, r->search.name) == 0 || strcmp(name, r->baseline) == 0)
            continue;
        tune_trials_start(&b, t, NULL);
        status = tune_trials_open(&b, name, NULL, r->search.seeds, err);
        SG_DO(status, tune_trials_run(&b, t, false, err));
        tune_trials_close(&b);
    }
    return status;
}

/* Makes a result of all whole runs, Top-k's among them. */
static sg_status document(struct reach *r, struct sg_error *err) {
    struct sg_tune *t = r->search.t;
    struct tune_trials b;
    const bool fresh = t->grid.fresh;
    tune_trials_start(&b, t, NULL);
    change_document(&b.changes, r);
    sg_status status = fresh ? run_others(r, err) : SG_OK;
    t->grid.fresh = false; /* hard-threshold's and the baseline's were run just now */
    SG_DO(status, tune_trials_open(&b, NULL, NULL, r->search.seeds, err));
    SG_DO(status, tune_trials_run(&b, t, false, err));
    struct summary *s = sg_calloc(b.count + 1, sizeof *s);
    struct tune_prices prices = {.n = 0};
    SG_DO(status, tune_prices_open(&prices, t, err));
    char *price = tune_price_text(&prices, NULL, NULL);
    if (price)
        tune_say(t, "%s", price);
    if (status == SG_OK)
        status = tune_trials_evidence(t, &b, tune_json(r, s, summarize(s, r, &b), price), err);
    t->grid.fresh = fresh;
    tune_prices_close(&prices);
    free(price);
    free(s);
    tune_trials_close(&b);
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
        if (tune_wants_lambda(&methods->child[i]) &&
            tune_is_chosen(s->t, sg_node_string(&methods->child[i], "name", "")) && wanting++ == 0) {
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
    return status == SG_OK ? document(r, err) : status;
}

sg_status sg_tune_reach_baseline(struct sg_tune *t, struct sg_error *err) {
    char metric[TUNE_METRIC_CHARS], margin[TUNE_MARGIN_CHARS];
    struct reach reach = {.baseline = NULL}, *const r = &reach;
    struct tune_search *const s = &r->search;
    tune_search_open(s, t, TUNE_ENTRIES, NAN);
    s->metric = metric;
    s->key = "lambda";
    sg_status status = find_methods(r, err);
    SG_DO(status, tune_metric(t, metric, &s->higher, err));
    if (status == SG_OK)
        s->margin = tune_margin_of(t, sg_node_string(&t->recipe->root, "task.kind", ""), metric);
    SG_DO(status, check_text(r, err));
    for (size_t c = 0; status == SG_OK && c < t->n_cells; c++)
        if (!tune_compresses_by(t->cells[c].method, "none")) /* no volume of it is shown */
            status = tune_need_volume(t, &t->cells[c], err);
    if (status == SG_OK && t->dry_run) {
        tune_say(t, "%s: the largest lambda whose %s comes within %s of %s's", s->name, metric,
                 tune_margin_text(margin, &s->margin), r->baseline);
    } else if (status == SG_OK) {
        struct tune_trials own; /* the recipe's cells of the method */
        tune_trials_start(&own, t, NULL);
        status = tune_trials_open(&own, s->name, NULL, 1, err);
        SG_DO(status, search(r, own.cells, err));
        tune_trials_close(&own);
    }
    cJSON_Delete(s->trials);
    return status;
}
