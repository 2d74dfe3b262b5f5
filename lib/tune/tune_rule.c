/* tune_rule.c: --rule: lambda by the paper's rules, one for each Top-k of the recipe (sg_lambda_rules.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_lambda_rules.h"
#include "tune_private.h"

static const double PILOT = 0.1; /* the share of a run that a pilot takes */

/* Reads the recipe cut to a pilot, whose learning rate goes as at the beginning of the run. */
static sg_status read_pilot(struct sg_recipe *pilot, const struct sg_tune *t, const struct tune_targets *topk,
                            struct sg_error *err) {
    const double steps = ceil(PILOT * tune_length(&t->cells[0].resolved, topk->steps_per_epoch).steps);
    struct tune_changes c;
    tune_changes_start(&c, t, NULL);
    tune_change_length(&c, NULL, fmax((double)t->points, steps));
    tune_change_number(&c, "record.every", 1e9);
    tune_change_plain(&c, "record.layers", "null");
    tune_change_plain(&c, "record.workers", "null");
    sg_status status = tune_changes_read(pilot, NULL, &c, err);
    tune_changes_free(&c);
    return status;
}

/* Methods that share a pilot because their workers have the same data: M, zeta^2 and sigma^2 belong to these. */
struct group {
    char *task;                  /* its section, JSON: only how the data are dealt differs */
    const struct sg_cell *pilot; /* of the recipe's cells, cut to a pilot */
    struct sg_rules rules;
    double *lambda;              /* [rules.count] */
    char (*how)[TUNE_HOW_CHARS]; /* [rules.count] */
};

struct groups {
    const struct sg_node *methods; /* of the recipe */
    size_t *of;                    /* [methods->count] a method's group, SIZE_MAX: it is not tuned */
    struct group *group;           /* [count] */
    size_t count;
};

static char *task_of(const struct sg_cell *cell) {
    cJSON *json = sg_node_json(sg_node_get(&cell->resolved, "task"));
    char *text = json ? sg_json_text(json, false) : NULL;
    cJSON_Delete(json);
    return text;
}

/* The first cell of this task without compression, else with Top-k, else any. There is one, so NULL = no memory. */
static const struct sg_cell *choose_pilot(const struct sg_cell *cells, size_t count, const char *task) {
    const struct sg_cell *best = NULL;
    int best_rank = 3;
    for (size_t i = 0; i < count; i++) {
        const char *compressor = sg_node_string(cells[i].method, "compressor", "");
        const int rank = strcmp(compressor, "none") == 0 ? 0 : strcmp(compressor, "topk") == 0 ? 1 : 2;
        char *own = rank < best_rank ? task_of(&cells[i]) : NULL;
        if (own && strcmp(own, task) == 0) {
            best = &cells[i];
            best_rank = rank;
        }
        free(own);
    }
    return best;
}

/* Puts method i into the group with its data, or into a new one; false = no memory. */
static bool join(struct groups *g, size_t i, const struct sg_cell *pilots, size_t n_pilots) {
    const char *name = sg_node_string(&g->methods->child[i], "name", "");
    size_t at = 0;
    while (at < n_pilots && strcmp(pilots[at].name, name) != 0)
        at++;
    char *task = at < n_pilots ? task_of(&pilots[at]) : NULL;
    size_t k = 0;
    if (!task)
        return false;
    while (k < g->count && strcmp(g->group[k].task, task) != 0)
        k++;
    g->of[i] = k;
    if (k < g->count) {
        free(task);
        return true;
    }
    g->group[g->count++] = (struct group){.task = task, .pilot = choose_pilot(pilots, n_pilots, task)};
    return g->group[k].pilot != NULL;
}

static sg_status group_methods(struct groups *g, const struct sg_tune *t, const struct sg_cell *pilots, size_t n_pilots,
                               struct sg_error *err) {
    g->methods = sg_node_get(&t->recipe->root, "methods");
    g->of = malloc((g->methods->count + 1) * sizeof *g->of);
    g->group = calloc(g->methods->count + 1, sizeof *g->group);
    if (!g->of || !g->group)
        return sg_fail_memory(err, "the pilots");
    for (size_t i = 0; i < g->methods->count; i++) {
        g->of[i] = SIZE_MAX;
        if (tune_wants_lambda(&g->methods->child[i]) && !join(g, i, pilots, n_pilots))
            return sg_fail_memory(err, "the pilots");
    }
    return SG_OK;
}

static void groups_free(struct groups *g) {
    for (size_t i = 0; i < g->count; i++) {
        free(g->group[i].task);
        sg_rules_free(&g->group[i].rules);
        free(g->group[i].lambda);
        free(g->group[i].how);
    }
    free(g->group);
    free(g->of);
}

