/* grid_studies.c: which trial wins a study, whose run at a fresh seed is the result, and which study's result is the
 * median of a label. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_debug.h"
#include "sg_task.h"
#include "sg_text.h"

double grid_trial_value(const struct grid_frame *g, size_t cell) {
    const struct sg_node *tune = sg_node_get(&g->recipe->root, "tune");
    char why[SG_WHY_CHARS];
    return sg_grid_value(&g->outcomes[cell], sg_node_string(tune, "by", ""), sg_node_get(tune, "at"), why);
}

/* True if a trial of value x beats one of value y. No value, and one that was never reached, are worst. */
static bool beats(const struct grid_frame *g, double x, double y) {
    char by[64];
    const struct sg_metric *metric =
        sg_task_metric(sg_task_kind_find(sg_node_string(&g->recipe->root, "task.kind", "")),
                       sg_snake(by, sizeof by, sg_node_string(&g->recipe->root, "tune.by", "")));
    return isfinite(x) && (!isfinite(y) || (metric && metric->higher ? x > y : x < y));
}

/* True if trial i takes the place of the best so far. One that did not end by itself comes before all, so that the
 * study is not judged without it. */
static bool is_better(const struct grid_frame *g, size_t i, size_t best) {
    const bool ended[] = {sg_run_status_is_finished(sg_grid_status(&g->outcomes[best])),
                          sg_run_status_is_finished(sg_grid_status(&g->outcomes[i]))};
    return ended[0] && (!ended[1] || beats(g, grid_trial_value(g, i), grid_trial_value(g, best)));
}

static bool is_in(const struct grid_frame *g, size_t i, const char *group, uint64_t seed) {
    return g->cells[i].study == seed && strcmp(g->cells[i].group, group) == 0;
}

struct grid_study grid_study_of(const struct grid_frame *g, const char *group, uint64_t seed) {
    struct grid_study study = {.best = SIZE_MAX};
    for (size_t i = 0; i < g->count; i++)
        if (!g->cells[i].winner && is_in(g, i, group, seed)) {
            study.trials++;
            if (study.best == SIZE_MAX || is_better(g, i, study.best))
                study.best = i;
        }
    for (size_t i = 0; study.best == SIZE_MAX; i++) /* the run of a winner whose trials are not among the cells */
        study.best = is_in(g, i, group, seed) ? i : SIZE_MAX;
    const struct sg_cell *best = &g->cells[study.best];
    study.cell = study.best;
    study.whole = best->trial == 0;
    const bool all = (double)study.trials == sg_node_number(&g->recipe->root, "tune.trials", 1) &&
                     sg_run_status_is_finished(sg_grid_status(&g->outcomes[study.best]));
    for (size_t i = 0; all && best->trial > 0 && i < g->count; i++)
        if (g->cells[i].winner && g->cells[i].trial == best->trial && is_in(g, i, group, seed)) {
            study.cell = i;
            study.whole = true;
        }
    return study;
}

size_t sg_grid_put_winners_last(struct sg_cell *cells, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!cells[i].winner)
            grid_keep(cells, &n, i);
    return n;
}

size_t sg_grid_choose_winners(struct sg_cell *cells, size_t ran, size_t count, const struct sg_cell_outcome *outcomes,
                              const struct sg_recipe *recipe) {
    const struct grid_frame g = {.recipe = recipe, .cells = cells, .outcomes = outcomes, .count = count};
    size_t n = ran;
    for (size_t i = ran; i < count; i++)
        if (grid_study_of(&g, cells[i].group, cells[i].study).cell == i)
            grid_keep(cells, &n, i);
    return n;
}

/* The value of a study's run; NaN = it has none. */
static double value_of(const struct grid_frame *g, const struct grid_study *study) {
    return study->whole ? grid_trial_value(g, study->cell) : NAN;
}

/* The place of the seed whose value has as many before it in the order of quality as the median; of equal values the
 * earlier seed comes first. */
static const struct grid_study *median_of(const struct grid_frame *g, const struct sg_frame_label *label) {
    for (size_t i = 0; i < label->n_seeds; i++) {
        const struct grid_study *study = grid_study(g, label, i);
        const double x = value_of(g, study);
        size_t before = 0;
        for (size_t j = 0; j < label->n_seeds; j++) {
            const double y = value_of(g, grid_study(g, label, j));
            before += beats(g, y, x) || (j < i && !beats(g, x, y));
        }
        if (before == (label->n_seeds - 1) / 2)
            return isfinite(x) ? study : NULL;
    }
    return NULL;
}

/* In how many studies of a label the trial won that drew the least value of the k-th key, or the greatest. */
struct edges {
    size_t studies, least, greatest;
};

