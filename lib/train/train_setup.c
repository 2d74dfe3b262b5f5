/* train_setup.c: prepares the run of a recipe's cell, and frees it. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_file.h"
#include "sg_host.h"
#include "sg_json.h"
#include "sg_clock.h"
#include "sg_dataset.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "train_private.h"

sg_status train_find_task(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *kind = sg_node_string(cell, "task.kind", "");
    t->task_kind = sg_task_kind_find(kind);
    sg_status status =
        t->task_kind ? sg_task_load(&t->task_ops, kind, err) : sg_fail(err, SG_ERR_ARGUMENT, "unknown task '%s'", kind);
    return status == SG_OK ? train_metrics(&t->series, t->options->cell, t->task_kind, err) : status;
}

/* Lists the matrices of the task's hidden layers. */
static void list_weights(struct train *t) {
    const struct sg_task_info *info = sg_task_info(t->task);
    const struct sg_layout *layout = &info->layout;
    if (!info->hidden)
        return;
    t->weight = sg_calloc(layout->n_layers, sizeof *t->weight);
    for (size_t l = 0; l < layout->n_layers; l++)
        if (info->hidden[l])
            t->weight[t->n_weights++] = (struct sg_weight){
                layout->offset[l], layout->rows[l], (layout->offset[l + 1] - layout->offset[l]) / layout->rows[l],
                !info->no_decay || !info->no_decay[l]};
}

sg_status train_open_task(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    uint32_t records = 0;
    for (size_t i = 0; i < t->series.n_columns; i++)
        if (t->series.column[i].from_task)
            records |= UINT32_C(1) << t->series.column[i].index;
    const struct sg_task_base config = {.task = sg_node_get(cell, "task"),
                                        .workers = t->workers,
                                        .first = t->first,
                                        .count = t->count,
                                        .batch = (size_t)sg_node_number(cell, "batch", 1),
                                        .seed = t->options->cell->seed,
                                        .data_dir = t->options->data_dir,
                                        .device = t->device.name,
                                        .kernels = t->kernels,
                                        .exec = t->exec,
                                        .records = records,
                                        .facts_only = t->facts_only,
                                        .progress = t->options->progress,
                                        .part = train_wants_buckets(t) ? train_buckets_part : NULL,
                                        .part_of = t,
                                        .notice = t->lead ? t->options->notice : NULL};
    const sg_status status = sg_task_open(&t->task, t->task_ops, &config, err);
    if (status == SG_OK)
        list_weights(t);
    return status;
}

/* Rank 0 goes first, so that caches are made once and then shared. */
static sg_status open_task(struct train *t, struct sg_error *err) {
    sg_status status = sg_comm_agree(t->comm, t->lead ? train_open_task(t, err) : SG_OK, err);
    if (status == SG_OK && !t->lead)
        status = train_open_task(t, err);
    status = sg_comm_agree(t->comm, status, err);
    if (status == SG_OK)
        train_read_task_facts(t);
    return status;
}

void train_choose_cpu(struct train *t) {
    t->exec = (struct sg_exec){.threads = t->threads};
    snprintf(t->device.name, sizeof t->device.name, "cpu");
    t->kernels = sg_kernels_cpu(NULL); /* opening the task fails if there are none, which hosts may differ in */
}

static sg_status choose_kernels(struct train *t, struct sg_error *err) {
    train_choose_cpu(t);
    return train_wants_gpu(t) ? train_gpu_open(t, err) : SG_OK;
}

/* Cuts the parameters into pieces. Layers without weight decay are pieces of their own, and so are all layers where an
 * optimizer moves some as a whole or fragments of layers move in turn; no other border changes a step. */
static void cut_pieces(struct train *t) {
    const size_t whole[2] = {0, t->d};
    const bool *no_decay = t->info->no_decay, *hidden = train_moves_weights(t) ? t->info->hidden : NULL;
    const bool fragments = sg_method_fragments(t->method) > 1, cut = no_decay || hidden || fragments;
    const size_t n_layers = cut ? t->info->layout.n_layers : 1;
    const size_t *offset = cut ? t->info->layout.offset : whole;
    const size_t bytes = (t->d / PIECE_ELEMENTS + n_layers) * sizeof(struct sg_piece);
    struct sg_piece *piece = sg_malloc(bytes);
    t->piece = t->kernels->allocate(&t->exec, bytes);
    for (size_t l = 0; l < n_layers; l++)
        for (size_t begin = offset[l], end = offset[l + 1]; begin < end; begin += PIECE_ELEMENTS)
            piece[t->n_pieces++] = (struct sg_piece){begin, end - begin < PIECE_ELEMENTS ? end : begin + PIECE_ELEMENTS,
                                                     !no_decay || !no_decay[l], hidden && hidden[l]};
    t->kernels->put(&t->exec, t->piece, piece, t->n_pieces * sizeof *piece);
    free(piece);
    t->moving = fragments ? sg_malloc(bytes) : NULL;
    t->moving_weight = fragments ? sg_malloc((t->n_weights + 1) * sizeof *t->moving_weight) : NULL;
}

