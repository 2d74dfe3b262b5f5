/* Recipes that must be refused, with the exact place and words, and what right ones become. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "recipe_case.h"

static void test_yaml(void) {
    accepted(SMALL, "the small recipe");
    refused("", "r.yaml: empty, where a recipe is expected");
    refused("# none\n", "r.yaml:1:1: a recipe is a section of keys, got nothing");
    refused("- 1\n", "r.yaml:1:1: a recipe is a section of keys, got a list");
    refused("schema: 1\nname: [a\n",
            "r.yaml:3:1: not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'");
    refused("schema: 1\nworkers:2\nname: a\n",
            "r.yaml:2:1: not valid YAML: 'workers:2' has no colon with a blank behind it (write 'workers: 2')");
    refused("schema: 1\nworkers = 2\nname: a\n",
            "r.yaml:2:1: not valid YAML: 'workers = 2' has no colon with a blank behind it (write 'workers: 2')");
    refused("schema: 1\nworkers:\u00a02\nname: a\n",
            "r.yaml:2:1: not valid YAML: 'workers:\\u00a02' has no colon with a blank behind it (write 'workers: 2')");
    refused("schema: 1\ntitle: \"abc\nname: a\nworkers: 2\n",
            "r.yaml:2:8: not valid YAML: the quote that begins here has no end: \"abc");
    refused("schema: 1\n\tname: a\n",
            "r.yaml:2:1: a tab indents this line: YAML takes blanks only (put blanks in its place)");
    refused("schema: 1\ntask:\n  \tkind: logreg\n",
            "r.yaml:3:3: a tab indents this line: YAML takes blanks only (put blanks in its place)");
    refused("schema: 1\ntask:\n  kind: logreg\n\tdataset: a\n",
            "r.yaml:4:1: a tab indents this line: YAML takes blanks only (put blanks in its place)");
    refused("schema: 1\nname:\n\t- a\n",
            "r.yaml:3:1: a tab indents this line: YAML takes blanks only (put blanks in its place)");
    accepted(SMALL "workers: 2\t# blanks\tand tabs\n", "a tab elsewhere");
    refused("schema: 1\nname: \xff\n", "r.yaml:2:7: not UTF-8 text: invalid leading UTF-8 octet");
    refused("schema: 1\nname: a\nname: b\n", "r.yaml:3:1: duplicate key 'name' (first on line 2)");
    refused("schema: 1\nname: &a b\n", "r.yaml:2:7: anchors are not allowed (write the value out)");
    refused("schema: 1\nname: *a\n", "r.yaml:2:7: aliases are not allowed (write the value out)");
    refused("schema: 1\nname: !!str a\n", "r.yaml:2:7: tags are not allowed (leave out the '!…')");
    refused("schema: 1\nseeds: &a [1]\n", "r.yaml:2:8: anchors are not allowed (write the value out)");
    refused("schema: 1\ntask: !m {}\n", "r.yaml:2:7: tags are not allowed (leave out the '!…')");
    refused("schema: 1\n? [a]\n: b\n", "r.yaml:2:3: a key must be a word");
    refused("schema: 1\n\"\": b\n", "r.yaml:2:1: a key must not be empty");
    refused(SMALL "---\nschema: 1\n", "r.yaml:10:1: a second document (a file has one)");
    refused(SMALL "title: \"a\\0b\"\n",
            "r.yaml:10:8: text must be one line without control characters (fold long text with >-)");
    refused(SMALL "title: \"a\\x1b[31m\"\n",
            "r.yaml:10:8: text must be one line without control characters (fold long text with >-)");
    refused(SMALL "title: \"a\\x9bm\"\n",
            "r.yaml:10:8: text must be one line without control characters (fold long text with >-)");
    refused(SMALL "title: |\n  two\n  lines\n",
            "r.yaml:10:8: text must be one line without control characters (fold long text with >-)");
    accepted(SMALL "title: >-\n  two\n  lines\n", "folded text");
    refused("a: [[[[[[[8]]]]]]]\n",
            "r.yaml:1:1: the first key must be 'schema: 1'\n"
            "r.yaml:1:1: unknown key 'a' (--help-recipe lists all keys)\n"
            "r.yaml:1:1: missing key 'schema' (format version; must be the first key)\n"
            "r.yaml:1:1: missing key 'name' (lower-case words joined by '-'; names the files of results)\n"
            "r.yaml:1:1: missing key 'task' (what is trained; the kind decides the other keys)\n"
            "r.yaml:1:1: missing key 'optimizer' (how the mean of the messages moves the parameters)\n"
            "r.yaml:1:1: missing key 'record' (what a run records)\n"
            "r.yaml:1:1: missing key 'methods' (what is compared)");
    refused("a: [[[[[[[[9]]]]]]]]\n", "r.yaml:1:11: nested deeper than 8 levels");
}

static void test_keys(void) {
    refused(SMALL "wokers: 4\n", "r.yaml:10:1: unknown key 'wokers' (did you mean 'workers'?)");
    refused(SMALL "work\u200bers: 4\n",
            "r.yaml:10:1: unknown key 'work\\u200bers' (it has U+200B in it; write 'workers')");
    refused(SMALL "error-feedback: up\u00addate\n",
            "r.yaml:10:17: unknown form 'up\\u00addate' (it has U+00AD in it; write 'update')");
    refused(SMALL "every: 4\n", "r.yaml:10:1: key 'every' does not belong here (it belongs in 'record')");
    refused(SMALL "compressor: none\n",
            "r.yaml:10:1: key 'compressor' does not belong here (it belongs in an entry of 'methods')");
    refused(HEAD STEPS "methods:\n  - {name: A, compressor: none, workers: 2}\n",
            "r.yaml:8:33: key 'workers' does not belong here (it belongs at the top level)");
    refused(HEAD STEPS "methods:\n  - {name: A, compressor: topk, k: 1, lambda: 2}\n",
            "r.yaml:8:39: key 'lambda' does not belong here (it is a key of compressor 'hard-threshold')");
    refused(SMALL "dataset: a\n",
            "r.yaml:10:1: key 'dataset' does not belong here (it is a key of 'task' of kind 'logreg')");
    refused(SMALL "qqqqqqqqqqqqqq: 4\n", "r.yaml:10:1: unknown key 'qqqqqqqqqqqqqq' (--help-recipe lists all keys)");
    refused("name: small\n" SMALL, "r.yaml:3:1: duplicate key 'name' (first on line 1)");
    refused("schema: 2\nfuture: 1\n",
            "r.yaml:1:9: schema 2 is newer than this program reads (1): use a newer sparsegrad");
    refused("schema: 0\nname: small\ntask: {kind: logreg, dataset: a}\noptimizer: {learning-rate: 1}\n"
            "record: {series: [loss]}\n" STEPS METHODS,
            "r.yaml:1:9: schema must be 1, got 0");
    refused(HEAD METHODS, "r.yaml:1:1: missing key 'epochs' or 'steps' (length of a run)");
    refused(SMALL "batch: 4\ntotal-batch: 8\n", "r.yaml:11:1: both 'batch' and 'total-batch' are given (keep one)");
    refused(SMALL "workers: [2, 3]\ntotal-batch: 8\n", "r.yaml:11:14: total-batch: 3 workers cannot share 8 samples");
    refused(SMALL "epochs: 2\n", "r.yaml:10:1: both 'epochs' and 'steps' are given (keep one)");
    refused(HEAD STEPS "methods:\n  - {name: A, compressor: none, steps: 2, epochs: 1}\n",
            "r.yaml:8:43: both 'epochs' and 'steps' are given (keep one)");
}

static void test_values(void) {
    refused(SMALL "workers: four\n", "r.yaml:10:10: workers must be a whole number, got 'four'");
    refused(SMALL "workers: 2.5\n", "r.yaml:10:10: workers must be a whole number, got 2.5");
    refused(SMALL "workers: \"4\"\n", "r.yaml:10:10: workers must be a whole number, got '4'");
    refused(SMALL "workers: 010\n", "r.yaml:10:10: workers must be a whole number, got '010'");
    refused(SMALL "workers: 0x10\n", "r.yaml:10:10: workers must be a whole number, got '0x10'");
    refused(SMALL "workers: 1_000\n", "r.yaml:10:10: workers must be a whole number, got '1_000'");
    refused(SMALL "workers: .inf\n", "r.yaml:10:10: workers must be a whole number, got '.inf'");
    refused(SMALL "workers: nan\n", "r.yaml:10:10: workers must be a whole number, got 'nan'");
    refused(SMALL "workers: 1e999\n", "r.yaml:10:10: workers must be a whole number, got '1e999'");
    refused(SMALL "workers: [4, 0]\n", "r.yaml:10:14: each of workers must be between 1 and 65536, got 0");
    refused(SMALL "workers: []\n", "r.yaml:10:10: workers must have 1 to 256 entries, got 0");
    refused(SMALL "workers: [[4]]\n", "r.yaml:10:11: each of workers must be a whole number, got a list");
    refused(SMALL "workers: {a: 4}\n", "r.yaml:10:10: workers must be a whole number, got a section of keys");
    refused(SMALL "workers: 0\n", "r.yaml:10:10: workers must be between 1 and 65536, got 0");
    refused(SMALL "workers: -1\n", "r.yaml:10:10: workers must be between 1 and 65536, got -1");
    refused(HEAD METHODS "epochs: 0\n", "r.yaml:9:9: epochs must be greater than 0, got 0");
    refused(SMALL "error-feedback: {form: update, decay: 1.5}\n",
            "r.yaml:10:39: decay must be between 0 and 1, got 1.5");
    refused(SMALL "message: {encoding: rice, values: fp8}\n",
            "r.yaml:10:35: unknown values 'fp8' (did you mean 'fp32'?)");
    refused(SMALL "error-feedback: updat\n", "r.yaml:10:17: unknown form 'updat' (did you mean 'update'?)");
    refused(SMALL "scope: 7\n", "r.yaml:10:8: scope must be one of layer, model, got 7");
    refused(SMALL "title: 2024\n", "r.yaml:10:8: title must be text (put it in quotes), got 2024");
    refused(SMALL "title: \"\"\n", "r.yaml:10:8: title must be text, got ''");
    refused("schema: 1\nname: a\ntask: {kind: logreg, dataset: a}\noptimizer: {learning-rate: 1, decay-at: [3, 3]}\n"
            "record: {series: [loss], evaluate: -1, layers: 1}\n" STEPS METHODS,
            "r.yaml:4:45: decay-at must ascend, got 3 after 3\n"
            "r.yaml:5:36: evaluate must be at least 0, got -1\n"
            "r.yaml:5:48: layers must be true or false, got 1");
    refused("schema: 1\nname: a\ntask: {kind: logreg, dataset: a}\noptimizer: {learning-rate: 1, scale: 0, "
            "warm-up-epochs: -1, decay-factor: 2}\nrecord: {series: [loss]}\n" STEPS METHODS,
            "r.yaml:4:38: scale must be greater than 0, got 0\n"
            "r.yaml:4:57: warm-up-epochs must be at least 0, got -1\n"
            "r.yaml:4:75: decay-factor must be greater than 0 and at most 1, got 2");
    refused("schema: 1\nname: a\ntask: {kind: logreg, dataset: a}\noptimizer: {learning-rate: 1, decay: cosine, "
            "decay-at: [3], warm-up-from: 0.5}\nrecord: {series: [loss]}\n" STEPS METHODS,
            "r.yaml:4:56: decay-at goes with decay: steps, not with a cosine\n"
            "r.yaml:4:75: warm-up-from goes with a warm-up (add warm-up-epochs)");
    refused("schema: 1\nname: a\ntask: {kind: logreg, dataset: a}\noptimizer: {learning-rate: 1, decay-to: 0.1}\n"
            "record: {series: [loss]}\n" STEPS METHODS,
            "r.yaml:4:41: decay-to goes with decay: cosine");
    refused(HEAD STEPS "methods:\n  - {name: A, compressor: accordion, k-min: 2, k-max: 1}\n"
                       "  - {name: B, compressor: accordion, k-min: 2, density-max: 0.1}\n"
                       "  - {name: C, compressor: accordion, density-min: 0, density-max: 0.1}\n"
                       "  - {name: D, compressor: accordion, threshold: 1}\n",
            "r.yaml:8:5: method 'A': accordion: the most it sends is below the least\n"
            "r.yaml:9:5: method 'B': accordion: needs 'k-min' and 'k-max', or 'density-min' and 'density-max'\n"
            "r.yaml:10:5: method 'C': accordion: 'density-min' must be above 0\n"
            "r.yaml:11:5: method 'D': accordion: needs 'k-min' and 'k-max', or 'density-min' and 'density-max'");
    refused(SMALL "seeds: []\n", "r.yaml:10:8: seeds must have 1 to 1000 entries, got 0");
    refused(SMALL "seeds: true\n", "r.yaml:10:8: seeds must be a list, got true");
    refused(SMALL "seeds: 4.5\n", "r.yaml:10:8: seeds must be a whole number, got 4.5");
    refused(SMALL "seeds: x\n", "r.yaml:10:8: seeds must be a list, as [1, 2], 1,2 or 1..10, got 'x'");
    refused(SMALL "seeds: 3..1\n", "r.yaml:10:8: seeds must be a list, as [1, 2], 1,2 or 1..10, got '3..1'");
    refused(SMALL "seeds: 1..\n", "r.yaml:10:8: seeds must be a list, as [1, 2], 1,2 or 1..10, got '1..'");
    refused(SMALL "seeds: 1,,2\n", "r.yaml:10:8: seeds must be a list, as [1, 2], 1,2 or 1..10, got '1,,2'");
    refused(SMALL "seeds: 1,-2\n", "r.yaml:10:8: seeds must be a list, as [1, 2], 1,2 or 1..10, got '1,-2'");
    refused(SMALL "seeds: 1..3,2\n", "r.yaml:10:8: seed 2 is given twice");
    refused(SMALL "seeds: 1..1000,1001..2000\n", "r.yaml:10:8: seeds must have 1 to 1000 entries, got 2000");
    refused(SMALL "seeds: 0..1000000\n", "r.yaml:10:8: seeds must have 1 to 1000 entries, got 1000001");
    refused(SMALL "seeds: [1, x]\n", "r.yaml:10:12: each of seeds must be a whole number, got 'x'");
    refused(SMALL "seeds: [1, 2, 1]\n", "r.yaml:10:15: seed 1 is given twice");
    refused(SMALL "seeds: {first: 1}\n", "r.yaml:10:8: missing key 'count' (how many follow each other)");
    refused(SMALL "seeds: {first: 9007199254740992, count: 3}\n",
            "r.yaml:10:8: each of seeds must be between 0 and 9007199254740992, got 9007199254740994");
    refused(SMALL "seeds: {count: 3, frist: 1}\n", "r.yaml:10:19: unknown key 'frist' (did you mean 'first'?)");
    refused("schema: 1\nname: Small One\ntask: {kind: logre, dataset: a}\noptimizer: {kind: adamm, learning-rate: -1}\n"
            "record: {series: [error_norm]}\n" STEPS METHODS,
            "r.yaml:2:7: name must be lower-case words and digits joined by '-', got 'Small One'\n"
            "r.yaml:3:14: unknown kind 'logre' (did you mean 'logreg'?)\n"
            "r.yaml:4:19: unknown kind 'adamm' (did you mean 'adam'?)\n"
            "r.yaml:4:41: learning-rate must be greater than 0, got -1\n"
            "r.yaml:5:19: each of series must be a series name, words joined by '-', got 'error_norm'");
    refused(
        "schema: 1\nname: a\ntask: {kind: logreg, dataset: a, oracle: ful, solve-optimum: yes, start: {offset: 1}}\n"
        "optimizer: {learning-rate: 1/(L+}\nrecord: {series: [loss]}\n" STEPS METHODS,
        "r.yaml:3:42: unknown oracle 'ful' (did you mean 'full'?)\n"
        "r.yaml:3:62: solve-optimum must be true or false, got 'yes'\n"
        "r.yaml:3:75: unknown key 'offset' (did you mean 'offset-from-optimum'?)\n"
        "r.yaml:4:28: learning-rate: expression '1/(L+' ends where a number, a name or '(' should be");
}

static void test_methods(void) {
    refused(HEAD STEPS "methods: []\n", "r.yaml:7:10: methods must have 1 to 256 entries, got 0");
    refused(HEAD STEPS "methods: {name: a}\n", "r.yaml:7:10: methods must be a list, got a section of keys");
    refused(HEAD STEPS "methods: [a]\n", "r.yaml:7:11: each of methods must be a section of keys, got 'a'");
    refused(SMALL "  - {name: SGD, compressor: none}\n", "r.yaml:10:5: method name 'SGD' is used twice");
    refused(SMALL "  - {name: T, compressor: topk, k: [5, 5]}\n", "r.yaml:10:5: method name 'T k=5' is used twice");
    refused(SMALL "  - {name: T, compressor: topk, k: 2.5}\n", "r.yaml:10:36: k must be a whole number, got 2.5");
    refused(SMALL "  - {name: T, compressor: topk, k: [1, -2/1]}\n",
            "r.yaml:10:40: each of k must be between 1 and 4294967295, got '-2/1'");
    refused(SMALL "  - {name: T, compressor: hard-threshold, lambda: -1}\n",
            "r.yaml:10:51: lambda must be between 0 and 3.4028234663852886e+38, got -1");
    refused(
        SMALL "  - {name: T, compressor: hard-treshold, lambda: 1}\n",
        "r.yaml:10:27: unknown compressor 'hard-treshold' (did you mean 'hard-threshold'? Or load it with --plugin)");
    refused(SMALL "  - {compressor: none}\n", "r.yaml:10:5: missing key 'name' (name in results and figures)");
    refused(SMALL "  - {name: T, compressor: topk, k: [[1]]}\n",
            "r.yaml:10:37: each of k must be a number, an expression or a list of these, got a list");
    accepted(SMALL "  - {name: T, compressor: hard-threshold, lambda: 5e-3/gamma}\n", "an expression as parameter");

    struct sg_recipe recipe;
    struct sg_error err;
    ok(parse_set(&recipe, SMALL "  - {name: H, compressor: hard-threshold}\n", NULL, 0, &err) == SG_ERR_ARGUMENT &&
           strncmp(err.msg, "r.yaml:10:5: method 'H': ", 25) == 0 && strstr(err.msg, "lambda") != NULL,
       "hard-threshold without lambda: %s", err.msg);
    ok(parse_set(&recipe, SMALL "  - {name: T, compressor: topk, k: 1, density: 0.1}\n", NULL, 0, &err) ==
               SG_ERR_ARGUMENT &&
           strncmp(err.msg, "r.yaml:10:5: method 'T': ", 25) == 0,
       "topk with both k and density: %s", err.msg);
    ok(parse_set(&recipe, SMALL "  - {name: T, compressor: topk}\n", NULL, 0, &err) == SG_ERR_ARGUMENT,
       "topk with neither: %s", err.msg);
    const char *const momentum = "optimizer.momentum=0.9";
    ok(parse_set(&recipe, SMALL, &momentum, 1, &err) == SG_ERR_ARGUMENT &&
           strstr(err.msg, "error-feedback 'update'") != NULL,
       "momentum with the update form: %s", err.msg);
    const char *const gradient[] = {momentum, "error-feedback=gradient"};
    ok(parse_set(&recipe, SMALL, gradient, 2, &err) == SG_OK, "momentum with the gradient form");
    sg_recipe_free(&recipe);
    const char *const nesterov = "optimizer.nesterov=1";
    ok(parse_set(&recipe, SMALL, &nesterov, 1, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "nesterov") != NULL,
       "nesterov without momentum: %s", err.msg);
}

#define CLAIM SMALL "claims:\n  - {text: t, metric: loss, "

static void test_claims(void) {
    refused(CLAIM "of: Topk, at-most: 1}\n", "r.yaml:11:33: unknown method 'Topk' (did you mean 'Top-k'?)");
    refused(CLAIM "of: SGD}\n", "r.yaml:11:5: a claim needs 'at-most' or 'at-least'");
    refused(CLAIM "of: SGD, at-most: 1, at-least: 0}\n",
            "r.yaml:11:5: a claim has one bound, 'at-most' or 'at-least' (write two claims)");
    refused(CLAIM "of: SGD, at-most: {times: 2, of: nobody}}\n",
            "r.yaml:11:62: of must be one of SGD, Top-k, got 'nobody'");
    refused(CLAIM "of: SGD, at-most: much}\n",
            "r.yaml:11:47: at-most must be a number or a section of keys, got 'much'");
    refused(CLAIM "of: SGD, at-most: 1, at: {}}\n",
            "r.yaml:11:54: choose one of final, tail-median, tail-mean, max, min, mean, sum, epoch, step, when");
    refused(CLAIM "of: SGD, at-most: 1, at: {max: true, min: true}}\n",
            "r.yaml:11:54: choose one of final, tail-median, tail-mean, max, min, mean, sum, epoch, step, when");
    refused(CLAIM "of: SGD, at-most: 1, at: {max: false}}\n", "r.yaml:11:60: max can only be true");
    refused(CLAIM "of: SGD, at-most: 1, at: {when: loss}}\n", "r.yaml:11:54: 'when' and 'below' go together");
    refused(CLAIM "of: SGD, at-most: 1, at: {tail-mean: 0}}\n",
            "r.yaml:11:66: tail-mean must be greater than 0 and at most 1, got 0");
    refused(SMALL "plots: [{x: epoch, y: loss, log: z, methods: [Top-k, B]}]\n",
            "r.yaml:10:34: log must be one of none, x, y, xy, got 'z'\n"
            "r.yaml:10:54: each of methods must be one of SGD, Top-k, got 'B'");
    refused(SMALL "plots: [{x: epoch, y: loss, y-range: [2, 1]}]\n", "r.yaml:10:38: y-range must ascend, got [2, 1]");
    refused(SMALL "plots: [{x: epoch, y: loss, x-range: [2]}]\n",
            "r.yaml:10:38: x-range must have 2 to 2 entries, got 1");
    refused(HEAD STEPS "methods:\n  - {name: T, compressor: topk, k: [1, 2]}\nclaims:\n"
                       "  - {text: t, metric: loss, of: T, at-most: 1}\n",
            "r.yaml:10:33: of must be one of T k=1, T k=2, got 'T'");
}

static void test_normal_form(void) {
    struct sg_recipe recipe;
    struct sg_error err;
    const char *text = SMALL "  - {name: H, compressor: hard-threshold, lambda: 1}\n"
                             "seeds: {first: 5, count: 2}\n"
                             "claims:\n"
                             "  - {text: t, metric: error-norm, of: SGD, at: {tail-median: 0.2}, at-most: 3}\n"
                             "  - {text: t, metric: error-norm, of: SGD, at: {tail-median: 0.2},\n"
                             "     at-least: {times: 2, metric: error-bound, of: H}}\n"
                             "plots: [{x: epoch, y: error-norm}]\n";
    const char *const series = "record.series=[loss, error-norm]";
    if (!ok(parse_set(&recipe, text, &series, 1, &err) == SG_OK && recipe.claim_problems == NULL, "normal form: %s",
            err.msg))
        return;
    const struct sg_node *root = &recipe.root;
    ok(strcmp(sg_node_string(root, "task.l2", ""), "L/10000") == 0, "default expression");
    ok(sg_node_bool(root, "task.solve-optimum", false), "default boolean");
    ok(sg_node_get(root, "task.start.offset-from-optimum")->kind == SG_NODE_NULL, "absent keys are null");
    ok(sg_node_get(root, "task.start.offset_from_optimum") == sg_node_get(root, "task.start.offset-from-optimum"),
       "either spelling");
    ok(strcmp(sg_node_string(root, "message.encoding", ""), "raw") == 0 &&
           strcmp(sg_node_string(root, "message.values", ""), "fp32") == 0,
       "default message");
    ok(strcmp(sg_node_string(root, "error-feedback.form", ""), "update") == 0, "default form");
    ok(sg_node_number(root, "error-feedback.decay", NAN) == 1, "default decay");
    ok(sg_node_number(root, "seeds.0", NAN) == 5 && sg_node_number(root, "seeds.1", NAN) == 6 &&
           sg_node_get(root, "seeds.2") == NULL,
       "seeds: a range becomes a list");
    ok(strcmp(sg_node_string(root, "claims.0.metric", ""), "error_norm") == 0, "series in snake case");
    const struct sg_node *at = sg_node_get(root, "claims.0.at");
    ok(at->count == 1 && sg_node_number(at, "tail-median", NAN) == 0.2, "only the chosen selector stays");
    ok(sg_node_number(root, "claims.0.at-most", NAN) == 3, "a bare bound stays a number");
    const struct sg_node *bound = sg_node_get(root, "claims.1.at-least");
    ok(sg_node_number(bound, "times", NAN) == 2 && sg_node_number(bound, "plus", NAN) == 0 &&
           strcmp(sg_node_string(bound, "of", ""), "H") == 0 &&
           strcmp(sg_node_string(bound, "metric", ""), "error_bound") == 0 &&
           sg_node_number(bound, "at.tail-median", NAN) == 0.2,
       "a bound is complete");
    ok(sg_node_bool(root, "plots.0.x-at.final", false), "default selector");
    ok(sg_node_get(root, "workers")->line == 0 && sg_node_get(root, "steps")->line == 6 &&
           sg_node_get(root, "steps")->column == 8 && sg_node_get(root, "steps")->key_column == 1,
       "places");
    ok(sg_node_get(root, "nothing.here") == NULL && sg_node_get(root, "seeds.x") == NULL &&
           sg_node_get(root, "name.x") == NULL,
       "paths that lead nowhere");
    ok(strcmp(recipe.text, text) == 0 && strlen(recipe.sha256) == 64, "text and hash are kept");
    sg_recipe_free(&recipe);
    ok(recipe.path == NULL && recipe.root.count == 0, "freed and zeroed");
}

static void test_heading(void) {
    static const char line[] = "# yaml-language-server: $schema=recipe.schema.json\n";
    const char *const text[] = {SMALL, "# yaml-language-server: $schema=recipe.schema.json\n" SMALL,
                                "# A word.\n" SMALL};
    struct sg_recipe recipe[3];
    struct sg_error err;
    for (size_t i = 0; i < 3; i++)
        if (parse_set(&recipe[i], text[i], NULL, 0, &err) != SG_OK)
            ok(false, "%s", err.msg);
    ok(sg_recipe_heading(text[0]) == 0 && sg_recipe_heading(text[1]) == sizeof line - 1 &&
           sg_recipe_heading("# yaml-language-server: no end") == 0,
       "the line for editors is found");
    ok(strcmp(recipe[0].sha256, recipe[1].sha256) == 0 && strcmp(recipe[1].text, text[1]) == 0 &&
           strcmp(recipe[0].sha256, recipe[2].sha256) != 0,
       "it is part of the text and not of what is hashed");
    for (size_t i = 0; i < 3; i++)
        sg_recipe_free(&recipe[i]);
}

static void test_limits(void) {
    struct sg_recipe recipe;
    struct sg_error err;
    size_t length = 2 << 20;
    char *text = malloc(length + 1);
    memset(text, '#', length);
    text[length] = '\0';
    ok(sg_recipe_parse(&recipe, text, length, "r.yaml", NULL, 0, &err) == SG_ERR_FORMAT, "2 MiB: %s", err.msg);
    size_t used = (size_t)snprintf(text, length, "%s", "schema: 1\n");
    for (int i = 0; i < 300; i++)
        used += (size_t)snprintf(text + used, length - used, "key%d: 1\n", i);
    refused(text, "r.yaml:257:1: more than 256 keys in one section");
    used = (size_t)snprintf(text, length, "%s", "schema: 1\nname: [");
    for (int i = 0; i < 10001; i++)
        used += (size_t)snprintf(text + used, length - used, "\n1,");
    refused(text, "r.yaml:10003:1: more than 10000 entries in one list");

    used = (size_t)snprintf(text, length, "%s", SMALL "title: a\n");
    for (int i = 0; i < 15; i++)
        used += (size_t)snprintf(text + used, length - used, "zzzzzzzzzzzzzzzz%d: 1\n", i);
    sg_status status = parse_set(&recipe, text, NULL, 0, &err);
    size_t lines = 1;
    for (const char *s = err.msg; (s = strchr(s, '\n')) != NULL; s++)
        lines++;
    ok(status == SG_ERR_ARGUMENT && lines == 11 && strstr(err.msg, "\n… and 5 more") != NULL,
       "ten problems, then a count");

    used = (size_t)snprintf(text, length, "%s", SMALL "seeds: {count: 1000}\n");
    refused_set(text, "methods.Top-k.k=[1,2,3,4,5,6,7,8,9,10]", "r.yaml:8:3: 11000 cells are more than 10000");
    used = (size_t)snprintf(text, length, "%s", SMALL "  - {name: SGD, compressor: none}\n");
    for (int list = 0; list < 2; list++) {
        used += (size_t)snprintf(text + used, length - used, list ? "batch: [1" : "stretch: [1");
        for (int i = 2; i < 71; i++)
            used += (size_t)snprintf(text + used, length - used, ",%d", i);
        used += (size_t)snprintf(text + used, length - used, "]\n");
    }
    refused(text, "r.yaml:8:5: more than 4096 combinations of methods and lists"); /* once, not for each method */
    used = (size_t)snprintf(text, length, "%s", SMALL "  - {name: T, compressor: topk, k: [0");
    for (int i = 1; i < 257; i++)
        used += (size_t)snprintf(text + used, length - used, ",%d", i);
    snprintf(text + used, length - used, "]}\n");
    refused(text, "r.yaml:10:36: k must have 1 to 256 entries, got 257");
    free(text);
}

