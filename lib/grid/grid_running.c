/* grid_running.c: reads the partial series of unfinished cells, and describes their progress. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

/* A run that resumes from a checkpoint cuts its series, so a file that is read at that moment may be inconsistent. */
static bool is_series(const struct sg_run *run) {
    const double *step = sg_run_series(run, "step");
    for (size_t i = 1; step && i < run->n_points; i++)
        if (!(step[i - 1] < step[i]))
            return false;
    return run->header && step && run->n_points > 0;
}

/* A cell that was stopped now has a message; one that was stopped before left its series. */
static bool has_begun(const struct sg_cell_outcome *o) {
    return o->state == SG_CELL_WAITING && (o->message || o->stopped);
}

void sg_grid_read_unfinished(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count) {
    const cJSON *data = NULL; /* that of the finished cells, else of the first unfinished one */
    for (size_t i = 0; i < count && !data; i++)
        data = sg_json_get(outcomes[i].run.header, "dataset");
    for (size_t i = 0; i < count; i++) {
        struct sg_run *run = &outcomes[i].run;
        struct sg_error unused;
        char *part = has_begun(&outcomes[i]) ? sg_format("%s.part", outcomes[i].path) : NULL;
        if (part && sg_run_read(run, part, &unused) == SG_OK) {
            const cJSON *own = sg_json_get(run->header, "dataset");
            if (!is_series(run) || strcmp(sg_json_string(run->header, "cell_key", ""), cells[i].key) != 0 ||
                (data && own && !grid_same_data(data, own)))
                sg_run_free(run);
            else
                data = data ? data : own;
        }
        free(part);
    }
}

/* Steps of an epoch, from the run's header, else from its last record; NaN = not known. */
static double steps_per_epoch(const struct sg_run *run) {
    const double step = sg_run_last(run, "step"), epoch = sg_run_last(run, "epoch");
    return sg_json_number(run->run, "steps_per_epoch", epoch > 0 ? step / epoch : NAN);
}

struct grid_reach grid_reach(const struct sg_cell *cell, const struct sg_cell_outcome *o) {
    const struct sg_run *run = &o->run;
    const double step = sg_run_last(run, "step"), each = steps_per_epoch(run);
    const double steps = sg_node_number(&cell->resolved, "steps", NAN);
    struct grid_reach r = {.steps = sg_json_number(run->run, "planned_steps", steps),
                           .epochs = sg_node_number(&cell->resolved, "epochs", NAN)};
    r.step = sg_json_number(run->end, "steps", isnan(step) ? 0 : step);
    r.epoch = r.step > 0 ? r.step / each : 0;
    r.steps = isnan(r.steps) ? floor(r.epochs * each + 0.5) : r.steps;
    r.epochs = isnan(r.epochs) ? r.steps / each : r.epochs;
    return r;
}

char *sg_grid_reach_text(char out[SG_REACH_CHARS], const struct sg_cell *cell, const struct sg_cell_outcome *o) {
    const struct grid_reach r = grid_reach(cell, o);
    if (!o->run.header)
        snprintf(out, SG_REACH_CHARS, "not begun");
    else if (isnan(r.epoch) || isnan(r.epochs))
        snprintf(out, SG_REACH_CHARS, "step %.0f of %.0f", r.step, r.steps);
    else
        snprintf(out, SG_REACH_CHARS, "step %.0f of %.0f (epoch %.6g of %.6g)", r.step, r.steps, r.epoch, r.epochs);
    if (o->run.header && o->stopped && !o->resumable && !o->message)
        strncat(out, ", without a checkpoint to go on from", SG_REACH_CHARS - strlen(out) - 1);
    return out;
}

/* Appends a text to a list that has room for it, unless the list has it. */
static void push_once(struct sg_text_list *list, const char *text) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->item[i], text) == 0)
            return;
    list->item[list->n++] = text;
}

struct sg_text_list sg_grid_devices(const struct sg_run *run, struct sg_arena *memory) {
    const cJSON *segments = sg_json_get(run->run, "segments"), *segment;
    const size_t most = (size_t)cJSON_GetArraySize(segments);
    struct sg_text_list out = {0};
    if (most > 0)
        out.item = sg_arena_get(memory, most * sizeof *out.item);
    cJSON_ArrayForEach(segment, segments) push_once(&out, sg_json_string(segment, "processor", "?"));
    return out;
}

struct sg_text_list sg_grid_identities(const struct sg_cell_outcome *outcomes, size_t count, struct sg_arena *memory) {
    struct sg_text_list out = {.item = sg_arena_get(memory, count * sizeof *out.item)};
    for (size_t i = 0; i < count; i++) {
        const char *identity = sg_json_string(outcomes[i].run.header, "program.identity", NULL);
        if (identity)
            push_once(&out, identity);
    }
    return out;
}
