/* tasks_torch.c: the tasks in the shared object that sg_task_load loads on demand. */
#include <stddef.h>
#include <string.h>

#include "sg_task_plugin.h"

extern const struct sg_task_ops sg_cnn_ops, sg_lm_ops, sg_ncf_ops;

static const struct sg_task_ops *const task[] = {&sg_cnn_ops, &sg_lm_ops, &sg_ncf_ops};

const struct sg_task_ops *sg_task_plugin(const char *name, int abi) {
    for (size_t i = 0; i < sizeof task / sizeof *task; i++)
        if (abi == SG_TASK_PLUGIN_ABI && strcmp(name, task[i]->name) == 0)
            return task[i];
    return NULL;
}
