/* grid_results.c: series and final values of the cells of one label, as mean and deviation over the seeds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_debug.h"
#include "sg_stats.h"
#include "sg_text.h"

static const size_t NO_POINT = SIZE_MAX;

/* The cells of one label, one a seed, in order. */
struct group {
    const struct sg_cell *cells;
    const struct sg_cell_outcome *outcomes;
    size_t n;
    const struct sg_run *first; /* the first run there is, or NULL */
    const struct sg_recipe *recipe;
};

static struct group group_at(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count) {
    struct group g = {.cells = cells, .outcomes = outcomes};
    while (g.n < count && strcmp(cells[g.n].label, cells[0].label) == 0) {
        if (!g.first && outcomes[g.n].run.header)
            g.first = &outcomes[g.n].run;
        g.n++;
    }
    return g;
}

/* ---- points of a group: the recorded steps of all its runs ---- */

struct points {
    size_t n;
    double *step;               /* [n] ascending */
    size_t *index;              /* [n][seeds]: place of this step in a seed's series, or NO_POINT */
    double *mean, *std, *count; /* [n] results of one column */
    double *quartile;           /* [3][n] of it */
    double *value;              /* [seeds] scratch */
};

static void points_free(struct points *p) {
    free(p->step);
    free(p->index);
    free(p->mean);
    free(p->std);
    free(p->count);
    free(p->quartile);
    free(p->value);
}

static bool points_allocate(struct points *p, const struct group *g) {
    size_t most = 1;
    for (size_t i = 0; i < g->n; i++)
        most += g->outcomes[i].run.n_points;
    p->step = malloc(most * sizeof *p->step);
    p->index = malloc(most * g->n * sizeof *p->index);
    p->mean = malloc(most * sizeof *p->mean);
    p->std = malloc(most * sizeof *p->std);
    p->count = malloc(most * sizeof *p->count);
    p->quartile = malloc(3 * most * sizeof *p->quartile);
    p->value = malloc(g->n * sizeof *p->value);
    return p->step && p->index && p->mean && p->std && p->count && p->quartile && p->value;
}

/* Merges the steps of the seeds. Usually they are the same; a run that diverged ends early. */
static bool points_merge(struct points *p, const struct group *g) {
    size_t *next = calloc(g->n, sizeof *next);
    if (!next || !points_allocate(p, g)) {
        free(next);
        return false;
    }
    for (;; p->n++) {
        double least = INFINITY;
        for (size_t i = 0; i < g->n; i++) {
            const double *step = sg_run_series(&g->outcomes[i].run, "step");
            if (step && next[i] < g->outcomes[i].run.n_points && step[next[i]] < least)
                least = step[next[i]];
        }
        if (least == INFINITY)
            break;
        SG_ASSERT(p->n == 0 || p->step[p->n - 1] < least);
        p->step[p->n] = least;
        for (size_t i = 0; i < g->n; i++) {
            const double *step = sg_run_series(&g->outcomes[i].run, "step");
            bool here = step && next[i] < g->outcomes[i].run.n_points && step[next[i]] == least;
            p->index[p->n * g->n + i] = here ? next[i]++ : NO_POINT;
        }
    }
    free(next);
    return true;
}

/* Gather the finite values of a column at one point into p->value; returns how many. */
static size_t gather(const struct points *p, const struct group *g, const char *column, size_t point) {
    SG_ASSERT(point < p->n);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        size_t at = p->index[point * g->n + i];
        const double *series = sg_run_series(&g->outcomes[i].run, column);
        SG_ASSERT(at == NO_POINT || at < g->outcomes[i].run.n_points);
        if (series && at != NO_POINT && isfinite(series[at]))
            p->value[n++] = series[at];
    }
    return n;
}

/* Does a plot show the quartiles of this column over the seeds? */
static bool shows_quartiles(const struct sg_recipe *recipe, const char *column) {
    const struct sg_node *plots = recipe ? sg_node_get(&recipe->root, "plots") : NULL;
    char name[64];
    for (size_t i = 0; plots && i < plots->count; i++) {
        const struct sg_node *plot = &plots->child[i];
        const char *band = sg_node_string(plot, "band", "auto");
        if (strcmp(sg_node_string(plot, "kind", "curves"), "curves") == 0 &&
            strcmp(sg_snake(name, sizeof name, sg_node_string(plot, "y", "")), column) == 0 &&
            (strcmp(band, "quartiles") == 0 ||
             (strcmp(band, "auto") == 0 && strchr(sg_node_string(plot, "log", "none"), 'y'))))
            return true;
    }
    return false;
}

