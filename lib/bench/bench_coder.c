/* bench_coder.c: a coder with error feedback, as training calls it: p formed, the message written, what it lacks kept.
 * It runs at its presets on the case's layers, and at BENCH_RANK where it has a rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_private.h"
#include "sg_method.h"

enum { MOST_PARAMS = 16 };

/* The old residual is read and multiplied by 0, as with the kernels: every call sees the same p = g. */
sg_status coder_job_open(struct job *job, struct sg_error *err) {
    const struct layers *layers = job->data->layers;
    double param[MOST_PARAMS];
    for (size_t i = 0; i < MOST_PARAMS; i++)
        param[i] = NAN;
    const struct sg_compressor_ops *ops = sg_compressor_find(job->operation->coder);
    for (size_t i = 0; i < ops->n_params; i++)
        if (strcmp(ops->params[i].name, "rank") == 0)
            param[i] = BENCH_RANK;
    const struct sg_method_config config = {.compressor = ops,
                                            .param = param,
                                            .layout = {layers->count, layers->offset, NULL, layers->rows},
                                            .feedback = {&sg_feedback_gradient, 0, {0}},
                                            .seed = 1,
                                            .count = 1,
                                            .kernels = job->kernels,
                                            .exec = job->exec};
    return sg_method_open(&job->method, &config, err);
}

/* A sum over one worker, for compressors that go on from there. */
static void take_round(struct job *job, unsigned round, const struct sg_message *m) {
    float *sum = job->data->magnitude;
    const size_t n = sg_method_length(job->method, round);
    memset(sum, 0, n * sizeof *sum);
    sg_message_add_all(sum, n, m, 1, job->kernels, &job->exec);
    sg_method_receive(job->method, round, sum);
}

void run_coder(struct job *job) {
    struct sg_error err;
    struct sg_message m;
    const struct data *d = job->data;
    sg_status status = SG_OK;
    job->sent = job->message_bytes = 0;
    sg_method_begin(job->method, job->turn++, 1, NULL);
    const unsigned rounds = sg_method_rounds(job->method);
    for (unsigned round = 0; round < rounds && status == SG_OK; round++) {
        status = sg_method_send(job->method, 0, round, round == 0 ? d->g : NULL, d->e, NULL, &m, &err);
        job->sent += status == SG_OK ? m.count : 0;
        job->message_bytes += status == SG_OK ? m.bytes : 0;
        if (status == SG_OK && rounds > 1)
            take_round(job, round, &m);
    }
    if (status == SG_OK && rounds > 1)
        sg_method_keep(job->method, 0, d->e, d->magnitude);
    job->status = status == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* Three passes: g and e read and p written; p read and the data written; the data read and e read and written. */
double bytes_coder(const struct job *job) {
    return (12.0 + 4.0 + 8.0) * (double)job->data->layers->n + 2.0 * (double)job->message_bytes;
}
