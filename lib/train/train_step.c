/* train_step.c: one step of Algorithm 1: gradients, messages, exchange, mean, optimizer. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_clock.h"
#include "sg_debug.h"
#include "sg_drive.h"
#include "sg_threads.h"
#include "train_private.h"

static const double PARALLEL_FLOPS = 1e5; /* below this work per step a second thread costs more than it gives */
enum { OFFSET_WORTH_THREADS = 1 << 15 };  /* and below so many parameters */

static void charge_time(struct worker *w, enum phase phase, double since_s) {
    w->spent[phase] += sg_clock_s() - since_s;
}

/* The epoch, with a fraction, at which this step begins. */
static double epoch_of(const struct train *t) {
    return (double)t->step / (double)t->info->steps_per_epoch;
}

void train_shift_x(const struct train *t, void *copy, const float *offset, double factor) {
    void *x = sg_task_x(t->task);
    memcpy(copy, x, sg_task_x_bytes(t->task));
#pragma omp parallel for schedule(static) num_threads(t->threads) if (t->d >= OFFSET_WORTH_THREADS)
    for (size_t j = 0; j < t->d; j++)
        if (t->info->dtype == SG_FLOAT64)
            ((double *)x)[j] -= factor * (double)offset[j];
        else
            ((float *)x)[j] -= (float)(factor * (double)offset[j]);
}

/* The end of a step: the sum becomes x <- x - step. Without an optimizer the mean is the step. */
static struct sg_update with_optimizer(const struct train *t, const struct optimizer *o, struct sg_update u) {
    u.optimizer = o ? o->ops->name : NULL;
    u.param = o ? o->param : NULL;
    u.x = sg_task_x(t->task);
    u.dtype = t->info->dtype;
    u.piece = t->piece;
    u.n_pieces = t->n_pieces;
    u.d = t->d;
    u.weight = t->weight;
    u.n_weights = t->n_weights;
    u.scratch = t->scratch;
    return u;
}

/* g <- what the worker's own optimizer makes of it, for a learning rate of 1. The task's x must be the worker's own; it
 * moves, too. */
static void optimize_alone(const struct train *t, struct worker *worker, float *g) {
    const struct sg_update u = with_optimizer(
        t, t->of_workers,
        (struct sg_update){
            .learning_rate = 1, .step = worker->steps++, .workers = 1, .sum = g, .state = worker->state});
    t->kernels->update(&t->exec, &u);
}

static sg_status worker_gradient(struct train *t, size_t w, float *g) {
    struct worker *worker = &t->worker[w];
    const double start_s = sg_clock_s();
    const float *offset = sg_method_offset(t->method, t->first + w, worker->residual);
    const double sending_s = worker->spent[PHASE_COMPRESSION];
    worker->g = g;
    if (offset) /* the worker has parameters of its own */
        train_shift_x(t, t->shared_x, offset, 1);
    worker->error.status = t->task_ops->gradient(t->task, t->first + w, t->step, g, &worker->error);
    if (t->options->record_gradients || train_errors_need_gradients(t))
        memcpy(worker->recorded, g, t->d * sizeof *g);
    train_errors_gradient(t, w, g);
    if (t->of_workers && worker->error.status == SG_OK)
        optimize_alone(t, worker, g);
    if (offset)
        memcpy(sg_task_x(t->task), t->shared_x, sg_task_x_bytes(t->task));
    charge_time(worker, PHASE_GRADIENT, start_s + worker->spent[PHASE_COMPRESSION] - sending_s);
    train_buckets_gradient(t, w);
    return worker->error.status;
}

/* Reads the training loss of a worker. A non-finite loss explains more than its gradient does, so its error replaces
 * the message's. */
static void read_batch_loss(struct train *t, size_t w) {
    struct worker *worker = &t->worker[w];
    const double loss = worker->note[NOTE_TRAIN_LOSS] = t->task_ops->batch_loss(t->task, t->first + w);
    if (!isfinite(loss))
        (void)sg_fail(&worker->error, SG_ERR_NONFINITE, "worker %zu, step %llu: the training loss is %g", t->first + w,
                      (unsigned long long)t->step, loss);
}

/* Reads the losses of this rank's workers that have a gradient, all at once, because a GPU must be waited for. */
static void read_batch_losses(struct train *t) {
    struct sg_error device;
    const bool arrived = train_wait(t, &device) == SG_OK;
    for (size_t w = 0; w < t->count; w++) {
        struct sg_error *error = &t->worker[w].error;
        if (t->absent[t->first + w] || (error->status != SG_OK && error->status != SG_ERR_NONFINITE))
            continue;
        if (!arrived)
            *error = device;
        else if (t->task_ops->batch_loss)
            read_batch_loss(t, w);
    }
}

