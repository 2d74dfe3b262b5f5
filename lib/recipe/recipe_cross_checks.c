/* recipe_cross_checks.c: the rules that span several keys, which a table of single keys cannot state. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_memory.h"
#include "sg_method.h"
#include "sg_net.h"
#include "sg_optimizer.h"
#include "sg_task.h"

static void set_null(struct sg_node *node) {
    char *key = node->key;
    node->key = NULL;
    sg_node_clear(node);
    node->key = key;
}

/* ---- length of a run ---- */

/* Chooses steps or epochs. The one from --set replaces the one in the file. Returns false if both are from one
 * source. */
static bool choose_length(struct sg_check *c, struct sg_node *map) {
    struct sg_node *epochs = sg_node_member(map, "epochs"), *steps = sg_node_member(map, "steps");
    if (!epochs || !steps)
        return true;
    if (sg_node_from_set(epochs) != sg_node_from_set(steps)) {
        set_null(sg_node_from_set(steps) ? epochs : steps);
        return true;
    }
    bool later = steps->key_line > epochs->key_line ||
                 (steps->key_line == epochs->key_line && steps->key_column > epochs->key_column);
    const struct sg_node *second = later ? steps : epochs;
    SG_PROBLEM_KEY(c, second, "both 'epochs' and 'steps' are given (keep one)");
    return false;
}

static void check_length(struct sg_check *c, struct sg_node *root) {
    if (choose_length(c, root) && !sg_node_member(root, "epochs") && !sg_node_member(root, "steps"))
        SG_PROBLEM(c, root, "missing key 'epochs' or 'steps' (length of a run)");
}

static void check_share(struct sg_check *c, const struct sg_node *total, const struct sg_node *workers) {
    if (workers->kind == SG_NODE_NUMBER && fmod(total->number, workers->number) != 0)
        SG_PROBLEM(c, total, "total-batch: %s workers cannot share %s samples", workers->string, total->string);
    for (size_t i = 0; i < workers->count; i++)
        check_share(c, total, &workers->child[i]);
}

static void check_batch(struct sg_check *c, const struct sg_node *root) {
    const struct sg_node *total = sg_node_member(root, "total-batch"), *batch = sg_node_member(root, "batch");
    if (!total)
        return;
    check_share(c, total, sg_node_member(root, "workers"));
    if (batch->line > 0 || batch->column > 0)
        SG_PROBLEM_KEY(c, total, "both 'batch' and 'total-batch' are given (keep one)");
}

static void check_seeds(struct sg_check *c, const struct sg_node *root) {
    const struct sg_node *seeds = sg_node_get(root, "seeds");
    for (size_t i = 0; i < seeds->count; i++)
        for (size_t j = 0; j < i; j++)
            if (seeds->child[i].number == seeds->child[j].number) {
                SG_PROBLEM(c, &seeds->child[i], "seed %s is given twice", seeds->child[i].string);
                return;
            }
}

/* ---- claims ---- */

static void check_selector(struct sg_check *c, struct sg_node *at) {
    size_t chosen = 0;
    const struct sg_node *when = sg_node_member(at, "when"), *below = sg_node_member(at, "below");
    for (size_t i = 0; i < at->count; i++) {
        const struct sg_node *child = &at->child[i];
        if (child->kind == SG_NODE_BOOL && !child->boolean)
            SG_PROBLEM(c, child, "%s can only be true", child->key);
        chosen += child != below && !sg_node_absent(child);
    }
    if (chosen != 1)
        SG_PROBLEM(c, at, "choose one of final, tail-median, tail-mean, max, min, mean, sum, epoch, step, when");
    if ((when == NULL) != (below == NULL))
        SG_PROBLEM(c, at, "'when' and 'below' go together");
    size_t kept = 0; /* keeps only what was chosen */
    for (size_t i = 0; i < at->count; i++) {
        if (sg_node_absent(&at->child[i]))
            sg_node_clear(&at->child[i]);
        else
            at->child[kept++] = at->child[i];
    }
    at->count = kept;
}

/* A copy of `from` under the key and place of `to`. */
static void fill_in(struct sg_node *to, const struct sg_node *from) {
    struct sg_node copy;
    sg_node_copy(&copy, from);
    sg_node_clear(to);
    *to = copy;
}

