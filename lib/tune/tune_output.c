/* tune_output.c: the output of an action of sparsetune: its evidence as JSON, and the parts of tables in text. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <string.h>

#include "sg_json.h"
#include "sg_memory.h"
#include "sg_result.h"
#include "sg_text.h"
#include "tune_private.h"

cJSON *tune_evidence(const struct sg_tune *t, const char *action, cJSON *take_tune) {
    cJSON *out = cJSON_CreateObject(), *tune = cJSON_CreateObject();
    SG_SET(out, SG_TEXT("schema", SG_SCHEMA_TUNE), SG_TEXT("status", "ok"), SG_VALUE("program", NULL),
           SG_VALUE("run", NULL), SG_VALUE("recipe", sg_recipe_json(t->recipe)));
    sg_json_set_string(tune, "action", action);
    sg_json_move(tune, take_tune);
    sg_json_set(out, "tune", tune);
    return out;
}

sg_status tune_trials_evidence(struct sg_tune *t, struct tune_trials *b, cJSON *take_tune, struct sg_error *err) {
    struct sg_grid_network network;
    bool there = false;
    sg_status status = sg_grid_network_read(&network, &there, &b->recipe, err);
    const struct sg_grid_network *modelled = there ? &network : NULL;
    SG_DO(status, sg_grid_derive(b->outcomes, b->cells, b->count, &b->recipe, modelled, err));
    if (status == SG_OK) {
        struct sg_document document;
        sg_grid_document(&document, NULL, NULL, &b->recipe, modelled, b->cells, b->outcomes, b->count, 600);
        t->evidence = sg_document_json(&document);
        sg_document_free(&document);
        status = SG_OK;
    }
    if (status == SG_OK)
        sg_json_set(t->evidence, "tune", take_tune);
    else
        cJSON_Delete(take_tune);
    return status;
}

sg_status tune_cells_evidence(struct sg_tune *t, const char *text, const char *compressor, cJSON *take_tune,
                              struct sg_error *err) {
    struct tune_trials b;
    struct sg_tune with = *t;
    struct sg_recipe found = *t->recipe;
    found.text = (char *)(uintptr_t)text;
    with.recipe = &found;
    with.grid.fresh = false; /* they were run just now */
    tune_trials_start(&b, &with, NULL);
    tune_change(&b.changes, "{claims: null}");
    sg_status status = tune_trials_open(&b, NULL, compressor, SIZE_MAX, err);
    SG_DO(status, sg_grid_look(b.outcomes, b.cells, b.count, &with.grid, err));
    if (status == SG_OK)
        status = tune_trials_evidence(t, &b, take_tune, err);
    else
        cJSON_Delete(take_tune);
    tune_trials_close(&b);
    return status;
}

void tune_say(const struct sg_tune *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = sg_vformat(format, args);
    va_end(args);
    sg_notify(t->say, "%s", text);
    free(text);
}

void tune_sentence(cJSON *list, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = sg_vformat(format, args);
    va_end(args);
    sg_json_push_string(list, text);
    free(text);
}

void tune_say_left_out(cJSON *list, const char *method, const char *why) {
    if (why[0])
        tune_sentence(list, "%s is left out: %s.", method, why);
}

void tune_sentence_taken(cJSON *list, char *take_text) {
    sg_json_push_string(list, take_text ? take_text : "");
    free(take_text);
}

void tune_put_comment(FILE *out, const char *text, const struct sg_tune *t) {
    enum { WIDTH = 100 };
    sg_put_wrapped(out, text, t->columns > 0 ? t->columns : WIDTH, "# ", "#   ");
}

void tune_put_sentences(FILE *out, const char *list, const struct sg_tune *t) {
    const cJSON *sentence;
    cJSON_ArrayForEach(sentence, sg_json_get(t->evidence, list)) tune_put_comment(out, sentence->valuestring, t);
}

void tune_put_assumptions(FILE *out, const struct sg_tune *t) {
    tune_put_sentences(out, "tune.assumptions", t);
    fputs("#\n", out);
}

void tune_put_table(FILE *out, sg_table *take_table, const struct sg_tune *t) {
    enum { WIDTH = 80 };
    const struct sg_table_lines how = {.width = t->columns > 0 ? t->columns : WIDTH, .mark = "# "};
    sg_table_write_lines(out, take_table, &how);
    sg_table_free(take_table);
}

void tune_show(struct sg_tune *t, cJSON *take_evidence, tune_put_fn *put, const void *of) {
    size_t size;
    t->evidence = take_evidence;
    FILE *out = sg_memstream(&t->table, &size);
    put(out, t, of);
    sg_stream_text(out, &t->table);
}

void sg_tune_free(struct sg_tune *t) {
    free(t->text);
    cJSON_Delete(t->evidence);
    t->text = NULL;
    t->evidence = NULL;
    free(t->table);
    t->table = NULL;
}
