/* grid_partial.c: decides whether an existing result file is a partial result of the same command. */
/* SPDX-License-Identifier: MIT */
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

static bool has_finished_cell(const struct sg_frame *results) {
    for (size_t l = 0; l < results->n_labels; l++)
        for (size_t i = 0; i < results->label[l].n_cells; i++)
            if (sg_run_status_is_finished(sg_or(results->label[l].cells[i].status, "")))
                return true;
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
    struct sg_document then;
    cJSON *json;
    if (!sg_file_is_regular(path) || sg_json_read(&json, path, &unused) != SG_OK ||
        sg_document_read(&then, json, path, &unused) != SG_OK)
        return false;
    const bool ours = strcmp(sg_or(then.schema, ""), SG_SCHEMA_BENCH) == 0 && !then.kind &&
                      !sg_run_status_is_finished(sg_or(then.status, ""));
    const bool same = then.recipe && then.run && strcmp(sg_or(then.recipe->sha256, ""), recipe->sha256) == 0 &&
                      same_command(then.run->from, command);
    const bool partial = ours && (same || !has_finished_cell(&then.results));
    sg_document_free(&then);
    return partial;
}
