/* tune_profile.c: --profile: methods compared over several results, each of which is a task, by what they pay for the
 * quality of no compression: performance profiles, scores and ranks. lib/result/sg_profile.h has the statistics. */
#include "tune_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_text.h"

/* ---- the quality of a run ---- */

/* A metric that is not that of the result's finding is taken at the end of a run. */
static sg_status choose_metric(struct profile_task *task, const struct sg_tune *t, struct sg_error *err) {
    const cJSON *document = task->source.document;
    const sg_status status = tune_source_metric(task->metric, &task->sense, &task->source, t, err);
    const bool own = status == SG_OK && strcmp(sg_json_string(document, "summary.metric", ""), task->metric) == 0;
    const cJSON *at = own ? sg_json_get(document, "summary.at") : NULL;
    task->margin = tune_margin_of(t, sg_json_string(document, "recipe.resolved.task.kind", ""), task->metric);
    task->at = cJSON_IsObject(at) && !sg_json_bool(at, "final", false) ? at : NULL;
    return status;
}

/* A plot with points of the runs that has the metric as y, taken as the finding does; NULL = there is none. */
static const cJSON *quality_plot(const struct profile_task *task) {
    const cJSON *plot;
    cJSON_ArrayForEach(plot, sg_json_get(task->source.document, "plots")) {
        if (strcmp(sg_json_string(plot, "y", ""), task->metric) == 0 && cJSON_IsArray(sg_json_get(plot, "points")) &&
            cJSON_Compare(sg_json_get(plot, "y_at"), task->at, true))
            return plot;
    }
    return NULL;
}

/* A plot whose points of the runs have this column as x where the metric first reaches a value; NULL = none. */
static const cJSON *target_plot(const struct profile_task *task, const char *column) {
    const cJSON *plot;
    char when[TUNE_METRIC_CHARS];
    cJSON_ArrayForEach(plot, sg_json_get(task->source.document, "plots")) {
        sg_snake(when, sizeof when, sg_json_string(plot, "x_at.when", ""));
        if (strcmp(sg_json_string(plot, "x", ""), column) == 0 && strcmp(when, task->metric) == 0 &&
            cJSON_IsArray(sg_json_get(plot, "points")))
            return plot;
    }
    return NULL;
}

/* ---- numbers of each seed ---- */

/* row [seeds of the baseline] <- a label's points of a plot on this axis, or, if it is NULL, the last numbers of a
 * column; NaN where there is none. */
static bool read_row(double *row, const struct profile_task *task, const struct sg_frame_label *label,
                     const cJSON *plot, const char *axis, const char *column) {
    double *from;
    size_t n;
    if (!tune_label_numbers(&from, &n, label, plot, axis, column))
        return false;
    for (size_t s = 0; s < task->seeds; s++) {
        row[s] = NAN;
        for (size_t own = 0; own < n; own++)
            if (strcmp(sg_frame_seed_name(label, own), sg_frame_seed_name(task->baseline, s)) == 0)
                row[s] = from[own];
    }
    free(from);
    return true;
}

static bool read_quality(double *row, const struct profile_task *task, const struct sg_frame_label *label) {
    const cJSON *plot = task->at ? quality_plot(task) : NULL;
    return read_row(row, task, label, plot, "y", task->at && !plot ? "" : task->metric);
}

