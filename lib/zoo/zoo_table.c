/* zoo_table.c: adds the zoo to the tables by the functions that plug-ins use. */
/* SPDX-License-Identifier: MIT */
#include "sg_debug.h"
#include "zoo_private.h"

#define ROW(name) &name
static const struct sg_compressor_ops *const compressors[] = {ZOO_COMPRESSORS(ROW)};
static const struct sg_controller_ops *const controllers[] = {ZOO_CONTROLLERS(ROW)};
static const struct sg_feedback_rule *const rules[] = {ZOO_FEEDBACK_RULES(ROW)};

/* The rows are constants, so one that is refused is a mistake in its file. */
static void added(sg_status status) {
    SG_ASSERT(status == SG_OK);
    (void)status;
}

void sg_zoo_register(void) {
    struct sg_error err;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        added(sg_feedback_add(rules[i], &err));
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++)
        added(sg_controller_add(controllers[i], &err));
    for (size_t i = 0; i < sizeof compressors / sizeof *compressors; i++)
        added(sg_compressor_add(compressors[i], &err));
}
