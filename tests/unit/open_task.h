/* open_task.h: a task by itself, without the trainer. */
/* SPDX-License-Identifier: MIT */
#ifndef OPEN_TASK_H
#define OPEN_TASK_H

#include "sg_task.h"

/* Opens the task of this `task` section on the CPU, for all its workers on one thread, and sets x to x0. */
static sg_status open_task(sg_task **out, const struct sg_task_ops *ops, const struct sg_node *section, size_t workers,
                           size_t batch, struct sg_error *err) {
    const struct sg_task_base config = {.task = section,
                                        .workers = workers,
                                        .count = workers,
                                        .batch = batch,
                                        .seed = 1,
                                        .device = "cpu",
                                        .kernels = sg_kernels_cpu(NULL),
                                        .exec = {.threads = 1}};
    const sg_status status = sg_task_open(out, ops, &config, err);
    if (status == SG_OK)
        sg_task_start(*out);
    return status;
}

#endif
