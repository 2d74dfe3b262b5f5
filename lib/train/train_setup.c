/* train_setup.c: from a recipe's cell to a run that can step, and its end. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_terminal.h"
#include "train_state.h"

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
                                    .device = t->device,
                                    .kernels = t->kernels,
                                    .exec = t->exec,
                                    .lead = t->lead,
                                    .progress = t->options->progress,
                                    .notice = t->lead ? t->options->notice : NULL};
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
    if (t->gpu && train_gpu_check_task(t, err) != SG_OK)
        return err->status;
    for (size_t i = 0; i < t->info->n_constants && status == SG_OK; i++)
        status = add_constant(t, t->info->constant[i].name, t->info->constant[i].value, err);
    return status;
}

/* Hosts may differ in what they run. */
static sg_status choose_kernels(struct train *t, struct sg_error *err) {
    t->exec = (struct sg_exec){.threads = t->threads};
    if (strcmp(t->options->device, "cpu") != 0)
        return train_gpu_open(t, err);
    snprintf(t->device, sizeof t->device, "cpu");
    t->kernels = sg_kernels_cpu(NULL);
    return t->kernels ? SG_OK
                      : sg_fail(err, SG_ERR_UNSUPPORTED,
                                "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)", getenv("SG_CPU"));
}

static const double MOST_STEPS = 9007199254740992; /* 2^53: a double counts them one by one up to there */

static sg_status choose_steps(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    double steps = sg_node_number(cell, "steps", NAN);
    if (isnan(steps))
        steps = floor(sg_node_number(cell, "epochs", 0) * (double)t->info->steps_per_epoch + 0.5);
    if (!(steps >= 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "epochs: less than one step; an epoch has %llu steps",
                       (unsigned long long)t->info->steps_per_epoch);
    if (!(steps <= MOST_STEPS))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "epochs: %g steps, %llu an epoch, are more than the 2^53 that can be counted", steps,
                       (unsigned long long)t->info->steps_per_epoch);
    t->steps = (uint64_t)steps;
    t->every = (uint64_t)sg_node_number(cell, "record.every", 1);
    t->evaluate_epochs = sg_node_number(cell, "record.evaluate", t->info->evaluation == SG_EVALUATE_SHARED ? 1 : NAN);
    t->wants_layers = sg_node_bool(cell, "record.layers", false);
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
    if (status == SG_OK)
        status = train_schedule_read(&t->schedule, sg_node_get(cell, "optimizer"), gamma, err);
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
        double scale = t->feedback.form == SG_FEEDBACK_UPDATE ? train_schedule_largest(&t->schedule) : 1;
        double bound = scale * scale * t->compressor_ops->bound(t->compressor_param, t->d);
        if (!isnan(bound)) /* a budget has none */
            status = add_constant(t, "error_bound", bound, err);
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
    if (t->gpu && !t->kernels->has_optimizer(name))
        return sg_fail(err, SG_ERR_UNSUPPORTED, "optimizer '%s' does not run on a GPU: use --device cpu", name);
    t->optimizer_floats = t->optimizer_ops->state_floats(t->optimizer_param, t->d);
    t->optimizer_state = t->kernels->allocate(&t->exec, t->optimizer_floats * sizeof(float));
    return t->optimizer_state ? SG_OK : sg_fail_memory(err, "optimizer state");
}

/* Layers without weight decay are pieces of their own; other borders do not matter to the optimizer. */
static sg_status cut_pieces(struct train *t, struct sg_error *err) {
    const size_t whole[2] = {0, t->d};
    const bool *no_decay = t->info->no_decay;
    const size_t n_layers = no_decay ? t->info->layout.n_layers : 1;
    const size_t *offset = no_decay ? t->info->layout.offset : whole;
    const size_t bytes = (t->d / PIECE_ELEMENTS + n_layers) * sizeof(struct sg_piece);
    struct sg_piece *piece = malloc(bytes);
    t->piece = t->kernels->allocate(&t->exec, bytes);
    if (!piece || !t->piece) {
        free(piece);
        return sg_fail_memory(err, "the update");
    }
    for (size_t l = 0; l < n_layers; l++)
        for (size_t begin = offset[l], end = offset[l + 1]; begin < end; begin += PIECE_ELEMENTS)
            piece[t->n_pieces++] = (struct sg_piece){begin, end - begin < PIECE_ELEMENTS ? end : begin + PIECE_ELEMENTS,
                                                     !no_decay || !no_decay[l]};
    t->kernels->put(&t->exec, t->piece, piece, t->n_pieces * sizeof *piece);
    free(piece);
    return SG_OK;
}

