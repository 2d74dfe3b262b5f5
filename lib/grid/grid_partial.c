/* grid_partial.c: decides whether an existing result file is a partial result of the same command. */
#include <string.h>

#include "sg_file.h"
#include "sg_grid.h"

static cJSON *list_json(const struct sg_option_list *words) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < words->count; i++)
        sg_json_push_string(out, words->item[i]);
    return out;
}

void sg_grid_command_json(cJSON *run, const struct sg_grid_command *command) {
    SG_SET(run, SG_VALUE("set", list_json(command->set)), SG_VALUE("methods", list_json(command->methods)),
           SG_VALUE("seeds", list_json(command->seeds)), SG_TEXT("part", *command->part));
}

static bool has_finished_cell(const cJSON *result) {
    const cJSON *method, *cell;
    cJSON_ArrayForEach(method, sg_json_get(result, "results")) {
        cJSON_ArrayForEach(cell, sg_json_get(method, "cells")) {
            if (sg_run_status_is_finished(sg_json_string(cell, "status", "")))
                return true;
        }
    }
    return false;
}

/* True if a result's "run" has the words of this command. */
static bool same_command(const cJSON *run, const struct sg_grid_command *command) {
    cJSON *now = cJSON_CreateObject(), *words;
    bool same = now != NULL;
    sg_grid_command_json(now, command);
    cJSON_ArrayForEach(words, now) same = same && cJSON_Compare(sg_json_get(run, words->string), words, true);
    cJSON_Delete(now);
    return same;
}

bool sg_grid_is_partial(const char *path, const struct sg_recipe *recipe, const struct sg_grid_command *command) {
    struct sg_error unused;
    cJSON *then;
    if (!sg_file_is_regular(path) || sg_json_read(&then, path, &unused) != SG_OK)
        return false;
    const bool ours = strcmp(sg_json_string(then, "schema", ""), SG_SCHEMA_BENCH) == 0 && !sg_json_get(then, "kind") &&
                      cJSON_IsArray(sg_json_get(then, "results")) &&
                      !sg_run_status_is_finished(sg_json_string(then, "status", ""));
    const bool same = strcmp(sg_json_string(then, "recipe.sha256", ""), recipe->sha256) == 0 &&
                      same_command(sg_json_get(then, "run"), command);
    const bool partial = ours && (same || !has_finished_cell(then));
    cJSON_Delete(then);
    return partial;
}
