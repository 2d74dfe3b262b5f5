/* tune_trials.c: trials are cells of the recipe with some keys changed, run by lib/grid. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sg_compressor.h"
#include "sg_debug.h"
#include "sg_feedback.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "tune_private.h"

/* ---- changes ---- */

/* Runs get the recipe's own length. Claims and plots may name other lengths. */
static void change_stretch(struct tune_changes *c) {
    const struct sg_node *methods = sg_node_get(&c->recipe->root, "methods");
    tune_change(c, "{step-efficiency: null, stretch: null, claims: null, plots: null}");
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *method = &methods->child[i];
        char *path = sg_format("methods.%s.stretch", sg_node_string(method, "name", ""));
        if (!sg_node_absent(sg_node_get(method, "stretch")))
            tune_change_value(c, path, &(struct sg_node){.kind = SG_NODE_NULL});
        free(path);
    }
}

void tune_changes_start(struct tune_changes *c, const struct sg_tune *t, const struct tune_changes *base) {
    *c = (struct tune_changes){.recipe = t->recipe, .map = {.kind = SG_NODE_MAP}};
    if (!base && !sg_node_absent(sg_node_get(&t->recipe->root, "step-efficiency")))
        change_stretch(c);
    if (!base)
        return;
    sg_node_copy(&c->map, &base->map);
    c->pilot = base->pilot;
}

void tune_change(struct tune_changes *c, const char *yaml, ...) {
    va_list args;
    va_start(args, yaml);
    char *text = sg_vformat(yaml, args);
    va_end(args);
    sg_node_push_yaml(&c->map, text);
    free(text);
}

void tune_change_value(struct tune_changes *c, const char *path, struct sg_node *take_value) {
    sg_node_set_key(take_value, path);
    sg_node_push(&c->map, take_value);
}

void tune_change_network(struct tune_changes *c) {
    tune_change(c, "{network.link: 10gbe-tcp}");
}

void tune_changes_free(struct tune_changes *c) {
    sg_node_clear(&c->map);
}

sg_status tune_changes_read(struct sg_recipe *out, struct sg_node *written, const struct tune_changes *c,
                            struct sg_error *err) {
    struct sg_node unwanted = {0};
    const sg_status status = sg_recipe_with(out, written ? written : &unwanted, c->recipe, &c->map, err);
    sg_node_clear(&unwanted);
    return status;
}

/* A length of runs from --set overrules others, and the length of a pilot overrules those of methods. Overruled lengths
 * become null, so that the changed recipe means the same when it is read from a file. */
static void settle_lengths(struct tune_changes *c) {
    static const char *const keys[] = {"epochs", "steps"};
    const struct sg_node *root = &c->recipe->root, *methods = sg_node_get(root, "methods");
    const bool in_steps = !sg_node_absent(sg_node_get(root, "steps")),
               all = c->pilot || sg_node_from_set(sg_node_get(root, keys[in_steps]));
    tune_change(c, "{%s: null}", keys[!in_steps]);
    for (size_t i = 0; i < 2 * methods->count; i++) {
        const struct sg_node *method = &methods->child[i / 2], *own = sg_node_get(method, keys[i % 2]);
        char *path = sg_format("methods.%s.%s", sg_node_string(method, "name", ""), keys[i % 2]);
        if (sg_node_absent(own) || c->pilot || (all && !sg_node_from_set(own)))
            tune_change_value(c, path, &(struct sg_node){.kind = SG_NODE_NULL});
        free(path);
    }
}

/* ---- trials ---- */

static bool chosen(const struct sg_cell *cell, const char *name, const char *compressor) {
    return (!name || sg_cell_is(cell, name)) && (!compressor || tune_compresses_by(cell->method, compressor));
}

/* Moves the chosen cells to the front; the first `seeds` of each label. */
static void choose(struct tune_trials *b, const char *name, const char *compressor, size_t seeds) {
    const char *label = "";
    for (size_t i = 0, turn = 0; i < b->all; i++) {
        struct sg_cell cell = b->cells[i];
        turn = strcmp(cell.label, label) == 0 ? turn + 1 : 0;
        label = cell.label;
        if (turn >= seeds || !chosen(&cell, name, compressor))
            continue;
        memmove(&b->cells[b->count + 1], &b->cells[b->count], (i - b->count) * sizeof cell);
        b->cells[b->count++] = cell;
    }
}

void tune_trials_start(struct tune_trials *b, const struct sg_tune *t, const struct tune_changes *base) {
    *b = (struct tune_trials){.count = 0};
    tune_changes_start(&b->changes, t, base);
}

