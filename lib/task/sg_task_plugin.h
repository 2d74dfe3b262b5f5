/* sg_task_plugin.h: what the shared object of the libtorch tasks gives to sg_task_load. */
#ifndef SG_TASK_PLUGIN_H
#define SG_TASK_PLUGIN_H

#include "sg_task.h"

#define SG_TASK_PLUGIN        "tasks-torch.so"
#define SG_TASK_PLUGIN_SYMBOL "sg_task_plugin"

/* The operations of task `name`; NULL = not in it, or the object was built from other sources than the program, whose
 * sg_version_sources() is given: nothing else checks that both mean the same by their structs and functions. */
typedef const struct sg_task_ops *sg_task_plugin_fn(const char *name, const char *sources);
sg_task_plugin_fn sg_task_plugin;

#endif
