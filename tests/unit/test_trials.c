/* Trials: what they draw, the cells that they are, what recipes refuse, and the result of a study on constructed
 * runs. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "made_document.h"
#include "recipe_grid.h"

#define TUNE                                                                                                           \
    "schema: 1\n"                                                                                                      \
    "name: tuned\n"                                                                                                    \
    "task: {kind: logreg, dataset: madelon}\n"                                                                         \
    "optimizer: {learning-rate: log 1e-3..1}\n"                                                                        \
    "record: {series: [loss, bits]}\n"                                                                                 \
    "steps: 100\n"                                                                                                     \
    "seeds: [3, 1, 2]\n"                                                                                               \
    "tune: {trials: 5, by: loss}\n"
#define TUNED                                                                                                          \
    TUNE "methods:\n"                                                                                                  \
         "  - {name: SGD, compressor: none, baseline: true}\n"                                                         \
         "  - {name: Top-k, compressor: topk, k: [1, 10]}\n"                                                           \
         "  - {name: Fixed, compressor: topk, k: 1, learning-rate: 0.25}\n"

enum { TRIALS = 5, SEEDS = 3 };

static const struct sg_cell *find(const struct grid *g, const char *label, uint64_t seed) {
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->cell[i].label, label) == 0 && g->cell[i].study == seed)
            return &g->cell[i];
    printf("Bail out! no cell %s\n", label);
    exit(1);
}

static double rate(const struct sg_cell *cell) {
    return sg_node_number(&cell->resolved, "optimizer.learning-rate", NAN);
}

/* ---- cells ---- */

static void test_cells(void) {
    struct grid g, more, single;
    static const char *const others[] = {"methods.Top-k.k=10", "seeds=[1,7]"};
    if (!open_grid(&g, TUNED, NULL, 0))
        return;
    ok(g.count == 3 * 2 * TRIALS * SEEDS + SEEDS,
       "methods and lists x trials x seeds, as many that may win, and one run of fixed keys: %zu", g.count);
    const struct sg_cell *first = &g.cell[0], *cell = find(&g, "Top-k k=10 trial=4", 1), *fixed = find(&g, "Fixed", 2),
                         *winner = find(&g, "Top-k k=10 winner=4", 1);
    ok(strcmp(first->label, "SGD trial=1") == 0 && first->study == 3 && g.cell[2].study == 2 && g.cell[3].trial == 2,
       "trials around seeds");
    ok(cell->seed == 1 + SG_TRIAL_SEEDS && sg_node_number(&cell->resolved, "seed", 0) == 1 + SG_TRIAL_SEEDS &&
           winner->seed == 1 && winner->winner && winner->trial == 4 && fixed->seed == 2 && fixed->study == 2,
       "trials run at seeds of their own, and what wins and what is not tuned at the recipe's");
    ok(rate(winner) == rate(cell) && strcmp(winner->group, cell->group) == 0, "a winner has the trial's values");
    ok(strcmp(cell->group, "Top-k k=10") == 0 && strcmp(cell->name, "Top-k") == 0 && cell->trial == 4, "names");
    ok(strcmp(fixed->group, "Fixed") == 0 && fixed->trial == 0 && fixed->drawn.count == 0 && rate(fixed) == 0.25,
       "a method with its own value is not tuned");
    ok(cell->drawn.count == 1 && sg_node_number(&cell->drawn, "learning_rate", NAN) == rate(cell), "what it drew");
    ok(rate(cell) == rate(find(&g, "SGD trial=4", 1)), "methods share the draws of a key");
    ok(rate(cell) != rate(find(&g, "SGD trial=3", 1)) && rate(cell) != rate(find(&g, "SGD trial=4", 2)),
       "trials and seeds draw for themselves");
    ok(sg_cell_is(cell, "Top-k k=10") && sg_cell_is(cell, "Top-k") && sg_cell_is(cell, "Top-k k=10 trial=4") &&
           !sg_cell_is(cell, "Top-k k=1"),
       "a trial belongs to its label, the label of its result and its method");
    if (open_grid(&more, TUNED, others, 2)) {
        ok(strcmp(find(&more, "Top-k trial=4", 1)->key, cell->key) == 0, "a trial is the same cell among other seeds");
        close_grid(&more);
    }
    char set[64];
    const char *value = set;
    snprintf(set, sizeof set, "optimizer.learning-rate=%s", cell->drawn.child[0].string);
    const char *const one[] = {value, "tune=null", "seeds=[1,1001]"};
    if (open_grid(&single, TUNED, one, 3)) {
        ok(strcmp(find(&single, "Top-k k=10", 1)->key, winner->key) == 0 &&
               strcmp(find(&single, "Top-k k=10", 1001)->key, cell->key) == 0,
           "trial and winner are cells of a recipe with this value");
        close_grid(&single);
    }
    close_grid(&g);
}