sg_status tune_trials_open(struct tune_trials *b, const char *name, const char *compressor, size_t seeds,
                           struct sg_error *err) {
    struct tune_changes *c = &b->changes;
    if (c->map.count > 0 && !c->pilot)
        settle_lengths(c);
    sg_status status = tune_changes_read(&b->recipe, c->map.count > 0 ? &b->written : NULL, c, err);
    SG_DO(status, sg_recipe_cells(&b->recipe, &b->cells, &b->all, err));
    if (status != SG_OK)
        return status;
    choose(b, name, compressor, seeds);
    b->outcomes = sg_calloc(b->count + 1, sizeof *b->outcomes);
    return SG_OK;
}

/* *path <- a file with the changed recipe, which is complete: the cells' processes get no --set. */
static sg_status save_recipe(char path[PATH_MAX], const struct tune_trials *b, const char *folder,
                             struct sg_error *err) {
    struct sg_recipe saved = {.text = NULL};
    size_t size;
    FILE *out = sg_memstream(&saved.text, &size);
    sg_node_put_yaml(out, &b->written, true);
    sg_stream_text(out, &saved.text);
    sg_sha256_of(saved.text, strlen(saved.text), saved.sha256);
    const sg_status status = sg_grid_save_recipe(path, &saved, folder, err);
    free(saved.text);
    return status;
}

/* Replaces the path of the changed recipe, or a position in it, in a process's message by that in the user's file. */
static void name_places(struct sg_error *err, const struct tune_trials *b, const char *path) {
    char text[sizeof err->msg], place[PATH_MAX];
    const size_t length = strlen(path);
    size_t used = 0;
    for (const char *at = err->msg; *at && used + 1 < sizeof text;) {
        int line, column, end = 0;
        if (strncmp(at, path, length) != 0) {
            text[used++] = *at++;
            continue;
        }
        snprintf(place, sizeof place, "%s", b->recipe.path);
        if (sscanf(at + length, ":%d:%d: %n", &line, &column, &end) == 2 && end > 0)
            sg_node_place(place, sizeof place, &b->recipe, sg_node_of_line(&b->written, (size_t)line));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", place);
        at += length + (size_t)end;
    }
    text[used < sizeof text ? used : sizeof text - 1] = '\0';
    memcpy(err->msg, text, sizeof text);
}

static sg_status judge(const struct tune_trials *b, bool converges, struct sg_error *err) {
    for (size_t i = 0; i < b->count; i++) {
        const struct sg_cell_outcome *o = &b->outcomes[i];
        const char *how = sg_grid_status(o);
        if (strcmp(how, "ok") != 0 && (converges || strcmp(how, "diverged") != 0))
            return sg_fail(err, SG_ERR_NONFINITE, "%s, seed %" PRIu64 " %s: %s", b->cells[i].label, b->cells[i].seed,
                           how, o->message ? o->message : sg_json_string(o->run.end, "message", "?"));
    }
    return SG_OK;
}

sg_status tune_trials_run(struct tune_trials *b, struct sg_tune *t, bool converges, struct sg_error *err) {
    struct sg_grid_options grid = t->grid; /* a copy, because a run fills in jobs and threads */
    char path[PATH_MAX];
    sg_status status = SG_OK;
    if (b->written.kind == SG_NODE_MAP) {
        status = save_recipe(path, b, grid.folder, err);
        grid.recipe_path = path;
        grid.n_set = 0;
    }
    if (status == SG_OK && t->view)
        sg_grid_view_open(t->view, b->count);
    if (status != SG_OK)
        return status;
    if (t->view)
        t->view->options = &grid;
    SG_TRACE(1, "a batch of %zu cells", b->count);
    status = sg_grid_run(b->outcomes, b->cells, b->count, &grid, err);
    if (t->view)
        sg_grid_view_close(t->view);
    SG_DO(status, judge(b, converges, err));
    if (status != SG_OK && grid.recipe_path == path)
        name_places(err, b, path);
    return status;
}

void tune_trials_close(struct tune_trials *b) {
    sg_grid_outcomes_free(b->outcomes, b->outcomes ? b->count : 0);
    free(b->outcomes);
    sg_recipe_cells_free(b->cells, b->all);
    sg_recipe_free(&b->recipe);
    sg_node_clear(&b->written);
    tune_changes_free(&b->changes);
    *b = (struct tune_trials){.count = 0};
}