static cJSON *column_json(struct points *p, const struct group *g, const char *column) {
    static const char *const quartile[] = {"q1", "median", "q3"};
    cJSON *out = cJSON_CreateObject();
    for (size_t j = 0; j < p->n; j++) {
        size_t n = gather(p, g, column, j);
        p->mean[j] = sg_stats_mean(p->value, n);
        p->std[j] = sg_stats_stddev(p->value, n);
        p->count[j] = (double)n;
        for (size_t q = 0; q < 3; q++)
            p->quartile[q * p->n + j] = sg_stats_quantile(p->value, n, 0.25 * (double)(q + 1));
    }
    sg_json_set(out, "mean", sg_json_numbers(p->mean, p->n));
    sg_json_set(out, "std", sg_json_numbers(p->std, p->n));
    sg_json_set(out, "n", sg_json_numbers(p->count, p->n));
    for (size_t q = 0; g->n > 1 && q < 3 && shows_quartiles(g->recipe, column); q++)
        sg_json_set(out, quartile[q], sg_json_numbers(p->quartile + q * p->n, p->n));
    return out;
}

/* The position of each point, which is the same for all seeds. */
static cJSON *axis_json(struct points *p, const struct group *g, const char *column) {
    for (size_t j = 0; j < p->n; j++)
        p->mean[j] = gather(p, g, column, j) > 0 ? p->value[0] : NAN;
    return sg_json_numbers(p->mean, p->n);
}

static bool is_axis(const char *column) {
    return strcmp(column, "step") == 0 || strcmp(column, "epoch") == 0;
}

/* Has a sparse column a value at this point? Evaluations are rare and should be kept. */
static bool is_rare(const struct points *p, const struct group *g, const bool *sparse, size_t point) {
    for (size_t c = 0; c < g->first->n_series; c++)
        if (sparse[c] && gather(p, g, g->first->series[c].name, point) > 0)
            return true;
    return false;
}

/* [n_series] which columns have a value at half of the points or fewer? NULL = no memory. */
static bool *find_sparse(const struct points *p, const struct group *g) {
    bool *sparse = calloc(g->first->n_series + 1, sizeof *sparse);
    for (size_t c = 0; sparse && c < g->first->n_series; c++) {
        size_t known = 0;
        for (size_t j = 0; j < p->n; j++)
            known += gather(p, g, g->first->series[c].name, j) > 0;
        sparse[c] = known > 0 && 2 * known <= p->n;
    }
    return sparse;
}

/* Keeps at most `most` points (0 = all): every k-th rare point, every k'-th of the others, and the last. It takes the
 * least k that fits, and then the least k'. */
static bool points_thin(struct points *p, const struct group *g, size_t most) {
    if (most < 2 || p->n <= most || !g->first)
        return true;
    bool *sparse = find_sparse(p, g), *rare = malloc(p->n * sizeof *rare);
    size_t n[2] = {0}, stride[2], seen[2] = {0}, kept = 0;
    for (size_t j = 0; sparse && rare && j + 1 < p->n; j++)
        n[rare[j] = is_rare(p, g, sparse, j)]++;
    const size_t room = most - 1;
    stride[1] = n[1] ? (n[1] - 1) / room + 1 : 1;
    const size_t left = room - (n[1] + stride[1] - 1) / stride[1];
    stride[0] = left ? (n[0] ? (n[0] - 1) / left + 1 : 1) : SIZE_MAX;
    for (size_t j = 0; sparse && rare && j < p->n; j++) {
        const bool last = j + 1 == p->n, kind = !last && rare[j];
        if (last || (seen[kind]++ % stride[kind] == 0 && stride[kind] < SIZE_MAX)) {
            p->step[kept] = p->step[j];
            memmove(p->index + kept * g->n, p->index + j * g->n, g->n * sizeof *p->index);
            kept++;
        }
    }
    const bool fine = sparse && rare;
    SG_ASSERT(!fine || kept <= most);
    p->n = fine ? kept : p->n;
    free(sparse);
    free(rare);
    return fine;
}

static cJSON *series_json(const struct group *g, size_t most) {
    struct points p = {0};
    cJSON *out = NULL;
    if (points_merge(&p, g) && points_thin(&p, g, most)) {
        out = cJSON_CreateObject();
        sg_json_set(out, "step", sg_json_numbers(p.step, p.n));
        sg_json_set(out, "epoch", axis_json(&p, g, "epoch"));
        for (size_t c = 0; g->first && c < g->first->n_series; c++) {
            const char *column = g->first->series[c].name;
            if (!is_axis(column))
                sg_json_set(out, column, column_json(&p, g, column));
        }
    } else {
        sg_json_lost();
    }
    points_free(&p);
    return out;
}

/* ---- one number a seed ---- */