static void complete_bound(struct sg_node *claim, const char *key) {
    struct sg_node *bound = sg_node_member(claim, key);
    if (!bound || bound->kind != SG_NODE_MAP)
        return;
    for (size_t i = 0; i < bound->count; i++) {
        const struct sg_node *own = sg_node_member(claim, bound->child[i].key);
        if (own && sg_node_absent(&bound->child[i]))
            fill_in(&bound->child[i], own);
    }
}

static void check_claim(struct sg_check *c, struct sg_node *claim) {
    const struct sg_node *upper = sg_node_member(claim, "at-most"), *lower = sg_node_member(claim, "at-least");
    if (!upper && !lower)
        SG_PROBLEM(c, claim, "a claim needs 'at-most' or 'at-least'");
    if (upper && lower)
        SG_PROBLEM(c, claim, "a claim has one bound, 'at-most' or 'at-least' (write two claims)");
    complete_bound(claim, "at-most");
    complete_bound(claim, "at-least");
    sg_check_bound_constant(c, claim);
    const struct sg_node *bound = upper ? upper : lower;
    if (bound && bound->kind == SG_NODE_MAP)
        sg_check_bound_constant(c, bound);
}

/* ---- plots ---- */

static void check_axis_range(struct sg_check *c, const struct sg_node *plot, const char *key) {
    const struct sg_node *range = sg_node_member(plot, key);
    if (range && !(range->child[0].number < range->child[1].number))
        SG_PROBLEM(c, range, "%s must ascend, got [%s, %s]", key, range->child[0].string, range->child[1].string);
}

/* ---- optimizer ---- */

enum { OPTIMIZER_PARAMETERS = 32 };

/* The optimizer of a complete section with its parameters; NULL when it has a problem already. */
static const struct sg_optimizer_ops *find_optimizer(const struct sg_node *section,
                                                     double param[OPTIMIZER_PARAMETERS]) {
    const struct sg_optimizer_ops *ops = sg_optimizer_find(sg_node_string(section, "kind", ""));
    if (!ops || ops->n_params > OPTIMIZER_PARAMETERS)
        return NULL;
    for (size_t i = 0; i < ops->n_params; i++)
        param[i] = sg_node_number(section, ops->params[i].name, NAN);
    return ops;
}

/* A key of the schedule that would do nothing is refused. Of a key with a list some values may use another key. */
static void check_schedule(struct sg_check *c, const struct sg_node *section) {
    const struct sg_node *decays = sg_node_get(section, "decay-at"), *to = sg_node_member(section, "decay-to"),
                         *from = sg_node_member(section, "warm-up-from"), *decay = sg_node_member(section, "decay"),
                         *warm_up = sg_node_member(section, "warm-up-epochs");
    const bool cosine = decay && decay->kind == SG_NODE_STRING && strcmp(decay->string, "cosine") == 0;
    if (cosine && decays && decays->count > 0)
        SG_PROBLEM(c, decays, "decay-at goes with decay: steps, not with a cosine");
    if (to && !cosine && (!decay || decay->kind != SG_NODE_LIST))
        SG_PROBLEM(c, to, "decay-to goes with decay: cosine");
    if (from && warm_up && warm_up->kind == SG_NODE_NUMBER && !(warm_up->number > 0))
        SG_PROBLEM(c, from, "warm-up-from goes with a warm-up (add warm-up-epochs)");
    for (size_t i = 1; decays && i < decays->count; i++)
        if (!(decays->child[i].number > decays->child[i - 1].number))
            SG_PROBLEM(c, &decays->child[i], "decay-at must ascend, got %s after %s", decays->child[i].string,
                       decays->child[i - 1].string);
}

/* ---- task ---- */

static void refuse_given(struct sg_check *c, const struct sg_node *root, const char *key, const char *why) {
    const struct sg_node *node = sg_node_get(root, key);
    if (node && node->kind != SG_NODE_NULL && (node->line > 0 || node->column > 0))
        SG_PROBLEM(c, node, "%s: task '%s' %s (remove the key)", key, sg_node_string(root, "task.kind", ""), why);
}

