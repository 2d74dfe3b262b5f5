/* sparsebench: the grid methods x parameters x seeds of a recipe; each cell is a sparsetrain process. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_bench.h"
#include "sg_clock.h"
#include "sg_file.h"
#include "sg_grid.h"
#include "sg_grid_cells.h"
#include "sg_grid_view.h"
#include "sg_options.h"
#include "sg_plot.h"
#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_terminal.h"
#include "sg_version.h"

enum { MOST_RECIPES = 64 };

static struct {
    const char *output, *launcher, *folder, *data, *device, *program, *color;
    bool force, json, table, fresh, any_version, cells, prune, dry_run, strict, judge, help_recipe, quiet, verbose;
    bool fake_clock, corrupt;
    int64_t jobs, threads, points;
    struct sg_option_list methods, seeds, set;
} opt = {.color = "auto", .judge = true};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "What to run"},
    {SG_OPTION_LIST, "method", 0, &opt.methods, .value = "LABEL",
     .help = "only cells of this method, by name (all of its cells) or label; may be repeated"},
    {SG_OPTION_LIST, "seed", 0, &opt.seeds, .value = "N", .help = "only cells of this seed; may be repeated"},
    {SG_OPTION_LIST, "set", 0, &opt.set, .value = "KEY=VALUE",
     .help = "change a recipe key (workers=4, methods.Top-k.k=5); may be repeated"},
    {SG_OPTION_STRING, "data", 0, &opt.data, .value = "DIR",
     .help = "folder of the data sets; else $SPARSE_DATA, else datasets/cache"},
    {SG_OPTION_STRING, "device", 0, &opt.device, .value = "DEVICE", .help = "cpu, cuda or cuda:N"},
    {SG_OPTION_FLAG, "fresh", 0, &opt.fresh, .help = "run every cell again, finished or not"},
    {SG_OPTION_FLAG, "any-version", 0, &opt.any_version,
     .help = "reuse finished cells whatever version of the program made them"},
    {SG_OPTION_FLAG, "dry-run", 0, &opt.dry_run,
     .help = "list the cells and whether each would be run, resumed or reused, with --json also their resolved "
             "recipes, and stop"},
    {SG_OPTION_FLAG, "help-recipe", 0, &opt.help_recipe, .help = "describe every recipe key"},
    {SG_OPTION_GROUP, .name = "How to run it"},
    {SG_OPTION_INT, "jobs", 'j', &opt.jobs, .value = "N", .min = 0, .max = 4096,
     .help = "cells at once, 0 = cores / threads, or 1 under a launcher"},
    {SG_OPTION_INT, "threads", 0, &opt.threads, .value = "N", .min = 0, .max = 1024,
     .help = "threads of each cell, 0 = cores / jobs; results do not depend on it"},
    {SG_OPTION_STRING, "launcher", 0, &opt.launcher, .value = "COMMAND",
     .help = "put before each cell's command: \"mpirun -n 4\""},
    {SG_OPTION_STRING, "folder", 0, &opt.folder, .value = "DIR",
     .help = "where cells are kept, default results/local/NAME/cells"},
    {SG_OPTION_STRING, "program", 0, &opt.program, .value = "FILE", .help = "sparsetrain to run", .hidden = true},
    {SG_OPTION_GROUP, .name = "What is kept"},
    {SG_OPTION_FLAG, "cells", 0, &opt.cells,
     .help = "list the cells of a folder instead, and which of them the given recipes ask for"},
    {SG_OPTION_FLAG, "prune", 0, &opt.prune,
     .help = "with --cells: remove those that no given recipe asks for with the present version and data; with "
             "--dry-run only say which"},
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "output", 'o', &opt.output, .value = "FILE", .help = "write JSON there, whole or not at all"},
    {SG_OPTION_INT, "points", 0, &opt.points, .value = "N", .min = 0, .max = 1e9,
     .help = "thin the series in the result to at most N points, 0 = all; finals and claims use every record"},
    {SG_OPTION_FLAG, "json", 0, &opt.json, .help = "JSON on stdout, also on a terminal (default in a pipe)"},
    {SG_OPTION_FLAG, "table", 0, &opt.table, .help = "the table on stdout, also in a pipe"},
    {SG_OPTION_FLAG, "force", 'f', &opt.force,
     .help = "replace FILE if it exists; a partial result of the same command is replaced anyway"},
    {SG_OPTION_FLAG, "judge", 0, &opt.judge,
     .help = "judge the claims and compare with the baseline; --no-judge for runs that are too short for it"},
    {SG_OPTION_FLAG, "strict", 0, &opt.strict, .help = "exit 3 if a claim fails"},
    {SG_OPTION_GROUP, .name = "Messages"},
    {SG_OPTION_FLAG, "quiet", 'q', &opt.quiet, .help = "errors and warnings only"},
    {SG_OPTION_FLAG, "verbose", 'v', &opt.verbose, .help = "also what finished cells said, and every seed of a claim"},
    {SG_OPTION_CHOICE, "color", 0, &opt.color, .choices = "auto|always|never", .help = "colour verdicts"},
    {SG_OPTION_FLAG, "fake-clock", 0, &opt.fake_clock, .help = "all times are zero", .hidden = true},
    {SG_OPTION_FLAG, "corrupt", 0, &opt.corrupt, .help = "spoil the kernels' output", .hidden = true},
};

static const struct sg_program program = {
    .name = "sparsebench",
    .usage = "[options] RECIPE\n       sparsebench --cells [options] [RECIPE...]",
    .summary = "Run a recipe's methods at its seeds and judge its claims, or time the kernels of the compressors.",
    .details =
        "RECIPE may be - for stdin. Each cell (one method, one seed) is a sparsetrain process. A finished cell is\n"
        "not run again and a stopped one goes on from its checkpoint: give the same command again. Another version\n"
        "of the code behind its numbers, or other data, make a finished cell another.\n"
        "A recipe of kind: kernels runs in this process instead; wrong output of a kernel is no time and exit 3.\n"
        "The result is a table on a terminal, else JSON.\n\n"
        "Examples:\n"
        "  sparsebench recipes/fig1.yaml | sparseplot-export --format svg > fig1.svg\n"
        "  sparsebench recipes/fig1.yaml --set workers=4 --method Top-k --dry-run\n"
        "  sparsebench recipes/kernels.yaml --set 'sizes=[resnet18]' \\\n"
        "      --set 'threads=[2]' --table\n"
        "  sparsebench recipes/fig1.yaml --launcher \"mpirun -n 4\" -o fig1.json\n\n"
        "Exit: 0 done, 1 a cell failed or diverged, 2 usage or recipe error, 3 --strict and a claim fails,\n"
        "or a kernel's output is wrong, 128+n stopped by signal n.\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
};

static const char *task_kind(const struct sg_recipe *recipe) {
    return sg_node_string(&recipe->root, "task.kind", NULL);
}

static cJSON *version_json(const struct sg_recipe *recipe) {
    return sg_version_json(program.name, task_kind(recipe));
}

/* ---- the result ---- */