/* The first part has whole studies. */
static void test_parts(void) {
    struct grid g;
    struct sg_error err;
    size_t chosen = 0, first = 0;
    if (!open_grid(&g, TUNED, NULL, 0))
        return;
    const bool fine = sg_grid_choose_part(&chosen, g.cell, g.count, "2/4", &err) == SG_OK;
    for (size_t i = 0; fine && i < chosen; i++)
        first += g.cell[i].trial == 1;
    size_t trials = 0;
    for (size_t i = 0; i < chosen; i++)
        trials += g.cell[i].trial > 0;
    ok(fine && first > 0 && trials == TRIALS * first, "a part has all trials of its studies: %zu of %zu", trials,
       first);
    close_grid(&g);
}

/* ---- draws ---- */

#define TO_DRAW TUNE "methods: [{name: A, compressor: topk, k: 1}]\n"

/* Counts a stratum for each value that lies in it. A value has 4 digits, which may have moved it over a border. */
static void count_stratum(size_t *count, size_t trials, double u) {
    for (size_t s = 0; s < trials; s++)
        count[s] += u * (double)trials > (double)s - 0.02 && u * (double)trials < (double)s + 1.02;
}

/* Of n trials each nth of the range has one, on the scale of the range, in every study. */
static void test_strata(void) {
    static const size_t MOST = 23, STUDIES = 20;
    size_t empty = 0, seen = 0;
    for (size_t trials = 1; trials <= MOST; trials++) {
        char text[32];
        snprintf(text, sizeof text, "tune.trials=%zu", trials);
        const char *const set[] = {"error-feedback.decay=linear 0.5..0.75", "seeds=1..20", text};
        struct grid g;
        if (!open_grid(&g, TO_DRAW, set, 3))
            return;
        for (uint64_t seed = 1; seed <= STUDIES; seed++, seen++) {
            size_t count[2][23] = {{0}};
            for (size_t i = 0; i < g.count; i++)
                if (g.cell[i].study == seed && !g.cell[i].winner) {
                    count_stratum(count[0], trials, log(rate(&g.cell[i]) / 1e-3) / log(1e3));
                    count_stratum(count[1], trials,
                                  (sg_node_number(&g.cell[i].resolved, "error-feedback.decay", NAN) - 0.5) / 0.25);
                }
            for (size_t s = 0; s < trials; s++)
                empty += count[0][s] == 0 || count[1][s] == 0;
        }
        close_grid(&g);
    }
    ok(seen == MOST * STUDIES && empty == 0, "every stratum has a trial, for 1 to %zu trials: %zu have none", MOST,
       empty);
}

