/* Lists outside of the parameters of methods. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "recipe_grid.h"

static const char sweep_text[] = HEAD STEPS
    "workers: [4, 8]\n"
    "methods:\n"
    "  - {name: SGD, compressor: none, baseline: true}\n"
    "  - {name: Top-k, compressor: topk, k: [1, 5], learning-rate: [0.1, 1/L], shards: {alpha: [0.1, 1], kind: "
    "dirichlet}}\n";

static void test_sweep(void) {
    static const char *const label[] = {
        "SGD workers=4", "SGD workers=8", "Top-k k=1 alpha=0.1 workers=4 learning-rate=0.1",
        "Top-k k=1 alpha=0.1 workers=4 learning-rate=1/L", "Top-k k=1 alpha=0.1 workers=8 learning-rate=0.1"};
    struct grid g, one;
    if (!open_grid(&g, sweep_text, NULL, 0))
        return;
    ok(g.count == 18, "the product of all lists: %zu cells", g.count);
    for (size_t i = 0; i < sizeof label / sizeof *label && i < g.count; i++)
        ok(strcmp(g.cell[i].label, label[i]) == 0, "%s is %s", g.cell[i].label, label[i]);
    const struct sg_cell *last = &g.cell[g.count - 1];
    ok(sg_node_number(&last->resolved, "workers", NAN) == 8 && sg_node_number(last->method, "k", NAN) == 5 &&
           sg_node_number(&last->resolved, "task.shards.alpha", NAN) == 1 &&
           strcmp(sg_node_string(&last->resolved, "optimizer.learning-rate", ""), "1/L") == 0,
       "a cell has single values");
    ok(last->swept.count == 3 && sg_node_number(&last->swept, "workers", NAN) == 8 &&
           sg_node_number(&last->swept, "alpha", NAN) == 1 &&
           strcmp(sg_node_string(&last->swept, "learning-rate", ""), "1/L") == 0,
       "and tells those of lists outside of its parameters");
    const char *const set[] = {"workers=8", "methods.Top-k.k=5", "methods.Top-k.learning-rate=1/L",
                               "methods.Top-k.shards.alpha=1"};
    if (open_grid(&one, sweep_text, set, 4)) {
        ok(one.count == 2 && strcmp(one.cell[1].label, "Top-k") == 0 && one.cell[1].swept.count == 0,
           "single values leave one cell a method, without them in its label");
        ok(strcmp(one.cell[1].key, last->key) == 0, "it is the same run as the one of the lists");
        close_grid(&one);
    }
    close_grid(&g);
}

static void cells_of(const char *set, size_t count, const char *first) {
    struct grid g;
    if (!open_grid(&g, SMALL, &set, 1))
        return;
    ok(g.count == count && strcmp(g.cell[0].label, first) == 0, "--set %s: %zu cells, the first is %s", set, g.count,
       g.cell[0].label);
    close_grid(&g);
}

static void test_total_batch(void) {
    const char *const total[] = {"workers=[1, 4, 16]", "total-batch=16"}, *const plain[] = {"workers=4", "batch=4"};
    struct grid g, one;
    if (!open_grid(&g, SMALL, total, 2))
        return;
    ok(g.count == 6 && sg_node_number(&g.cell[0].resolved, "batch", NAN) == 16 &&
           sg_node_number(&g.cell[1].resolved, "batch", NAN) == 4 &&
           sg_node_number(&g.cell[2].resolved, "batch", NAN) == 1,
       "every worker draws its share of the total batch");
    if (open_grid(&one, SMALL, plain, 2)) {
        ok(strcmp(one.cell[0].key, g.cell[1].key) == 0, "it is the same run as the one of that batch");
        close_grid(&one);
    }
    close_grid(&g);
}

static void test_sweep_keys(void) {
    cells_of("workers=[4]", 2, "SGD workers=4");
    cells_of("batch=[1, 2]", 4, "SGD batch=1");
    cells_of("steps=[10, 20]", 4, "SGD steps=10");
    cells_of("epochs=[1, 2]", 4, "SGD epochs=1");
    cells_of("optimizer={learning-rate: [1, 2]}", 4, "SGD learning-rate=1");
    cells_of("optimizer.decay-factor=[0.1, 0.5]", 4, "SGD decay-factor=0.1");
    cells_of("task.l2=[0, L/100]", 4, "SGD l2=0");
    cells_of("task.solve-optimum=[true, false]", 4, "SGD solve-optimum=true");
    cells_of("error-feedback.decay=[1, 0.9]", 4, "SGD decay=1");
    cells_of("message=[raw, rice]", 4, "SGD encoding=raw");
    cells_of("scope=[layer, model]", 4, "SGD scope=layer");
    cells_of("optimizer.decay-at=[1, 2]", 2, "SGD");
    cells_of("error-feedback={form: dgc-momentum, momentum: [0.5, 0.9]}", 4, "SGD momentum=0.5");
    struct grid g;
    const char *const both[] = {"error-feedback={form: dgc-momentum, momentum: [0.5, 0.9]}",
                                "optimizer={learning-rate: 1, momentum: [0, 0.1]}"};
    if (open_grid(&g, SMALL, both, 2)) {
        ok(strcmp(g.cell[0].label, "SGD momentum=0 error-feedback.momentum=0.5") == 0, "two keys of one name: %s",
           g.cell[0].label);
        close_grid(&g);
    }
}

static void test_no_sweep(void) {
    refused_set(SMALL, "name=[a, b]",
                "--set name=[a, b]: name cannot be a list, because it is the same for all cells of a recipe");
    refused_set(SMALL, "task.dataset=[a, b]",
                "--set task.dataset=[a, b]: dataset cannot be a list, because all cells of a recipe have the same data "
                "(write a recipe for each)");
    refused_set(
        SMALL, "error-feedback=[none, update]",
        "--set error-feedback=[none, update]: form cannot be a list, because it decides which keys stand beside "
        "it (write a method or a recipe for each)");
    refused_set(SMALL, "record.every=[1, 2]",
                "--set record.every=[1, 2]: every cannot be a list, because all cells record the same");
    refused_set(SMALL, "network={link: [10gbe-tcp, 1gbe]}",
                "--set network={link: [10gbe-tcp, 1gbe]}: link cannot be a list, because no run depends on it (call "
                "sparsebench again with --network, which reuses the cells)");
    refused_set(SMALL, "optimizer={learning-rate: 1, nesterov: [0, 1]}",
                "--set optimizer={learning-rate: 1, nesterov: [0, 1]}: optimizer: nesterov needs a momentum above 0");
    refused(SMALL "workers: [4, 6]\nnetwork: {nodes: 4}\n",
            "r.yaml:11:10: a network needs what runs sent (add bytes-sent or bits to record.series)\n"
            "r.yaml:11:18: nodes must divide the 6 workers, got 4");
    refused(SMALL "workers: [4, 8]\nclaims: [{text: t, metric: loss, of: Top-j workers=4, at-most: 1}]\n",
            "r.yaml:11:38: unknown method 'Top-j workers=4' (did you mean 'Top-k workers=4'?)");
    refused(SMALL "plots: [{x: workers, y: loss, kind: points}]\n",
            "r.yaml:10:13: x: 'workers' is the same for all cells (make it a list, or name a series)");
    refused(SMALL "workers: [4, 8]\nplots: [{x: workers, y: loss}]\n",
            "r.yaml:11:13: x: 'workers' is a constant; a plot of kind 'curves' needs a series (or kind: points)");
    accepted(SMALL "workers: [4, 8]\nplots: [{x: workers, y: loss, kind: points}]\n", "a plot over a list");
}

/* A claim without the values of lists becomes one for each, with its bound. */
static void test_sweep_claims(void) {
    static const char text[] = SMALL "workers: [4, 8]\n"
                                     "claims: [{text: a, metric: loss, of: Top-k, at-most: {of: SGD}}, "
                                     "{text: b, metric: loss, of: Top-k workers=8, at-most: 1}]\n";
    struct sg_recipe recipe;
    struct sg_error err;
    if (!ok(parse_set(&recipe, text, NULL, 0, &err) == SG_OK, "claims of a swept recipe")) {
        printf("# %s\n", err.msg);
        return;
    }
    const struct sg_node *claims = sg_node_get(&recipe.root, "claims");
    ok(claims->count == 3, "three of two: %zu", claims->count);
    for (size_t i = 0; i < 2 && claims->count == 3; i++) {
        const struct sg_node *claim = &claims->child[i];
        ok(strcmp(sg_node_string(claim, "text", ""), i ? "a (workers=8)" : "a (workers=4)") == 0 &&
               strcmp(sg_node_string(claim, "of", ""), i ? "Top-k workers=8" : "Top-k workers=4") == 0 &&
               strcmp(sg_node_string(claim, "at-most.of", ""), i ? "SGD workers=8" : "SGD workers=4") == 0,
           "%s", sg_node_string(claim, "text", ""));
    }
    sg_recipe_free(&recipe);
}

