/* recorded_task.c: the task `recorded`: gradients of another training, read from files step by step. Nothing is
 * trained: the parameters move as the optimizer says and no gradient depends on them, so there is no loss either. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_gradients.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_task.h"
#include "sg_text.h"
#include "task_data.h"

enum { ROWS = 64 }; /* records that may wait until they are written */

struct sg_task {
    struct sg_task_base base;
    struct sg_provenance from;
    sg_gradients *gradients;
};

sg_status task_identify_recorded(struct sg_provenance *from, const struct sg_node *task, const char *data_dir,
                                 struct sg_error *err) {
    const struct sg_gradients_request request = sg_gradients_requested(task);
    sg_status status = sg_gradients_identify(from, &request, data_dir, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "task.files: ");
}

static void recorded_close(struct sg_task *t) {
    sg_gradients_close(t->gradients);
    sg_provenance_free(&t->from);
}

static bool is_about_layers(const struct sg_error *err) {
    return strncmp(err->msg, "layers: ", 8) == 0 || strncmp(err->msg, "layers-file: ", 13) == 0;
}

static sg_status open_files(struct sg_task *t, struct sg_error *err) {
    const struct sg_node *task = t->base.task;
    const struct sg_gradients_request request = sg_gradients_requested(task);
    sg_status status = sg_gradients_open(&t->gradients, &request, err);
    if (status != SG_OK)
        return sg_prefix(err, "%s", is_about_layers(err) ? "task." : "task.files: ");
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    if (t->base.workers > f->workers)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers, and task.files hold the gradients of %zu", t->base.workers,
                       f->workers);
    if (t->base.facts_only)
        return SG_OK;
    if (t->base.progress)
        t->base.progress("checking the files", 0, 1);
    return task_identify_recorded(&t->from, task, t->base.data_dir, err);
}

/* Says what the files hold, and how large the first gradient is where it may be no gradient at all. */
static sg_status announce(const struct sg_task *t, struct sg_error *err) {
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    char others[64] = "", size[64] = "";
    if (f->others > 0)
        snprintf(others, sizeof others, ", %zu files of other steps left out", f->others);
    if (f->integers) {
        float *g = sg_malloc(f->d * sizeof *g);
        double square = 0;
        sg_status status = sg_gradients_read(t->gradients, 0, 0, g, err);
        for (size_t j = 0; j < f->d && status == SG_OK; j++)
            square += (double)g[j] * (double)g[j];
        free(g);
        if (status != SG_OK)
            return status;
        snprintf(size, sizeof size, ", integers read as bfloat16: the first has |g| = %.3g", sqrt(square));
    }
    sg_notify(t->base.notice, "task.files: %llu step%s of %zu worker%s, d = %zu%s%s", (unsigned long long)f->steps,
              f->steps == 1 ? "" : "s", f->workers, f->workers == 1 ? "" : "s", f->d, others, size);
    return SG_OK;
}

static sg_status recorded_open(struct sg_task *t, struct sg_error *err) {
    sg_status status = open_files(t, err);
    if (status == SG_OK && t->base.notice)
        status = announce(t, err);
    if (status != SG_OK)
        return status;
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    t->base.info = (struct sg_task_info){
        .d = f->d,
        .dtype = SG_FLOAT32,
        .layout = {.n_layers = f->n_layers, .offset = f->offset, .name = f->name, .rows = f->rows},
        .steps_per_epoch = (uint64_t)sg_node_number(t->base.task, "steps-per-epoch", (double)f->steps_per_epoch),
        .most_steps = f->steps,
        .parallel_workers = true,
        .gradient_flops = (double)f->d};
    sg_task_add_constant(t, "d", (double)f->d);
    sg_task_add_constant(t, "n", (double)t->base.workers);
    sg_task_add_constant(t, "steps", (double)f->steps);
    return SG_OK;
}

static cJSON *recorded_dataset(const struct sg_task *t) {
    const struct sg_gradients_facts *f = sg_gradients_look(t->gradients);
    return SG_SET(sg_provenance_json(&t->from), SG_TEXT("format", f->format), SG_NUMBER("steps", (double)f->steps),
                  SG_NUMBER("workers", (double)f->workers), SG_NUMBER("elements", (double)f->d));
}

static sg_status recorded_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    if (step >= t->base.info.most_steps)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.files hold %llu steps, and step %llu is asked for, counted from 0",
                       (unsigned long long)t->base.info.most_steps, (unsigned long long)step);
    return sg_gradients_read(t->gradients, step, worker, g, err);
}

extern const struct sg_task_ops sg_recorded_ops;
const struct sg_task_ops sg_recorded_ops = {
    .name = "recorded",
    .size = sizeof(struct sg_task),
    .replays = true,
    .open = recorded_open,
    .dataset = recorded_dataset,
    .gradient = recorded_gradient,
    .queue_capacity = ROWS,
    .close = recorded_close,
};
