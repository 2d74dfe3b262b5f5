/* version_print.c: prints the text of --version. */
#include "sg_options.h"

#include <cjson/cJSON.h>
#include <yaml.h>

#include "sg_kernels.h"
#include "version.h"

void sg_version_print(FILE *out, const char *program) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    fprintf(out, "%s %s (commit %s%s, sources %s)\n", program, SG_BUILD_VERSION, SG_BUILD_COMMIT,
            SG_BUILD_DIRTY ? "+dirty" : "", SG_BUILD_SOURCES);
    fprintf(out, "compiler: %s\nflags: %s\n", SG_BUILD_COMPILER, SG_BUILD_CFLAGS);
    fprintf(out, "features: mpi %s, torch %s, cuda %s; cpu kernels %s\n", SG_BUILD_MPI ? "on" : "off",
            SG_BUILD_TORCH ? "on" : "off", SG_BUILD_CUDA ? "on" : "off", kernels ? kernels->name : "none (SG_CPU)");
    fprintf(out, "libraries: cJSON %s, libyaml %s\n", cJSON_Version(), yaml_get_version_string());
}