static struct edges edges_of(const struct grid_frame *g, const struct sg_frame_label *label, size_t k) {
    struct edges e = {.studies = label->n_seeds};
    for (size_t s = 0; s < label->n_seeds; s++) {
        const struct sg_cell *best = &g->cells[grid_study(g, label, s)->best];
        bool least = true, greatest = true;
        for (size_t i = 0; i < g->count; i++) {
            if (g->cells[i].winner || !is_in(g, i, best->group, best->study))
                continue;
            least = least && g->cells[i].drawn.child[k].number >= best->drawn.child[k].number;
            greatest = greatest && g->cells[i].drawn.child[k].number <= best->drawn.child[k].number;
        }
        e.least += least;
        e.greatest += greatest;
    }
    return e;
}

/* What the trials of a label drew: a map whose members are the keys; without any if the label is not tuned. */
static const struct sg_node *keys_of(const struct grid_frame *g, const struct sg_frame_label *label) {
    return &g->cells[grid_study(g, label, 0)->best].drawn;
}

struct sg_document_tuned *grid_tuned(const struct grid_frame *g, const struct sg_frame_label *label) {
    const struct sg_node *tune = sg_node_get(&g->recipe->root, "tune"), *keys = keys_of(g, label);
    const struct grid_study *median = median_of(g, label);
    struct sg_document_tuned *out = sg_arena_get(g->memory, sizeof *out);
    char by[64];
    *out = (struct sg_document_tuned){
        .by = sg_arena_text(g->memory, sg_snake(by, sizeof by, sg_node_string(tune, "by", ""))),
        .at = sg_arena_take(g->memory, sg_node_json(sg_node_get(tune, "at"))),
        .trials = sg_node_number(tune, "trials", NAN),
        .winner = median ? sg_arena_get(g->memory, sizeof *out->winner) : NULL,
        .n_edges = keys->count,
        .edges = sg_arena_get(g->memory, keys->count * sizeof *out->edges)};
    if (median) {
        const struct sg_cell *cell = &g->cells[median->cell];
        *out->winner = (struct sg_document_winner){.seed = grid_seed_text(g->memory, cell->seed),
                                                   .trial = (double)cell->trial,
                                                   .drawn = sg_arena_take(g->memory, sg_node_json(&cell->drawn)),
                                                   .value = value_of(g, median)};
    }
    for (size_t k = 0; k < keys->count; k++) {
        const struct edges e = edges_of(g, label, k);
        out->edges[k] = (struct sg_document_edge){
            .name = keys->child[k].key, .least = (double)e.least, .greatest = (double)e.greatest};
    }
    return out;
}

/* The edges of a key over all labels. */
static struct edges edges_of_key(const struct grid_frame *g, const char *key) {
    struct edges sum = {0};
    for (size_t l = 0; l < g->frame->n_labels; l++) {
        const struct sg_node *keys = keys_of(g, &g->frame->label[l]);
        for (size_t k = 0; k < keys->count; k++)
            if (strcmp(keys->child[k].key, key) == 0) {
                const struct edges e = edges_of(g, &g->frame->label[l], k);
                sum = (struct edges){sum.studies + e.studies, sum.least + e.least, sum.greatest + e.greatest};
            }
    }
    return sum;
}

static bool has_key(const struct sg_document_tuning *tuning, const char *key) {
    for (size_t i = 0; i < tuning->n_keys; i++)
        if (strcmp(tuning->keys[i].name, key) == 0)
            return true;
    return false;
}

struct sg_document_tuning *grid_tuning(const struct grid_frame *g) {
    struct sg_document_tuning *out = sg_arena_get(g->memory, sizeof *out);
    char text[400] = "";
    size_t length = 0, most = 0;
    for (size_t l = 0; l < g->frame->n_labels; l++)
        most += keys_of(g, &g->frame->label[l])->count;
    out->keys = sg_arena_get(g->memory, most * sizeof *out->keys);
    for (size_t l = 0; l < g->frame->n_labels; l++) {
        const struct sg_node *keys = keys_of(g, &g->frame->label[l]);
        for (size_t k = 0; k < keys->count; k++) {
            const char *key = keys->child[k].key;
            const struct edges e = edges_of_key(g, key);
            const bool at_edge = 2 * (e.least + e.greatest) > e.studies;
            if (has_key(out, key))
                continue;
            out->keys[out->n_keys++] = (struct sg_document_key){.name = key,
                                                                .studies = (double)e.studies,
                                                                .least = (double)e.least,
                                                                .greatest = (double)e.greatest,
                                                                .at_edge = at_edge};
            if (at_edge && length < sizeof text)
                length += (size_t)snprintf(text + length, sizeof text - length,
                                           "%s%s is at the edge of its range: the least draw won in %zu of %zu studies "
                                           "and the greatest in %zu (widen the range)",
                                           length > 0 ? "; " : "", key, e.least, e.studies, e.greatest);
        }
    }
    out->text = *text ? sg_arena_text(g->memory, text) : NULL;
    return out->n_keys > 0 ? out : NULL;
}
