/* grid_results.c: the cells of a grid as a frame, and the results and plots of its document. */
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
                                   .swept = &first->swept};
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
    g->frame.label[g->frame.n_labels++] = label;
}

bool grid_frame_open(struct grid_frame *g, const struct sg_recipe *recipe, const struct sg_cell *cells,
                     const struct sg_cell_outcome *outcomes, size_t count) {
    *g = (struct grid_frame){.recipe = recipe, .cells = cells, .outcomes = outcomes, .count = count};
    g->seed = calloc(count + 1, sizeof *g->seed);
    g->study = calloc(count + 1, sizeof *g->study);
    g->frame.label = calloc(count + 1, sizeof *g->frame.label);
    if (!g->seed || !g->study || !g->frame.label) {
        grid_frame_close(g);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (sg_frame_label(&g->frame, cells[i].group) == NULL)
            add_label(g, i);
    return true;
}

void grid_frame_close(struct grid_frame *g) {
    sg_frame_free(&g->frame);
    free(g->seed);
    free(g->study);
    g->seed = NULL;
    g->study = NULL;
}

const struct grid_study *grid_study(const struct grid_frame *g, const struct sg_frame_label *label, size_t i) {
    return &g->study[(size_t)(label->seed - g->seed) + i];
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
static cJSON *cell_json(const struct grid_frame *g, size_t i, bool won) {
    const struct sg_cell *cell = &g->cells[i];
    const struct sg_cell_outcome *o = &g->outcomes[i];
    const char *status = sg_grid_status(o), *message = strcmp(status, "ok") == 0 ? NULL : o->message;
    const struct grid_reach reach = grid_reach(cell, o);
    cJSON *out =
        SG_OBJECT(SG_U64("seed", cell->seed), SG_TEXT("status", status),
                  SG_TEXT("message", message ? message : sg_json_string(o->run.end, "message", NULL)),
                  SG_TEXT("file", o->path), SG_NUMBER("elapsed_s", sg_json_number(o->run.run, "elapsed_s", NAN)),
                  SG_NUMBER("steps", o->run.header ? reach.step : NAN), SG_NUMBER("planned_steps", reach.steps),
                  SG_NUMBER("epochs", o->run.header ? reach.epoch : NAN), SG_NUMBER("planned_epochs", reach.epochs),
                  SG_VALUE("devices", sg_grid_devices(&o->run)), SG_BOOL("reused", o->state == SG_CELL_REUSED));
    if (cell->trial > 0)
        SG_SET(out, SG_NUMBER("trial", (double)cell->trial), SG_VALUE("drawn", sg_node_json(&cell->drawn)),
               SG_NUMBER("value", grid_trial_value(g, i)),
               SG_BOOL(cell->winner ? "fresh" : "won", cell->winner || won));
    return out;
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

static cJSON *label_json(const struct grid_frame *g, const struct sg_frame_label *label) {
    const size_t first = grid_study(g, label, 0)->cell;
    cJSON *out = cJSON_CreateObject(), *seeds = cJSON_CreateArray(), *cells = cJSON_CreateArray();
    const cJSON *constants = NULL;
    for (size_t i = 0; i < label->n_seeds; i++) {
        const size_t cell = grid_study(g, label, i)->cell;
        char seed[24];
        snprintf(seed, sizeof seed, "%" PRIu64, g->cells[cell].study);
        sg_json_push_string(seeds, seed);
        if (!constants)
            constants = sg_json_get(g->outcomes[cell].run.header, "constants");
    }
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->cells[i].group, label->label) == 0)
            sg_json_push(cells, cell_json(g, i, is_best(g, label, i)));
    SG_SET(out, SG_TEXT("label", label->label), SG_TEXT("method", label->method),
           SG_TEXT("compressor", label->compressor), SG_BOOL("baseline", label->baseline),
           SG_VALUE("parameters", parameters_json(g->cells[first].method)));
    if (label->swept->count > 0)
        sg_json_set(out, "swept", sg_node_json(label->swept));
    if (g->cells[first].trial > 0)
        sg_json_set(out, "tuned", grid_tuned_json(g, label));
    SG_SET(out, SG_VALUE("constants", sg_json_copy(constants)), SG_NUMBER("times_less", NAN), SG_VALUE("seeds", seeds),
           SG_VALUE("cells", cells));
    sg_frame_put(out, label);
    return out;
}

cJSON *grid_results_json(struct grid_frame *g, size_t most) {
    cJSON *out = cJSON_CreateArray();
    for (size_t l = 0; l < g->frame.n_labels; l++) {
        if (!sg_frame_fill(&g->frame.label[l], most, shows_quartiles, g->recipe))
            sg_json_lost();
        sg_json_push(out, label_json(g, &g->frame.label[l]));
    }
    return out;
}

/* ---- plots ---- */

static cJSON *spread_json(const struct sg_frame_label *label, const char *metric, const struct sg_node *at) {
    double statistic[SG_STATISTICS], *value = malloc((label->n_seeds + 1) * sizeof *value);
    cJSON *out = NULL;
    if (value && sg_frame_spread(statistic, value, label, metric, at))
        out = sg_frame_spread_json(statistic, value, label->n_seeds);
    else
        sg_json_lost();
    free(value);
    return out;
}

/* One point a label, for plots of kinds "points" and "ranking". */
static cJSON *points_json(const struct grid_frame *g, const struct sg_node *plot) {
    if (strcmp(sg_node_string(plot, "kind", "curves"), "curves") == 0)
        return NULL;
    const char *x = sg_node_string(plot, "x", ""), *y = sg_node_string(plot, "y", "");
    cJSON *out = cJSON_CreateArray();
    for (size_t l = 0; l < g->frame.n_labels; l++) {
        const struct sg_frame_label *label = &g->frame.label[l];
        sg_json_push(out, SG_OBJECT(SG_TEXT("label", label->label),
                                    SG_VALUE("x", spread_json(label, x, sg_node_get(plot, "x-at"))),
                                    SG_VALUE("y", spread_json(label, y, sg_node_get(plot, "y-at")))));
    }
    return out;
}

static cJSON *node_json(const struct sg_node *plot, const char *name) {
    const struct sg_node *node = sg_node_get(plot, name);
    return node && node->kind != SG_NODE_NULL ? sg_node_json(node) : NULL;
}

/* A column's name as results spell it, into out; NULL = there is none. */
static const char *column_name(char out[64], const struct sg_node *plot, const char *key) {
    const char *text = sg_node_string(plot, key, NULL);
    return text ? sg_snake(out, 64, text) : NULL;
}

cJSON *grid_plots_json(const struct grid_frame *g) {
    const struct sg_node *plots = sg_node_get(&g->recipe->root, "plots");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; plots && i < plots->count; i++) {
        const struct sg_node *plot = &plots->child[i];
        char x[64], y[64];
        sg_json_push(
            out,
            SG_OBJECT(SG_TEXT("x", column_name(x, plot, "x")), SG_TEXT("y", column_name(y, plot, "y")),
                      SG_TEXT("log", sg_node_string(plot, "log", "none")),
                      SG_TEXT("title", sg_node_string(plot, "title", NULL)),
                      SG_TEXT("kind", sg_node_string(plot, "kind", "curves")),
                      SG_TEXT("band", sg_node_string(plot, "band", "auto")),
                      SG_NUMBER("smooth", sg_node_number(plot, "smooth", 1)),
                      SG_VALUE("x_range", node_json(plot, "x-range")), SG_VALUE("y_range", node_json(plot, "y-range")),
                      SG_VALUE("methods", node_json(plot, "methods")), SG_VALUE("x_at", node_json(plot, "x-at")),
                      SG_VALUE("y_at", node_json(plot, "y-at")), SG_VALUE("points", points_json(g, plot))));
    }
    return out;
}