static sg_status open_compressors(struct train *t, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t w = 0; w < t->count && status == SG_OK; w++) {
        struct sg_compressor_config config = {.ops = t->compressor_ops,
                                              .param = t->compressor_param,
                                              .layout = t->layout,
                                              .feedback = t->feedback,
                                              .precision = t->precision,
                                              .seed = t->options->cell->seed,
                                              .worker = (uint32_t)(t->first + w),
                                              .steps_per_epoch = t->info->steps_per_epoch,
                                              .steps = t->steps,
                                              .kernels = t->kernels,
                                              .exec = t->worker_exec,
                                              .index = t->index,
                                              .value = t->value};
        status = sg_compressor_open(&t->compressor[w], &config, err);
    }
    return status;
}

enum { ROWS = 64 }; /* that may wait to be written where the task has no queue */

static bool allocate_buffers(struct train *t) {
    t->compressor = calloc(t->count, sizeof *t->compressor);
    t->residual = calloc(t->count, sizeof *t->residual);
    t->message = calloc(t->count, sizeof *t->message);
    t->note = calloc(t->count, sizeof *t->note);
    t->worker_error = calloc(t->count, sizeof *t->worker_error);
    t->spent = calloc(t->count, sizeof *t->spent);
    t->gradient = calloc(t->n_gradients, sizeof *t->gradient);
    t->sum = t->kernels->allocate(&t->exec, t->d * sizeof *t->sum);
    t->capacity = t->info->evaluation == SG_EVALUATE_QUEUED ? t->task_ops->queue_capacity : ROWS;
    t->row = calloc(t->capacity, sizeof *t->row);
    t->evaluated = calloc(t->capacity * t->task_kind->n_metrics + 1, sizeof *t->evaluated);
    t->layers_now = calloc(LAYER_COLUMNS * t->info->layout.n_layers, sizeof *t->layers_now);
    t->layers_mine =
        t->wants_layers ? calloc(t->count * LAYER_COLUMNS * t->info->layout.n_layers, sizeof *t->layers_mine) : NULL;
    bool whole = t->compressor && t->residual && t->message && t->note && t->worker_error && t->spent && t->gradient &&
                 t->sum && t->row && t->evaluated && t->layers_now && (t->layers_mine || !t->wants_layers);
    for (size_t i = 0; whole && i < t->n_gradients; i++)
        whole = (t->gradient[i] = t->kernels->allocate(&t->exec, t->d * sizeof(float))) != NULL;
    for (size_t w = 0; whole && w < t->count && t->feedback.form != SG_FEEDBACK_NONE && !t->exact; w++)
        whole = (t->residual[w] = t->kernels->allocate(&t->exec, t->d * sizeof(float))) != NULL;
    return whole;
}

/* Workers that take turns have all threads for their compression. */
static sg_status allocate(struct train *t, struct sg_error *err) {
    t->exact = (t->compressor_ops->traits & SG_TRAIT_EXACT) && t->precision == SG_FP32;
    t->n_gradients = t->info->parallel_workers ? (size_t)t->threads : 1;
    t->worker_exec = t->exec;
    t->worker_exec.threads = t->info->parallel_workers ? 1 : t->threads;
    if (!allocate_buffers(t))
        return sg_fail(err, SG_ERR_MEMORY, "out of memory for %zu workers of %zu parameters: use more ranks", t->count,
                       t->d);
    sg_status status = cut_pieces(t, err);
    if (status == SG_OK && t->gpu)
        status = train_gpu_allocate(t, err);
    return status == SG_OK ? open_compressors(t, err) : status;
}

static void announce(const struct train *t, const char *format, ...) SG_PRINTF(2, 3);
static void announce(const struct train *t, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (t->options->notice)
        t->options->notice(text);
}

