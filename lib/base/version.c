/* version.c: what this build is: version, commit, compiler, and the identity of each task's code. */
#include "sg_version.h"

#include <string.h>

#include "sg_json.h"
#include "version.h"

const char *sg_version(void) {
    return SG_BUILD_VERSION;
}

const char *sg_version_commit(void) {
    return SG_BUILD_COMMIT;
}

const char *sg_version_sources(void) {
    return SG_BUILD_SOURCES;
}

bool sg_version_dirty(void) {
    return SG_BUILD_DIRTY;
}

const char *sg_version_compiler(void) {
    return SG_BUILD_COMPILER;
}

const char *sg_version_cflags(void) {
    return SG_BUILD_CFLAGS;
}

const char *sg_version_identity(const char *task_kind) {
    static const struct { const char *kind, *identity; } task[] = {SG_BUILD_IDENTITIES};
    for (size_t i = 0; task_kind && i < sizeof task / sizeof *task; i++)
        if (strcmp(task[i].kind, task_kind) == 0)
            return task[i].identity;
    return SG_BUILD_VERSION "+" SG_BUILD_SOURCES;
}

cJSON *sg_version_json(const char *program, const char *task_kind) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "name", program);
    sg_json_set_string(out, "version", sg_version());
    sg_json_set_string(out, "commit", sg_version_commit());
    sg_json_set_bool(out, "dirty", sg_version_dirty());
    sg_json_set_string(out, "identity", sg_version_identity(task_kind));
    sg_json_set_string(out, "compiler", sg_version_compiler());
    sg_json_set_string(out, "cflags", sg_version_cflags());
    return out;
}
