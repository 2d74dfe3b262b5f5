/* plot_document.c: what the readers of figures and of tables both look up in a result document. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

enum { MAX_COLUMNS = 64 };

void sg_plot_note(struct sg_plot_notes *notes, const char *format, ...) {
    if (notes->n == SG_PLOT_NOTES)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(notes->text[notes->n++], sizeof notes->text[0], format, args);
    va_end(args);
}

void sg_plot_note_status(struct sg_plot_notes *notes, const cJSON *document) {
    const char *status = sg_json_string(document, "status", "ok");
    if (strcmp(status, "ok") != 0)
        sg_plot_note(notes, "the result's status is '%.40s': what is there is shown", status);
}

/* Recipes write error-norm, results error_norm. */
static bool same_name(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
            return false;
    return *a == *b;
}

const cJSON *sg_plot_column(const cJSON *object, const char *name) {
    const cJSON *item;
    cJSON_ArrayForEach(item, object) if (item->string && same_name(item->string, name)) return item;
    return NULL;
}

/* Distinct names of all columns of all results. */
static size_t list_columns(const char **name, const cJSON *document) {
    const char *const groups[] = {"series", "final"};
    const cJSON *result, *item;
    size_t n = 0;
    for (size_t g = 0; g < 2; g++)
        cJSON_ArrayForEach(result, sg_json_get(document, "results"))
            cJSON_ArrayForEach(item, sg_json_get(result, groups[g])) {
            size_t i = 0;
            while (i < n && strcmp(name[i], item->string) != 0)
                i++;
            if (i == n && n < MAX_COLUMNS)
                name[n++] = item->string;
        }
    return n;
}

static void join(char *out, size_t size, const char *const *name, size_t n) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name[i]);
}

sg_status sg_plot_resolve(const char **out, const cJSON *document, const char *name, struct sg_error *err) {
    const char *column[MAX_COLUMNS];
    size_t n = list_columns(column, document);
    char list[512], dashless[64];
    join(list, sizeof list, column, n);
    if (!name)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "this result has no plots: choose the axes with --x=NAME and --y=NAME "
                       "(columns: %s)",
                       list);
    for (size_t i = 0; i < n; i++)
        if (same_name(column[i], name)) {
            *out = column[i];
            return SG_OK;
        }
    const cJSON *result, *constant, *swept; /* plots of points, one a cell, may be over constants and over lists */
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) {
        swept = sg_plot_swept(result, name);
        if (swept) {
            *out = swept->string;
            return SG_OK;
        }
    }
    cJSON_ArrayForEach(result, sg_json_get(document, "results"))
        cJSON_ArrayForEach(constant, sg_json_get(result, "constants")) if (same_name(constant->string, name)) {
        *out = constant->string;
        return SG_OK;
    }
    const char *near = sg_suggest(sg_snake(dashless, sizeof dashless, name), column, n);
    return sg_fail(err, SG_ERR_ARGUMENT, "no column '%.64s'%s%s%s (columns: %s)", name, near ? ", did you mean '" : "",
                   near ? near : "", near ? "'?" : "", list);
}

const cJSON *sg_plot_swept(const cJSON *result, const char *name) {
    return sg_plot_column(sg_json_get(result, "swept"), name);
}

/* Does the word begin with "name="? */
static bool is_setting(const char *word, const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if ((word[i] == '-' ? '_' : word[i]) != (name[i] == '-' ? '_' : name[i]))
            return false;
    return word[length] == '=';
}

char *sg_plot_label_without(const char *label, const char *name) {
    const char *found = NULL;
    for (const char *blank = strchr(label, ' '); blank; blank = strchr(blank + 1, ' '))
        if (is_setting(blank + 1, name))
            found = blank;
    if (!found)
        return strdup(label);
    const char *rest = found + 1 + strcspn(found + 1, " ");
    return sg_format("%.*s%s", (int)(found - label), label, rest);
}

bool sg_plot_is_kernels(const cJSON *document) {
    return strcmp(sg_json_string(document, "kind", ""), "kernels") == 0;
}

bool sg_plot_is_recorded(const cJSON *document, const char *name) {
    const cJSON *result;
    cJSON_ArrayForEach(
        result, sg_json_get(document, "results")) if (sg_plot_column(sg_json_get(result, "final"), name) ||
                                                      sg_plot_column(sg_json_get(result, "series"), name)) return true;
    return false;
}

int sg_plot_seeds(const cJSON *document) {
    const cJSON *result;
    int seeds = -1;
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) {
        int n = cJSON_GetArraySize(sg_json_get(result, "seeds"));
        if (seeds >= 0 && n != seeds)
            return 0;
        seeds = n;
    }
    return seeds < 0 ? 0 : seeds;
}

bool sg_plot_is_baseline(const cJSON *result) {
    return sg_json_bool(result, "baseline", false);
}

const cJSON *sg_plot_point(const cJSON *points, const cJSON *result) {
    const cJSON *point;
    cJSON_ArrayForEach(point, points) if (strcmp(sg_json_string(point, "label", ""),
                                                 sg_json_string(result, "label", "")) == 0) return point;
    return NULL;
}

/* The last number of an array; null is passed over. */
static double last_number(const cJSON *array) {
    double last = NAN;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        double value = sg_json_number(item, "", NAN);
        last = isnan(value) ? last : value;
    }
    return last;
}

void sg_plot_final(const cJSON *result, const char *column, double *mean, double *std) {
    const cJSON *final = sg_plot_column(sg_json_get(result, "final"), column);
    const cJSON *series = sg_plot_column(sg_json_get(result, "series"), column);
    bool several = cJSON_GetArraySize(sg_json_get(result, "seeds")) > 1;
    if (final) {
        *mean = cJSON_IsObject(final) ? sg_json_number(final, "mean", NAN) : sg_json_number(final, "", NAN);
        *std = several ? sg_json_number(final, "std", NAN) : NAN;
    } else {
        *mean = last_number(cJSON_IsArray(series) ? series : sg_json_get(series, "mean"));
        *std = several && !isnan(*mean) ? last_number(sg_json_get(series, "std")) : NAN;
    }
}
