/* sparsetune: chooses the threshold of a recipe, with evidence; runs cells as sparsebench does. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grid_program.h"
#include "sg_clock.h"
#include "sg_file.h"
#include "sg_result.h"
#include "sg_terminal.h"
#include "sg_tune.h"

static struct {
    struct sg_tune tune; /* what actions are told by options */
    struct sg_option_list methods;
    const char *output, *emitted;
    bool match_density, reach_baseline, theory, when, advise, force, json, table;
} opt = {.tune = {.tolerance = NAN, .target = NAN, .points = 8, .repeats = 16}};

/* Each has an option of its name. */
static const struct action {
    const char *name;
    sg_tune_action *run;
    bool lengths; /* recipes may list lengths of runs (`stretch`), for step efficiency */
} actions[] = {
    {"match-density", sg_tune_match_density},
    {"match-bytes", sg_tune_match_bytes},
    {"reach-baseline", sg_tune_reach_baseline, .lengths = true},
    {"oracle", sg_tune_oracle},
    {"rule", sg_tune_rule},
    {"theory", sg_tune_theory},
    {"when", sg_tune_when, .lengths = true},
    {"advise", sg_tune_advise, .lengths = true},
};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "What to find, one of"},
    {SG_OPTION_FLAG, "match-density", 0, &opt.match_density,
     .help = "for each Top-k density of the recipe, the lambda of each hard-threshold method with the same average "
             "density over the whole run"},
    {SG_OPTION_STRING, "match-bytes", 0, &opt.tune.budgets, .value = "SHARES",
     .help =
         "for each share of what no compression sends (0.03,0.003), the value of each method's own knob, as density, "
         "lambda, levels or rank, at which a worker sends that many bytes over the whole run; of:METHOD: as many as "
         "that method of the recipe sends"},
    {SG_OPTION_FLAG, "reach-baseline", 0, &opt.reach_baseline,
     .help = "the lambda that sends least among those whose metric comes within the tolerance of the run without "
             "compression"},
    {SG_OPTION_STRING, "rule", 0, &opt.tune.rule, .value = "NAME",
     .help =
         "for each Top-k of the recipe, with k entries a step of d, the paper's lambda: simple, 1/(2 sqrt k); or "
         "estimated, (2/sqrt k) sqrt((2 d/k + M) zeta^2 + sigma^2), the constants measured along a pilot; or noise, "
         "sqrt(mean |g_i|^2 / k), which sends as much as Top-k if gradients are noisy"},
    {SG_OPTION_STRING, "oracle", 0, &opt.tune.recording, .value = "RECORDING",
     .help =
         "of a run recorded with sparsetrain --record-inputs: the lambda of Lemma 3 for what it sent, the least total "
         "error, and the regret of every method of the recipe"},
    {SG_OPTION_FLAG, "theory", 0, &opt.theory,
     .help =
         "of logistic regression or a convolutional network: the right-hand sides of the paper's convergence results "
         "beside what the recipe's methods do"},
    {SG_OPTION_FLAG, "when", 0, &opt.when,
     .help =
         "when compression is worth it: over bandwidths and numbers of workers of a modelled network, the method that "
         "reaches the baseline's quality first, how many times sooner, and above which bandwidth none does"},
    {SG_OPTION_FLAG, "advise", 0, &opt.advise,
     .help =
         "which compressor to use: on recorded gradients (task recorded), or on the first tenth of a run, what each "
         "sends and loses, and how long its steps take on a modelled network, the fastest within the tolerance first"},
    {SG_OPTION_GROUP, .name = "How to find it"},
    {SG_OPTION_LIST, "method", 0, &opt.methods, .value = "LABEL",
     .help = "tune this method of the recipe only; may be repeated; the others stay as they are"},
    {SG_OPTION_NUMBER, "tolerance", 0, &opt.tune.tolerance, .value = "X", .min = 0, .max = 1e9,
     .help = "how near is near enough, relative: densities of --match-density, bytes of --match-bytes (default 0.05); "
             "the metric of --reach-baseline and --when (default the margin of its kind, as 0.5 points of an "
             "accuracy). --advise: the error, what is late or lost, that a method may have, sum of |p - C(p)|^2 / sum "
             "of |g|^2 (default 0.5)"},
    {SG_OPTION_FLAG, "padded", 0, &opt.tune.padded,
     .help = "--match-density: a step counts as its largest message, which is what an all-gather of equal sizes moves, "
             "not as the mean over workers"},
    {SG_OPTION_STRING, "metric", 0, &opt.tune.metric, .value = "SERIES",
     .help = "what --reach-baseline and --when look at, the median of its last fifth; default: the recipe's first of "
             "its task"},
    {SG_OPTION_NUMBER, "target", 0, &opt.tune.target, .value = "X", .min = -1e300, .max = 1e300,
     .help = "--when: the value of the metric to reach; default: what no compression has at its worst seed, within the "
             "tolerance"},
    {SG_OPTION_STRING, "bandwidths", 0, &opt.tune.bandwidths, .value = "LIST",
     .help =
         "--when: Gbit/s between nodes, ascending; default 0.1,0.3,1,3,10,30,100. All else of the network is as the "
         "recipe's section network says"},
    {SG_OPTION_STRING, "clusters", 0, &opt.tune.clusters, .value = "LIST",
     .help = "--when: numbers of workers, ascending; default 4,16,64,256"},
    {SG_OPTION_STRING, "candidates", 0, &opt.tune.candidates, .value = "LIST",
     .help =
         "--advise: built-in, methods of all kinds with a few settings each (default), or recipe, the methods of the "
         "recipe"},
    {SG_OPTION_STRING, "error", 0, &opt.tune.error, .value = "NAME",
     .help =
         "--advise: the error by which methods with equally fast steps are ranked: relative, that of --tolerance "
         "(default); "
         "mean, of all workers together; lag, the part of that along the next gradient; or drift, of all steps so far "
         "together"},
    {SG_OPTION_INT, "points", 0, &opt.tune.points, .value = "N", .min = 3, .max = 100000,
     .help = "--rule: points along the pilot, which is a tenth of a run"},
    {SG_OPTION_INT, "repeats", 0, &opt.tune.repeats, .value = "N", .min = 0, .max = 1000000,
     .help = "--rule: gradients that each worker draws at each point, 4 or more; 0 = expectations, where the "
             "task has them (logreg)"},
    {SG_OPTION_LIST, "set", 0, &cell_opt.set, .value = "KEY=VALUE",
     .help = "change a recipe key (workers=4); may be repeated; not part of the recipe that comes out"},
    {SG_OPTION_FLAG, "dry-run", 0, &opt.tune.dry_run,
     .help = "check the recipe, say which methods are tuned, and stop"},
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "output", 'o', &opt.output, .value = "FILE",
     .help = "write the evidence there as JSON, whole or not at all; default results/local/NAME/ACTION.json, renewed"},
    {SG_OPTION_STRING, "emit-recipe", 0, &opt.emitted, .value = "FILE",
     .help = "--advise: write the recipe there with up to eight of the listed methods beside no compression"},
    {SG_OPTION_FLAG, "json", 0, &opt.json, .help = "the evidence on stdout instead of the recipe"},
    {SG_OPTION_FLAG, "table", 0, &opt.table,
     .help = "of an action without a recipe to give, the evidence as a table on stdout, as on a terminal"},
    {SG_OPTION_FLAG, "force", 'f', &opt.force, .help = "replace FILE if it exists"},
};

