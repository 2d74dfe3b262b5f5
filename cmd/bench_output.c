/* bench_output.c: writes the results of sparsebench, and reports on a grid at its end. */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grid_program.h"
#include "sg_clock.h"
#include "sg_dataset.h"
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
    if (!text)
        return sg_fail_memory(err, "the result");
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
static bool has_rows(const cJSON *result) {
    const cJSON *method, *cell;
    cJSON_ArrayForEach(method, sg_json_get(result, "results")) {
        cJSON_ArrayForEach(cell, sg_json_get(method, "cells")) {
            if (sg_json_number(cell, "steps", 0) > 0)
                return true;
        }
    }
    return sg_json_get(result, "kind") != NULL;
}

sg_status page_target(char **path, struct sg_error *err) {
    if (!opt.html)
        return SG_OK;
    if (strcmp(opt.html, "-") == 0 || (opt.output && sg_file_same(opt.html, opt.output)))
        return sg_fail(err, SG_ERR_ARGUMENT, "--html=%s: name a file of its own for the page", opt.html);
    return sg_file_target(path, NULL, opt.html, opt.force || sg_page_is_partial(opt.html), err);
}

static sg_status print_table(const cJSON *parsed, struct sg_error *err) {
    const struct sg_plot_select as_planned = {.seeds = sg_app_verbosity() == SG_VERBOSE,
                                              .color = sg_color(STDOUT_FILENO, opt.color),
                                              .columns = (size_t)sg_terminal_columns(STDOUT_FILENO),
                                              .sort = opt.sort};
    return sg_export(stdout, sg_exporter_find("table"), parsed, &as_planned, NULL, err);
}

/* Writes the page whole or not at all. */
static sg_status write_page(const char *path, const cJSON *parsed, struct sg_error *err) {
    const struct sg_plot_select as_planned = {.seeds = sg_app_verbosity() == SG_VERBOSE};
    char *html = NULL;
    size_t size;
    FILE *stream = open_memstream(&html, &size);
    sg_status status =
        stream ? sg_page_write(stream, &(struct sg_page_result){parsed, NULL}, 1, &as_planned, NULL, err) : SG_OK;
    html = sg_stream_text(stream, &html);
    SG_DO(status, html ? sg_file_replace(path, html, strlen(html), err) : sg_fail_memory(err, "the page"));
    free(html);
    return status;
}

sg_status deliver(cJSON *take_result, struct sg_file_writer *file, const char *page, struct sg_error *err) {
    const bool table = table_wanted() && has_rows(take_result);
    cJSON *parsed = NULL; /* read again, as the exporters get it: the numbers in the result are raw text */
    char *text = table || page ? sg_json_text(take_result, false) : NULL;
    struct sg_error lost;
    sg_status paged = SG_OK;
    sg_status status = file->stream || !table_wanted() ? write_json(take_result, file, err) : SG_OK;
    if (table || page)
        paged = text ? sg_plot_parse(&parsed, text, strlen(text), "the result", &lost)
                     : sg_fail_memory(&lost, "the result");
    if (status == SG_OK && paged == SG_OK && table)
        status = print_table(parsed, err);
    if (paged == SG_OK && page)
        paged = write_page(page, parsed, &lost);
    if (status == SG_OK && paged != SG_OK)
        *err = lost;
    cJSON_Delete(parsed);
    cJSON_Delete(take_result);
    free(text);
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
    cJSON *devices = sg_grid_devices(run);
    const int n = cJSON_GetArraySize(devices);
    if (n > 1)
        sg_log_note("%s, seed %" PRIu64 " ran on %s, %sand at last on %s", cell->label, cell->seed,
                    cJSON_GetArrayItem(devices, 0)->valuestring, n > 2 ? "then on others " : "",
                    cJSON_GetArrayItem(devices, n - 1)->valuestring);
    cJSON_Delete(devices);
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

bool report_claims(const cJSON *result, bool beside_table) {
    bool color = sg_color(STDERR_FILENO, opt.color), fails = false;
    const cJSON *claim;
    cJSON_ArrayForEach(claim, sg_json_get(result, "claims")) {
        const char *verdict = sg_json_string(claim, "verdict", ""), *reason = sg_json_string(claim, "reason", NULL);
        fails = fails || strncmp(verdict, "fails", strlen("fails")) == 0;
        if (!beside_table && strcmp(verdict, SG_NOT_JUDGED) != 0)
            sg_log_verdict(color ? sg_verdict_color(verdict) : "", verdict, "%s%s%s%s",
                           sg_json_string(claim, "text", ""), reason ? " (" : "", reason ? reason : "",
                           reason ? ")" : "");
    }
    const char *finding = sg_json_string(result, "summary.text", NULL);
    if (finding && !beside_table)
        sg_log_note("%s", finding);
    const char *edge = sg_json_string(result, "tuning.text", NULL);
    if (edge)
        sg_log_warning("%s", edge);
    const char *error = sg_json_string(result, "network.error", NULL);
    if (error)
        sg_log_note("%s", error);
    return fails;
}

int exit_code(const char *status, bool claim_fails) {
    if (strcmp(status, "interrupted") == 0)
        return sg_exit_code(SG_ERR_INTERRUPTED);
    if (strcmp(status, "ok") != 0)
        return SG_EXIT_FAILED;
    return opt.strict && claim_fails ? SG_EXIT_GATE : SG_EXIT_OK;
}
