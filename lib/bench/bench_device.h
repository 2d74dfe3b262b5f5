/* bench_device.h: what the benchmark needs of a GPU. Implemented in bench_cuda*.cu, in builds without CUDA by
 * bench_no_cuda.c, where nothing can be opened. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The CUDA kernels as a table on host memory: each call copies its arrays to the device and back, so it serves to
 * compare and not to time. NULL = there is no device, and `why` [room] says so. */
const struct sg_kernels *cuda_table(char *why, size_t room);

/* The arrays of one case on the device. */
struct device;
SG_CHECKED sg_status device_open(struct device **out, const struct data *data, struct sg_error *err);
void device_close(struct device *d); /* NULL-safe */

/* The size of the last-level cache; NaN = unknown. */
double device_cache_bytes(struct device *d);

/* Seconds that `calls` calls take between two events of a stream; NaN after an error of the device. */
double device_time_copy(struct device *d, size_t calls); /* copies n floats on the device */
double device_time(struct job *job, size_t calls);       /* runs job->operation on job->device */

/* Rivals made of parts of CUB. They copy from host memory to the device and back, so they serve to compare. cub_missing:
 * why this build has none; NULL = it has. */
const char *cub_missing(void);
void cub_select_threshold(struct job *job);
void cub_sort_topk(struct job *job);

#ifdef __cplusplus
}
#endif
#endif
