/* grid_view.c: shows on stderr a running grid, and the finished cells that were found. */
/* SPDX-License-Identifier: MIT */
#include "sg_grid_view.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_memory.h"
#include "sg_terminal.h"

static void erase(struct sg_grid_view *v) {
    if (v->lines > 0)
        fprintf(stderr, "\033[%dA\r\033[J", v->lines);
    v->lines = 0;
    fflush(stderr);
}

static void redraw(struct sg_grid_view *v, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                   size_t count) {
    enum { LEAST_WIDTH = 20, LEAST_ROWS = 4 };
    double now = sg_clock_s();
    if (now - v->last_s < 1.0 / 6)
        return;
    v->last_s = now;
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        size.ws_row = 24;
    const int columns = sg_terminal_columns(STDERR_FILENO), width = columns > LEAST_WIDTH ? columns - 1 : LEAST_WIDTH;
    int rows = size.ws_row > LEAST_ROWS ? size.ws_row - 2 : 1;
    char *text = sg_grid_overview(cells, outcomes, count, now - v->start_s, width, rows);
    erase(v);
    fputs(text ? text : "", stderr);
    for (const char *c = text; c && *c; c++)
        v->lines += *c == '\n';
    fflush(stderr);
    free(text);
}

static void tell_finished(struct sg_grid_view *v, const struct sg_cell *cell, const struct sg_cell_outcome *o,
                          size_t count) {
    static const char *const word[] = {
        [SG_CELL_DONE] = "done", [SG_CELL_DIVERGED] = "diverged", [SG_CELL_FAILED] = "failed"};
    v->finished++;
    if (!v->live)
        sg_log_note("%s, seed %" PRIu64 ": %s after %.1f s (%zu of %zu)", cell->label, cell->seed, word[o->state],
                    o->elapsed_s, v->finished, count);
    if (o->state == SG_CELL_DONE && o->message && sg_app_verbosity() == SG_VERBOSE) {
        erase(v);
        sg_log_detail("%s, seed %" PRIu64 " said:\n%s", cell->label, cell->seed, o->message);
    }
}

#define AGAIN                                                                                                          \
    { ", so it is run again", ", so they are run again" }
/* Why finished cells run again, in the singular and in the plural. */
static const struct {
    const char *verb[2], *what, *then[2];
} unlike_text[SG_RUN_PARTS] = {
    [SG_RUN_PROGRAM] = {{"was made", "were made"},
                        "by another version of the program",
                        {": --any-version takes it", ": --any-version takes them"}},
    [SG_RUN_DATA] = {{"was made", "were made"}, "from other data than are here now", AGAIN},
    [SG_RUN_DEVICE] = {{"ran", "ran"}, "on another device than --device names", AGAIN},
    [SG_RUN_BYTES] = {{"is", "are"}, "damaged", AGAIN},
};

/* Counts the finished cells that differ in this part. `of` receives the distinct values of the part, cut to fit. */
static size_t count_unlike(char *of, size_t size, const struct sg_cell_outcome *outcomes, size_t count,
                           enum sg_run_part part) {
    size_t n = 0, at = 0;
    of[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *text = outcomes[i].unlike.has;
        if (outcomes[i].unlike.part != part)
            continue;
        n++;
        if (!strstr(of, text) && at < size)
            at += (size_t)snprintf(of + at, size - at, "%s%s", at > 0 ? "; " : "", text);
    }
    return n;
}

void sg_grid_view_found(const struct sg_cell_outcome *outcomes, size_t count) {
    char of[400];
    size_t reused = 0, unchecked = 0, on_gpu = 0, n;
    for (size_t i = 0; i < count; i++) {
        reused += outcomes[i].state == SG_CELL_REUSED;
        unchecked += outcomes[i].unchecked;
        on_gpu += outcomes[i].on_gpu;
    }
    if (reused > 0)
        sg_log_note("%zu of %zu cells were finished before (--fresh runs them again)", reused, count);
    if (unchecked > 0)
        sg_log_note("the data set is not here, so finished cells are taken without comparing their data");
    if (on_gpu > 0)
        sg_log_note("%zu finished cell%s on a GPU and %s reused all the same: --device cpu runs %s again", on_gpu,
                    on_gpu == 1 ? " ran" : "s ran", on_gpu == 1 ? "is" : "are", on_gpu == 1 ? "it" : "them");
    for (enum sg_run_part p = SG_RUN_PROGRAM; p < SG_RUN_PARTS; p++)
        if ((n = count_unlike(of, sizeof of, outcomes, count, p)) > 0)
            sg_log(p == SG_RUN_BYTES ? SG_LOG_WARNING : SG_LOG_NOTE, "%zu finished cell%s %s %s (%s)%s", n,
                   n == 1 ? "" : "s", unlike_text[p].verb[n > 1], unlike_text[p].what, of, unlike_text[p].then[n > 1]);
}

/* Reports once that all remaining cells run in other processes. */
static void tell_elsewhere(struct sg_grid_view *v, const struct sg_cell_outcome *outcomes, size_t count) {
    size_t open = 0, elsewhere = 0;
    for (size_t i = 0; i < count; i++) {
        open += outcomes[i].state == SG_CELL_WAITING || outcomes[i].state == SG_CELL_RUNNING;
        elsewhere += outcomes[i].state == SG_CELL_WAITING && outcomes[i].elsewhere;
    }
    if (v->waits || elsewhere == 0 || elsewhere < open)
        return;
    v->waits = true;
    sg_log_note("another sparsebench runs %zu of the cells in this folder: waiting for it", elsewhere);
}

/* Says once how many cells will run. How many at once is known when the first of them begins. */
static void tell_begin(struct sg_grid_view *v, const struct sg_cell_outcome *outcomes, size_t count) {
    size_t waiting = 0, running = 0;
    for (size_t i = 0; i < count; i++) {
        waiting += outcomes[i].state == SG_CELL_WAITING;
        running += outcomes[i].state == SG_CELL_RUNNING;
    }
    if (!v->options || v->live || v->begun || running == 0)
        return;
    v->begun = true;
    sg_log_note("%zu cell%s, %d at once, into %s", waiting + running, waiting + running == 1 ? "" : "s",
                v->options->jobs, v->options->folder);
}

void sg_grid_view_changed(void *view, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                          size_t count) {
    struct sg_grid_view *v = view;
    for (size_t i = 0; i < count; i++) {
        bool open = outcomes[i].state == SG_CELL_WAITING || outcomes[i].state == SG_CELL_RUNNING;
        if (v->told[i] || open)
            continue;
        v->told[i] = true;
        if (outcomes[i].state == SG_CELL_REUSED)
            v->finished++;
        else
            tell_finished(v, &cells[i], &outcomes[i], count);
    }
    if (!v->started)
        sg_grid_view_found(outcomes, count);
    v->started = true;
    tell_begin(v, outcomes, count);
    tell_elsewhere(v, outcomes, count);
    if (v->live)
        redraw(v, cells, outcomes, count);
}

void sg_grid_view_open(struct sg_grid_view *v, size_t count) {
    const char *term = getenv("TERM");
    *v = (struct sg_grid_view){.told = sg_calloc(count + 1, sizeof *v->told), .start_s = sg_clock_s()};
    v->live = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && sg_app_verbosity() >= SG_NORMAL;
}

void sg_grid_view_close(struct sg_grid_view *v) {
    erase(v);
    free(v->told);
    v->told = NULL;
}
