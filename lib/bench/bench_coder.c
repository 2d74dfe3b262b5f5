/* bench_coder.c: a coder with error feedback, as training calls it: p formed, the message written, what it lacks kept.
 * It runs at its presets on the case's layers. */
#include <math.h>
#include <stdlib.h>

#include "bench_private.h"
#include "sg_method.h"

enum { MOST_PARAMS = 16 };

/* The old residual is read and multiplied by 0, as with the kernels: every call sees the same p = g. */
sg_status coder_job_open(struct job *job, struct sg_error *err) {
    const struct layers *layers = job->data->layers;
    double param[MOST_PARAMS];
    for (size_t i = 0; i < MOST_PARAMS; i++)
        param[i] = NAN;
    const struct sg_method_config config = {.compressor = sg_compressor_find(job->operation->coder),
                                            .param = param,
                                            .layout = {layers->count, layers->offset, NULL, NULL},
                                            .feedback = {&sg_feedback_gradient, 0, {0}},
                                            .seed = 1,
                                            .count = 1,
                                            .kernels = job->kernels,
                                            .exec = job->exec};
    return sg_method_open(&job->method, &config, err);
}

void run_coder(struct job *job) {
    struct sg_error err;
    struct sg_message m;
    sg_method_begin(job->method, 0, 1, NULL);
    const sg_status status = sg_method_send(job->method, 0, 0, job->data->g, job->data->e, NULL, &m, &err);
    job->status = status == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
    job->sent = status == SG_OK ? m.count : 0;
    job->message_bytes = status == SG_OK ? m.bytes : 0;
}

/* Three passes: g and e read and p written; p read and the data written; the data read and e read and written. */
double bytes_coder(const struct job *job) {
    return (12.0 + 4.0 + 8.0) * (double)job->data->layers->n + 2.0 * (double)job->message_bytes;
}
