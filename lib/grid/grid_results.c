/* grid_results.c: the cells of a grid as a frame, and the results and plots of its document. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

/* Adds the label of cell i, whose group has not been seen, with its seeds and their studies. */
static void add_label(struct grid_frame *g, size_t i) {
    static const struct sg_run none = {0};
    const struct sg_cell *first = &g->cells[i];
    struct sg_frame_label label = {.label = first->group,
                                   .method = first->name,
                                   .compressor = sg_node_string(first->method, "compressor", NULL),
                                   .baseline = first->baseline,
                                   .seed = &g->seed[g->n_seeds],
                                   .lists = &first->swept};
    for (; i < g->count; i++) {
        bool known = strcmp(g->cells[i].group, label.label) != 0;
        for (size_t s = g->n_seeds - label.n_seeds; s < g->n_seeds; s++)
            known = known || g->cells[g->study[s].cell].study == g->cells[i].study;
        if (known)
            continue;
        const struct grid_study study = grid_study_of(g, label.label, g->cells[i].study);
        const struct sg_cell_outcome *run = &g->outcomes[study.cell];
        const char *status = sg_grid_status(run);
        if (!study.whole && sg_run_status_is_finished(status))
            status = "not_run"; /* of a trial that is not the result */
        g->seed[g->n_seeds] =
            (struct sg_frame_seed){status, study.whole ? &run->run : &none, &g->cells[study.cell].drawn};
        g->study[g->n_seeds++] = study;
        label.n_seeds++;
    }
    g->frame->label[g->frame->n_labels++] = label;
}

struct grid_frame grid_frame(struct sg_document *document, const struct sg_recipe *recipe, const struct sg_cell *cells,
                             const struct sg_cell_outcome *outcomes, size_t count) {
    struct sg_arena *memory = &document->memory;
    struct grid_frame g = {.recipe = recipe,
                           .cells = cells,
                           .outcomes = outcomes,
                           .count = count,
                           .seed = sg_arena_get(memory, count * sizeof *g.seed),
                           .study = sg_arena_get(memory, count * sizeof *g.study),
                           .frame = &document->results,
                           .memory = memory};
    g.frame->label = sg_arena_get(memory, count * sizeof *g.frame->label);
    for (size_t i = 0; i < count; i++)
        if (!sg_frame_label(g.frame, cells[i].group))
            add_label(&g, i);
    return g;
}

const struct grid_study *grid_study(const struct grid_frame *g, const struct sg_frame_label *label, size_t i) {
    return &g->study[(size_t)(label->seed - g->seed) + i];
}

const char *grid_seed_text(struct sg_arena *memory, uint64_t seed) {
    return sg_arena_take_text(memory, sg_format("%" PRIu64, seed));
}

/* ---- results ---- */

/* True if a plot shows the quartiles of this column over the seeds. */
static bool shows_quartiles(const void *recipe, const char *column) {
    const struct sg_node *plots = sg_node_get(&((const struct sg_recipe *)recipe)->root, "plots");
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

/* won: the trial is the best of its study. */
static struct sg_document_cell cell_of(const struct grid_frame *g, size_t i, bool won) {
    const struct sg_cell *cell = &g->cells[i];
    const struct sg_cell_outcome *o = &g->outcomes[i];
    const char *status = sg_grid_status(o), *message = strcmp(status, "ok") == 0 ? NULL : o->message;
    const struct grid_reach reach = grid_reach(cell, o);
    const bool trial = cell->trial > 0, read = o->run.header;
    return (struct sg_document_cell){.seed = grid_seed_text(g->memory, cell->seed),
                                     .status = status,
                                     .message = message ? message : sg_json_string(o->run.end, "message", NULL),
                                     .file = o->path,
                                     .elapsed_s = sg_json_number(o->run.run, "elapsed_s", NAN),
                                     .steps = read ? reach.step : NAN,
                                     .planned_steps = reach.steps,
                                     .epochs = read ? reach.epoch : NAN,
                                     .planned_epochs = reach.epochs,
                                     .devices = sg_grid_devices(&o->run, g->memory),
                                     .reused = o->state == SG_CELL_REUSED ? SG_FLAG_YES : SG_FLAG_NO,
                                     .trial = trial ? (double)cell->trial : NAN,
                                     .drawn = trial ? sg_arena_take(g->memory, sg_node_json(&cell->drawn)) : NULL,
                                     .value = trial ? grid_trial_value(g, i) : NAN,
                                     .won = !trial || cell->winner ? SG_FLAG_UNKNOWN
                                            : won                  ? SG_FLAG_YES
                                                                   : SG_FLAG_NO,
                                     .fresh = trial && cell->winner ? SG_FLAG_YES : SG_FLAG_UNKNOWN};
}

/* True if the cell is the best trial of one of the label's studies. */
static bool is_best(const struct grid_frame *g, const struct sg_frame_label *label, size_t cell) {
    bool best = false;
    for (size_t i = 0; i < label->n_seeds; i++)
        best = best || grid_study(g, label, i)->best == cell;
    return best;
}

/* The parameters of the compressor. */
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

static void fill_label(const struct grid_frame *g, struct sg_frame_label *label) {
    const size_t first = grid_study(g, label, 0)->cell;
    const cJSON *constants = NULL;
    label->seeds.item = sg_arena_get(g->memory, label->n_seeds * sizeof *label->seeds.item);
    for (size_t i = 0; i < label->n_seeds; i++) {
        const size_t cell = grid_study(g, label, i)->cell;
        label->seeds.item[label->seeds.n++] = grid_seed_text(g->memory, g->cells[cell].study);
        if (!constants)
            constants = sg_json_get(g->outcomes[cell].run.header, "constants");
    }
    label->cells = sg_arena_get(g->memory, g->count * sizeof *label->cells);
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->cells[i].group, label->label) == 0)
            label->cells[label->n_cells++] = cell_of(g, i, is_best(g, label, i));
    label->parameters = sg_arena_take(g->memory, parameters_json(g->cells[first].method));
    label->swept = label->lists->count > 0 ? sg_arena_take(g->memory, sg_node_json(label->lists)) : NULL;
    label->tuned = g->cells[first].trial > 0 ? grid_tuned(g, label) : NULL;
    label->constants = sg_arena_take(g->memory, sg_json_copy(constants));
    label->times_less = NAN;
}

