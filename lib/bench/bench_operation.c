/* bench_operation.c: the table of operations that are timed, and how each is called. */
/* SPDX-License-Identifier: MIT */
#include "bench_private.h"
#include "sg_memory.h"
#include "sg_products.h"

#include <stdlib.h>
#include <string.h>

/* The k-th magnitude changes from step to step, so the guess is made wrong by this much, upwards and downwards in turn.
 */
#define WARM_MISS 0.05F

static struct sg_select selection(const struct job *job) {
    const struct data *d = job->data;
    return (struct sg_select){.exec = &job->exec,
                              .n_layers = d->layers->count,
                              .offset = d->layers->offset,
                              .g = d->g,
                              .e = d->e,
                              .scale = 1,
                              .decay = job->decay,
                              .index = d->index,
                              .value = d->value,
                              .count = d->count};
}

static void note_sent(struct job *job) {
    job->sent = 0;
    for (size_t l = 0; l < job->data->layers->count; l++)
        job->sent += job->data->count[l];
}

static void run_threshold(struct job *job) {
    const struct sg_select s = selection(job);
    job->status = job->kernels->select_threshold(&s, job->data->tau);
    note_sent(job);
}

static void set_guess(struct job *job) {
    const float miss = job->turn++ % 2 ? 1 + WARM_MISS : 1 - WARM_MISS;
    for (size_t l = 0; l < job->data->layers->count; l++)
        job->guess[l] = miss * job->data->kth[l];
}

static void run_warm(struct job *job) {
    const struct sg_select s = selection(job);
    set_guess(job);
    job->status = job->kernels->select_topk(&s, job->data->k, job->guess);
    note_sent(job);
}

static void run_cold(struct job *job) {
    const struct sg_select s = selection(job);
    job->status = job->kernels->select_topk(&s, job->data->k, NULL);
    note_sent(job);
}

static void run_randomk(struct job *job) {
    const struct sg_select s = selection(job);
    memcpy(job->data->count, job->data->k, job->data->layers->count * sizeof *job->data->k);
    job->status = job->kernels->select_positions(&s, job->data->position);
    note_sent(job);
}

static void run_scatter(struct job *job) {
    struct data *d = job->data;
    const struct sg_entries message = {d->position, d->position_value, d->k_total};
    job->kernels->scatter_add_messages(&job->exec, d->e, d->layers->n, &message, 1);
    job->status = SG_KERNEL_OK;
    job->sent = d->k_total;
}

static void run_squares(struct job *job) {
    job->sum = job->kernels->sum_squares(&job->exec, job->data->g, job->data->layers->n);
    job->status = SG_KERNEL_OK;
    job->sent = 0;
}

/* g and e are read and e is written, 4 bytes each; an entry that is sent has 8. */
static double bytes_select(const struct job *job) {
    return 12.0 * (double)job->data->layers->n + 8.0 * (double)job->sent;
}

/* g and e are read and e is written, 4 bytes each; an entry sent has 8; the positions are read. */
static double bytes_randomk(const struct job *job) {
    return bytes_select(job) + 4.0 * (double)job->sent;
}

/* Index and value are read, the sum read and written. */
static double bytes_scatter(const struct job *job) {
    return 16.0 * (double)job->sent;
}

static double bytes_squares(const struct job *job) {
    return 4.0 * (double)job->data->layers->n;
}

/* The matrix is read twice, and its approximation is written. */
static double bytes_products(const struct job *job) {
    return 12.0 * (double)job->data->layers->n;
}

bool is_low_rank(const struct layers *layers, size_t layer) {
    const size_t n = layers->offset[layer + 1] - layers->offset[layer], rows = layers->rows[layer];
    return rows >= BENCH_RANK && n / rows >= BENCH_RANK;
}

void run_products(struct job *job) {
    const struct data *d = job->data;
    const struct sg_products *products = job->kernels->products;
    for (size_t l = 0; l < d->layers->count; l++) {
        const size_t begin = d->layers->offset[l], rows = d->layers->rows[l];
        const struct sg_shape shape = {rows, (d->layers->offset[l + 1] - begin) / rows, BENCH_RANK};
        const float *m = d->g + begin;
        if (!is_low_rank(d->layers, l))
            continue;
        products->times(&job->exec, d->magnitude + begin, m, m, &shape);
        products->transposed(&job->exec, d->value + begin, m, d->magnitude + begin, &shape);
        products->outer(&job->exec, d->e + begin, d->magnitude + begin, d->value + begin, &shape, false);
    }
    job->status = SG_KERNEL_OK;
    job->sent = 0;
}