/* True if an entry of these messages costs 64 bits, because a selector sends floats or halves with their positions. */
static bool costs_64_bits(const struct sg_cell *cell) {
    const struct sg_compressor_ops *compressor = sg_compressor_find(sg_node_string(cell->method, "compressor", ""));
    const char *code = sg_node_string(cell->method, "values.code", "fp32"); /* those of `message` are plain */
    return compressor && compressor->select && strcmp(compressor->name, "none") != 0 &&
           (strcmp(code, "fp32") == 0 || strcmp(code, "fp16") == 0);
}

double tune_entries(const struct sg_run *run, const struct sg_cell *cell, double d, bool padded) {
    const double steps = sg_json_number(run->end, "steps", NAN), values = sg_run_last(run, "bits_values"),
                 density = sg_run_last(run, padded ? "average_density_padded" : "average_density");
    if (!padded && !isnan(values))
        return values / 32 / steps;
    if (padded || !isnan(density))
        return d > 0 ? density * d : NAN;
    return costs_64_bits(cell) ? sg_run_last(run, "bits") / 64 / steps : NAN;
}

bool tune_recorded(const struct sg_tune *t, const char *name) {
    const struct sg_node *series = sg_node_get(&t->recipe->root, "record.series");
    for (size_t i = 0; i < series->count; i++)
        if (strcmp(series->child[i].string, name) == 0)
            return true;
    return false;
}

sg_status tune_need_volume(const struct sg_tune *t, const struct sg_cell *cell, struct sg_error *err) {
    const char *path = t->recipe->path;
    const bool bits = tune_recorded(t, "bits"),
               counted = tune_recorded(t, "bits_values") || tune_recorded(t, "average_density");
    if (t->padded ? tune_recorded(t, "average_density_padded") : counted || (bits && costs_64_bits(cell)))
        return SG_OK;
    if (t->padded)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: record.series has no average-density-padded, by which --padded knows the volume of a whole "
                       "run (add it)",
                       path);
    if (bits)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: record.series has bits, which do not tell how many entries %s sends (add average-density)",
                       path, cell->name);
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: record.series has none of bits, bits-values, average-density, by one of which the volume of a "
                   "whole run is known (add one)",
                   path);
}

/* ---- pilots ---- */

struct tune_length tune_length(const struct sg_node *resolved, double steps_per_epoch) {
    struct tune_length length = {
        .resolved = resolved, .steps_per_epoch = steps_per_epoch, .steps = sg_node_number(resolved, "steps", NAN)};
    if (isnan(length.steps))
        length.steps = floor(sg_node_number(resolved, "epochs", 0) * steps_per_epoch + 0.5);
    return length;
}

/* Sets a key of the optimizer at `path`, and takes the value. */
static void change_key(struct tune_changes *c, const char *path, const char *key, struct sg_node value) {
    char *whole = sg_format("%s.%s", path, key);
    tune_change_value(c, whole, &value);
    free(whole);
}

/* Scales the learning-rate schedule of an optimizer. */
static void change_epochs(struct tune_changes *c, const char *path, const struct sg_node *optimizer, double scale) {
    const double warm_up = sg_node_number(optimizer, "warm-up-epochs", 0);
    const struct sg_node *decays = sg_node_get(optimizer, "decay-at");
    struct sg_node list = {.kind = SG_NODE_LIST}, scaled = {.kind = SG_NODE_NULL};
    char text[SG_NUMBER_CHARS];
    if (warm_up != 0) {
        snprintf(text, sizeof text, "%.15g", warm_up * scale);
        sg_node_set_plain(&scaled, text, strlen(text));
        change_key(c, path, "warm-up-epochs", scaled);
    }
    for (size_t i = 0; decays && i < decays->count; i++) {
        snprintf(text, sizeof text, "%.15g", decays->child[i].number * scale);
        sg_node_push_yaml(&list, text);
    }
    if (list.count > 0)
        change_key(c, path, "decay-at", list);
}

static void leave_cosine(struct tune_changes *c, const char *path, const struct sg_node *optimizer, double scale) {
    const struct sg_node none = {.kind = SG_NODE_NULL};
    (void)scale;
    if (strcmp(sg_node_string(optimizer, "decay", ""), "cosine") != 0)
        return;
    change_key(c, path, "decay", none);
    change_key(c, path, "decay-to", none);
}

typedef void change_optimizer(struct tune_changes *c, const char *path, const struct sg_node *optimizer, double scale);

