/* Cells, per-method overrides and --set. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "recipe_grid.h"
#include "sg_file.h"
#include "sg_json.h"

static const struct sg_cell *find(const struct grid *g, const char *label, unsigned seed) {
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->cell[i].label, label) == 0 && g->cell[i].seed == seed)
            return &g->cell[i];
    return NULL;
}

static const char grid_text[] =
    HEAD STEPS "seeds: [7, 9]\n"
               "methods:\n"
               "  - {name: SGD, compressor: none, baseline: true, epochs: 2, learning-rate: 1/L}\n"
               "  - {name: Top-k, compressor: topk, k: [1, 1e1], message: rice}\n"
               "  - {name: HT, compressor: hard-threshold, lambda: [0.5, 5e-3/gamma], error-feedback: none, scope: "
               "model, optimizer: {learning-rate: 3, scale: 2}, steps: 3, shards: {kind: dirichlet, alpha: 0.1}}\n";

static void test_cells(void) {
    struct grid g;
    if (!open_grid(&g, grid_text, NULL, 0))
        return;
    static const char *const label[] = {"SGD", "Top-k k=1", "Top-k k=1e1", "HT lambda=0.5", "HT lambda=5e-3/gamma"};
    ok(g.count == 10, "methods x lists x seeds: %zu cells", g.count);
    for (size_t i = 0; i < g.count && i < 10; i++)
        ok(strcmp(g.cell[i].label, label[i / 2]) == 0 && g.cell[i].seed == (i % 2 ? 9 : 7), "cell %zu is %s, seed %d",
           i, label[i / 2], i % 2 ? 9 : 7);
    const struct sg_cell *sgd = find(&g, "SGD", 7), *top = find(&g, "Top-k k=1e1", 9),
                         *ht = find(&g, "HT lambda=0.5", 7);
    ok(sgd->baseline && !top->baseline && strcmp(top->name, "Top-k") == 0, "name and baseline");
    ok(sg_node_number(&sgd->resolved, "epochs", NAN) == 2 && sg_node_get(&sgd->resolved, "steps")->kind == SG_NODE_NULL,
       "a method's epochs replace the recipe's steps");
    ok(strcmp(sg_node_string(&sgd->resolved, "optimizer.learning-rate", ""), "1/L") == 0 &&
           strcmp(sg_node_string(&top->resolved, "optimizer.learning-rate", ""), "1/(L+l2)") == 0,
       "learning rate");
    ok(sg_node_number(&ht->resolved, "optimizer.learning-rate", NAN) == 3 &&
           sg_node_number(&ht->resolved, "optimizer.scale", NAN) == 2 &&
           sg_node_number(&top->resolved, "optimizer.scale", NAN) == 1,
       "an optimizer of its own");
    ok(sg_node_number(&top->resolved, "steps", NAN) == 100 &&
           sg_node_get(&top->resolved, "epochs")->kind == SG_NODE_NULL,
       "the recipe's length otherwise");
    ok(strcmp(sg_node_string(&ht->resolved, "error-feedback.form", ""), "none") == 0 &&
           strcmp(sg_node_string(&top->resolved, "error-feedback.form", ""), "update") == 0 &&
           strcmp(sg_node_string(&ht->resolved, "scope", ""), "model") == 0,
       "overrides of feedback and scope");
    ok(strcmp(sg_node_string(&top->resolved, "message.encoding", ""), "rice") == 0 &&
           strcmp(sg_node_string(&top->resolved, "message.values", ""), "fp32") == 0 &&
           strcmp(sg_node_string(&ht->resolved, "message.encoding", ""), "raw") == 0,
       "override of message");
    ok(sg_node_number(&ht->resolved, "task.shards.alpha", NAN) == 0.1 &&
           strcmp(sg_node_string(&ht->resolved, "task.shards.kind", ""), "dirichlet") == 0 &&
           strcmp(sg_node_string(&top->resolved, "task.shards.kind", ""), "iid") == 0,
       "override of shards");
    ok(top->method == sg_node_get(&top->resolved, "method") && sg_node_number(top->method, "k", NAN) == 10 &&
           top->method->count == 3,
       "the method has its compressor and single values");
    ok(sg_node_number(&top->resolved, "seed", NAN) == 9, "seed");
    for (size_t i = 0; i < g.count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(g.cell[i].key, g.cell[j].key) == 0)
                ok(false, "cells %zu and %zu share a key", i, j);
    close_grid(&g);
}

/* A length on the command line means every method, unless the method has one there too. */
static void test_lengths(void) {
    static const struct {
        const char *set[2], *label, *key, *other;
        double length;
    } given[] = {{{"steps=5"}, "SGD", "steps", "epochs", 5},
                 {{"steps=5"}, "HT lambda=0.5", "steps", "epochs", 5},
                 {{"epochs=4"}, "HT lambda=0.5", "epochs", "steps", 4},
                 {{"epochs=4", "methods.SGD.steps=6"}, "SGD", "steps", "epochs", 6},
                 {{"epochs=4", "methods.SGD.steps=6"}, "HT lambda=0.5", "epochs", "steps", 4},
                 {{"methods.HT.steps=6"}, "SGD", "epochs", "steps", 2}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct grid g;
        if (!open_grid(&g, grid_text, given[i].set, given[i].set[1] ? 2 : 1))
            continue;
        const struct sg_node *cell = &find(&g, given[i].label, 7)->resolved;
        ok(sg_node_number(cell, given[i].key, NAN) == given[i].length &&
               isnan(sg_node_number(cell, given[i].other, NAN)),
           "--set %s %s: %s has %s %g", given[i].set[0], given[i].set[1] ? given[i].set[1] : "", given[i].label,
           given[i].key, given[i].length);
        close_grid(&g);
    }
}