static struct sg_grid_command command; /* what the options choose of the recipe */

static cJSON *run_json(int argc, char **argv, const char *started_at, double start_s, const struct sg_grid_options *o) {
    cJSON *out = sg_result_command(argc, argv, started_at, sg_clock_s() - start_s);
    sg_json_set_number(out, "jobs", o->jobs);
    sg_json_set_number(out, "threads", o->threads > 0 ? (double)o->threads : NAN); /* null: sparsetrain's choice */
    sg_json_set_string(out, "launcher", o->launcher);
    sg_json_set_string(out, "folder", o->folder);
    sg_grid_command_json(out, &command);
    return out;
}

/* Re-read, as the exporters get it: the numbers in `result` are raw text. */
static sg_status print_table(const char *text, struct sg_error *err) {
    cJSON *parsed;
    sg_status status = sg_plot_parse(&parsed, text, strlen(text), "the result", err);
    if (status != SG_OK)
        return status;
    const struct sg_plot_select as_planned = {.seeds = opt.verbose, .color = sg_color(STDOUT_FILENO, opt.color)};
    status = sg_export(stdout, sg_exporter_find("table"), parsed, &as_planned, NULL, err);
    cJSON_Delete(parsed);
    return status;
}

/* The result to where it belongs; takes it over. A terminal gets the table, also beside -o. */
static bool table_wanted(void) {
    return opt.table || (sg_stdout_is_terminal() && !opt.json);
}

static sg_status deliver(cJSON *result, struct sg_file_writer *file, struct sg_error *err) {
    const bool has_rows = sg_json_get(result, "kind") || sg_grid_finished(result) > 0;
    char *text = sg_json_text(result, true);
    cJSON_Delete(result);
    if (!text)
        return sg_fail_memory(err, "the result");
    sg_status status = SG_OK;
    if (file->stream) {
        fputs(text, file->stream);
        status = sg_file_commit(file, err);
    } else if (!table_wanted()) {
        fputs(text, stdout);
    }
    if (status == SG_OK && table_wanted() && has_rows)
        status = print_table(text, err);
    free(text);
    return status;
}

