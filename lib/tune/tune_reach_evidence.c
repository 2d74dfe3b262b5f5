/* tune_reach_evidence.c: what --reach-baseline shows of its search: all whole runs, the front of metric and volume, the
 * trials. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_reach.h"

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
        out[n - 1].value += tune_tail_median(&b->outcomes[i], r->metric) / (double)r->seeds;
        const struct sg_run *run = &b->outcomes[i].run;
        const double entries = tune_entries(run, &b->cells[i], r->topk.d, false) / (double)r->seeds;
        out[n - 1].entries += entries;
        out[n - 1].volume += entries * sg_json_number(run->end, "steps", NAN);
    }
    return n;
}

static bool is_compressor(const struct summary *s, const char *name) {
    return strcmp(sg_node_string(s->cell->method, "compressor", ""), name) == 0;
}

/* {"label","density","volume","value"} */
static cJSON *summary_json(const struct summary *s, double d) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "label", s->cell->label);
    sg_json_set_number(out, "density", s->entries / d);
    sg_json_set_number(out, "volume", s->volume);
    sg_json_set_number(out, "value", s->value);
    return out;
}

/* The Top-k cell that reaches the baseline with the least volume; NULL if none does. */
static const struct summary *best_topk(const struct reach *r, const struct summary *s, size_t n) {
    const struct summary *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_compressor(&s[i], "topk") && reach_is_near(r, s[i].value, r->base) &&
            (!best || s[i].volume < best->volume))
            best = &s[i];
    return best;
}

/* True if no other is better in one of metric and volume and at least as good in the other. */
static bool is_front(const struct reach *r, const struct summary *s, size_t n, const struct summary *p) {
    const double sign = r->higher ? -1 : 1;
    bool front = !isnan(p->value);
    for (size_t j = 0; j < n; j++) {
        const double value = sign * (s[j].value - p->value), volume = s[j].volume - p->volume;
        front = front && (is_compressor(&s[j], "none") || !(value <= 0 && volume <= 0 && (value < 0 || volume < 0)));
    }
    return front;
}

static cJSON *tune_json(struct reach *r, const struct summary *s, size_t n) {
    const struct reach_point *best = r->best;
    const double volume = best->entries * r->length.steps;
    const struct summary *topk = best_topk(r, s, n);
    cJSON *out = cJSON_CreateObject(), *points = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        if (!is_compressor(&s[i], "none")) {
            cJSON *point = summary_json(&s[i], r->topk.d);
            sg_json_set_bool(point, "front", is_front(r, s, n, &s[i]));
            sg_json_push(points, point);
        }
    sg_json_set_string(out, "action", "reach-baseline");
    sg_json_set_string(out, "method", r->name);
    sg_json_set_string(out, "metric", r->metric);
    sg_json_set_string(out, "better", r->higher ? "higher" : "lower");
    sg_json_set_number(out, "tolerance", r->tolerance);
    sg_json_set_string(out, "baseline", r->baseline);
    sg_json_set_number(out, "baseline_value", r->base);
    sg_json_set_number(out, "baseline_steps", r->base_steps);
    sg_json_set_number(out, "steps", r->length.steps);
    sg_json_set_number(out, "lambda", best->lambda);
    sg_json_set_number(out, "lambda_that_fails", r->next ? r->next->lambda : NAN);
    sg_json_set_number(out, "value", best->value);
    sg_json_set_number(out, "density", best->entries / r->topk.d);
    sg_json_set_number(out, "volume", volume);
    sg_json_set(out, "topk", topk ? summary_json(topk, r->topk.d) : NULL);
    sg_json_set_number(out, "times_less_volume", topk && volume > 0 ? topk->volume / volume : NAN);
    sg_json_set(out, "points", points);
    sg_json_set(out, "trials", r->trials);
    r->trials = NULL;
    return out;
}

/* As recipes spell it. */
static char *kebab(char out[64], const char *name) {
    snprintf(out, 64, "%s", name);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return out;
}

/* Sets the keys for all whole runs at all seeds, and a panel of metric over volume. */
static bool set_document(struct tune_sets *sets, const struct reach *r) {
    static const char *const volumes[] = {"bits", "bits_values", "average_density"};
    char x[64], y[64];
    size_t volume = 0;
    while (volume < 2 && !tune_recorded(r->t, volumes[volume]))
        volume++;
    struct reach_point full[REACH_POINTS];
    size_t n = 0;
    for (size_t i = 0; i < r->n_whole; i++)
        if (r->whole[i].seeds == r->seeds)
            full[n++] = r->whole[i];
    return reach_set_lambdas(sets, r, full, n) && tune_set(sets, "claims=[]") &&
           tune_set(sets, "plots=[{x: %s, y: %s, y-at: {tail-median: %g}, kind: points, log: x}]",
                    kebab(x, volumes[volume]), kebab(y, r->metric), TUNE_TAIL);
}

/* Runs all cells of the recipe's other methods. */
static sg_status run_others(struct reach *r, struct sg_error *err) {
    const struct sg_node *methods = sg_node_get(&r->t->recipe->root, "methods");
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < methods->count; i++) {
        const char *name = sg_node_string(&methods->child[i], "name", "");
        struct tune_sets sets;
        struct tune_trials b = {.count = 0};
        if (strcmp(name, r->name) == 0 || strcmp(name, r->baseline) == 0)
            continue;
        tune_sets_start(&sets, r->t);
        status = reach_run(&b, r, &sets, name, NAN, r->seeds, err);
        tune_trials_close(&b);
        tune_sets_free(&sets);
    }
    return status;
}

/* Makes a result of all whole runs, Top-k's among them. */
sg_status reach_document(struct reach *r, struct sg_error *err) {
    struct tune_sets sets;
    struct tune_trials b = {.count = 0};
    const bool fresh = r->t->grid.fresh;
    tune_sets_start(&sets, r->t);
    sg_status status = fresh ? run_others(r, err) : SG_OK;
    r->t->grid.fresh = false; /* hard-threshold's and the baseline's were run just now */
    if (status == SG_OK && !set_document(&sets, r))
        status = sg_fail_memory(err, "the evidence");
    SG_DO(status, reach_run(&b, r, &sets, NULL, NAN, r->seeds, err));
    struct summary *s = calloc(b.count + 1, sizeof *s);
    if (status == SG_OK && !s)
        status = sg_fail_memory(err, "the evidence");
    if (status == SG_OK) {
        r->t->evidence = sg_grid_document(NULL, NULL, &b.recipe, b.cells, b.outcomes, b.count, 600);
        sg_json_set(r->t->evidence, "tune", tune_json(r, s, summarize(s, r, &b)));
    }
    r->t->grid.fresh = fresh;
    free(s);
    tune_trials_close(&b);
    tune_sets_free(&sets);
    return status;
}
