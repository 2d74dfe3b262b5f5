/* bench_output.c: writes the results of sparsebench, and reports on a grid at its end. */
/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "grid_program.h"
#include "sg_clock.h"
#include "sg_dataset.h"
#include "sg_memory.h"
#include "sg_plot.h"
#include "sg_result.h"
#include "sg_terminal.h"
#include "sg_text.h"

cJSON *version_json(const struct sg_recipe *recipe) {
    return program_json(program.name, recipe);
}

/* ---- the result ---- */

const struct sg_grid_command command = {&cell_opt.set, &opt.methods, &opt.seeds, &opt.part};

cJSON *run_json(int argc, char **argv, const char *started_at, double start_s, const struct sg_grid_options *o) {
    cJSON *out = sg_result_command(argc, argv, started_at, sg_clock_s() - start_s);
    SG_SET(out, SG_NUMBER("jobs", o->jobs),
           SG_NUMBER("threads", o->threads > 0 ? (double)o->threads : NAN), /* null: sparsetrain's choice */
           SG_TEXT("launcher", o->launcher), SG_TEXT("folder", o->folder));
    sg_grid_command_json(out, &command);
    return out;
}

bool table_wanted(void) {
    return opt.table || (sg_stdout_is_terminal() && !opt.json);
}

/* Writes the document to the opened file, or to stdout if there is none. */
static sg_status write_json(const cJSON *document, struct sg_file_writer *file, struct sg_error *err) {
    char *text = sg_json_text(document, true);
    fputs(text, file->stream ? file->stream : stdout);
    free(text);
    return file->stream ? sg_file_commit(file, err) : SG_OK;
}

int end_document(cJSON *take_document, bool wanted, int code, struct sg_file_writer *file, sg_status status,
                 struct sg_error *err) {
    if (status == SG_OK && wanted)
        status = write_json(take_document, file, err);
    if (status != SG_OK)
        sg_log_error("%s", err->msg);
    sg_file_abandon(file);
    cJSON_Delete(take_document);
    return status == SG_OK ? code : sg_exit_code(status);
}

/* True if some cell has values that a table can show. */
static bool has_rows(const struct sg_document *result) {
    for (size_t l = 0; l < result->results.n_labels; l++)
        for (size_t i = 0; i < result->results.label[l].n_cells; i++)
            if (result->results.label[l].cells[i].steps > 0)
                return true;
    return result->kind;
}

sg_status page_target(char **path, struct sg_error *err) {
    if (!opt.html)
        return SG_OK;
    if (strcmp(opt.html, "-") == 0 || (opt.output && sg_file_same(opt.html, opt.output)))
        return sg_fail(err, SG_ERR_ARGUMENT, "--html=%s: name a file of its own for the page", opt.html);
    return sg_file_target(path, NULL, opt.html, opt.force || sg_page_is_partial(opt.html), err);
}

static sg_status print_table(const struct sg_document *result, struct sg_error *err) {
    const struct sg_plot_select as_planned = {.seeds = sg_app_verbosity() == SG_VERBOSE,
                                              .color = sg_color(STDOUT_FILENO, opt.color),
                                              .columns = (size_t)sg_terminal_columns(STDOUT_FILENO),
                                              .sort = opt.sort};
    return sg_export(stdout, sg_exporter_find("table"), result, &as_planned, NULL, err);
}

/* Writes the page whole or not at all. */
static sg_status write_page(const char *path, const struct sg_document *result, struct sg_error *err) {
    const struct sg_plot_select as_planned = {.seeds = sg_app_verbosity() == SG_VERBOSE};
    char *html = NULL;
    size_t size;
    FILE *stream = sg_memstream(&html, &size);
    sg_status status =
        stream ? sg_page_write(stream, &(struct sg_page_result){result, NULL}, 1, &as_planned, NULL, err) : SG_OK;
    html = sg_stream_text(stream, &html);
    SG_DO(status, sg_file_replace(path, html, strlen(html), err));
    free(html);
    return status;
}