static void test_reference(void) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    sg_recipe_reference(out);
    fclose(out);
    char *start = strstr(text, "```yaml\n"), *end = start != NULL ? strstr(start + 8, "```") : NULL;
    if (ok(end != NULL, "the reference begins with an example")) {
        *end = '\0';
        accepted(start + 8, "the example of the reference");
        *end = '`';
    }
    static const char *const row[] = {
        "\n* `encodings` (list of auto|raw|bitmap|delta-varint|rice|elias-fano; =[auto]):\n  ",
        "\n* `operations` (list of ef-threshold|ef-topk-warm|ef-topk-cold|randomk|scatter-add|sum-squares|"
        "quickselect|nth-element|torch-topk|torch-threshold|encode|decode|cub-select|cub-sort|ef-"
        "qsgd|"
        "lowrank-products|torch-products|ef-powersgd|newton-schulz|torch-newton-schulz; required):\n  ",
        "\n* `sizes` (list of resnet18|lstm|ncf or integer; required):\n  ",
        "\n* `seeds` (list of integers; 0..; =[1]):\n  ",
        "\n* `series` (list of series; required):\n  ",
        "\n* `metric` (series or constant; required):\n  ",
        "\n* `bits`, in bit per worker: nominal bits",
        "\n* `test-accuracy-averaged`: ",
        "\n* `error_bound`: ",
        "\n* `row_mean`: ",
        "\n### compressor `randomk`\n\na random subset of every layer\n\n* `k`, `density`: as in `topk`\n"
        "* `unbiased` (integer; 0..1; =0):\n  ",
        "\n* `participation` (number*; 0..1, not 0; =1):\n  ",
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ok(strstr(text, row[i]) != NULL, "in the reference: %s", row[i]);
    ok(strstr(text, "\n* `workers` (integer*; 1..65536; =1):\n  ") != NULL, "a row of the reference");
    free(text);
}

static void test_sizes(void) {
    accepted(SMALL "exchange: {buckets: 25MB}\n", "a size with a unit");
    accepted(SMALL "exchange: {buckets: 1000000}\n", "a number of bytes");
    refused(SMALL "exchange: {buckets: 25 megs}\n", "r.yaml:10:21: buckets must be a number of bytes, or one "
                                                    "with a unit, as 25MB or 25MiB, got '25 megs'");
}

int main(void) {
    test_yaml();
    test_keys();
    test_values();
    test_methods();
    test_claims();
    test_normal_form();
    test_heading();
    test_limits();
    test_reference();
    test_sizes();
    return tap_done();
}
