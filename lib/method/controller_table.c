/* controller_table.c: the table of controllers. */
#include "method_private.h"
#include "sg_row.h"

#define ROW(name) &name
static const void *const table[] = {METHOD_CONTROLLERS(ROW)};
static const struct sg_rows rows = SG_ROWS(table);

const struct sg_controller_ops *sg_controller_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_controller_ops *sg_controller_find(const char *name) {
    return sg_row_find(&rows, name);
}
