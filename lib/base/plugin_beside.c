/* plugin_beside.c: the shared objects that are installed beside the programs. */
/* SPDX-License-Identifier: MIT */
#include "sg_plugin.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

sg_status sg_plugin_symbol(void **out, const char *library, const char *symbol, struct sg_error *err) {
    char path[4096 + 64];
    const ssize_t length = readlink("/proc/self/exe", path, 4096);
    if (length <= 0 || length == 4096)
        return sg_fail(err, SG_ERR_IO, "/proc/self/exe cannot be read: where is this program?");
    path[length] = '\0';
    char *folder = strrchr(path, '/');
    snprintf(folder, sizeof path - (size_t)(folder - path), "/../lib/sparsegrad/%s", library);
    if (access(path, R_OK) != 0)
        return sg_fail(err, SG_ERR_MISSING, "%s: no such file", path);
    const sg_status status = sg_plugin_file_symbol(out, path, symbol, err);
    return status == SG_OK ? SG_OK : (err->status = SG_ERR_UNSUPPORTED);
}
