/* zoo_codes.c: adds the codes of the zoo to their table by the function that plug-ins use. Their numbers are kept. */
/* SPDX-License-Identifier: MIT */
#include "sg_debug.h"
#include "sg_wire_buckets.h"
#include "zoo_private.h"

#define ROW(name) &name
static const struct sg_code *const codes[] = {ZOO_CODES(ROW)};

void sg_zoo_register_codes(void) {
    struct sg_error err;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const sg_status status = sg_code_add(codes[i], &err);
        SG_ASSERT(status == SG_OK); /* a constant that is refused is a mistake in its file */
        (void)status;
    }
}
