/* bench_group.c: jobs that are compared with plain C and then timed in turn, beside the reference. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_debug.h"
#include "sg_memory.h"

/* A step of a compressor may take seconds, so its samples take at most this time, but there are at least three. */
#define STEPS_BUDGET_S 4.0
enum { WARM_UPS = 3, RECORDED_ADD_CALLS = 8 };

sg_status group_add(struct group *g, const struct job *like, struct sg_error *err) {
    const struct operation *operation = like->operation;
    if (g->jobs == MOST_JOBS)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: more than %d operations times back-ends and encodings",
                       operation->name, MOST_JOBS);
    struct job *job = &g->job[g->jobs++];
    SG_ASSERT(operation->wire || like->kernels);
    *job = *like;
    job->device = g->of->device;
    job->data = like->data ? like->data : g->of->data;
    job->workers = like->workers > 0 ? like->workers : 1;
    if (operation->wire)
        return wire_job_open(job, err);
    if (operation->coder || operation->steps)
        return method_job_open(job, operation->steps ? 1 : 0, err);
    job->guess = sg_malloc(job->data->layers->count * sizeof *job->guess);
    return SG_OK;
}

void group_close(struct group *g) {
    for (size_t i = 0; i < g->jobs; i++) {
        free(g->job[i].guess);
        free(g->job[i].message);
        free(g->job[i].coded);
        method_job_close(&g->job[i]);
    }
    for (size_t i = 0; i <= MOST_JOBS; i++)
        timed_free(&g->timed[i]);
    g->jobs = 0;
}

/* ---- checking the output ---- */

static sg_status verify(struct group *g, struct expected *expected, size_t i, struct sg_error *err) {
    struct job *job = &g->job[i];
    const size_t like = job->operation->compared_with;
    struct expected *x = &expected[like];
    sg_status status = SG_OK;
    if (job->operation->wire) {
        g->right[i] = round_trips(job, g->of->options->corrupt);
        return SG_OK;
    }
    SG_ASSERT(like < MOST_OPERATIONS && like < n_operations);
    if (!x->e) {
        expected_open(x, job->data);
        SG_DO(status, expect(x, job, err));
    }
    if (status != SG_OK || rival_missing(job->operation))
        return status;
    g->right[i] = gives_expected(x, job, g->of->options->corrupt);
    if (job->operation->rival)
        expected_close(x);
    return SG_OK;
}

static sg_status verify_all(struct group *g, bool *verified, struct sg_error *err) {
    struct expected expected[MOST_OPERATIONS] = {{0}}; /* by the number of the operation that defines the output */
    sg_status status = SG_OK;
    for (size_t i = 0; i < g->jobs && status == SG_OK; i++) {
        g->right[i] = false;
        status = verify(g, expected, i, err);
        *verified = *verified && (status != SG_OK || g->right[i] || rival_missing(g->job[i].operation));
    }
    for (size_t i = 0; i < MOST_OPERATIONS; i++)
        expected_close(&expected[i]);
    return status;
}

/* ---- time ---- */

bool times_steps(const struct group *g) {
    return g->jobs > 0 && g->job[0].operation->steps;
}

static void call_reference(void *arg) {
    const struct group *g = arg;
    const struct data *d = g->jobs > 0 ? g->job[0].data : g->of->data;
    add_in_place(times_steps(g) ? d->value : d->e, d->g, d->layers->n, g->of->threads); /* steps need their residuals */
}

static void call_job(void *arg) {
    struct job *job = arg;
    job->operation->run(job);
}

static sg_status measure_on_device(struct device *d, const struct job *job, size_t calls, struct seconds *out,
                                   struct sg_error *err) {
    *out = (struct seconds){gpu_times()->time(d, job, calls), 0};
    return isnan(out->all) ? sg_fail(err, SG_ERR_UNSUPPORTED, "the device failed while it was timed") : SG_OK;
}

static sg_status measure_add(void *arg, size_t calls, struct seconds *out, struct sg_error *err) {
    return measure_on_device(((struct group *)arg)->of->device, NULL, calls, out, err);
}

