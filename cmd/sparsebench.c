/* sparsebench: the grid methods x parameters x seeds of a recipe; each cell is a sparsetrain process. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "grid_program.h"
#include "sg_grid_network.h"
#include "sg_clock.h"
#include "sg_compare.h"
#include "sg_memory.h"
#include "sg_plot.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_terminal.h"
#include "sg_text.h"
#include "sg_train.h"
#include "sg_verify_report.h"

enum { MOST_RECIPES = 256 };

double launched_s;

double stop_at_s(void) {
    return isnan(opt.time_limit) ? 0 : launched_s + opt.time_limit;
}

/* ---- the run ---- */

struct bench {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    size_t all, chosen; /* in the recipe; of the methods, seeds and part that are asked for, which come first */
    size_t count;       /* of these the cells of the result: all but the runs of what did not win its study */
    struct sg_cell_outcome *outcomes;
    struct sg_grid_network network;
    bool modelled; /* there is a network */
    struct grid grid;
    char *page;  /* the file of --html; NULL = none */
    char **argv; /* [argc] of this program */
    int argc;
    char started_at[21];
    double start_s;
};

static const struct sg_grid_network *network_of(const struct bench *b) {
    return b->modelled ? &b->network : NULL;
}

/* What the result is, of the cells that are finished. */
static void fill_document(struct sg_document *out, const struct bench *b) {
    sg_grid_document(out, version_json(&b->recipe),
                     run_json(b->argc, b->argv, b->started_at, b->start_s, &b->grid.options), &b->recipe, network_of(b),
                     b->cells, b->outcomes, b->count, (size_t)opt.points);
}

/* The cell that takes most memory. */
struct largest {
    struct sg_train_memory memory;
    const char *label;
};

static void keep_largest(void *arg, const struct sg_cell *cell, const struct sg_train_memory *m) {
    struct largest *l = arg;
    if (!l->label || m->added > l->memory.added)
        *l = (struct largest){*m, cell->label};
}

static void keep_nothing(void *arg, const char *problem) {
    (void)arg, (void)problem;
}

/* What --dry-run says of memory: that of the largest cell. Mistakes and missing data are left to the run. */
static void look_at_memory(const struct bench *b) {
    struct largest most = {.label = NULL};
    const struct sg_train_check_options how = {.recipe = &b->recipe,
                                               .data_dir = cell_opt.data,
                                               .threads = (int)cell_opt.threads,
                                               .facts_only = true,
                                               .memory = keep_largest,
                                               .problem = keep_nothing,
                                               .arg = &most};
    struct sg_error err;
    if (sg_app_verbosity() == SG_QUIET || (cell_opt.device && strcmp(cell_opt.device, "cpu") != 0))
        return;
    (void)!sg_train_check(b->cells, b->count, &how, &err);
    char *line = most.label ? sg_train_memory_line(&most.memory) : NULL;
    if (line)
        sg_log_note("of all methods %s takes most: %s", most.label, line);
    else
        sg_log_note("memory: not known, see sparsetrain --check");
    free(line);
}

/* What --dry-run says of trials. */
static void count_trials(const struct bench *b) {
    size_t trials = 0, studies = 0;
    for (size_t i = 0; i < b->count; i++) {
        trials += b->cells[i].trial > 0 && !b->cells[i].winner;
        studies += b->cells[i].trial == 1 && !b->cells[i].winner;
    }
    if (trials > 0)
        sg_log_note("%zu of the %zu cells are trials of %zu studies, each of which ends with a run of its winner",
                    trials, b->count, studies);
}

/* Adds the runs of the winners to the cells, as far as these are known; returns how many cells there were before. */
static size_t add_winners(struct bench *b) {
    const size_t before = b->count;
    b->count = sg_grid_choose_winners(b->cells, before, b->chosen, b->outcomes, &b->recipe);
    return before;
}

