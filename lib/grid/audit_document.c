/* audit_document.c: makes a result again: from the series in a bundle, from the values of every seed that a result
 * has, or from new runs. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "audit_evidence.h"
#include "sg_memory.h"
#include "sg_text.h"

/* ---- the options of the command that made the result ---- */

/* The number of points of --points; by default as of sparsebench. */
static size_t points_of(const struct sg_text_list *argv) {
    int64_t most = 600;
    for (size_t i = 0; i < argv->n; i++) {
        const char *text = sg_or(argv->item[i], "");
        if (strncmp(text, "--points=", 9) == 0)
            text += 9;
        else if (strcmp(text, "--points") == 0 && i + 1 < argv->n && argv->item[i + 1])
            text = argv->item[i + 1];
        else
            continue;
        if (!sg_parse_integer(&most, text, 0, INT64_MAX))
            most = 600;
    }
    return (size_t)most;
}

/* Why the command judged nothing; NULL = it judged. */
static const char *unjudged(const struct sg_document_run *run) {
    if (run->part)
        return "--part was given";
    for (size_t i = 0; i < run->argv.n; i++)
        if (run->argv.item[i] && strcmp(run->argv.item[i], "--no-judge") == 0)
            return "--no-judge was given";
    return NULL;
}

/* Adds a list of the result's "run" to the words of an option. */
static sg_status read_words(struct sg_option_list *out, const struct sg_audit *a, const struct sg_text_list *words,
                            const char *key, struct sg_error *err) {
    for (size_t i = 0; i < words->n; i++) {
        if (!words->item[i] || out->count == sizeof out->item / sizeof *out->item)
            return sg_fail(err, SG_ERR_FORMAT, "%s: \"run.%s\" is no list of at most 64 texts", a->path, key);
        out->item[out->count++] = words->item[i];
    }
    return SG_OK;
}

/* The command that made the result. */
static const struct sg_document_run *run_of(const struct sg_audit *a) {
    static const struct sg_document_run none = {0};
    return a->result.run ? a->result.run : &none;
}

static bool has_seed(const struct sg_cell *cell, const char *seed) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, cell->study);
    return strcmp(text, seed) == 0;
}

sg_status audit_choose(bool *chosen, const struct sg_audit *a, struct sg_error *err) {
    struct sg_option_list methods = {.count = 0}, seeds = methods;
    const struct sg_document_run *run = run_of(a);
    const bool part = run->part;
    sg_status status = read_words(&methods, a, &run->methods, "methods", err);
    SG_DO(status, read_words(&seeds, a, &run->seeds, "seeds", err));
    for (size_t i = 0; i < a->total && status == SG_OK; i++)
        chosen[i] = a->then[i] ||
                    (!a->edited && !part && !a->cells[i].winner && grid_is_listed(&methods, &a->cells[i], sg_cell_is) &&
                     grid_is_listed(&seeds, &a->cells[i], has_seed));
    return status;
}

/* ---- a run of which values alone are known ---- */

/* The place of the seed among the label's; SIZE_MAX = it is none of them. */
static size_t seed_index(const struct sg_frame_label *label, const char *seed) {
    for (size_t i = 0; label && i < label->n_seeds; i++)
        if (label->seeds.item[i] && strcmp(label->seeds.item[i], seed) == 0)
            return i;
    return SIZE_MAX;
}

/* The i-th of the values; NaN = there is none. */
static double value_at(const double *value, size_t n, size_t i) {
    return i < n ? value[i] : NAN;
}

/* The value of a column before the first step, of which a result has the mean over the seeds. */
static double start_of(const struct sg_frame_label *label, const struct sg_frame_column *column) {
    const struct sg_frame_column *step = sg_frame_column(label, "step");
    const bool begins = step && step->curve[SG_MEAN] && step->n_points > 0 && step->curve[SG_MEAN][0] == 0;
    return begins && column->curve[SG_MEAN] && column->n_points > 0 ? column->curve[SG_MEAN][0] : NAN;
}

/* Gives the run a record for each final value of this seed, behind one for where it began. */
static void add_finals(struct sg_run *run, const struct sg_frame_label *label, size_t seed) {
    run->n_points = 2;
    for (size_t c = 0; label && c < label->n_columns; c++) {
        const struct sg_frame_column *column = &label->column[c];
        if (!column->in_final)
            continue;
        double *value = sg_malloc(2 * sizeof *value);
        value[1] = value_at(column->value, column->n_values, seed);
        value[0] = isnan(value[1]) ? NAN : start_of(label, column);
        sg_run_add_series(run, column->name, "", value);
    }
}