/* What does not decide a run must not change a key; what does must. */
static void test_keys(void) {
    struct grid a, b;
    const char *const harmless[] = {"title=Other",
                                    "name=other",
                                    "plots=[{x: step, y: loss}]",
                                    "seeds=[9, 8]",
                                    "methods.Top-k.k=[10]",
                                    "methods.SGD.baseline=false",
                                    "claims=[{text: t, metric: loss, of: SGD, at-most: 1}]"};
    if (open_grid(&a, grid_text, NULL, 0) && open_grid(&b, grid_text, harmless, 7)) {
        const struct sg_cell *before = find(&a, "Top-k k=1e1", 9), *after = find(&b, "Top-k k=10", 9);
        ok(after != NULL && strcmp(before->key, after->key) == 0, "the same run has the same key");
        cJSON *json = sg_node_json(&after->resolved);
        char *text = sg_json_text(json, false), hex[65];
        sg_sha256_of(text, strlen(text), hex);
        ok(strcmp(hex, after->key) == 0, "the key is the hash of the resolved JSON");
        ok(strcmp(
               text,
               "{\"task\":{\"kind\":\"logreg\",\"dataset\":\"madelon\",\"stand_in\":null,\"l2\":\"L/10000\",\"oracle\":"
               "\"stochastic\",\"start\":{\"offset_from_optimum\":null},\"solve_optimum\":true,\"shards\":{\"kind\":"
               "\"iid\",\"alpha\":null}},\"workers\":1,"
               "\"batch\":1,"
               "\"epochs\":null,\"steps\":100,\"optimizer\":{\"kind\":\"sgd\",\"momentum\":0,\"nesterov\":0,"
               "\"weight_decay\":0,\"learning_rate\":\"1/"
               "(L+l2)\",\"scale\":1,\"warm_up_epochs\":0,\"decay_at\":[],\"decay_factor\":0.1},\"error_feedback\":{"
               "\"form\":\"update\",\"decay\":1},"
               "\"scope\":\"layer\",\"message\":{\"encoding\":\"rice\",\"values\":\"fp32\"},"
               "\"record\":{\"every\":1,\"evaluate\":null,\"layers\":false,\"series\":[\"loss\"]},\"method\":{"
               "\"compressor\":\"topk\","
               "\"k\":10,\"density\":null},\"seed\":9}\n") == 0,
           "the resolved JSON");
        free(text);
        cJSON_Delete(json);
        close_grid(&b);
    }
    const char *const decisive[] = {"workers=2", "task.l2=1e-3", "record.every=2", "scope=model"};
    for (size_t i = 0; i < 4; i++)
        if (open_grid(&b, grid_text, &decisive[i], 1)) {
            ok(strcmp(find(&a, "SGD", 7)->key, find(&b, "SGD", 7)->key) != 0, "%s changes the key", decisive[i]);
            close_grid(&b);
        }
    close_grid(&a);
}