/* --dry-run. */
static sg_status list_cells(struct bench *b, struct sg_error *err) {
    sg_status status = sg_grid_look(b->outcomes, b->cells, b->count, &b->grid.options, err);
    if (status != SG_OK)
        return status;
    const size_t trials = add_winners(b);
    status = sg_grid_look(b->outcomes + trials, b->cells + trials, b->count - trials, &b->grid.options, err);
    if (status != SG_OK)
        return status;
    sg_grid_view_found(b->outcomes, b->count);
    count_trials(b);
    const size_t others = sg_grid_count_others(b->grid.options.folder, b->outcomes, b->count);
    if (others > 0)
        sg_log_note("%zu other files in %s are no cells of these: rm removes what no recipe needs", others,
                    b->grid.options.folder);
    if (opt.json) {
        cJSON *dataset, *plan = sg_grid_plan(version_json(&b->recipe), &b->recipe, b->cells, b->outcomes, b->count);
        if (b->count > 0)
            status = sg_task_dataset(&dataset, &b->cells[0].resolved, cell_opt.data, err);
        if (b->count > 0 && status == SG_OK)
            sg_json_set(plan, "dataset", dataset);
        if (status == SG_ERR_MEMORY) { /* of data that are not there the plan says nothing */
            cJSON_Delete(plan);
            return status;
        }
        sg_app_print_json(plan);
        return SG_OK;
    }
    look_at_memory(b);
    printf("# action  seed  label  file\n");
    for (size_t i = 0; i < b->count; i++) {
        printf("%-8s  %4" PRIu64 "  %s", sg_grid_action(&b->outcomes[i]), b->cells[i].seed, b->cells[i].label);
        for (size_t k = 0; k < b->cells[i].drawn.count; k++)
            printf(" %s=%s", b->cells[i].drawn.child[k].key, b->cells[i].drawn.child[k].string);
        printf("  %s\n", b->outcomes[i].path);
    }
    return SG_OK;
}

static sg_status prepare(struct bench *b, const char *path, struct sg_error *err) {
    sg_status status = sg_recipe_cells(&b->recipe, &b->cells, &b->all, err);
    SG_DO(status, sg_grid_choose(&b->chosen, b->cells, b->all, &opt.methods, &opt.seeds, err));
    if (status == SG_OK && opt.part)
        status = sg_grid_choose_part(&b->chosen, b->cells, b->chosen, opt.part, err);
    if (status != SG_OK)
        return status;
    b->count = sg_grid_put_winners_last(b->cells, b->chosen);
    if (b->recipe.claim_problems)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s", b->recipe.claim_problems);
    status = sg_grid_network_read(&b->network, &b->modelled, &b->recipe, err); /* before any cell runs */
    if (status != SG_OK)
        return status;
    b->outcomes = sg_calloc(b->chosen + 1, sizeof *b->outcomes);
    sg_grid_view_open(&b->grid.view, b->count);
    fill_options(&b->grid, &b->recipe, path);
    b->grid.view.options = &b->grid.options;
    b->grid.options.stop_at_s = stop_at_s();
    return SG_OK;
}

/* Runs the trials and what has none, and then the winners. */
static sg_status run_cells(struct bench *b, struct sg_error *err) {
    sg_status status = sg_grid_run(b->outcomes, b->cells, b->count, &b->grid.options, err);
    const size_t trials = status == SG_OK ? add_winners(b) : b->count;
    if (b->count == trials)
        return status;
    sg_grid_view_close(&b->grid.view);
    sg_grid_view_open(&b->grid.view, b->count - trials);
    return sg_grid_run(b->outcomes + trials, b->cells + trials, b->count - trials, &b->grid.options, err);
}

/* Run the grid. Cells that failed or were stopped are part of the result, so both come back. */
static sg_status run_grid(struct bench *b, struct sg_document *result, struct sg_error *err) {
    b->start_s = sg_clock_s();
    sg_clock_utc(b->started_at);
    sg_status status = prepare_run(&b->grid, &b->recipe, err);
    if (status != SG_OK)
        return status;
    status = run_cells(b, err);
    sg_grid_view_close(&b->grid.view);
    if (status == SG_ERR_INTERRUPTED) {
        sg_grid_read_unfinished(b->outcomes, b->cells, b->count);
        report_reach(b->cells, b->outcomes, b->count);
        sg_log_error("%s: give the same command again to resume", err->msg);
    } else if (status != SG_OK) {
        return status;
    }
    status = sg_grid_derive(b->outcomes, b->cells, b->count, &b->recipe, network_of(b), err);
    if (status != SG_OK)
        return status;
    fill_document(result, b);
    if (!opt.judge || opt.part)
        sg_grid_unjudge(result, opt.part ? "--part was given" : "--no-judge was given");
    return SG_OK;
}

