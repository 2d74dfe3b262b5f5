/* method_plugin.c: adds the rows of a plug-in to the tables. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_compressor_plugin.h"

/* Checks that the plug-in was compiled against the headers of this library. */
static sg_status check_interface(const struct sg_plugin_interface *theirs, struct sg_error *err) {
    const struct sg_plugin_interface ours = SG_PLUGIN_INTERFACE;
    if (memcmp(theirs, &ours, sizeof ours) == 0)
        return SG_OK;
    const bool same = theirs->format == ours.format && theirs->major == ours.major && theirs->minor == ours.minor;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "it was compiled for %s %u.%u of the library, and this program has %u.%u: compile it again with the "
                   "headers that belong to the program",
                   same ? "another state of version" : "version", theirs->major, theirs->minor, ours.major, ours.minor);
}

sg_status sg_compressor_plugin_add(const struct sg_compressor_plugin *rows, struct sg_error *err) {
    sg_status status = check_interface(&rows->interface, err);
    for (size_t i = 0; status == SG_OK && rows->codes && rows->codes[i]; i++)
        status = sg_code_add(rows->codes[i], err);
    for (size_t i = 0; status == SG_OK && rows->rules && rows->rules[i]; i++)
        status = sg_feedback_add(rows->rules[i], err);
    for (size_t i = 0; status == SG_OK && rows->controllers && rows->controllers[i]; i++)
        status = sg_controller_add(rows->controllers[i], err);
    for (size_t i = 0; status == SG_OK && rows->compressors && rows->compressors[i]; i++)
        status = sg_compressor_add(rows->compressors[i], err);
    return status;
}
