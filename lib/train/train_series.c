#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_file.h"
#include "sg_result.h"
#include "sg_terminal.h"
#include "sg_version.h"
#include "train_state.h"

static sg_status write_line(FILE *out, cJSON *take_record, struct sg_error *err) {
    char *text = sg_json_text(take_record, false);
    cJSON_Delete(take_record);
    if (!text)
        return sg_fail_memory(err, "a record of the series");
    int bad = fputs(text, out) == EOF || fflush(out) != 0;
    free(text);
    return bad ? sg_fail_errno(err, SG_ERR_IO, "cannot write the series") : SG_OK;
}

static cJSON *record(const char *kind) {
    cJSON *r = cJSON_CreateObject();
    sg_json_set_string(r, "record", kind);
    return r;
}

static cJSON *layers_json(const struct sg_layout *layout) {
    cJSON *out = cJSON_CreateArray();
    for (size_t l = 0; l < layout->n_layers; l++) {
        cJSON *layer = cJSON_CreateObject();
        sg_json_set_string(layer, "name", layout->name ? layout->name[l] : NULL);
        sg_json_set_number(layer, "elements", (double)(layout->offset[l + 1] - layout->offset[l]));
        sg_json_push(out, layer);
    }
    return out;
}

/* A GPU works on while the host's time passes, so nothing is known there. */
static cJSON *phases_json(const struct train *t) {
    static const char *const name[PHASES] = {"gradient", "compression", "exchange", "update"};
    cJSON *out = t->gpu ? NULL : cJSON_CreateObject();
    for (size_t p = 0; out && p < PHASES; p++) {
        double sum_s = 0;
        for (size_t w = 0; w < t->count; w++)
            sum_s += t->spent[w][p];
        sg_json_set_number(out, name[p], sum_s);
    }
    return out;
}

sg_status train_header(const struct train *t, struct sg_error *err) {
    const struct sg_cell *cell = t->options->cell;
    const struct sg_node *root = &t->options->recipe->root;
    cJSON *h = record("header"), *recipe = cJSON_CreateObject(), *constants = cJSON_CreateObject();
    cJSON *columns = cJSON_CreateArray(), *units = cJSON_CreateObject();
    sg_json_set_string(h, "schema", SG_SCHEMA_TRAIN);
    sg_json_set_string(h, "name", sg_node_string(root, "name", NULL));
    sg_json_set_string(h, "title", sg_node_string(root, "title", NULL));
    sg_json_set_string(h, "method", cell->label);
    sg_json_set_u64(h, "seed", cell->seed);
    sg_json_set_string(h, "cell_key", cell->key);
    sg_json_set(h, "program", sg_version_json("sparsetrain"));
    sg_json_set(recipe, "resolved", sg_node_json(&cell->resolved));
    sg_json_set(h, "recipe", recipe);
    cJSON *facts = t->task_ops->describe(t->task);
    for (cJSON *fact; facts && (fact = facts->child);)
        sg_json_set(h, fact->string, cJSON_DetachItemViaPointer(facts, fact));
    cJSON_Delete(facts);
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(h, "dataset"), "path"); /* in `run` */
    for (size_t i = 0; i < t->n_constants; i++)
        sg_json_set_number(constants, t->constant[i].name, t->constant[i].value);
    sg_json_set(h, "constants", constants);
    sg_json_push_string(columns, "step");
    sg_json_push_string(columns, "epoch");
    sg_json_set_string(units, "step", "");
    sg_json_set_string(units, "epoch", "");
    for (size_t i = 0; i < t->n_columns; i++) {
        sg_json_push_string(columns, t->column[i].metric->name);
        sg_json_set_string(units, t->column[i].metric->name, t->column[i].metric->unit);
    }
    sg_json_set(h, "columns", columns);
    sg_json_set(h, "units", units);
    sg_json_set(h, "layers", t->wants_layers ? layers_json(&t->info->layout) : NULL);
    return write_line(t->options->series, h, err);
}

/* evaluated: the task's columns, NULL = not known at this step. */
static void write_row(const struct train *t, const struct row *row, const double *evaluated) {
    FILE *out = t->options->series;
    char text[SG_NUMBER_CHARS];
    fprintf(out, "{\"record\":\"step\",\"step\":%llu,\"epoch\":%s", (unsigned long long)row->step,
            sg_number_text((double)row->step / (double)t->info->steps_per_epoch, text));
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct recorded *c = &t->column[i];
        fprintf(out, ",\"%s\":%s", c->metric->name,
                sg_number_text(!c->from_task ? row->value[c->index]
                               : evaluated   ? evaluated[c->index]
                                             : NAN,
                               text));
    }
    char *layers = row->layers ? sg_json_text(row->layers, false) : NULL;
    if (t->wants_layers) /* the text ends in a newline */
        fprintf(out, ",\"layers\":%.*s", layers ? (int)strcspn(layers, "\n") : 4, layers ? layers : "null");
    free(layers);
    fputs("}\n", out);
}