static int bench(struct bench *b, const char *path) {
    struct sg_file_writer file = {0};
    struct sg_error err = {.status = SG_OK};
    struct sg_document result = {0};
    int code = SG_EXIT_OK;
    sg_status status = prepare(b, path, &err);
    if (status != SG_OK) {
        code = status == SG_ERR_MEMORY ? SG_EXIT_FAILED : SG_EXIT_USAGE; /* a recipe error in any of its forms */
    } else if (opt.dry_run) {
        status = list_cells(b, &err);
        code = sg_exit_code(status);
    } else {
        status = page_target(&b->page, &err);
        if (status == SG_OK && opt.output)
            status = sg_file_begin(&file, opt.output, opt.force || sg_grid_is_partial(opt.output, &b->recipe, &command),
                                   &err);
        SG_DO(status, run_grid(b, &result, &err));
        if (status == SG_OK) {
            bool fails = report_claims(&result, table_wanted());
            code = exit_code(result.status, fails);
            report_cells(b->cells, b->outcomes, b->count);
            status = deliver(&result, &file, b->page, &err);
            if (status == SG_OK && table_wanted() && !opt.output)
                sg_log_note("the cells are kept in %s; -o FILE.json keeps the result, for sparseplot-export",
                            b->grid.options.folder);
        }
        if (status != SG_OK && code == SG_EXIT_OK)
            code = sg_exit_code(status);
    }
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    sg_file_abandon(&file);
    free(b->page);
    sg_document_free(&result);
    sg_grid_outcomes_free(b->outcomes, b->outcomes ? b->count : 0);
    free(b->outcomes);
    sg_grid_view_close(&b->grid.view);
    sg_recipe_cells_free(b->cells, b->all);
    return code;
}

/* The result of the recipe as it stands, FOLDER/NAME.json, beside that of a changed one, FOLDER/NAME,KEY=VALUE.json:
 * recipes/run names them so. NULL if the file's name has no change. */
static char *unchanged(const char *path) {
    const char *name = strrchr(path, '/');
    const char *comma = strchr(name ? name : path, ',');
    return comma ? sg_format("%.*s.json", (int)(comma - path), path) : NULL;
}

static int compare(const char *const *path, size_t n) {
    struct sg_error err;
    struct sg_file_writer file = {0};
    cJSON *comparison = NULL;
    char *before = n == 1 ? unchanged(path[0]) : NULL;
    if (n != 2 && !before) {
        sg_log_error("--compare: give two results of sparsebench, or one that is named by its change as "
                     "fig1,workers=10.json is");
        return SG_EXIT_USAGE;
    }
    sg_status status = sg_compare_files(&comparison, before ? before : path[0], path[n - 1], &err);
    free(before);
    const bool changed = status == SG_OK && sg_compare_changes(comparison) > 0;
    if (status == SG_OK && opt.output)
        status = sg_file_begin(&file, opt.output, opt.force, &err);
    if (status == SG_OK && !opt.json && (opt.table || !opt.output))
        sg_compare_print(stdout, comparison, sg_app_verbosity() == SG_VERBOSE,
                         (size_t)sg_terminal_columns(STDOUT_FILENO));
    return end_document(comparison, opt.output || opt.json, opt.strict && changed ? SG_EXIT_GATE : SG_EXIT_OK, &file,
                        status, &err);
}