/* Calls `change` for a section of the recipe and for those that methods have of their own, where there is one. */
static void change_sections(struct tune_changes *c, const char *section, change_optimizer *change, double scale) {
    const struct sg_node *root = &c->recipe->root, *methods = sg_node_get(root, "methods");
    const struct sg_node *common = sg_node_get(root, section);
    if (common)
        change(c, section, common, scale);
    for (size_t i = 0; i < methods->count; i++) {
        const struct sg_node *own = sg_node_get(&methods->child[i], section);
        if (!own)
            continue;
        char *path = sg_format("methods.%s.%s", sg_node_string(&methods->child[i], "name", ""), section);
        change(c, path, own, scale);
        free(path);
    }
}

static void change_optimizers(struct tune_changes *c, change_optimizer *change, double scale) {
    change_sections(c, "optimizer", change, scale);
    change_sections(c, "error-feedback.outer", change, scale);
}

void tune_change_length(struct tune_changes *c, const struct tune_length *length, double steps) {
    c->pilot = true;
    settle_lengths(c);
    tune_change(c, "{epochs: null, steps: %.15g, claims: null, plots: null}", steps);
    tune_change(c, "{network: null}"); /* it may need series that trials do not record */
    if (length)
        change_optimizers(c, change_epochs, steps / length->steps);
}

void tune_change_first(struct tune_changes *c, double steps) {
    tune_change_length(c, NULL, steps);
    change_optimizers(c, leave_cosine, NAN);
}

void tune_change_record(struct tune_changes *c, double every, bool evaluates, const char *series) {
    tune_change(c, "{record: null, record.every: %.15g, record.series: [%s]}", every, series);
    if (!evaluates)
        tune_change(c, "{record.evaluate: 0}");
}

/* The sum over the steps up to t, from its values [n_points] at the records. */
static double upto(const struct sg_run *pilot, const double *sum, double t) {
    const double *step = sg_run_series(pilot, "step");
    double found = 0;
    for (size_t i = 0; i < pilot->n_points && step[i] <= t; i++)
        if (step[i] > 0)
            found = sum[i];
    return found;
}

/* The mean a step of a whole run, if each stretch of the schedule goes on at the rate of the pilot's second half, and
 * a cosine at that of all of the pilot. */
static double stretched(const struct sg_run *pilot, const struct tune_length *length, const double *sum) {
    const struct sg_node *optimizer = sg_node_get(length->resolved, "optimizer"),
                         *decays = sg_node_get(optimizer, "decay-at");
    const bool cosine = strcmp(sg_node_string(optimizer, "decay", "steps"), "cosine") == 0;
    const double steps = sg_json_number(pilot->end, "steps", NAN), scale = steps / length->steps;
    double from = 0, total = 0;
    for (size_t i = 0; from < steps; i++) {
        double epoch = i == 0                            ? sg_node_number(optimizer, "warm-up-epochs", 0)
                       : decays && i - 1 < decays->count ? decays->child[i - 1].number
                                                         : INFINITY;
        const double to = fmin(steps, floor(epoch * scale * length->steps_per_epoch + 0.5));
        if (!(to > from))
            continue;
        const double middle = cosine ? from : floor((from + to) / 2), all = upto(pilot, sum, to);
        total += all - upto(pilot, sum, from) +
                 (to - from) * (1 / scale - 1) * (all - upto(pilot, sum, middle)) / (to - middle);
        from = to;
    }
    return total / length->steps;
}

double tune_extrapolate(const struct sg_run *pilot, const struct tune_length *length, double d, enum tune_sum what) {
    static const char *const names[] = {[TUNE_SENT] = "bits_values",
                                        [TUNE_PADDED] = "average_density_padded",
                                        [TUNE_BYTES_SENT] = "bytes_sent",
                                        [TUNE_GRADIENT] = "gradient_norm"};
    const double *step = sg_run_series(pilot, "step"), *value = sg_run_series(pilot, names[what]);
    double *sum = sg_calloc(pilot->n_points + 1, sizeof *sum), mean = NAN;
    for (size_t i = 0; value && i < pilot->n_points; i++) {
        const bool taken = step[i] > 0; /* there is neither density nor gradient before the first step */
        sum[i] = !taken                    ? 0
                 : what == TUNE_SENT       ? value[i] / 32
                 : what == TUNE_PADDED     ? value[i] * d * step[i]
                 : what == TUNE_BYTES_SENT ? value[i]
                                           : value[i] + (i > 0 ? sum[i - 1] : 0);
    }
    if (value)
        mean = stretched(pilot, length, sum);
    free(sum);
    return mean;
}
