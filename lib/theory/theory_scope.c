/* theory_scope.c: checks if the theorems apply to a recipe and a method. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_compressor.h"
#include "theory_private.h"

sg_status theory_recipe_check(const struct sg_cell *cell, struct sg_error *err) {
    const struct sg_node *resolved = &cell->resolved, *decays = sg_node_get(resolved, "optimizer.decay-at");
    const char *const optimizer = sg_node_string(resolved, "optimizer.kind", "sgd");
    const char *const kind = sg_node_string(resolved, "task.kind", "");
    if (strcmp(kind, "logreg") != 0 && strcmp(kind, "cnn") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.kind: the constants are known for logreg, and measured for cnn");
    if (strncmp(sg_node_string(resolved, "task.oracle", ""), "lsvrg", strlen("lsvrg")) == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.oracle: the theorems are about noise that depends on x alone");
    if (strcmp(optimizer, "sgd") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "optimizer.kind: the theorems are about sgd, not %s", optimizer);
    if (sg_node_number(resolved, "optimizer.warm-up-epochs", 0) > 0 || (decays && decays->count > 0) ||
        strcmp(sg_node_string(resolved, "optimizer.decay", "steps"), "steps") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "optimizer: the theorems are about a constant learning rate");
    if (sg_node_number(resolved, "participation", 1) < 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "participation: the theorems are about steps of all workers");
    if (sg_node_number(resolved, "optimizer.momentum", 0) > 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "optimizer.momentum: the theorems are about SGD without it");
    if (sg_node_number(resolved, "optimizer.weight-decay", 0) > 0)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "optimizer.weight-decay: the theorems are about SGD without it; task.l2 is part of f");
    return SG_OK;
}

const char *theory_method_misfit(const struct sg_cell *cell) {
    const struct sg_node *resolved = &cell->resolved;
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(cell->method, "compressor", ""));
    if (!ops->bound)
        return "no bound on what its compressor loses is known";
    if (ops->rounds && ops->rounds->again)
        return "its compressor compresses the mean once more, with a residual that Algorithm 1 does not have";
    if (sg_node_get(cell->method, "controller"))
        return "controller: what a knob that changes loses is not bounded beforehand";
    if (sg_node_get(cell->method, "values"))
        return "values: its bound leaves out what rounding loses";
    if (strcmp(sg_node_string(resolved, "message.values", "fp32"), "fp32") != 0)
        return "message.values: its bound leaves out what rounding loses";
    if (ops->traits & SG_TRAIT_EXACT) /* nothing is left to feed back */
        return NULL;
    const struct sg_feedback_rule *rule = sg_feedback_find(sg_node_string(resolved, "error-feedback.form", "update"));
    if (rule == &sg_feedback_none)
        return "error-feedback.form: none, where Algorithm 1 feeds back what was not sent";
    if (rule != &sg_feedback_update && rule != &sg_feedback_gradient)
        return "error-feedback.form: not that of Algorithm 1";
    if (sg_node_number(resolved, "error-feedback.decay", 1) < 1)
        return "error-feedback.decay: below 1, where Algorithm 1 feeds back all that was not sent";
    return NULL;
}
