/* plot_input.c: brings a result in JSON or a series into the one form that exporters read. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_file.h"
#include "sg_result.h"

enum { MOST_BYTES = 256 << 20 };

/* Is the first line alone a record? Then the text is NDJSON, whatever follows. */
static bool is_series(const char *text, size_t length) {
    const char *newline = memchr(text, '\n', length);
    struct sg_error ignored;
    cJSON *line;
    if (!newline || sg_json_parse(&line, text, (size_t)(newline - text), "", &ignored) != SG_OK)
        return false;
    bool record = sg_json_get(line, "record") != NULL;
    cJSON_Delete(line);
    return record;
}

static cJSON *fold(const char *text, size_t length, const char *name, struct sg_error *err) {
    struct sg_run run;
    if (sg_run_parse(&run, text, length, name, err) != SG_OK)
        return NULL;
    cJSON *document = sg_run_json(&run);
    sg_run_free(&run);
    return document;
}

/* A run becomes a result with one label: {"results":[{"label","baseline","seeds","series"}], …}. */
static sg_status as_results(cJSON *document, const char *name, struct sg_error *err) {
    cJSON *series = cJSON_DetachItemFromObjectCaseSensitive(document, "series");
    if (!cJSON_IsObject(series)) {
        cJSON_Delete(series);
        return sg_fail(err, SG_ERR_FORMAT, "%s: a sparsetrain result without \"series\"", name);
    }
    const char *method = sg_json_string(document, "method", "run");
    const char *compressor = sg_json_string(document, "recipe.resolved.method.compressor", "");
    cJSON *results = cJSON_CreateArray(), *seeds = cJSON_CreateArray();
    sg_json_push_string(seeds, sg_json_string(document, "seed", "?"));
    sg_json_push(results, SG_OBJECT(SG_TEXT("label", method), SG_TEXT("method", method),
                                    SG_BOOL("baseline", strcmp(compressor, "none") == 0), SG_VALUE("seeds", seeds),
                                    SG_VALUE("series", series)));
    SG_SET(document, SG_TEXT("status", sg_json_string(document, "end.status", "truncated")),
           SG_VALUE("results", results));
    return SG_OK;
}

/* Checks the schema, and gives a run the form of a result. */
static sg_status check(cJSON *json, const char *name, struct sg_error *err) {
    const char *schema = sg_json_string(json, "schema", NULL);
    if (!schema)
        return sg_fail(err, SG_ERR_FORMAT, "%s: no \"schema\": not a result of sparsebench or sparsetrain", name);
    if (strncmp(schema, "sparsetrain/", 12) == 0) {
        sg_status status = sg_schema_check(schema, SG_SCHEMA_TRAIN, name, err);
        return status == SG_OK ? as_results(json, name, err) : status;
    }
    if (strncmp(schema, "sparsebench/", 12) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: schema is '%.64s', expected '%s' or '%s'", name, schema,
                       SG_SCHEMA_BENCH, SG_SCHEMA_TRAIN);
    return sg_schema_check(schema, SG_SCHEMA_BENCH, name, err);
}

/* True if the text has a line that begins with the first key of a recipe. */
static bool is_recipe(const char *text, size_t length) {
    const char key[] = "schema:", *at = memmem(text, length, key, sizeof key - 1);
    return at && (at == text || at[-1] == '\n');
}

sg_status sg_plot_parse(struct sg_document *out, const char *text, size_t length, const char *name,
                        struct sg_error *err) {
    cJSON *json = NULL;
    if (is_series(text, length)) {
        json = fold(text, length, name, err);
        if (!json)
            return err->status;
    } else {
        sg_status status = sg_json_parse(&json, text, length, name, err);
        if (status != SG_OK && is_recipe(text, length))
            return sg_fail(err, SG_ERR_FORMAT, "%s: a recipe, and no result: sparsebench %s | sparseplot-export", name,
                           strcmp(name, "<stdin>") == 0 ? "RECIPE" : name);
        if (status != SG_OK)
            return status;
    }
    sg_json_clean(json);
    sg_status status = check(json, name, err);
    if (status == SG_OK)
        return sg_document_read(out, json, name, err);
    cJSON_Delete(json);
    return status;
}

sg_status sg_plot_read(struct sg_document *out, const char *path, struct sg_error *err) {
    char *text;
    size_t length;
    sg_status status = sg_file_read(&text, &length, path, MOST_BYTES, err);
    if (status != SG_OK)
        return status;
    status = sg_plot_parse(out, text, length, strcmp(path, "-") == 0 ? "<stdin>" : path, err);
    free(text);
    return status;
}
