/* bench_device.h: what the benchmark needs of a GPU. Implemented in bench_cuda.cu, in builds without CUDA by
 * bench_no_cuda.c, where nothing can be opened. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "bench_private.h"
#include "bench_rival.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is there a device? If not, `why` [room] says what is missing. */
bool device_available(char *why, size_t room);

/* The arrays of one case on the device. */
struct device;
SG_CHECKED sg_status device_open(struct device **out, const struct data *data, struct sg_error *err);
void device_close(struct device *d); /* NULL-safe */

/* The size of the last-level cache; NaN = unknown. */
double device_cache_bytes(struct device *d);

/* Seconds that `calls` calls take between two events of a stream; NaN after an error of the device. Without a job they copy
 * n floats on the device; else they run job->operation. */
double device_time(struct device *d, const struct job *job, size_t calls);

/* Runs job->operation once on job->device, from the residual in job->data on, and brings all its output back: what is
 * compared is what is timed. */
void device_run(struct job *job);

/* job->guess <- guesses of warm Top-k that are off, up and down in turn. */
void set_guess(struct job *job);

/* The rivals by CUB; NULL = they were not built. */
sg_rival_cuda_fn *rival_cuda(void);

#ifdef __cplusplus
}
#endif
#endif