/* A task with recorded gradients has no batches and evaluates nothing, so 0 (never) is valid. */
static void check_task(struct sg_check *c, const struct sg_node *root) {
    const struct sg_task_kind *kind = sg_task_kind_find(sg_node_string(root, "task.kind", ""));
    if (!kind || !kind->ops || !kind->ops->replays)
        return;
    static const char *const batch[] = {"batch", "total-batch"};
    for (size_t i = 0; i < sizeof batch / sizeof *batch; i++)
        refuse_given(c, root, batch[i], "replays gradients, whose batches were drawn when they were recorded");
    if (sg_node_number(root, "record.evaluate", 0) > 0)
        refuse_given(c, root, "record.evaluate", "replays gradients, and has nothing to evaluate");
}

/* ---- network ---- */

static bool has_series(const struct sg_node *root, const char *name) {
    const struct sg_node *series = sg_node_get(root, "record.series");
    for (size_t i = 0; series && i < series->count; i++)
        if (strcmp(series->child[i].string, name) == 0)
            return true;
    return false;
}

bool sg_records_messages(const struct sg_node *root) {
    return sg_node_number(root, "record.every", 1) <= 1 && sg_node_bool(root, "record.layers", false) &&
           sg_node_bool(root, "record.workers", false);
}

/* Checks what divides a cluster of this number of workers. */
static void check_cluster(struct sg_check *c, const struct sg_node *network, double workers) {
    static const char *const most[] = {"servers", "share"};
    const struct sg_node *nodes = sg_node_member(network, "nodes");
    if (nodes && fmod(workers, nodes->number) != 0)
        SG_PROBLEM(c, nodes, "nodes must divide the %g workers, got %s", workers, nodes->string);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        const struct sg_node *part = sg_node_member(network, most[i]);
        if (part && part->number > workers)
            SG_PROBLEM(c, part, "%s must be at most the %g workers, got %s", most[i], workers, part->string);
    }
}

/* The model needs the bytes that runs sent, for each layer if exchanges overlap with the backward pass. */
static void check_network(struct sg_check *c, const struct sg_node *root) {
    const struct sg_node *network = sg_node_member(root, "network");
    if (!network)
        return;
    const struct sg_node *workers = sg_override(network, root, "workers");
    const struct sg_node *overlap = sg_node_member(network, "overlap");
    if (workers && workers->kind != SG_NODE_LIST)
        check_cluster(c, network, workers->number);
    for (size_t i = 0; workers && i < workers->count; i++)
        check_cluster(c, network, workers->child[i].number);
    const bool by_layer = overlap && strcmp(overlap->string, "none") != 0 && strcmp(overlap->string, "fused") != 0;
    if (by_layer && !sg_node_bool(root, "record.layers", false))
        SG_PROBLEM(c, overlap, "overlap '%s' goes by layers (add record.layers: true)", overlap->string);
    if (!has_series(root, "bytes_sent") && !has_series(root, "bits"))
        SG_PROBLEM(c, network, "a network needs what runs sent (add bytes-sent or bits to record.series)");
    const struct sg_node *share = sg_node_member(root, "participation");
    if (share && (share->kind == SG_NODE_LIST || share->number < 1))
        SG_PROBLEM(c, network,
                   "a network has messages of all workers at every step (leave out network or participation)");
    const struct sg_node *processor = sg_node_member(network, "processor");
    if (processor && !sg_processor_find(processor->string) && !strstr(processor->string, ".json"))
        SG_PROBLEM(c, processor,
                   "processor must be v100, cpu, free or a .json file of sparsebench --measure-coding, got '%s'",
                   processor->string);
    const struct sg_node *bursts = sg_node_member(network, "bursts");
    if (bursts && sg_node_bool(network, "bursts", false) && !sg_records_messages(root))
        SG_PROBLEM(c, bursts,
                   "bursts are what each worker sends at each step (add record.every: 1, layers: true, workers: true)");
}

void sg_check_rules(struct sg_check *c, const char *section, const struct sg_node *root, struct sg_node *map) {
    if (strcmp(section, "") == 0 && strcmp(sg_node_string(map, "kind", ""), "training") == 0) {
        check_length(c, map);
        check_batch(c, map);
        check_seeds(c, root);
        check_task(c, map);
        check_network(c, map);
    } else if (strcmp(section, "optimizer") == 0) {
        check_schedule(c, map);
    } else if (strcmp(section, "methods[]") == 0) {
        choose_length(c, map);
    } else if (strcmp(section, "claims[].at") == 0) {
        check_selector(c, map);
    } else if (strcmp(section, "claims[]") == 0) {
        check_claim(c, map);
    } else if (strcmp(section, "plots[]") == 0) {
        check_axis_range(c, map, "x-range");
        check_axis_range(c, map, "y-range");
        sg_check_axes(c, map);
    } else if (strcmp(section, "record") == 0) {
        const struct sg_node *workers = sg_node_member(map, "workers");
        if (workers && workers->boolean && !sg_node_bool(map, "layers", false))
            SG_PROBLEM_KEY(c, workers, "record.workers is about layers (add layers: true)");
        sg_check_series_once(c, sg_node_get(map, "series"));
    }
}