/* Never silently: data that are not what their name says are announced here, and results name them. */
static void announce_data(const struct train *t) {
    cJSON *facts = t->task_ops->describe(t->task);
    const char *name = sg_json_string(facts, "dataset.name", "");
    const char *train = sg_json_string(facts, "dataset.train_file", "train");
    if (strcmp(sg_json_string(facts, "dataset.source", ""), "generated") == 0)
        announce(t, "data set '%s' was not found: using generated data (%s); results say so", name,
                 sg_json_string(facts, "dataset.generator", ""));
    else if (!sg_json_bool(facts, "dataset.verified", true))
        announce(t, "data set '%s' is not the publisher's copy (SHA-256 %.12s…); results say so", name,
                 sg_json_string(facts, "dataset.sha256", ""));
    if (strcmp(train, "train") != 0)
        announce(t, "training on the file '%s' of data set '%s', evaluating on '%s'; results say so", train, name,
                 sg_json_string(facts, "dataset.test_file", ""));
    cJSON_Delete(facts);
}

sg_status train_setup(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    t->workers = (size_t)sg_node_number(cell, "workers", 1);
    sg_status status = sg_comm_set_workers(t->comm, t->workers, err);
    if (status != SG_OK)
        return status;
    t->lead = sg_comm_rank(t->comm) == 0;
    t->first = sg_comm_first(t->comm);
    t->count = sg_comm_count(t->comm);
    t->threads = t->options->threads > 0 ? t->options->threads : sg_cores(sg_comm_local_ranks(t->comm));
    sg_status (*const part[])(struct train *, struct sg_error *) = {choose_kernels,   open_task,         choose_steps,
                                                                    choose_feedback,  choose_compressor, choose_message,
                                                                    choose_optimizer, allocate};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if ((status = sg_comm_agree(t->comm, part[i](t, err), err)) != SG_OK)
            return status;
    announce_data(t);
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->column[i].from_task)
            t->wants_evaluation = true;
        else
            t->wants[t->column[i].index] = true;
    return SG_OK;
}

void train_teardown(struct train *t) {
    for (size_t w = 0; w < t->count; w++) {
        if (t->compressor)
            sg_compressor_close(t->compressor[w]);
        if (t->residual)
            t->kernels->release(&t->exec, t->residual[w]);
    }
    for (size_t i = 0; t->gradient && i < t->n_gradients; i++)
        t->kernels->release(&t->exec, t->gradient[i]);
    for (size_t i = 0; i < t->n_rows; i++)
        cJSON_Delete(t->row[i].layers);
    if (t->kernels) {
        t->kernels->release(&t->exec, t->sum);
        t->kernels->release(&t->exec, t->optimizer_state);
        t->kernels->release(&t->exec, t->piece);
    }
    train_inputs_close(t);
    if (t->task)
        t->task_ops->close(t->task);
    if (t->gpu)
        train_gpu_close(t);
    void *const owned[] = {t->compressor,      t->residual,
                           t->message,         t->note,
                           t->worker_error,    t->spent,
                           t->gradient,        t->row,
                           t->evaluated,       t->layers_now,
                           t->layers_mine,     t->schedule.decay_at,
                           t->optimizer_param, t->compressor_param,
                           t->column,          t->constant};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

size_t train_x_bytes(const struct train *t) {
    return t->d * (t->info->dtype == SG_FLOAT64 ? sizeof(double) : sizeof(float));
}

sg_status train_x_hash(const struct train *t, char hex[65], struct sg_error *err) {
    enum { CHUNK_BYTES = 1 << 20 };
    const size_t bytes = train_x_bytes(t);
    const char *x = t->task_ops->parameters(t->task);
    char *chunk = malloc(CHUNK_BYTES);
    sg_status status = chunk ? SG_OK : sg_fail_memory(err, "the parameters");
    sg_sha256 hash;
    sg_sha256_start(&hash);
    for (size_t at = 0; status == SG_OK && at < bytes; at += CHUNK_BYTES) {
        const size_t now = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        status = train_get(t, chunk, x + at, now, err);
        sg_sha256_add(&hash, chunk, now);
    }
    if (status == SG_OK)
        sg_sha256_end(&hash, hex);
    free(chunk);
    return status;
}