/* Puts a worker's message into the exchange if it was made without error, and stores the error of either. */
static sg_status put_message(struct train *t, size_t w, unsigned round, sg_status status) {
    struct worker *worker = &t->worker[w];
    if (t->config.sampled)
        worker->message.known = false; /* a rank whose workers are all absent cannot derive positions */
    if (status == SG_OK && sg_method_exchanges(t->method, round))
        status = sg_comm_put(t->comm, t->first + w, &worker->message, &worker->error);
    if (status == SG_ERR_UNSUPPORTED)
        status = train_fail_device(t, &worker->error);
    return worker->error.status = status;
}

/* Put the message of gradient g into the exchange; g is not needed after this. A task that writes only parts of g
 * expects zeros there at its next step, so those parts are cleared here. An optimizer of the worker's own writes all
 * of g. */
static sg_status worker_message(struct train *t, size_t w, float *g) {
    struct worker *worker = &t->worker[w];
    struct sg_error *err = &worker->error;
    const struct sg_ranges *touched = t->task_ops->touched ? t->task_ops->touched(t->task, t->first + w) : NULL;
    const double start_s = sg_clock_s();
    sg_status status = sg_method_send(t->method, t->first + w, 0, g, worker->residual, touched, &worker->message, err);
    charge_time(worker, PHASE_COMPRESSION, start_s);
    SG_DO(status, train_measure_message(t, w, 0, err));
    if (status == SG_OK && !sg_method_keeps_late(t->method))
        train_measure_residual(t, w, g);
    if (touched && t->of_workers)
        t->kernels->zero(&t->worker_exec, g, t->d * sizeof *g);
    for (size_t i = 0; touched && !t->of_workers && i < touched->count; i++)
        t->kernels->zero(&t->worker_exec, g + touched->range[i].begin,
                         (touched->range[i].end - touched->range[i].begin) * sizeof *g);
    return put_message(t, w, 0, status);
}

/* A worker that takes no part computes nothing, and its state stays as it is. */
static void skip_worker(struct train *t, size_t w) {
    train_measure_absent(t, w);
    if (sg_method_sends(t->method))
        sg_comm_skip(t->comm, t->first + w);
}

static void worker_step(struct train *t, size_t w, float *g) {
    if (t->absent[t->first + w])
        skip_worker(t, w);
    else if (worker_gradient(t, w, g) == SG_OK)
        worker_message(t, w, g);
}

/* For a controller that depends on worker 0's gradient: computes it first and broadcasts its squares to all ranks. A
 * rank that failed earlier still takes part, because the others wait in the collective calls. */
static sg_status lead(void *of, double *square, struct sg_error *err) {
    struct train *t = of;
    float *g = t->gradient[0];
    sg_status status = t->mine.status;
    t->led = t->first == 0;
    if (status == SG_OK && t->led) {
        status = worker_gradient(t, 0, g);
        if (status == SG_OK)
            sg_method_lead(t->method, g, square);
        else
            *err = t->worker[0].error;
    }
    status = sg_comm_agree(t->comm, status, err);
    SG_DO(status, sg_comm_broadcast(t->comm, square, t->config.layout.n_layers * sizeof *square, err));
    return status;
}

/* Workers from..to-1 in turn, forwards at even steps and backwards at odd ones: the data of the workers that came last
 * are still in the cache, and a second pass in the same direction would have evicted them before it comes to them. */
static void workers_zigzag(struct train *t, size_t from, size_t to, float *g) {
    for (size_t i = from; i < to; i++)
        worker_step(t, t->step % 2 ? from + to - 1 - i : i, g);
}

/* Part i of this rank's workers: those that share gradient i, and room i of the method if workers share rooms. */
static size_t part_begin(const struct train *t, size_t i) {
    return t->count * i / t->n_gradients;
}

/* The first failure of this rank's workers. */
static sg_status workers_status(const struct train *t, struct sg_error *err) {
    for (size_t w = 0; w < t->count; w++)
        if (t->worker[w].error.status != SG_OK) {
            *err = t->worker[w].error;
            return err->status;
        }
    return SG_OK;
}

