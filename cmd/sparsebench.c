/* sparsebench: the grid methods x parameters x seeds of a recipe; each cell is a sparsetrain process. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grid_program.h"
#include "live_page.h"
#include "sg_bench.h"
#include "sg_clock.h"
#include "sg_compare.h"
#include "sg_file.h"
#include "sg_grid_cells.h"
#include "sg_plot.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_verify_report.h"

enum { MOST_RECIPES = 64 };

static struct {
    const char *output, *html, *color, *network, *part;
    bool force, json, table, cells, prune, compare, dry_run, strict, judge, corrupt, verify;
    int64_t points;
    struct sg_option_list methods, seeds;
} opt = {.color = "auto", .judge = true};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "What to run"},
    {SG_OPTION_LIST, "method", 0, &opt.methods, .value = "LABEL",
     .help = "only cells of this method, by name (all of its cells) or label; may be repeated"},
    {SG_OPTION_LIST, "seed", 0, &opt.seeds, .value = "N", .help = "only cells of this seed; may be repeated"},
    {SG_OPTION_STRING, "part", 0, &opt.part, .value = "I/N",
     .help = "only the I-th of N parts of these cells, dealt in turn, for the jobs of an array; their claims are not "
             "judged"},
    {SG_OPTION_LIST, "set", 0, &cell_opt.set, .value = "KEY=VALUE",
     .help = "change a recipe key (workers=4, methods.Top-k.k=5); may be repeated"},
    {SG_OPTION_FLAG, "dry-run", 0, &opt.dry_run,
     .help = "list the cells and whether each would be run, resumed or reused, with --json also their resolved "
             "recipes, and stop"},
    {SG_OPTION_GROUP, .name = "What is kept"},
    {SG_OPTION_FLAG, "cells", 0, &opt.cells,
     .help = "list the cells of a folder instead, and which of them the given recipes ask for"},
    {SG_OPTION_FLAG, "prune", 0, &opt.prune,
     .help = "with --cells: remove those that no given recipe asks for with the present version and data; with "
             "--dry-run only say which"},
    {SG_OPTION_STRING, "network", 0, &opt.network, .value = "KEY=VALUE,...",
     .help = "add what the run would take on a modelled network (workers=64,link=10gbe-tcp): the keys of the recipe's "
             "section network; finished cells are reused"},
    {SG_OPTION_FLAG, "compare", 0, &opt.compare,
     .help = "say what differs between two results, value by value and paired by seed, beyond what the seeds' noise "
             "explains; nothing is run"},
    {SG_OPTION_FLAG, "verify-compressors", 0, &opt.verify,
     .help =
         "try what compressors promise, those of plug-ins too: nothing is lost, the declared class, exact bits, the "
         "same bits for any kernels, threads and ranks, resuming, damaged bytes; no recipe is read"},
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "output", 'o', &opt.output, .value = "FILE", .help = "write JSON there, whole or not at all"},
    {SG_OPTION_STRING, "html", 0, &opt.html, .value = "FILE",
     .help = "also write a page to read in a browser, renewed every few seconds while cells run"},
    {SG_OPTION_INT, "points", 0, &opt.points, .value = "N", .min = 0, .max = 1e9,
     .help = "thin the series in the result to at most N points, 0 = all; finals and claims use every record"},
    {SG_OPTION_FLAG, "json", 0, &opt.json, .help = "JSON on stdout, also on a terminal (default in a pipe)"},
    {SG_OPTION_FLAG, "table", 0, &opt.table, .help = "the table on stdout, also in a pipe"},
    {SG_OPTION_FLAG, "force", 'f', &opt.force,
     .help = "replace FILE if it exists; a partial result of the same command is replaced anyway"},
    {SG_OPTION_FLAG, "judge", 0, &opt.judge,
     .help = "judge the claims and compare with the baseline; --no-judge for runs that are too short for it"},
    {SG_OPTION_FLAG, "strict", 0, &opt.strict, .help = "exit 3 if a claim fails, or something differs beyond noise"},
    {SG_OPTION_CHOICE, "color", 0, &opt.color, .choices = "auto|always|never", .help = "colour verdicts"},
    {SG_OPTION_FLAG, "corrupt", 0, &opt.corrupt, .help = "spoil the kernels' output", .hidden = true},
};

static const struct sg_program program = {
    .name = "sparsebench",
    .usage = "[options] RECIPE\n       sparsebench --cells [options] [RECIPE...]\n"
             "       sparsebench --compare [options] RESULT RESULT\n"
             "       sparsebench --verify-compressors [options] [COMPRESSOR...]",
    .operand = "yaml|json",
    .summary = "Run a recipe's methods at its seeds and judge its claims, or time the kernels of the compressors.",
    .details =
        "RECIPE may be - for stdin. Each cell (one method, one seed) is a sparsetrain process. A finished cell is\n"
        "not run again and a stopped one goes on from its checkpoint: give the same command again. Another version\n"
        "of the code behind its numbers, or other data, make a finished cell another.\n"
        "A recipe of kind: kernels runs in this process instead; wrong output of a kernel is no time and exit 3.\n"
        "Its section compressors times one worker's step of every compressor, all rounds and the decoding of its\n"
        "own message, as a multiple of e += g.\n"
        "The result is a table on a terminal, else JSON.\n\n"
        "Examples:\n"
        "  sparsebench recipes/fig1.yaml | sparseplot-export --format svg > fig1.svg\n"
        "  sparsebench recipes/fig1.yaml --html fig1.html -o fig1.json\n"
        "  sparsebench recipes/fig1.yaml --set workers=4 --method Top-k --dry-run\n"
        "  sparsebench recipes/kernels.yaml --set 'sizes=[resnet18]' \\\n"
        "      --set 'threads=[2]' --table\n"
        "  sparsebench recipes/fig1.yaml --network workers=64,link=10gbe-tcp \\\n"
        "      | sparseplot-export --x time -o time.svg\n"
        "  sparsebench --compare before.json after.json\n"
        "  sparsebench --verify-compressors --plugin mine.so mine\n"
        "  sparsebench recipes/fig1.yaml --launcher \"mpirun -n 4\" -o fig1.json\n"
        "  sparsebench recipes/fig1.yaml --part $SLURM_ARRAY_TASK_ID/8 -o /dev/null\n\n"
        "Exit: 0 done, 1 a cell failed or diverged, 2 usage or recipe error, 3 --strict and a claim fails,\n"
        "something differs beyond noise, a kernel's output is wrong or a compressor breaks a promise,\n"
        "128+n stopped by signal n.\n",
    .verbose = "also what finished cells said, and every seed of a claim",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .shared = cell_options,
    .n_shared = N_CELL_OPTIONS,
};

static cJSON *version_json(const struct sg_recipe *recipe) {
    return program_json(program.name, recipe);
}

/* ---- the result ---- */

