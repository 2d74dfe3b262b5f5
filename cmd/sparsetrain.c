/* sparsetrain: one run of EF-SGD, one method and one seed of a recipe. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_file.h"
#include "sg_grid.h"
#include "sg_options.h"
#include "sg_result.h"
#include "sg_terminal.h"
#include "sg_text.h"
#include "sg_train.h"
#include "sg_version.h"

static struct {
    const char *seed, *output, *data_dir, *device, *checkpoint, *record_inputs;
    struct sg_option_list methods, set;
    int64_t threads, checkpoint_every, progress_fd;
    bool json, ndjson, force, resume, dry_run, check, help_recipe, help_recipe_markdown, quiet, verbose, fake_clock;
} opt = {.device = "cpu", .progress_fd = -1};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "What to run"},
    {SG_OPTION_LIST, "method", 0, &opt.methods, .value = "LABEL",
     .help = "method to run, by its name or, where it has lists of parameters, the label of one cell; not needed "
             "when there is one; --check takes several"},
    {SG_OPTION_STRING, "seed", 0, &opt.seed, .value = "N",
     .help = "seed to run, whether the recipe lists it or not; its first by default"},
    {SG_OPTION_LIST, "set", 0, &opt.set, .value = "KEY=VALUE",
     .help = "change a recipe key (workers=4, methods.Top-k.k=5); may be repeated"},
    {SG_OPTION_STRING, "data", 0, &opt.data_dir, .value = "DIR",
     .help = "folder of the data sets; else $SPARSE_DATA, else datasets/cache"},
    {SG_OPTION_STRING, "device", 0, &opt.device, .value = "DEVICE", .help = "cpu, cuda or cuda:N"},
    {SG_OPTION_INT, "threads", 0, &opt.threads, .value = "N", .min = 0, .max = 1024,
     .help = "threads of this process, 0 = its share of the cores; results do not depend on it"},
    {SG_OPTION_FLAG, "dry-run", 0, &opt.dry_run, .help = "check the recipe, print it resolved as JSON, and stop"},
    {SG_OPTION_FLAG, "check", 0, &opt.check,
     .help = "check all cells of the recipe, or those of --method, against their data, and stop"},
    {SG_OPTION_FLAG, "help-recipe", 0, &opt.help_recipe, .help = "describe every recipe key"},
    {SG_OPTION_FLAG, "help-recipe-markdown", 0, &opt.help_recipe_markdown, .help = "the same for recipes/README.md",
     .hidden = true},
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "output", 'o', &opt.output, .value = "FILE",
     .help = "write the result there: a series (NDJSON), or JSON if the name ends in .json; appears when the run is "
             "over, FILE.part until then"},
    {SG_OPTION_FLAG, "json", 0, &opt.json, .help = "one JSON object"},
    {SG_OPTION_FLAG, "ndjson", 0, &opt.ndjson, .help = "one JSON object a line, as the run goes (default in a pipe)"},
    {SG_OPTION_FLAG, "force", 'f', &opt.force, .help = "replace FILE if it exists"},
    {SG_OPTION_STRING, "record-inputs", 0, &opt.record_inputs, .value = "FILE",
     .help =
         "write all that the compressors are given to FILE, for sparsetune --oracle: 4 bytes a parameter, worker and "
         "step; FILE.part until the run is over"},
    {SG_OPTION_GROUP, .name = "Stopping and going on"},
    {SG_OPTION_FLAG, "resume", 0, &opt.resume,
     .help = "go on from the checkpoint of FILE if there is one, to the same bytes; nothing to do if FILE is finished"},
    {SG_OPTION_STRING, "checkpoint", 0, &opt.checkpoint, .value = "FILE",
     .help = "checkpoint file, default OUTPUT.ckpt"},
    {SG_OPTION_INT, "checkpoint-every", 0, &opt.checkpoint_every, .value = "STEPS", .min = 0, .max = 1e15,
     .help = "steps between checkpoints, 0 = once a minute; always on SIGINT and SIGTERM"},
    {SG_OPTION_GROUP, .name = "Messages"},
    {SG_OPTION_FLAG, "quiet", 'q', &opt.quiet, .help = "errors and warnings only"},
    {SG_OPTION_FLAG, "verbose", 'v', &opt.verbose, .help = "say more"},
    {SG_OPTION_INT, "progress-fd", 0, &opt.progress_fd, .value = "FD", .min = -1, .max = 1 << 20,
     .help = "write \"done total\" lines there", .hidden = true},
    {SG_OPTION_FLAG, "fake-clock", 0, &opt.fake_clock, .help = "all times are zero", .hidden = true},
};

static const struct sg_program program = {
    .name = "sparsetrain",
    .usage = "[options] RECIPE",
    .summary = "Train with compressed gradients and error feedback: one method and one seed of a recipe.",
    .details = "RECIPE may be - for stdin. Under mpirun or srun the recipe's workers are spread over the ranks; the "
               "result has\n"
               "the same bytes for any number of ranks and threads.\n\n"
               "Examples:\n"
               "  sparsetrain recipes/smoke.yaml --method Top-k\n"
               "  sparsetrain recipes/smoke.yaml --method Top-k --set workers=4 --json | sparseplot-export - --x=epoch "
               "--y=suboptimality\n"
               "  mpirun -n 4 sparsetrain recipes/fig1.yaml --method Hard-threshold --seed 1 -o run.ndjson --resume\n\n"
               "Exit: 0 done, 1 the run failed or diverged, 2 usage or recipe error, 128+n stopped by signal n.\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
};

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static struct sg_progress bar;
static const char *running = ""; /* label of the cell */
static double fd_last_s;

