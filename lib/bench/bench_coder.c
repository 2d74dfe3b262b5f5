/* bench_coder.c: a coder with error feedback, as training calls it: p formed, the message written, what it lacks kept.
 * It runs at its presets on the case's layers, and at BENCH_RANK where it has a rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_private.h"
#include "sg_drive.h"

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

static sg_status count_sent(void *of, size_t worker, unsigned round, const struct sg_message *m, struct sg_error *err) {
    struct job *job = of;
    (void)worker, (void)round, (void)err;
    job->sent += m->count;
    job->message_bytes += m->bytes;
    return SG_OK;
}

/* The step of one worker. Only compressors of several rounds need a sum to go on from. */
void run_coder(struct job *job) {
    struct sg_error err;
    struct sg_message m;
    const struct data *d = job->data;
    struct sg_play play = {.part = &job->method,
                           .parts = 1,
                           .d = d->layers->n,
                           .g = d->g,
                           .e = d->e,
                           .sum = sg_compressor_find(job->operation->coder)->rounds != NULL ? &d->magnitude : NULL,
                           .message = &m,
                           .sent = count_sent,
                           .of = job};
    job->sent = job->message_bytes = 0;
    job->status = sg_method_play(&play, job->turn++, 1, &err) == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* Three passes: g and e read and p written; p read and the data written; the data read and e read and written. */
double bytes_coder(const struct job *job) {
    return (12.0 + 4.0 + 8.0) * (double)job->data->layers->n + 2.0 * (double)job->message_bytes;
}
