/* kernel_tables.h: runs a test with every kernel table of the CPU or, built for a GPU, with that of the device or its
 * emulation. */
/* SPDX-License-Identifier: MIT */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include <stdbool.h>
#include <stdlib.h>

#include "patterns.h"
#include "sg_rng.h"
#include "tap.h"
#ifdef SG_TEST_CUDA
#include "cuda_host_table.h"
#include "sg_cuda.h"
#if defined(__SANITIZE_ADDRESS__) /* which the emulation's threads are slow with */
enum { ONE_HINT_IN = 16, MOST_THREADS = 0 };
#else
enum { ONE_HINT_IN = 4, MOST_THREADS = 1 };
#endif
#else
enum { ONE_HINT_IN = 1, MOST_THREADS = 3 };
#endif

enum { LONG_N = 300000 }; /* long enough to be cut for threads */

/* The test's vectors lie in host memory: on a device each call copies them there and back. */
__attribute__((unused)) static void test_tables(void (*test)(const struct sg_kernels *kernels)) {
#ifdef SG_TEST_CUDA
    char why[256];
    const struct sg_kernels *kernels = cuda_host_table(why, sizeof why);
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

/* The test's vectors lie in the memory of the kernels, which `in_place` names. A device works on its own stream. */
__attribute__((unused)) static struct sg_exec in_place = {.threads = 1};
__attribute__((unused)) static void test_tables_in_place(void (*test)(const struct sg_kernels *kernels)) {
#ifdef SG_TEST_CUDA
    char why[256];
    sg_cuda_device *device;
    if (sg_cuda_device_open(&device, -1, 0, why, sizeof why) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return;
    }
    sg_cuda_device_set_stream(device, cuda_host_stream());
    in_place.device = device;
    test(sg_cuda_kernels());
    sg_cuda_device_close(device);
#else
    test_tables(test);
#endif
}

#endif
