/* train_errors.c: measures gradients, the mean of the workers' residuals, and what this mean does to the gradient.
 * results/DEFINITIONS.md has the formulas of the columns.
 *
 * Means over workers come from exchanges of dense messages, which nothing counts. Such an exchange adds in the order of
 * the workers, so the numbers have the same bits for any number of ranks. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "train_private.h"

struct errors {
    struct error_needs needs;
    double gradients; /* sum over steps of gradient_norm, on the residual's scale; checkpoints hold it */
    float *sum;       /* [d] over workers; in the kernels' memory, as the next */
    float *before;    /* [d] the sum of the residuals before this step; NULL = neither lag nor curvature */
    double *layer;    /* [n_layers of the task] |ē|^2 in each layer; NULL = not recorded */
    double *sums;     /* [2][n_layers of the task] over the records, of |e_l|^2 and |g_l|^2; NULL = not recorded;
                                 * on rank 0, and checkpoints hold them */
    void *x;          /* a copy of x while the task's x is shifted; NULL = no curvature, as the next */
    char *state;      /* [workers of this rank] of the task, while gradients are computed at the shifted x */
};

const struct recorded *train_recorded(const struct train *t, enum sg_column from, enum sg_column to) {
    for (size_t i = 0; i < t->series.n_columns; i++) {
        const struct recorded *c = &t->series.column[i];
        if (!c->from_task && c->index >= from && c->index <= to)
            return c;
    }
    return NULL;
}

/* ---- memory ---- */

size_t train_errors_parts(const struct train *t, struct part *out) {
    struct errors *e = t->errors;
    if (!e)
        return 0;
    out[0] = (struct part){&e->gradients, sizeof e->gradients};
    out[1] = (struct part){e->sums, e->sums ? 2 * t->info->layout.n_layers * sizeof *e->sums : 0};
    return 2;
}

size_t train_state_bytes(const struct train *t) {
    return t->task_ops->state_bytes ? t->task_ops->state_bytes(t->task) : 0;
}

struct error_needs train_error_needs(const struct train *t) {
    const bool *wants = t->series.wants;
    const bool residual = t->config.feedback.rule->keeps && !sg_method_is_exact(train_method(t));
    struct error_needs needs = {
        .residual = residual,
        .means = residual && (wants[SG_COLUMN_ERROR_MEAN_NORM] || wants[SG_COLUMN_ERROR_COMMON]),
        .lag = residual && wants[SG_COLUMN_ERROR_LAG] && !t->of_workers,
        .curvature = residual && wants[SG_COLUMN_ERROR_CURVATURE] && !sg_method_is_local(train_method(t))};
    needs.before = needs.lag || needs.curvature;
    needs.recorded = needs.before || t->options->record_gradients;
    needs.sum = needs.means || needs.before;
    return needs;
}

/* Vectors on the host are NULL on a GPU, where the columns that need them are refused. */
sg_status train_errors_open(struct train *t, struct sg_error *err) {
    const size_t layers = t->info->layout.n_layers;
    if (!train_recorded(t, SG_COLUMN_GRADIENT_NORM, SG_COLUMN_ERROR_CURVATURE))
        return SG_OK;
    struct errors *e = t->errors = sg_calloc(1, sizeof *e);
    const struct error_needs needs = e->needs = train_error_needs(t);
    e->sum = needs.sum ? t->kernels->allocate(&t->exec, t->d * sizeof *e->sum) : NULL;
    e->before = needs.before ? t->kernels->allocate(&t->exec, t->d * sizeof *e->before) : NULL;
    e->layer = needs.means && t->series.wants_layers ? sg_calloc(layers, sizeof *e->layer) : NULL;
    e->sums = t->series.wants[SG_COLUMN_ERROR_BY_LAYER] ? sg_calloc(2 * layers, sizeof *e->sums) : NULL;
    e->x = needs.curvature ? sg_malloc(sg_task_x_bytes(t->task) + 1) : NULL;
    e->state = needs.curvature ? sg_malloc(t->count * train_state_bytes(t) + 1) : NULL;
    return (e->sum || !needs.sum) && (e->before || !needs.before)
               ? SG_OK
               : sg_fail_memory(err, "the columns of the mean residual");
}