static sg_status measure_job(void *arg, size_t calls, struct seconds *out, struct sg_error *err) {
    struct job *job = arg;
    return measure_on_device(job->device, job, calls, out, err);
}

/* Steps with the time of worker 0, of which decoding is a part. Of a recording each step has its own gradients. */
static sg_status measure_steps(void *arg, size_t calls, struct seconds *out, struct sg_error *err) {
    struct job *job = arg;
    const struct step_counts before = job->counts;
    sg_status status = SG_OK;
    for (size_t i = 0; i < calls && status == SG_OK; i++) {
        if (job->data->recording)
            status = data_read(job->data, job->turn, err);
        if (status != SG_OK)
            return status;
        job->operation->run(job);
        if (job->status != SG_KERNEL_OK)
            status = sg_fail(err, job->error.status, "%s", job->error.msg);
    }
    out->part = job->counts.decode_s - before.decode_s;
    out->all = out->part + (job->counts.encode_s - before.encode_s);
    return status;
}

static void forget_counts(void *arg) {
    ((struct job *)arg)->counts = (struct step_counts){0};
}

static struct timed timed_of(struct job *job) {
    if (job->device)
        return (struct timed){.measure = measure_job, .arg = job, .warm_ups = WARM_UPS};
    if (!job->operation->steps)
        return (struct timed){.call = call_job, .arg = job, .warm_ups = WARM_UPS};
    struct timed out = {.measure = measure_steps, .warmed = forget_counts, .arg = job, .budget_s = STEPS_BUDGET_S};
    if (job->data->recording) { /* the first third of its steps fills the residuals */
        out.warm_ups = (size_t)sg_gradients_look(job->data->recording)->steps / 3;
        out.calls = 1;
        out.budget_s = 0;
    }
    return out;
}

/* Every call sees the same p = g, because the residual is multiplied by 0; steps of a recording keep theirs. */
static sg_status begin_steps(struct group *g, struct sg_error *err) {
    const struct data *d = g->of->data;
    sg_status status = SG_OK;
    memset(d->e, 0, d->workers * d->layers->n * sizeof *d->e);
    for (size_t i = 0; i < g->jobs && status == SG_OK; i++)
        if (g->job[i].operation->steps && g->right[i])
            status = method_job_open(&g->job[i], d->recording ? 1 : 0, err);
    return status;
}

/* Jobs with wrong output are not timed. */
static sg_status time_right(struct group *g, struct sg_error *err) {
    struct timed chosen[MOST_JOBS + 1];
    const struct data *d = g->of->data;
    size_t count = 1, samples = g->of->samples;
    if (times_steps(g) && !g->right[0])
        return SG_OK;
    sg_status status = begin_steps(g, err);
    chosen[0] = (struct timed){.call = call_reference,
                               .measure = g->of->device ? measure_add : NULL,
                               .arg = g,
                               .warm_ups = WARM_UPS,
                               .calls = d->recording ? RECORDED_ADD_CALLS : 0};
    for (size_t i = 0; i < g->jobs; i++)
        if (g->right[i])
            chosen[count++] = timed_of(&g->job[i]);
    if (d->recording)
        samples = (size_t)sg_gradients_look(d->recording)->steps - chosen[count - 1].warm_ups;
    SG_DO(status, time_in_turn(chosen, count, samples, g->of->options->stop, err));
    SG_ASSERT(count <= MOST_JOBS + 1);
    g->timed[0] = chosen[0];
    for (size_t i = 0, c = 1; i < g->jobs; i++)
        if (g->right[i])
            g->timed[i + 1] = chosen[c++];
    return status;
}

sg_status group_run(struct group *g, bool *verified, struct sg_error *err) {
    const sg_status status = verify_all(g, verified, err);
    for (size_t i = 0; i < g->jobs; i++)
        forget_counts(&g->job[i]);
    return status == SG_OK ? time_right(g, err) : status;
}
