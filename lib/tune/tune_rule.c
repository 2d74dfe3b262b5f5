/* tune_rule.c: --rule: lambda by the rules of sg_lambda_rules.h, one for each Top-k of the recipe. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sg_json.h"
#include "sg_memory.h"
#include "tune_search.h"

static const double PILOT = 0.1; /* the share of a run that a pilot takes */

/* Reads the recipe cut to a pilot, whose learning rate is that of the beginning of the run. */
static sg_status read_pilot(struct sg_recipe *pilot, const struct sg_tune *t, double steps_per_epoch,
                            struct sg_error *err) {
    const double steps = ceil(PILOT * tune_length(&t->cells[0].resolved, steps_per_epoch).steps);
    struct tune_changes c;
    tune_changes_start(&c, t, NULL);
    tune_change_first(&c, fmax((double)t->points, steps));
    tune_change(&c, "{record.every: 1e9, record.layers: null, record.workers: null}");
    sg_status status = tune_changes_read(pilot, NULL, &c, err);
    tune_changes_free(&c);
    return status;
}

/* Methods that share a pilot because their workers have the same data: M, zeta^2 and sigma^2 belong to these. */
struct group {
    const struct sg_cell *pilot; /* of the recipe's cells, cut to a pilot */
    struct sg_rules rules;
    struct tune_value *value; /* [rules.count] */
    cJSON *names;             /* of the methods, for the evidence; NULL = taken */
};

static char *task_of(const struct sg_cell *cell) {
    cJSON *json = sg_node_json(sg_node_get(&cell->resolved, "task"));
    char *text = json ? sg_json_text(json, false) : NULL;
    cJSON_Delete(json);
    return text;
}

/* Among the cells with the task of `cell`, apart from the distribution of the data to workers, the first without
 * compression, else with Top-k, else any. */
static const struct sg_cell *choose_pilot(const struct sg_cell *cells, size_t count, const struct sg_cell *cell) {
    const struct sg_cell *best = NULL;
    char *task = task_of(cell);
    int best_rank = 3;
    for (size_t i = 0; task && i < count; i++) {
        const struct sg_node *method = cells[i].method;
        const int rank = tune_compresses_by(method, "none") ? 0 : tune_compresses_by(method, "topk") ? 1 : 2;
        char *own = rank < best_rank ? task_of(&cells[i]) : NULL;
        if (own && strcmp(own, task) == 0) {
            best = &cells[i];
            best_rank = rank;
        }
        free(own);
    }
    free(task);
    return best;
}

static sg_status measure(struct group *group, const struct sg_tune *t, const struct sg_recipe *pilot,
                         struct sg_error *err) {
    const struct sg_rules_options options = {.how = tune_trained_here(t, pilot),
                                             .pilot = group->pilot,
                                             .points = (size_t)t->points,
                                             .repeats = (size_t)t->repeats};
    struct sg_rules *rules = &group->rules;
    sg_status status = sg_rules_measure(rules, t->cells, t->n_cells, &options, err);
    if (status != SG_OK)
        return status;
    group->names = cJSON_CreateArray();
    group->value = sg_calloc(rules->count, sizeof *group->value);
    for (size_t i = 0; i < rules->count; i++) {
        const struct sg_rule *r = &rules->rule[i];
        const double lambda = strcmp(t->rule, "simple") == 0  ? r->simple
                              : strcmp(t->rule, "noise") == 0 ? r->noise
                                                              : r->estimated;
        if (lambda == 0)
            return sg_fail(
                err, SG_ERR_ARGUMENT,
                "by this pilot zeta^2 and sigma^2 cannot be told from 0, and lambda = 0 sends everything: give "
                "more --points or --repeats");
        group->value[i].x = lambda;
        snprintf(group->value[i].how, TUNE_HOW_CHARS, "sparsetune --rule %s: lambda %.4g for %.100s, k = %.0f", t->rule,
                 lambda, r->cell->label, r->k);
    }
    return SG_OK;
}

/* The pilots, each with its methods, and the values found for each method: a lambda for every k that Top-k sends. */
struct work {
    struct sg_recipe pilot;
    struct sg_cell *cells; /* [n_cells] of `pilot` */
    size_t n_cells;
    struct group *group; /* [n_groups] */
    size_t n_groups;
    struct tune_found *found; /* [n_found] */
    size_t n_found;
};