sg_status train_flush(struct train *t, struct sg_error *err) {
    if (!t->options->series)
        return SG_OK;
    t->last_flush_s = sg_clock_s();
    if (t->info->evaluation == SG_EVALUATE_QUEUED && t->n_evaluated) {
        sg_status status = t->task_ops->evaluate(t->task, t->evaluated, err);
        if (status != SG_OK)
            return status;
    }
    const double *next = t->evaluated;
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct row *row = &t->row[i];
        write_row(t, row, row->evaluated ? next : NULL);
        next += row->evaluated ? t->task_kind->n_metrics : 0;
        cJSON_Delete(row->layers);
    }
    t->n_rows = t->n_evaluated = 0;
    if (fflush(t->options->series) != 0 || ferror(t->options->series))
        return sg_fail_errno(err, SG_ERR_IO, "cannot write the series");
    return SG_OK;
}

sg_status train_record(struct train *t, const double value[SG_COLUMNS], cJSON *take_layers, struct sg_error *err) {
    const bool evaluates = train_evaluates(t, t->step);
    sg_status status = SG_OK;
    if (t->options->series && evaluates && t->info->evaluation == SG_EVALUATE_QUEUED)
        status = t->task_ops->queue(t->task, err);
    if (!t->options->series || status != SG_OK) {
        cJSON_Delete(take_layers);
        return status;
    }
    struct row *row = &t->row[t->n_rows++];
    *row = (struct row){.step = t->step, .evaluated = evaluates, .layers = take_layers};
    memcpy(row->value, value, sizeof row->value);
    t->n_evaluated += evaluates;
    return t->n_rows == t->capacity || sg_clock_s() - t->last_flush_s > 1 ? train_flush(t, err) : SG_OK;
}

sg_status train_ending(struct train *t, const struct sg_train_report *report, const char *started_at,
                       const char *message, struct sg_error *err) {
    FILE *out = t->options->series;
    if (!out)
        return SG_OK;
    char hash[65];
    struct sg_error unread; /* after a failure of the device there is no hash */
    const bool hashed = train_x_hash(t, hash, &unread) == SG_OK;
    cJSON *run = record("run"), *recipe = cJSON_CreateObject(), *libraries = cJSON_CreateObject();
    sg_json_set_string(run, "started_at", started_at);
    sg_json_set_number(run, "elapsed_s", report->elapsed_s);
    sg_json_set_number(run, "setup_s", report->setup_s);
    sg_json_set(run, "phase_s", phases_json(t));
    sg_json_set_number(run, "ranks", sg_comm_size(t->comm));
    sg_json_set_number(run, "threads", t->threads);
    sg_json_set_string(run, "device", t->device);
    sg_json_set_string(run, "kernels", t->kernels->name);
    sg_json_set_string(recipe, "path", t->options->recipe->path);
    sg_json_set_string(recipe, "sha256", t->options->recipe->sha256);
    sg_json_set(run, "recipe", recipe);
    cJSON *facts = t->task_ops->describe(t->task);
    sg_json_set_string(run, "dataset_path", sg_json_string(facts, "dataset.path", NULL));
    cJSON *host = sg_result_host();
    sg_json_set_string(libraries, "mpi", sg_comm_library(t->comm));
    sg_json_set_string(libraries, "cjson", cJSON_Version());
    sg_json_set_string(libraries, "libtorch", sg_json_string(facts, "libtorch", NULL));
    sg_json_set(libraries, "cuda", NULL);
    train_gpu_describe(t, host, libraries);
    sg_json_set(run, "host", host);
    sg_json_set(run, "libraries", libraries);
    cJSON_Delete(facts);
    cJSON *end = record("end");
    sg_json_set_string(end, "status", report->status);
    sg_json_set_string(end, "message", message);
    sg_json_set_number(end, "steps", (double)report->steps);
    sg_json_set_string(end, "parameters_sha256", hashed ? hash : NULL);
    sg_status status = write_line(out, run, err);
    if (status == SG_OK)
        status = write_line(out, end, err);
    else
        cJSON_Delete(end);
    return status;
}
