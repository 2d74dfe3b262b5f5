/* train_recording.c: a recording of what the compressors are given (sg_recording.h). */
#include <stdlib.h>
#include <string.h>

#include "sg_result.h"
#include "sg_version.h"
#include "train_state.h"

static cJSON *describe(const struct train *t) {
    const struct sg_cell *cell = t->options->cell;
    const struct sg_layout *layout = &t->info->layout;
    cJSON *h = cJSON_CreateObject(), *constants = cJSON_CreateObject(), *layers = cJSON_CreateArray();
    sg_json_set_string(h, "schema", SG_SCHEMA_INPUTS);
    sg_json_set_string(h, "method", cell->label);
    sg_json_set_u64(h, "seed", cell->seed);
    sg_json_set_string(h, "cell_key", cell->key);
    sg_json_set_string(h, "identity", sg_version_identity(sg_node_string(&cell->resolved, "task.kind", NULL)));
    sg_json_set_number(h, "steps", (double)t->plan.steps);
    sg_json_set_number(h, "workers", (double)t->workers);
    sg_json_set_number(h, "steps_per_epoch", (double)t->info->steps_per_epoch);
    for (size_t i = 0; i < t->n_constants; i++)
        sg_json_set_number(constants, t->constant[i].name, t->constant[i].value);
    sg_json_set(h, "constants", constants);
    for (size_t l = 0; l < layout->n_layers; l++)
        sg_json_push_number(layers, (double)(layout->offset[l + 1] - layout->offset[l]));
    sg_json_set(h, "layers", layers);
    return h;
}

static sg_status allocate(struct train *t, struct sg_error *err) {
    bool whole = true;
    for (size_t w = 0; whole && w < t->count; w++)
        whole = (t->worker[w].input = malloc((t->d + 1) * sizeof(float))) != NULL;
    return whole ? SG_OK : sg_fail_memory(err, "the recording");
}

sg_status recording_open(struct train *t, struct sg_error *err) {
    const char *path = t->options->record_inputs;
    if (!path)
        return SG_OK;
    sg_status status = SG_OK;
    if (strcmp(t->options->device, "cpu") != 0)
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "--record-inputs goes with --device cpu only");
    if (status == SG_OK)
        status = allocate(t, err);
    if (status == SG_OK && t->lead)
        status = sg_recording_begin(&t->recording, path, describe(t), t->step, t->inputs_sha256, err);
    return sg_comm_agree(t->comm, status, err);
}

/* Rebuild p, what the compressor was given. With feedback p = residual + message: both add without rounding, because at
 * every element one of them is 0, or they are the two parts of an exact split (fp16). Without feedback p = g. An exact
 * compressor has no residual, and p is its message. */
void recording_take(struct train *t, size_t w, const float *g) {
    if (!t->options->record_inputs)
        return;
    const struct sg_message *m = &t->worker[w].message;
    const float *e = t->worker[w].residual;
    float *a = t->worker[w].input;
    if (!t->config.feedback.rule->keeps) {
        memcpy(a, g, t->d * sizeof *a);
        return;
    }
    if (e)
        memcpy(a, e, t->d * sizeof *a);
    else
        memset(a, 0, t->d * sizeof *a);
    sg_message_add(a, m, 1, &t->worker_exec);
    if (t->config.feedback.rule->in_updates)
        for (size_t j = 0; j < t->d; j++)
            a[j] = (float)((double)a[j] / t->gamma);
}

sg_status recording_write(struct train *t, struct sg_error *err) {
    if (!t->options->record_inputs)
        return SG_OK;
    struct {
        uint64_t sent;
        float a[];
    } *theirs = NULL, *mine = malloc(sizeof *mine + t->d * sizeof(float));
    const size_t bytes = sizeof *mine + t->d * sizeof(float);
    sg_status status = mine && (theirs = malloc(bytes)) ? SG_OK : sg_fail_memory(err, "the recording");
    sg_status written = SG_OK;
    status = sg_comm_agree(t->comm, status, err);
    if (status == SG_OK && t->lead)
        sg_recording_put_step(&t->recording, t->gamma);
    for (size_t w = 0; status == SG_OK && w < t->workers; w++) {
        if (w >= t->first && w < t->first + t->count) {
            mine->sent = t->worker[w - t->first].message.count;
            memcpy(mine->a, t->worker[w - t->first].input, t->d * sizeof(float));
        }
        status = sg_comm_collect(t->comm, w, mine, theirs, bytes, err);
        if (status == SG_OK && t->lead)
            written = sg_recording_put_worker(&t->recording, theirs->sent, theirs->a, err);
    }
    status = status == SG_OK ? written : status; /* the others send all the same */
    free(mine);
    free(theirs);
    return sg_comm_agree(t->comm, status, err);
}

sg_status recording_sync(struct train *t, struct sg_error *err) {
    return t->options->record_inputs && t->lead ? sg_recording_sync(&t->recording, err) : SG_OK;
}

void recording_hash(const struct train *t, char hex[65]) {
    memset(hex, 0, 65);
    if (t->options->record_inputs && t->lead)
        sg_recording_hash(&t->recording, hex);
}

sg_status recording_end(struct train *t, struct sg_error *err) {
    return t->options->record_inputs && t->lead ? sg_recording_end(&t->recording, err) : SG_OK;
}

void recording_close(struct train *t) {
    for (size_t w = 0; t->worker && w < t->count; w++)
        free(t->worker[w].input);
    sg_recording_free(&t->recording);
}
