/* version.c: what this build is: version, commit, compiler, features, and the identity of each task's code. */
#include "sg_version.h"

#include <string.h>
#include <yaml.h>

#include "sg_comm.h"
#include "sg_json.h"
#include "sg_options.h"
#include "version.h"

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

void sg_version_print(FILE *out, const char *program) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    fprintf(out, "%s %s (commit %s%s, sources %s)\n", program, SG_BUILD_VERSION, SG_BUILD_COMMIT,
            SG_BUILD_DIRTY ? "+dirty" : "", SG_BUILD_SOURCES);
    fprintf(out, "compiler: %s\nflags: %s\n", SG_BUILD_COMPILER, SG_BUILD_CFLAGS);
    fprintf(out, "features: mpi %s, torch %s, cuda %s; cpu kernels %s\n", sg_comm_has_mpi() ? "on" : "off",
            SG_BUILD_TORCH ? "on" : "off", SG_BUILD_CUDA ? "on" : "off", kernels ? kernels->name : "none (SG_CPU)");
    fprintf(out, "libraries: cJSON %s, libyaml %s\n", cJSON_Version(), yaml_get_version_string());
}
