/* task_net.c: shared code of tasks that train a network with libtorch: scopes, losses, gradients and evaluations. */
/* SPDX-License-Identifier: MIT */
#include "task_net.h"

#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_threads.h"

/* A task begins with its base. */
static const struct sg_task_base *base_of(const sg_task *t) {
    return (const struct sg_task_base *)t;
}

static sg_status open_scopes(const struct sg_task_base *b, struct sg_error *err) {
    sg_status status = SG_OK;
    for (int i = 0; i < b->threads && status == SG_OK; i++) {
        sg_scope **scope = &b->net->scope[i];
        status = sg_scope_open(scope, b->device, sg_node_string(b->task, "precision", "fp32"), err);
        if (status == SG_OK)
            sg_scope_use(*scope, b->kernels, b->exec.device);
    }
    return status;
}

sg_status task_net_open(sg_task *t, struct task_layers *layers, size_t n_shares, size_t parts, struct sg_error *err) {
    struct sg_task_base *b = (struct sg_task_base *)t;
    struct task_net *net = b->net = sg_calloc(1, sizeof *net);
    *net = (struct task_net){.parts = parts,
                             .scope = sg_calloc((size_t)b->threads, sizeof *net->scope),
                             .loss = sg_calloc(b->count * parts, sizeof *net->loss),
                             .batch_loss = task_net_floats(t, b->count * parts)};
    b->info = (struct sg_task_info){.d = layers->offset[layers->n],
                                    .dtype = SG_FLOAT32,
                                    .layout = task_layers_layout(layers),
                                    .hidden = layers->hidden,
                                    .parallel_workers = b->exec.device == NULL,
                                    .evaluation = SG_EVALUATE_SHARED,
                                    .n_shares = n_shares};
    b->library = sg_tensor_library();
    sg_task_add_constant(t, "d", (double)b->info.d);
    sg_task_add_constant(t, "n", (double)b->workers);
    return open_scopes(b, err);
}

void task_net_close(sg_task *t) {
    const struct sg_task_base *b = base_of(t);
    struct task_net *net = b->net;
    if (!net)
        return;
    for (int i = 0; net->scope && i < b->threads; i++)
        sg_scope_close(net->scope[i]);
    b->kernels->release(&b->exec, net->batch_loss);
    free(net->scope);
    free(net->loss);
    free(net);
}

float *task_net_floats(const sg_task *t, size_t n) {
    float *floats = base_of(t)->kernels->allocate(&base_of(t)->exec, n * sizeof(float));
    if (!floats)
        sg_memory_end();
    return floats;
}

void task_net_get(const sg_task *t, void *host, const float *from, size_t n) {
    (void)base_of(t)->kernels->get(&base_of(t)->exec, host, from, n * sizeof *from);
}

void task_net_put(const sg_task *t, float *to, const void *host, size_t n) {
    base_of(t)->kernels->put(&base_of(t)->exec, to, host, n * sizeof *to);
}

sg_status task_net_clip(const sg_task *t, sg_scope *scope, float *g, double most, struct sg_error *err) {
    const struct sg_task_base *b = base_of(t);
    const struct sg_exec exec = {.threads = 1, .device = b->exec.device};
    const double factor = most / (sqrt(b->kernels->sum_squares(&exec, g, b->info.d)) + 1e-6);
    if (factor >= 1)
        return SG_OK;
    sg_scope_begin(scope, 1, false);
    sg_scale(scope, sg_tensor_view(scope, g, (const int64_t[]){(int64_t)b->info.d}, 1), factor);
    return sg_scope_status(scope, err);
}

static struct task_turn turn_of(const struct sg_task_base *b, size_t worker, uint64_t step) {
    const int thread = omp_get_thread_num();
    SG_ASSERT(worker >= b->first && worker - b->first < b->count && thread < b->threads);
    return (struct task_turn){worker, worker - b->first, step, thread, b->net->scope[thread]};
}

void task_net_watch(const sg_task *t, const struct task_turn *turn) {
    const struct sg_task_base *b = base_of(t);
    if (b->part && b->info.by_parts)
        sg_scope_watch(turn->scope, b->part, b->part_of, turn->worker);
}

/* Frees the tensors of the last pass. */
static void end_turn(const struct task_turn *turn) {
    sg_scope_begin(turn->scope, 1, false);
}

sg_status task_net_gradient(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    const struct sg_task_base *b = base_of(t);
    const struct task_turn turn = turn_of(b, worker, step);
    const size_t parts = b->net->parts, at = turn.local * parts;
    SG_TRACE(2, "step %llu: gradient of worker %zu", (unsigned long long)step, worker);
    if (!b->ops->touched || !b->ops->touched(t, worker))
        b->kernels->zero(&b->exec, g, b->info.d * sizeof *g);
    sg_status status = b->ops->net->gradient(t, &turn, g, b->net->batch_loss + at, err);
    if (status == SG_OK)
        b->kernels->get_later(&b->exec, b->net->loss + at, b->net->batch_loss + at, parts * sizeof *b->net->loss);
    end_turn(&turn);
    return status == SG_OK ? SG_OK : sg_prefix(err, "worker %zu, step %llu: ", worker, (unsigned long long)step);
}

double task_net_batch_loss(const sg_task *t, size_t worker) {
    const struct sg_task_base *b = base_of(t);
    const float *part = b->net->loss + (worker - b->first) * b->net->parts;
    double sum = 0;
    for (size_t i = 0; i < b->net->parts; i++)
        sum += (double)part[i];
    return sum;
}

sg_status task_net_evaluate_shares(sg_task *t, double *share, struct sg_error *err) {
    const struct sg_task_base *b = base_of(t);
    const size_t n = b->info.n_shares;
    sg_status status = SG_OK;
    memset(share, 0, b->count * n * sizeof *share);
#pragma omp parallel for num_threads(b->threads) schedule(dynamic)
    for (size_t w = 0; w < b->count; w++) {
        struct sg_error trouble;
        const struct task_turn turn = turn_of(b, b->first + w, 0);
        const sg_status mine = b->ops->net->share(t, &turn, share + w * n, &trouble);
        end_turn(&turn);
#pragma omp critical(task_net_evaluate)
        if (mine != SG_OK && status == SG_OK) {
            status = mine;
            *err = trouble;
        }
    }
    return status;
}

void task_net_sum_shares(const sg_task *t, const double *share, double *sum) {
    const size_t n = base_of(t)->info.n_shares;
    memset(sum, 0, n * sizeof *sum);
    for (size_t w = 0; w < base_of(t)->workers; w++)
        for (size_t i = 0; i < n; i++)
            sum[i] += share[w * n + i];
}
