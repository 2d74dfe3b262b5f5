/* tune_explain_read.c: reads results for --explain into one table of methods, seeds, qualities and errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_text.h"
#include "tune_explain.h"

/* The columns that are compared, and which number of a run stands for it. A sum or a running mean over all steps is the
 * last one; what belongs to a step is its mean over the records. */
static const struct {
    const char *column;
    bool mean;
    double sense;
} columns[] = {
    {"total_error", false, 1},      {"error_norm", true, 1},
    {"error_relative", false, 1},   {"error_mean_norm", true, 1},
    {"error_common", true, 1},      {"error_lag", true, 1},
    {"error_curvature", true, 1},   {"error_max", true, 1},
    {"compression_error", true, 1}, {"average_compression_error", false, 1},
    {"average_density", false, -1}, /* no error: what is sent, to compare with */
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- numbers of a label in a result ---- */

/* A plot of points of the metric over this column, whose point of a run is its mean; over any column if it is NULL.
 * NULL = there is none. */
static const cJSON *find_plot(const struct explain_source *source, const char *column, const char *metric) {
    const cJSON *plot;
    cJSON_ArrayForEach(plot, sg_json_get(source->document, "plots")) {
        if (strcmp(sg_json_string(plot, "kind", ""), "points") == 0 &&
            strcmp(sg_json_string(plot, "y", ""), metric) == 0 &&
            (!column || (strcmp(sg_json_string(plot, "x", ""), column) == 0 && sg_json_bool(plot, "x_at.mean", false))))
            return plot;
    }
    return NULL;
}

/* out [n_seeds of the label] <- the number of each of its seeds: of its point on an axis of the plot, or if there is no
 * plot the last one of the column. NaN = none. */
static bool read_numbers(double *out, const struct sg_frame_label *label, const cJSON *plot, const char *axis,
                         const char *column) {
    const struct sg_frame_column *last = sg_frame_column(label, column);
    double *numbers = NULL;
    size_t n = 0;
    const cJSON *point;
    cJSON_ArrayForEach(point, sg_json_get(plot, "points")) {
        const cJSON *values = sg_json_get(sg_json_get(point, axis), "values");
        if (numbers || strcmp(sg_json_string(point, "label", ""), label->label) != 0)
            continue;
        if ((numbers = sg_frame_numbers(values)) == NULL)
            return false;
        n = (size_t)cJSON_GetArraySize(values);
    }
    if (!plot && last)
        n = last->n_values;
    const double *from = plot ? numbers : n > 0 ? last->value : NULL;
    for (size_t s = 0; s < label->n_seeds; s++)
        out[s] = from && s < n ? from[s] : NAN;
    free(numbers);
    return true;
}

/* The numbers of a column of the table for the seeds of a label, likewise; a mean needs a plot of points. An error that
 * is 0 at every seed is none: the method keeps no residual. */
static bool read_error(double *out, const struct explain *e, const struct explain_source *source,
                       const struct sg_frame_label *label, size_t column) {
    const bool mean = columns[column].mean;
    const cJSON *plot = mean ? find_plot(source, columns[column].column, e->metric) : NULL;
    bool any = false;
    if (!read_numbers(out, label, plot, "x", columns[column].column))
        return false;
    for (size_t s = 0; s < label->n_seeds; s++)
        any = any || (isfinite(out[s]) && out[s] != 0);
    for (size_t s = 0; s < label->n_seeds; s++)
        out[s] = any && isfinite(out[s]) && (plot || !mean) ? out[s] : NAN;
    return true;
}

/* ---- the table ---- */

static size_t seed_index(const struct explain *e, const struct sg_frame_label *label, size_t s) {
    const cJSON *item = cJSON_GetArrayItem(sg_json_get(label->json, "seeds"), (int)s);
    size_t i = 0;
    while (i < e->n_seeds && strcmp(e->seed[i], sg_json_string(item, "", "?")) != 0)
        i++;
    return i;
}

static void add_seeds(struct explain *e, const struct sg_frame_label *label) {
    for (size_t s = 0; s < label->n_seeds; s++)
        if (seed_index(e, label, s) == e->n_seeds)
            e->seed[e->n_seeds++] =
                sg_json_string(cJSON_GetArrayItem(sg_json_get(label->json, "seeds"), (int)s), "", "?");
}

/* True if a label is a method of the table that was recorded once more: the same label, seeds and qualities. */
static bool is_same(const struct explain *e, const struct explain_method *method, const struct sg_frame_label *label,
                    const double *quality) {
    bool same = strcmp(method->label->label, label->label) == 0 && method->label->n_seeds == label->n_seeds;
    for (size_t s = 0; same && s < label->n_seeds; s++) {
        const double other = method->quality[seed_index(e, label, s)];
        same = other == quality[s] || (isnan(other) && isnan(quality[s]));
    }
    return same;
}

/* Finds the row of a label, or adds one; SIZE_MAX = no memory. */
static size_t add_method(struct explain *e, const struct explain_source *source, const struct sg_frame_label *label,
                         const double *quality) {
    bool known = false;
    for (size_t m = 0; m < e->n_methods; m++) {
        if (is_same(e, &e->method[m], label, quality))
            return m;
        known = known || strcmp(e->method[m].label->label, label->label) == 0;
    }
    const size_t added = e->n_methods++;
    struct explain_method *method = &e->method[added];
    method->label = label;
    method->name = known ? sg_format("%s (%s)", label->label, source->name) : strdup(label->label);
    method->quality = malloc(e->n_seeds * sizeof *method->quality);
    if (!method->name || !method->quality)
        return SIZE_MAX;
    for (size_t s = 0; s < e->n_seeds; s++)
        method->quality[s] = NAN;
    for (size_t s = 0; s < label->n_seeds; s++)
        method->quality[seed_index(e, label, s)] = quality[s];
    return added;
}

static void leave_out(struct explain *e, const char *name, const char *reason) {
    const cJSON *item;
    cJSON_ArrayForEach(item, e->left_out) if (strcmp(sg_json_string(item, "name", ""), name) == 0) return;
    sg_json_push(e->left_out, SG_OBJECT(SG_TEXT("name", name), SG_TEXT("reason", reason)));
}

/* Adds a label with its quality and its errors, if it has any; `number` [seeds of the label] is scratch. */
static bool add_label(struct explain *e, const struct explain_source *source, const struct sg_frame_label *label,
                      double *quality, double *number) {
    bool fine = read_numbers(quality, label, find_plot(source, NULL, e->metric), "y", e->metric), any = false;
    for (size_t c = 0; fine && c < COLUMNS; c++) {
        fine = read_error(number, e, source, label, c);
        for (size_t s = 0; fine && s < label->n_seeds; s++)
            any = any || (columns[c].sense > 0 && !isnan(number[s]));
    }
    if (fine && !any)
        leave_out(e, label->label, "no error");
    if (!fine || !any)
        return fine;
    const size_t m = add_method(e, source, label, quality);
    for (size_t c = 0; m != SIZE_MAX && c < COLUMNS; c++) {
        if (!read_error(number, e, source, label, c))
            return false;
        for (size_t s = 0; s < label->n_seeds; s++) {
            double *value = &e->error[c].value[m * e->n_seeds + seed_index(e, label, s)];
            *value = isnan(*value) ? number[s] : *value;
        }
    }
    return m != SIZE_MAX;
}

static bool fill(struct explain *e) {
    size_t labels = 0, seeds = 0;
    for (size_t i = 0; i < e->n_sources; i++)
        for (size_t l = 0; l < e->source[i].frame.n_labels; l++, labels++)
            seeds += e->source[i].frame.label[l].n_seeds;
    e->method = calloc(labels + 1, sizeof *e->method);
    e->seed = calloc(seeds + 1, sizeof *e->seed);
    e->error = calloc(COLUMNS, sizeof *e->error);
    double *quality = malloc((seeds + 1) * sizeof *quality), *number = malloc((seeds + 1) * sizeof *number);
    bool fine = e->method && e->seed && e->error && quality && number;
    for (size_t i = 0; fine && i < e->n_sources; i++)
        for (size_t l = 0; l < e->source[i].frame.n_labels; l++)
            add_seeds(e, &e->source[i].frame.label[l]);
    for (size_t c = 0; fine && c < COLUMNS; c++) {
        e->error[c] = (struct explain_error){
            .column = columns[c].column,
            .mean = columns[c].mean,
            .sense = columns[c].sense,
            .value = malloc((labels * e->n_seeds + 1) * sizeof(double)),
            .correlation = {NAN, NAN, NAN},
            .behind = {NAN, NAN, NAN},
        };
        e->n_errors++;
        fine = e->error[c].value;
        for (size_t j = 0; fine && j < labels * e->n_seeds; j++)
            e->error[c].value[j] = NAN;
    }
    for (size_t i = 0; i < e->n_sources; i++)
        for (size_t l = 0; fine && l < e->source[i].frame.n_labels; l++)
            fine = add_label(e, &e->source[i], &e->source[i].frame.label[l], quality, number);
    free(quality);
    free(number);
    return fine;
}

/* Removes the errors that no method has, and says so of those that are recorded. */
static void drop_empty(struct explain *e) {
    size_t kept = 0;
    for (size_t c = 0; c < e->n_errors; c++) {
        bool any = false, recorded = false;
        for (size_t j = 0; j < e->n_methods * e->n_seeds; j++)
            any = any || !isnan(e->error[c].value[j]);
        for (size_t m = 0; m < e->n_methods; m++)
            recorded = recorded || sg_frame_column(e->method[m].label, e->error[c].column);
        if (recorded && !any && e->error[c].mean)
            leave_out(e, e->error[c].column,
                      "the mean over records is not in the result: a plot of kind points over it, with x-at: {mean: "
                      "true} and the metric as y, in the recipe puts it there");
        if (any)
            e->error[kept++] = e->error[c];
        else
            free(e->error[c].value);
    }
    e->n_errors = kept;
}

/* ---- results that belong together ---- */

/* The first part of the setting, or the data, in which two results differ; NULL = there is none. */
static const char *difference(const cJSON *a, const cJSON *b) {
    static const char *const part[] = {
        "recipe.resolved.task",  "recipe.resolved.workers",     "recipe.resolved.participation",
        "recipe.resolved.batch", "recipe.resolved.total_batch", "recipe.resolved.epochs",
        "recipe.resolved.steps", "recipe.resolved.optimizer",   "dataset.sha256"};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const cJSON *x = sg_json_get(a, part[i]), *y = sg_json_get(b, part[i]);
        if ((x || y) && !(x && y && cJSON_Compare(x, y, true)))
            return part[i];
    }
    return NULL;
}

