/* task_base.c: what all tasks share: opening and closing, the parameters, the description in a result. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_debug.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_task.h"

/* A task begins with its base. */
static struct sg_task_base *base_of(const sg_task *t) {
    return (struct sg_task_base *)t;
}

sg_status sg_task_open(sg_task **out, const struct sg_task_ops *ops, const struct sg_task_base *config,
                       struct sg_error *err) {
    SG_ASSERT(ops->size >= sizeof *config);
    if (strcmp(config->device, "cpu") != 0 && !ops->gpu)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "--device %s: task '%s' does not run on a GPU; use --device cpu",
                       config->device, ops->name);
    if (!config->kernels)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                       getenv("SG_CPU"));
    struct sg_task_base *b = sg_calloc(1, ops->size);
    sg_task *t = (sg_task *)b;
    *b = *config;
    b->ops = ops;
    b->threads = b->exec.device ? 1 : b->exec.threads;
    if (b->progress)
        b->progress("loading", 0, 1);
    sg_status status = ops->open(t, err);
    b->info.constant = b->constant;
    SG_ASSERT(status != SG_OK || !b->exec.device || !b->info.parallel_workers);
    if (status == SG_OK && !b->x && !(b->x = b->kernels->allocate(&b->exec, sg_task_x_bytes(t))))
        status = sg_fail_memory(err, "the parameters");
    if (status == SG_OK)
        *out = t;
    else
        sg_task_close(t);
    return status;
}

void sg_task_close(sg_task *t) {
    struct sg_task_base *b = base_of(t);
    if (!t)
        return;
    b->ops->close(t);
    b->kernels->release(&b->exec, b->x);
    free(b);
}

const struct sg_task_info *sg_task_info(const sg_task *t) {
    return &base_of(t)->info;
}

void *sg_task_x(const sg_task *t) {
    return base_of(t)->x;
}

size_t sg_task_x_bytes(const sg_task *t) {
    const struct sg_task_info *info = sg_task_info(t);
    return info->d * (info->dtype == SG_FLOAT64 ? sizeof(double) : sizeof(float));
}

/* The start values are drawn on the CPU, whatever the device is. */
void sg_task_start(sg_task *t) {
    const struct sg_task_base *b = base_of(t);
    void *x = sg_calloc(1, sg_task_x_bytes(t) + 1);
    if (b->ops->start)
        b->ops->start(t, x);
    b->kernels->put(&b->exec, b->x, x, sg_task_x_bytes(t));
    free(x);
}

cJSON *sg_task_describe(const sg_task *t) {
    const struct sg_task_base *b = base_of(t);
    cJSON *facts = cJSON_CreateObject();
    sg_json_set(facts, "dataset", b->ops->dataset(t));
    if (b->model) {
        sg_json_set_string(facts, "model", b->model);
        sg_json_set_string(facts, "libtorch", b->library);
    }
    return facts;
}

void sg_task_add_constant(sg_task *t, const char *name, double value) {
    struct sg_task_base *b = base_of(t);
    SG_ASSERT(b->info.n_constants < SG_TASK_CONSTANTS);
    b->constant[b->info.n_constants++] = (struct sg_constant){name, value};
}