/* Finds the values of a method, with the pilot of another one that has the same data, or with its own. */
static sg_status find_values(struct work *w, const struct sg_tune *t, const struct sg_cell *cell,
                             struct sg_error *err) {
    const struct sg_cell *pilot = choose_pilot(w->cells, w->n_cells, cell);
    struct group *group = w->group;
    sg_status status = SG_OK;
    while (group < w->group + w->n_groups && group->pilot != pilot)
        group++;
    if (group == w->group + w->n_groups) {
        w->n_groups++;
        group->pilot = pilot;
        status = measure(group, t, &w->pilot, err);
    }
    if (status != SG_OK)
        return status;
    sg_json_push_string(group->names, cell->name);
    w->found[w->n_found++] =
        (struct tune_found){.name = cell->name, .key = "lambda", .n = group->rules.count, .value = group->value};
    return SG_OK;
}

/* {"pilots":[{"methods":[name], and sg_rules_json}]} */
static cJSON *evidence_of(struct work *w) {
    cJSON *pilots = cJSON_CreateArray();
    for (struct group *group = w->group; group < w->group + w->n_groups; group++) {
        cJSON *row = sg_rules_json(&group->rules);
        sg_json_set(row, "methods", group->names);
        group->names = NULL;
        sg_json_push(pilots, row);
    }
    return SG_OBJECT(SG_VALUE("pilots", pilots));
}

static void close_work(struct work *w) {
    for (size_t i = 0; i < w->n_groups; i++) {
        sg_rules_free(&w->group[i].rules);
        free(w->group[i].value);
        cJSON_Delete(w->group[i].names);
    }
    free(w->group);
    free(w->found);
    sg_recipe_cells_free(w->cells, w->n_cells);
    sg_recipe_free(&w->pilot);
}

static sg_status run_pilots(struct sg_tune *t, struct sg_error *err) {
    struct work w = {.n_groups = 0};
    struct tune_search s;
    tune_search_open(&s, t, TUNE_ENTRIES, 0);
    sg_status status = tune_topk_goals(&s, err);
    SG_DO(status, tune_emit_check(t, tune_lambda_key, s.n_goals, "Top-k densities", err));
    SG_DO(status, read_pilot(&w.pilot, t, s.steps_per_epoch, err));
    SG_DO(status, sg_recipe_cells(&w.pilot, &w.cells, &w.n_cells, err));
    w.group = sg_calloc(w.n_cells + 1, sizeof *w.group);
    w.found = sg_calloc(w.n_cells + 1, sizeof *w.found);
    for (size_t i = 0; status == SG_OK && i < w.n_cells; i++)
        if (tune_wants_lambda(w.cells[i].method) && tune_is_chosen(t, w.cells[i].name) &&
            (i == 0 || strcmp(w.cells[i].name, w.cells[i - 1].name) != 0))
            status = find_values(&w, t, &w.cells[i], err);
    if (status == SG_OK)
        t->evidence = tune_evidence(t, "rule", evidence_of(&w));
    SG_DO(status, tune_emit_recipe(&t->text, t, w.found, w.n_found, err));
    close_work(&w);
    return status;
}

sg_status sg_tune_rule(struct sg_tune *t, struct sg_error *err) {
    if (strcmp(t->rule, "simple") != 0 && strcmp(t->rule, "estimated") != 0 && strcmp(t->rule, "noise") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "--rule=%s: must be simple, estimated or noise", t->rule);
    if (t->repeats > 0 && t->repeats < SG_NOISE_REPEATS)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "--repeats=%" PRId64
                       ": each half of the draws needs a variance of its own; give %d or more, or 0",
                       t->repeats, SG_NOISE_REPEATS);
    if (t->grid.device && strcmp(t->grid.device, "cpu") != 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "--device %s: the pilot's gradients are looked at on the CPU: use --device cpu", t->grid.device);
    char how[64];
    snprintf(how, sizeof how, ", by the rule '%s'", t->rule);
    const sg_status status = tune_plan(t, how, err);
    return status == SG_OK && !t->dry_run ? run_pilots(t, err) : status;
}
