/* grid_results.c: the cells of a grid as a frame, and the results and plots of its document. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

bool grid_frame_open(struct grid_frame *g, const struct sg_recipe *recipe, const struct sg_cell *cells,
                     const struct sg_cell_outcome *outcomes, size_t count) {
    *g = (struct grid_frame){.recipe = recipe, .cells = cells, .outcomes = outcomes, .count = count};
    g->seed = calloc(count + 1, sizeof *g->seed);
    g->frame.label = calloc(count + 1, sizeof *g->frame.label);
    if (!g->seed || !g->frame.label) {
        grid_frame_close(g);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sg_cell *cell = &cells[i];
        g->seed[i] = (struct sg_frame_seed){sg_grid_status(&outcomes[i]), &outcomes[i].run};
        if (i == 0 || strcmp(cell->label, cells[i - 1].label) != 0)
            g->frame.label[g->frame.n_labels++] =
                (struct sg_frame_label){.label = cell->label,
                                        .method = cell->name,
                                        .compressor = sg_node_string(cell->method, "compressor", NULL),
                                        .baseline = cell->baseline,
                                        .seed = &g->seed[i],
                                        .swept = &cell->swept};
        g->frame.label[g->frame.n_labels - 1].n_seeds++;
    }
    return true;
}

void grid_frame_close(struct grid_frame *g) {
    sg_frame_free(&g->frame);
    free(g->seed);
    g->seed = NULL;
}

size_t grid_first_cell(const struct grid_frame *g, const struct sg_frame_label *label) {
    return (size_t)(label->seed - g->seed);
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

static cJSON *cell_json(const struct sg_cell *cell, const struct sg_cell_outcome *o) {
    const char *status = sg_grid_status(o), *message = strcmp(status, "ok") == 0 ? NULL : o->message;
    const struct grid_reach reach = grid_reach(cell, o);
    const cJSON *warnings = sg_json_get(o->run.end, "warnings");
    cJSON *out =
        SG_OBJECT(SG_U64("seed", cell->seed), SG_TEXT("status", status),
                  SG_TEXT("message", message ? message : sg_json_string(o->run.end, "message", NULL)),
                  SG_TEXT("file", o->path), SG_NUMBER("elapsed_s", sg_json_number(o->run.run, "elapsed_s", NAN)),
                  SG_NUMBER("steps", o->run.header ? reach.step : NAN), SG_NUMBER("planned_steps", reach.steps),
                  SG_NUMBER("epochs", o->run.header ? reach.epoch : NAN), SG_NUMBER("planned_epochs", reach.epochs),
                  SG_VALUE("devices", sg_grid_devices(&o->run)), SG_BOOL("reused", o->state == SG_CELL_REUSED));
    if (warnings)
        sg_json_set(out, "warnings", cJSON_Duplicate(warnings, true));
    return out;
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

static cJSON *label_json(const struct grid_frame *g, const struct sg_frame_label *label,
                         const struct grid_traffic *traffic) {
    const size_t first = grid_first_cell(g, label);
    cJSON *out = cJSON_CreateObject(), *seeds = cJSON_CreateArray(), *cells = cJSON_CreateArray();
    const cJSON *constants = NULL;
    for (size_t i = first; i < first + label->n_seeds; i++) {
        char seed[24];
        snprintf(seed, sizeof seed, "%" PRIu64, g->cells[i].seed);
        sg_json_push_string(seeds, seed);
        sg_json_push(cells, cell_json(&g->cells[i], &g->outcomes[i]));
        if (!constants)
            constants = sg_json_get(g->outcomes[i].run.header, "constants");
    }
    SG_SET(out, SG_TEXT("label", label->label), SG_TEXT("method", label->method),
           SG_TEXT("compressor", label->compressor), SG_BOOL("baseline", label->baseline),
           SG_VALUE("parameters", parameters_json(g->cells[first].method)));
    if (label->swept->count > 0)
        sg_json_set(out, "swept", sg_node_json(label->swept));
    SG_SET(out, SG_VALUE("constants", constants ? cJSON_Duplicate(constants, true) : NULL),
           SG_NUMBER("times_less", grid_times_less(traffic, label)), SG_VALUE("seeds", seeds),
           SG_VALUE("cells", cells));
    sg_frame_put(out, label);
    return out;
}

cJSON *grid_results_json(struct grid_frame *g, const struct grid_traffic *traffic, size_t most) {
    cJSON *out = cJSON_CreateArray();
    for (size_t l = 0; l < g->frame.n_labels; l++) {
        if (!sg_frame_fill(&g->frame.label[l], most, shows_quartiles, g->recipe))
            sg_json_lost();
        sg_json_push(out, label_json(g, &g->frame.label[l], traffic));
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