static void on_progress(const char *what, double done, double total) {
    sg_progress_show(&bar, *what ? what : running, done, total);
    double now = sg_clock_s();
    if (opt.progress_fd >= 0 && *what == '\0' && (now - fd_last_s > 0.2 || done == total)) {
        fd_last_s = now;
        dprintf((int)opt.progress_fd, "%.0f %.0f\n", done, total);
    }
}

static void on_notice(const char *message) {
    sg_log_note("%s", message);
}

/* ---- recipe and cell --------------------------------------------------------------------------------------------- */

/* The cell to run: the one of --method, by its label or as the only one of the method. */
static sg_status choose_cell(const struct sg_cell **out, struct sg_cell *cells, size_t n, struct sg_error *err) {
    const char *named = opt.methods.count > 0 ? opt.methods.item[0] : NULL;
    char names[512];
    size_t found;
    if (opt.methods.count > 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "--method is given %zu times: a run has one method", opt.methods.count);
    sg_status status = sg_grid_choose(&found, cells, n, opt.methods.item, opt.methods.count, NULL, 0, err);
    if (status != SG_OK)
        return status;
    for (size_t i = 1; i < found; i++)
        if (strcmp(cells[i].label, cells[0].label) != 0)
            return sg_fail(err, SG_ERR_ARGUMENT, "%s%s%s: choose one with --method: %s",
                           named ? "--method '" : "the recipe has several methods", named ? named : "",
                           named ? "' has several cells" : "", sg_cell_labels(names, sizeof names, cells, found));
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
    return sg_recipe_read(recipe, path, set, n, err);
}

enum { MOST_PROBLEMS = 10 };

static void on_problem(void *count, const char *text) {
    if (++*(size_t *)count <= MOST_PROBLEMS)
        sg_log_error("%s", text);
}