/* Counts and moments over many studies. z-bounds of 4.5 deviations, which strata only make safer. */
static void test_draws(void) {
    static const char *const set[] = {"methods.0.k=log 2..9", "error-feedback.decay=linear 0.5..0.75", "seeds=1..500",
                                      "tune.trials=6"};
    static const char text[] = TO_DRAW;
    struct grid g;
    if (!open_grid(&g, text, set, 4))
        return;
    double log_sum = 0, decay_sum = 0, both = 0;
    size_t count[10] = {0}, out = 0, draws = 0;
    for (size_t i = 0; i < g.count; i++) {
        const struct sg_node *run = &g.cell[i].resolved;
        if (g.cell[i].winner)
            continue;
        draws++;
        const double k = sg_node_number(run, "method.k", NAN), x = rate(&g.cell[i]),
                     decay = sg_node_number(run, "error-feedback.decay", NAN), u = log(x / 1e-3) / log(1e3);
        out += !(x >= 1e-3 && x <= 1 && decay >= 0.5 && decay <= 0.75 && k >= 2 && k <= 9 && k == floor(k));
        count[k >= 2 && k <= 9 ? (size_t)k : 0]++;
        log_sum += u;
        decay_sum += (decay - 0.5) / 0.25;
        both += (u - 0.5) * ((decay - 0.5) / 0.25 - 0.5);
    }
    const double n = (double)draws, bound = 4.5 * sqrt(n / 12);
    ok(draws == 3000 && out == 0, "%zu draws, all in their ranges", draws);
    ok(fabs(log_sum - n / 2) <= bound, "log: uniform in the logarithm (mean %.4f)", log_sum / n);
    ok(fabs(decay_sum - n / 2) <= bound, "linear: uniform (mean %.4f)", decay_sum / n);
    ok(fabs(both) <= 4.5 * sqrt(n) / 12, "keys are drawn independently (%.4f)", both / n * 12);
    size_t far = 0;
    for (size_t k = 2; k <= 9; k++) {
        const double p = log((double)(k + 1) / (double)k) / log(5);
        far += fabs((double)count[k] - n * p) > 4.5 * sqrt(n * p * (1 - p));
    }
    ok(far == 0, "whole numbers of a log range: n as often as [n, n + 1)");
    close_grid(&g);
}

/* ---- what is refused ---- */