/* What the options choose of the recipe. */
static const struct sg_grid_command command = {&cell_opt.set, &opt.methods, &opt.seeds, &opt.part};

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
static sg_status print_table(const cJSON *result, struct sg_error *err) {
    cJSON *parsed;
    char *text = sg_json_text(result, false);
    if (!text)
        return sg_fail_memory(err, "the result");
    sg_status status = sg_plot_parse(&parsed, text, strlen(text), "the result", err);
    free(text);
    if (status != SG_OK)
        return status;
    const struct sg_plot_select as_planned = {.seeds = sg_app_verbosity() == SG_VERBOSE,
                                              .color = sg_color(STDOUT_FILENO, opt.color)};
    status = sg_export(stdout, sg_exporter_find("table"), parsed, &as_planned, NULL, err);
    cJSON_Delete(parsed);
    return status;
}

/* A terminal gets the table, also beside -o. */
static bool table_wanted(void) {
    return opt.table || (sg_stdout_is_terminal() && !opt.json);
}

/* The document to the file that was begun, else to stdout. */
static sg_status write_json(const cJSON *document, struct sg_file_writer *file, struct sg_error *err) {
    char *text = sg_json_text(document, true);
    if (!text)
        return sg_fail_memory(err, "the result");
    fputs(text, file->stream ? file->stream : stdout);
    free(text);
    return file->stream ? sg_file_commit(file, err) : SG_OK;
}

