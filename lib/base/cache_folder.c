/* cache_folder.c: where files that are derived from data are kept, and whether that place can be written to. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_cache.h"
#include "sg_file.h"

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

/* *out <- base/name if that is, or can be made, a writable folder. */
static sg_status try_base(char **out, const char *base, const char *name, struct sg_error *err) {
    struct sg_error unused;
    char *path;
    if (asprintf(&path, "%s/%s", base, name) < 0)
        return sg_fail_memory(err, "the name of the cache folder");
    if (sg_folder_make(path, &unused) == SG_OK && is_writable(path))
        *out = path;
    else
        free(path);
    return SG_OK;
}

sg_status sg_cache_own(char **out, struct sg_error *err) {
    const char *xdg = environment("XDG_CACHE_HOME"), *home = environment("HOME");
    sg_status status = SG_OK;
    *out = NULL;
    if (xdg)
        status = try_base(out, xdg, "sparsegrad", err);
    if (status == SG_OK && !*out && home)
        status = try_base(out, home, ".cache/sparsegrad", err);
    return status;
}

sg_status sg_cache_folder(char **out, const char *data_dir, struct sg_error *err) {
    const char *data = data_dir ? data_dir : environment("SPARSE_DATA");
    sg_status status = SG_OK;
    *out = NULL;
    /* The folder must exist already, so that a mistyped name makes no folder, and datasets/cache appears only in a
     * project. */
    if (data && is_writable(data))
        status = try_base(out, data, "derived", err);
    else if (!data && is_writable("datasets"))
        status = try_base(out, "datasets/cache", "derived", err);
    return status == SG_OK && !*out ? sg_cache_own(out, err) : status;
}
