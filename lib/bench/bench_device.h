/* bench_device.h: the functions of the benchmark on a GPU. bench_cuda.cu implements them; in builds without CUDA it is
 * bench_no_cuda.c, where no device can be opened. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench_private.h"
#include "bench_rival.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if there is a device; else `why` [room] gets what is missing. */
bool device_available(char *why, size_t room);

/* The arrays of one case on the device. */
struct device;
SG_CHECKED sg_status device_open(struct device **out, const struct data *data, struct sg_error *err);
void device_close(struct device *d); /* NULL-safe */

/* The size of the last-level cache; NaN = unknown. */
double device_cache_bytes(struct device *d);

/* Seconds that `calls` calls take between two events of a stream; NaN after an error of the device. A call runs
 * job->operation, or without a job copies n floats on the device. */
double device_time(struct device *d, const struct job *job, size_t calls);

/* Runs job->operation once on job->device, starting from the residual in job->data, and copies all its output to the
 * host, so that the code that is timed is also compared. */
void device_run(struct job *job);

/* job->guess <- guesses of warm Top-k that are too large and too small in turn. */
void set_guess(struct job *job);

/* The rivals by CUB; NULL = they were not built. */
sg_rival_cuda_fn *rival_cuda(void);

#ifdef __cplusplus
}
#endif
#endif