/* Workers are independent until the exchange, so threads and order change nothing but the time. */
static sg_status first_messages(struct train *t, struct sg_error *err) {
    const size_t begin = t->led;
    if (t->led)
        worker_message(t, 0, t->gradient[0]);
    const int threads = t->info->gradient_flops * (double)t->count < PARALLEL_FLOPS ? 1 : t->threads;
    if (!t->info->parallel_workers || t->shared_x) { /* in turn: batches are prepared in this order; x is one */
        for (size_t w = begin; w < t->count; w++)
            worker_step(t, w, t->gradient[0]);
    } else if (threads == 1) {
        workers_zigzag(t, begin, t->count, t->gradient[0]);
    } else {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < t->n_gradients; i++)
            workers_zigzag(t, i == 0 ? begin : part_begin(t, i), part_begin(t, i + 1), t->gradient[i]);
    }
    read_batch_losses(t);
    return workers_status(t, err);
}

static void later_message(struct train *t, size_t w, unsigned round) {
    struct worker *worker = &t->worker[w];
    const double start_s = sg_clock_s();
    sg_status status =
        sg_method_send(t->method, t->first + w, round, NULL, worker->residual, NULL, &worker->message, &worker->error);
    SG_DO(status, train_measure_message(t, w, round, &worker->error));
    if (status == SG_OK && (worker->residual || sg_method_is_exact(t->method)) && !sg_method_keeps_late(t->method))
        train_measure_residual(t, w, NULL);
    put_message(t, w, round, status);
    charge_time(worker, PHASE_COMPRESSION, start_s);
}

static sg_status later_messages(struct train *t, unsigned round, struct sg_error *err) {
#pragma omp parallel for schedule(static) num_threads(t->threads) if (t->info->parallel_workers)
    for (size_t i = 0; i < t->n_gradients; i++)
        for (size_t w = part_begin(t, i); w < part_begin(t, i + 1); w++)
            later_message(t, w, round);
    return workers_status(t, err);
}

/* Keeps of an update what lies in layers that move at this step. Where some do not, pieces end with their layers. */
static void move_fragment(const struct train *t, struct sg_update *u) {
    const size_t *offset = t->info->layout.offset;
    u->piece = t->moving;
    u->weight = t->moving_weight;
    u->n_pieces = u->n_weights = 0;
    for (size_t i = 0, layer = 0; i < t->n_pieces; i++) {
        while (offset[layer + 1] <= t->piece[i].begin)
            layer++;
        if (sg_method_moves_layer(t->method, layer))
            t->moving[u->n_pieces++] = t->piece[i];
    }
    for (size_t i = 0, layer = 0; i < t->n_weights; i++) {
        while (offset[layer + 1] <= t->weight[i].offset)
            layer++;
        if (sg_method_moves_layer(t->method, layer))
            t->moving_weight[u->n_weights++] = t->weight[i];
    }
}

/* The end of this step from the sum over workers: x <- x - step. Fragments move in turn. */
static struct sg_update update_of(const struct train *t, float *sum) {
    const bool outer = t->of_x == &t->outer;
    const double rate = outer ? train_schedule_rate(&t->outer.schedule, epoch_of(t)) : t->gamma;
    const size_t fragments = sg_method_fragments(t->method);
    struct sg_update u = with_optimizer(t, t->of_x,
                                        (struct sg_update){.learning_rate = rate,
                                                           .step = t->updates / fragments,
                                                           .workers = participation_divisor(t),
                                                           .sum = sum,
                                                           .state = t->state});
    if (fragments > 1)
        move_fragment(t, &u);
    return u;
}

/* Ends an exchange; `tell` = it sends the workers' notes, as the last one of a step does. A failure of the exchange
 * itself ends the run, because the other ranks may not have it. */
static sg_status end_exchange(struct train *t, bool tell, struct sg_error *err) {
    struct sg_error trouble;
    const double start_s = sg_clock_s();
    struct sg_control control = t->mine;
    if (tell && control.status == SG_OK)
        control.status = train_wait(t, err);
    for (size_t w = 0; tell && w < t->count; w++)
        sg_comm_note(t->comm, t->first + w, t->worker[w].note);
    sg_status status = sg_comm_end(t->comm, &control, t->outcome, &trouble);
    charge_time(&t->worker[0], PHASE_EXCHANGE, start_s);
    if (status != SG_OK) {
        *err = trouble;
        sg_comm_abort(t->comm, 1);
        return status;
    }
    return t->outcome->status == SG_OK ? SG_OK : sg_comm_agree(t->comm, control.status, err);
}

static void add_volume(struct sg_volume *sum, const struct sg_volume *round) {
    sum->elements_mean += round->elements_mean;
    sum->elements_max += round->elements_max;
    sum->bits_mean += round->bits_mean;
    sum->bytes_sent += round->bytes_sent;
}