/* --check: says each mistake once, and what else keeps the check from its end. */
static sg_status check_cells(const struct sg_recipe *recipe, struct sg_cell *cells, size_t n) {
    struct sg_error err;
    size_t problems = 0, wanted;
    const struct sg_train_check_options how = {.recipe = recipe,
                                               .data_dir = opt.data_dir,
                                               .threads = (int)opt.threads,
                                               .progress = on_progress,
                                               .problem = on_problem,
                                               .arg = &problems};
    sg_status status = sg_grid_choose(&wanted, cells, n, opt.methods.item, opt.methods.count, NULL, 0, &err);
    if (status == SG_OK)
        status = sg_train_check(cells, wanted, &how, &err);
    sg_progress_end(&bar);
    if (status != SG_OK && problems == 0)
        sg_log_error("%s", err.msg);
    else if (problems > MOST_PROBLEMS)
        sg_log_error("… and %zu more", problems - MOST_PROBLEMS);
    return status;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

enum format { FORMAT_SERIES, FORMAT_JSON, FORMAT_TABLE };

struct output {
    enum format format;
    bool device;             /* -o names one: it is written straight */
    char *part, *checkpoint; /* NULL = straight to stdout or the device */
    FILE *series;
};

static bool ends_in(const char *text, const char *tail) {
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

/* What the options ask for, the same on every rank. */
static sg_status plan_output(struct output *o, struct sg_error *err) {
    if (opt.json && opt.ndjson)
        return sg_fail(err, SG_ERR_ARGUMENT, "--json and --ndjson exclude each other");
    if (opt.resume && !opt.output)
        return sg_fail(err, SG_ERR_ARGUMENT, "--resume needs -o FILE: the partial series is FILE.part");
    if (opt.checkpoint && !opt.output)
        return sg_fail(err, SG_ERR_ARGUMENT, "--checkpoint needs -o FILE");
    bool terminal = !opt.output && sg_stdout_is_terminal();
    o->format = opt.json || (!opt.ndjson && opt.output && ends_in(opt.output, ".json")) ? FORMAT_JSON
                : terminal && !opt.ndjson                                               ? FORMAT_TABLE
                                                                                        : FORMAT_SERIES;
    bool device = false;
    if (opt.record_inputs) {
        sg_status status = sg_file_target(&device, opt.record_inputs, opt.force || opt.resume, err);
        if (status == SG_OK && device)
            status = sg_fail(err, SG_ERR_ARGUMENT, "--record-inputs %s is not a plain file", opt.record_inputs);
        if (status != SG_OK)
            return status;
    }
    if (!opt.output)
        return SG_OK;
    sg_status status = opt.checkpoint ? sg_file_target(&device, opt.checkpoint, true, err) : SG_OK;
    if (status == SG_OK && device) /* it would be removed when the run is over */
        status = sg_fail(err, SG_ERR_ARGUMENT, "--checkpoint %s is not a plain file", opt.checkpoint);
    if (status == SG_OK)
        status = sg_file_target(&o->device, opt.output, opt.force || opt.resume, err);
    if (status != SG_OK || !o->device)
        return status;
    return opt.resume || opt.checkpoint
               ? sg_fail(err, SG_ERR_ARGUMENT, "-o %s is not a plain file: nothing there can be resumed", opt.output)
               : SG_OK;
}

/* --resume of a run that is over: nothing to do. Another run's file is not ours to replace unasked. */
static sg_status look_for_finished(bool *finished, const struct sg_cell *cell, struct sg_error *err) {
    struct sg_run run;
    *finished = false;
    if (!opt.resume || access(opt.output, F_OK) != 0)
        return SG_OK;
    if (sg_run_read_finished(&run, opt.output, cell->key, sg_version_identity(), err) != SG_OK) {
        if (opt.force)
            return SG_OK;
        struct sg_error why = *err;
        return sg_fail(err, SG_ERR_ARGUMENT, "--resume: %.800s: choose another name or add --force", why.msg);
    }
    *finished = true;
    sg_status status = SG_OK;
    if (opt.record_inputs && access(opt.record_inputs, F_OK) != 0)
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "--resume: %s is finished, but %s is not there: remove the former to run again", opt.output,
                         opt.record_inputs);
    else if (strcmp(sg_json_string(run.end, "status", ""), "ok") != 0)
        status = sg_fail(err, SG_ERR_NONFINITE, "%s: diverged before: %.800s", opt.output,
                         sg_json_string(run.end, "message", ""));
    sg_run_free(&run);
    return status;
}

/* Every file that the run writes has a name of its own. */
static sg_status check_names(const struct output *o, struct sg_error *err) {
    char *recording = NULL;
    if (opt.record_inputs && asprintf(&recording, "%s.part", opt.record_inputs) < 0)
        return sg_fail_memory(err, "file names");
    const struct {
        const char *name, *role;
    } file[] = {{opt.record_inputs, "the recording"},
                {recording, "the recording until it is whole"},
                {opt.output, "the result"},
                {o->part, "the result until the run is over"},
                {o->checkpoint, "the checkpoint"}};
    sg_status status = SG_OK;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        for (size_t j = 0; j < i && status == SG_OK; j++)
            if (file[i].name && file[j].name && sg_file_same(file[i].name, file[j].name))
                status = sg_fail(err, SG_ERR_ARGUMENT, "%s would be both %s and %s: choose another name", file[i].name,
                                 file[j].role, file[i].role);
    free(recording);
    return status;
}

/* Rank 0 holds the series; the others only need the checkpoint's name. */
static sg_status open_output(struct output *o, bool lead, struct sg_error *err) {
    if (opt.output && !o->device) {
        if (asprintf(&o->part, "%s.part", opt.output) < 0 ||
            (opt.checkpoint ? (o->checkpoint = strdup(opt.checkpoint)) == NULL
                            : asprintf(&o->checkpoint, "%s.ckpt", opt.output) < 0))
            return sg_fail_memory(err, "file names");
    }
    sg_status status = check_names(o, err);
    if (status != SG_OK || !lead)
        return status;
    if (!o->part) {
        o->series = o->format != FORMAT_SERIES ? tmpfile() : o->device ? fopen(opt.output, "w") : stdout;
    } else {
        bool fresh = !opt.resume || access(o->checkpoint, F_OK) != 0 || access(o->part, F_OK) != 0;
        if (fresh)
            unlink(o->checkpoint); /* a checkpoint without its series is of no use */
        o->series = fopen(o->part, fresh ? "w+" : "r+");
    }
    const char *name = o->part ? o->part : o->format != FORMAT_SERIES ? "a temporary file" : opt.output;
    return o->series ? SG_OK : sg_fail_errno(err, SG_ERR_IO, "cannot write %s", name);
}

static void print_table(const struct sg_run *run) {
    char text[SG_NUMBER_CHARS];
    printf("# %s, %s, seed %s: %s\n#", sg_json_string(run->header, "name", ""),
           sg_json_string(run->header, "method", ""), sg_json_string(run->header, "seed", ""),
           sg_json_string(run->end, "status", ""));
    for (size_t i = 0; i < run->n_series; i++)
        printf(" %s", run->series[i].name);
    printf("\n#");
    for (size_t i = 0; i < run->n_series; i++) {
        const char *unit = sg_json_string(sg_json_get(run->header, "units"), run->series[i].name, "");
        printf(" (%s)", *unit ? unit : "1");
    }
    printf("\n");
    for (size_t k = 0; k < run->n_points; k++)
        for (size_t i = 0; i < run->n_series; i++)
            printf("%s%c", sg_number_text(run->series[i].value[k], text), i + 1 < run->n_series ? ' ' : '\n');
}

static sg_status read_back(struct sg_run *run, struct output *o, struct sg_error *err) {
    if (fflush(o->series) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot write the series");
    if (o->part)
        return sg_run_read(run, o->part, err);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(o->series));
    return sg_run_read(run, path, err);
}

static sg_status write_json(const struct sg_run *run, const char *path, struct sg_error *err) {
    cJSON *json = sg_run_json(run);
    char *text = sg_json_text(json, true);
    cJSON_Delete(json);
    sg_status status = SG_OK;
    if (!text)
        status = sg_fail_memory(err, "the result");
    else if (path)
        status = sg_file_replace(path, text, strlen(text), err);
    else
        fputs(text, stdout);
    free(text);
    return status;
}

/* The run is over: turn the series into what was asked for. */
static sg_status finish_output(struct output *o, struct sg_error *err) {
    sg_status status = SG_OK;
    if (o->format != FORMAT_SERIES) {
        struct sg_run run;
        status = read_back(&run, o, err);
        if (status != SG_OK)
            return status;
        if (o->format == FORMAT_JSON)
            status = write_json(&run, opt.output, err);
        else
            print_table(&run);
        sg_run_free(&run);
        if (status == SG_OK && o->part)
            unlink(o->part);
    } else if (o->part) {
        status = sg_file_publish(o->series, o->part, opt.output, err);
    }
    if (status == SG_OK && o->checkpoint)
        unlink(o->checkpoint);
    return status;
}

static void close_output(struct output *o) {
    if (o->series && o->series != stdout)
        fclose(o->series);
    free(o->part);
    free(o->checkpoint);
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

static const double BUDGET_MISS = 0.02; /* share of the budget that is worth a warning */

static sg_status run(const struct sg_recipe *recipe, const struct sg_cell *cell, sg_comm *comm, struct output *o,
                     struct sg_error *err) {
    bool lead = sg_comm_rank(comm) == 0, finished = false;
    sg_status status = plan_output(o, err);
    if (status == SG_OK && lead)
        status = look_for_finished(&finished, cell, err);
    status = sg_comm_agree(comm, status, err);
    if (status == SG_OK)
        status = sg_comm_broadcast(comm, &finished, sizeof finished, err);
    if (status == SG_OK && finished) {
        sg_log_note("%s is finished: nothing to resume", opt.output);
        return SG_OK;
    }
    if (status == SG_OK)
        status = sg_comm_agree(comm, open_output(o, lead, err), err);
    if (status != SG_OK)
        return status;
    struct sg_train_options train = {.recipe = recipe,
                                     .cell = cell,
                                     .data_dir = opt.data_dir,
                                     .device = opt.device,
                                     .threads = (int)opt.threads,
                                     .series = o->series,
                                     .checkpoint = o->checkpoint,
                                     .checkpoint_every = (uint64_t)opt.checkpoint_every,
                                     .record_inputs = opt.record_inputs,
                                     .resume = opt.resume,
                                     .stop = sg_signal_pending,
                                     .progress = lead ? on_progress : NULL,
                                     .notice = lead ? on_notice : NULL};
    struct sg_train_report report;
    status = sg_train_run(&report, comm, &train, err);
    sg_progress_end(&bar);
    sg_log_detail("%s: %llu steps in %.3f s after %.3f s of set-up", report.status, (unsigned long long)report.steps,
                  report.elapsed_s, report.setup_s);
    if (lead && status == SG_OK && fabs(report.sent / report.budget - 1) > BUDGET_MISS)
        sg_log_warning("the budget of %.0f entries a worker was missed: %.0f were sent, %+.1f %%", report.budget,
                       report.sent, 100 * (report.sent / report.budget - 1));
    /* A diverged run is a result; an interrupted or failed one stays a part that can be resumed. */
    if (lead && (status == SG_OK || status == SG_ERR_NONFINITE)) {
        struct sg_error trouble;
        sg_status last = finish_output(o, &trouble);
        if (status == SG_OK && last != SG_OK) {
            *err = trouble;
            status = last;
        }
    } else if (lead && o->part && fseeko(o->series, 0, SEEK_END) == 0 && ftello(o->series) == 0) {
        unlink(o->part); /* it failed before there was anything to keep */
    }
    if (lead && status == SG_ERR_INTERRUPTED && o->part)
        sg_log_note("run the same command with --resume to go on");
    return status;
}

int main(int argc, char **argv) {
    sg_app_wait_politely(argv);
    sg_app_start(program.name);
    const char *path = NULL;
    size_t n_operands;
    enum sg_parse parse = sg_options_parse(&program, argc, argv, &path, 1, &n_operands);
    if (parse != SG_PARSE_RUN)
        return sg_app_finish(parse == SG_PARSE_EXIT_OK ? SG_EXIT_OK : SG_EXIT_USAGE);
    if (opt.help_recipe || opt.help_recipe_markdown) {
        sg_recipe_reference(stdout, opt.help_recipe_markdown);
        return sg_app_finish(SG_EXIT_OK);
    }
    if (!path) {
        sg_log_error("no recipe given: try sparsetrain recipes/smoke.yaml, or --help");
        return SG_EXIT_USAGE;
    }
    if (opt.output && strcmp(opt.output, "-") == 0)
        opt.output = NULL;
    sg_app_set_verbosity(opt.quiet ? SG_QUIET : opt.verbose ? SG_VERBOSE : SG_NORMAL);
    sg_app_set_fake_clock(opt.fake_clock);

    struct sg_error err = {0};
    struct sg_recipe recipe = {0};
    struct sg_cell *cells = NULL;
    const struct sg_cell *cell = NULL;
    size_t n_cells = 0;
    sg_comm *comm = NULL;
    struct output output = {0};
    sg_status status = read_recipe(&recipe, path, &err);
    if (status == SG_OK)
        status = sg_recipe_cells(&recipe, &cells, &n_cells, &err);
    if (status == SG_OK && !opt.check)
        status = choose_cell(&cell, cells, n_cells, &err);
    if (status != SG_OK) {
        if (sg_comm_launch_rank() <= 0) /* every rank reads the recipe and finds the same */
            sg_log_error("%s", err.msg);
        status = SG_ERR_ARGUMENT; /* whatever is wrong with a recipe is a usage error */
        goto out;
    }
    if (opt.check) {
        status = check_cells(&recipe, cells, n_cells);
        goto out;
    }
    if (opt.dry_run) {
        cJSON *json = sg_node_json(&cell->resolved);
        char *text = sg_json_text(json, true);
        cJSON_Delete(json);
        if (text)
            fputs(text, stdout);
        free(text);
        goto out;
    }
    sg_signals_catch();
    status = sg_comm_open(&comm, &err);
    if (status == SG_OK) {
        sg_app_set_rank(sg_comm_rank(comm), sg_comm_size(comm));
        status = run(&recipe, cell, comm, &output, &err);
    }
    bool quiet_pipe = output.series == stdout && sg_stdout_is_abandoned();
    if (status != SG_OK && !quiet_pipe && (!comm || sg_comm_rank(comm) == 0))
        sg_log_error("%s", err.msg);
out:
    close_output(&output);
    sg_comm_close(comm);
    sg_recipe_cells_free(cells, n_cells);
    sg_recipe_free(&recipe);
    return sg_app_finish(sg_exit_code(status));
}
