/* train_series.c: the series of a run, record by record. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_plugins.h"
#include "sg_result.h"
#include "sg_text.h"
#include "sg_version.h"
#include "train_private.h"

/* Writes to the series. All text goes through here, so that its hash is known without reading it back. */
static sg_status append(struct train *t, const char *text, size_t length, struct sg_error *err) {
    FILE *out = t->options->series;
    sg_sha256_add(&t->series.hash, text, length);
    return (length == 0 || fwrite(text, 1, length, out) == length) && fflush(out) == 0 && !ferror(out)
               ? SG_OK
               : sg_fail_errno(err, SG_ERR_IO, "cannot write the series");
}

static sg_status write_line(struct train *t, cJSON *take_record, struct sg_error *err) {
    char *text = sg_json_text(take_record, false);
    cJSON_Delete(take_record);
    sg_status status = append(t, text, strlen(text), err);
    free(text);
    return status;
}

void train_series_hash(const struct train *t, char hex[65]) {
    sg_sha256 copy = t->series.hash;
    sg_sha256_end(&copy, hex);
}

sg_status train_series_go_on(struct train *t, uint64_t bytes, const char *sha256, struct sg_error *err) {
    enum { CHUNK_BYTES = 1 << 16 };
    FILE *series = t->options->series;
    if (!series)
        return SG_OK;
    char hex[65], *chunk = sg_malloc(CHUNK_BYTES);
    uint64_t left = bytes;
    rewind(series);
    sg_sha256_start(&t->series.hash);
    for (size_t got = 1; left > 0 && got > 0; left -= got) {
        got = fread(chunk, 1, left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES, series);
        sg_sha256_add(&t->series.hash, chunk, got);
    }
    free(chunk);
    train_series_hash(t, hex);
    if (left > 0)
        return sg_fail(err, SG_ERR_MISMATCH,
                       "the partial series is shorter than %s says: start again with --force "
                       "instead of --resume",
                       t->options->checkpoint);
    if (bytes > 0 && memcmp(hex, sha256, sizeof hex - 1) != 0)
        return sg_fail(err, SG_ERR_MISMATCH,
                       "the partial series was changed since %s was written, or is damaged: start again with --force "
                       "instead of --resume",
                       t->options->checkpoint);
    if (ftruncate(fileno(series), (off_t)bytes) != 0 || fseeko(series, (off_t)bytes, SEEK_SET) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot cut the partial series back to the checkpoint");
    return SG_OK;
}

static cJSON *layers_json(const struct sg_layout *layout) {
    cJSON *out = cJSON_CreateArray();
    for (size_t l = 0; l < layout->n_layers; l++)
        sg_json_push(out, SG_OBJECT(SG_TEXT("name", layout->name ? layout->name[l] : NULL),
                                    SG_NUMBER("elements", (double)(layout->offset[l + 1] - layout->offset[l]))));
    return out;
}

/* A GPU works in parallel with the host, so the host's clock cannot measure the phases of a step. */
static cJSON *phases_json(const struct train *t) {
    static const char *const name[PHASES] = {"gradient", "compression", "exchange", "update"};
    cJSON *out = t->device.gpu ? NULL : cJSON_CreateObject();
    for (size_t p = 0; out && p < PHASES; p++) {
        double sum_s = 0;
        for (size_t w = 0; w < t->count; w++)
            sum_s += t->worker[w].spent[p];
        sg_json_set_number(out, name[p], sum_s);
    }
    return out;
}

/* What ran the cell: the program, and the plug-ins that the cell uses. */
static cJSON *program_json(const struct sg_cell *cell) {
    cJSON *out = sg_version_json("sparsetrain", sg_node_string(&cell->resolved, "task.kind", NULL));
    cJSON *plugins = sg_plugins_json(cell);
    char identity[SG_CELL_IDENTITY];
    if (!plugins)
        return out;
    cJSON_ReplaceItemInObjectCaseSensitive(out, "identity", cJSON_CreateString(sg_cell_identity(identity, cell)));
    sg_json_set(out, "plugins", plugins);
    return out;
}

sg_status train_header(struct train *t, struct sg_error *err) {
    const struct sg_cell *cell = t->options->cell;
    const struct sg_node *root = &t->options->recipe->root;
    cJSON *constants = cJSON_CreateObject(), *columns = cJSON_CreateArray(), *units = cJSON_CreateObject();
    cJSON *h = SG_OBJECT(SG_TEXT("record", "header"), SG_TEXT("schema", SG_SCHEMA_TRAIN),
                         SG_TEXT("name", sg_node_string(root, "name", NULL)),
                         SG_TEXT("title", sg_node_string(root, "title", NULL)), SG_TEXT("method", cell->label));
    sg_json_set_u64(h, "seed", cell->seed);
    SG_SET(h, SG_TEXT("cell_key", cell->key), SG_VALUE("program", program_json(cell)),
           SG_VALUE("recipe", SG_OBJECT(SG_VALUE("resolved", sg_node_json(&cell->resolved)))));
    sg_json_move(h, sg_task_describe(t->task));
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(h, "dataset"), "path"); /* in `run` */
    for (size_t i = 0; i < t->n_constants; i++)
        sg_json_set_number(constants, t->constant[i].name, t->constant[i].value);
    sg_json_set(h, "constants", constants);
    static const char *const given[] = {"step", "epoch"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        sg_json_push_string(columns, given[i]);
        sg_json_set_string(units, given[i], "");
    }
    for (size_t i = 0; i < t->series.n_columns; i++) {
        sg_json_push_string(columns, t->series.column[i].metric->name);
        sg_json_set_string(units, t->series.column[i].metric->name, t->series.column[i].metric->unit);
    }
    SG_SET(h, SG_VALUE("columns", columns), SG_VALUE("units", units),
           SG_VALUE("layers", t->series.wants_layers ? layers_json(&t->info->layout) : NULL));
    return write_line(t, h, err);
}

