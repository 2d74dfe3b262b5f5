/* The tasks of the shared object that sg_task_load loads on demand. */
#include <stddef.h>
#include <string.h>

#include "sg_task_plugin.h"

extern const struct sg_task_ops sg_cnn_ops;

const struct sg_task_ops *sg_task_plugin(const char *name, int abi) {
    return abi == SG_TASK_PLUGIN_ABI && strcmp(name, sg_cnn_ops.name) == 0 ? &sg_cnn_ops : NULL;
}
