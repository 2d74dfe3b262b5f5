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

void sg_tune_free(struct sg_tune *t) {
    free(t->text);
    cJSON_Delete(t->evidence);
    t->text = NULL;
    t->evidence = NULL;
    free(t->table);
    t->table = NULL;
}