void train_errors_close(struct train *t) {
    struct errors *e = t->errors;
    if (!e)
        return;
    t->kernels->release(&t->exec, e->sum);
    t->kernels->release(&t->exec, e->before);
    free(e->layer);
    free(e->sums);
    free(e->x);
    free(e->state);
    free(e);
    t->errors = NULL;
}

/* ---- sums over workers ---- */

/* sum [d] <- the sum of one vector of each worker, which vector_of names and which is finite. Collective. *not_finite
 * becomes true if the gradient of any worker is not finite; NULL = it is not asked. */
static sg_status add_workers(struct train *t, float *sum, const float *(*vector_of)(const struct worker *w),
                             bool *not_finite, struct sg_error *err) {
    const struct sg_control control = {0};
    struct sg_outcome outcome;
    sg_status status = SG_OK;
    sg_comm_begin(t->comm, sum, t->d, t->kernels, &t->exec);
    for (size_t w = 0; w < t->count && status == SG_OK; w++) {
        const struct sg_message dense = {.code = &sg_code_fp32,
                                         .n = t->d,
                                         .count = t->d,
                                         .data = vector_of(&t->worker[w]),
                                         .bytes = t->d * sizeof(float),
                                         .summed = true};
        const double note[SG_COMM_NOTES] = {t->worker[w].gradient_not_finite};
        status = sg_comm_put(t->comm, t->first + w, &dense, err);
        sg_comm_note(t->comm, t->first + w, note);
    }
    SG_DO(status, sg_comm_end(t->comm, &control, &outcome, err));
    if (status != SG_OK) /* the other ranks wait for this one */
        sg_comm_abort(t->comm, 1);
    for (size_t w = 0; not_finite && status == SG_OK && w < t->workers; w++)
        *not_finite |= outcome.note[w][0] != 0;
    return status;
}

static const float *residual_of(const struct worker *w) {
    return w->residual;
}

static const float *gradient_of(const struct worker *w) {
    return w->recorded;
}

static const float *shifted_of(const struct worker *w) {
    return w->shifted;
}

/* ---- before and during a step ---- */

/* Each worker's gradient of this step's batch at x - ē, which leaves the task as it was. */
static sg_status shifted_gradients(struct train *t, struct sg_error *err) {
    struct errors *e = t->errors;
    const double unit = t->config.feedback.rule->in_updates ? 1 : t->gamma;
    const size_t state_bytes = train_state_bytes(t);
    sg_status status = SG_OK;
    train_shift_x(t, e->x, e->before, unit / (double)t->workers);
#pragma omp parallel for schedule(static) num_threads(t->threads) if (t->info->parallel_workers)
    for (size_t w = 0; w < t->count; w++) {
        struct worker *worker = &t->worker[w];
        char *state = e->state + w * state_bytes;
        if (state_bytes)
            t->task_ops->state_save(t->task, t->first + w, state);
        memset(worker->shifted, 0, t->d * sizeof *worker->shifted);
        worker->error.status = t->task_ops->gradient(t->task, t->first + w, t->step, worker->shifted, &worker->error);
        worker->gradient_not_finite = worker->error.status == SG_ERR_NONFINITE;
        if (state_bytes)
            t->task_ops->state_load(t->task, t->first + w, state);
    }
    memcpy(sg_task_x(t->task), e->x, sg_task_x_bytes(t->task));
    for (size_t w = 0; w < t->count && status == SG_OK; w++)
        if (t->worker[w].error.status != SG_OK && !t->worker[w].gradient_not_finite)
            status = (*err = t->worker[w].error).status;
    return sg_comm_agree(t->comm, status, err);
}