/* However seeds are written, they are the cells of the list. */
static void test_seeds(void) {
    static const char *const set[] = {"seeds=[5, 6, 7]", "seeds=5,6,7", "seeds=5..7", "seeds={first: 5, count: 3}",
                                      "seeds=5, 6..7"};
    struct grid list;
    if (!open_grid(&list, SMALL, set, 1))
        return;
    for (size_t i = 1; i < sizeof set / sizeof *set; i++) {
        struct grid other;
        if (!open_grid(&other, SMALL, &set[i], 1))
            continue;
        bool same = other.count == list.count;
        for (size_t j = 0; same && j < list.count; j++)
            same = strcmp(other.cell[j].key, list.cell[j].key) == 0;
        ok(same, "%s: the keys of the list", set[i]);
        close_grid(&other);
    }
    close_grid(&list);
}

static double set_number(const char *text, const char *set, const char *path) {
    struct sg_recipe recipe;
    struct sg_error err;
    if (parse_set(&recipe, text, &set, 1, &err) != SG_OK) {
        printf("# %s\n", err.msg);
        return NAN;
    }
    double value = sg_node_number(&recipe.root, path, NAN);
    sg_recipe_free(&recipe);
    return value;
}

static void test_set(void) {
    ok(set_number(SMALL, "workers=4", "workers") == 4, "a scalar");
    ok(set_number(SMALL, "record.every=5", "record.every") == 5, "a key of a section");
    ok(set_number(SMALL, "error-feedback.decay=0.5", "error-feedback.decay") == 0.5, "a section that was not there");
    ok(set_number(SMALL, "seeds=[3, 4]", "seeds.1") == 4, "a list");
    ok(set_number(SMALL, "seeds={first: 3, count: 2}", "seeds.1") == 4, "a section");
    ok(set_number(SMALL, "seeds=3,9", "seeds.1") == 9, "seeds with a comma");
    ok(set_number(SMALL, "seeds=3..12", "seeds.9") == 12, "a range of seeds");
    ok(set_number(SMALL "seeds: 1..3, 7\n", "workers=1", "seeds.3") == 7, "a range and a number");
    ok(set_number(SMALL, "methods.Top-k.k=5", "methods.1.k") == 5, "an entry by name");
    ok(set_number(SMALL, "methods.1.k=5", "methods.1.k") == 5, "an entry by index");
    ok(set_number(SMALL "  - {name: Top-k 0.1, compressor: topk, k: 1}\n", "methods.Top-k 0.1.k=5", "methods.2.k") == 5,
       "an entry whose name has a dot");
    ok(set_number(SMALL, "epochs=3", "epochs") == 3, "epochs of --set replace the file's steps");
    ok(isnan(set_number(SMALL, "epochs=3", "steps")), "and the steps are gone");
    ok(set_number(HEAD METHODS "epochs: 1\n", "steps=3", "steps") == 3, "and the other way round");

    struct sg_recipe recipe;
    struct sg_error err;
    const char *const twice[] = {"workers=4", "workers=5"};
    ok(parse_set(&recipe, SMALL, twice, 2, &err) == SG_OK && sg_node_number(&recipe.root, "workers", NAN) == 5,
       "the later one wins");
    ok(sg_node_get(&recipe.root, "workers")->line == 0 && sg_node_get(&recipe.root, "workers")->column == 2,
       "its place is the second --set");
    sg_recipe_free(&recipe);
    const char *const both[] = {"epochs=4", "steps=5"};
    ok(parse_set(&recipe, SMALL, both, 2, &err) != SG_OK, "both lengths by --set: %s", err.msg);

    refused_set(SMALL, "workers=four", "--set workers=four: workers must be a whole number, got 'four'");
    refused_set(SMALL, "wokers=4", "--set wokers=4: unknown key 'wokers' (did you mean 'workers'?)");
    refused_set(SMALL, "recrod.every=4", "--set recrod.every=4: unknown key 'recrod' (did you mean 'record'?)");
    refused_set(SMALL, "record.evry=4", "--set record.evry=4: unknown key 'evry' (did you mean 'every'?)");
    refused_set(SMALL, "every=4", "--set every=4: key 'every' does not belong here (it belongs in 'record')");
    refused_set(SMALL, "methods.Topk.k=4",
                "--set methods.Topk.k=4: 'methods' has no entry 'Topk' (did you mean 'Top-k'?)");
    refused_set(SMALL, "methods.2.k=4",
                "--set methods.2.k=4: 'methods' has no entry '2'; name one, or give an index from 0 to 1");
    refused_set(
        SMALL, "methods.Top-k.lambda=4",
        "--set methods.Top-k.lambda=4: key 'lambda' does not belong here (it is a key of compressor 'hard-threshold')");
    refused_set(SMALL, "methods.Top-k.k=0", "--set methods.Top-k.k=0: k must be between 1 and 4294967295, got 0");
    refused_set(SMALL, "methods=[]", "--set methods=[]: methods must have 1 to 256 entries, got 0");
    refused_set(SMALL, "plots=[{x: epoch, y: loss, x-range: []}, {x: epoch, y: loss, x-range: []}]",
                "--set plots=[{x: epoch, y: loss, x-range: []}, {x:…: x-range must have 2 to 2 entries, got 0");
    refused_set(SMALL, "methods=null", "r.yaml:1:1: missing key 'methods' (what is compared)");
    refused_set(SMALL, "steps", "--set steps: write key=value, as workers=4");
    refused_set(SMALL, "=4", "--set =4: write key=value, as workers=4");
    refused_set(SMALL, "a..b=4", "--set a..b=4: a key is words joined by single dots, at most 8 of them");
    refused_set(SMALL, "a.b.c.d.e.f.g.h.i=4",
                "--set a.b.c.d.e.f.g.h.i=4: a key is words joined by single dots, at most 8 of them");
    refused_set(SMALL, "steps.x=4",
                "--set steps.x=4: 'steps' is a single value in this recipe: set the whole of it, as steps={…}");
    refused_set(SMALL, "seeds=[1",
                "--set seeds=[1: not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'");
    refused_set(SMALL, "seeds=&a [1]", "--set seeds=&a [1]: anchors are not allowed (write the value out)");
}

