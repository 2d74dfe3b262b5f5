/* bench_device.h: what the benchmark needs of a GPU. Implemented in bench_cuda*.cu, in builds without CUDA by
 * bench_no_cuda.c, where nothing can be opened. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The CUDA kernels as a table on host memory: each call copies its arrays to the device and back. For comparing, not for
 * timing. NULL: there is no device, `why` [room] says so. */
const struct sg_kernels *cuda_table(char *why, size_t room);

/* One case's arrays on the device. */
struct device;
SG_CHECKED sg_status device_open(struct device **out, const struct data *data, struct sg_error *err);
void device_close(struct device *d); /* NULL-safe */

/* Of the last-level cache, NaN if unknown. */
double device_cache_bytes(struct device *d);

/* Seconds that `calls` calls take between two events of a stream; NaN after an error of the device. */
double device_time_copy(struct device *d, size_t calls); /* n floats, device to device */
double device_time(struct job *job, size_t calls);       /* job->operation on job->device */

/* Rivals out of CUB: on the device from host memory and back, for comparing. */
void cub_select_threshold(struct job *job);
void cub_sort_topk(struct job *job);

#ifdef __cplusplus
}
#endif
#endif
