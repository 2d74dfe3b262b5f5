/* tune_output.c: what an action of sparsetune hands over: its evidence as JSON, and a table in text. */
#include <stdlib.h>

#include "sg_json.h"
#include "sg_result.h"
#include "tune_private.h"

sg_status tune_evidence(struct sg_tune *t, const char *action, cJSON *take_tune, struct sg_error *err) {
    cJSON *out = cJSON_CreateObject(), *tune = cJSON_CreateObject();
    sg_json_set_string(out, "schema", SG_SCHEMA_TUNE);
    sg_json_set_string(out, "status", "ok");
    sg_json_set(out, "program", NULL);
    sg_json_set(out, "run", NULL);
    sg_json_set(out, "recipe", sg_recipe_json(t->recipe));
    sg_json_set_string(tune, "action", action);
    for (cJSON *member; take_tune && (member = take_tune->child);)
        sg_json_set(tune, member->string, cJSON_DetachItemViaPointer(take_tune, member));
    cJSON_Delete(take_tune);
    sg_json_set(out, "tune", tune);
    t->evidence = out;
    return out && tune ? SG_OK : sg_fail_memory(err, "the evidence");
}

sg_status tune_cells_evidence(struct sg_tune *t, const char *text, const char *compressor, cJSON *take_tune,
                              struct sg_error *err) {
    struct tune_sets sets;
    struct tune_trials b = {.count = 0};
    struct sg_tune with = *t;
    const struct sg_recipe found = {.path = t->recipe->path, .text = (char *)(uintptr_t)text};
    with.recipe = &found;
    with.grid.fresh = false; /* they were run just now */
    tune_sets_start(&sets, t);
    sg_status status = tune_set(&sets, "claims=[]") ? SG_OK : sg_fail_memory(err, "the evidence");
    if (status == SG_OK)
        status = tune_trials_open(&b, &with, &sets, NULL, compressor, SIZE_MAX, err);
    if (status == SG_OK)
        status = sg_grid_look(b.outcomes, b.cells, b.count, &with.grid, err);
    if (status == SG_OK) {
        t->evidence = sg_grid_document(NULL, NULL, &b.recipe, b.cells, b.outcomes, b.count, 600);
        sg_json_set(t->evidence, "tune", take_tune);
        status = t->evidence ? SG_OK : sg_fail_memory(err, "the evidence");
    }
    if (status != SG_OK)
        cJSON_Delete(take_tune);
    tune_trials_close(&b);
    tune_sets_free(&sets);
    return status;
}

void sg_tune_free(struct sg_tune *t) {
    free(t->text);
    cJSON_Delete(t->evidence);
    t->text = NULL;
    t->evidence = NULL;
    free(t->table);
    t->table = NULL;
}
