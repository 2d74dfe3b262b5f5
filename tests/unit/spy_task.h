/* spy_task.h: a task made for watching the trainer, 12 parameters and 4 workers: what every worker was asked and every
 * x. The linker takes it instead of the real logreg. */
/* SPDX-License-Identifier: MIT */
#ifndef SPY_TASK_H
#define SPY_TASK_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sg_task.h"

enum { WORKERS = 4, D = 12, MOST = 64, QUEUE = 3, EPOCH = 8 };
static const size_t three_layers[] = {0, 5, 8, D}, one_layer[] = {0, D};

/* What a test asks of the task, and what the task saw. */
static struct spy {
    void (*gradient)(float *g, size_t worker, uint32_t draw, const double *x);
    const size_t *offset, *rows; /* rows: NULL = the layers are vectors */
    size_t n_layers;
    uint64_t nan_step, fail_step, stop_step, inf_loss_step; /* UINT64_MAX = never */
    bool shared;                                            /* all workers evaluate, instead of worker 0 from a queue */
    const bool *no_decay;
    uint64_t fail_evaluation;                  /* after so many steps; 0 = never */
    uint64_t evaluated[MOST + 1], n_evaluated; /* steps finished when evaluate_shares was called */
    double x[MOST + 1][D];                     /* after each step */
    uint64_t step;                             /* the latest that was asked for */
} spy;

struct sg_task {
    struct sg_task_base base;
    double waiting[QUEUE][2]; /* step, x[0] */
    size_t n_waiting;
    uint32_t drawn[WORKERS]; /* how often each worker drew: its state, which checkpoints must carry */
    double sum_of_x;         /* over the evaluations so far: what all workers have in common */
};

static sg_status spy_open(sg_task *t, struct sg_error *e) {
    (void)e;
    t->base.info = (struct sg_task_info){.d = D,
                                         .dtype = SG_FLOAT64,
                                         .layout = {spy.n_layers, spy.offset, .rows = spy.rows},
                                         .steps_per_epoch = EPOCH,
                                         .parallel_workers = t->base.workers > 1 && !spy.shared,
                                         .evaluation = spy.shared ? SG_EVALUATE_SHARED : SG_EVALUATE_QUEUED,
                                         .n_shares = 2,
                                         .no_decay = spy.no_decay};
    return SG_OK;
}

static const double *x_of(const sg_task *t) {
    return t->base.x;
}

static cJSON *spy_dataset(const sg_task *t) {
    (void)t;
    return cJSON_Parse("{\"name\":\"spy\",\"source\":\"file\"}");
}

static void spy_start(sg_task *t, void *x) {
    (void)t;
    for (int j = 0; j < D; j++)
        spy.x[0][j] = ((double *)x)[j] = j - 5;
}

static sg_status spy_gradient(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *e) {
    spy.step = step;
    if (worker == 0)
        memcpy(spy.x[step], x_of(t), sizeof spy.x[step]);
    spy.gradient(g, worker, t->drawn[worker]++, x_of(t));
    if (step == spy.nan_step && worker == 2)
        g[6] = NAN;
    return step == spy.fail_step && worker == 1 ? sg_fail(e, SG_ERR_MEMORY, "no memory for worker 1") : SG_OK;
}

/* What worker and step tell apart: 4 w + t / 8, so that the mean is 6 + t / 8. */
static double spy_batch_loss(const sg_task *t, size_t worker) {
    (void)t;
    return spy.step == spy.inf_loss_step && worker == 3 ? INFINITY : 4.0 * (double)worker + (double)spy.step / 8;
}

static sg_status spy_queue(sg_task *t, struct sg_error *e) {
    if (t->n_waiting == QUEUE)
        return sg_fail(e, SG_ERR_ARGUMENT, "the queue is full");
    t->waiting[t->n_waiting][0] = t->drawn[0];
    t->waiting[t->n_waiting++][1] = x_of(t)[0];
    return SG_OK;
}

