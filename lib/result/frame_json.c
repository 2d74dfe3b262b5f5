/* frame_json.c: writes the numbers of a label into a result's JSON, and reads them back. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_frame.h"
#include "sg_memory.h"
#include "sg_text.h"

static const char *const statistic_name[SG_STATISTICS] = {"mean", "std", "n", "q1", "median", "q3"};

/* ---- out ---- */

static cJSON *curves_json(const struct sg_frame_column *c) {
    if (!c->curve[SG_STD])
        return sg_json_numbers(c->curve[SG_MEAN], c->n_points);
    cJSON *out = cJSON_CreateObject();
    for (size_t s = 0; s < SG_STATISTICS; s++)
        if (c->curve[s])
            sg_json_set(out, statistic_name[s], sg_json_numbers(c->curve[s], c->n_points));
    return out;
}

/* What a label was read from, as it was; NULL = it was made of runs. */
static cJSON *as_read(const struct sg_frame_label *label, const char *key) {
    return label->from ? sg_json_copy(sg_json_get(label->from, key)) : NULL;
}

cJSON *sg_frame_series_json(const void *of) {
    const struct sg_frame_label *label = of;
    if (label->from)
        return as_read(label, "series");
    cJSON *series = cJSON_CreateObject();
    for (size_t i = 0; i < label->n_columns; i++)
        if (label->column[i].in_series)
            sg_json_set(series, label->column[i].name, curves_json(&label->column[i]));
    return series;
}

cJSON *sg_frame_final_json(const void *of) {
    const struct sg_frame_label *label = of;
    if (label->from)
        return as_read(label, "final");
    cJSON *final = cJSON_CreateObject();
    for (size_t i = 0; i < label->n_columns; i++) {
        const struct sg_frame_column *c = &label->column[i];
        if (c->in_final)
            sg_json_set(final, c->name,
                        SG_OBJECT(SG_NUMBER("mean", c->final[SG_MEAN]), SG_NUMBER("std", c->final[SG_STD]),
                                  SG_NUMBER("n", c->final[SG_COUNT]),
                                  SG_VALUE("values", sg_json_numbers(c->value, c->n_values))));
    }
    return final;
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

/* The numbers of a JSON array, NaN for what is none; the caller frees it. */
static double *numbers(const cJSON *array) {
    double *out = sg_malloc(((size_t)cJSON_GetArraySize(array) + 1) * sizeof *out);
    const cJSON *item;
    size_t i = 0;
    cJSON_ArrayForEach(item, array) out[i++] = sg_json_number(item, "", NAN);
    return out;
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
        c->curve[s] = numbers(array);
    }
    return SG_OK;
}

static void read_final(struct sg_frame_column *c, const cJSON *json, const struct sg_frame_label *label) {
    const cJSON *values = sg_json_get(json, "values");
    for (size_t s = 0; s < SG_STATISTICS; s++)
        c->final[s] = s == SG_STD && label->n_seeds < 2 ? NAN : sg_json_number(json, statistic_name[s], NAN);
    if (!cJSON_IsObject(json))
        c->final[SG_MEAN] = sg_json_number(json, "", NAN);
    if (cJSON_IsArray(values)) {
        c->n_values = (size_t)cJSON_GetArraySize(values);
        c->value = numbers(values);
    }
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

/* True if it is an object of columns, or absent. */
static bool is_map(const cJSON *item) {
    return !item || cJSON_IsNull(item) || cJSON_IsObject(item);
}

sg_status sg_frame_read_columns(struct sg_frame_label *label, const char *name, struct sg_error *err) {
    const cJSON *series = sg_json_get(label->from, "series"), *final = sg_json_get(label->from, "final"), *item;
    sg_status status = SG_OK;
    if (!is_map(series) || !is_map(final))
        return sg_fail(err, SG_ERR_FORMAT, "%s: \"series\" and \"final\" of a result must be objects", name);
    label->column =
        sg_calloc((size_t)(cJSON_GetArraySize(series) + cJSON_GetArraySize(final)) + 1, sizeof *label->column);
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
        if (status == SG_OK)
            read_final(c, item, label);
    }
    return status;
}
