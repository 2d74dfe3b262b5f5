/* sg_task_plugin.h: what the shared object of the libtorch tasks gives to sg_task_load. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TASK_PLUGIN_H
#define SG_TASK_PLUGIN_H

#include "sg_task.h"

#define SG_TASK_PLUGIN        "tasks-torch.so"
#define SG_TASK_PLUGIN_SYMBOL "sg_task_plugin"

/* The operations of task `name`; `sources` is the program's sg_version_sources(). NULL = there is no such task, or the
 * object was built from other sources. Nothing else ensures that both use the same structs and functions. `end` is
 * what the object calls where memory runs out (sg_memory.h). */
typedef const struct sg_task_ops *sg_task_plugin_fn(const char *name, const char *sources, void (*end)(void));
sg_task_plugin_fn sg_task_plugin;

#endif
