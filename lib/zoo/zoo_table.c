/* zoo_table.c: adds the zoo to the tables by the functions that plug-ins use. */
#include <stdio.h>
#include <stdlib.h>

#include "zoo_private.h"

#define ROW(name) &name
static const struct sg_compressor_ops *const compressors[] = {ZOO_COMPRESSORS(ROW)};
static const struct sg_controller_ops *const controllers[] = {ZOO_CONTROLLERS(ROW)};
static const struct sg_feedback_rule *const rules[] = {ZOO_FEEDBACK_RULES(ROW)};

/* The rows are constants, so one that is refused is a mistake in its file, which ends every program at its start. */
static void must(sg_status status, const struct sg_error *err) {
    if (status == SG_OK)
        return;
    fprintf(stderr, "zoo: %s\n", err->msg);
    abort();
}

void sg_zoo_register(void) {
    struct sg_error err;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        must(sg_feedback_add(rules[i], &err), &err);
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++)
        must(sg_controller_add(controllers[i], &err), &err);
    for (size_t i = 0; i < sizeof compressors / sizeof *compressors; i++)
        must(sg_compressor_add(compressors[i], &err), &err);
}
