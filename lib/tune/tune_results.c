/* tune_results.c: reads results of sparsebench for the actions that compare finished runs, and says what they leave
 * out. */
#include "tune_results.h"

#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_text.h"

sg_status tune_source_read(struct tune_source *source, const char *path, struct sg_error *err) {
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

void tune_source_free(struct tune_source *source) {
    sg_frame_free(&source->frame);
    cJSON_Delete(source->document);
    *source = (struct tune_source){0};
}

sg_status tune_source_metric(char metric[TUNE_METRIC_CHARS], double *sense, const struct tune_source *source,
                             const struct sg_tune *t, struct sg_error *err) {
    const char *name = t->metric ? t->metric : sg_json_string(source->document, "summary.metric", NULL);
    const char *kind = sg_json_string(source->document, "recipe.resolved.task.kind", "");
    if (!name)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: its claims and plots name no metric of quality: give --metric",
                       source->path);
    const struct sg_metric *found = sg_task_metric(sg_task_kind_find(kind), sg_snake(metric, TUNE_METRIC_CHARS, name));
    *sense = found && found->higher ? -1 : 1;
    return SG_OK;
}

bool tune_label_numbers(double **out, size_t *n, const struct sg_frame_label *label, const cJSON *plot,
                        const char *axis, const char *column) {
    const struct sg_frame_column *last = plot || !column ? NULL : sg_frame_column(label, column);
    const cJSON *point, *values = NULL;
    cJSON_ArrayForEach(point, sg_json_get(plot, "points")) {
        if (!values && strcmp(sg_json_string(point, "label", ""), label->label) == 0)
            values = sg_json_get(sg_json_get(point, axis), "values");
    }
    *out = last && last->value ? malloc((last->n_values + 1) * sizeof **out) : sg_frame_numbers(values);
    *n = last && last->value ? last->n_values : (size_t)cJSON_GetArraySize(values);
    if (*out && last && last->value)
        memcpy(*out, last->value, last->n_values * sizeof **out);
    *n = *n < label->n_seeds ? *n : label->n_seeds;
    return *out;
}

void tune_leave_out(cJSON *list, const char *name, const char *reason) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (strcmp(sg_json_string(item, "name", ""), name) == 0) return;
    sg_json_push(list, SG_OBJECT(SG_TEXT("name", name), SG_TEXT("reason", reason)));
}

void tune_put_conclusion(FILE *out, const cJSON *left_out, const struct sg_tune *t) {
    const cJSON *item, *other;
    cJSON_ArrayForEach(item, left_out) {
        const char *reason = sg_json_string(item, "reason", "");
        char *text = NULL;
        size_t size;
        for (other = left_out->child; strcmp(sg_json_string(other, "reason", ""), reason) != 0;)
            other = other->next;
        FILE *line = other == item ? open_memstream(&text, &size) : NULL;
        for (; line && other; other = other->next)
            if (strcmp(sg_json_string(other, "reason", ""), reason) == 0)
                fprintf(line, "%s%s", other == item ? "left out: " : ", ", sg_json_string(other, "name", ""));
        if (line)
            fprintf(line, " (%s)", reason);
        if (sg_stream_text(line, &text))
            tune_put_comment(out, text, t);
        free(text);
    }
    fputs("#\n", out);
    tune_put_sentences(out, "tune.conclusion", t);
}

cJSON *tune_label_json(const char *name, const char *compressor, cJSON *take_seeds, cJSON *take_series,
                       cJSON *take_final) {
    return SG_OBJECT(SG_TEXT("label", name), SG_TEXT("method", name), SG_TEXT("compressor", compressor),
                     SG_BOOL("baseline", false), SG_VALUE("seeds", take_seeds), SG_VALUE("series", take_series),
                     SG_VALUE("final", take_final));
}

cJSON *tune_interval_json(const struct sg_interval *number) {
    return SG_OBJECT(SG_NUMBER("value", number->value), SG_NUMBER("low", number->low), SG_NUMBER("high", number->high));
}

const char *tune_words(char out[TUNE_METRIC_CHARS], const char *column) {
    snprintf(out, TUNE_METRIC_CHARS, "%s", column);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return out;
}