/* Muon's step without momentum, at the rate 1 and from 0, of every layer that is a matrix. */
static void run_newton_schulz(struct job *job) {
    static const double param[9] = {[3] = 5}; /* ns-steps of core/optimizer_muon.c */
    const struct data *d = job->data;
    const size_t n = d->layers->n;
    struct sg_weight *weight = sg_calloc(d->layers->count, sizeof *weight);
    struct sg_piece *piece = sg_calloc(d->layers->count, sizeof *piece);
    size_t found = 0;
    for (size_t l = 0; l < d->layers->count; l++) {
        const size_t begin = d->layers->offset[l], end = d->layers->offset[l + 1], rows = d->layers->rows[l];
        if (!is_low_rank(d->layers, l))
            continue;
        weight[found] = (struct sg_weight){begin, rows, (end - begin) / rows, false};
        piece[found++] = (struct sg_piece){begin, end, false, true};
    }
    const struct sg_update update = {.optimizer = "muon",
                                     .param = param,
                                     .learning_rate = 1,
                                     .workers = 1,
                                     .sum = d->magnitude,
                                     .state = d->value,
                                     .x = d->e,
                                     .piece = piece,
                                     .n_pieces = found,
                                     .d = n,
                                     .weight = weight,
                                     .n_weights = found,
                                     .scratch = sg_malloc(sg_muon_scratch(weight, found) * sizeof(float))};
    memcpy(d->magnitude, d->g, n * sizeof *d->g);
    memset(d->value, 0, n * sizeof *d->value);
    memset(d->e, 0, n * sizeof *d->e);
    job->kernels->update(&job->exec, &update);
    free(update.scratch);
    free(piece);
    free(weight);
    job->status = SG_KERNEL_OK;
    job->sent = 0;
}

/* The gradient is read, and e is read and written. */
static double bytes_muon(const struct job *job) {
    return 12.0 * (double)job->data->layers->n;
}

enum { TOPK_COLD = 2, QSGD = 14, PRODUCTS = 15, POWERSGD = 17, NEWTON_SCHULZ = 18, COMPRESS = 20 };

const struct operation operations[] = {
    {"ef-threshold", run_threshold, bytes_select, .writes_residual = true, .sends = true, .compared_with = 0,
     .torch = "torch-threshold"},
    {"ef-topk-warm", run_warm, bytes_select, .writes_residual = true, .sends = true, .compared_with = 1,
     .torch = "torch-topk"},
    {"ef-topk-cold", run_cold, bytes_select, .writes_residual = true, .sends = true, .compared_with = TOPK_COLD,
     .torch = "torch-topk"},
    {"randomk", run_randomk, bytes_randomk, .writes_residual = true, .sends = true, .compared_with = 3},
    {"scatter-add", run_scatter, bytes_scatter, .writes_residual = true, .compared_with = 4},
    {"sum-squares", run_squares, bytes_squares, .compared_with = 5},
    {"quickselect", quickselect_topk, bytes_select, .writes_residual = true, .sends = true, .one_thread = true,
     .compared_with = TOPK_COLD},
    {"nth-element", run_rival, bytes_select, .rival = true, .one_thread = true, .compared_with = TOPK_COLD},
    {"torch-topk", run_rival, bytes_select, .rival = true, .compared_with = TOPK_COLD},
    {"torch-threshold", run_rival, bytes_select, .rival = true, .compared_with = 0},
    {"encode", run_encode, bytes_wire, .wire = true},
    {"decode", run_decode, bytes_wire, .wire = true},
    {"cub-select", NULL, bytes_select, .writes_residual = true, .sends = true, .device_only = true, .compared_with = 0},
    {"cub-sort", NULL, bytes_select, .writes_residual = true, .sends = true, .device_only = true,
     .compared_with = TOPK_COLD},
    {"ef-qsgd", run_coder, bytes_coder, .writes_residual = true, .coder = "qsgd", .compared_with = QSGD},
    {"lowrank-products", run_products, bytes_products, .writes_residual = true, .compared_with = PRODUCTS,
     .torch = "torch-products"},
    {"torch-products", run_rival, bytes_products, .rival = true, .floats = true, .compared_with = PRODUCTS},
    {"ef-powersgd", run_coder, bytes_coder, .writes_residual = true, .coder = "powersgd", .compared_with = POWERSGD,
     .torch = "torch-products"},
    {"newton-schulz", run_newton_schulz, bytes_muon, .writes_residual = true, .compared_with = NEWTON_SCHULZ,
     .torch = "torch-newton-schulz"},
    {"torch-newton-schulz", run_rival, bytes_muon, .rival = true, .floats = true, .compared_with = NEWTON_SCHULZ},
    {"compress", run_compress, bytes_compress, .writes_residual = true, .steps = true, .compared_with = COMPRESS},
};
const size_t n_operations = sizeof operations / sizeof *operations;