sg_status train_open_method(sg_method **out, const struct train *t, size_t count, struct sg_error *err) {
    struct sg_method_config config = t->config;
    config.size = sizeof config;
    config.seed = t->options->cell->seed;
    config.workers = t->workers;
    config.first = t->first;
    config.inputs = t->options->record_inputs || train_monitored(t);
    config.count = count;
    config.steps_per_epoch = t->info->steps_per_epoch;
    config.steps = t->plan.steps;
    config.kernels = t->kernels;
    config.exec = t->worker_exec;
    config.turns = t->device.gpu != NULL;
    config.rooms = t->n_gradients;
    return sg_method_open(out, &config, err);
}

/* Adds to an error the position, in the recipe or a --set, of the value that the data show to be wrong. */
static sg_status choose_and_place(struct train *t, struct sg_error *err) {
    char place[512];
    sg_status status = train_choose(t, err);
    if (status == SG_OK)
        return SG_OK;
    sg_node_place(place, sizeof place, t->options->recipe, t->at);
    return sg_prefix(err, "%s", place);
}

enum { ROWS = 64 }; /* how many rows may wait if the task has no queue */

const sg_method *train_method(const struct train *t) {
    return t->method ? t->method : t->probe;
}

void train_worker_vectors(const struct train *t, struct worker *w, struct worker_vector out[WORKER_VECTORS]) {
    const struct error_needs needs = train_error_needs(t);
    out[0] = (struct worker_vector){&w->residual, needs.residual ? t->d : 0, true};
    out[1] = (struct worker_vector){&w->state, t->of_workers ? t->of_workers->floats : 0, true};
    out[2] = (struct worker_vector){&w->recorded, needs.recorded ? t->d : 0, false};
    out[3] = (struct worker_vector){&w->shifted, needs.curvature ? t->d : 0, false};
}

static bool open_worker(struct train *t, struct worker *w) {
    struct worker_vector v[WORKER_VECTORS];
    bool whole = true;
    train_worker_vectors(t, w, v);
    for (size_t i = 0; i < WORKER_VECTORS; i++)
        if (v[i].floats > 0) {
            const size_t bytes = v[i].floats * sizeof(float);
            *v[i].at = v[i].of_kernels ? t->kernels->allocate(&t->exec, bytes) : sg_calloc(1, bytes);
            whole = whole && *v[i].at;
        }
    if (t->series.keeps_layers)
        w->layers = t->series.layers_mine + (size_t)(w - t->worker) * LAYER_COLUMNS * t->info->layout.n_layers;
    return whole;
}

static void close_worker(struct train *t, struct worker *w) {
    struct worker_vector v[WORKER_VECTORS];
    train_worker_vectors(t, w, v);
    for (size_t i = 0; i < WORKER_VECTORS; i++)
        if (v[i].of_kernels)
            t->kernels->release(&t->exec, *v[i].at);
        else
            free(*v[i].at);
}

static bool allocate_buffers(struct train *t) {
    struct series *s = &t->series;
    t->gradient = sg_calloc(t->n_gradients, sizeof *t->gradient);
    t->sum = t->kernels->allocate(&t->exec, t->d * sizeof *t->sum);
    s->capacity = t->info->evaluation == SG_EVALUATE_QUEUED ? t->task_ops->queue_capacity : ROWS;
    s->row = sg_calloc(s->capacity, sizeof *s->row);
    s->evaluated = sg_calloc(s->capacity * t->task_kind->n_metrics + 1, sizeof *s->evaluated);
    const size_t numbers = LAYER_COLUMNS * t->info->layout.n_layers;
    if (s->keeps_layers) {
        s->layers_mine = sg_calloc(t->count * numbers, sizeof *s->layers_mine);
        s->layers_all = sg_calloc(t->workers * numbers, sizeof *s->layers_all);
    }
    if (sg_method_is_local(t->method))
        t->shared_x = sg_malloc(sg_task_x_bytes(t->task) + 1);
    if (t->of_x)
        t->state = t->kernels->allocate(&t->exec, t->of_x->floats * sizeof *t->state);
    if (train_moves_weights(t))
        t->scratch = sg_malloc(sg_muon_scratch(t->weight, t->n_weights) * sizeof *t->scratch);
    bool whole = t->sum && (t->state || !t->of_x);
    for (size_t i = 0; whole && i < t->n_gradients; i++)
        whole = (t->gradient[i] = t->kernels->allocate(&t->exec, t->d * sizeof(float))) != NULL;
    for (size_t w = 0; whole && w < t->count; w++)
        whole = open_worker(t, &t->worker[w]);
    return whole;
}

/* Workers that run at once need a gradient and a room for messages each. */
size_t train_parts(const struct train *t) {
    const size_t threads = (size_t)t->threads;
    return !t->info->parallel_workers ? 1 : threads < t->count ? threads : t->count;
}

