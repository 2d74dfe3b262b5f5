/* version_print.c: prints what --version says, as text or as JSON. */
/* SPDX-License-Identifier: MIT */
#include "sg_options.h"

#include <stdlib.h>
#include <yaml.h>

#include "sg_json.h"
#include "sg_kernels.h"
#include "sg_version.h"
#include "version.h"

static void print_json(FILE *out, const char *program, const char *kernels) {
    cJSON *features =
              SG_OBJECT(SG_BOOL("mpi", SG_BUILD_MPI), SG_BOOL("torch", SG_BUILD_TORCH), SG_BOOL("cuda", SG_BUILD_CUDA)),
          *libraries = SG_OBJECT(SG_TEXT("cjson", cJSON_Version()), SG_TEXT("libyaml", yaml_get_version_string())),
          *all = SG_SET(sg_version_json(program, NULL), SG_VALUE("features", features), SG_TEXT("kernels", kernels),
                        SG_VALUE("libraries", libraries));
    char *text = sg_json_text(all, true);
    fputs(text, out);
    free(text);
    cJSON_Delete(all);
}

void sg_version_print(FILE *out, const char *program, bool json) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    if (json) {
        print_json(out, program, kernels ? kernels->name : NULL);
        return;
    }
    fprintf(out, "%s %s (commit %s%s, sources %s)\n", program, SG_BUILD_VERSION, SG_BUILD_COMMIT,
            SG_BUILD_DIRTY ? "+dirty" : "", SG_BUILD_SOURCES);
    fprintf(out, "compiler: %s\nflags: %s\n", SG_BUILD_COMPILER, SG_BUILD_CFLAGS);
    fprintf(out, "features: mpi %s, torch %s, cuda %s; cpu kernels %s\n", SG_BUILD_MPI ? "on" : "off",
            SG_BUILD_TORCH ? "on" : "off", SG_BUILD_CUDA ? "on" : "off", kernels ? kernels->name : "none (SG_CPU)");
    fprintf(out, "libraries: cJSON %s, libyaml %s\n", cJSON_Version(), yaml_get_version_string());
}
