/* sparsetrain: one run of EF-SGD, one method and one seed of a recipe. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rank_watch.h"
#include "sg_clock.h"
#include "sg_dataset.h"
#include "sg_grid.h"
#include "sg_host.h"
#include "sg_memory.h"
#include "sg_output.h"
#include "sg_plugins.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_terminal.h"
#include "sg_text.h"
#include "sg_train.h"
#include "train_options.h"

static double start_s;

static double stop_at_s(void) {
    return isnan(opt.time_limit) ? 0 : start_s + opt.time_limit;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static struct sg_progress bar;
static const char *running = ""; /* label of the cell */
static double fd_last_s;

/* Where another rank shows the progress. */
static void on_step(const char *what, double done, double total) {
    (void)total;
    if (*what == '\0')
        rank_watch_step(done);
}

static void on_progress(const char *what, double done, double total) {
    sg_progress_show(&bar, *what ? what : running, done, total);
    on_step(what, done, total);
    double now = sg_clock_s();
    if (opt.progress_fd >= 0 && *what == '\0' && (now - fd_last_s > 0.2 || done == total)) {
        fd_last_s = now;
        dprintf((int)opt.progress_fd, "%.0f %.0f\n", done, total);
    }
}

static void on_notice(const char *message) {
    sg_log_note("%s", message);
}

static const double MUCH_MEMORY = 1e9; /* bytes from which on a run says what it takes without being asked */
static double expected_bytes;

static void say_memory(enum sg_log_kind kind, const struct sg_train_memory *m) {
    char *line = sg_train_memory_line(m);
    if (line)
        sg_log(kind, "%s", line);
    free(line);
}

static void on_memory(const struct sg_train_memory *m) {
    expected_bytes = fmax(sg_memory_peak(), m->present + m->added); /* loading may have taken more */
    say_memory(expected_bytes >= MUCH_MEMORY ? SG_LOG_NOTE : SG_LOG_DETAIL, m);
}

static void on_memory_of_cell(void *arg, const struct sg_cell *cell, const struct sg_train_memory *m) {
    (void)arg, (void)cell;
    say_memory(SG_LOG_NOTE, m);
}

static void on_unknown_memory(void *arg, const char *why) {
    (void)arg;
    sg_log_note("memory: not known: %s", why);
}

/* What --dry-run says of memory. Data that are missing only mean that it cannot be known. */
static void look_at_memory(const struct sg_recipe *recipe, const struct sg_cell *cell) {
    const struct sg_train_check_options how = {.recipe = recipe,
                                               .data_dir = opt.data_dir,
                                               .threads = (int)opt.threads,
                                               .facts_only = true,
                                               .notice = on_notice,
                                               .memory = on_memory_of_cell,
                                               .problem = on_unknown_memory};
    struct sg_error err;
    if (sg_app_verbosity() != SG_QUIET && !(opt.device && strcmp(opt.device, "cpu") != 0) &&
        sg_train_check(cell, 1, &how, &err) == SG_ERR_MEMORY)
        on_unknown_memory(NULL, err.msg);
}

/* ---- recipe and cell --------------------------------------------------------------------------------------------- */

/* ", or values with --set for the lists workers, batch"; "" = the cell has no values of such lists. */
static const char *lists_text(char out[256], const struct sg_cell *cell) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < cell->swept.count && used < 256; i++)
        used += (size_t)snprintf(out + used, 256 - used, "%s %s", i ? "," : ", or values with --set for the lists",
                                 cell->swept.child[i].key);
    return out;
}

