/* tune_reach_evidence.c: the evidence of --reach-baseline: all whole runs, the Pareto front of metric and volume, and
 * the trials. */
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
        out[n - 1].value += tune_tail_median(&b->outcomes[i], r->search.metric) / (double)r->search.seeds;
        const struct sg_run *run = &b->outcomes[i].run;
        const double entries = tune_entries(run, &b->cells[i], r->topk.d, false) / (double)r->search.seeds;
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
    return SG_OBJECT(SG_TEXT("label", s->cell->label), SG_NUMBER("density", s->entries / d),
                     SG_NUMBER("volume", s->volume), SG_NUMBER("value", s->value));
}

/* The Top-k cell that reaches the baseline with the smallest volume; NULL if none does. */
static const struct summary *best_topk(const struct reach *r, const struct summary *s, size_t n) {
    const struct summary *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_compressor(&s[i], "topk") &&
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
        front = front && (is_compressor(&s[j], "none") || !(value <= 0 && volume <= 0 && (value < 0 || volume < 0)));
    }
    return front;
}

static cJSON *tune_json(struct reach *r, const struct summary *s, size_t n) {
    struct tune_search *of = &r->search;
    const struct tune_point *best = r->best;
    const double volume = best->amount * of->length.steps;
    const struct summary *topk = best_topk(r, s, n);
    cJSON *out = cJSON_CreateObject(), *points = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        if (!is_compressor(&s[i], "none")) {
            cJSON *point = summary_json(&s[i], r->topk.d);
            sg_json_set_bool(point, "front", is_front(r, s, n, &s[i]));
            sg_json_push(points, point);
        }
    SG_SET(out, SG_TEXT("action", "reach-baseline"), SG_TEXT("method", of->name), SG_TEXT("metric", of->metric),
           SG_TEXT("better", of->higher ? "higher" : "lower"), SG_NUMBER("tolerance", of->tolerance),
           SG_TEXT("baseline", r->baseline), SG_NUMBER("baseline_value", of->base),
           SG_NUMBER("baseline_steps", r->base_steps), SG_NUMBER("steps", of->length.steps),
           SG_NUMBER("lambda", best->value), SG_NUMBER("lambda_that_fails", r->next ? r->next->value : NAN),
           SG_NUMBER("value", best->quality), SG_NUMBER("density", best->amount / r->topk.d),
           SG_NUMBER("volume", volume), SG_VALUE("topk", topk ? summary_json(topk, r->topk.d) : NULL),
           SG_NUMBER("times_less_volume", topk && volume > 0 ? topk->volume / volume : NAN), SG_VALUE("points", points),
           SG_VALUE("trials", of->trials));
    of->trials = NULL;
    return out;
}

/* Converts a name of results to the spelling of recipes. */
static char *kebab(char out[64], const char *name) {
    snprintf(out, 64, "%s", name);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return out;
}

/* A panel of metric over volume. */
static void change_plots(struct tune_changes *c, const struct reach *r) {
    static const char *const volumes[] = {"bits", "bits_values", "average_density"};
    struct sg_node plots = {.kind = SG_NODE_LIST}, plot = {.kind = SG_NODE_MAP}, at = {.kind = SG_NODE_MAP};
    char x[64], y[64];
    size_t volume = 0;
    while (volume < 2 && !tune_recorded(r->search.t, volumes[volume]))
        volume++;
    const bool fine = sg_node_push_plain(&plot, "x", kebab(x, volumes[volume])) &&
                      sg_node_push_plain(&plot, "y", kebab(y, r->search.metric)) &&
                      sg_node_push_number(&at, "tail-median", TUNE_TAIL) && sg_node_set_key(&at, "y-at") &&
                      sg_node_push(&plot, &at) && sg_node_push_plain(&plot, "kind", "points") &&
                      sg_node_push_plain(&plot, "log", "x") && sg_node_push(&plots, &plot);
    sg_node_clear(&plot);
    sg_node_clear(&at);
    c->lost = c->lost || !fine;
    tune_change(c, "plots", &plots);
}

/* All whole runs at all seeds. */
static void change_document(struct tune_changes *c, const struct reach *r) {
    const struct tune_search *s = &r->search;
    struct tune_point full[REACH_POINTS];
    size_t n = 0;
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].seeds == s->seeds)
            full[n++] = s->point[i];
    tune_change_values(c, s, full, n);
    tune_change_plain(c, "claims", "null");
    change_plots(c, r);
}

/* Runs all cells of the recipe's other methods. */
static sg_status run_others(struct reach *r, struct sg_error *err) {
    struct sg_tune *t = r->search.t;
    const struct sg_node *methods = sg_node_get(&t->recipe->root, "methods");
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < methods->count; i++) {
        const char *name = sg_node_string(&methods->child[i], "name", "");
        struct tune_changes c;
        struct tune_trials b = {.count = 0};
        if (strcmp(name, r->search.name) == 0 || strcmp(name, r->baseline) == 0)
            continue;
        tune_changes_start(&c, t, NULL);
        status = tune_trials_open(&b, &c, name, NULL, r->search.seeds, err);
        SG_DO(status, tune_trials_run(&b, t, false, err));
        tune_trials_close(&b);
        tune_changes_free(&c);
    }
    return status;
}

/* Makes a result of all whole runs, Top-k's among them. */
sg_status reach_document(struct reach *r, struct sg_error *err) {
    struct sg_tune *t = r->search.t;
    struct tune_changes c;
    struct tune_trials b = {.count = 0};
    const bool fresh = t->grid.fresh;
    tune_changes_start(&c, t, NULL);
    change_document(&c, r);
    sg_status status = fresh ? run_others(r, err) : SG_OK;
    t->grid.fresh = false; /* hard-threshold's and the baseline's were run just now */
    SG_DO(status, tune_trials_open(&b, &c, NULL, NULL, r->search.seeds, err));
    SG_DO(status, tune_trials_run(&b, t, false, err));
    struct summary *s = calloc(b.count + 1, sizeof *s);
    if (status == SG_OK && !s)
        status = sg_fail_memory(err, "the evidence");
    if (status == SG_OK) {
        t->evidence = sg_grid_document(NULL, NULL, &b.recipe, NULL, b.cells, b.outcomes, b.count, 600);
        sg_json_set(t->evidence, "tune", tune_json(r, s, summarize(s, r, &b)));
    }
    t->grid.fresh = fresh;
    free(s);
    tune_trials_close(&b);
    tune_changes_free(&c);
    return status;
}
