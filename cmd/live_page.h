/* live_page.h: the page in HTML that sparsebench writes beside its result, also while its grid runs. */
#ifndef LIVE_PAGE_H
#define LIVE_PAGE_H

#include <stdlib.h>
#include <string.h>

#include "sg_clock.h"
#include "sg_file.h"
#include "sg_grid.h"
#include "sg_plot.h"
#include "sg_terminal.h"
#include "sg_text.h"

/* A page of a running grid is written again after so many seconds, and after so many times what writing it took. */
#define PAGE_EVERY_S 3.0
#define PAGE_COSTS   50.0

struct live_page {
    char *path;    /* NULL = no page; freed by the program */
    double next_s; /* when the next one is due */
    bool warned;   /* said that it could not be written */
};

/* May the page be written? Like a result it replaces only a page of a run that did not come to its end. It is written
 * again and again, so it is a plain file. */
static sg_status live_page_open(struct live_page *page, const char *path, const char *output, bool force,
                                struct sg_error *err) {
    if (!path)
        return SG_OK;
    if (strcmp(path, "-") == 0 || (output && sg_file_same(path, output)))
        return sg_fail(err, SG_ERR_ARGUMENT, "--html=%s: name a file of its own for the page", path);
    return sg_file_target(&page->path, NULL, path, force || sg_page_is_partial(path), err);
}

/* Writes the page of a result, whole or not at all. */
static sg_status live_page_write(const struct live_page *page, const cJSON *result, struct sg_error *err) {
    const struct sg_plot_select as_planned = {.seeds = sg_app_verbosity() == SG_VERBOSE};
    cJSON *parsed = NULL; /* read again, as the exporters get it: the numbers in `result` are raw text */
    char *html = NULL, *text = page->path ? sg_json_text(result, false) : NULL;
    size_t size = 0;
    if (!page->path)
        return SG_OK;
    sg_status status =
        text ? sg_plot_parse(&parsed, text, strlen(text), "the result", err) : sg_fail_memory(err, "the page");
    free(text);
    FILE *stream = status == SG_OK ? open_memstream(&html, &size) : NULL;
    SG_DO(status, stream ? sg_page_write(stream, &(struct sg_page_result){parsed, NULL}, 1, &as_planned, NULL, err)
                         : sg_fail_memory(err, "the page"));
    html = sg_stream_text(stream, &html);
    SG_DO(status, html ? sg_file_replace(page->path, html, strlen(html), err) : sg_fail_memory(err, "the page"));
    free(html);
    cJSON_Delete(parsed);
    return status;
}

/* {"cells","finished","share","written_at","running":[{"label","seed","done"}]} */
static cJSON *live_page_progress(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count) {
    cJSON *out = cJSON_CreateObject(), *running = cJSON_CreateArray();
    char now[21];
    double finished = 0, share = 0;
    for (size_t i = 0; i < count; i++) {
        const bool runs = outcomes[i].state == SG_CELL_RUNNING, waits = outcomes[i].state == SG_CELL_WAITING;
        finished += !runs && !waits;
        share += runs ? outcomes[i].done : !waits;
        if (!runs)
            continue;
        cJSON *cell = cJSON_CreateObject();
        sg_json_set_string(cell, "label", cells[i].label);
        sg_json_set_u64(cell, "seed", cells[i].seed);
        sg_json_set_number(cell, "done", outcomes[i].done);
        sg_json_push(running, cell);
    }
    sg_clock_utc(now);
    sg_json_set_number(out, "cells", (double)count);
    sg_json_set_number(out, "finished", finished);
    sg_json_set_number(out, "share", count > 0 ? share / (double)count : 0);
    sg_json_set_string(out, "written_at", now);
    sg_json_set(out, "running", running);
    return out;
}

/* Writes the page of a grid that runs; takes over what its result is so far, which it took from begun_s on to make. A
 * page that cannot be written now does not stop the grid, but is said once; the last page counts. */
static void live_page_renew(struct live_page *page, double begun_s, cJSON *take_result, cJSON *take_progress) {
    struct sg_error err;
    sg_grid_unjudge(take_result, "the grid still runs");
    cJSON_DeleteItemFromObjectCaseSensitive(take_result, "status");
    sg_json_set_string(take_result, "status", "running");
    sg_json_set(take_result, "progress", take_progress);
    if (live_page_write(page, take_result, &err) != SG_OK && !page->warned) {
        sg_log_warning("the page is not renewed: %s", err.msg);
        page->warned = true;
    }
    cJSON_Delete(take_result);
    page->next_s = begun_s + PAGE_EVERY_S + PAGE_COSTS * (sg_clock_s() - begun_s);
}

#endif