/* What a point says of a run: its value on an axis of the plot. */
static void add_point(struct sg_run *run, const char *metric, const cJSON *at, const struct sg_document_spread *of,
                      size_t index) {
    const struct sg_number_list values = of ? of->values : (struct sg_number_list){0};
    const bool rate = sg_same_name(metric, strlen(metric), "learning_rate");
    sg_run_know(run, rate ? "gamma" : metric, at, value_at(values.x, values.n, index));
}

/* What claims and plots say of the label at this seed: values whose `at` is not the end of the run. */
static void add_values(struct sg_run *run, const struct sg_document *d, const char *label, const char *seed,
                       size_t index) {
    for (size_t i = 0; i < d->n_claims; i++) {
        const struct sg_document_claim *c = &d->claims[i];
        const struct sg_document_bound *bound = c->bound;
        const bool of = strcmp(sg_or(c->of, ""), label) == 0, other = bound && strcmp(sg_or(bound->of, ""), label) == 0;
        for (size_t k = 0; k < c->n_seeds; k++) {
            if (strcmp(sg_or(c->seeds[k].seed, ""), seed) != 0)
                continue;
            if (of)
                sg_run_know(run, sg_or(c->metric, ""), c->at, c->seeds[k].value);
            if (other)
                sg_run_know(run, sg_or(bound->metric, ""), bound->at, c->seeds[k].other);
        }
    }
    for (size_t i = 0; i < d->n_plots; i++) {
        const struct sg_document_plot *plot = &d->plots[i];
        const struct sg_document_point *point = sg_document_point(plot, label);
        if (!point)
            continue;
        add_point(run, sg_or(plot->x, ""), plot->x_at, point->x, index);
        add_point(run, sg_or(plot->y, ""), plot->y_at, point->y, index);
    }
}

/* Makes the run of a cell from what the result says of it. Of a trial it is only the value by which it was judged. */
static void run_of_values(struct sg_run *run, const struct sg_audit *a, size_t cell) {
    const struct sg_document_cell *entry = a->then[cell];
    const struct sg_frame_label *label = sg_frame_label(&a->result.results, a->cells[cell].group);
    const char *seed = sg_or(entry->seed, ""), *by = sg_node_string(&a->recipe.root, "tune.by", "");
    const bool trial = a->cells[cell].trial > 0, chosen = !trial || a->cells[cell].winner;
    const size_t index = seed_index(label, seed);
    run->values = cJSON_CreateObject();
    run->header = SG_OBJECT(SG_VALUE("constants", index == 0 ? sg_json_copy(label->constants) : NULL));
    run->end = SG_OBJECT(SG_TEXT("status", sg_or(entry->status, "")));
    if (trial) {
        cJSON *at = sg_node_json(sg_node_get(&a->recipe.root, "tune.at"));
        sg_run_know(run, by, at, entry->value);
        cJSON_Delete(at);
    }
    if (chosen) {
        add_values(run, &a->result, a->cells[cell].group, seed, index);
        add_finals(run, label, index);
    }
}

/* ---- documents ---- */

sg_status audit_outcome(struct sg_cell_outcome *o, const struct sg_audit *a, size_t cell, const char **file,
                        struct sg_error *err) {
    static const struct sg_document_cell none = {0};
    const struct sg_document_cell *entry = a->then[cell] ? a->then[cell] : &none;
    const char *status = sg_or(entry->status, "not_run");
    o->path = sg_strdup(sg_or(entry->file, ""));
    if (sg_run_status_is_finished(status)) {
        o->state = SG_CELL_REUSED;
        if (a->bundle.n > 0)
            return audit_read_cell(&o->run, a, &a->cells[cell], file, err);
        run_of_values(&o->run, a, cell);
        return SG_OK;
    }
    o->state = strcmp(status, "failed") == 0    ? SG_CELL_FAILED
               : strcmp(status, "running") == 0 ? SG_CELL_RUNNING
                                                : SG_CELL_WAITING;
    if (strcmp(status, "not_run") != 0)
        o->message = sg_strdup(sg_or(entry->message, "interrupted"));
    return SG_OK;
}

sg_status audit_document(cJSON **out, const struct sg_audit *a, const struct sg_cell *cells,
                         struct sg_cell_outcome *outcomes, size_t n, bool series, struct sg_error *err) {
    struct sg_grid_network network;
    bool modelled;
    const struct sg_document_run *run = run_of(a);
    struct sg_document now;
    sg_status status = sg_grid_network_read(&network, &modelled, &a->recipe, err);
    if (status == SG_OK && series)
        status = sg_grid_derive(outcomes, cells, n, &a->recipe, modelled ? &network : NULL, err);
    if (status != SG_OK)
        return status;
    sg_grid_document(&now, NULL, NULL, &a->recipe, modelled ? &network : NULL, cells, outcomes, n,
                     points_of(&run->argv));
    if (unjudged(run))
        sg_grid_unjudge(&now, unjudged(run));
    *out = sg_document_json(&now);
    sg_document_free(&now);
    return SG_OK;
}
