/* optimizer_table.c: one row an optimizer; the order is the order in help. */
#include <string.h>

#include "optimizer_private.h"

static const struct sg_optimizer_ops *const optimizers[] = {
    &sg_optimizer_sgd,
    &sg_optimizer_adam,
};

const struct sg_optimizer_ops *sg_optimizer_at(size_t i) {
    return i < sizeof optimizers / sizeof optimizers[0] ? optimizers[i] : NULL;
}

const struct sg_optimizer_ops *sg_optimizer_find(const char *name) {
    const struct sg_optimizer_ops *ops;
    for (size_t i = 0; (ops = sg_optimizer_at(i)) != NULL; i++)
        if (strcmp(ops->name, name) == 0)
            return ops;
    return NULL;
}