static const struct sg_program program = {
    .name = "sparsetune",
    .usage = "ACTION [options] RECIPE",
    .operand = "yaml",
    .summary = "Choose the thresholds of a recipe, with evidence, or say when compression is worth it.",
    .details =
        "RECIPE may be - for stdin. The recipe comes out on stdout, written anew with lambda filled in, and is "
        "read by sparsebench; the evidence, every trial with its numbers, is JSON in a file beside. "
        "Trials are cells as sparsebench's, in its folder: what is finished is not run again, by neither of them.\n\n"
        "Examples:\n"
        "  sparsetune recipes/fig1.yaml --match-density | sparsebench - |\n"
        "      sparseplot-export --format svg > fig1.svg\n"
        "  sparsetune recipes/mini/fig2a.yaml --match-density -o evidence.json \\\n"
        "      > matched.yaml\n"
        "  sparsetune recipes/qsgd-madelon.yaml --match-bytes=0.3,0.15 > equal.yaml\n"
        "  sparsetune recipes/fig1.yaml --reach-baseline --json |\n"
        "      sparseplot-export --format svg > front.svg\n"
        "  sparsetune recipes/fig1-madelon.yaml --rule=estimated --repeats 0 \\\n"
        "      > by-rule.yaml\n"
        "  sparsetrain recipes/smoke.yaml --method Hard-threshold \\\n"
        "      --record-inputs ht.inputs -o ht.ndjson\n"
        "  sparsetune recipes/smoke.yaml --oracle ht.inputs\n"
        "  sparsetune recipes/smoke.yaml --when --set network.compute=1e-4 \\\n"
        "      --set task.start.offset-from-optimum=10 --table\n"
        "  sparsetune recipes/smoke.yaml --advise --emit-recipe best.yaml --table\n\n"
        "Exit: 0 done, 1 a run failed or diverged (--match-bytes: of a method; the others are in the recipe), 2 usage "
        "or recipe error, or nothing within the tolerance, "
        "128+n stopped by signal n.\n",
    .verbose = "also what finished cells said",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .shared = &cell_options,
};

