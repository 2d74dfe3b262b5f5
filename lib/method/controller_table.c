/* controller_table.c: one row a controller; the order is the order in help. */
#include "method_private.h"
#include "sg_row.h"

static const void *const table[] = {&sg_control_accordion, &sg_control_budget,      &sg_control_warm_up,
                                    &sg_control_doubling,  &sg_control_error_reset, &sg_control_l_greco};
static const struct sg_rows rows = SG_ROWS(table);

const struct sg_controller_ops *sg_controller_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_controller_ops *sg_controller_find(const char *name) {
    return sg_row_find(&rows, name);
}
