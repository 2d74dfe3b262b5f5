/* frame_json.c: writes the numbers of a label into a result's JSON, and reads such results back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_frame.h"
#include "sg_text.h"

static const char *const statistic_name[SG_STATISTICS] = {"mean", "std", "n", "q1", "median", "q3"};

/* ---- out ---- */

cJSON *sg_frame_spread_json(const double statistic[SG_STATISTICS], const double *value, size_t n) {
    return SG_OBJECT(SG_NUMBER("mean", statistic[SG_MEAN]), SG_NUMBER("std", statistic[SG_STD]),
                     SG_NUMBER("n", statistic[SG_COUNT]), SG_VALUE("values", sg_json_numbers(value, n)));
}

static cJSON *curves_json(const struct sg_frame_column *c) {
    if (!c->curve[SG_STD])
        return sg_json_numbers(c->curve[SG_MEAN], c->n_points);
    cJSON *out = cJSON_CreateObject();
    for (size_t s = 0; s < SG_STATISTICS; s++)
        if (c->curve[s])
            sg_json_set(out, statistic_name[s], sg_json_numbers(c->curve[s], c->n_points));
    return out;
}

void sg_frame_put(cJSON *result, const struct sg_frame_label *label) {
    cJSON *series = cJSON_CreateObject(), *final = cJSON_CreateObject();
    for (size_t i = 0; i < label->n_columns; i++) {
        const struct sg_frame_column *c = &label->column[i];
        if (c->in_series)
            sg_json_set(series, c->name, curves_json(c));
        if (c->in_final)
            sg_json_set(final, c->name, sg_frame_spread_json(c->final, c->value, c->n_values));
    }
    SG_SET(result, SG_VALUE("series", series), SG_VALUE("final", final));
}

/* ---- in ---- */

const cJSON *sg_frame_member(const cJSON *object, const char *name) {
    const cJSON *item;
    cJSON_ArrayForEach(item, object) if (item->string && sg_same_name(name, strlen(name), item->string)) return item;
    return NULL;
}

const struct sg_frame_column *sg_frame_column(const struct sg_frame_label *label, const char *name) {
    for (size_t c = 0; c < label->n_columns; c++)
        if (sg_same_name(name, strlen(name), label->column[c].name))
            return &label->column[c];
    return NULL;
}

double *sg_frame_numbers(const cJSON *array) {
    double *out = malloc(((size_t)cJSON_GetArraySize(array) + 1) * sizeof *out);
    const cJSON *item;
    size_t i = 0;
    if (out)
        cJSON_ArrayForEach(item, array) out[i++] = sg_json_number(item, "", NAN);
    return out;
}

void sg_frame_read_spread(double out[SG_STATISTICS], const cJSON *spread, size_t n_seeds) {
    for (size_t s = 0; s < SG_STATISTICS; s++)
        out[s] = s == SG_STD && n_seeds < 2 ? NAN : sg_json_number(spread, statistic_name[s], NAN);
    if (!cJSON_IsObject(spread))
        out[SG_MEAN] = sg_json_number(spread, "", NAN);
}

/* A column of series is a plain array (step, epoch, a single run) or an object of statistics. */
static sg_status read_curves(struct sg_frame_column *c, const cJSON *json, const struct sg_frame_label *label,
                             const char *name, struct sg_error *err) {
    for (size_t s = 0; s < SG_STATISTICS; s++) {
        const cJSON *array = s == SG_MEAN && cJSON_IsArray(json) ? json : sg_json_get(json, statistic_name[s]);
        const size_t n = (size_t)cJSON_GetArraySize(array);
        if (!cJSON_IsArray(array) || (s != SG_MEAN && (label->n_seeds < 2 || !c->curve[SG_MEAN])))
            continue;
        if (s == SG_MEAN)
            c->n_points = n;
        if (n != c->n_points)
            return sg_fail(err, SG_ERR_FORMAT, "%s: \"%s\" and \"mean\" of series '%.60s' of '%.80s' differ in length",
                           name, statistic_name[s], c->name, label->label);
        c->curve[s] = sg_frame_numbers(array);
        if (!c->curve[s])
            return sg_fail_memory(err, name);
    }
    return SG_OK;
}

