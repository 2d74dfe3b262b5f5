/* kernel_tables.h: runs a test with every kernel table. Its vectors lie in host memory: on a device, or emulated, each call
 * copies them there and back. */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include <stdbool.h>
#include <stdlib.h>

#include "patterns.h"
#include "sg_rng.h"
#include "tap.h"
#ifdef SG_TEST_CUDA
#include "bench_device.h"
#if defined(__SANITIZE_ADDRESS__) /* which the emulation's threads are slow with */
enum { ONE_HINT_IN = 16, MOST_THREADS = 0 };
#else
enum { ONE_HINT_IN = 4, MOST_THREADS = 1 };
#endif
#else
enum { ONE_HINT_IN = 1, MOST_THREADS = 3 };
#endif

enum { LONG_N = 300000 }; /* long enough to be cut for threads */

static void test_tables(void (*test)(const struct sg_kernels *kernels)) {
#ifdef SG_TEST_CUDA
    char why[256];
    const struct sg_kernels *kernels = cuda_table(why, sizeof why);
    if (kernels != NULL)
        test(kernels);
    else
        tap_no_gpu(why);
#else
    for (int i = 0; i < N_KERNELS; i++) {
        const struct sg_kernels *kernels = sg_kernels_cpu(kernel_name[i]);
        if (kernels != NULL)
            test(kernels);
        else
            skip("this machine has no %s", kernel_name[i]);
    }
#endif
}

#endif
