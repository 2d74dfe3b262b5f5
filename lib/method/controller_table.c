/* controller_table.c: one row a controller; the order is the order in help. */
#include "method_private.h"

#include <string.h>

static const struct sg_controller_ops *const table[] = {&sg_control_accordion,   &sg_control_budget,
                                                        &sg_control_warm_up,     &sg_control_doubling,
                                                        &sg_control_error_reset, &sg_control_l_greco};

const struct sg_controller_ops *sg_controller_at(size_t i) {
    return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct sg_controller_ops *sg_controller_find(const char *name) {
    const struct sg_controller_ops *ops;
    for (size_t i = 0; (ops = sg_controller_at(i)) != NULL; i++)
        if (strcmp(ops->name, name) == 0)
            return ops;
    return NULL;
}
