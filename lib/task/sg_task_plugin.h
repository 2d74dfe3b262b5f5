/* sg_task_plugin.h: what the shared object of libtorch tasks gives to sg_task_load. */
#ifndef SG_TASK_PLUGIN_H
#define SG_TASK_PLUGIN_H

#include "sg_task.h"

#define SG_TASK_PLUGIN        "tasks-torch.so"
#define SG_TASK_PLUGIN_SYMBOL "sg_task_plugin"

/* The operations of task `name`; NULL = not in it, or built from other headers: nothing else checks that program and
 * object mean the same by their structs. */
enum {
    SG_TASK_PLUGIN_ABI =
        sizeof(struct sg_task_ops) + 1000 * sizeof(struct sg_task_info) + 1000000 * sizeof(struct sg_task_config)
};
typedef const struct sg_task_ops *sg_task_plugin_fn(const char *name, int abi);
sg_task_plugin_fn sg_task_plugin;

#endif
