/* task_shards.h: the keys shards.kind and shards.alpha of a task; private to lib/task. */
#ifndef TASK_SHARDS_H
#define TASK_SHARDS_H

#include <math.h>
#include <string.h>

#include "sg_node.h"
#include "sg_shards.h"

static inline sg_status task_shards_read(struct sg_shards *out, const struct sg_node *task, struct sg_error *err) {
    const char *kind = sg_node_string(task, "shards.kind", "iid");
    const double alpha = sg_node_number(task, "shards.alpha", NAN);
    *out = (struct sg_shards){.kind = strcmp(kind, "sorted") == 0      ? SG_SHARD_SORTED
                                      : strcmp(kind, "dirichlet") == 0 ? SG_SHARD_DIRICHLET
                                                                       : SG_SHARD_IID,
                              .alpha = alpha};
    if ((out->kind == SG_SHARD_DIRICHLET) == isnan(alpha))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.shards: 'alpha' goes with kind 'dirichlet', and only with it");
    return SG_OK;
}

#endif
