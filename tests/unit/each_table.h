/* each_table.h: runs a test with every kernel table of the CPU or, built for a GPU, with that of the device or its
 * emulation. */
#ifndef EACH_TABLE_H
#define EACH_TABLE_H

#include "patterns.h"
#include "sg_kernels.h"
#include "tap.h"
#ifdef SG_TEST_CUDA
#include "sg_cuda.h"
#endif

/* What the test is run with. */
static const struct sg_kernels *kernels;
static struct sg_exec exec = {.threads = 1};

static void test_each_table(void (*test)(void)) {
#ifdef SG_TEST_CUDA
    char why[256];
    sg_cuda_device *device;
    if (sg_cuda_device_open(&device, -1, 0, why, sizeof why) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return;
    }
    kernels = sg_cuda_kernels();
    exec.device = device;
    test();
    sg_cuda_device_close(device);
#else
    for (int i = 0; i < N_KERNELS; i++)
        if ((kernels = sg_kernels_cpu(kernel_name[i])) != NULL)
            test();
        else
            skip("this machine has no %s", kernel_name[i]);
#endif
}

#endif