bool train_errors_need_gradients(const struct train *t) {
    return t->errors && t->errors->before && train_records(t, t->step + 1);
}

sg_status train_errors_begin(struct train *t, struct sg_error *err) {
    const struct errors *e = t->errors;
    if (!e || !e->before || !train_records(t, t->step + 1))
        return SG_OK;
    sg_status status = add_workers(t, e->before, residual_of, NULL, err);
    if (status == SG_OK && e->needs.curvature)
        status = shifted_gradients(t, err);
    return status;
}

static bool measures_layers(const struct train *t) {
    return t->series.wants[SG_COLUMN_GRADIENT_NORM] || t->series.wants[SG_COLUMN_ERROR_WEIGHED] || t->errors->sums;
}

void train_errors_gradient(struct train *t, size_t w, const float *g) {
    struct worker *worker = &t->worker[w];
    const bool records = t->errors && train_records(t, t->step + 1);
    const size_t n = t->info->layout.n_layers, *offset = t->info->layout.offset;
    if (!t->errors)
        return;
    worker->note[NOTE_GRADIENT_NORM] = 0;
    if (t->series.wants[SG_COLUMN_ERROR_RELATIVE] || (records && t->series.wants[SG_COLUMN_GRADIENT_NORM]))
        t->kernels->sum_squares_later(&t->worker_exec, g, t->d, &worker->note[NOTE_GRADIENT_NORM]);
    for (size_t l = 0; records && worker->layers && measures_layers(t) && l < n; l++)
        worker->layers[LAYER_GRADIENT_NORM * n + l] =
            t->kernels->sum_squares(&t->worker_exec, g + offset[l], offset[l + 1] - offset[l]);
}

/* ---- after a step ---- */

/* The mean residual's squared norm, and that of each layer. */
static sg_status measure_mean(struct train *t, double *norm, struct sg_error *err) {
    struct errors *e = t->errors;
    const size_t n = t->info->layout.n_layers, *offset = t->info->layout.offset;
    const double squared = (double)t->workers * (double)t->workers;
    const sg_status status = add_workers(t, e->sum, residual_of, NULL, err);
    if (status != SG_OK)
        return status;
    *norm = t->kernels->sum_squares(&t->exec, e->sum, t->d) / squared;
    for (size_t l = 0; e->layer && l < n; l++)
        e->layer[l] = t->kernels->sum_squares(&t->exec, e->sum + offset[l], offset[l + 1] - offset[l]) / squared;
    return SG_OK;
}

/* <ē, g> / |g|^2 from both sums, in double and in the order of the parameters. */
static sg_status measure_lag(struct train *t, double *lag, struct sg_error *err) {
    const struct errors *e = t->errors;
    double along = 0, square = 0;
    const sg_status status = add_workers(t, e->sum, gradient_of, NULL, err);
    if (status != SG_OK)
        return status;
    for (size_t j = 0; j < t->d; j++) {
        along += (double)e->before[j] * (double)e->sum[j];
        square += (double)e->sum[j] * (double)e->sum[j];
    }
    *lag = square > 0 ? along / square / sg_method_unit(t->method) : 0;
    return SG_OK;
}

/* |(1/n) sum_i (g_i(x) - g_i(x - ē))|^2; NaN if a gradient at x - ē is not finite, which must not end the run. */
static sg_status measure_curvature(struct train *t, double *curvature, struct sg_error *err) {
    const struct errors *e = t->errors;
    bool not_finite = false;
    for (size_t w = 0; w < t->count; w++) {
        struct worker *worker = &t->worker[w];
        for (size_t j = 0; j < t->d; j++)
            worker->shifted[j] = worker->recorded[j] - worker->shifted[j];
        worker->gradient_not_finite |= !isfinite(t->kernels->sum_squares(&t->exec, worker->shifted, t->d));
        if (worker->gradient_not_finite)
            memset(worker->shifted, 0, t->d * sizeof *worker->shifted);
    }
    const sg_status status = add_workers(t, e->sum, shifted_of, &not_finite, err);
    if (status == SG_OK && !not_finite)
        *curvature = t->kernels->sum_squares(&t->exec, e->sum, t->d) / ((double)t->workers * (double)t->workers);
    return status;
}