static sg_status allocate(struct train *t, struct sg_error *err) {
    t->n_gradients = train_parts(t);
    t->worker = sg_calloc(t->count, sizeof *t->worker);
    sg_status status = train_open_method(&t->method, t, t->count, err);
    if (status == SG_OK && !allocate_buffers(t))
        status = sg_fail(err, SG_ERR_MEMORY, "out of memory for %zu workers of %zu parameters: use more ranks",
                         t->count, t->d);
    if (status == SG_OK)
        participation_open(t);
    SG_DO(status, train_buckets_open(t, err));
    if (status == SG_OK)
        train_monitor_open(t);
    SG_DO(status, train_errors_open(t, err));
    if (status == SG_OK)
        cut_pieces(t);
    return status;
}

/* Notifies the user if the data are not the named set's own; results record it, too. */
static void announce_data(const struct train *t) {
    cJSON *facts = sg_task_describe(t->task);
    const char *name = sg_json_string(facts, "dataset.name", "");
    const char *train = sg_json_string(facts, "dataset.train_file", "train");
    char near[64] = "";
    if (strcmp(sg_json_string(facts, "dataset.source", ""), "generated") == 0) {
        const bool misspelt = sg_dataset_suggest(near, name);
        sg_notify(t->options->notice, "data set '%s' was not found%s%s%s: using generated data (%s); results say so",
                  name, misspelt ? " (did you mean '" : "", near, misspelt ? "'?)" : "",
                  sg_json_string(facts, "dataset.generator", ""));
    } else if (!sg_json_bool(facts, "dataset.verified", true))
        sg_notify(t->options->notice, "data set '%s' is not the publisher's copy (SHA-256 %.12s…); results say so",
                  name, sg_json_string(facts, "dataset.sha256", ""));
    if (strcmp(train, "train") != 0)
        sg_notify(t->options->notice, "training on the file '%s' of data set '%s', evaluating on '%s'; results say so",
                  train, name, sg_json_string(facts, "dataset.test_file", ""));
    cJSON_Delete(facts);
}

sg_status train_setup(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    t->workers = (size_t)sg_node_number(cell, "workers", 1);
    sg_status status = sg_comm_agree(t->comm, sg_comm_set_workers(t->comm, t->workers, err), err);
    if (status != SG_OK)
        return status;
    t->lead = sg_comm_rank(t->comm) == 0;
    t->first = sg_comm_first(t->comm);
    t->count = sg_comm_count(t->comm);
    t->threads = t->options->threads > 0 ? t->options->threads : sg_threads(sg_comm_local_ranks(t->comm));
    sg_status (*const part[])(struct train *, struct sg_error *) = {choose_kernels,    train_find_task,  open_task,
                                                                    train_ranks_agree, choose_and_place, train_memory,
                                                                    train_copy_k,      allocate};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if ((status = sg_comm_agree(t->comm, part[i](t, err), err)) != SG_OK)
            return status;
    if (t->lead && !t->device.gpu && t->options->memory)
        t->options->memory(&t->memory);
    sg_comm_set_encoding(t->comm, t->encoding);
    announce_data(t);
    t->series.wants[SG_COLUMN_TOTAL_ERROR] |= t->options->total_error;
    return SG_OK;
}

void train_teardown(struct train *t) {
    recording_close(t);
    train_monitor_close(t);
    train_errors_close(t);
    train_buckets_close(t);
    for (size_t w = 0; t->method && w < t->count; w++)
        close_worker(t, &t->worker[w]);
    for (size_t i = 0; t->gradient && i < t->n_gradients; i++)
        t->kernels->release(&t->exec, t->gradient[i]);
    for (size_t i = 0; i < t->series.n_rows; i++)
        cJSON_Delete(t->series.row[i].layers);
    if (t->kernels) {
        t->kernels->release(&t->exec, t->sum);
        t->kernels->release(&t->exec, t->state);
        t->kernels->release(&t->exec, t->piece);
    }
    sg_method_close(t->method);
    sg_method_close(t->probe);
    sg_task_close(t->task);
    sg_cuda_device_close(t->device.gpu);
    cJSON_Delete(t->segments);
    void *const owned[] = {
        t->worker,   t->gradient, t->series.row, t->series.evaluated, t->series.layers_mine, t->series.layers_all,
        t->shared_x, t->weight,   t->scratch,    t->moving,           t->moving_weight,      t->absent,
        t->chosen,   t->copied,   t->rows};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

sg_status train_x_hash(const struct train *t, char hex[65], struct sg_error *err) {
    enum { CHUNK_BYTES = 1 << 20 };
    const size_t bytes = sg_task_x_bytes(t->task);
    const char *x = sg_task_x(t->task);
    char *chunk = sg_malloc(CHUNK_BYTES);
    sg_status status = SG_OK;
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
