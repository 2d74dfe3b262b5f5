/* tune_explain_read.c: reads results for --explain into one table of methods, seeds, qualities and errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_result.h"
#include "sg_text.h"
#include "tune_explain.h"

/* The errors that are compared, and which number of a run stands for it. A sum or a running mean over all steps is the
 * last one; what belongs to a step is its mean over the records. */
static const struct {
    const char *column;
    bool mean;
    double sense;
} errors[] = {
    {"total_error", false, 1},      {"error_norm", true, 1},        {"error_relative", false, 1},
    {"error_mean_norm", true, 1},   {"error_common", true, 1},      {"error_lag", true, 1},
    {"error_curvature", true, 1},   {"error_by_layer", false, 1},   {"error_weighed", true, 1},
    {"step_error", false, 1},       {"drift_norm", true, 1},        {"drift_lag", true, 1},
    {"error_max", true, 1},         {"compression_error", true, 1}, {"average_compression_error", false, 1},
    {"average_density", false, -1}, /* no error: what is sent, to compare with */
};

/* ---- numbers of a label in a result ---- */

/* A plot of points of the metric over this column, whose point of a run is its mean; over any column if it is NULL.
 * NULL = there is none. */
static const cJSON *find_plot(const struct tune_source *source, const char *column, const char *metric) {
    const cJSON *plot;
    cJSON_ArrayForEach(plot, sg_json_get(source->document, "plots")) {
        if (strcmp(sg_json_string(plot, "kind", ""), "points") == 0 &&
            strcmp(sg_json_string(plot, "y", ""), metric) == 0 &&
            (!column || (strcmp(sg_json_string(plot, "x", ""), column) == 0 && sg_json_bool(plot, "x_at.mean", false))))
            return plot;
    }
    return NULL;
}

/* ---- the table ---- */

static size_t seed_index(const struct explain *e, const struct sg_frame_label *label, size_t s) {
    const char *seed = sg_frame_seed_name(label, s);
    size_t i = 0;
    while (i < e->n_seeds && strcmp(e->seed[i], seed) != 0)
        i++;
    e->seed[i] = seed;
    return i;
}

/* row [n_seeds] <- the numbers of a column for the seeds of a label, NaN = none: of the points of a plot, or if there
 * is no plot the last ones. The mean of an error needs a plot. An error that is 0 at every seed is none: the method
 * keeps no residual. */
static bool read_row(double *row, const struct explain *e, const struct tune_source *source,
                     const struct sg_frame_label *label, size_t column) {
    const struct explain_column *c = &e->column[column];
    const cJSON *plot = column == 0 || c->mean ? find_plot(source, column == 0 ? NULL : c->column, e->metric) : NULL;
    double *from;
    size_t n;
    bool any = column == 0;
    if (!tune_label_numbers(&from, &n, label, plot, column == 0 ? "y" : "x", c->mean ? NULL : c->column))
        return false;
    for (size_t s = 0; s < e->n_seeds; s++)
        row[s] = NAN;
    for (size_t s = 0; s < n; s++) {
        any = any || (isfinite(from[s]) && from[s] != 0);
        row[seed_index(e, label, s)] = column == 0 || isfinite(from[s]) ? from[s] : NAN;
    }
    for (size_t s = 0; !any && s < e->n_seeds; s++)
        row[s] = NAN;
    free(from);
    return true;
}

/* True if a label is a method of the table that was recorded once more: the same label, seeds and qualities. */
static bool is_same(const struct explain *e, size_t method, const struct sg_frame_label *label, const double *quality) {
    const struct sg_frame_label *known = e->method[method].label;
    const double *other = e->column[0].value + method * e->n_seeds;
    bool same = strcmp(known->label, label->label) == 0 && known->n_seeds == label->n_seeds;
    for (size_t s = 0; same && s < e->n_seeds; s++)
        same = other[s] == quality[s] || (isnan(other[s]) && isnan(quality[s]));
    return same;
}

/* Finds the method of a label, or adds one; SIZE_MAX = no memory. */
static size_t find_method(struct explain *e, const struct tune_source *source, const struct sg_frame_label *label,
                          const double *quality) {
    bool known = false;
    for (size_t m = 0; m < e->n_methods; m++) {
        if (is_same(e, m, label, quality))
            return m;
        known = known || strcmp(e->method[m].label->label, label->label) == 0;
    }
    char *name = known ? sg_format("%s (%s)", label->label, source->name) : strdup(label->label);
    e->method[e->n_methods] = (struct explain_method){.name = name, .label = label};
    return name ? e->n_methods++ : SIZE_MAX;
}