static void say(const char *text) {
    sg_log_note("%s", text);
}

static struct sg_progress bar;

static void on_progress(const char *what, double done, double total) {
    sg_progress_show(&bar, *what ? what : "pilot", done, total);
}

/* Writes the evidence to its file, or to stdout; then the recipe, or for readers the table instead. */
static sg_status deliver(const struct sg_tune *t, struct sg_file_writer *file, struct sg_file_writer *recipe,
                         struct sg_error *err) {
    char *text = sg_json_text(t->evidence, true);
    sg_status status = SG_OK;
    if (file->stream) {
        fputs(text, file->stream);
        status = sg_file_commit(file, err);
    }
    if (status == SG_OK && recipe->stream) {
        fputs(t->text, recipe->stream);
        status = sg_file_commit(recipe, err);
    }
    const char *rest = t->text && !t->table ? t->text : opt.table || sg_stdout_is_terminal() ? t->table : text;
    if (status == SG_OK && (opt.json || rest))
        fputs(opt.json ? text : rest, stdout);
    free(text);
    return status;
}

/* Where the evidence goes: -o, or beside the cells; nowhere but stdout with --json alone, or if there are no cells. */
static sg_status open_output(struct sg_file_writer *file, const struct sg_recipe *recipe, const struct action *action,
                             struct sg_error *err) {
    char path[PATH_MAX];
    if (opt.output)
        return sg_file_begin(file, opt.output, opt.force, err);
    if (opt.json)
        return SG_OK;
    snprintf(path, sizeof path, "results/local/%s", sg_node_string(&recipe->root, "name", "recipe"));
    sg_status status = sg_folder_make(path, err);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s.json", action->name);
    return status == SG_OK ? sg_file_begin(file, path, true, err) : status;
}

/* A recipe of kind kernels has no cells, lists outside of methods make several recipes of one, and a --set may leave
 * claims without their methods. */
static sg_status read_cells(struct sg_tune *t, const struct sg_recipe *recipe, const struct action *action,
                            struct sg_error *err) {
    const bool lengths = action->lengths && !sg_node_absent(sg_node_get(&recipe->root, "step-efficiency"));
    sg_status status = sg_recipe_cells(recipe, &t->cells, &t->n_cells, err);
    for (size_t i = 0; status == SG_OK && i < t->n_cells; i++) {
        const struct sg_node *swept = t->cells[i].swept.child, *end = swept + t->cells[i].swept.count;
        while (lengths && swept < end && strcmp(swept->key, "stretch") == 0)
            swept++;
        char place[PATH_MAX];
        if (t->cells[i].trial > 0)
            status = sg_fail(err, SG_ERR_ARGUMENT,
                             "%s%s has a range, whose trials sparsebench runs; sparsetune takes one value (choose it "
                             "with --set, and leave the section tune out with --set tune=null)",
                             sg_node_place(place, sizeof place, recipe, t->cells[i].drawn.child),
                             t->cells[i].drawn.child[0].key);
        else if (swept < end)
            status =
                sg_fail(err, SG_ERR_ARGUMENT, "%s%s is a list, and sparsetune takes one value (choose it with --set)",
                        sg_node_place(place, sizeof place, recipe, swept), swept->key);
    }
    for (size_t i = 0; status == SG_OK && i < opt.methods.count; i++)
        status = sg_cell_label_check(t->cells, t->n_cells, "--method", opt.methods.item[i], err);
    if (status != SG_OK)
        return status;
    return recipe->claim_problems ? sg_fail(err, SG_ERR_ARGUMENT, "%s", recipe->claim_problems) : SG_OK;
}