static void test_refusals(void) {
    static const char only[] = TUNE "methods: [{name: A, compressor: topk, k: 1}]\n";
    static const struct {
        const char *set, *message;
    } wrong[] = {
        {"optimizer.learning-rate=log 1..1",
         "learning-rate must be a range of ascending numbers, log 1e-3..1 (above 0) or linear 0..1, got 'log 1..1'"},
        {"optimizer.learning-rate=log 0..1",
         "learning-rate must be a range of ascending numbers, log 1e-3..1 (above 0) or linear 0..1, got 'log 0..1'"},
        {"optimizer.learning-rate=log x..1",
         "learning-rate must be a range of ascending numbers, log 1e-3..1 (above 0) or linear 0..1, got 'log x..1'"},
        {"methods.0.k=linear 1.5..3", "each of k must be a whole number, got 1.5"},
        {"methods.0.k=[1, log 1..3]", "k: a range cannot be an entry of a list (write a method for each)"},
        {"error-feedback.decay=linear 0.5..2", "each of decay must be between 0 and 1, got 2"},
        {"workers=log 1..8", "workers cannot be drawn, because all trials have the same task, workers and length (draw "
                             "keys of optimizer, error-feedback or methods)"},
        {"methods.0.steps=log 1..8",
         "steps cannot be drawn, because all trials have the same task, workers and length (draw "
         "keys of optimizer, error-feedback or methods)"},
        {"tune=null", "learning-rate has a range, from which trials draw (add tune: {trials: 5, by: a series})"},
        {"optimizer.learning-rate=0.1",
         "tune: no key has a range to draw from (write one as learning-rate: log 1e-3..1)"},
        {"tune.by=error-norm", "by: series 'error-norm' is not recorded (add it to record.series)"},
        {"seeds=[1, 2, 1001]", "seeds 1001 and 1: the trials of the second run at the first (choose one below 1000)"},
        {"tune.trials=0", "trials must be between 1 and 1000, got 0"},
        {"tune.at={max: true, min: true}",
         "choose one of final, tail-median, tail-mean, max, min, mean, sum, epoch, step, when"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sg_recipe recipe;
        struct sg_error err;
        const sg_status status = parse_set(&recipe, only, &wrong[i].set, 1, &err);
        if (!ok(status != SG_OK && strstr(err.msg, wrong[i].message) != NULL, "%s", wrong[i].message))
            printf("# got: %s\n", status == SG_OK ? "accepted" : err.msg);
        sg_recipe_free(&recipe);
    }
}

/* ---- the result of a study ---- */

/* The value of a trial of a study, of the series that decides; NaN = it diverged, below 0 = it is not finished. The run
 * of a winner has FRESH more. */
typedef double loss_fn(uint64_t study, size_t trial);
#define FRESH 0.05

static struct sg_cell_outcome *make_runs(const struct sg_recipe *recipe, const struct sg_cell *cell, size_t count,
                                         loss_fn *loss) {
    const char *by = sg_node_string(&recipe->root, "tune.by", "");
    struct sg_cell_outcome *out = calloc(count, sizeof *out);
    struct sg_error err;
    for (size_t i = 0; out != NULL && i < count; i++) {
        const double x = loss(cell[i].study, cell[i].trial) + (cell[i].winner ? FRESH : 0);
        char text[1024];
        if (x < 0)
            continue;
        const int length =
            snprintf(text, sizeof text,
                     "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"columns\":[\"step\",\"epoch\",\"%s\"]}\n"
                     "{\"record\":\"step\",\"step\":100,\"epoch\":1,\"%s\":%.17g}\n"
                     "{\"record\":\"run\"}\n{\"record\":\"end\",\"status\":\"%s\",\"message\":null,\"steps\":100}\n",
                     by, by, isnan(x) ? 0 : x, isnan(x) ? "diverged" : "ok");
        if (sg_run_parse(&out[i].run, text, (size_t)length, "made", &err) != SG_OK)
            exit(1);
        out[i].state = isnan(x) ? SG_CELL_DIVERGED : SG_CELL_DONE;
    }
    return out;
}

/* The document of a grid with these losses; the caller deletes it. Of the trials it has the first `most`, and the runs
 * of winners that sparsebench would make. */
static cJSON *document_of(const struct grid *g, size_t most, loss_fn *loss) {
    struct sg_cell *cell = malloc(g->count * sizeof *cell);
    memcpy(cell, g->cell, g->count * sizeof *cell);
    const size_t all = sg_grid_put_winners_last(cell, g->count), trials = most < all ? most : all;
    struct sg_cell_outcome *trial = make_runs(&g->recipe, cell, trials, loss);
    const size_t count = trials < all ? trials : sg_grid_choose_winners(cell, trials, g->count, trial, &g->recipe);
    struct sg_cell_outcome *outcomes = make_runs(&g->recipe, cell, count, loss);
    cJSON *out = made_document(&g->recipe, NULL, cell, outcomes, count, 0);
    sg_grid_outcomes_free(trial, trials);
    sg_grid_outcomes_free(outcomes, count);
    free(trial);
    free(outcomes);
    free(cell);
    return out;
}

/* Seed 3: 0.5, diverged, 0.3, 0.4, 0.3. Seed 1: all diverged. Seed 2: 0.1 by trial 4. */
static double three_studies(uint64_t seed, size_t trial) {
    static const double of_3[] = {0.5, NAN, 0.3, 0.4, 0.3};
    return trial == 0 ? 0.2 : seed == 3 ? of_3[trial - 1] : seed == 1 ? NAN : trial == 4 ? 0.1 : 0.9;
}

static double unfinished(uint64_t seed, size_t trial) {
    return seed == 2 && trial == 5 ? -1 : three_studies(seed, trial);
}

static const cJSON *result_of(const cJSON *document, const char *label) {
    const cJSON *result;
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) if (strcmp(sg_json_string(result, "label", ""),
                                                                            label) == 0) return result;
    return NULL;
}

static double item(const cJSON *object, const char *path, int i) {
    return sg_json_number(cJSON_GetArrayItem(sg_json_get(object, path), i), "", NAN);
}