static void test_read(void) {
    struct sg_recipe recipe;
    struct sg_error err;
    ok(sg_recipe_read(&recipe, "/nonexistent/r.yaml", NULL, 0, &err) == SG_ERR_MISSING, "a missing file: %s", err.msg);
    static const char *const shipped[] = {"recipes/smoke.yaml", "recipes/fig1.yaml", "recipes/fig1-madelon.yaml",
                                          "recipes/madelon-gdstar-20.yaml", "recipes/madelon-gdstar-100.yaml"};
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        sg_status status = sg_recipe_read(&recipe, shipped[i], NULL, 0, &err);
        ok(status == SG_OK, "%s%s%s", shipped[i], status == SG_OK ? "" : ": ", status == SG_OK ? "" : err.msg);
        if (status == SG_OK)
            sg_recipe_free(&recipe);
    }
}

/* A method's own split of the ratings makes the run that a recipe with this split makes. */
static void test_sharding(void) {
    static const char text[] = "schema: 1\n"
                               "name: split\n"
                               "task: {kind: ncf, dataset: ml-100k, sharding: reference}\n"
                               "optimizer: {learning-rate: 0.1}\n"
                               "record: {series: [train-loss]}\n"
                               "steps: 2\n"
                               "methods:\n"
                               "  - {name: A, compressor: none}\n"
                               "  - {name: B, compressor: none, sharding: global}\n";
    struct grid a = {0}, b = {0};
    const char *const plain[] = {"task.sharding=global", "methods=[{name: A, compressor: none}]"};
    if (open_grid(&a, text, NULL, 0) && open_grid(&b, text, plain, 2)) {
        const struct sg_cell *cut = find(&a, "A", 1), *shuffled = find(&a, "B", 1), *whole = find(&b, "A", 1);
        ok(strcmp(sg_node_string(&cut->resolved, "task.sharding", ""), "reference") == 0 &&
               strcmp(sg_node_string(&shuffled->resolved, "task.sharding", ""), "global") == 0,
           "override of sharding");
        ok(strcmp(shuffled->key, whole->key) == 0, "a recipe with this sharding has the same key");
        ok(strcmp(shuffled->key, cut->key) != 0, "the task's own sharding has another key");
    }
    close_grid(&a);
    close_grid(&b);
    refused_set(SMALL, "methods.Top-k.sharding=global",
                "--set methods.Top-k.sharding=global: task 'logreg' has no 'sharding' to override");
    refused_set(text, "methods.B.shards=sorted",
                "--set methods.B.shards=sorted: task 'ncf' has no 'shards' to override");
    refused_set(text, "methods.B.sharding=local",
                "--set methods.B.sharding=local: unknown sharding 'local' (did you mean 'global'?)");
}

int main(void) {
    test_cells();
    test_sharding();
    test_lengths();
    test_keys();
    test_seeds();
    test_set();
    test_read();
    return tap_done();
}
