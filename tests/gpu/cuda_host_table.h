/* cuda_host_table.h: the CUDA kernels behind the table of the CPU's, for tests that compare tables. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_HOST_TABLE_H
#define CUDA_HOST_TABLE_H

#include "sg_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors lie in host memory: each call copies them to the device and back. NULL = there is no device, and `why` [room]
 * says so. */
const struct sg_kernels *cuda_host_table(char *why, size_t room);

/* The stream of these calls, which does not wait for the default one. */
void *cuda_host_stream(void);

#ifdef __cplusplus
}
#endif
#endif