sg_status train_errors_record(struct train *t, const struct sg_outcome *outcome, double value[SG_COLUMNS],
                              struct sg_error *err) {
    struct errors *e = t->errors;
    const double n = (double)t->workers, present = (double)t->present, unit = sg_method_unit(t->method),
                 *norm = &value[SG_COLUMN_ERROR_MEAN_NORM];
    sg_status status = SG_OK;
    double gradient = 0;
    if (!e)
        return SG_OK;
    for (size_t w = 0; w < t->workers; w++)
        gradient += outcome->note[w][NOTE_GRADIENT_NORM] / present;
    e->gradients += unit * unit * gradient;
    value[SG_COLUMN_GRADIENT_NORM] = gradient;
    value[SG_COLUMN_ERROR_RELATIVE] = e->gradients > 0 && !t->of_workers ? train_total_error(t) / e->gradients : NAN;
    if (!train_records(t, t->step))
        return SG_OK;
    if (!t->worker[0].residual && t->config.feedback.rule->keeps) { /* it is always zero */
        value[SG_COLUMN_ERROR_LAG] = 0;
        value[SG_COLUMN_ERROR_CURVATURE] = sg_method_is_local(t->method) ? (double)NAN : 0;
    }
    if (t->of_workers) /* a residual is not on the scale of gradients */
        value[SG_COLUMN_ERROR_LAG] = NAN;
    if (e->needs.means)
        status = measure_mean(t, &value[SG_COLUMN_ERROR_MEAN_NORM], err);
    value[SG_COLUMN_ERROR_COMMON] = n > 1 ? (n * *norm - value[SG_COLUMN_ERROR_NORM]) / (n - 1) : NAN;
    if (status == SG_OK && e->needs.lag)
        status = measure_lag(t, &value[SG_COLUMN_ERROR_LAG], err);
    if (status == SG_OK && e->needs.curvature)
        status = measure_curvature(t, &value[SG_COLUMN_ERROR_CURVATURE], err);
    return status;
}

const double *train_errors_layers(const struct train *t) {
    return t->errors ? t->errors->layer : NULL;
}

void train_errors_weigh_layers(struct train *t, double value[SG_COLUMNS]) {
    const size_t n = t->info->layout.n_layers, *offset = t->info->layout.offset, each = LAYER_COLUMNS * n;
    const double *all = t->series.layers_all, unit = sg_method_unit(t->method),
                 on_x = t->config.feedback.rule->in_updates ? 1 : t->gamma;
    double *sums = t->errors ? t->errors->sums : NULL, mean = 0, weighed = 0;
    if (!t->errors || !t->series.keeps_layers || !t->config.feedback.rule->keeps || t->of_workers)
        return;
    for (size_t l = 0; l < n; l++) {
        const double size = (double)(offset[l + 1] - offset[l]);
        double error = 0, gradient = 0; /* of this record */
        for (size_t w = 0; w < t->workers; w++) {
            const double e = all[w * each + LAYER_ERROR_NORM * n + l] / (double)t->workers,
                         g = all[w * each + LAYER_GRADIENT_NORM * n + l];
            error += e;
            gradient += g / (double)t->present;
            if (!sums)
                continue;
            sums[l] += e;
            sums[n + l] += unit * unit * g / (double)t->present;
        }
        if (size > 0)
            weighed += pow(gradient / size, 2) * on_x * on_x * error;
        if (sums && sums[n + l] > 0) /* else no gradient has been seen, and nothing waits */
            mean += sums[l] / sums[n + l] * size / (double)t->d;
    }
    value[SG_COLUMN_ERROR_BY_LAYER] = sums ? mean : NAN;
    value[SG_COLUMN_ERROR_WEIGHED] = weighed;
}
