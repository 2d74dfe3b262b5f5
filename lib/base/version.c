/* version.c: describes this build: version, commit, compiler, and the identity of each task's code. */
/* SPDX-License-Identifier: MIT */
#include "sg_version.h"

#include <string.h>

#include "sg_json.h"
#include "version.h"

const char *sg_version_sources(void) {
    return SG_BUILD_SOURCES;
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
    sg_json_set_string(out, "version", SG_BUILD_VERSION);
    sg_json_set_string(out, "commit", SG_BUILD_COMMIT);
    sg_json_set_bool(out, "dirty", SG_BUILD_DIRTY);
    sg_json_set_string(out, "identity", sg_version_identity(task_kind));
    sg_json_set_string(out, "compiler", SG_BUILD_COMPILER);
    sg_json_set_string(out, "cflags", SG_BUILD_CFLAGS);
    return out;
}