static sg_status tune(const char *path, const struct sg_recipe *recipe, const struct action *action, int argc,
                      char **argv, struct sg_error *err) {
    char started_at[21];
    const double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    struct sg_file_writer file = {0}, emitted = {0};
    struct grid grid = {.folder = ""};
    struct sg_tune t = opt.tune;
    fill_options(&grid, recipe, path);
    sg_status status = read_cells(&t, recipe, action, err);
    if (status == SG_OK && !opt.tune.dry_run)
        status = open_output(&file, recipe, action, err);
    if (status == SG_OK && !opt.tune.dry_run && opt.emitted)
        status = sg_file_begin(&emitted, opt.emitted, opt.force, err);
    if (status == SG_OK && !opt.tune.dry_run)
        status = prepare_run(&grid, recipe, err);
    t.recipe = recipe;
    t.methods = &opt.methods;
    t.grid = grid.options;
    t.columns = (size_t)sg_terminal_columns(STDOUT_FILENO);
    t.emits = opt.emitted != NULL;
    t.progress = on_progress;
    t.say = say;
    t.view = &grid.view;
    SG_DO(status, action->run(&t, err));
    sg_progress_end(&bar);
    if (status == SG_OK && !opt.tune.dry_run) {
        cJSON_ReplaceItemInObjectCaseSensitive(t.evidence, "program", program_json(program.name, recipe));
        cJSON_ReplaceItemInObjectCaseSensitive(t.evidence, "run",
                                               sg_result_command(argc, argv, started_at, sg_clock_s() - start_s));
        status = deliver(&t, &file, &emitted, err);
        if (status == SG_OK && t.failed[0])
            status = sg_fail(err, SG_ERR_NONFINITE, "%s", t.failed);
    }
    sg_file_abandon(&file);
    sg_file_abandon(&emitted);
    sg_tune_free(&t);
    sg_recipe_cells_free(t.cells, t.n_cells);
    return status;
}

/* The one action that was asked for; NULL after a message. */
static const struct action *find_action(void) {
    enum { ACTIONS = sizeof actions / sizeof *actions };
    static const struct option_of uses[] = {
        {"bandwidths", "when"},      {"clusters", "when"},
        {"target", "when"},          {"candidates", "advise"},
        {"error", "advise"},         {"emit-recipe", "advise"},
        {"padded", "match-density"}, {"method", "match-density|match-bytes|reach-baseline|rule"}};
    const char *name[ACTIONS], *chosen;
    for (size_t i = 0; i < ACTIONS; i++)
        name[i] = actions[i].name;
    if (!choose_action(&chosen, name, ACTIONS, uses, sizeof uses / sizeof *uses))
        return NULL;
    for (size_t i = 0; i < ACTIONS; i++)
        if (strcmp(name[i], chosen) == 0)
            return &actions[i];
    sg_log_error("nothing to find: give an action, as --match-density (--help lists them)");
    return NULL;
}

int main(int argc, char **argv) {
    const struct action *action;
    const char *path = NULL;
    size_t n_operands;
    int code = begin_program(&program, argc, argv, &path, 1, &n_operands);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    sg_app_reexec_with_passive_waiting(argv);
    warn_of_plugins();
    struct sg_recipe recipe = {0};
    action = find_action();
    if (!action)
        return sg_app_finish(SG_EXIT_USAGE);
    if ((code = read_recipe(&recipe, path)) != SG_PARSE_RUN)
        return sg_app_finish(code);
    struct sg_error err;
    sg_signals_catch();
    const sg_status status = tune(path, &recipe, action, argc, argv, &err);
    if (status != SG_OK)
        sg_log_error("%s%s", err.msg, status == SG_ERR_INTERRUPTED ? ": give the same command again to resume" : "");
    sg_recipe_free(&recipe);
    return sg_app_finish(sg_exit_code(status));
}
