/* controller_table.c: the table of controllers, and those that the zoo and plug-ins add. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"
#include "sg_row.h"

#define ROW(name) &name
static const void *const table[] = {METHOD_CONTROLLERS(ROW)};
static struct sg_rows rows = SG_ROWS(table);

const struct sg_controller_ops *sg_controller_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_controller_ops *sg_controller_find(const char *name) {
    return sg_row_find(&rows, name);
}

sg_status sg_controller_add(const struct sg_controller_ops *ops, struct sg_error *err) {
    const struct sg_row row = {"controller", ops->name, ops->summary, ops->params, ops->n_params};
    const sg_status status = sg_row_check(&rows, &row, err);
    if (status != SG_OK)
        return status;
    if (!ops->source)
        return sg_fail(err, SG_ERR_ARGUMENT, "controller '%s' has no source: name its publication", ops->name);
    if (!ops->decide || (ops->candidates == NULL) != (ops->choose == NULL) || ops->n_knobs > ops->n_params)
        return sg_fail(err, SG_ERR_ARGUMENT, "controller '%s' %s", ops->name,
                       !ops->decide                   ? "lacks the function 'decide'"
                       : ops->n_knobs > ops->n_params ? "has more knobs than parameters"
                                                      : "must have both of candidates and choose, or neither");
    return sg_row_add(&rows, ops, row.what, err);
}
