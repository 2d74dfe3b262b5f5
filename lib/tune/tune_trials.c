/* tune_trials.c: trials are cells of the recipe with some keys changed, run by lib/grid. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_compressor.h"
#include "sg_controller.h"
#include "sg_debug.h"
#include "tune_private.h"

void tune_sets_start(struct tune_sets *s, const struct sg_tune *t) {
    *s = (struct tune_sets){.count = t->grid.n_set, .methods = sg_node_get(&t->recipe->root, "methods")};
    memcpy(s->item, t->grid.set, s->count * sizeof *s->item);
}

bool tune_set(struct tune_sets *s, const char *format, ...) {
    SG_ASSERT(s->n_own <= TUNE_SETS && s->n_own <= s->count);
    va_list args;
    char *text = NULL;
    va_start(args, format);
    const bool fine = s->n_own < TUNE_SETS && vasprintf(&text, format, args) >= 0;
    va_end(args);
    if (fine)
        s->item[s->count++] = s->own[s->n_own++] = text;
    return fine;
}

bool tune_set_values(struct tune_sets *s, const char *method, const char *key, const char *list) {
    size_t i = 0;
    while (strcmp(sg_node_string(&s->methods->child[i], "name", ""), method) != 0)
        i++;
    return strchr(method, '=') ? tune_set(s, "methods.%zu.%s=[%s]", i, key, list) /* a key ends at the first = */
                               : tune_set(s, "methods.%s.%s=[%s]", method, key, list);
}

void tune_sets_free(struct tune_sets *s) {
    for (size_t i = 0; i < s->n_own; i++)
        free(s->own[i]);
    *s = (struct tune_sets){.count = 0};
}