static sg_status read_final(struct sg_frame_column *c, const cJSON *json, const struct sg_frame_label *label,
                            const char *name, struct sg_error *err) {
    const cJSON *values = sg_json_get(json, "values");
    sg_frame_read_spread(c->final, json, label->n_seeds);
    if (cJSON_IsArray(values)) {
        c->n_values = (size_t)cJSON_GetArraySize(values);
        c->value = sg_frame_numbers(values);
        if (!c->value)
            return sg_fail_memory(err, name);
    }
    return SG_OK;
}

/* The final values of a result that has none: the last numbers of the series. */
static void end_series(struct sg_frame_column *c) {
    for (size_t s = 0; s < SG_STATISTICS; s++)
        c->final[s] = c->curve[s] ? sg_last_number(c->curve[s], c->n_points) : NAN;
    if (isnan(c->final[SG_MEAN]))
        c->final[SG_STD] = NAN;
}

/* Finds or adds a column; label->column has space for it. */
static struct sg_frame_column *add_column(struct sg_frame_label *label, const char *name) {
    size_t c = 0;
    while (c < label->n_columns && strcmp(label->column[c].name, name) != 0)
        c++;
    if (c == label->n_columns)
        label->column[label->n_columns++].name = name;
    return &label->column[c];
}

static sg_status read_columns(struct sg_frame_label *label, const cJSON *series, const cJSON *final, const char *name,
                              struct sg_error *err) {
    const size_t room = (size_t)(cJSON_GetArraySize(series) + cJSON_GetArraySize(final)) + 1;
    sg_status status = SG_OK;
    const cJSON *item;
    label->column = calloc(room, sizeof *label->column);
    if (!label->column)
        return sg_fail_memory(err, name);
    cJSON_ArrayForEach(item, series) {
        struct sg_frame_column *c = &label->column[label->n_columns++];
        c->name = item->string;
        c->in_series = true;
        SG_DO(status, read_curves(c, item, label, name, err));
        end_series(c);
    }
    cJSON_ArrayForEach(item, final) {
        struct sg_frame_column *c = add_column(label, item->string);
        if (c->in_final)
            continue; /* a key that is there twice: the first counts, as in look-ups */
        c->in_final = true;
        SG_DO(status, read_final(c, item, label, name, err));
    }
    return status;
}

/* True if it is an object of columns, or absent. */
static bool is_map(const cJSON *item) {
    return !item || cJSON_IsNull(item) || cJSON_IsObject(item);
}

sg_status sg_frame_read(struct sg_frame *out, const cJSON *results, const char *name, struct sg_error *err) {
    struct sg_frame frame = {.label = calloc((size_t)cJSON_GetArraySize(results) + 1, sizeof *frame.label)};
    sg_status status = SG_OK;
    const cJSON *result;
    if (!frame.label)
        return sg_fail_memory(err, name);
    cJSON_ArrayForEach(result, results) {
        struct sg_frame_label *label = &frame.label[frame.n_labels++];
        const cJSON *series = sg_json_get(result, "series"), *final = sg_json_get(result, "final");
        *label = (struct sg_frame_label){.label = sg_json_string(result, "label", NULL),
                                         .compressor = sg_json_string(result, "compressor", NULL),
                                         .baseline = sg_json_bool(result, "baseline", false),
                                         .n_seeds = (size_t)cJSON_GetArraySize(sg_json_get(result, "seeds")),
                                         .json = result};
        label->method = sg_json_string(result, "method", label->label);
        if (!label->label)
            status = sg_fail(err, SG_ERR_FORMAT, "%s: a result without \"label\"", name);
        else if (!is_map(series) || !is_map(final))
            status = sg_fail(err, SG_ERR_FORMAT, "%s: \"series\" and \"final\" of a result must be objects", name);
        else if (sg_frame_label(&frame, label->label) != label)
            status = sg_fail(err, SG_ERR_FORMAT, "%s: two results have the label '%.80s'", name, label->label);
        SG_DO(status, read_columns(label, series, final, name, err));
        if (status != SG_OK)
            break;
    }
    if (status == SG_OK)
        *out = frame;
    else
        sg_frame_free(&frame);
    return status;
}