/* loss: how often worker 0 drew, that is the step; suboptimality: x[0]. */
static sg_status spy_evaluate(sg_task *t, double *value, struct sg_error *e) {
    (void)e;
    const size_t n = sg_task_kind_find("logreg")->n_metrics;
    memset(value, 0, n * t->n_waiting * sizeof *value);
    for (size_t i = 0; i < t->n_waiting; i++)
        memcpy(value + n * i, t->waiting[i], sizeof t->waiting[i]);
    t->n_waiting = 0;
    return SG_OK;
}

/* A worker's part: its weight of x[0], and its name; the sum over evaluations goes on. */
static sg_status spy_evaluate_shares(sg_task *t, double *share, struct sg_error *e) {
    spy.evaluated[spy.n_evaluated++] = spy.step + 1;
    if (spy.step + 1 == spy.fail_evaluation)
        return sg_fail(e, SG_ERR_MEMORY, "no memory to evaluate");
    t->sum_of_x += x_of(t)[0];
    for (size_t w = 0; w < t->base.count; w++) {
        share[2 * w] = x_of(t)[0] / 4;
        share[2 * w + 1] = (double)(t->base.first + w + 1);
    }
    return SG_OK;
}

/* loss: x[0]; suboptimality: the sum of x[0] over the evaluations; relative_suboptimality: the workers in order. */
static void spy_conclude(const sg_task *t, const double *share, double *value) {
    memset(value, 0, sg_task_kind_find("logreg")->n_metrics * sizeof *value);
    value[1] = t->sum_of_x;
    for (size_t w = 0; w < WORKERS; w++) {
        value[0] += share[2 * w];
        value[2] = 10 * value[2] + share[2 * w + 1];
    }
}

static size_t spy_common_bytes(const sg_task *t) {
    return spy.shared ? sizeof t->sum_of_x : 0;
}

static void spy_common_save(const sg_task *t, void *out) {
    memcpy(out, &t->sum_of_x, sizeof t->sum_of_x);
}

static void spy_common_load(sg_task *t, const void *in) {
    memcpy(&t->sum_of_x, in, sizeof t->sum_of_x);
}

static size_t spy_state_bytes(const sg_task *t) {
    return sizeof t->drawn[0];
}

static void spy_state_save(const sg_task *t, size_t worker, void *out) {
    memcpy(out, &t->drawn[worker], sizeof t->drawn[0]);
}

static void spy_state_load(sg_task *t, size_t worker, const void *in) {
    memcpy(&t->drawn[worker], in, sizeof t->drawn[0]);
}

/* The gradients of a step saw x before it; this sees the last one. */
static void spy_close(sg_task *t) {
    if (t->base.x)
        memcpy(spy.x[spy.step + 1], x_of(t), sizeof spy.x[0]);
}

extern const struct sg_task_ops sg_logreg_ops;
const struct sg_task_ops sg_logreg_ops = {
    .name = "logreg",
    .size = sizeof(struct sg_task),
    .open = spy_open,
    .dataset = spy_dataset,
    .start = spy_start,
    .gradient = spy_gradient,
    .batch_loss = spy_batch_loss,
    .queue_capacity = QUEUE,
    .queue = spy_queue,
    .evaluate = spy_evaluate,
    .evaluate_shares = spy_evaluate_shares,
    .conclude = spy_conclude,
    .common_bytes = spy_common_bytes,
    .common_save = spy_common_save,
    .common_load = spy_common_load,
    .state_bytes = spy_state_bytes,
    .state_save = spy_state_save,
    .state_load = spy_state_load,
    .close = spy_close,
};

static void watch(void (*gradient)(float *, size_t, uint32_t, const double *), const size_t *offset, size_t n_layers) {
    spy = (struct spy){.gradient = gradient, .offset = offset, .n_layers = n_layers};
    spy.nan_step = spy.fail_step = spy.stop_step = spy.inf_loss_step = UINT64_MAX;
}

#endif
