/* --rule: lambda by the paper's rules, one for each Top-k of the recipe (sg_rules.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_rules.h"
#include "tune_private.h"

static const double PILOT = 0.1; /* of a run */

/* The recipe cut to a pilot: the learning rate goes as at the beginning of the run, which is counted in epochs. */
static sg_status read_pilot(struct sg_recipe *pilot, const struct sg_tune *t, struct sg_error *err) {
    const struct sg_node *root = &t->recipe->root;
    const double epochs = sg_node_number(root, "epochs", NAN), steps = sg_node_number(root, "steps", NAN);
    struct tune_sets sets;
    tune_sets_start(&sets, t);
    const bool fine = (isnan(epochs) ? tune_set(&sets, "steps=%.0f", fmax((double)t->points, ceil(steps * PILOT)))
                                     : tune_set(&sets, "epochs=%.17g", epochs * PILOT)) &&
                      tune_set(&sets, "record.every=1000000000") && tune_set(&sets, "record.layers=false");
    sg_status status = fine ? sg_recipe_parse(pilot, t->recipe->text, strlen(t->recipe->text), t->recipe->path,
                                              sets.item, sets.count, err)
                            : sg_fail_memory(err, "the pilot");
    tune_sets_free(&sets);
    return status;
}

/* The first method without compression, else the first there is. */
static const struct sg_cell *choose_pilot(const struct sg_cell *cells, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(sg_node_string(cells[i].method, "compressor", ""), "none") == 0)
            return &cells[i];
    return &cells[0];
}

static bool is_tuned(const struct sg_node *method) {
    const struct sg_node *lambda = sg_node_get(method, "lambda");
    return strcmp(sg_node_string(method, "compressor", ""), "hard-threshold") == 0 && lambda &&
           lambda->kind != SG_NODE_NULL;
}

/* Every hard-threshold method gets the lambda of every Top-k. */
static sg_status fill_in(struct sg_tune *t, const struct sg_rules *rules, struct sg_error *err) {
    const struct sg_node *methods = sg_node_get(&t->recipe->root, "methods");
    const bool simple = strcmp(t->rule, "simple") == 0;
    struct tune_found *found = calloc(methods->count, sizeof *found);
    double *lambda = calloc(rules->count, sizeof *lambda);
    char(*how)[160] = calloc(rules->count, sizeof *how);
    size_t n = 0;
    sg_status status = found && lambda && how ? SG_OK : sg_fail_memory(err, "the tuned recipe");
    for (size_t i = 0; status == SG_OK && i < rules->count; i++) {
        const struct sg_rule *r = &rules->rule[i];
        lambda[i] = simple ? r->simple : r->estimated;
        snprintf(how[i], sizeof how[i], "sparsetune --rule %s: lambda %.4g for %.100s, k = %.0f", t->rule, lambda[i],
                 r->cell->label, r->k);
    }
    for (size_t i = 0; status == SG_OK && i < methods->count; i++)
        if (is_tuned(&methods->child[i]))
            found[n++] = (struct tune_found){.name = sg_node_string(&methods->child[i], "name", ""),
                                             .n = rules->count,
                                             .lambda = lambda,
                                             .how = how};
    if (status == SG_OK && n == 0)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s: no method with compressor: hard-threshold and a lambda to fill in",
                         t->recipe->path);
    if (status == SG_OK)
        status = tune_write(&t->text, t, found, n, err);
    free(found);
    free(lambda);
    free(how);
    return status;
}

sg_status tune_rule(struct sg_tune *t, struct sg_error *err) {
    struct sg_recipe pilot = {0};
    struct sg_cell *cells = NULL, *pilots = NULL;
    size_t count = 0, n_pilots = 0;
    struct sg_rules rules = {0};
    if (strcmp(t->rule, "simple") != 0 && strcmp(t->rule, "estimated") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "--rule=%s: must be simple or estimated", t->rule);
    if (t->repeats > 0 && t->repeats < SG_NOISE_REPEATS)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "--repeats=%zu: each half of the draws needs a variance of its own; give %d or more, or 0",
                       t->repeats, SG_NOISE_REPEATS);
    sg_status status = sg_recipe_cells(t->recipe, &cells, &count, err);
    if (status == SG_OK)
        status = read_pilot(&pilot, t, err);
    if (status == SG_OK)
        status = sg_recipe_cells(&pilot, &pilots, &n_pilots, err);
    if (status == SG_OK && !t->dry_run) {
        const struct sg_rules_options options = {.recipe = &pilot,
                                                 .pilot = choose_pilot(pilots, n_pilots),
                                                 .data_dir = t->grid.data_dir,
                                                 .device = t->grid.device ? t->grid.device : "cpu",
                                                 .threads = t->grid.threads,
                                                 .points = t->points,
                                                 .repeats = t->repeats,
                                                 .stop = t->grid.stop,
                                                 .progress = t->progress,
                                                 .notice = t->say};
        status = sg_rules_measure(&rules, cells, count, &options, err);
        if (status == SG_OK)
            status = tune_evidence(t, "rule", sg_rules_json(&rules), err);
        if (status == SG_OK)
            status = fill_in(t, &rules, err);
    }
    sg_rules_free(&rules);
    sg_recipe_cells_free(pilots, n_pilots);
    sg_recipe_cells_free(cells, count);
    sg_recipe_free(&pilot);
    return status;
}
