/* cpu_dispatch.c: which of the compiled instruction sets this machine runs. */
/* SPDX-License-Identifier: MIT */
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

/* The best comes first. */
static const struct {
    bool (*runs_here)(void);
    const struct sg_kernels *kernels;
} isas[] = {
#if defined(__x86_64__)
    {has_avx512, &sg_kernels_table_avx512},
    {has_avx2, &sg_kernels_table_avx2},
#endif
    {always, &sg_kernels_table_c},
};

const struct sg_kernels *sg_kernels_cpu(const char *name) {
    if (!name) {
        name = getenv("SG_CPU");
        if (name && name[0] == '\0')
            name = NULL;
    }
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if ((!name || strcmp(name, isas[i].kernels->name) == 0) && isas[i].runs_here())
            return isas[i].kernels;
    return NULL;
}