static void test_studies(void) {
    static const char text[] = TUNED "claims: [{text: t, metric: loss, of: SGD, at-most: 1}]\n";
    struct grid g;
    if (!open_grid(&g, text, NULL, 0))
        return;
    cJSON *document = document_of(&g, g.count, three_studies);
    const cJSON *sgd = result_of(document, "SGD"), *fixed = result_of(document, "Fixed");
    ok(cJSON_GetArraySize(sg_json_get(document, "results")) == 4, "a result for each label without trials");
    ok(item(sgd, "final.loss.values", 0) == 0.3 + FRESH && isnan(item(sgd, "final.loss.values", 1)) &&
           item(sgd, "final.loss.values", 2) == 0.1 + FRESH,
       "at each seed the winner's own run, none where all diverged");
    ok(item(sgd, "final.learning_rate.values", 0) == rate(find(&g, "SGD trial=3", 3)) &&
           item(sgd, "final.learning_rate.values", 2) == rate(find(&g, "SGD trial=4", 2)),
       "and what it drew; of equal trials the first");
    ok(sg_json_number(sgd, "tuned.trials", 0) == TRIALS && strcmp(sg_json_string(sgd, "tuned.by", ""), "loss") == 0 &&
           strcmp(sg_json_string(sgd, "tuned.winner.seed", ""), "3") == 0 &&
           sg_json_number(sgd, "tuned.winner.trial", 0) == 3 &&
           sg_json_number(sgd, "tuned.winner.value", 0) == 0.3 + FRESH,
       "the winner is of the median study; one without a value is worst");
    const cJSON *cells = sg_json_get(sgd, "cells"), *cell = cJSON_GetArrayItem(cells, 6);
    size_t won = 0;
    for (int i = 0; i < cJSON_GetArraySize(cells); i++)
        won += sg_json_bool(cJSON_GetArrayItem(cells, i), "won", false);
    size_t fresh = 0;
    for (int i = TRIALS * SEEDS; i < cJSON_GetArraySize(cells); i++)
        fresh += sg_json_bool(cJSON_GetArrayItem(cells, i), "fresh", false);
    ok(cJSON_GetArraySize(cells) == (TRIALS + 1) * SEEDS && won == SEEDS && fresh == SEEDS &&
           sg_json_bool(cell, "won", false) && sg_json_number(cell, "trial", 0) == 3 &&
           sg_json_number(cell, "value", 0) == 0.3 &&
           sg_json_number(cell, "drawn.learning_rate", 0) == rate(find(&g, "SGD trial=3", 3)),
       "all trials are in the result, and behind them the runs of winners");
    size_t edge[2] = {0};
    for (size_t s = 0; s < SEEDS; s++) {
        static const size_t best[SEEDS + 1] = {0, 1, 4, 3}; /* of the studies 1, 2 and 3 */
        bool is[2] = {true, true};
        for (size_t trial = 1; trial <= TRIALS; trial++) {
            char of[2][32];
            snprintf(of[0], sizeof of[0], "SGD trial=%zu", best[s + 1]);
            snprintf(of[1], sizeof of[1], "SGD trial=%zu", trial);
            is[0] = is[0] && rate(find(&g, of[1], s + 1)) >= rate(find(&g, of[0], s + 1));
            is[1] = is[1] && rate(find(&g, of[1], s + 1)) <= rate(find(&g, of[0], s + 1));
        }
        edge[0] += is[0];
        edge[1] += is[1];
    }
    ok(edge[0] + edge[1] > 0 && sg_json_number(sgd, "tuned.edges.learning_rate.least", -1) == (double)edge[0] &&
           sg_json_number(sgd, "tuned.edges.learning_rate.greatest", -1) == (double)edge[1],
       "in how many studies the least or the greatest draw won: %zu and %zu", edge[0], edge[1]);
    const double least = sg_json_number(document, "tuning.keys.learning_rate.least", -1),
                 greatest = sg_json_number(document, "tuning.keys.learning_rate.greatest", -1);
    ok(sg_json_number(document, "tuning.keys.learning_rate.studies", 0) == 3 * SEEDS && least == 3 * (double)edge[0] &&
           greatest == 3 * (double)edge[1] &&
           (2 * (least + greatest) > 3 * SEEDS) == (sg_json_string(document, "tuning.text", NULL) != NULL),
       "and of all labels: %g and %g", least, greatest);
    ok(sg_json_get(fixed, "tuned") == NULL &&
           sg_json_get(cJSON_GetArrayItem(sg_json_get(fixed, "cells"), 0), "trial") == NULL,
       "nothing of it where nothing is drawn");
    ok(strcmp(sg_json_string(document, "status", ""), "diverged") == 0,
       "a study without a value makes the result diverged");
    cJSON_Delete(document);

    document = document_of(&g, g.count, unfinished);
    const cJSON *claim = cJSON_GetArrayItem(sg_json_get(document, "claims"), 0);
    ok(strcmp(sg_json_string(claim, "verdict", ""), SG_NOT_JUDGED) == 0 &&
           strcmp(sg_json_string(document, "status", ""), "interrupted") == 0,
       "a study with an open trial is not judged");
    cJSON_Delete(document);
    document = document_of(&g, (TRIALS - 1) * SEEDS, three_studies);
    claim = cJSON_GetArrayItem(sg_json_get(document, "claims"), 0);
    ok(strcmp(sg_json_string(claim, "verdict", ""), SG_NOT_JUDGED) == 0,
       "and so is one of which a trial was not asked for");
    cJSON_Delete(document);
    close_grid(&g);
}