/* The cell to run: the one of --method, by its label or as the only one of the method. */
static sg_status choose_cell(const struct sg_cell **out, struct sg_cell *cells, size_t n, struct sg_error *err) {
    const char *named = opt.methods.count > 0 ? opt.methods.item[0] : NULL;
    char names[512], lists[256];
    size_t found;
    if (opt.methods.count > 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "--method is given %zu times: a run has one method", opt.methods.count);
    sg_status status = sg_grid_choose(&found, cells, n, &opt.methods, NULL, err);
    if (status != SG_OK)
        return status;
    for (size_t i = 1; i < found; i++)
        if (strcmp(cells[i].label, cells[0].label) != 0)
            return sg_fail(err, SG_ERR_ARGUMENT, "%s%s%s: choose one with --method%s: %s",
                           named ? "--method '" : "the recipe has several methods", named ? named : "",
                           named ? "' has several cells" : "", lists_text(lists, &cells[0]),
                           sg_cell_labels(names, sizeof names, cells, found));
    *out = cells;
    running = cells[0].label;
    return SG_OK;
}

static sg_status read_recipe(struct sg_recipe *recipe, const char *path, struct sg_error *err) {
    const char *set[65];
    char seeds[64];
    size_t n = 0;
    for (; n < opt.set.count; n++)
        set[n] = opt.set.item[n];
    if (opt.seed) {
        int64_t seed;
        if (!sg_parse_integer(&seed, opt.seed, 0, (int64_t)1 << 53))
            return sg_fail(err, SG_ERR_ARGUMENT, "--seed=%s: must be a whole number from 0 to 2^53", opt.seed);
        snprintf(seeds, sizeof seeds, "seeds=[%lld]", (long long)seed);
        set[n++] = seeds;
    }
    sg_status status = sg_recipe_read(recipe, path, set, n, err);
    if (status == SG_OK && opt.seed) /* the result names its seed by itself */
        recipe->n_recorded = opt.set.count;
    return status;
}

enum { MOST_PROBLEMS = 10 };

static void on_problem(void *count, const char *text) {
    if (++*(size_t *)count <= MOST_PROBLEMS)
        sg_log_error("%s", text);
}