/* ---- methods ---- */

/* Returns whether the optimizer of a section refuses its parameters, and why in a problem. */
static bool refuses_parameters(struct sg_check *c, const struct sg_node *run, const char *path) {
    const struct sg_node *section = sg_node_get(run, path);
    double param[OPTIMIZER_PARAMETERS];
    const struct sg_optimizer_ops *ops = find_optimizer(section, param);
    const char *why = ops && ops->refuses ? ops->refuses(param) : NULL;
    if (why)
        SG_PROBLEM(c, section, "%s: %s", path, why);
    return why != NULL;
}

/* The optimizers of a run may refuse their parameters, and that of the recipe forms that work in updates. */
static void check_optimizer(struct sg_check *c, const struct sg_node *run, const struct sg_node *method) {
    const char *form = sg_node_string(run, "error-feedback.form", "");
    double param[OPTIMIZER_PARAMETERS];
    const struct sg_optimizer_ops *ops = find_optimizer(sg_node_get(run, "optimizer"), param);
    const struct sg_feedback_rule *rule = sg_feedback_find(form);
    const char *why;
    if (refuses_parameters(c, run, "optimizer") || refuses_parameters(c, run, "error-feedback.outer"))
        return;
    if (!ops || !ops->refuses_update_form || !rule || !rule->in_updates || rule->steps_alone)
        return;
    why = ops->refuses_update_form(param);
    if (why)
        SG_PROBLEM(c, method, "error-feedback '%s' does not go with this optimizer: %s", form, why);
}

/* If a method overrides a key of the task, this kind of task must have the key. */
static void check_task_key(struct sg_check *c, const struct sg_node *root, const struct sg_node *method,
                           const char *key) {
    const struct sg_node *own = sg_node_member(method, key), *task = sg_node_get(root, "task");
    if (own && !sg_node_get(task, key))
        SG_PROBLEM_KEY(c, own, "task '%s' has no '%s' to override", sg_node_string(task, "kind", ""), key);
}

/* Checks the parts of a run's method against each other, for parameters that are literal numbers: the value of an
 * expression is only known after the task is open. */
static void check_parts(struct sg_check *c, const struct sg_node *run, const struct sg_node *from) {
    struct sg_method_config method = {.size = sizeof(struct sg_method_config)};
    double room[SG_METHOD_NUMBERS];
    const struct sg_node *at;
    struct sg_error err;
    const struct sg_node *choice = sg_node_get(run, "method"), *message = sg_node_get(run, "message");
    if (sg_read_method(&method, room, choice, NULL, message, NULL, 0, &at, &err) != SG_OK ||
        sg_method_check(&method, 0, &err) == SG_OK)
        return;
    at = sg_method_place(choice, err.msg);
    SG_PROBLEM(c, at, "method '%s': %s", sg_node_string(from, "name", ""), err.msg);
}

/* Keeps the keys of swept values, which plots can have on an axis. */
static void keep_swept(struct sg_check *c, const struct sg_node *swept) {
    for (size_t i = 0; i < swept->count; i++)
        if (!sg_node_member(&c->swept, swept->child[i].key))
            sg_push_copy(&c->swept, swept->child[i].key, &swept->child[i]);
}

/* Replaces the ranges of a run by the values of the first trial. */
static void draw_first(struct sg_check *c, const struct sg_node *root, const struct sg_recipe_run *run,
                       struct sg_node *resolved) {
    const struct sg_node *range = sg_find_draw(resolved), *seeds = sg_node_get(root, "seeds");
    struct sg_node drawn;
    if (!range)
        return;
    if (run->trials == 0)
        SG_PROBLEM(c, range, "%s has a range, from which trials draw (add tune: {trials: 5, by: a series})",
                   range->key);
    if (sg_node_get(resolved, "method.k-from"))
        SG_PROBLEM(c, range, "%s cannot be drawn with k-from, which copies from one run (give one value)", range->key);
    const uint64_t seed = seeds->count > 0 ? (uint64_t)seeds->child[0].number : 1; /* wrong seeds are none */
    sg_draw_values(resolved, seed, 1, run->trials > 0 ? run->trials : 1, &drawn);
    keep_swept(c, &drawn);
    sg_node_clear(&drawn);
}

