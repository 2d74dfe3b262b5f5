/* bench_audit.c: sparsebench --bundle, which puts a result and its evidence into a folder, and --audit, which runs a
 * part of it again. */
/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "grid_program.h"
#include "sg_audit.h"
#include "sg_cache.h"
#include "sg_clock.h"
#include "sg_memory.h"
#include "sg_result.h"
#include "sg_terminal.h"
#include "sg_text.h"

/* Reads the evidence, and draws as --share, --seed and --method say. */
static sg_status open_audit(struct sg_audit *out, const char *path, struct sg_bundle *take_bundle,
                            struct sg_error *err) {
    struct sg_audit_draw draw = {
        .share = opt.share, .methods = &opt.methods, .data_dir = cell_opt.data, .allowed = &opt.allowed};
    int64_t seed = 0;
    if (opt.seeds.count > 1 || (opt.seeds.count == 1 && !sg_parse_integer(&seed, opt.seeds.item[0], 0, INT64_MAX)))
        return sg_fail(err, SG_ERR_ARGUMENT, "--seed: with --audit it is that of the draw, one number");
    draw.seed = (uint64_t)seed;
    return sg_audit_open(out, path, take_bundle, &draw, err);
}

/* ---- bundles ---- */

/* Checks a bundle as --audit would, and writes it. */
static sg_status write_bundle(struct sg_bundle *take_bundle, struct sg_error *err) {
    struct sg_audit audit;
    sg_status status = open_audit(&audit, opt.bundle, take_bundle, err);
    if (status != SG_OK)
        return status;
    const cJSON *first = cJSON_GetArrayItem(sg_audit_differences(&audit), 0);
    if (first)
        status = sg_fail(err, SG_ERR_MISMATCH,
                         "the result does not follow from its cells, first %s: give the command that made it again",
                         sg_json_string(first, "path", "?"));
    SG_DO(status, sg_bundle_write(&audit.bundle, opt.bundle, opt.force, err));
    if (status == SG_OK)
        sg_log_note("%s: %zu cells; SHA-256 of its list of checksums %s", opt.bundle, audit.claimed,
                    audit.bundle.sha256);
    sg_audit_close(&audit);
    return status;
}

int make_bundle(const char *const *path, size_t n) {
    struct sg_bundle bundle;
    struct sg_error err;
    if (n != 1) {
        sg_log_error("--bundle: give one result of sparsebench");
        return SG_EXIT_USAGE;
    }
    sg_status status = sg_bundle_make(&bundle, path[0], cell_opt.folder, &err);
    SG_DO(status, write_bundle(&bundle, &err));
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    return status == SG_OK ? SG_EXIT_OK : sg_exit_code(status);
}

/* ---- audits ---- */

/* One of the files, and what became of it. */
struct task {
    const char *path;
    struct sg_audit audit; /* path NULL: it could not be read */
    cJSON *judged;
};

/* The entry of a file of which no cell is run. */
static cJSON *problem_json(const struct task *t, const char *problem) {
    const bool read = t->audit.path != NULL;
    return SG_OBJECT(SG_TEXT("file", t->path), SG_TEXT("problem", problem),
                     SG_VALUE("differences", read ? cJSON_Duplicate(sg_audit_differences(&t->audit), true) : NULL),
                     SG_NUMBER("cells", read ? (double)t->audit.claimed : NAN),
                     SG_NUMBER("changed", read ? (double)t->audit.changed : NAN));
}

/* The folder of the cells of an audit: the user's own cache, into which no evidence brings cells with it. What an
 * earlier audit of the same recipe ran there is not run again. */
static sg_status own_folder(char out[PATH_MAX], const struct sg_audit *a, struct sg_error *err) {
    char *cache = sg_cache_own();
    if (!cache)
        return sg_fail(err, SG_ERR_IO,
                       "an audit runs in $XDG_CACHE_HOME/sparsegrad or ~/.cache/sparsegrad, and neither can be made");
    snprintf(out, PATH_MAX, "%s/audit/%.16s", cache, a->recipe.sha256);
    free(cache);
    return SG_OK;
}

/* Runs the cells that were drawn from one file, and judges them. */
static sg_status run_task(struct task *t, struct sg_error *err) {
    struct sg_audit *a = &t->audit;
    struct grid grid = {.options = {.jobs = 0}};
    struct sg_cell_outcome *outcomes = sg_calloc(a->drawn + 1, sizeof *outcomes);
    sg_status status = SG_OK;
    fill_options(&grid, &a->recipe, "-");
    SG_DO(status, own_folder(grid.folder, a, err));
    grid.options.folder = grid.folder;
    grid.options.set = (const char *const *)a->recipe.set;
    grid.options.n_set = a->recipe.n_set;
    grid.options.stop_at_s = stop_at_s();
    sg_grid_view_open(&grid.view, a->drawn);
    SG_DO(status, prepare_run(&grid, &a->recipe, err));
    if (status == SG_OK) {
        sg_log_note("%s: %zu of %zu cells, which took %.1f s", t->path, a->drawn, a->claimed, a->took_s);
        status = sg_grid_run(outcomes, a->cells, a->drawn, &grid.options, err);
    }
    sg_grid_view_close(&grid.view);
    struct sg_error lost;
    if ((status == SG_OK || status == SG_ERR_INTERRUPTED) && sg_audit_judge(&t->judged, a, outcomes, &lost) != SG_OK) {
        *err = lost;
        status = lost.status;
    }
    sg_grid_outcomes_free(outcomes, outcomes ? a->drawn : 0);
    free(outcomes);
    return status;
}

