#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_terminal.h"
#include "train_state.h"

enum { NOTE_ERROR_NORM = 0 }; /* slots of sg_contribution.note */

static const double PARALLEL_FLOPS = 1e5; /* below this work per step a second thread costs more than it gives */
static const double CHECKPOINT_EVERY_S = 60;

/* ---- set-up ---------------------------------------------------------------------------------------------------- */

static sg_status number_of(double *out, const struct train *t, const struct sg_node *node, const char *what,
                           struct sg_error *err) {
    if (!node || node->kind == SG_NODE_NULL) {
        *out = NAN;
        return SG_OK;
    }
    sg_status status = sg_expression(out, node->string, t->constant, t->n_constants, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "%s: ", what);
}

static sg_status add_constant(struct train *t, const char *name, double value, struct sg_error *err) {
    struct sg_constant *more = realloc(t->constant, (t->n_constants + 1) * sizeof *more);
    if (!more)
        return sg_fail_memory(err, "constants");
    t->constant = more;
    t->constant[t->n_constants++] = (struct sg_constant){name, value};
    return SG_OK;
}

static sg_status open_task(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *kind = sg_node_string(cell, "task.kind", "");
    t->task_kind = sg_task_kind_find(kind);
    sg_status status =
        t->task_kind ? sg_task_load(&t->task_ops, kind, err) : sg_fail(err, SG_ERR_ARGUMENT, "unknown task '%s'", kind);
    if (status == SG_OK)
        status = train_columns(&t->column, &t->n_columns, t->options->cell, t->task_kind, err);
    if (status != SG_OK)
        return status;
    struct sg_task_config config = {.task = sg_node_get(cell, "task"),
                                    .workers = t->workers,
                                    .first = t->first,
                                    .count = t->count,
                                    .batch = (size_t)sg_node_number(cell, "batch", 1),
                                    .seed = t->options->cell->seed,
                                    .threads = t->threads,
                                    .data_dir = t->options->data_dir,
                                    .device = t->options->device,
                                    .lead = sg_comm_rank(t->comm) == 0,
                                    .progress = t->options->progress};
    /* Rank 0 goes first, so that caches are made once and then shared. */
    if (config.lead)
        status = t->task_ops->open(&t->task, &config, err);
    status = sg_comm_agree(t->comm, status, err);
    if (status == SG_OK && !config.lead)
        status = t->task_ops->open(&t->task, &config, err);
    status = sg_comm_agree(t->comm, status, err);
    if (status != SG_OK)
        return status;
    t->info = t->task_ops->info(t->task);
    t->d = t->info->d;
    for (size_t i = 0; i < t->info->n_constants && status == SG_OK; i++)
        status = add_constant(t, t->info->constant[i].name, t->info->constant[i].value, err);
    return status;
}

/* Hosts may differ in what they run. */
static sg_status choose_kernels(struct train *t, struct sg_error *err) {
    t->kernels = sg_kernels_cpu(NULL);
    return t->kernels ? SG_OK
                      : sg_fail(err, SG_ERR_UNSUPPORTED,
                                "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)", getenv("SG_CPU"));
}

