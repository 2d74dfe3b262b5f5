/* recipe_variants.c: the names that a recipe can use, from the tables of tasks, optimizers, compressors …, and the
 * sections in which their parameters are keys. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "recipe_private.h"
#include "sg_controller.h"
#include "sg_net.h"
#include "sg_optimizer.h"
#include "sg_task.h"
#include "sg_wire.h"

const struct sg_owners sg_owners[SG_OWNERS] = {
    {SG_VALUE_OPTIMIZER, "optimizer", "optimizer", false},
    {SG_VALUE_FEEDBACK, "error-feedback", "error-feedback form", false},
    {SG_VALUE_COMPRESSOR, "methods[]", "compressor", true},
    {SG_VALUE_CONTROLLER, "methods[].controller", "controller", true},
    {SG_VALUE_CODE, "methods[].values", "code", true},
};

/* The i-th code of all, or of those that write every number by itself. */
static const struct sg_code *code_at(size_t i, bool plain) {
    for (size_t row = 0; sg_code_at(row); row++)
        if ((!plain || sg_code_at(row)->width > 0) && i-- == 0)
            return sg_code_at(row);
    return NULL;
}

/* The i-th collective that is a whole exchange, of all or of those that add up. */
static const struct sg_collective *collective_at(size_t i, bool sums) {
    const struct sg_collective *c;
    for (size_t row = 0; (c = sg_collective_at(row)) != NULL; row++)
        if (!c->partial && (c->sums || !sums) && i-- == 0)
            return c;
    return NULL;
}

#define NAMED(row) ((row) != NULL ? (struct sg_row){.name = (row)->name} : none)
#define WITH_PARAMETERS(row)                                                                                           \
    ((row) != NULL ? (struct sg_row){NULL, (row)->name, (row)->summary, (row)->params, (row)->n_params} : none)

struct sg_row sg_variant_at(enum sg_value_type type, size_t i) {
    static const char *const kind[] = {"training", "kernels"};
    const struct sg_row none = {0};
    switch (type) {
    case SG_VALUE_KIND:
        return (struct sg_row){.name = i < sizeof kind / sizeof *kind ? kind[i] : NULL};
    case SG_VALUE_TASK:
        return NAMED(sg_task_kind_at(i));
    case SG_VALUE_OPTIMIZER:
        return WITH_PARAMETERS(sg_optimizer_at(i));
    case SG_VALUE_FEEDBACK:
        return WITH_PARAMETERS(sg_feedback_at(i));
    case SG_VALUE_COMPRESSOR:
        return WITH_PARAMETERS(sg_compressor_at(i));
    case SG_VALUE_CONTROLLER:
        return WITH_PARAMETERS(sg_controller_at(i));
    case SG_VALUE_CODE:
        return WITH_PARAMETERS(code_at(i, false));
    case SG_VALUE_PLAIN_CODE:
        return NAMED(code_at(i, true));
    case SG_VALUE_ENCODING:
        return i == 0 ? (struct sg_row){.name = "auto"} : NAMED(sg_wire_at(i - 1));
    case SG_VALUE_LINK:
        return NAMED(sg_link_at(i));
    case SG_VALUE_SUM:
        return NAMED(collective_at(i, true));
    case SG_VALUE_EXCHANGE:
        return NAMED(collective_at(i, false));
    case SG_VALUE_OVERLAP:
        return NAMED(sg_overlap_at(i));
    default:
        return none;
    }
}

const char *sg_variant_name(enum sg_value_type type, const char *word) {
    const char *name;
    if (type == SG_VALUE_COMPRESSOR)
        return sg_compressor_find(word) ? sg_compressor_find(word)->name : NULL;
    for (size_t i = 0; (name = sg_variant_at(type, i).name) != NULL; i++)
        if (strcmp(name, word) == 0)
            return name;
    return NULL;
}
