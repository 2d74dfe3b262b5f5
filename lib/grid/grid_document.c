/* grid_document.c: makes the whole result of a grid as one JSON document, and the plan of a grid that is not run. */
/* SPDX-License-Identifier: MIT */
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

/* A part of the document, read from the JSON that another room makes of it. */
static void *part(struct sg_arena *memory, const struct sg_shape *shape, cJSON *take_json) {
    return sg_fields_new(shape, sg_arena_take(memory, take_json), memory);
}

void sg_grid_document(struct sg_document *out, cJSON *take_program, cJSON *take_run, const struct sg_recipe *recipe,
                      const struct sg_grid_network *network, const struct sg_cell *cells,
                      const struct sg_cell_outcome *outcomes, size_t count, size_t most) {
    *out = (struct sg_document){.schema = SG_SCHEMA_BENCH};
    struct sg_arena *memory = &out->memory;
    struct grid_frame g = grid_frame(out, recipe, cells, outcomes, count);
    out->status = worst_status(&g);
    out->program = part(memory, &sg_document_program_shape, take_program);
    out->run = part(memory, &sg_document_run_shape, take_run);
    out->recipe = part(memory, &sg_document_recipe_shape, sg_recipe_json(recipe));
    out->dataset = part(memory, &sg_document_dataset_shape, first_copy(outcomes, count, true, "dataset"));
    out->identities = sg_grid_identities(outcomes, count, memory);
    out->host = sg_arena_take(memory, sg_result_host());
    out->libraries = sg_arena_take(memory, first_copy(outcomes, count, false, "libraries"));
    out->units = sg_arena_take(memory, first_copy(outcomes, count, true, "units"));
    out->network = part(memory, &sg_document_network_shape, grid_network_json(network, recipe));
    grid_fill_results(&g, most);
    grid_fill_claims(out, &g);
    grid_fill_plots(out, &g);
    grid_summarize(out, &g);
    out->tuning = grid_tuning(&g);
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
