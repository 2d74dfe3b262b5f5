/* grid_document.c: makes the whole result of a grid as one JSON document, and the plan of a grid that is not run. */
#include <string.h>

#include "grid_private.h"

/* A copy of the first value of that name in a cell's header or run record. */
static cJSON *first_copy(const struct sg_cell_outcome *outcomes, size_t count, bool header, const char *key) {
    for (size_t i = 0; i < count; i++) {
        const cJSON *found = sg_json_get(header ? outcomes[i].run.header : outcomes[i].run.run, key);
        if (found)
            return cJSON_Duplicate(found, true);
    }
    return NULL;
}

static const char *worst_status(const struct sg_cell_outcome *outcomes, size_t count) {
    static const char *const rank[] = {"ok", "diverged", "failed", "interrupted"};
    size_t worst = 0;
    for (size_t i = 0; i < count; i++) {
        size_t r = 0;
        while (r < 3 && strcmp(sg_grid_status(&outcomes[i]), rank[r]) != 0)
            r++;
        worst = r > worst ? r : worst;
    }
    return rank[worst];
}

cJSON *sg_grid_document(cJSON *take_program, cJSON *take_run, const struct sg_recipe *recipe,
                        const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                        size_t most) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "schema", SG_SCHEMA_BENCH);
    sg_json_set_string(out, "status", worst_status(outcomes, count));
    sg_json_set(out, "program", take_program);
    sg_json_set(out, "run", take_run);
    sg_json_set(out, "recipe", sg_recipe_json(recipe));
    sg_json_set(out, "dataset", first_copy(outcomes, count, true, "dataset"));
    sg_json_set(out, "identities", sg_grid_identities(outcomes, count));
    sg_json_set(out, "host", sg_result_host());
    sg_json_set(out, "libraries", first_copy(outcomes, count, false, "libraries"));
    sg_json_set(out, "units", first_copy(outcomes, count, true, "units"));
    sg_json_set(out, "network", grid_network_json(recipe));
    const struct grid_traffic traffic = grid_traffic(cells, outcomes, count);
    sg_json_set(out, "traffic", grid_traffic_json(&traffic));
    sg_json_set(out, "results", sg_grid_results(recipe, cells, outcomes, count, most));
    sg_json_set(out, "claims", sg_grid_claims(recipe, cells, outcomes, count));
    sg_json_set(out, "plots", sg_grid_plots(recipe, cells, outcomes, count));
    sg_json_set(out, "summary", grid_summary_json(recipe, cells, outcomes, count));
    return out;
}

static void replace(cJSON *object, const char *key, const char *text) {
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    sg_json_set_string(object, key, text);
}

void sg_grid_unjudge(cJSON *document, const char *why) {
    cJSON *claim, *summary = cJSON_GetObjectItemCaseSensitive(document, "summary");
    cJSON_ArrayForEach(claim, cJSON_GetObjectItemCaseSensitive(document, "claims")) {
        replace(claim, "verdict", SG_NOT_JUDGED);
        replace(claim, "reason", why);
    }
    replace(summary, "text", NULL);
    replace(summary, "reason", why);
}

cJSON *sg_grid_plan(cJSON *take_program, const struct sg_recipe *recipe, const struct sg_cell *cells,
                    const struct sg_cell_outcome *outcomes, size_t count) {
    cJSON *out = cJSON_CreateObject(), *list = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON *cell = cJSON_CreateObject();
        sg_json_set_string(cell, "label", cells[i].label);
        sg_json_set_u64(cell, "seed", cells[i].seed);
        sg_json_set_string(cell, "action", sg_grid_action(&outcomes[i]));
        sg_json_set_string(cell, "file", outcomes[i].path);
        sg_json_set_string(cell, "cell_key", cells[i].key);
        sg_json_set(cell, "resolved", sg_node_json(&cells[i].resolved));
        sg_json_push(list, cell);
    }
    sg_json_set_string(out, "schema", "sparsebench-plan/1");
    sg_json_set(out, "program", take_program);
    sg_json_set(out, "recipe", sg_recipe_json(recipe));
    sg_json_set(out, "cells", list);
    return out;
}