void grid_fill_results(struct grid_frame *g, size_t most) {
    for (size_t l = 0; l < g->frame->n_labels; l++) {
        fill_label(g, &g->frame->label[l]);
        sg_frame_fill(&g->frame->label[l], most, shows_quartiles, g->recipe);
    }
}

/* ---- plots ---- */

static struct sg_document_spread *spread_of(const struct grid_frame *g, const struct sg_frame_label *label,
                                            const char *metric, const struct sg_node *at) {
    double statistic[SG_STATISTICS], *value = sg_arena_get(g->memory, label->n_seeds * sizeof *value);
    struct sg_document_spread *out = sg_arena_get(g->memory, sizeof *out);
    sg_frame_spread(statistic, value, label, metric, at);
    *out = (struct sg_document_spread){.mean = statistic[SG_MEAN],
                                       .std = statistic[SG_STD],
                                       .n = statistic[SG_COUNT],
                                       .values = {label->n_seeds, value}};
    return out;
}

/* One point a label, for plots of kinds "points" and "ranking". */
static void fill_points(struct sg_document_plot *out, const struct grid_frame *g, const struct sg_node *plot) {
    if (strcmp(out->kind, "curves") == 0)
        return;
    const char *x = sg_node_string(plot, "x", ""), *y = sg_node_string(plot, "y", "");
    out->n_points = g->frame->n_labels;
    out->points = sg_arena_get(g->memory, out->n_points * sizeof *out->points);
    for (size_t l = 0; l < out->n_points; l++) {
        const struct sg_frame_label *label = &g->frame->label[l];
        out->points[l] = (struct sg_document_point){.label = label->label,
                                                    .x = spread_of(g, label, x, sg_node_get(plot, "x-at")),
                                                    .y = spread_of(g, label, y, sg_node_get(plot, "y-at"))};
    }
}

/* What a plot has under a key; NULL = null. */
static const cJSON *tree_of(const struct grid_frame *g, const struct sg_node *plot, const char *key) {
    const struct sg_node *node = sg_node_get(plot, key);
    return node && node->kind != SG_NODE_NULL ? sg_arena_take(g->memory, sg_node_json(node)) : NULL;
}

/* A column's name as results spell it; NULL = there is none. */
static const char *column_name(const struct grid_frame *g, const struct sg_node *plot, const char *key) {
    const char *text = sg_node_string(plot, key, NULL);
    char name[64];
    return text ? sg_arena_text(g->memory, sg_snake(name, sizeof name, text)) : NULL;
}

/* A range, [from, to]. */
static struct sg_number_list range_of(const struct grid_frame *g, const struct sg_node *plot, const char *key) {
    const struct sg_node *list = sg_node_get(plot, key);
    struct sg_number_list out = {0};
    if (!list || list->kind == SG_NODE_NULL)
        return out;
    out.x = sg_arena_get(g->memory, list->count * sizeof *out.x);
    for (; out.n < list->count; out.n++)
        out.x[out.n] = list->child[out.n].kind == SG_NODE_NUMBER ? list->child[out.n].number : NAN;
    return out;
}

static struct sg_text_list methods_of(const struct grid_frame *g, const struct sg_node *plot) {
    const struct sg_node *list = sg_node_get(plot, "methods");
    struct sg_text_list out = {0};
    if (!list || list->kind == SG_NODE_NULL)
        return out;
    out.item = sg_arena_get(g->memory, list->count * sizeof *out.item);
    for (; out.n < list->count; out.n++)
        out.item[out.n] = list->child[out.n].string;
    return out;
}

void grid_fill_plots(struct sg_document *out, const struct grid_frame *g) {
    const struct sg_node *plots = sg_node_get(&g->recipe->root, "plots");
    out->n_plots = plots ? plots->count : 0;
    out->plots = sg_arena_get(g->memory, out->n_plots * sizeof *out->plots);
    for (size_t i = 0; i < out->n_plots; i++) {
        const struct sg_node *plot = &plots->child[i];
        out->plots[i] = (struct sg_document_plot){.x = column_name(g, plot, "x"),
                                                  .y = column_name(g, plot, "y"),
                                                  .log = sg_node_string(plot, "log", "none"),
                                                  .title = sg_node_string(plot, "title", NULL),
                                                  .kind = sg_node_string(plot, "kind", "curves"),
                                                  .band = sg_node_string(plot, "band", "auto"),
                                                  .smooth = sg_node_number(plot, "smooth", 1),
                                                  .x_range = range_of(g, plot, "x-range"),
                                                  .y_range = range_of(g, plot, "y-range"),
                                                  .methods = methods_of(g, plot),
                                                  .x_at = tree_of(g, plot, "x-at"),
                                                  .y_at = tree_of(g, plot, "y-at")};
        fill_points(&out->plots[i], g, plot);
    }
}
