/* optimizer_table.c: one row an optimizer; the order is the order in help. */
/* SPDX-License-Identifier: MIT */
#include "sg_optimizer.h"
#include "sg_row.h"

extern const struct sg_optimizer_ops sg_optimizer_sgd, sg_optimizer_nesterov, sg_optimizer_adam, sg_optimizer_adamw,
    sg_optimizer_muon, sg_optimizer_dion;

static const void *const table[] = {
    &sg_optimizer_sgd,   &sg_optimizer_nesterov, &sg_optimizer_adam,
    &sg_optimizer_adamw, &sg_optimizer_muon,     &sg_optimizer_dion,
};
static const struct sg_rows rows = SG_ROWS(table);

const struct sg_optimizer_ops *sg_optimizer_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_optimizer_ops *sg_optimizer_find(const char *name) {
    return sg_row_find(&rows, name);
}