static bool chosen(const struct sg_cell *cell, const char *name, const char *compressor) {
    return (!name || strcmp(cell->name, name) == 0) &&
           (!compressor || strcmp(sg_node_string(cell->method, "compressor", ""), compressor) == 0);
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

sg_status tune_trials_open(struct tune_trials *out, const struct sg_tune *t, const struct tune_sets *sets,
                           const char *name, const char *compressor, size_t seeds, struct sg_error *err) {
    struct tune_trials b = {.count = 0};
    const struct sg_recipe *r = t->recipe;
    sg_status status = sg_recipe_parse(&b.recipe, r->text, strlen(r->text), r->path, sets->item, sets->count, err);
    SG_DO(status, sg_recipe_cells(&b.recipe, &b.cells, &b.all, err));
    if (status == SG_OK) {
        choose(&b, name, compressor, seeds);
        b.outcomes = calloc(b.count + 1, sizeof *b.outcomes);
        status = b.outcomes ? SG_OK : sg_fail_memory(err, "the cells");
    }
    if (status == SG_OK)
        *out = b;
    else
        tune_trials_close(&b);
    return status;
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

sg_status tune_trials_run(struct tune_trials *b, struct sg_tune *t, const struct tune_sets *sets, bool converges,
                          struct sg_error *err) {
    struct sg_grid_options grid = t->grid; /* a copy: jobs and threads are shared out each time */
    grid.set = sets->item;
    grid.n_set = sets->count;
    if (t->begin && !t->begin(grid.arg, b->count))
        return sg_fail_memory(err, "the cells");
    SG_TRACE(1, "a batch of %zu cells", b->count);
    sg_status status = sg_grid_run(b->outcomes, b->cells, b->count, &grid, err);
    if (t->end)
        t->end(grid.arg);
    return status == SG_OK ? judge(b, converges, err) : status;
}

void tune_trials_close(struct tune_trials *b) {
    sg_grid_outcomes_free(b->outcomes, b->outcomes ? b->count : 0);
    free(b->outcomes);
    sg_recipe_cells_free(b->cells, b->all);
    sg_recipe_free(&b->recipe);
    *b = (struct tune_trials){.count = 0};
}

/* The last value of a column; NaN = there is none. */
static double last(const struct sg_run *run, const char *column) {
    const double *x = sg_run_series(run, column);
    return x && run->n_points > 0 ? x[run->n_points - 1] : NAN;
}

/* Does an entry of these messages cost 64 bits? It does if a selector sends floats or halves with their positions. */
static bool costs_64_bits(const struct sg_cell *cell) {
    const struct sg_compressor_ops *compressor = sg_compressor_find(sg_node_string(cell->method, "compressor", ""));
    const struct sg_controller_ops *controller =
        sg_controller_find(sg_node_string(cell->method, "controller.kind", ""));
    const char *code = sg_node_string(cell->method, "values.code", "fp32"); /* those of `message` are plain */
    return compressor && compressor->select && strcmp(compressor->name, "none") != 0 &&
           !(controller && controller->resets) && (strcmp(code, "fp32") == 0 || strcmp(code, "fp16") == 0);
}

double tune_entries(const struct sg_run *run, const struct sg_cell *cell, double d, bool padded) {
    const double steps = sg_json_number(run->end, "steps", NAN), values = last(run, "bits_values"),
                 density = last(run, padded ? "average_density_padded" : "average_density");
    if (!padded && !isnan(values))
        return values / 32 / steps;
    if (padded || !isnan(density))
        return d > 0 ? density * d : NAN;
    return costs_64_bits(cell) ? last(run, "bits") / 64 / steps : NAN;
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

size_t tune_read_list(double *out, size_t most, const char *text, double largest) {
    size_t n = 0;
    for (const char *at = text;; at++) {
        char *end;
        const double x = strtod(at, &end);
        if (end == at || !(x > 0) || !(x <= largest) || (*end != '\0' && *end != ',') || n == most)
            return 0;
        out[n++] = x;
        if (*end == '\0')
            return n;
        at = end;
    }
}

bool tune_wants_lambda(const struct sg_node *method) {
    const struct sg_node *lambda = sg_node_get(method, "lambda");
    return strcmp(sg_node_string(method, "compressor", ""), "hard-threshold") == 0 && lambda &&
           lambda->kind != SG_NODE_NULL;
}

const char *tune_lambda_key(const struct sg_node *method) {
    return tune_wants_lambda(method) ? "lambda" : NULL;
}

sg_status tune_need_lambda(const struct sg_tune *t, struct sg_error *err) {
    const struct sg_node *methods = sg_node_get(&t->recipe->root, "methods");
    for (size_t i = 0; i < methods->count; i++)
        if (tune_wants_lambda(&methods->child[i]))
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: no method with compressor: hard-threshold and a lambda to find (lambda: match will do)",
                   t->recipe->path);
}

/* ---- pilots ---- */

/* Sets the epochs of decay, scaled to the length of the run. */
static bool set_decays(struct tune_sets *s, const struct sg_node *decays, double scale) {
    char *list = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    for (size_t i = 0; out && i < decays->count; i++)
        fprintf(out, "%s%.15g", i ? ", " : "", decays->child[i].number * scale);
    const bool fine = out && fclose(out) == 0 && tune_set(s, "optimizer.decay-at=[%s]", list);
    free(list);
    return fine;
}

static bool set_epochs(struct tune_sets *s, const struct sg_node *optimizer, double scale) {
    const double warm_up = sg_node_number(optimizer, "warm-up-epochs", 0);
    const struct sg_node *decays = sg_node_get(optimizer, "decay-at");
    return (warm_up == 0 || tune_set(s, "optimizer.warm-up-epochs=%.15g", warm_up * scale)) &&
           (!decays || decays->count == 0 || set_decays(s, decays, scale));
}

/* Is it "steps=…" or "epochs=…", of the recipe or of a method? */
static bool is_length(const char *set) {
    const size_t key = strcspn(set, "=");
    return (key >= 5 && strncmp(set + key - 5, "steps", 5) == 0 && (key == 5 || set[key - 6] == '.')) ||
           (key >= 6 && strncmp(set + key - 6, "epochs", 6) == 0 && (key == 6 || set[key - 7] == '.'));
}

bool tune_set_length(struct tune_sets *s, const struct tune_length *length, double steps) {
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) /* the lengths that the user set are those of whole runs */
        if (!is_length(s->item[i]))
            s->item[kept++] = s->item[i];
    s->count = kept;
    return tune_set(s, "steps=%.0f", steps) && tune_set(s, "claims=[]") && tune_set(s, "plots=[]") &&
           tune_set(s, "network=null") && /* it may need series that trials do not record */
           (length == NULL || set_epochs(s, sg_node_get(length->resolved, "optimizer"), steps / length->steps));
}

bool tune_set_record(struct tune_sets *s) {
    return tune_set(s, "record={every: 1, series: [bits-values, average-density, average-density-padded, error-norm, "
                       "learning-rate]}");
}

/* Values that a worker sent up to step t; if padded, those of the largest messages. */
static double sent(const struct sg_run *pilot, double t, double d, bool padded) {
    const double *step = sg_run_series(pilot, "step"),
                 *value = sg_run_series(pilot, padded ? "average_density_padded" : "bits_values");
    double found = 0;
    for (size_t i = 0; i < pilot->n_points && step[i] <= t; i++)
        if (step[i] > 0) /* there is no density before the first step */
            found = padded ? value[i] * d * step[i] : value[i] / 32;
    return found;
}

double tune_extrapolate(const struct sg_run *pilot, const struct tune_length *length, double d, bool padded) {
    const struct sg_node *optimizer = sg_node_get(length->resolved, "optimizer"),
                         *decays = sg_node_get(optimizer, "decay-at");
    const double steps = sg_json_number(pilot->end, "steps", NAN), scale = steps / length->steps;
    double from = 0, total = 0;
    for (size_t i = 0; from < steps; i++) {
        double epoch = i == 0                            ? sg_node_number(optimizer, "warm-up-epochs", 0)
                       : decays && i - 1 < decays->count ? decays->child[i - 1].number
                                                         : INFINITY;
        const double to = fmin(steps, floor(epoch * scale * length->steps_per_epoch + 0.5));
        if (!(to > from))
            continue;
        const double middle = floor((from + to) / 2), all = sent(pilot, to, d, padded);
        total += all - sent(pilot, from, d, padded) +
                 (to - from) * (1 / scale - 1) * (all - sent(pilot, middle, d, padded)) / (to - middle);
        from = to;
    }
    return total / length->steps;
}