static sg_status measure(struct group *group, const struct sg_tune *t, const struct sg_recipe *pilot,
                         struct sg_error *err) {
    const struct sg_rules_options options = {
        .how = tune_trained_here(t, pilot), .pilot = group->pilot, .points = t->points, .repeats = t->repeats};
    const bool simple = strcmp(t->rule, "simple") == 0;
    struct sg_rules *rules = &group->rules;
    sg_status status = sg_rules_measure(rules, t->cells, t->n_cells, &options, err);
    if (status != SG_OK)
        return status;
    group->lambda = calloc(rules->count, sizeof *group->lambda);
    group->how = calloc(rules->count, sizeof *group->how);
    if (!group->lambda || !group->how)
        return sg_fail_memory(err, "the tuned recipe");
    for (size_t i = 0; i < rules->count; i++) {
        const struct sg_rule *r = &rules->rule[i];
        group->lambda[i] = simple ? r->simple : r->estimated;
        if (group->lambda[i] == 0)
            return sg_fail(
                err, SG_ERR_ARGUMENT,
                "by this pilot zeta^2 and sigma^2 cannot be told from 0, and lambda = 0 sends everything: give "
                "more --points or --repeats");
        snprintf(group->how[i], sizeof group->how[i], "sparsetune --rule %s: lambda %.4g for %.100s, k = %.0f", t->rule,
                 group->lambda[i], r->cell->label, r->k);
    }
    return SG_OK;
}

/* {"pilots":[{"methods":[name], and sg_rules_json}]} */
static cJSON *groups_json(const struct groups *g) {
    cJSON *out = cJSON_CreateObject(), *pilots = cJSON_CreateArray();
    for (size_t k = 0; k < g->count; k++) {
        cJSON *row = sg_rules_json(&g->group[k].rules), *names = cJSON_CreateArray();
        for (size_t i = 0; i < g->methods->count; i++)
            if (g->of[i] == k)
                sg_json_push(names, cJSON_CreateString(sg_node_string(&g->methods->child[i], "name", "")));
        sg_json_set(row, "methods", names);
        sg_json_push(pilots, row);
    }
    sg_json_set(out, "pilots", pilots);
    return out;
}

/* Every hard-threshold method gets the lambda of every k that Top-k sends. */
static sg_status fill_in(struct sg_tune *t, const struct groups *g, struct sg_error *err) {
    struct tune_found *found = calloc(g->methods->count, sizeof *found);
    size_t n = 0;
    if (!found)
        return sg_fail_memory(err, "the tuned recipe");
    for (size_t i = 0; i < g->methods->count; i++)
        if (g->of[i] < g->count) {
            const struct group *group = &g->group[g->of[i]];
            found[n++] = (struct tune_found){.name = sg_node_string(&g->methods->child[i], "name", ""),
                                             .key = "lambda",
                                             .n = group->rules.count,
                                             .value = group->lambda,
                                             .how = group->how};
        }
    sg_status status = tune_emit_recipe(&t->text, t, found, n, err);
    free(found);
    return status;
}

static sg_status run_pilots(struct sg_tune *t, struct sg_error *err) {
    struct sg_recipe pilot = {0};
    struct sg_cell *pilots = NULL;
    size_t n_pilots = 0;
    struct groups groups = {0};
    struct tune_targets topk;
    sg_status status = tune_targets(&topk, t, err);
    SG_DO(status, tune_emit_check(t, tune_lambda_key, topk.n, "Top-k densities", err));
    SG_DO(status, read_pilot(&pilot, t, &topk, err));
    SG_DO(status, sg_recipe_cells(&pilot, &pilots, &n_pilots, err));
    SG_DO(status, group_methods(&groups, t, pilots, n_pilots, err));
    for (size_t i = 0; i < groups.count && status == SG_OK; i++)
        status = measure(&groups.group[i], t, &pilot, err);
    SG_DO(status, tune_evidence(t, "rule", groups_json(&groups), err));
    SG_DO(status, fill_in(t, &groups, err));
    groups_free(&groups);
    sg_recipe_cells_free(pilots, n_pilots);
    sg_recipe_free(&pilot);
    return status;
}

sg_status sg_tune_rule(struct sg_tune *t, struct sg_error *err) {
    if (strcmp(t->rule, "simple") != 0 && strcmp(t->rule, "estimated") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "--rule=%s: must be simple or estimated", t->rule);
    if (t->repeats > 0 && t->repeats < SG_NOISE_REPEATS)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "--repeats=%zu: each half of the draws needs a variance of its own; give %d or more, or 0",
                       t->repeats, SG_NOISE_REPEATS);
    if (t->grid.device && strcmp(t->grid.device, "cpu") != 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "--device %s: the pilot's gradients are looked at on the CPU: use --device cpu", t->grid.device);
    sg_status status = tune_need_lambda(t, err);
    if (status == SG_OK && t->dry_run) {
        char how[64];
        snprintf(how, sizeof how, ", by the rule '%s'", t->rule);
        return tune_plan(t, how, err);
    }
    return status == SG_OK ? run_pilots(t, err) : status;
}
