/* grid_document.c: makes the whole result of a grid as one JSON document, and the plan of a grid that is not run. */
#include <string.h>

#include "grid_private.h"

/* A copy of the first value of that name in a cell's header or run record. */
static cJSON *first_copy(const struct sg_cell_outcome *outcomes, size_t count, bool header, const char *key) {
    for (size_t i = 0; i < count; i++) {
        const cJSON *found = sg_json_get(header ? outcomes[i].run.header : outcomes[i].run.run, key);
        if (found)
            return sg_json_copy(found);
    }
    return NULL;
}

static const char *worst_status(const struct grid_frame *g) {
    static const char *const rank[] = {"ok", "diverged", "failed", "interrupted"};
    size_t worst = 0;
    for (size_t i = 0; i < g->n_seeds; i++) {
        size_t r = 0;
        while (r < 3 && strcmp(g->seed[i].status, rank[r]) != 0)
            r++;
        worst = r > worst ? r : worst;
    }
    return rank[worst];
}

cJSON *sg_grid_document(cJSON *take_program, cJSON *take_run, const struct sg_recipe *recipe,
                        const struct sg_grid_network *network, const struct sg_cell *cells,
                        const struct sg_cell_outcome *outcomes, size_t count, size_t most) {
    struct grid_frame g;
    if (!grid_frame_open(&g, recipe, cells, outcomes, count)) {
        sg_json_lost();
        cJSON_Delete(take_program);
        cJSON_Delete(take_run);
        return NULL;
    }
    cJSON *out = SG_OBJECT(
        SG_TEXT("schema", SG_SCHEMA_BENCH), SG_TEXT("status", worst_status(&g)), SG_VALUE("program", take_program),
        SG_VALUE("run", take_run), SG_VALUE("recipe", sg_recipe_json(recipe)),
        SG_VALUE("dataset", first_copy(outcomes, count, true, "dataset")),
        SG_VALUE("identities", sg_grid_identities(outcomes, count)), SG_VALUE("host", sg_result_host()),
        SG_VALUE("libraries", first_copy(outcomes, count, false, "libraries")),
        SG_VALUE("units", first_copy(outcomes, count, true, "units")),
        SG_VALUE("network", grid_network_json(network, recipe)), SG_VALUE("traffic", NULL),
        SG_VALUE("results", grid_results_json(&g, most)), SG_VALUE("claims", grid_claims_json(&g)),
        SG_VALUE("plots", grid_plots_json(&g)), SG_VALUE("summary", NULL));
    grid_summarize(out, &g);
    cJSON *tuning = grid_tuning_json(&g);
    if (tuning)
        sg_json_set(out, "tuning", tuning);
    grid_frame_close(&g);
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
        cJSON_ReplaceItemInObjectCaseSensitive(claim, "margin", cJSON_CreateNull());
    }
    if (summary) { /* of training */
        replace(summary, "text", NULL);
        replace(summary, "reason", why);
    }
}

cJSON *sg_grid_plan(cJSON *take_program, const struct sg_recipe *recipe, const struct sg_cell *cells,
                    const struct sg_cell_outcome *outcomes, size_t count) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++)
        sg_json_push(list, SG_OBJECT(SG_TEXT("label", cells[i].label), SG_U64("seed", cells[i].seed),
                                     SG_TEXT("action", sg_grid_action(&outcomes[i])), SG_TEXT("file", outcomes[i].path),
                                     SG_TEXT("cell_key", cells[i].key),
                                     SG_VALUE("resolved", sg_node_json(&cells[i].resolved))));
    return SG_OBJECT(SG_TEXT("schema", "sparsebench-plan/1"), SG_VALUE("program", take_program),
                     SG_VALUE("recipe", sg_recipe_json(recipe)), SG_VALUE("cells", list));
}