static sg_status choose_steps(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    double steps = sg_node_number(cell, "steps", NAN);
    if (isnan(steps))
        steps = floor(sg_node_number(cell, "epochs", 0) * (double)t->info->steps_per_epoch + 0.5);
    if (!(steps >= 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "epochs: less than one step; an epoch has %llu steps",
                       (unsigned long long)t->info->steps_per_epoch);
    t->steps = (uint64_t)steps;
    t->every = (uint64_t)sg_node_number(cell, "record.every", 1);
    return SG_OK;
}

static sg_status choose_feedback(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *form = sg_node_string(cell, "error-feedback.form", "update");
    t->feedback.form = strcmp(form, "none") == 0       ? SG_FEEDBACK_NONE
                       : strcmp(form, "gradient") == 0 ? SG_FEEDBACK_GRADIENT
                                                       : SG_FEEDBACK_UPDATE;
    t->feedback.decay = sg_node_number(cell, "error-feedback.decay", 1);
    t->layout = t->info->layout;
    if (strcmp(sg_node_string(cell, "scope", "layer"), "model") == 0) {
        t->whole[1] = t->d;
        t->layout = (struct sg_layout){.n_layers = 1, .offset = t->whole};
    }
    double gamma;
    sg_status status =
        number_of(&gamma, t, sg_node_get(cell, "optimizer.learning-rate"), "optimizer.learning-rate", err);
    if (status == SG_OK && !(gamma > 0 && isfinite(gamma)))
        return sg_fail(err, SG_ERR_ARGUMENT, "optimizer.learning-rate: must be a positive number, is %g", gamma);
    t->gamma = gamma;
    return status == SG_OK ? add_constant(t, "gamma", gamma, err) : status;
}

static sg_status choose_compressor(struct train *t, struct sg_error *err) {
    const struct sg_node *method = t->options->cell->method;
    const char *name = sg_node_string(method, "compressor", "");
    t->compressor_ops = sg_compressor_find(name);
    if (!t->compressor_ops)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown compressor '%s'", name);
    size_t n = t->compressor_ops->n_params;
    t->compressor_param = calloc(n ? n : 1, sizeof(double));
    sg_status status = t->compressor_param ? SG_OK : sg_fail_memory(err, "compressor parameters");
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        const char *key = t->compressor_ops->params[i].name;
        status = number_of(&t->compressor_param[i], t, sg_node_get(method, key), key, err);
    }
    if (status == SG_OK)
        status = sg_compressor_check(t->compressor_ops, t->compressor_param, t->d, err);
    if (status != SG_OK)
        return sg_prefix(err, "method '%s': ", t->options->cell->label);
    if ((t->compressor_ops->traits & SG_TRAIT_ABSOLUTE) && t->compressor_ops->bound) {
        /* Remark 5: |e|^2 <= gamma^2 nu^2, in the units of the residual. */
        double scale = t->feedback.form == SG_FEEDBACK_UPDATE ? t->gamma : 1;
        status =
            add_constant(t, "error_bound", scale * scale * t->compressor_ops->bound(t->compressor_param, t->d), err);
    }
    return status;
}

