/* train_recording.c: a recording of what the compressors are given, or of the gradients (sg_recording.h). */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_memory.h"
#include "sg_plugins.h"
#include "sg_result.h"
#include "train_private.h"

const char *recording_path(const struct train *t) {
    return t->options->record_inputs ? t->options->record_inputs : t->options->record_gradients;
}

static cJSON *describe(const struct train *t) {
    const struct sg_cell *cell = t->options->cell;
    const struct sg_layout *layout = &t->info->layout;
    char identity[SG_CELL_IDENTITY];
    const bool gradients = t->options->record_gradients != NULL, named = gradients && layout->name;
    cJSON *constants = cJSON_CreateObject(), *layers = cJSON_CreateArray();
    cJSON *rows = gradients ? cJSON_CreateArray() : NULL, *names = named ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < t->n_constants; i++)
        sg_json_set_number(constants, t->constant[i].name, t->constant[i].value);
    for (size_t l = 0; l < layout->n_layers; l++) {
        sg_json_push_number(layers, (double)(layout->offset[l + 1] - layout->offset[l]));
        if (gradients) /* so that a replay has the matrices of the run */
            sg_json_push_number(rows, layout->rows ? (double)layout->rows[l] : 1);
        if (named)
            sg_json_push_string(names, layout->name[l]);
    }
    cJSON *h = SG_OBJECT(SG_TEXT("schema", gradients ? SG_SCHEMA_GRADIENTS : SG_SCHEMA_INPUTS),
                         SG_TEXT("method", cell->label), SG_U64("seed", cell->seed), SG_TEXT("cell_key", cell->key),
                         SG_TEXT("identity", sg_cell_identity(identity, cell)), SG_NUMBER("steps", t->plan.steps),
                         SG_NUMBER("workers", t->workers), SG_NUMBER("steps_per_epoch", t->info->steps_per_epoch),
                         SG_VALUE("constants", constants), SG_VALUE("layers", layers));
    if (gradients)
        sg_json_set(h, "rows", rows);
    if (named)
        sg_json_set(h, "names", names);
    return h;
}

sg_status recording_open(struct train *t, struct sg_error *err) {
    const char *path = recording_path(t);
    if (!path)
        return SG_OK;
    sg_status status = SG_OK;
    if (train_wants_gpu(t))
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "%s goes with --device cpu only",
                         t->options->record_inputs ? "--record-inputs" : "--record-gradients");
    if (status == SG_OK && t->lead)
        status = sg_recording_begin(&t->recording, path, describe(t), t->step, t->inputs_sha256, err);
    return sg_comm_agree(t->comm, status, err);
}

/* a [d] <- the worker's gradient, or what its compressor was given, on the gradient's scale. */
static void copy_record(const struct train *t, size_t w, float *a) {
    if (t->options->record_gradients) {
        memcpy(a, t->worker[w - t->first].recorded, t->d * sizeof *a);
        return;
    }
    const float *p = sg_method_input(t->method, w);
    for (size_t j = 0; j < t->d; j++)
        a[j] = t->config.feedback.rule->in_updates ? (float)((double)p[j] / t->gamma) : p[j];
}

sg_status recording_write(struct train *t, struct sg_error *err) {
    if (!recording_path(t))
        return SG_OK;
    struct {
        uint64_t sent;
        float a[];
    } *mine = sg_malloc(sizeof *mine + t->d * sizeof(float)), *theirs = sg_malloc(sizeof *mine + t->d * sizeof(float));
    const size_t bytes = sizeof *mine + t->d * sizeof(float);
    sg_status status = SG_OK, written = SG_OK;
    if (t->lead)
        sg_recording_put_step(&t->recording, t->gamma);
    for (size_t w = 0; status == SG_OK && w < t->workers; w++) {
        if (train_hosts(t, w)) {
            mine->sent = t->worker[w - t->first].sent;
            copy_record(t, w, mine->a);
        }
        status = sg_comm_collect(t->comm, w, mine, theirs, bytes, err);
        if (status == SG_OK && t->lead)
            written = sg_recording_put_worker(&t->recording, theirs->sent, theirs->a, err);
    }
    status = status == SG_OK ? written : status; /* the other workers must send all the same */
    free(mine);
    free(theirs);
    return sg_comm_agree(t->comm, status, err);
}

sg_status recording_sync(struct train *t, struct sg_error *err) {
    return recording_path(t) && t->lead ? sg_recording_sync(&t->recording, err) : SG_OK;
}

void recording_hash(const struct train *t, char hex[65]) {
    memset(hex, 0, 65);
    if (recording_path(t) && t->lead)
        sg_recording_hash(&t->recording, hex);
}

sg_status recording_end(struct train *t, struct sg_error *err) {
    return recording_path(t) && t->lead ? sg_recording_end(&t->recording, err) : SG_OK;
}

void recording_close(struct train *t) {
    sg_recording_free(&t->recording);
}
