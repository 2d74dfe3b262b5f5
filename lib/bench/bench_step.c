/* bench_step.c: steps of a compressor with error feedback, as training plays them. A coder runs at its presets, and at
 * BENCH_RANK where it has a rank; one call of it is timed as a whole. `compress` runs any compressor at the values of
 * sg_compressor_example with all its rounds and workers, one after another; the clock runs for worker 0 and for what
 * every rank does with the sum. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_clock.h"
#include "sg_drive.h"
#include "sg_memory.h"

enum { MOST_PARAMS = 16 };

static void choose_params(double *param, const struct job *job) {
    const struct sg_compressor_ops *ops = job->compressor;
    if (job->operation->steps) {
        sg_compressor_example(ops, job->data->density, (double)job->data->tau[0], param);
        return;
    }
    for (size_t i = 0; i < ops->n_params; i++)
        param[i] = strcmp(ops->params[i].name, "rank") == 0 ? BENCH_RANK : (double)NAN;
}

sg_status method_job_open(struct job *job, float decay, struct sg_error *err) {
    const struct layers *layers = job->data->layers;
    double param[MOST_PARAMS];
    method_job_close(job);
    if (job->operation->coder)
        job->compressor = sg_compressor_find(job->operation->coder);
    job->round = sg_calloc(job->workers, sizeof *job->round);
    if (job->compressor->n_params > MOST_PARAMS)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "more than %d parameters", MOST_PARAMS);
    choose_params(param, job);
    const struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                            .compressor = job->compressor,
                                            .param = param,
                                            .layout = {layers->count, layers->offset, NULL, layers->rows},
                                            .feedback = {&sg_feedback_gradient, (double)decay, {0}},
                                            .seed = 1,
                                            .workers = job->workers,
                                            .count = job->workers,
                                            .steps_per_epoch = 1,
                                            .kernels = job->kernels,
                                            .exec = job->exec};
    job->turn = 0;
    return sg_method_open(&job->method, &config, err);
}

void method_job_close(struct job *job) {
    sg_method_close(job->method);
    free(job->round);
    job->method = NULL;
    job->round = NULL;
}

static struct sg_play play_of(struct job *job) {
    const struct data *d = job->data;
    return (struct sg_play){
        .part = &job->method, .parts = 1, .d = d->layers->n, .g = d->g, .e = d->e, .message = job->round, .of = job};
}

static void play(struct job *job, struct sg_play *step) {
    const sg_status status = sg_method_play(step, job->turn++, 1, &job->error);
    job->status = status == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* ---- a coder ---- */

static sg_status count_sent(void *of, size_t worker, unsigned round, const struct sg_message *m, struct sg_error *err) {
    struct job *job = of;
    (void)worker, (void)round, (void)err;
    job->sent += m->count;
    job->message_bytes += m->bytes;
    return SG_OK;
}

/* Only compressors of several rounds need the sum, for the next round. */
void run_coder(struct job *job) {
    struct sg_play step = play_of(job);
    step.sum = job->compressor->rounds ? &job->data->magnitude : NULL;
    step.sent = count_sent;
    job->sent = job->message_bytes = 0;
    play(job, &step);
}

/* Three passes: g and e read and p written; p read and the data written; the data read and e read and written. */
double bytes_coder(const struct job *job) {
    return (12.0 + 4.0 + 8.0) * (double)job->data->layers->n + 2.0 * (double)job->message_bytes;
}

/* ---- any compressor ---- */

static double log_ratio(size_t sent, size_t wanted) {
    return fabs(log((double)(sent > 0 ? sent : 1) / (double)wanted));
}

static sg_status count_message(void *of, size_t worker, unsigned round, const struct sg_message *m,
                               struct sg_error *err) {
    struct job *job = of;
    const struct layers *layers = job->data->layers;
    struct sg_wire_plan plan;
    double off = 0;
    size_t large = 0;
    (void)worker, (void)round;
    sg_status status = sg_wire_plan(&plan, NULL, m, err);
    if (status != SG_OK)
        return status;
    job->counts.bytes += (double)plan.bytes / (double)job->workers;
    for (size_t l = 0; m->layer_count && l < layers->count; l++)
        if (layers->offset[l + 1] - layers->offset[l] >= LARGE_LAYER) {
            off += log_ratio(m->layer_count[l], job->data->k[l]);
            large++;
        }
    job->counts.off += (large > 0 ? off / (double)large : (double)NAN) / (double)job->workers;
    return SG_OK;
}

void run_compress(struct job *job) {
    struct sg_play step = play_of(job);
    struct step_counts *c = &job->counts;
    step.sum = &job->data->value;
    step.optimizes = true;
    step.sent = count_message;
    step.clock_s = sg_clock_s;
    play(job, &step);
    c->steps++;
    c->encode_s += step.encode_s;
    c->decode_s += step.decode_s;
    c->bits += step.bits / (double)job->workers;
    c->entries += step.entries / (double)job->workers;
}

/* The bytes of a selection, and of writing and reading the message. NaN if it was not timed. */
double bytes_compress(const struct job *job) {
    const struct step_counts *c = &job->counts;
    return 12 * (double)job->data->layers->n + 2 * c->bytes / c->steps + 8 * c->entries / c->steps;
}