/* Trials that are noise. */
static double noisy(uint64_t seed, size_t trial) {
    return trial == 0 ? 1 : 1 + fmod((double)(seed * 7919 + trial * trial * 104729), 1009) / 1009;
}

static void test_more_trials(void) {
    static const char *const set[] = {"seeds=1..40", NULL};
    double before = INFINITY;
    size_t worse = 0;
    for (size_t trials = 1; trials <= 8; trials++) {
        struct grid g;
        char text[32];
        snprintf(text, sizeof text, "tune.trials=%zu", trials);
        const char *const both[] = {set[0], text};
        if (!open_grid(&g, TUNED, both, 2))
            return;
        cJSON *document = document_of(&g, g.count, noisy);
        const double mean = sg_json_number(result_of(document, "SGD"), "final.loss.mean", NAN);
        worse += !(mean <= before);
        before = mean;
        cJSON_Delete(document);
        close_grid(&g);
    }
    ok(worse == 0 && before < 1.25, "more trials make no study worse (mean of eight: %.3f)", before);
}

/* The rate that trial of study has in the grid of test_edges. */
static const struct grid *drawn;

static double falls(uint64_t study, size_t trial) {
    char label[32];
    snprintf(label, sizeof label, "SGD trial=%zu", trial);
    return trial == 0 ? 1 : 1 - rate(find(drawn, label, study)) / 2;
}

static double has_a_least(uint64_t study, size_t trial) {
    char label[32];
    snprintf(label, sizeof label, "SGD trial=%zu", trial);
    return trial == 0 ? 1 : 1 + fabs(log(rate(find(drawn, label, study)) / 0.03));
}

/* A method that is best at the end of its range is not tuned, and the document says so with the count. */
static void test_edges(void) {
    struct grid g;
    if (!open_grid(&g, TUNED, NULL, 0))
        return;
    drawn = &g;
    cJSON *document = document_of(&g, g.count, falls);
    ok(sg_json_bool(document, "tuning.keys.learning_rate.at_edge", false) &&
           strstr(sg_json_string(document, "tuning.text", ""),
                  "at the edge of its range: the least draw won in 0 of 9 studies and the greatest in 9") != NULL,
       "the greatest draw wins: %s", sg_json_string(document, "tuning.text", "nothing said"));
    cJSON_Delete(document);
    document = document_of(&g, g.count, has_a_least);
    ok(!sg_json_bool(document, "tuning.keys.learning_rate.at_edge", true) &&
           cJSON_IsNull(sg_json_get(document, "tuning.text")),
       "a value within the range wins, and nothing is said");
    cJSON_Delete(document);
    close_grid(&g);
}

static double accuracy(uint64_t seed, size_t trial) {
    return trial == 2 ? 0.5 : (double)seed / 10;
}

static void test_direction(void) {
    static const char text[] = "schema: 1\n"
                               "name: tuned\n"
                               "task: {kind: cnn, dataset: cifar10, model: resnet8}\n"
                               "optimizer: {learning-rate: log 1e-3..1}\n"
                               "record: {series: [test-accuracy]}\n"
                               "steps: 100\n"
                               "tune: {trials: 3, by: test-accuracy}\n"
                               "methods: [{name: A, compressor: none}]\n";
    struct grid g;
    if (!open_grid(&g, text, NULL, 0))
        return;
    cJSON *document = document_of(&g, g.count, accuracy);
    ok(sg_json_number(result_of(document, "A"), "tuned.winner.trial", 0) == 2, "the largest accuracy wins");
    cJSON_Delete(document);
    close_grid(&g);
}

int main(void) {
    test_cells();
    test_parts();
    test_strata();
    test_draws();
    test_refusals();
    test_studies();
    test_more_trials();
    test_edges();
    test_direction();
    return tap_done();
}