/* The result to where it belongs, and its page; takes it over. */
static sg_status deliver(cJSON *result, struct sg_file_writer *file, const struct live_page *page,
                         struct sg_error *err) {
    const bool has_rows = sg_json_get(result, "kind") || sg_grid_finished(result) > 0;
    sg_status status = file->stream || !table_wanted() ? write_json(result, file, err) : SG_OK;
    if (status == SG_OK && table_wanted() && has_rows)
        status = print_table(result, err);
    struct sg_error lost; /* the page is written even where the result could not be, because it would reload for ever */
    const sg_status paged = live_page_write(page, result, status == SG_OK ? err : &lost);
    status = status == SG_OK ? paged : status;
    cJSON_Delete(result);
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
        const cJSON *warning;
        cJSON_ArrayForEach(warning, sg_json_get(outcomes[i].run.end, "warnings")) sg_log_warning(
            "%s, seed %" PRIu64 ": %s", cells[i].label, cells[i].seed, sg_json_string(warning, "text", "?"));
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(sg_json_string(outcomes[i].run.header, "dataset.source", ""), "generated") == 0) {
            sg_log_warning("the data are generated (%s), not the published set",
                           sg_json_string(outcomes[i].run.header, "dataset.name", "?"));
            break;
        }
}

/* Returns whether a claim fails. The table says the same, so beside it this stays quiet. */
static bool report_claims(const cJSON *result, bool beside_table) {
    bool color = sg_color(STDERR_FILENO, opt.color), fails = false;
    const cJSON *claim;
    cJSON_ArrayForEach(claim, sg_json_get(result, "claims")) {
        const char *verdict = sg_json_string(claim, "verdict", ""), *reason = sg_json_string(claim, "reason", NULL);
        fails = fails || strcmp(verdict, "fails") == 0;
        if (!beside_table && strcmp(verdict, SG_NOT_JUDGED) != 0)
            sg_log_note("claim %s%s%s: %s%s%s%s", color ? sg_verdict_color(verdict) : "", verdict,
                        color ? "\033[0m" : "", sg_json_string(claim, "text", ""), reason ? " (" : "",
                        reason ? reason : "", reason ? ")" : "");
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

struct bench {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    size_t all, count; /* in the recipe; chosen, these come first */
    struct sg_cell_outcome *outcomes;
    struct grid grid;
    struct live_page page;
    char **argv; /* [argc] of this program */
    int argc;
    char started_at[21];
    double start_s;
};

/* What the result is, of the cells that are finished. */
static cJSON *document_of(const struct bench *b) {
    return sg_grid_document(version_json(&b->recipe),
                            run_json(b->argc, b->argv, b->started_at, b->start_s, &b->grid.options), &b->recipe,
                            b->cells, b->outcomes, b->count, (size_t)opt.points);
}

/* For sg_grid_options.changed, with the bench as its arg. */
static void show_change(void *bench, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                        size_t count) {
    struct bench *b = bench;
    const double begun_s = sg_clock_s();
    sg_grid_view_changed(&b->grid.view, cells, outcomes, count);
    if (!b->page.path || begun_s < b->page.next_s)
        return;
    sg_grid_read_running(b->outcomes, count);
    cJSON *so_far = document_of(b);
    sg_grid_forget_running(b->outcomes, count);
    live_page_renew(&b->page, begun_s, so_far, live_page_progress(cells, outcomes, count));
}

/* --dry-run. */
static sg_status list_cells(struct bench *b, struct sg_error *err) {
    sg_status status = sg_grid_look(b->outcomes, b->cells, b->count, &b->grid.options, err);
    if (status != SG_OK)
        return status;
    sg_grid_view_found(b->outcomes, b->count);
    if (opt.json) {
        struct sg_error unused;
        cJSON *dataset, *plan = sg_grid_plan(version_json(&b->recipe), &b->recipe, b->cells, b->outcomes, b->count);
        if (b->count > 0 && sg_task_dataset(&dataset, &b->cells[0].resolved, cell_opt.data, &unused) == SG_OK)
            sg_json_set(plan, "dataset", dataset);
        return sg_app_print_json(plan, "the plan", err);
    }
    printf("# action  seed  label  file\n");
    for (size_t i = 0; i < b->count; i++)
        printf("%-8s  %4" PRIu64 "  %s  %s\n", sg_grid_action(&b->outcomes[i]), b->cells[i].seed, b->cells[i].label,
               b->outcomes[i].path);
    return SG_OK;
}

static sg_status prepare(struct bench *b, const char *path, struct sg_error *err) {
    sg_status status = sg_recipe_cells(&b->recipe, &b->cells, &b->all, err);
    if (status == SG_OK)
        status = sg_grid_choose(&b->count, b->cells, b->all, &opt.methods, &opt.seeds, err);
    if (status == SG_OK && opt.part)
        status = sg_grid_choose_part(&b->count, b->cells, b->count, opt.part, err);
    if (status != SG_OK)
        return status;
    if (b->recipe.dangling)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s", b->recipe.dangling);
    b->outcomes = calloc(b->count + 1, sizeof *b->outcomes);
    if (!b->outcomes || !sg_grid_view_open(&b->grid.view, b->count))
        return sg_fail_memory(err, "the cells");
    fill_options(&b->grid, &b->recipe, path);
    b->grid.options.changed = show_change;
    b->grid.options.arg = b;
    return SG_OK;
}

/* Run the grid. Cells that failed or were stopped are part of the result, so both come back. */
static sg_status run_grid(struct bench *b, cJSON **result, struct sg_error *err) {
    b->start_s = sg_clock_s();
    sg_clock_utc(b->started_at);
    sg_status status = prepare_run(&b->grid, &b->recipe, err);
    if (status != SG_OK)
        return status;
    status = sg_grid_run(b->outcomes, b->cells, b->count, &b->grid.options, err);
    sg_grid_view_close(&b->grid.view);
    if (status == SG_ERR_INTERRUPTED)
        sg_log_error("%s: give the same command again to resume", err->msg);
    else if (status != SG_OK)
        return status;
    status = sg_grid_network(b->outcomes, b->cells, b->count, &b->recipe, err);
    if (status != SG_OK)
        return status;
    *result = document_of(b);
    if (!opt.judge || opt.part)
        sg_grid_unjudge(*result, opt.part ? "--part was given" : "--no-judge was given");
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
static cJSON *kernels_json(const struct sg_recipe *recipe, const char *status, cJSON *take_run, cJSON *take_results) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "schema", SG_SCHEMA_BENCH);
    sg_json_set_string(out, "kind", "kernels");
    sg_json_set_string(out, "status", status);
    sg_json_set(out, "program", version_json(recipe));
    sg_json_set(out, "run", take_run);
    sg_json_set(out, "recipe", sg_recipe_json(recipe));
    sg_json_set(out, "host", sg_result_host());
    sg_json_set(out, "results", take_results);
    return out;
}

static int bench_kernels(const struct sg_recipe *recipe, int argc, char **argv) {
    const struct sg_bench_options how = {
        .corrupt = opt.corrupt, .stop = sg_signal_pending, .begin = say_case, .warn = say_warning};
    const struct sg_grid_options in_process = {.threads = 0};
    struct sg_file_writer file = {0};
    struct sg_error err = {.status = SG_OK}, lost = err;
    struct live_page page = {.path = NULL};
    cJSON *results = NULL;
    char started_at[21];
    bool verified = opt.dry_run;
    double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    sg_status status = SG_OK, delivered = SG_OK;
    if (opt.dry_run)
        status = sg_app_print_json(sg_recipe_json(recipe), "the recipe", &err);
    else
        status = live_page_open(&page, opt.html, opt.output, opt.force, &err);
    if (status == SG_OK && !opt.dry_run && opt.output)
        status = sg_file_begin(&file, opt.output, opt.force, &err);
    if (status == SG_OK && !opt.dry_run)
        status = sg_bench_run(&results, &verified, recipe, &how, &err);
    const char *word = status != SG_OK ? "interrupted" : verified ? "ok" : "failed";
    if (results)
        delivered = deliver(kernels_json(recipe, word, run_json(argc, argv, started_at, start_s, &in_process), results),
                            &file, &page, &lost);
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    else if (!verified)
        sg_log_error("a kernel's output differs from plain C's: those rows have no time");
    if (delivered != SG_OK)
        sg_log_error("%s", lost.msg);
    sg_file_abandon(&file);
    return status != SG_OK ? sg_exit_code(status) : !verified ? SG_EXIT_GATE : sg_exit_code(delivered);
}

/* A grid that ended without a result says so on its page, which would reload itself for ever. */
static void close_page(const struct bench *b) {
    struct sg_error unused;
    cJSON *result = b->page.next_s > 0 ? document_of(b) : NULL;
    if (!result)
        return;
    sg_grid_unjudge(result, "the grid ended early");
    cJSON_DeleteItemFromObjectCaseSensitive(result, "status");
    sg_json_set_string(result, "status", "failed");
    if (live_page_write(&b->page, result, &unused) != SG_OK)
        sg_log_warning("the page is not renewed: %s", unused.msg);
    cJSON_Delete(result);
}

static int bench(struct bench *b, const char *path) {
    struct sg_file_writer file = {0};
    struct sg_error err = {.status = SG_OK};
    cJSON *result = NULL;
    int code = SG_EXIT_OK;
    sg_status status = prepare(b, path, &err);
    if (status != SG_OK) {
        code = status == SG_ERR_MEMORY ? SG_EXIT_FAILED : SG_EXIT_USAGE; /* a recipe error in any of its forms */
    } else if (opt.dry_run) {
        status = list_cells(b, &err);
        code = sg_exit_code(status);
    } else {
        status = live_page_open(&b->page, opt.html, opt.output, opt.force, &err);
        if (status == SG_OK && opt.output)
            status = sg_file_begin(&file, opt.output, opt.force || sg_grid_is_partial(opt.output, &b->recipe, &command),
                                   &err);
        if (status == SG_OK && (status = run_grid(b, &result, &err)) != SG_OK)
            close_page(b);
        if (status == SG_OK) {
            bool fails = report_claims(result, table_wanted());
            code = exit_code(sg_json_string(result, "status", "failed"), fails);
            report_cells(b->cells, b->outcomes, b->count);
            status = deliver(result, &file, &b->page, &err);
        }
        if (status != SG_OK && code == SG_EXIT_OK)
            code = sg_exit_code(status);
    }
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    sg_file_abandon(&file);
    sg_grid_outcomes_free(b->outcomes, b->outcomes ? b->count : 0);
    free(b->outcomes);
    sg_grid_view_close(&b->grid.view);
    sg_recipe_cells_free(b->cells, b->all);
    return code;
}

static int keep_cells(const char *const *path, size_t n) {
    const struct sg_cells_command cells = {.recipe_path = path,
                                           .n_recipes = n,
                                           .set = cell_opt.set.item,
                                           .n_set = cell_opt.set.count,
                                           .folder = cell_opt.folder,
                                           .data_dir = cell_opt.data,
                                           .any_version = cell_opt.any_version,
                                           .prune = opt.prune,
                                           .dry_run = opt.dry_run,
                                           .json = opt.json};
    struct sg_error err;
    sg_status status = sg_grid_cells_run(&cells, &err);
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    return sg_exit_code(status);
}

static int compare(const char *const *path, size_t n) {
    struct sg_error err;
    struct sg_file_writer file = {0};
    cJSON *comparison = NULL;
    if (n != 2) {
        sg_log_error("--compare: give two results of sparsebench");
        return SG_EXIT_USAGE;
    }
    sg_status status = sg_compare_files(&comparison, path[0], path[1], &err);
    const bool changed = status == SG_OK && sg_compare_changes(comparison) > 0;
    if (status == SG_OK && opt.output)
        status = sg_file_begin(&file, opt.output, opt.force, &err);
    if (status == SG_OK && !opt.json && (opt.table || !opt.output))
        sg_compare_print(stdout, comparison, sg_app_verbosity() == SG_VERBOSE);
    if (status == SG_OK && (opt.output || opt.json))
        status = write_json(comparison, &file, &err);
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    sg_file_abandon(&file);
    cJSON_Delete(comparison);
    return status != SG_OK ? sg_exit_code(status) : opt.strict && changed ? SG_EXIT_GATE : SG_EXIT_OK;
}

static void say_compressor(const char *name, size_t done, size_t total) {
    if (total > 1)
        sg_log_detail("%zu of %zu: %s", done + 1, total, name);
}

static int verify(const char *const *name, size_t n, int argc, char **argv) {
    const struct sg_verify_options how = {.name = name, .count = n, .stop = sg_signal_pending, .begin = say_compressor};
    const struct sg_recipe none = {.n_set = 0};
    struct sg_file_writer file = {0};
    struct sg_error err;
    cJSON *results = NULL, *document = cJSON_CreateObject();
    char started_at[21];
    bool passed = false;
    const double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    sg_status status = opt.output ? sg_file_begin(&file, opt.output, opt.force, &err) : SG_OK;
    if (status == SG_OK)
        status = sg_verify_report(&results, &passed, &how, &err);
    if (status == SG_OK && table_wanted())
        sg_verify_print(stdout, results);
    sg_json_set_string(document, "schema", "sparsebench-verify/1");
    sg_json_set_string(document, "status", passed ? "ok" : "failed");
    sg_json_set(document, "program", version_json(&none));
    sg_json_set(document, "run", sg_result_command(argc, argv, started_at, sg_clock_s() - start_s));
    sg_json_set(document, "host", sg_result_host());
    sg_json_set(document, "results", results);
    if (status == SG_OK && (opt.output || !table_wanted()))
        status = write_json(document, &file, &err);
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    else if (!passed)
        sg_log_error("a compressor breaks what it promises");
    sg_file_abandon(&file);
    cJSON_Delete(document);
    return status != SG_OK ? sg_exit_code(status) : passed ? SG_EXIT_OK : SG_EXIT_GATE;
}

/* --network workers=64,link=1gbe is --set network.workers=64 --set network.link=1gbe. */
static bool set_network(const char *text) {
    enum { KEYS = 16, CHARS = 96 };
    static char set[KEYS][CHARS];
    size_t n = 0;
    for (size_t length; *text; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (n == KEYS || length > 80 || cell_opt.set.count == sizeof cell_opt.set.item / sizeof *cell_opt.set.item) {
            sg_log_error("--network: too many or too long keys");
            return false;
        }
        snprintf(set[n], CHARS, "network.%.*s", (int)length, text);
        cell_opt.set.item[cell_opt.set.count++] = set[n++];
    }
    return true;
}

int main(int argc, char **argv) {
    const char *operand[MOST_RECIPES] = {NULL};
    size_t n_operands = 0;
    int code = begin_program(&program, argc, argv, operand, MOST_RECIPES, &n_operands);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    if (opt.output && strcmp(opt.output, "-") == 0)
        opt.output = NULL;
    if (opt.network && !set_network(opt.network))
        return sg_app_finish(SG_EXIT_USAGE);
    if (opt.verify) {
        sg_signals_catch();
        return sg_app_finish(verify(operand, n_operands, argc, argv));
    }
    if (opt.cells)
        return sg_app_finish(keep_cells(operand, n_operands));
    if (opt.compare)
        return sg_app_finish(compare(operand, n_operands));
    if (opt.prune || n_operands > 1) {
        sg_log_error(opt.prune ? "--prune goes with --cells" : "unexpected argument '%s'", operand[1]);
        return sg_app_finish(SG_EXIT_USAGE);
    }
    struct bench b = {.argc = argc, .argv = argv};
    code = read_recipe(&b.recipe, operand[0]);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    sg_signals_catch();
    const bool kernels = strcmp(sg_node_string(&b.recipe.root, "kind", ""), "kernels") == 0;
    code = kernels ? bench_kernels(&b.recipe, argc, argv) : bench(&b, operand[0]);
    sg_recipe_free(&b.recipe);
    return sg_app_finish(code);
}