/* How messages travel; fp16 values are rounded by the compressor, whose residual takes the error. */
static sg_status choose_message(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *encoding = sg_node_string(cell, "message.encoding", "raw");
    struct sg_wire_format format = {.encoding = sg_wire_find(encoding)};
    if (!format.encoding && strcmp(encoding, "auto") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown encoding '%s'", encoding);
    t->precision = strcmp(sg_node_string(cell, "message.values", "fp32"), "fp16") == 0 ? SG_FP16 : SG_FP32;
    format.precision = t->precision;
    sg_comm_set_format(t->comm, &format);
    return SG_OK;
}

static sg_status choose_optimizer(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *name = sg_node_string(cell, "optimizer.kind", "");
    t->optimizer_ops = sg_optimizer_find(name);
    if (!t->optimizer_ops)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown optimizer '%s'", name);
    size_t n = t->optimizer_ops->n_params;
    t->optimizer_param = calloc(n ? n : 1, sizeof(double));
    if (!t->optimizer_param)
        return sg_fail_memory(err, "optimizer parameters");
    const struct sg_node *section = sg_node_get(cell, "optimizer");
    for (size_t i = 0; i < n; i++)
        t->optimizer_param[i] =
            sg_node_number(section, t->optimizer_ops->params[i].name, t->optimizer_ops->params[i].preset);
    if (t->feedback.form == SG_FEEDBACK_UPDATE) {
        const char *why = t->optimizer_ops->refuses_update_form(t->optimizer_param);
        return why ? sg_fail(err, SG_ERR_ARGUMENT, "error-feedback 'update' with optimizer '%s': %s", name, why)
                   : SG_OK;
    }
    t->optimizer_floats = t->optimizer_ops->state_floats(t->optimizer_param, t->d);
    t->optimizer_state = calloc(t->optimizer_floats ? t->optimizer_floats : 1, sizeof(float));
    return t->optimizer_state ? SG_OK : sg_fail_memory(err, "optimizer state");
}

static sg_status allocate(struct train *t, struct sg_error *err) {
    t->compressor = calloc(t->count, sizeof *t->compressor);
    t->residual = calloc(t->count, sizeof *t->residual);
    t->message = calloc(t->count, sizeof *t->message);
    t->note = calloc(t->count, sizeof *t->note);
    t->worker_error = calloc(t->count, sizeof *t->worker_error);
    t->gradient = calloc((size_t)t->threads, sizeof *t->gradient);
    t->sum = calloc(t->d, sizeof *t->sum);
    t->capacity = t->task_ops->queue_capacity;
    t->row = calloc(t->capacity, sizeof *t->row);
    t->evaluated = calloc(t->capacity * t->task_kind->n_metrics + 1, sizeof *t->evaluated);
    bool whole = t->compressor && t->residual && t->message && t->note && t->worker_error && t->gradient && t->sum &&
                 t->row && t->evaluated;
    for (int i = 0; whole && i < t->threads; i++)
        whole = (t->gradient[i] = malloc(t->d * sizeof(float))) != NULL;
    bool exact = (t->compressor_ops->traits & SG_TRAIT_EXACT) && t->precision == SG_FP32;
    bool keeps = t->feedback.form != SG_FEEDBACK_NONE && !exact;
    for (size_t w = 0; whole && w < t->count && keeps; w++)
        whole = (t->residual[w] = calloc(t->d, sizeof(float))) != NULL;
    if (!whole)
        return sg_fail(err, SG_ERR_MEMORY, "out of memory for %zu workers of %zu parameters: use more ranks", t->count,
                       t->d);
    sg_status status = SG_OK;
    for (size_t w = 0; w < t->count && status == SG_OK; w++) {
        struct sg_compressor_config config = {.ops = t->compressor_ops,
                                              .param = t->compressor_param,
                                              .layout = t->layout,
                                              .feedback = t->feedback,
                                              .precision = t->precision,
                                              .seed = t->options->cell->seed,
                                              .worker = (uint32_t)(t->first + w),
                                              .kernels = t->kernels,
                                              .exec = {.threads = 1}};
        status = sg_compressor_open(&t->compressor[w], &config, err);
    }
    return status;
}

/* Never silently: generated data are announced here, and named in results and plots. */
static void announce_stand_in(const struct train *t) {
    cJSON *facts = t->task_ops->describe(t->task);
    if (t->options->notice && strcmp(sg_json_string(facts, "dataset.source", ""), "generated") == 0) {
        char text[256];
        snprintf(text, sizeof text, "data set '%s' was not found: using generated data (%s); results say so",
                 sg_json_string(facts, "dataset.name", ""), sg_json_string(facts, "dataset.generator", ""));
        t->options->notice(text);
    }
    cJSON_Delete(facts);
}

static sg_status setup(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    t->workers = (size_t)sg_node_number(cell, "workers", 1);
    sg_status status = sg_comm_set_workers(t->comm, t->workers, err);
    if (status != SG_OK)
        return status;
    t->first = sg_comm_first(t->comm);
    t->count = sg_comm_count(t->comm);
    t->threads = t->options->threads > 0 ? t->options->threads : sg_cores(sg_comm_local_ranks(t->comm));
    sg_status (*const part[])(struct train *, struct sg_error *) = {choose_kernels,   open_task,         choose_steps,
                                                                    choose_feedback,  choose_compressor, choose_message,
                                                                    choose_optimizer, allocate};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if ((status = sg_comm_agree(t->comm, part[i](t, err), err)) != SG_OK)
            return status;
    announce_stand_in(t);
    for (size_t i = 0; i < t->n_columns; i++) {
        t->wants_evaluation |= t->column[i].from_task;
        t->wants_error |= !t->column[i].from_task &&
                          (t->column[i].index == COLUMN_ERROR_NORM || t->column[i].index == COLUMN_TOTAL_ERROR);
    }
    return SG_OK;
}

static void teardown(struct train *t) {
    for (size_t w = 0; w < t->count; w++) {
        if (t->compressor)
            sg_compressor_close(t->compressor[w]);
        if (t->residual)
            free(t->residual[w]);
    }
    for (int i = 0; t->gradient && i < t->threads; i++)
        free(t->gradient[i]);
    if (t->task)
        t->task_ops->close(t->task);
    void *const owned[] = {t->compressor,
                           t->residual,
                           t->message,
                           t->note,
                           t->worker_error,
                           t->gradient,
                           t->sum,
                           t->row,
                           t->evaluated,
                           t->optimizer_state,
                           t->optimizer_param,
                           t->compressor_param,
                           t->column,
                           t->constant};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

size_t train_x_bytes(const struct train *t) {
    return t->d * (t->info->dtype == SG_FLOAT64 ? sizeof(double) : sizeof(float));
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static sg_status worker_step(struct train *t, size_t w, float *g) {
    struct sg_error *err = &t->worker_error[w];
    sg_status status = t->task_ops->gradient(t->task, t->first + w, t->step, g, err);
    if (status == SG_OK)
        status = sg_compressor_run(t->compressor[w], t->gamma, t->step, g, t->residual[w], &t->message[w], err);
    if (status == SG_OK && t->wants_error)
        t->note[w][NOTE_ERROR_NORM] =
            t->residual[w] ? t->kernels->sum_squares(&(struct sg_exec){.threads = 1}, t->residual[w], t->d) : 0;
    return err->status = status;
}

/* Workers are independent until the exchange, so threads change nothing but the time. */
static sg_status local_steps(struct train *t, struct sg_error *err) {
    int threads =
        !t->info->parallel_workers || t->info->gradient_flops * (double)t->count < PARALLEL_FLOPS ? 1 : t->threads;
    if (threads == 1) {
        for (size_t w = 0; w < t->count; w++)
            worker_step(t, w, t->gradient[0]);
    } else {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t w = 0; w < t->count; w++)
            worker_step(t, w, t->gradient[omp_get_thread_num()]);
    }
    for (size_t w = 0; w < t->count; w++)
        if (t->worker_error[w].status != SG_OK) {
            *err = t->worker_error[w];
            return err->status;
        }
    return SG_OK;
}

/* x <- x - step, from the sum of all messages. */
static void update(struct train *t) {
    float n = (float)t->workers;
    for (size_t j = 0; j < t->d; j++)
        t->sum[j] /= n;
    if (t->feedback.form != SG_FEEDBACK_UPDATE)
        t->optimizer_ops->step(t->optimizer_state, t->optimizer_param, t->gamma, t->step, t->sum,
                               t->task_ops->parameters(t->task), t->info->dtype, t->d);
    t->task_ops->subtract(t->task, t->sum);
}

static void account(struct train *t, const struct sg_outcome *outcome, double value[N_COLUMNS]) {
    const struct sg_volume *v = &outcome->volume;
    double error = 0;
    for (size_t i = 0; i < t->workers; i++)
        error += outcome->note[i][NOTE_ERROR_NORM];
    error /= (double)t->workers;
    t->totals.steps += 1;
    t->totals.bits += v->bits_mean;
    t->totals.values += v->elements_mean;
    t->totals.bytes += v->bytes_sent;
    t->totals.total_error += error;
    double d = (double)t->d;
    value[COLUMN_BITS] = t->totals.bits;
    value[COLUMN_BITS_VALUES] = 32 * t->totals.values;
    value[COLUMN_DENSITY] = v->elements_mean / d;
    value[COLUMN_AVERAGE_DENSITY] = t->totals.values / t->totals.steps / d;
    value[COLUMN_DENSITY_PADDED] = v->elements_max / d;
    value[COLUMN_BYTES_SENT] = t->totals.bytes;
    value[COLUMN_ERROR_NORM] = error;
    value[COLUMN_TOTAL_ERROR] = t->totals.total_error;
}

/* The point before the first step: nothing sent, densities not defined. */
static sg_status record_start(struct train *t, struct sg_error *err) {
    double value[N_COLUMNS] = {0};
    value[COLUMN_DENSITY] = value[COLUMN_AVERAGE_DENSITY] = value[COLUMN_DENSITY_PADDED] = NAN;
    return train_record(t, value, err);
}

/* `earlier`: status of this rank's last recording. Only rank 0 records, so the others learn of a failure here. */
static sg_status one_step(struct train *t, int save, sg_status earlier, struct sg_outcome *outcome,
                          struct sg_error *err) {
    struct sg_contribution mine = {
        .message = t->message, .note = (const double(*)[SG_COMM_NOTES])t->note, .save = save};
    mine.status = earlier == SG_OK ? local_steps(t, err) : earlier;
    mine.stop = t->options->stop ? t->options->stop() : 0;
    struct sg_error trouble;
    const struct sg_exec exec = {.threads = t->threads};
    sg_status status = sg_comm_exchange(t->comm, &mine, t->sum, t->d, t->kernels, &exec, outcome, &trouble);
    if (status != SG_OK) {
        *err = trouble;
        sg_comm_abort(t->comm, 1);
        return status;
    }
    if (outcome->status != SG_OK)
        return sg_comm_agree(t->comm, mine.status, err);
    update(t);
    t->step++;
    return SG_OK;
}

static sg_status loop(struct train *t, struct sg_error *err) {
    double saved_s = sg_clock_s();
    int stop = 0;
    sg_status recorded = SG_OK;
    while (t->step < t->steps && !stop) {
        bool due = t->options->checkpoint_every ? (t->step + 1) % t->options->checkpoint_every == 0
                                                : sg_clock_s() - saved_s > CHECKPOINT_EVERY_S;
        struct sg_outcome outcome;
        sg_status status = one_step(t, due && sg_comm_rank(t->comm) == 0, recorded, &outcome, err);
        if (status != SG_OK)
            return status;
        double value[N_COLUMNS];
        account(t, &outcome, value);
        if (t->step % t->every == 0 || t->step == t->steps)
            recorded = train_record(t, value, err);
        stop = outcome.stop;
        if ((outcome.save || stop) && t->step < t->steps) {
            status = sg_comm_agree(t->comm, recorded, err);
            if (status == SG_OK)
                status = train_save(t, err);
            if (status != SG_OK)
                return status;
            saved_s = sg_clock_s();
        }
        if (t->options->progress)
            t->options->progress("", (double)t->step, (double)t->steps);
    }
    recorded = sg_comm_agree(t->comm, recorded, err);
    if (recorded == SG_OK && t->step < t->steps)
        return sg_fail(err, SG_ERR_INTERRUPTED, "stopped by signal %d after step %llu of %llu", stop,
                       (unsigned long long)t->step, (unsigned long long)t->steps);
    return recorded;
}

/* All ranks must hold the same x; anything else is a bug or broken memory, and the numbers cannot be trusted. */
static sg_status verify_same_parameters(struct train *t, struct sg_error *err) {
    char mine[65], lead[65];
    sg_sha256_of(t->task_ops->parameters(t->task), train_x_bytes(t), mine);
    memcpy(lead, mine, sizeof lead);
    sg_status status = sg_comm_broadcast(t->comm, lead, sizeof lead, err);
    if (status == SG_OK && memcmp(mine, lead, sizeof mine) != 0)
        status = sg_fail(err, SG_ERR_COMM, "the parameters differ from rank 0's after step %llu",
                         (unsigned long long)t->step);
    return sg_comm_agree(t->comm, status, err);
}

static const char *word_for(sg_status status) {
    return status == SG_OK                ? "ok"
           : status == SG_ERR_NONFINITE   ? "diverged"
           : status == SG_ERR_INTERRUPTED ? "interrupted"
                                          : "failed";
}

sg_status sg_train_run(struct sg_train_report *report, sg_comm *comm, const struct sg_train_options *options,
                       struct sg_error *err) {
    struct train t = {.options = options, .comm = comm};
    char started_at[21];
    sg_clock_utc(started_at);
    double start_s = sg_clock_s();
    *report = (struct sg_train_report){0};
    bool resumed = false, header = false;
    sg_status status = setup(&t, err);
    if (status == SG_OK)
        status = train_load(&t, &resumed, err);
    if (status == SG_OK && !resumed) {
        status = t.task_ops->start(t.task, err);
        if (status == SG_OK && options->series)
            status = train_header(&t, err);
        if (status == SG_OK)
            status = record_start(&t, err);
        status = sg_comm_agree(comm, status, err);
    }
    header = status == SG_OK;
    double loop_s = t.last_flush_s = sg_clock_s();
    report->setup_s = loop_s - start_s;
    if (status == SG_OK)
        status = loop(&t, err);
    if (status == SG_OK)
        status = verify_same_parameters(&t, err);
    if (header) {
        struct sg_error trouble; /* the first error wins, but a failed write of a good run is one */
        sg_status last = train_flush(&t, &trouble);
        report->elapsed_s = sg_clock_s() - loop_s;
        report->steps = t.step;
        snprintf(report->status, sizeof report->status, "%s", word_for(status));
        if (last == SG_OK)
            last = train_ending(&t, report, started_at, status == SG_OK ? NULL : err->msg, &trouble);
        if (status == SG_OK && last != SG_OK) {
            *err = trouble;
            status = last;
        }
    }
    snprintf(report->status, sizeof report->status, "%s", word_for(status));
    teardown(&t);
    return status;
}
