/* recorded_task.c: the task `recorded`: gradients of another training, read from files step by step. Nothing is trained:
 * the parameters move as the optimizer says and no gradient depends on them, so there is no loss either. */
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_gradients.h"
#include "sg_json.h"
#include "sg_task.h"
#include "task_data.h"

enum { ROWS = 64 }; /* records that may wait until they are written */

struct sg_task {
    struct sg_task_info info;
    struct sg_constant constant[3];
    struct sg_provenance from;
    sg_gradients *gradients;
    float *x; /* [d] */
};

sg_status task_identify_recorded(struct sg_provenance *from, const struct sg_node *task, const char *data_dir,
                                 struct sg_error *err) {
    sg_status status = sg_gradients_identify(from, sg_node_string(task, "files", ""), data_dir, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "task.files: ");
}

static void recorded_close(struct sg_task *t) {
    if (!t)
        return;
    sg_gradients_close(t->gradients);
    sg_provenance_free(&t->from);
    free(t->x);
    free(t);
}

static sg_status open_files(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    const char *layers = sg_node_string(config->task, "layers", NULL);
    sg_status status = sg_gradients_open(&t->gradients, sg_node_string(config->task, "files", ""), layers, err);
    if (status != SG_OK)
        return sg_prefix(err,
                         status == SG_ERR_ARGUMENT && strncmp(err->msg, "layers: ", 8) == 0 ? "task." : "task.files: ");
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    if (config->workers > f->workers)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers, and task.files hold the gradients of %zu", config->workers,
                       f->workers);
    if (config->progress)
        config->progress("checking the files", 0, 1);
    return task_identify_recorded(&t->from, config->task, config->data_dir, err);
}

static void take_facts(struct sg_task *t, const struct sg_task_config *config) {
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    t->constant[0] = (struct sg_constant){"d", (double)f->d};
    t->constant[1] = (struct sg_constant){"n", (double)config->workers};
    t->constant[2] = (struct sg_constant){"steps", (double)f->steps};
    t->info = (struct sg_task_info){
        .d = f->d,
        .dtype = SG_FLOAT32,
        .layout = {.n_layers = f->n_layers, .offset = f->offset, .name = f->name, .rows = f->rows},
        .steps_per_epoch = (uint64_t)sg_node_number(config->task, "steps-per-epoch", (double)f->steps_per_epoch),
        .most_steps = f->steps,
        .parallel_workers = true,
        .gradient_flops = (double)f->d,
        .constant = t->constant,
        .n_constants = sizeof t->constant / sizeof *t->constant};
}

static sg_status recorded_open(struct sg_task **out, const struct sg_task_config *config, struct sg_error *err) {
    if (strcmp(config->device, "cpu") != 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "--device %s: task recorded runs on the CPU; use --device cpu",
                       config->device);
    struct sg_task *t = calloc(1, sizeof *t);
    if (!t)
        return sg_fail_memory(err, "recorded gradients");
    sg_status status = open_files(t, config, err);
    if (status == SG_OK) {
        take_facts(t, config);
        t->x = calloc(t->info.d, sizeof *t->x);
        status = t->x ? SG_OK : sg_fail_memory(err, "recorded gradients");
    }
    if (status == SG_OK)
        *out = t;
    else
        recorded_close(t);
    return status;
}

static const struct sg_task_info *recorded_info(const struct sg_task *t) {
    return &t->info;
}

static cJSON *recorded_describe(const struct sg_task *t) {
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    cJSON *facts = cJSON_CreateObject(), *dataset = sg_provenance_json(&t->from);
    sg_json_set_string(dataset, "format", f->format);
    sg_json_set_number(dataset, "steps", (double)f->steps);
    sg_json_set_number(dataset, "workers", (double)f->workers);
    sg_json_set_number(dataset, "elements", (double)f->d);
    sg_json_set(facts, "dataset", dataset);
    return facts;
}

static sg_status recorded_start(struct sg_task *t, struct sg_error *err) {
    (void)err;
    memset(t->x, 0, t->info.d * sizeof *t->x);
    return SG_OK;
}

static sg_status recorded_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    if (step >= t->info.most_steps)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.files hold %llu steps, and step %llu is asked for, counted from 0",
                       (unsigned long long)t->info.most_steps, (unsigned long long)step);
    return sg_gradients_read(t->gradients, step, worker, g, err);
}

static void *recorded_parameters(struct sg_task *t) {
    return t->x;
}

extern const struct sg_task_ops sg_recorded_ops;
const struct sg_task_ops sg_recorded_ops = {
    .name = "recorded",
    .replays = true,
    .open = recorded_open,
    .info = recorded_info,
    .describe = recorded_describe,
    .start = recorded_start,
    .gradient = recorded_gradient,
    .parameters = recorded_parameters,
    .queue_capacity = ROWS,
    .close = recorded_close,
};
