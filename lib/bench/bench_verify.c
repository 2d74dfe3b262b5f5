/* bench_verify.c: checks that a kernel writes what the plain C version writes, in the process that times it. */
/* SPDX-License-Identifier: MIT */
#include "bench_private.h"

#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"

void expected_open(struct expected *x, const struct data *data) {
    const size_t n = data->layers->n, count = data->layers->count;
    *x = (struct expected){.e = sg_malloc(data->workers * n * sizeof *x->e),
                           .value = sg_malloc(n * sizeof *x->value),
                           .index = sg_malloc(n * sizeof *x->index),
                           .guess = sg_malloc(count * sizeof *x->guess),
                           .count = sg_malloc(count * sizeof *x->count)};
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
    data_fill_residual(job->data, job->workers);
    if (job->operation->steps)
        memset(job->data->value, 0, job->data->layers->n * sizeof *job->data->value);
    job->counts = (struct step_counts){0};
    job->decay = 1;
    job->turn = 0;
    job->sum = 0;
    if (job->device)
        gpu_times()->run(job);
    else
        job->operation->run(job);
    job->decay = 0;
}

/* The residuals after a job. */
static size_t residuals(const struct job *job) {
    return job->workers * job->data->layers->n * sizeof(float);
}

static bool has_method(const struct operation *operation) {
    return operation->coder || operation->steps;
}

sg_status expect(struct expected *x, const struct job *like, struct sg_error *err) {
    const struct data *data = like->data;
    const size_t layers = data->layers->count;
    struct job job = {.operation = &operations[like->operation->compared_with],
                      .kernels = sg_kernels_cpu("c"),
                      .exec = {.threads = 1},
                      .data = like->data,
                      .compressor = like->compressor,
                      .workers = like->workers,
                      .guess = x->guess};
    x->operation = job.operation;
    memset(x->guess, 0, layers * sizeof *x->guess);
    sg_status status = has_method(job.operation) ? method_job_open(&job, job.operation->steps ? 1 : 0, err) : SG_OK;
    if (status == SG_OK)
        run_compared(&job);
    method_job_close(&job);
    if (status == SG_OK && job.operation->steps && job.status != SG_KERNEL_OK)
        status = sg_fail(err, job.error.status, "%s", job.error.msg);
    if (status != SG_OK)
        return status;
    SG_ASSERT(job.status == SG_KERNEL_OK && job.sent <= data->layers->n);
    memcpy(x->e, data->e, residuals(&job));
    memcpy(x->index, data->index, job.sent * sizeof *x->index);
    memcpy(x->value, data->value, (job.operation->steps ? data->layers->n : job.sent) * sizeof *x->value);
    memcpy(x->count, data->count, layers * sizeof *x->count);
    x->sent = job.sent;
    x->sum = job.sum;
    x->counts = job.counts;
    return SG_OK;
}

/* The numbers of a step, and the sum over workers. */
static bool same_step(const struct expected *x, const struct job *job) {
    const struct step_counts *c = &job->counts;
    return memcmp(job->data->value, x->value, job->data->layers->n * sizeof *x->value) == 0 &&
           c->bits == x->counts.bits && c->bytes == x->counts.bytes && c->entries == x->counts.entries;
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
    SG_ASSERT(x->operation && x->operation->compared_with == job->operation->compared_with);
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
    if (job->operation->writes_residual && memcmp(d->e, x->e, residuals(job)) != 0)
        return false;
    if (job->operation->steps)
        return same_step(x, job);
    if (!job->operation->sends)
        return true;
    return memcmp(d->index, x->index, x->sent * sizeof *x->index) == 0 &&
           memcmp(d->value, x->value, x->sent * sizeof *x->value) == 0 &&
           memcmp(d->count, x->count, layers * sizeof *x->count) == 0 &&
           memcmp(job->guess, x->guess, layers * sizeof *x->guess) == 0;
}