static int by_time(const void *a, const void *b) {
    const struct task *one = *(struct task *const *)a, *other = *(struct task *const *)b;
    return one->audit.took_s != other->audit.took_s ? (one->audit.took_s > other->audit.took_s ? 1 : -1)
           : one > other                            ? 1
                                                    : -1;
}

/* Runs the files, those that take least first, as long as what they took is within the time limit. Returns the code to
 * exit with if one could not be run. */
static int run_tasks(struct task *task, size_t n) {
    struct task **order = sg_calloc(n, sizeof *order);
    const double limit_s = isnan(opt.time_limit) ? INFINITY : opt.time_limit;
    double planned_s = 0;
    int code = order ? SG_EXIT_OK : SG_EXIT_FAILED;
    for (size_t i = 0; i < n; i++)
        order[i] = &task[i];
    qsort(order, n, sizeof *order, by_time);
    for (size_t i = 0; i < n; i++) {
        struct task *t = order[i];
        struct sg_error err = {.status = SG_OK};
        char text[160];
        if (t->judged)
            continue;
        planned_s += t->audit.took_s;
        if (t->audit.drawn == 0) {
            t->judged = problem_json(t, "no cell was drawn: the recipe has none of its runs any more");
        } else if (planned_s > limit_s) {
            snprintf(text, sizeof text,
                     "left out: the %zu cells that were drawn took %.0f minutes, for which --time-limit leaves no room",
                     t->audit.drawn, ceil(t->audit.took_s / 60));
            t->judged = problem_json(t, text);
        } else if (run_task(t, &err) != SG_OK) {
            code = sg_exit_code(err.status);
            sg_log_error("%s: %s%s", t->path, err.msg,
                         err.status == SG_ERR_INTERRUPTED ? ": give the same command again to resume" : "");
            if (!t->judged)
                t->judged = problem_json(t, err.msg);
            if (err.status == SG_ERR_INTERRUPTED)
                break;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (!task[i].judged)
            task[i].judged = problem_json(&task[i], "not run: the audit was stopped");
    free(order);
    return code;
}

int audit_results(const char *const *path, size_t n, int argc, char **argv) {
    const struct sg_recipe none = {.n_set = 0};
    struct sg_file_writer file = {0};
    struct sg_error err;
    char started_at[21];
    bool damaged = false;
    double same = 0, off = 0, open = 0;
    if (n == 0) {
        sg_log_error("--audit: give bundles, or results of sparsebench");
        return SG_EXIT_USAGE;
    }
    sg_clock_utc(started_at);
    struct task *task = sg_calloc(n, sizeof *task);
    cJSON *audits = cJSON_CreateArray();
    sg_status status = SG_OK;
    if (opt.output)
        status = sg_file_begin(&file, opt.output, opt.force, &err);
    int code = SG_EXIT_OK;
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        task[i].path = path[i];
        if (open_audit(&task[i].audit, path[i], NULL, &err) == SG_OK)
            continue;
        sg_log_error("%s", err.msg);
        damaged = damaged || err.status == SG_ERR_FORMAT;
        code = sg_exit_code(err.status);
        task[i].judged = problem_json(&task[i], err.msg);
    }
    if (status == SG_OK) {
        const int ran = run_tasks(task, n);
        code = ran != SG_EXIT_OK ? ran : code;
    }
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        const cJSON *judged = task[i].judged;
        same += sg_json_number(judged, "same_bits", 0) + sg_json_number(judged, "within", 0);
        off += sg_json_number(judged, "differs", 0);
        open += sg_json_number(judged, "not_run", 0) + sg_json_number(judged, "other_data", 0);
        off += cJSON_GetArraySize(sg_json_get(judged, "differences"));
        open += sg_json_bool(judged, "recipe_edited", false);
        sg_json_push(audits, task[i].judged);
        sg_audit_close(&task[i].audit);
    }
    free(task);
    if (damaged || off > 0)
        code = SG_EXIT_GATE;
    else if (code == SG_EXIT_OK && (same == 0 || open > 0))
        code = SG_EXIT_FAILED;
    const char *word = code == SG_EXIT_OK ? "ok" : code == SG_EXIT_GATE ? "differs" : "incomplete";
    cJSON *document =
        SG_OBJECT(SG_TEXT("schema", SG_SCHEMA_AUDIT), SG_TEXT("status", word), SG_VALUE("program", version_json(&none)),
                  SG_VALUE("run", sg_result_command(argc, argv, started_at, sg_clock_s() - launched_s)),
                  SG_VALUE("host", sg_result_host()), SG_NUMBER("share", opt.share),
                  SG_TEXT("seed", opt.seeds.count > 0 ? opt.seeds.item[0] : "0"), SG_VALUE("audits", audits));
    if (status == SG_OK && table_wanted())
        sg_audit_print(stdout, sg_json_get(document, "audits"), (size_t)sg_terminal_columns(STDOUT_FILENO));
    return end_document(document, opt.output || !table_wanted(), code, &file, status, &err);
}
