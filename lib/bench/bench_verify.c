/* bench_verify.c: does a kernel write what the plain C version writes? Asked in the same process that times it. */
#include "bench_device.h"

#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"

sg_status expected_open(struct expected *x, const struct layers *layers, struct sg_error *err) {
    *x = (struct expected){.e = malloc(layers->n * sizeof *x->e),
                           .value = malloc(layers->n * sizeof *x->value),
                           .index = malloc(layers->n * sizeof *x->index),
                           .guess = malloc(layers->count * sizeof *x->guess),
                           .count = malloc(layers->count * sizeof *x->count)};
    return x->e && x->value && x->index && x->guess && x->count ? SG_OK : sg_fail_memory(err, "expected output");
}

void expected_close(struct expected *x) {
    free(x->e);
    free(x->value);
    free(x->index);
    free(x->guess);
    free(x->count);
    *x = (struct expected){0};
}

static void run_compared(struct job *job) {
    data_fill_residual(job->data);
    job->decay = 1;
    job->turn = 0;
    job->sum = 0;
    if (job->device)
        device_run(job);
    else
        job->operation->run(job);
    job->decay = 0;
}

sg_status expect(struct expected *x, const struct operation *operation, struct data *data, struct sg_error *err) {
    const size_t layers = data->layers->count;
    struct job job = {.operation = operation,
                      .kernels = sg_kernels_cpu("c"),
                      .exec = {.threads = 1},
                      .data = data,
                      .guess = x->guess};
    x->operation = operation;
    memset(x->guess, 0, layers * sizeof *x->guess);
    sg_status status = operation->coder ? coder_job_open(&job, err) : SG_OK;
    if (status != SG_OK)
        return status;
    run_compared(&job);
    sg_method_close(job.method);
    SG_ASSERT(job.status == SG_KERNEL_OK && job.sent <= data->layers->n);
    memcpy(x->e, data->e, data->layers->n * sizeof *x->e);
    memcpy(x->index, data->index, job.sent * sizeof *x->index);
    memcpy(x->value, data->value, job.sent * sizeof *x->value);
    memcpy(x->count, data->count, layers * sizeof *x->count);
    x->sent = job.sent;
    x->sum = job.sum;
    return SG_OK;
}

/* A single bit of what the operation wrote. */
static void spoil(struct job *job) {
    uint32_t bits;
    memcpy(&bits, job->data->e, sizeof bits);
    bits ^= 1;
    memcpy(job->data->e, &bits, sizeof bits);
    job->sum += 1;
}

bool gives_expected(struct expected *x, struct job *job, bool corrupt) {
    SG_ASSERT(x->operation != NULL && x->operation->compared_with == job->operation->compared_with);
    const struct data *d = job->data;
    const size_t layers = d->layers->count;
    if (job->guess)
        memset(job->guess, 0, layers * sizeof *job->guess);
    run_compared(job);
    if (corrupt)
        spoil(job);
    if (job->operation->floats)
        return rival_is_near(job, x->e);
    if (job->operation->rival)
        return rival_is_right(job, x->e, x->index, x->value, x->count);
    if (job->status != SG_KERNEL_OK || job->sent != x->sent || memcmp(&job->sum, &x->sum, sizeof x->sum) != 0)
        return false;
    if (job->operation->writes_residual && memcmp(d->e, x->e, d->layers->n * sizeof *x->e) != 0)
        return false;
    if (!job->operation->sends)
        return true;
    return memcmp(d->index, x->index, x->sent * sizeof *x->index) == 0 &&
           memcmp(d->value, x->value, x->sent * sizeof *x->value) == 0 &&
           memcmp(d->count, x->count, layers * sizeof *x->count) == 0 &&
           memcmp(job->guess, x->guess, layers * sizeof *x->guess) == 0;
}
