/* tasks_torch.c: the tasks in the shared object that sg_task_load loads on demand. */
/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_task_plugin.h"
#include "sg_version.h"

extern const struct sg_task_ops sg_cnn_ops, sg_lm_ops, sg_gpt_ops, sg_ncf_ops;

static const struct sg_task_ops *const task[] = {&sg_cnn_ops, &sg_lm_ops, &sg_gpt_ops, &sg_ncf_ops};

const struct sg_task_ops *sg_task_plugin(const char *name, const char *sources, void (*end)(void)) {
    const bool same_build = strcmp(sources, sg_version_sources()) == 0;
    sg_memory_on_end(end);
    for (size_t i = 0; same_build && i < sizeof task / sizeof *task; i++)
        if (strcmp(name, task[i]->name) == 0)
            return task[i];
    return NULL;
}