static void check_run(struct sg_check *c, const struct sg_node *root, const struct sg_recipe_run *run) {
    struct sg_node first;
    char name[SG_EXCERPT];
    keep_swept(c, &run->swept);
    sg_node_copy(&first, &run->resolved);
    draw_first(c, root, run, &first);
    check_optimizer(c, &first, run->method);
    check_parts(c, &first, run->method);
    sg_node_clear(&first);
    if (sg_label_find(c, run->label) != run)
        SG_PROBLEM(c, run->method, "method name '%s' is used twice", sg_excerpt(name, run->label));
}

/* Adds the runs of a method, and checks them up to the first problem. */
static void add_runs(struct sg_check *c, const struct sg_node *root, const struct sg_node *method) {
    const size_t before = c->problems->count, first = c->n_runs;
    c->n_runs = sg_expand_method(&c->run, first, root, method);
    if (first <= SG_LABELS && c->n_runs > SG_LABELS)
        SG_PROBLEM(c, method, "more than %d combinations of methods and lists", SG_LABELS);
    for (size_t i = first; i < c->n_runs && c->problems->count == before; i++)
        check_run(c, root, &c->run[i]);
}

/* The seed at which a winner runs must not be one at which a trial ran. */
static void check_fresh(struct sg_check *c, const struct sg_node *seeds) {
    for (size_t i = 0; i < seeds->count; i++)
        for (size_t j = 0; j < seeds->count; j++)
            if (seeds->child[i].number == seeds->child[j].number + SG_TRIAL_SEEDS)
                SG_PROBLEM(c, &seeds->child[i],
                           "seeds %.0f and %.0f: the trials of the second run at the first (choose one below %d)",
                           seeds->child[i].number, seeds->child[j].number, SG_TRIAL_SEEDS);
}

/* Step efficiency needs runs without compression of several lengths. */
static void check_lengths(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods) {
    const struct sg_node *asked = sg_node_member(root, "step-efficiency");
    bool found = asked == NULL;
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *method = &methods->child[i], *stretch = sg_override(method, root, "stretch");
        found |=
            strcmp(sg_node_string(method, "compressor", ""), "none") == 0 && stretch && stretch->kind == SG_NODE_LIST;
    }
    if (!found)
        SG_PROBLEM_KEY(c, asked,
                       "step-efficiency: no method without compression has several lengths (give one stretch: [0.25, "
                       "0.5, 1])");
}

void sg_check_methods(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods) {
    size_t before = c->problems->count, n_seeds = sg_node_get(root, "seeds")->count, n_cells = 0;
    for (size_t i = 0; i < methods->count; i++) {
        check_task_key(c, root, &methods->child[i], "shards");
        check_task_key(c, root, &methods->child[i], "sharding");
        add_runs(c, root, &methods->child[i]);
    }
    for (size_t i = 0; i < c->n_runs; i++) /* one trial of a study wins */
        n_cells += c->run[i].trials + 1;
    sg_check_copied(c, root, methods);
    check_lengths(c, root, methods);
    const struct sg_node *tune = sg_node_member(root, "tune");
    if (tune && n_cells == c->n_runs && c->problems->count == 0)
        SG_PROBLEM_KEY(c, tune, "tune: no key has a range to draw from (write one as learning-rate: log 1e-3..1)");
    if (tune)
        check_fresh(c, sg_node_get(root, "seeds"));
    if (n_cells * n_seeds > SG_CELLS)
        SG_PROBLEM(c, methods, "%zu cells are more than %d", n_cells * n_seeds, SG_CELLS);
    if (c->problems->count == before)
        return;
    sg_runs_free(c->run, c->n_runs);
    c->run = NULL;
    c->n_runs = 0;
    sg_node_clear(&c->swept);
    c->swept.kind = SG_NODE_MAP;
}