/* The number that a cell has of a list of the recipe; NaN = it has none under this name. An expression of the learning
 * rate is the run's gamma. */
static double swept_number(const struct sg_cell *cell, const struct sg_cell_outcome *outcome, const char *name) {
    for (size_t i = 0; i < cell->swept.count; i++) {
        const struct sg_node *value = &cell->swept.child[i];
        char key[64], why[SG_WHY_CHARS];
        if (strcmp(sg_snake(key, sizeof key, value->key), name) != 0)
            continue;
        if (value->kind == SG_NODE_STRING && strcmp(name, "learning_rate") == 0)
            return sg_grid_value(outcome, "gamma", NULL, why);
        return value->kind == SG_NODE_NUMBER ? value->number : NAN;
    }
    return NAN;
}

/* {"mean","std","n","values"} of what `at` makes of a metric at each seed. The value of a cell without one is null and
 * does not enter the mean. Unfinished cells have one only if no cell is finished. */
static cJSON *spread_json(const struct group *g, const char *metric, const struct sg_node *at) {
    char why[SG_WHY_CHARS];
    double *known = malloc(2 * g->n * sizeof *known), *all = known ? known + g->n : NULL;
    if (!known) {
        sg_json_lost();
        return NULL;
    }
    size_t n = 0, unfinished = 0;
    for (size_t i = 0; i < g->n; i++)
        unfinished += sg_grid_unfinished(&g->outcomes[i]);
    for (size_t i = 0; i < g->n; i++) {
        all[i] = swept_number(&g->cells[i], &g->outcomes[i], metric);
        if (isnan(all[i]))
            all[i] = (unfinished == g->n ? grid_value_so_far : sg_grid_value)(&g->outcomes[i], metric, at, why);
        if (isfinite(all[i]))
            known[n++] = all[i];
    }
    cJSON *out = cJSON_CreateObject();
    sg_json_set_number(out, "mean", sg_stats_mean(known, n));
    sg_json_set_number(out, "std", sg_stats_stddev(known, n));
    sg_json_set_number(out, "n", (double)n);
    sg_json_set(out, "values", sg_json_numbers(all, g->n));
    free(known);
    return out;
}

static cJSON *final_json(const struct group *g) {
    cJSON *out = cJSON_CreateObject();
    for (size_t c = 0; g->first && c < g->first->n_series; c++)
        sg_json_set(out, g->first->series[c].name, spread_json(g, g->first->series[c].name, NULL));
    return out;
}

/* ---- entries ---- */

static cJSON *cell_json(const struct sg_cell *cell, const struct sg_cell_outcome *o) {
    const char *status = sg_grid_status(o), *message = strcmp(status, "ok") == 0 ? NULL : o->message;
    cJSON *out = cJSON_CreateObject();
    sg_json_set_u64(out, "seed", cell->seed);
    sg_json_set_string(out, "status", status);
    sg_json_set_string(out, "message", message ? message : sg_json_string(o->run.end, "message", NULL));
    sg_json_set_string(out, "file", o->path);
    sg_json_set_number(out, "elapsed_s", sg_json_number(o->run.run, "elapsed_s", NAN));
    const struct grid_reach reach = grid_reach(cell, o);
    sg_json_set_number(out, "steps", o->run.header ? reach.step : NAN);
    sg_json_set_number(out, "planned_steps", reach.steps);
    sg_json_set_number(out, "epochs", o->run.header ? reach.epoch : NAN);
    sg_json_set_number(out, "planned_epochs", reach.epochs);
    sg_json_set(out, "devices", sg_grid_devices(&o->run));
    sg_json_set_bool(out, "reused", o->state == SG_CELL_REUSED);
    const cJSON *warnings = sg_json_get(o->run.end, "warnings");
    if (warnings)
        sg_json_set(out, "warnings", cJSON_Duplicate(warnings, true));
    return out;
}

/* The compressor's own parameters. */
static cJSON *parameters_json(const struct sg_node *method) {
    cJSON *out = cJSON_CreateObject();
    for (size_t i = 0; method && i < method->count; i++) {
        const struct sg_node *p = &method->child[i];
        bool plain = p->kind == SG_NODE_NUMBER || p->kind == SG_NODE_STRING || p->kind == SG_NODE_BOOL;
        char key[64];
        sg_snake(key, sizeof key, p->key);
        if (plain && strcmp(key, "compressor") != 0)
            sg_json_set(out, key, sg_node_json(p));
    }
    return out;
}

