/* sg_threads.h: which thread of a parallel region this is, also in a build without OpenMP, where there is one. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_THREADS_H
#define SG_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num(void) {
    return 0;
}
static inline int omp_get_num_threads(void) {
    return 1;
}
static inline void omp_set_num_threads(int threads) {
    (void)threads;
}
#endif

#endif