static sg_status exchange(void *of, unsigned round, size_t length, const struct sg_message **all,
                          struct sg_error *err) {
    struct train *t = of;
    const bool last = round + 1 == sg_method_rounds(t->method), in_buckets = round == 0 && train_buckets_begin(t);
    sg_comm_begin(t->comm, t->sum, length, t->kernels, &t->exec);
    if (in_buckets)
        sg_comm_only_count(t->comm);
    if (sg_method_shares_rooms(t->method))
        sg_comm_copy(t->comm);
    if (sg_method_hears(t->method))
        sg_comm_hear(t->comm);
    if (t->mine.status == SG_OK)
        t->mine.status = round == 0 ? first_messages(t, err) : later_messages(t, round, err);
    if (round == 0)
        t->mine.stop = train_stop_asked(t);
    sg_status status = in_buckets ? train_buckets_end(t, err) : SG_OK;
    SG_DO(status, end_exchange(t, last && !sg_method_keeps_late(t->method), err));
    if (status != SG_OK)
        return status;
    add_volume(&t->volume, &t->outcome->volume);
    if (sg_method_sends(t->method) && sg_method_hears(t->method))
        *all = sg_comm_messages(t->comm);
    return SG_OK;
}

static void measure_inputs(void *of) {
    train_monitor_measure(of);
}

/* Counts the message of a second compression once, however many workers receive it. */
static sg_status add_again(struct train *t, struct sg_error *err) {
    const struct sg_message *again = sg_method_again(t->method);
    double bytes = 0;
    if (!again)
        return SG_OK;
    const sg_status status = sg_comm_bytes(t->comm, again, &bytes, err);
    t->volume.elements_mean += (double)again->count / (double)t->workers;
    t->volume.bits_mean += again->bits / (double)t->workers;
    t->volume.bytes_sent += bytes / (double)t->workers;
    return status;
}

/* Completes residuals that need the sum. A separate exchange, without messages, sends their norms. */
static sg_status keep(void *of, struct sg_error *err) {
    struct train *t = of;
    const sg_status status = add_again(t, err);
    if (status != SG_OK || !sg_method_keeps_late(t->method))
        return status;
    const double start_s = sg_clock_s();
    for (size_t w = 0; w < t->count; w++) {
        sg_method_keep(t->method, t->first + w, t->worker[w].residual, t->sum);
        train_measure_residual(t, w, NULL);
    }
    charge_time(&t->worker[0], PHASE_COMPRESSION, start_s);
    sg_comm_begin(t->comm, NULL, 0, t->kernels, &t->exec);
    return end_exchange(t, true, err);
}

/* Sets *spent to what all workers sent in this step. */
static void spend(void *of, struct sg_spent *spent) {
    struct train *t = of;
    *spent = (struct sg_spent){.entries = t->volume.elements_mean, .bits = t->volume.bits_mean};
    for (size_t i = 0; i < t->workers; i++)
        spent->largest = fmax(spent->largest, t->outcome->note[i][NOTE_METHOD]);
    t->outcome->volume = t->volume;
    t->lambda = sg_method_threshold(t->method);
}

/* `earlier` is the status of this rank's last record. Only rank 0 records, and the step sends its error to all. */
sg_status train_step(struct train *t, int save, sg_status earlier, struct sg_outcome *outcome, struct sg_error *err) {
    static const struct sg_drive_hooks hooks = {lead, exchange, measure_inputs, keep, spend};
    const struct sg_drive drive = {
        .part = &t->method, .parts = 1, .sum = &t->sum, .optimizes = true, .hooks = &hooks, .of = t};
    SG_ASSERT(t->step < t->plan.steps && t->count >= 1);
    t->gamma = train_schedule_rate(&t->optimizer.schedule, epoch_of(t));
    t->mine = (struct sg_control){.status = earlier, .save = save};
    t->volume = (struct sg_volume){0};
    t->outcome = outcome;
    t->led = false;
    participation_draw(t);
    sg_status status = train_errors_begin(t, err);
    SG_DO(status, sg_method_drive(&drive, t->step, t->gamma, err));
    if (status != SG_OK)
        return status;
    SG_TRACE(2, "step %llu: %g entries, %g bits, %g bytes a worker", (unsigned long long)t->step,
             t->volume.elements_mean, t->volume.bits_mean, t->volume.bytes_sent);
    const double start_s = sg_clock_s();
    if (sg_method_moves(t->method)) {
        const struct sg_update u = update_of(t, t->sum);
        t->kernels->update(&t->exec, &u);
        t->updates++;
        for (size_t w = 0; w < t->count; w++)
            sg_method_merge(t->method, t->first + w, t->sum);
    }
    charge_time(&t->worker[0], PHASE_UPDATE, start_s);
    t->step++;
    return SG_OK;
}