static int rejudge(const char *const *path, size_t n) {
    struct sg_error err;
    struct sg_file_writer file = {0};
    struct sg_document result = {0};
    bool fails = false;
    if (n != 1) {
        sg_log_error("--rejudge: give one result of sparsebench");
        return SG_EXIT_USAGE;
    }
    sg_status status = sg_plot_read(&result, path[0], &err);
    if (status == SG_OK && opt.output)
        status = sg_file_begin(&file, opt.output, opt.force, &err);
    if (status == SG_OK) {
        sg_grid_rejudge(&result);
        fails = report_claims(&result, table_wanted());
        status = deliver(&result, &file, NULL, &err);
    }
    sg_document_free(&result);
    return end_document(NULL, false, opt.strict && fails ? SG_EXIT_GATE : SG_EXIT_OK, &file, status, &err);
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
    cJSON *results = NULL;
    char started_at[21];
    bool passed = false;
    const double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    sg_status status = opt.output ? sg_file_begin(&file, opt.output, opt.force, &err) : SG_OK;
    SG_DO(status, sg_verify_report(&results, &passed, &how, &err));
    if (status == SG_OK && table_wanted())
        sg_verify_print(stdout, results, (size_t)sg_terminal_columns(STDOUT_FILENO));
    cJSON *document = SG_OBJECT(SG_TEXT("schema", "sparsebench-verify/1"), SG_TEXT("status", passed ? "ok" : "failed"),
                                SG_VALUE("program", version_json(&none)),
                                SG_VALUE("run", sg_result_command(argc, argv, started_at, sg_clock_s() - start_s)),
                                SG_VALUE("host", sg_result_host()), SG_VALUE("results", results));
    const int code =
        end_document(document, opt.output || !table_wanted(), passed ? SG_EXIT_OK : SG_EXIT_GATE, &file, status, &err);
    if (code == SG_EXIT_GATE)
        sg_log_error("a compressor breaks what it promises");
    return code;
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
        if (!memchr(text, '=', length)) {
            sg_log_error("--network: '%.*s' is no KEY=VALUE: write for instance --network workers=16,link=10gbe-tcp "
                         "(--help-recipe network)",
                         (int)length, text);
            return false;
        }
        snprintf(set[n], CHARS, "network.%.*s", (int)length, text);
        cell_opt.set.item[cell_opt.set.count++] = set[n++];
    }
    return true;
}

/* False after a message: the options that were given do not go together. */
static bool check_options(void) {
    static const char *const actions[] = {"compare",        "rejudge",     "bundle", "audit", "verify-compressors",
                                          "measure-coding", "measure-link"};
    static const struct option_of uses[] = {
        {"share", "audit"},
        {"allow", "audit"},
        {"folder", "run|bundle"},
        {"method", "run|audit"},
        {"seed", "run|audit"},
        {"part", "run"},
        {"set", "run|measure-coding"},
        {"time-limit", "run|audit|measure-coding|measure-link"},
        {"dry-run", "run|measure-coding"},
        {"network", "run"},
        {"html", "run|measure-coding"},
        {"points", "run"},
        {"sort", "run"},
        {"strict", "run|compare|rejudge"},
        {"output", "run|compare|rejudge|audit|verify-compressors|measure-coding"},
        {"table", "run|compare|rejudge|audit|verify-compressors|measure-coding"},
        {"json", "run|compare|rejudge|audit|verify-compressors|measure-coding|measure-link"},
    };
    const char *action;
    return choose_action(&action, actions, sizeof actions / sizeof *actions, uses, sizeof uses / sizeof *uses);
}

int main(int argc, char **argv) {
    const char *operand[MOST_RECIPES] = {NULL};
    size_t n_operands = 0;
    launched_s = sg_clock_s();
    int code = begin_program(&program, argc, argv, operand, MOST_RECIPES, &n_operands);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    if (!check_options())
        return sg_app_finish(SG_EXIT_USAGE);
    warn_of_plugins();
    if (opt.output && strcmp(opt.output, "-") == 0)
        opt.output = NULL;
    if (opt.network && !set_network(opt.network))
        return sg_app_finish(SG_EXIT_USAGE);
    if (cell_opt.under_launcher)
        return sg_app_finish(measure_link());
    if (opt.verify) {
        sg_signals_catch();
        return sg_app_finish(verify(operand, n_operands, argc, argv));
    }
    if (opt.compare)
        return sg_app_finish(compare(operand, n_operands));
    if (opt.rejudge)
        return sg_app_finish(rejudge(operand, n_operands));
    if (opt.bundle)
        return sg_app_finish(make_bundle(operand, n_operands));
    if (opt.audit) {
        sg_signals_catch();
        return sg_app_finish(audit_results(operand, n_operands, argc, argv));
    }
    if (n_operands > 1) {
        sg_log_error("unexpected argument '%s'", operand[1]);
        return sg_app_finish(SG_EXIT_USAGE);
    }
    struct bench b = {.argc = argc, .argv = argv};
    code = opt.measure_coding ? read_coding(&b.recipe, operand[0]) : read_recipe(&b.recipe, operand[0]);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    sg_signals_catch();
    const bool kernels = strcmp(sg_node_string(&b.recipe.root, "kind", ""), "kernels") == 0;
    code = kernels ? bench_kernels(&b.recipe, argc, argv) : bench(&b, operand[0]);
    sg_recipe_free(&b.recipe);
    return sg_app_finish(code);
}