static sg_status read_source(struct explain_source *source, const char *path, struct sg_error *err) {
    source->path = path;
    sg_status status = sg_json_read(&source->document, path, err);
    if (status != SG_OK)
        return status;
    const char *schema = sg_json_string(source->document, "schema", "");
    if (strncmp(schema, SG_SCHEMA_BENCH, strcspn(SG_SCHEMA_BENCH, "/") + 1) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: no result of sparsebench", path);
    if (strcmp(sg_json_string(source->document, "status", ""), "interrupted") == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: not all of its runs are finished", path);
    status = sg_schema_check(schema, SG_SCHEMA_BENCH, path, err);
    source->name = sg_json_string(source->document, "recipe.name", path);
    SG_DO(status, sg_frame_read(&source->frame, sg_json_get(source->document, "results"), path, err));
    return status;
}

/* The metric of --metric, or the one that the first result's finding is about. */
static sg_status choose_metric(struct explain *e, const struct sg_tune *t, struct sg_error *err) {
    const cJSON *document = e->source[0].document;
    const char *name = t->metric ? t->metric : sg_json_string(document, "summary.metric", NULL);
    if (!name)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: its claims and plots name no metric of quality: give --metric",
                       e->source[0].path);
    sg_snake(e->metric, sizeof e->metric, name);
    const struct sg_metric *metric =
        sg_task_metric(sg_task_kind_find(sg_json_string(document, "recipe.resolved.task.kind", "")), e->metric);
    e->higher = metric && metric->higher;
    return SG_OK;
}

/* How the plots of points of a result take the metric from a run; NULL = its last number. */
static const cJSON *metric_at(const struct explain *e, const struct explain_source *source) {
    const cJSON *at = sg_json_get(find_plot(source, NULL, e->metric), "y_at");
    return sg_json_bool(at, "final", false) || cJSON_IsNull(at) ? NULL : at;
}

/* A source has the metric, and reads it from a run as the first source does. */
static sg_status check_metric(struct explain *e, const struct explain_source *source, struct sg_error *err) {
    const cJSON *at = metric_at(e, source);
    const char *own = sg_json_string(source->document, "summary.metric", NULL);
    bool recorded = false;
    for (size_t l = 0; l < source->frame.n_labels; l++)
        recorded = recorded || sg_frame_column(&source->frame.label[l], e->metric);
    if (!recorded)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: it has no %s%s%s", source->path, e->metric,
                       own ? "; its metric is " : "", own ? own : "");
    if (source == e->source)
        e->at = at;
    if ((at || e->at) && !(at && e->at && cJSON_Compare(at, e->at, true)))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: its plots of points do not take %s as those of %s do (y-at)",
                       source->path, e->metric, e->source[0].path);
    return SG_OK;
}