/* Chooses the baseline: the first label that is one, or of its method the label of the best quality. */
static sg_status choose_baseline(struct profile_task *task, struct sg_error *err) {
    const struct sg_frame *frame = &task->source.frame;
    double *row = NULL, best = NAN;
    sg_status status = SG_OK;
    for (size_t l = 0; status == SG_OK && l < frame->n_labels; l++) {
        const struct sg_frame_label *label = &frame->label[l], *known = task->baseline;
        if (!label->baseline || (known && strcmp(known->method, label->method) != 0))
            continue;
        task->baseline = label;
        task->seeds = label->n_seeds;
        double *larger = realloc(row, (label->n_seeds + 1) * sizeof *row);
        row = larger ? larger : row;
        if (!larger || !read_quality(row, task, label))
            status = sg_fail_memory(err, "the baseline");
        const double value = status == SG_OK ? task->sense * sg_stats_mean(row, task->seeds) : NAN;
        if (known && !(value < best || (isnan(best) && !isnan(value))))
            task->baseline = known;
        else
            best = value;
    }
    free(row);
    if (status != SG_OK)
        return status;
    if (!task->baseline)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: no method is a baseline whose quality is to be reached",
                       task->source.path);
    task->seeds = task->baseline->n_seeds;
    return isnan(best) ? sg_fail(err, SG_ERR_ARGUMENT, "%s: the result does not have %s of %s at every seed%s",
                                 task->source.path, task->metric, task->baseline->label,
                                 task->at ? ": a plot of kind points, with the metric as y and the finding's y-at, in "
                                            "the recipe puts it there"
                                          : "")
                       : SG_OK;
}

/* cost [seeds] <- what a setting costs; +inf = it does not reach the target. */
static bool read_cost(double *cost, double *quality, const double *base, const struct profile *p,
                      const struct profile_task *task, const struct sg_frame_label *label) {
    const cJSON *plot = target_plot(task, p->cost);
    if (!read_quality(quality, task, label) || (!p->quality && !read_row(cost, task, label, plot, "x", p->cost)))
        return false;
    for (size_t s = 0; s < task->seeds; s++) {
        const bool reached = task->when || tune_within(&task->margin, quality[s], base[s]);
        cost[s] = p->quality ? task->sense * quality[s] : reached ? cost[s] : INFINITY;
        cost[s] = isnan(cost[s]) ? INFINITY : cost[s];
    }
    return true;
}

/* ---- methods and settings ---- */

static const char *method_of(const struct profile *p, const struct profile_task *task,
                             const struct sg_frame_label *label) {
    return label == task->baseline ? p->uncompressed : label->method;
}

static bool has_method(const struct profile *p, const struct profile_task *task, const char *name) {
    for (size_t l = 0; l < task->source.frame.n_labels; l++)
        if (strcmp(method_of(p, task, &task->source.frame.label[l]), name) == 0)
            return true;
    return false;
}

/* Adds a method that all tasks have, or says which task lacks it. */
static void add_method(struct profile *p, const char *name) {
    char reason[200];
    for (size_t m = 0; m < p->methods; m++)
        if (strcmp(p->method[m], name) == 0)
            return;
    for (size_t t = 0; t < p->tasks; t++)
        if (!has_method(p, &p->task[t], name)) {
            snprintf(reason, sizeof reason, "not in %s", p->task[t].source.name);
            tune_leave_out(p->left_out, name, reason);
            return;
        }
    p->method[p->methods++] = name;
}

static bool find_methods(struct profile *p) {
    size_t labels = 0;
    p->uncompressed = p->task[0].baseline->method;
    for (size_t t = 0; t < p->tasks; t++) {
        labels += p->task[t].source.frame.n_labels;
        if (strcmp(p->task[t].baseline->method, p->task[0].baseline->method) != 0)
            p->uncompressed = "no compression";
    }
    p->method = calloc(labels + 1, sizeof *p->method);
    for (size_t t = 0; p->method && t < p->tasks; t++)
        for (size_t l = 0; l < p->task[t].source.frame.n_labels; l++)
            add_method(p, method_of(p, &p->task[t], &p->task[t].source.frame.label[l]));
    return p->method;
}

static bool read_costs(const struct profile *p, struct profile_task *task) {
    const struct sg_frame *frame = &task->source.frame;
    double *base = calloc(2 * task->seeds + 1, sizeof *base);
    size_t n = 0;
    task->label = calloc(frame->n_labels, sizeof *task->label);
    task->first = calloc(p->methods + 1, sizeof *task->first);
    task->cost = calloc(frame->n_labels * task->seeds, sizeof *task->cost);
    bool fine = base && task->label && task->first && task->cost && read_quality(base, task, task->baseline);
    for (size_t m = 0; fine && m < p->methods; m++) {
        task->first[m] = n;
        for (size_t l = 0; fine && l < frame->n_labels; l++) {
            const struct sg_frame_label *label = &frame->label[l];
            if (strcmp(method_of(p, task, label), p->method[m]) != 0)
                continue;
            task->label[n] = label;
            fine = read_cost(task->cost + n++ * task->seeds, base + task->seeds, base, p, task, label);
        }
        task->first[m + 1] = n;
    }
    free(base);
    return fine;
}

