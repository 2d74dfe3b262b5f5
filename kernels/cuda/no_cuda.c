/* no_cuda.c: the GPU of sg_cuda.h in builds without CUDA: there is none to open. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "sg_cuda.h"

int sg_cuda_device_open(sg_cuda_device **out, int number, int local_rank, char *why, size_t room) {
    (void)number;
    (void)local_rank;
    *out = NULL;
    snprintf(why, room, "this build has no CUDA: rebuild with WITH_CUDA=1");
    return SG_KERNEL_DEVICE;
}

void sg_cuda_device_facts(const sg_cuda_device *device, struct sg_cuda_facts *out) {
    (void)device;
    *out = (struct sg_cuda_facts){0};
}

const char *sg_cuda_device_error(const sg_cuda_device *device) {
    (void)device;
    return NULL;
}

void sg_cuda_device_close(sg_cuda_device *device) {
    (void)device;
}

const struct sg_kernels *sg_cuda_kernels(void) {
    return NULL;
}
