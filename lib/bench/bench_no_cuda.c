/* bench_no_cuda.c: bench_device.h in builds without CUDA. */
#include "bench_device.h"

#include <math.h>

#define UNAVAILABLE "this build has no CUDA: rebuild with WITH_CUDA=1"

bool device_available(char *why, size_t room) {
    snprintf(why, room, UNAVAILABLE);
    return false;
}

sg_status device_open(struct device **out, const struct data *data, struct sg_error *err) {
    (void)data;
    *out = NULL;
    return sg_fail(err, SG_ERR_UNSUPPORTED, UNAVAILABLE);
}

void device_close(struct device *d) {
    (void)d;
}

double device_cache_bytes(struct device *d) {
    (void)d;
    return NAN;
}

double device_time(struct device *d, const struct job *job, size_t calls) {
    (void)d, (void)job, (void)calls;
    return NAN;
}

void device_run(struct job *job) {
    job->status = SG_KERNEL_DEVICE;
}
