/* cpu_dispatch.c: which of the compiled instruction sets this machine runs. */
#include "cpu_isa.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool always(void) {
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}
#endif

struct isa {
    bool (*runs_here)(void);
    const struct sg_kernels *kernels;
    const struct sg_dense *dense;
    const struct sg_code_kernels *codes;
};

/* The best comes first. */
static const struct isa isas[] = {
#if defined(__x86_64__)
    {has_avx512, &sg_kernels_table_avx512, &sg_dense_table_avx512, &sg_code_kernels_avx512},
    {has_avx2, &sg_kernels_table_avx2, &sg_dense_table_avx2, &sg_code_kernels_avx2},
#endif
    {always, &sg_kernels_table_c, &sg_dense_table_c, &sg_code_kernels_c},
};

static const struct isa *find(const char *name) {
    if (name == NULL) {
        name = getenv("SG_CPU");
        if (name != NULL && name[0] == '\0')
            name = NULL;
    }
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if ((name == NULL || strcmp(name, isas[i].kernels->name) == 0) && isas[i].runs_here())
            return &isas[i];
    return NULL;
}

const struct sg_kernels *sg_kernels_cpu(const char *name) {
    const struct isa *isa = find(name);
    return isa ? isa->kernels : NULL;
}

const struct sg_dense *sg_dense_cpu(const char *name) {
    const struct isa *isa = find(name);
    return isa ? isa->dense : NULL;
}

const struct sg_code_kernels *sg_code_kernels_cpu(const char *name) {
    const struct isa *isa = find(name);
    return isa ? isa->codes : NULL;
}
