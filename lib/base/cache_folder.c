/* cache_folder.c: where files that are derived from data are kept, and whether that place can be written to. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_cache.h"
#include "sg_file.h"
#include "sg_text.h"

static const char *environment(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* True if the folder may be written to. A folder without write permission is meant to be read-only, also for root, whom
 * access() lets through. */
static bool is_writable(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0222) != 0 && access(path, W_OK | X_OK) == 0;
}

/* base/name if that is, or can be made, a writable folder, else NULL, as if base is NULL. */
static char *try_base(const char *base, const char *name) {
    struct sg_error unused;
    char *path = base ? sg_format("%s/%s", base, name) : NULL;
    if (path && sg_folder_make(path, &unused) == SG_OK && is_writable(path))
        return path;
    free(path);
    return NULL;
}

char *sg_cache_own(void) {
    char *own = try_base(environment("XDG_CACHE_HOME"), "sparsegrad");
    return own ? own : try_base(environment("HOME"), ".cache/sparsegrad");
}

char *sg_cache_folder(const char *data_dir) {
    const char *data = data_dir ? data_dir : environment("SPARSE_DATA");
    char *out = NULL;
    /* The folder must exist already, so that a mistyped name makes no folder, and datasets/cache appears only in a
     * project. */
    if (data && is_writable(data))
        out = try_base(data, "derived");
    else if (!data && is_writable("datasets"))
        out = try_base("datasets/cache", "derived");
    return out ? out : sg_cache_own();
}