sg_status deliver(struct sg_document *result, struct sg_file_writer *file, const char *page, struct sg_error *err) {
    const bool table = table_wanted() && has_rows(result);
    struct sg_error lost;
    sg_status status = SG_OK, paged = SG_OK;
    if (file->stream || !table_wanted()) {
        cJSON *json = sg_document_json(result);
        status = write_json(json, file, err);
        cJSON_Delete(json);
    }
    sg_document_clean(result); /* what is shown */
    if (status == SG_OK && table)
        status = print_table(result, err);
    if (page)
        paged = write_page(page, result, &lost);
    if (status == SG_OK && paged != SG_OK)
        *err = lost;
    return status == SG_OK ? paged : status;
}

/* ---- what is said at the end ---- */

void report_reach(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count) {
    char text[SG_REACH_CHARS];
    for (size_t i = 0; i < count; i++) {
        const char *status = sg_grid_status(&outcomes[i]);
        sg_log_note("%s, seed %" PRIu64 ": %s", cells[i].label, cells[i].seed,
                    sg_run_status_is_open(status) ? sg_grid_reach_text(text, &cells[i], &outcomes[i]) : status);
    }
}

/* Reports the devices of a run that was resumed on another device. */
static void report_devices(const struct sg_cell *cell, const struct sg_run *run) {
    struct sg_arena memory = {0};
    const struct sg_text_list devices = sg_grid_devices(run, &memory);
    if (devices.n > 1)
        sg_log_note("%s, seed %" PRIu64 " ran on %s, %sand at last on %s", cell->label, cell->seed, devices.item[0],
                    devices.n > 2 ? "then on others " : "", devices.item[devices.n - 1]);
    sg_arena_free(&memory);
}

void report_cells(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *status = sg_grid_status(&outcomes[i]);
        const char *message =
            outcomes[i].message ? outcomes[i].message : sg_json_string(outcomes[i].run.end, "message", "?");
        if (strcmp(status, "failed") == 0)
            sg_log_error("%s, seed %" PRIu64 " failed: %s", cells[i].label, cells[i].seed, message);
        else if (strcmp(status, "diverged") == 0) /* many learning rates of a range may diverge */
            sg_log(cells[i].trial > 0 && !cells[i].winner ? SG_LOG_DETAIL : SG_LOG_WARNING,
                   "%s, seed %" PRIu64 " diverged: %s", cells[i].label, cells[i].seed, message);
        report_devices(&cells[i], &outcomes[i].run);
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(sg_json_string(outcomes[i].run.header, "dataset.source", ""), "generated") == 0) {
            const char *name = sg_json_string(outcomes[i].run.header, "dataset.name", "?");
            char near[64] = "";
            const bool misspelt = sg_dataset_suggest(near, name);
            sg_log_warning("the data are generated (%s), not the published set%s%s%s", name,
                           misspelt ? " (did you mean '" : "", near, misspelt ? "'?)" : "");
            break;
        }
}

bool report_claims(const struct sg_document *result, bool beside_table) {
    bool color = sg_color(STDERR_FILENO, opt.color), fails = false;
    for (size_t i = 0; i < result->n_claims; i++) {
        const struct sg_document_claim *claim = &result->claims[i];
        const char *verdict = sg_or(claim->verdict, ""), *reason = claim->reason;
        fails = fails || strncmp(verdict, "fails", strlen("fails")) == 0;
        if (!beside_table && strcmp(verdict, SG_NOT_JUDGED) != 0)
            sg_log_verdict(color ? sg_verdict_color(verdict) : "", verdict, "%s%s%s%s", sg_or(claim->text, ""),
                           reason ? " (" : "", sg_or(reason, ""), reason ? ")" : "");
    }
    if (result->summary && result->summary->text && !beside_table)
        sg_log_note("%s", result->summary->text);
    if (result->tuning && result->tuning->text)
        sg_log_warning("%s", result->tuning->text);
    if (result->network && result->network->error)
        sg_log_note("%s", result->network->error);
    return fails;
}

int exit_code(const char *status, bool claim_fails) {
    if (strcmp(status, "interrupted") == 0)
        return sg_exit_code(SG_ERR_INTERRUPTED);
    if (strcmp(status, "ok") != 0)
        return SG_EXIT_FAILED;
    return opt.strict && claim_fails ? SG_EXIT_GATE : SG_EXIT_OK;
}
