/* tune_output.c: what an action of sparsetune hands over: its evidence as JSON, and what tables in text are made of. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_result.h"
#include "sg_text.h"
#include "tune_private.h"

sg_status tune_evidence(struct sg_tune *t, const char *action, cJSON *take_tune, struct sg_error *err) {
    cJSON *out = cJSON_CreateObject(), *tune = cJSON_CreateObject();
    SG_SET(out, SG_TEXT("schema", SG_SCHEMA_TUNE), SG_TEXT("status", "ok"), SG_VALUE("program", NULL),
           SG_VALUE("run", NULL), SG_VALUE("recipe", sg_recipe_json(t->recipe)));
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
    struct tune_changes c;
    struct tune_trials b = {.count = 0};
    struct sg_tune with = *t;
    struct sg_recipe found = *t->recipe;
    found.text = (char *)(uintptr_t)text;
    with.recipe = &found;
    with.grid.fresh = false; /* they were run just now */
    tune_changes_start(&c, &with, NULL);
    tune_change_plain(&c, "claims", "null");
    sg_status status = tune_trials_open(&b, &c, NULL, compressor, SIZE_MAX, err);
    SG_DO(status, sg_grid_look(b.outcomes, b.cells, b.count, &with.grid, err));
    if (status == SG_OK) {
        t->evidence = sg_grid_document(NULL, NULL, &b.recipe, b.cells, b.outcomes, b.count, 600);
        sg_json_set(t->evidence, "tune", take_tune);
        status = t->evidence ? SG_OK : sg_fail_memory(err, "the evidence");
    }
    if (status != SG_OK)
        cJSON_Delete(take_tune);
    tune_trials_close(&b);
    tune_changes_free(&c);
    return status;
}

void tune_sentence(cJSON *list, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        sg_json_push_string(list, text);
        free(text);
    }
    va_end(args);
}

char *tune_model_text(const struct sg_grid_network *n) {
    return sg_format("%s, %s%s%s, overlap %s", n->net.between.name, n->sum->name, n->gather ? " and " : "",
                     n->gather ? n->gather->name : "", n->overlap->name);
}

void tune_say_assumed(cJSON *list, const struct sg_grid_network *n, bool assumed) {
    if (assumed)
        tune_sentence(list, "The recipe has no section network, so the link %s is assumed.", n->net.between.name);
}

void tune_say_compute(cJSON *list, const struct sg_grid_network *n, const char *without) {
    if (n->compute_s > 0)
        tune_sentence(list, "The forward and backward pass of a step take %.4g s (network.compute).", n->compute_s);
    else
        tune_sentence(list, "No compute time is given (network.compute), %s.", without);
}

void tune_put_comment(FILE *out, const char *text, const struct sg_tune *t) {
    enum { WIDTH = 100 };
    sg_put_wrapped(out, text, t->columns > 0 ? t->columns : WIDTH, "# ", "#   ");
}

bool tune_put_table(FILE *out, sg_table *take_table, const struct sg_tune *t) {
    enum { WIDTH = 80 };
    const struct sg_table_lines how = {.width = t->columns > 0 ? t->columns : WIDTH, .mark = "# "};
    struct sg_error unused;
    const bool fine = sg_table_write_lines(out, take_table, &how, &unused) == SG_OK;
    sg_table_free(take_table);
    return fine;
}

char *tune_table_text(FILE *take_stream, char **text, bool fine) {
    if (sg_stream_text(take_stream, text) && !fine) {
        free(*text);
        *text = NULL;
    }
    return *text;
}

void sg_tune_free(struct sg_tune *t) {
    free(t->text);
    cJSON_Delete(t->evidence);
    t->text = NULL;
    t->evidence = NULL;
    free(t->table);
    t->table = NULL;
}