/* --check: prints each mistake once, and other errors that stop the check. */
static sg_status check_cells(const struct sg_recipe *recipe, struct sg_cell *cells, size_t n) {
    struct sg_error err;
    size_t problems = 0, wanted;
    const struct sg_train_check_options how = {.recipe = recipe,
                                               .data_dir = opt.data_dir,
                                               .device = opt.device,
                                               .threads = (int)opt.threads,
                                               .progress = on_progress,
                                               .notice = on_notice,
                                               .at_once = (size_t)opt.at_once,
                                               .problem = on_problem,
                                               .arg = &problems};
    sg_status status = sg_grid_choose(&wanted, cells, n, &opt.methods, NULL, &err);
    SG_DO(status, sg_train_check(cells, wanted, &how, &err));
    sg_progress_end(&bar);
    if (status != SG_OK && problems == 0)
        sg_log_error("%s", err.msg);
    else if (problems > MOST_PROBLEMS)
        sg_log_error("… and %zu more", problems - MOST_PROBLEMS);
    return status;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* A launcher may hand a terminal to a rank whose output it collects. */
static enum sg_output_format choose_format(void) {
    if (opt.json || (!opt.ndjson && opt.output && sg_ends_in(opt.output, ".json")))
        return SG_OUTPUT_JSON;
    const bool person = !opt.ndjson && !opt.output && sg_stdout_is_terminal() && sg_comm_launch_rank() < 0;
    return opt.table || person ? SG_OUTPUT_TABLE : SG_OUTPUT_SERIES;
}

static sg_status identify_data(cJSON **dataset, const void *cell, struct sg_error *err) {
    return sg_task_dataset(dataset, &((const struct sg_cell *)cell)->resolved, opt.data_dir, err);
}

/* What the options ask for, the same on every rank. */
static sg_status plan_output(struct sg_output *o, const struct sg_cell *cell, struct sg_error *err) {
    if (opt.json + opt.ndjson + opt.table > 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "--json, --ndjson and --table exclude each other");
    if (opt.table && opt.output)
        return sg_fail(err, SG_ERR_ARGUMENT, "--table is for standard output: leave out -o, or write a series to it");
    if (opt.resume && !opt.output)
        return sg_fail(err, SG_ERR_ARGUMENT, "--resume needs -o FILE: the partial series is FILE.part");
    if (opt.record_inputs && opt.record_gradients)
        return sg_fail(err, SG_ERR_ARGUMENT, "--record-inputs and --record-gradients: a run writes one recording");
    if (opt.checkpoint && !opt.output)
        return sg_fail(err, SG_ERR_ARGUMENT, "--checkpoint needs -o FILE");
    const int columns = sg_terminal_columns(STDOUT_FILENO);
    static char identity[SG_CELL_IDENTITY]; /* the plan keeps a pointer to it */
    return sg_output_plan(
        o,
        &(struct sg_output_options){
            .format = choose_format(),
            .path = opt.output,
            .standard = stdout,
            .checkpoint = opt.checkpoint,
            .recording = opt.record_inputs ? opt.record_inputs : opt.record_gradients,
            .wanted = {.cell_key = cell->key, .identity = sg_cell_identity(identity, cell), .device = opt.device},
            .identify = identify_data,
            .identify_arg = cell,
            .resume = opt.resume,
            .force = opt.force,
            .columns = columns > 0 ? columns : 80},
        err);
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

static const double BUDGET_MISS = 0.02; /* share of the budget that is worth a warning */
static int stopped_by;                  /* the signal that stopped the run, whichever rank got it; 0 = none did */

static sg_status run(const struct sg_recipe *recipe, const struct sg_cell *cell, sg_comm *comm, struct sg_output *o,
                     struct sg_error *err) {
    bool lead = sg_comm_rank(comm) == 0, finished = false;
    sg_status status = plan_output(o, cell, err);
    if (status == SG_OK && lead)
        status = sg_output_look(&finished, o, err);
    rank_watch(stop_at_s(), o->checkpoint);
    status = sg_comm_agree(comm, status, err);
    SG_DO(status, sg_comm_broadcast(comm, &finished, sizeof finished, err));
    if (status == SG_OK && finished) {
        sg_log_note("%s is finished: nothing to resume", opt.output);
        return SG_OK;
    }
    SG_DO(status, sg_comm_agree(comm, lead ? sg_output_open(o, err) : SG_OK, err));
    if (status != SG_OK)
        return status;
    struct sg_train_options train = {.recipe = recipe,
                                     .cell = cell,
                                     .data_dir = opt.data_dir,
                                     .device = opt.device ? opt.device : "cpu",
                                     .threads = (int)opt.threads,
                                     .series = o->series,
                                     .checkpoint = o->checkpoint,
                                     .checkpoint_every = (uint64_t)opt.checkpoint_every,
                                     .record_inputs = opt.record_inputs ? o->recording : NULL,
                                     .record_gradients = opt.record_gradients ? o->recording : NULL,
                                     .k_from = opt.k_from,
                                     .resume = opt.resume,
                                     .stop = sg_signal_pending,
                                     .stop_at_s = stop_at_s(),
                                     .any_memory = !opt.memory_check,
                                     .progress = lead ? on_progress : on_step,
                                     .memory = lead ? on_memory : NULL,
                                     .notice = lead ? on_notice : NULL};
    struct sg_train_report report;
    status = sg_train_run(&report, comm, &train, err);
    stopped_by = report.signal;
    sg_progress_end(&bar);
    sg_log_detail("%s: %llu steps in %.3f s after %.3f s of set-up", report.status, (unsigned long long)report.steps,
                  report.elapsed_s, report.setup_s);
    if (expected_bytes > 0)
        sg_log_detail("memory: %.1f MB at most, %.1f MB expected", sg_memory_peak() / 1e6, expected_bytes / 1e6);
    if (lead && status == SG_OK && fabs(report.sent / report.budget - 1) > BUDGET_MISS)
        sg_log_warning("the budget of %.0f entries a worker was missed: %.0f were sent, %+.1f %%", report.budget,
                       report.sent, 100 * (report.sent / report.budget - 1));
    /* A diverged run is a result; an interrupted or failed one stays a part that can be resumed. */
    if (lead && (status == SG_OK || status == SG_ERR_NONFINITE)) {
        struct sg_error trouble;
        sg_status last = sg_output_finish(o, &trouble);
        if (status == SG_OK && last != SG_OK) {
            *err = trouble;
            status = last;
        }
    }
    if (lead && status == SG_ERR_INTERRUPTED && o->part)
        sg_log_note("run the same command with --resume to go on");
    return status;
}

/* Prints an error before ranks can communicate. Rank 0 prints it at once, and the launcher then ends the other ranks. A
 * rank that still runs after 3 s prints it, too, because only this rank found the error. */
static void say_early(const char *message) {
    const int rank = sg_comm_launch_rank();
    if (rank > 0) {
        sleep(3);
        sg_app_set_rank(rank, rank + 1);
    }
    sg_log_error("%s", message);
}

int main(int argc, char **argv) {
    sg_app_start(program.name);
    sg_app_reexec_with_passive_waiting(argv);
    start_s = sg_clock_s();
    const char *path = NULL;
    size_t n_operands;
    const int code = sg_options_parse(&program, argc, argv, &path, 1, &n_operands);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    struct sg_error err = {0};
    sg_app_expect_finish();
    if (sg_plugins_load(opt.plugins.item, opt.plugins.count, getenv(SG_PLUGINS_VARIABLE), &err) != SG_OK) {
        say_early(err.msg);
        return sg_app_finish(sg_exit_code(err.status));
    }
    char warning[SG_PLUGIN_WARNING];
    for (size_t i = 0; sg_comm_launch_rank() <= 0 && sg_plugin_warning(warning, &i);)
        sg_log_warning("%s", warning);
    if (opt.help_recipe) {
        (strcmp(opt.help_recipe, "text") == 0 ? sg_recipe_reference : sg_recipe_json_schema)(stdout);
        return sg_app_finish(SG_EXIT_OK);
    }
    if (opt.help_compressors) {
        sg_recipe_compressors(stdout, opt.json, (size_t)sg_terminal_columns(STDOUT_FILENO));
        return sg_app_finish(SG_EXIT_OK);
    }
    if (!path) {
        sg_log_error("no recipe given: try sparsetrain recipes/smoke.yaml, or --help");
        return SG_EXIT_USAGE;
    }
    if (opt.output && strcmp(opt.output, "-") == 0)
        opt.output = NULL;

    struct sg_recipe recipe = {0};
    struct sg_cell *cells = NULL;
    const struct sg_cell *cell = NULL;
    size_t n_cells = 0;
    sg_comm *comm = NULL;
    struct sg_output output = {0};
    sg_status status = read_recipe(&recipe, path, &err);
    SG_DO(status, sg_recipe_cells(&recipe, &cells, &n_cells, &err));
    if (status == SG_OK && !opt.check)
        status = choose_cell(&cell, cells, n_cells, &err);
    if (status != SG_OK) {
        say_early(err.msg);
        status = SG_ERR_ARGUMENT; /* whatever is wrong with a recipe is a usage error */
        goto out;
    }
    if (opt.check) {
        status = check_cells(&recipe, cells, n_cells);
        goto out;
    }
    if (opt.dry_run) {
        sg_app_print_json(sg_node_json(&cell->resolved));
        look_at_memory(&recipe, cell);
        goto out;
    }
    sg_signals_catch();
    rank_watch(stop_at_s(), NULL);
    status = sg_comm_open(&comm, &err);
    if (status == SG_OK) {
        sg_app_set_rank(sg_comm_rank(comm), sg_comm_size(comm));
        status = run(&recipe, cell, comm, &output, &err);
    }
    bool quiet_pipe = !opt.output && sg_stdout_is_abandoned();
    if (status != SG_OK && !quiet_pipe && (comm ? sg_comm_rank(comm) : sg_comm_launch_rank()) <= 0)
        sg_log_error("%s", err.msg);
out:
    sg_output_close(&output);
    sg_comm_close(comm);
    sg_recipe_cells_free(cells, n_cells);
    sg_recipe_free(&recipe);
    return sg_app_finish(status == SG_ERR_INTERRUPTED && stopped_by ? 128 + stopped_by : sg_exit_code(status));
}
