/* cpu_vectors.c: memory and plain loops over vectors, the same in every table. */
/* SPDX-License-Identifier: MIT */
#include "cpu_isa.h"

#include <stdlib.h>
#include <string.h>

enum { WORTH_ELEMENTS = 1 << 17 }; /* from here on a second thread saves more than it costs */

void *cpu_allocate(const struct sg_exec *exec, size_t bytes) {
    (void)exec;
    return calloc(1, bytes > 0 ? bytes : 1);
}

void cpu_release(const struct sg_exec *exec, void *memory) {
    (void)exec;
    free(memory);
}

void cpu_zero(const struct sg_exec *exec, void *to, size_t bytes) {
    SG_ASSERT(to || bytes == 0);
    (void)exec;
    memset(to, 0, bytes);
}

void cpu_put(const struct sg_exec *exec, void *to, const void *host, size_t bytes) {
    (void)exec;
    if (bytes > 0) /* no bytes may also be no pointer */
        memcpy(to, host, bytes);
}

int cpu_get(const struct sg_exec *exec, void *host, const void *from, size_t bytes) {
    (void)exec;
    if (bytes > 0)
        memcpy(host, from, bytes);
    return SG_KERNEL_OK;
}

void cpu_get_later(const struct sg_exec *exec, void *host, const void *from, size_t bytes) {
    (void)cpu_get(exec, host, from, bytes);
}

int cpu_wait(const struct sg_exec *exec) {
    (void)exec;
    return SG_KERNEL_OK;
}

double cpu_dot_shifted(const struct sg_exec *exec, const struct sg_entries *m, const float *x, double weight) {
    SG_ASSERT(!m->index || sg_ascending_below(m->index, m->count, (uint64_t)UINT32_MAX + 1));
    double sum = 0;
    (void)exec;
    for (size_t j = 0; j < m->count; j++) {
        const double v = (double)m->value[j];
        sum += v * (v + weight * (double)x[m->index ? m->index[j] : j]);
    }
    return sum;
}

void cpu_mix(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n) {
    SG_ASSERT(exec->threads >= 1);
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (n >= WORTH_ELEMENTS)
    for (size_t i = 0; i < n; i++)
        to[i] = a * x[i] + b * y[i];
}

void cpu_add_quotient(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n) {
    SG_ASSERT(exec->threads >= 1);
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (n >= WORTH_ELEMENTS)
    for (size_t i = 0; i < n; i++)
        x[i] += y[i] / divisor;
}

void cpu_copy(const struct sg_exec *exec, float *to, const float *x, size_t n) {
    (void)exec;
    if (n > 0)
        memcpy(to, x, n * sizeof *to);
}

void cpu_zero_at(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count) {
    (void)exec;
    for (size_t j = 0; j < count; j++)
        x[index[j]] = 0;
}

void cpu_running_mean(const struct sg_exec *exec, float *restrict mean, const float *restrict x, size_t n,
                      double weight) {
    SG_ASSERT(exec->threads >= 1 && (mean != x || n == 0));
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (n >= WORTH_ELEMENTS)
    for (size_t i = 0; i < n; i++)
        mean[i] = (float)((double)mean[i] + ((double)x[i] - (double)mean[i]) * weight);
}