/* Adds a label with its quality and its errors, if it has any; `row` [n_columns][n_seeds] is scratch. */
static bool add_label(struct explain *e, const struct tune_source *source, const struct sg_frame_label *label,
                      double *row) {
    bool any = false;
    for (size_t c = 0; c < e->n_columns; c++) {
        if (!read_row(row + c * e->n_seeds, e, source, label, c))
            return false;
        for (size_t s = 0; s < e->n_seeds; s++)
            any = any || (c > 0 && e->column[c].sense > 0 && !isnan(row[c * e->n_seeds + s]));
    }
    if (!any) {
        tune_leave_out(e->left_out, label->label, "no error");
        return true;
    }
    const size_t m = find_method(e, source, label, row);
    for (size_t c = 0; m != SIZE_MAX && c < e->n_columns; c++)
        for (size_t s = 0; s < e->n_seeds; s++) {
            double *value = &e->column[c].value[m * e->n_seeds + s];
            *value = isnan(*value) ? row[c * e->n_seeds + s] : *value;
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
    for (size_t i = 0; e->seed && i < e->n_sources; i++)
        for (size_t l = 0; l < e->source[i].frame.n_labels; l++)
            for (size_t s = 0; s < e->source[i].frame.label[l].n_seeds; s++)
                e->n_seeds += seed_index(e, &e->source[i].frame.label[l], s) == e->n_seeds;
    const size_t size = labels * e->n_seeds;
    double *row = malloc((e->n_columns * e->n_seeds + 1) * sizeof *row);
    e->values = malloc((e->n_columns * size + 1) * sizeof *e->values);
    bool fine = e->method && e->seed && row && e->values;
    for (size_t j = 0; fine && j < e->n_columns * size; j++)
        e->values[j] = NAN;
    for (size_t c = 0; fine && c < e->n_columns; c++)
        e->column[c].value = e->values + c * size;
    for (size_t i = 0; i < e->n_sources; i++)
        for (size_t l = 0; fine && l < e->source[i].frame.n_labels; l++)
            fine = add_label(e, &e->source[i], &e->source[i].frame.label[l], row);
    free(row);
    return fine;
}

/* Removes the errors that no method has, and says so of those that are recorded. */
static void drop_empty(struct explain *e) {
    size_t kept = 1;
    for (size_t c = 1; c < e->n_columns; c++) {
        const struct explain_column *error = &e->column[c];
        bool any = false, recorded = false;
        for (size_t j = 0; j < e->n_methods * e->n_seeds; j++)
            any = any || !isnan(error->value[j]);
        for (size_t m = 0; m < e->n_methods; m++)
            recorded = recorded || sg_frame_column(e->method[m].label, error->column);
        if (recorded && !any && error->mean)
            tune_leave_out(
                e->left_out, error->column,
                "the mean over records is not in the result: a plot of kind points over it, with x-at: {mean: "
                "true} and the metric as y, in the recipe puts it there");
        if (any)
            e->column[kept++] = *error;
    }
    e->n_columns = kept;
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

/* The columns: the metric of --metric, or the one that the first result's finding is about, and the errors. */
static sg_status choose_columns(struct explain *e, const struct sg_tune *t, struct sg_error *err) {
    const sg_status status = tune_source_metric(e->metric, &e->column[0].sense, &e->source[0], t, err);
    e->column[0].column = e->metric;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        e->column[1 + i] = (struct explain_column){.column = errors[i].column,
                                                   .mean = errors[i].mean,
                                                   .sense = errors[i].sense,
                                                   .correlation = {NAN, NAN, NAN},
                                                   .behind = {NAN, NAN, NAN}};
    e->n_columns = EXPLAIN_COLUMNS;
    return status;
}

/* How the plots of points of a result take the metric from a run; NULL = its last number. */
static const cJSON *metric_at(const struct explain *e, const struct tune_source *source) {
    const cJSON *at = sg_json_get(find_plot(source, NULL, e->metric), "y_at");
    return sg_json_bool(at, "final", false) || cJSON_IsNull(at) ? NULL : at;
}

/* A source has the metric, and reads it from a run as the first source does. */
static sg_status check_metric(struct explain *e, const struct tune_source *source, struct sg_error *err) {
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
        struct tune_source *source = &out->source[out->n_sources++];
        status = tune_source_read(source, t->result[i], err);
        if (status == SG_OK && i == 0)
            status = choose_columns(out, t, err);
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
    if (out->n_methods < 2 || out->n_columns == 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: no two methods with an error to compare", out->source[0].path);
    return SG_OK;
}

void explain_free(struct explain *e) {
    for (size_t m = 0; m < e->n_methods; m++)
        free(e->method[m].name);
    for (size_t c = 0; c < e->n_columns; c++)
        free(e->column[c].wrong);
    free(e->method);
    free(e->seed);
    free(e->values);
    cJSON_Delete(e->left_out);
    for (size_t i = 0; i < e->n_sources; i++)
        tune_source_free(&e->source[i]);
    *e = (struct explain){0};
}
