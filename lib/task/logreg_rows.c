/* logreg_rows.c: the dense kernels of this machine, and one pass over all rows of a data matrix. */
/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <string.h>

#include "logreg_rows.h"
#include "sg_kernels.h"

const struct sg_dense *sg_logreg_kernels(void) {
    static _Atomic(const struct sg_kernels *) cached;
    const struct sg_kernels *k = atomic_load_explicit(&cached, memory_order_relaxed);
    if (!k) {
        k = sg_kernels_cpu(NULL);
        if (!k)
            k = sg_kernels_cpu("c");
        atomic_store_explicit(&cached, k, memory_order_relaxed);
    }
    return k->dense;
}

void sg_logreg_pass(double *y, const struct sg_matrix *a, const double *x,
                    double (*factor)(void *arg, size_t i, double z), void *arg, double *partial, int threads) {
    const struct sg_dense *k = sg_logreg_kernels();
    size_t d = a->d;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (size_t b = 0; b < SG_PASS_BLOCKS; b++) {
            double *sum = partial + b * d;
            memset(sum, 0, d * sizeof *sum);
            for (size_t i = block_start(a->m, b, SG_PASS_BLOCKS); i < block_start(a->m, b + 1, SG_PASS_BLOCKS); i++)
                row_axpy(k, a, i, factor(arg, i, row_dot(k, a, i, x)), sum);
        }
#pragma omp for schedule(static)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t b = 0; b < SG_PASS_BLOCKS; b++)
                sum += partial[b * d + j];
            y[j] = sum;
        }
    }
}