/* ---- what is said at the end ---- */

static void report_cells(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *status = sg_grid_status(&outcomes[i]);
        const char *message =
            outcomes[i].message ? outcomes[i].message : sg_json_string(outcomes[i].run.end, "message", "?");
        if (strcmp(status, "failed") == 0)
            sg_log_error("%s, seed %" PRIu64 " failed: %s", cells[i].label, cells[i].seed, message);
        else if (strcmp(status, "diverged") == 0)
            sg_log_warning("%s, seed %" PRIu64 " diverged: %s", cells[i].label, cells[i].seed, message);
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(sg_json_string(outcomes[i].run.header, "dataset.source", ""), "generated") == 0) {
            sg_log_warning("the data are generated (%s), not the published set",
                           sg_json_string(outcomes[i].run.header, "dataset.name", "?"));
            break;
        }
}

static const char *verdict_color(const char *verdict) {
    return strcmp(verdict, "holds") == 0 ? "\033[32m" : strcmp(verdict, "fails") == 0 ? "\033[31m" : "\033[33m";
}

/* Returns whether a claim fails. The table says the same, so beside it this stays quiet. */
static bool report_claims(const cJSON *result, bool beside_table) {
    bool color = sg_color(STDERR_FILENO, opt.color), fails = false;
    const cJSON *claim;
    cJSON_ArrayForEach(claim, sg_json_get(result, "claims")) {
        const char *verdict = sg_json_string(claim, "verdict", ""), *reason = sg_json_string(claim, "reason", NULL);
        fails = fails || strcmp(verdict, "fails") == 0;
        if (!beside_table && strcmp(verdict, SG_NOT_JUDGED) != 0)
            sg_log_note("claim %s%s%s: %s%s%s%s", color ? verdict_color(verdict) : "", verdict, color ? "\033[0m" : "",
                        sg_json_string(claim, "text", ""), reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
    }
    const char *finding = sg_json_string(result, "summary.text", NULL);
    if (finding && !beside_table)
        sg_log_note("%s", finding);
    return fails;
}

static int exit_code(const char *status, bool claim_fails) {
    if (strcmp(status, "interrupted") == 0)
        return sg_exit_code(SG_ERR_INTERRUPTED);
    if (strcmp(status, "ok") != 0)
        return SG_EXIT_FAILED;
    return opt.strict && claim_fails ? SG_EXIT_GATE : SG_EXIT_OK;
}

/* ---- the run ---- */

static int list_cells(const struct sg_recipe *recipe, const struct sg_cell *cells,
                      const struct sg_cell_outcome *outcomes, size_t count) {
    sg_grid_view_found(outcomes, count);
    if (opt.json) {
        struct sg_error unused;
        cJSON *dataset = NULL, *plan = sg_grid_plan(version_json(recipe), recipe, cells, outcomes, count);
        if (count > 0 && sg_task_dataset(&dataset, &cells[0].resolved, opt.data, &unused) == SG_OK)
            sg_json_set(plan, "dataset", dataset);
        return sg_exit_code(sg_app_print_json(plan));
    }
    printf("# action  seed  label  file\n");
    for (size_t i = 0; i < count; i++)
        printf("%-8s  %4" PRIu64 "  %s  %s\n", sg_grid_action(&outcomes[i]), cells[i].seed, cells[i].label,
               outcomes[i].path);
    return SG_EXIT_OK;
}

struct bench {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    size_t all, count; /* in the recipe; chosen, these come first */
    struct sg_cell_outcome *outcomes;
    struct sg_grid_view view;
    struct sg_grid_options grid;
    char program[PATH_MAX], recipe_path[PATH_MAX], folder[PATH_MAX];
};

static sg_status prepare(struct bench *b, const char *path, struct sg_error *err) {
    sg_status status = sg_recipe_cells(&b->recipe, &b->cells, &b->all, err);
    if (status == SG_OK)
        status = sg_grid_choose(&b->count, b->cells, b->all, opt.methods.item, opt.methods.count, opt.seeds.item,
                                opt.seeds.count, err);
    if (status != SG_OK)
        return status;
    if (b->recipe.dangling)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s", b->recipe.dangling);
    b->outcomes = calloc(b->count + 1, sizeof *b->outcomes);
    if (!b->outcomes || !sg_grid_view_open(&b->view, b->count))
        return sg_fail_memory(err, "the cells");
    sg_grid_default_folder(b->folder, &b->recipe);
    b->grid = (struct sg_grid_options){.recipe_path = path,
                                       .set = opt.set.item,
                                       .n_set = opt.set.count,
                                       .program = b->program,
                                       .launcher = opt.launcher,
                                       .folder = opt.folder ? opt.folder : b->folder,
                                       .data_dir = opt.data,
                                       .device = opt.device,
                                       .identity = sg_version_identity(task_kind(&b->recipe)),
                                       .jobs = (int)opt.jobs,
                                       .threads = (int)opt.threads,
                                       .fresh = opt.fresh,
                                       .any_version = opt.any_version,
                                       .stop = sg_signal_pending,
                                       .changed = sg_grid_view_changed,
                                       .arg = &b->view};
    return SG_OK;
}

/* Run the grid. Cells that failed or were stopped are part of the result, so both come back. */
static sg_status run_grid(struct bench *b, cJSON **result, int argc, char **argv, struct sg_error *err) {
    char started_at[21];
    double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    sg_status status = sg_grid_program(b->program, opt.program, err);
    if (status == SG_OK && strcmp(b->grid.recipe_path, "-") == 0) {
        status = sg_grid_save_recipe(b->recipe_path, &b->recipe, b->grid.folder, err);
        b->grid.recipe_path = b->recipe_path;
    }
    if (status != SG_OK)
        return status;
    status = sg_grid_run(b->outcomes, b->cells, b->count, &b->grid, err);
    sg_grid_view_close(&b->view);
    if (status == SG_ERR_INTERRUPTED)
        sg_log_error("%s: give the same command again to resume", err->msg);
    else if (status != SG_OK)
        return status;
    *result = sg_grid_document(version_json(&b->recipe), run_json(argc, argv, started_at, start_s, &b->grid),
                               &b->recipe, b->cells, b->outcomes, b->count, (size_t)opt.points);
    if (!opt.judge)
        sg_grid_unjudge(*result, "--no-judge was given");
    return SG_OK;
}

/* ---- kernels ---- */

static void say_case(const char *what, size_t done, size_t total) {
    sg_log_note("%zu of %zu: %s", done + 1, total, what);
}

static void say_warning(const char *text) {
    sg_log_warning("%s", text);
}

/* In the form of the other results, so that one reader does for both. */
static int bench_kernels(const struct sg_recipe *recipe, int argc, char **argv) {
    const struct sg_bench_options how = {
        .corrupt = opt.corrupt, .stop = sg_signal_pending, .begin = say_case, .warn = say_warning};
    const struct sg_grid_options in_process = {.threads = 0};
    struct sg_file_writer file = {0};
    struct sg_error err = {.status = SG_OK};
    cJSON *results = NULL;
    char started_at[21];
    bool verified = false;
    double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    if (opt.dry_run)
        return sg_exit_code(sg_app_print_json(sg_recipe_json(recipe)));
    sg_status status = opt.output ? sg_file_begin(&file, opt.output, opt.force, &err) : SG_OK;
    if (status == SG_OK)
        status = sg_bench_run(&results, &verified, recipe, &how, &err);
    int code = status != SG_OK ? sg_exit_code(status) : verified ? SG_EXIT_OK : SG_EXIT_GATE;
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    else if (!verified)
        sg_log_error("a kernel's output differs from plain C's: those rows have no time");
    if (results) {
        cJSON *out = cJSON_CreateObject();
        sg_json_set_string(out, "schema", SG_SCHEMA_BENCH);
        sg_json_set_string(out, "kind", "kernels");
        sg_json_set_string(out, "status", status != SG_OK ? "interrupted" : verified ? "ok" : "failed");
        sg_json_set(out, "program", version_json(recipe));
        sg_json_set(out, "run", run_json(argc, argv, started_at, start_s, &in_process));
        sg_json_set(out, "recipe", sg_recipe_json(recipe));
        sg_json_set(out, "host", sg_result_host());
        sg_json_set(out, "results", results);
        status = deliver(out, &file, &err);
        if (status != SG_OK)
            sg_log_error("%s", err.msg);
        code = status != SG_OK && code == SG_EXIT_OK ? sg_exit_code(status) : code;
    }
    sg_file_abandon(&file);
    return code;
}

static int bench(struct bench *b, const char *path, int argc, char **argv) {
    struct sg_file_writer file = {0};
    struct sg_error err = {.status = SG_OK};
    cJSON *result = NULL;
    int code = SG_EXIT_OK;
    sg_status status = prepare(b, path, &err);
    if (status != SG_OK) {
        code = status == SG_ERR_MEMORY ? SG_EXIT_FAILED : SG_EXIT_USAGE; /* a recipe error in any of its forms */
    } else if (opt.dry_run) {
        status = sg_grid_look(b->outcomes, b->cells, b->count, &b->grid, &err);
        code = status == SG_OK ? list_cells(&b->recipe, b->cells, b->outcomes, b->count) : sg_exit_code(status);
    } else {
        if (opt.output)
            status = sg_file_begin(&file, opt.output, opt.force || sg_grid_is_partial(opt.output, &b->recipe, &command),
                                   &err);
        if (status == SG_OK)
            status = run_grid(b, &result, argc, argv, &err);
        if (status == SG_OK) {
            bool fails = report_claims(result, table_wanted());
            code = exit_code(sg_json_string(result, "status", "failed"), fails);
            report_cells(b->cells, b->outcomes, b->count);
            status = deliver(result, &file, &err);
        }
        if (status != SG_OK && code == SG_EXIT_OK)
            code = sg_exit_code(status);
    }
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    sg_file_abandon(&file);
    sg_grid_outcomes_free(b->outcomes, b->outcomes ? b->count : 0);
    free(b->outcomes);
    sg_grid_view_close(&b->view);
    sg_recipe_cells_free(b->cells, b->all);
    return code;
}

static int keep_cells(const char *const *path, size_t n) {
    const struct sg_cells_command cells = {.recipe_path = path,
                                           .n_recipes = n,
                                           .set = opt.set.item,
                                           .n_set = opt.set.count,
                                           .folder = opt.folder,
                                           .data_dir = opt.data,
                                           .any_version = opt.any_version,
                                           .prune = opt.prune,
                                           .dry_run = opt.dry_run,
                                           .json = opt.json};
    struct sg_error err;
    sg_status status = sg_grid_cells_run(&cells, stdout, &err);
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    return sg_exit_code(status);
}

int main(int argc, char **argv) {
    const char *operand[MOST_RECIPES] = {NULL}, *path = NULL;
    size_t n_operands = 0;
    struct sg_error err;
    bool speaker;
    sg_app_start(program.name);
    enum sg_parse parse = sg_options_parse(&program, argc, argv, operand, MOST_RECIPES, &n_operands);
    if (parse != SG_PARSE_RUN)
        return sg_app_finish(parse == SG_PARSE_EXIT_OK ? SG_EXIT_OK : SG_EXIT_USAGE);
    if (opt.output && strcmp(opt.output, "-") == 0)
        opt.output = NULL;
    sg_app_set_verbosity(opt.quiet ? SG_QUIET : opt.verbose ? SG_VERBOSE : SG_NORMAL);
    sg_clock_set_fake(opt.fake_clock);
    if (opt.help_recipe) {
        sg_recipe_reference(stdout, false);
        return sg_app_finish(SG_EXIT_OK);
    }
    if (sg_grid_alone(&speaker, &err) != SG_OK) {
        if (speaker)
            sg_log_error("%s", err.msg);
        return sg_app_finish(speaker ? SG_EXIT_USAGE : SG_EXIT_OK);
    }
    if (opt.prune && !opt.cells) {
        sg_log_error("--prune goes with --cells");
        return sg_app_finish(SG_EXIT_USAGE);
    }
    if (opt.cells)
        return sg_app_finish(keep_cells(operand, n_operands));
    path = operand[0];
    if (n_operands > 1) {
        sg_log_error("unexpected argument '%s'", operand[1]);
        return sg_app_finish(SG_EXIT_USAGE);
    }
    if (n_operands == 0) {
        sg_log_error("no recipe given: name a YAML file, or - for stdin");
        return sg_app_finish(SG_EXIT_USAGE);
    }
    struct bench b = {.all = 0};
    command = (struct sg_grid_command){
        {opt.set.item, opt.set.count}, {opt.methods.item, opt.methods.count}, {opt.seeds.item, opt.seeds.count}};
    if (sg_recipe_read(&b.recipe, path, opt.set.item, opt.set.count, &err) != SG_OK) {
        sg_log_error("%s", err.msg);
        return sg_app_finish(err.status == SG_ERR_MEMORY ? SG_EXIT_FAILED : SG_EXIT_USAGE);
    }
    sg_signals_catch();
    const bool kernels = strcmp(sg_node_string(&b.recipe.root, "kind", ""), "kernels") == 0;
    int code = kernels ? bench_kernels(&b.recipe, argc, argv) : bench(&b, path, argc, argv);
    sg_recipe_free(&b.recipe);
    return sg_app_finish(code);
}