static cJSON *group_json(const struct group *g, const struct grid_traffic *traffic, size_t most) {
    const struct sg_node *method = g->cells[0].method;
    cJSON *out = cJSON_CreateObject(), *seeds = cJSON_CreateArray(), *cells = cJSON_CreateArray();
    const cJSON *constants = g->first ? sg_json_get(g->first->header, "constants") : NULL;
    for (size_t i = 0; i < g->n; i++) {
        char seed[24];
        snprintf(seed, sizeof seed, "%" PRIu64, g->cells[i].seed);
        sg_json_push_string(seeds, seed);
        sg_json_push(cells, cell_json(&g->cells[i], &g->outcomes[i]));
    }
    sg_json_set_string(out, "label", g->cells[0].label);
    sg_json_set_string(out, "method", g->cells[0].name);
    sg_json_set_string(out, "compressor", sg_node_string(method, "compressor", NULL));
    sg_json_set_bool(out, "baseline", g->cells[0].baseline);
    sg_json_set(out, "parameters", parameters_json(method));
    if (g->cells[0].swept.count > 0)
        sg_json_set(out, "swept", sg_node_json(&g->cells[0].swept));
    sg_json_set(out, "constants", constants ? cJSON_Duplicate(constants, true) : NULL);
    sg_json_set_number(out, "times_less", grid_times_less(traffic, g->cells, g->outcomes, g->n));
    sg_json_set(out, "seeds", seeds);
    sg_json_set(out, "cells", cells);
    sg_json_set(out, "series", series_json(g, most));
    sg_json_set(out, "final", final_json(g));
    return out;
}

cJSON *sg_grid_results(const struct sg_recipe *recipe, const struct sg_cell *cells,
                       const struct sg_cell_outcome *outcomes, size_t count, size_t most) {
    cJSON *out = cJSON_CreateArray();
    const struct grid_traffic traffic = grid_traffic(cells, outcomes, count);
    for (size_t i = 0; i < count;) {
        struct group g = group_at(cells + i, outcomes + i, count - i);
        g.recipe = recipe;
        sg_json_push(out, group_json(&g, &traffic, most));
        i += g.n;
    }
    return out;
}

/* ---- plots ---- */

static void set_name(cJSON *out, const struct sg_node *plot, const char *key) {
    char name[64];
    const char *text = sg_node_string(plot, key, NULL);
    sg_json_set_string(out, key, text ? sg_snake(name, sizeof name, text) : NULL);
}

static void set_node(cJSON *out, const struct sg_node *plot, const char *key, const char *name) {
    const struct sg_node *node = sg_node_get(plot, name);
    sg_json_set(out, key, node && node->kind != SG_NODE_NULL ? sg_node_json(node) : NULL);
}

/* One point a label, for plots of kinds "points" and "ranking". */
static cJSON *plot_points(const struct sg_node *plot, const struct sg_cell *cells,
                          const struct sg_cell_outcome *outcomes, size_t count) {
    if (strcmp(sg_node_string(plot, "kind", "curves"), "curves") == 0)
        return NULL;
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < count;) {
        struct group g = group_at(cells + i, outcomes + i, count - i);
        cJSON *point = cJSON_CreateObject();
        sg_json_set_string(point, "label", cells[i].label);
        sg_json_set(point, "x", spread_json(&g, sg_node_string(plot, "x", ""), sg_node_get(plot, "x-at")));
        sg_json_set(point, "y", spread_json(&g, sg_node_string(plot, "y", ""), sg_node_get(plot, "y-at")));
        sg_json_push(out, point);
        i += g.n;
    }
    return out;
}

cJSON *sg_grid_plots(const struct sg_recipe *recipe, const struct sg_cell *cells,
                     const struct sg_cell_outcome *outcomes, size_t count) {
    const struct sg_node *plots = sg_node_get(&recipe->root, "plots");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; plots && i < plots->count; i++) {
        const struct sg_node *plot = &plots->child[i];
        cJSON *p = cJSON_CreateObject();
        set_name(p, plot, "x");
        set_name(p, plot, "y");
        sg_json_set_string(p, "log", sg_node_string(plot, "log", "none"));
        sg_json_set_string(p, "title", sg_node_string(plot, "title", NULL));
        sg_json_set_string(p, "kind", sg_node_string(plot, "kind", "curves"));
        sg_json_set_string(p, "band", sg_node_string(plot, "band", "auto"));
        sg_json_set_number(p, "smooth", sg_node_number(plot, "smooth", 1));
        set_node(p, plot, "x_range", "x-range");
        set_node(p, plot, "y_range", "y-range");
        set_node(p, plot, "methods", "methods");
        set_node(p, plot, "x_at", "x-at");
        set_node(p, plot, "y_at", "y-at");
        sg_json_set(p, "points", plot_points(plot, cells, outcomes, count));
        sg_json_push(out, p);
    }
    return out;
}