sg_status explain_read(struct explain *out, const struct sg_tune *t, struct sg_error *err) {
    sg_status status = SG_OK;
    *out = (struct explain){.left_out = cJSON_CreateArray()};
    for (size_t i = 0; i < t->n_results && status == SG_OK; i++) {
        struct explain_source *source = &out->source[out->n_sources++];
        status = read_source(source, t->result[i], err);
        if (status == SG_OK && i == 0)
            status = choose_metric(out, t, err);
        SG_DO(status, check_metric(out, source, err));
        const char *differs = status == SG_OK ? difference(out->source[0].document, source->document) : NULL;
        if (differs)
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s and %s are results of different settings: %s differs",
                             out->source[0].path, source->path, differs);
    }
    if (status == SG_OK && !fill(out))
        status = sg_fail_memory(err, "the table");
    if (status != SG_OK)
        return status;
    drop_empty(out);
    if (out->n_methods < 2 || out->n_errors == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: no two methods with an error to compare", out->source[0].path);
    return SG_OK;
}

void explain_free(struct explain *e) {
    for (size_t m = 0; e->method && m < e->n_methods; m++) {
        free(e->method[m].name);
        free(e->method[m].quality);
    }
    for (size_t c = 0; c < e->n_errors; c++) {
        free(e->error[c].value);
        free(e->error[c].wrong);
    }
    free(e->method);
    free(e->seed);
    free(e->error);
    cJSON_Delete(e->left_out);
    for (size_t i = 0; i < e->n_sources; i++) {
        sg_frame_free(&e->source[i].frame);
        cJSON_Delete(e->source[i].document);
    }
    *e = (struct explain){0};
}