/* A --set that makes a list of a value, or a value of a list, changes the labels that the file's claims name. */
static void test_sweep_claim_problems(void) {
    static const char *const text[] = {SMALL "claims: [{text: t, metric: loss, of: Top-k, at-most: 1}]\n",
                                       SMALL "workers: [4, 8]\nplots: [{x: workers, y: loss, kind: points}]\n"
                                             "claims: [{text: t, metric: loss, of: Top-k workers=4, at-most: 1}]\n"};
    static const char *const set[] = {"methods.Top-k.k=[1, 2]", "workers=4"};
    for (size_t i = 0; i < 2; i++) {
        struct sg_recipe recipe;
        struct sg_error err;
        if (!ok(parse_set(&recipe, text[i], &set[i], 1, &err) == SG_OK, "--set %s is no mistake of the file", set[i])) {
            printf("# %s\n", err.msg);
            continue;
        }
        ok(recipe.claim_problems != NULL && strstr(recipe.claim_problems, "'Top-k") != NULL,
           "but leaves names without a meaning: %s", recipe.claim_problems);
        sg_recipe_free(&recipe);
    }
}

int main(void) {
    test_sweep();
    test_sweep_keys();
    test_total_batch();
    test_no_sweep();
    test_sweep_claims();
    test_sweep_claim_problems();
    return tap_done();
}