static sg_status read_task(struct profile *p, struct profile_task *task, const struct sg_tune *t, const char *path,
                           struct sg_error *err) {
    sg_status status = tune_source_read(&task->source, path, err);
    SG_DO(status, choose_metric(task, t, err));
    SG_DO(status, choose_baseline(task, err));
    if (status != SG_OK)
        return status;
    const cJSON *plot = p->quality ? NULL : target_plot(task, p->cost);
    task->when = plot ? sg_json_get(plot, "x_at") : NULL;
    char unit[TUNE_METRIC_CHARS + 8];
    snprintf(unit, sizeof unit, "units.%s", p->cost);
    task->unit = sg_json_string(task->source.document, unit, NULL);
    const struct sg_frame_column *column = sg_frame_column(task->baseline, p->cost);
    if (!p->quality && !plot && !(column && column->value))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: it has no %s of each seed; choose another column with --cost",
                       task->source.path, p->cost);
    return SG_OK;
}

/* Tasks of one recipe, as on two networks, go by their files. */
static void name_tasks(struct profile *p) {
    bool twice[SG_TUNE_RESULTS] = {false};
    for (size_t t = 0; t < p->tasks; t++)
        for (size_t u = 0; u < t; u++)
            if (strcmp(p->task[t].source.name, p->task[u].source.name) == 0)
                twice[t] = twice[u] = true;
    for (size_t t = 0; t < p->tasks; t++)
        if (twice[t])
            p->task[t].source.name = p->task[t].source.path;
}

sg_status profile_read(struct profile *out, const struct sg_tune *t, struct sg_error *err) {
    sg_status status = SG_OK;
    *out = (struct profile){.left_out = cJSON_CreateArray()};
    sg_snake(out->cost, sizeof out->cost, t->cost ? t->cost : "bits");
    out->quality = strcmp(out->cost, "quality") == 0;
    for (size_t i = 0; status == SG_OK && i < t->n_results; i++)
        status = read_task(out, &out->task[out->tasks++], t, t->result[i], err);
    if (status != SG_OK)
        return status;
    name_tasks(out);
    bool fine = find_methods(out);
    for (size_t i = 0; fine && i < out->tasks; i++)
        fine = read_costs(out, &out->task[i]);
    if (fine && out->methods < 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "fewer than two methods are in all of these results, by name");
    out->found = calloc(out->methods + 1, sizeof *out->found);
    out->cell = calloc(out->methods * out->tasks + 1, sizeof *out->cell);
    return fine && out->found && out->cell ? SG_OK : sg_fail_memory(err, "the costs");
}

void profile_free(struct profile *p) {
    for (size_t i = 0; i < p->tasks; i++) {
        free(p->task[i].label);
        free(p->task[i].first);
        free(p->task[i].cost);
        tune_source_free(&p->task[i].source);
    }
    free(p->method);
    free(p->found);
    free(p->cell);
    cJSON_Delete(p->left_out);
    *p = (struct profile){0};
}

sg_status sg_tune_profile(struct sg_tune *t, struct sg_error *err) {
    struct profile p;
    struct sg_profile_task task[SG_TUNE_RESULTS];
    sg_status status = profile_read(&p, t, err);
    for (size_t i = 0; i < p.tasks; i++)
        task[i] = (struct sg_profile_task){p.task[i].seeds, p.task[i].first, p.task[i].cost};
    SG_DO(status, sg_profile(p.found, p.cell, task, p.tasks, p.methods, SG_BOOTSTRAP_DRAWS, SG_BOOTSTRAP_SEED, err));
    SG_DO(status, tune_show(t, profile_json(&p), profile_put_table, &p, err));
    profile_free(&p);
    return status;
}