/* Writes a row. evaluated: the task's columns; NULL = not known at this step. */
static void put_row(const struct train *t, FILE *out, const struct row *row, const double *evaluated) {
    char text[SG_NUMBER_CHARS];
    fprintf(out, "{\"record\":\"step\",\"step\":%llu,\"epoch\":%s", (unsigned long long)row->step,
            sg_number_text((double)row->step / (double)t->info->steps_per_epoch, text));
    for (size_t i = 0; i < t->series.n_columns; i++) {
        const struct recorded *c = &t->series.column[i];
        fprintf(out, ",\"%s\":%s", c->metric->name,
                sg_number_text(!c->from_task ? row->value[c->index]
                               : evaluated   ? evaluated[c->index]
                                             : NAN,
                               text));
    }
    char *layers = row->layers ? sg_json_text(row->layers, false) : NULL;
    if (t->series.wants_layers) /* the text ends in a newline */
        fprintf(out, ",\"layers\":%.*s", layers ? (int)strcspn(layers, "\n") : 4, layers ? layers : "null");
    free(layers);
    fputs("}\n", out);
}

sg_status train_flush(struct train *t, struct sg_error *err) {
    if (!t->options->series)
        return SG_OK;
    t->series.last_flush_s = sg_clock_s();
    if (t->info->evaluation == SG_EVALUATE_QUEUED && t->series.n_evaluated) {
        sg_status status = t->task_ops->evaluate(t->task, t->series.evaluated, err);
        if (status != SG_OK)
            return status;
    }
    char *text = NULL;
    size_t length = 0;
    FILE *lines = sg_memstream(&text, &length);
    const double *next = t->series.evaluated;
    for (size_t i = 0; i < t->series.n_rows; i++) {
        const struct row *row = &t->series.row[i];
        put_row(t, lines, row, row->evaluated ? next : NULL);
        next += row->evaluated ? t->task_kind->n_metrics : 0;
        cJSON_Delete(row->layers);
    }
    t->series.n_rows = t->series.n_evaluated = 0;
    text = sg_stream_text(lines, &text);
    sg_status status = append(t, text, length, err);
    free(text);
    return status;
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
    struct row *row = &t->series.row[t->series.n_rows++];
    *row = (struct row){.step = t->step, .evaluated = evaluates, .layers = take_layers};
    memcpy(row->value, value, sizeof row->value);
    t->series.n_evaluated += evaluates;
    return t->series.n_rows == t->series.capacity || sg_clock_s() - t->series.last_flush_s > 1 ? train_flush(t, err)
                                                                                               : SG_OK;
}

sg_status train_ending(struct train *t, const struct sg_train_report *report, const char *message,
                       struct sg_error *err) {
    if (!t->options->series)
        return SG_OK;
    char hash[65];
    struct sg_error unread; /* after a failure of the device there is no hash */
    const bool hashed = train_x_hash(t, hash, &unread) == SG_OK;
    cJSON *facts = sg_task_describe(t->task);
    cJSON *recipe = SG_OBJECT(SG_TEXT("path", t->options->recipe->path), SG_TEXT("sha256", t->options->recipe->sha256),
                              SG_VALUE("set", sg_recipe_set_json(t->options->recipe)));
    cJSON *libraries =
        SG_OBJECT(SG_TEXT("mpi", sg_comm_library(t->comm)), SG_TEXT("cjson", cJSON_Version()),
                  SG_TEXT("libtorch", sg_json_string(facts, "libtorch", NULL)), SG_VALUE("cuda", train_cuda_json(t)));
    cJSON *run = SG_OBJECT(
        SG_TEXT("record", "run"), SG_TEXT("started_at", t->started_at), SG_NUMBER("elapsed_s", report->elapsed_s),
        SG_NUMBER("setup_s", report->setup_s), SG_VALUE("phase_s", phases_json(t)),
        SG_NUMBER("ranks", sg_comm_size(t->comm)), SG_NUMBER("threads", t->threads), SG_TEXT("device", t->device.name),
        SG_TEXT("kernels", t->kernels->name), SG_VALUE("recipe", recipe),
        SG_TEXT("dataset_path", sg_json_string(facts, "dataset.path", NULL)), SG_VALUE("host", train_host_json(t)),
        SG_VALUE("libraries", libraries), SG_NUMBER("planned_steps", (double)t->plan.steps),
        SG_NUMBER("steps_per_epoch", (double)t->info->steps_per_epoch), SG_VALUE("segments", train_segments_json(t)));
    cJSON_Delete(facts);
    cJSON *end =
        SG_OBJECT(SG_TEXT("record", "end"), SG_TEXT("status", report->status), SG_TEXT("message", message),
                  SG_NUMBER("steps", (double)report->steps), SG_TEXT("parameters_sha256", hashed ? hash : NULL));
    char *run_text = sg_json_text(run, false), *end_text = sg_json_text(end, false);
    char *text = sg_run_seal(t->series.hash, run_text, end_text);
    const sg_status status = append(t, text, strlen(text), err);
    cJSON_Delete(run);
    cJSON_Delete(end);
    free(run_text);
    free(end_text);
    free(text);
    return status;
}
