/* task_net.h: what the tasks have in common that train a network by libtorch; private to lib/task.
 *
 * A gradient runs on one thread, whatever the machine has, and workers run in parallel. So sums have one order, and
 * results do not depend on threads or ranks. On a GPU workers take turns. Every worker evaluates its part of the test
 * set. */
/* SPDX-License-Identifier: MIT */
#ifndef TASK_NET_H
#define TASK_NET_H

#include "sg_task.h"
#include "sg_tensor.h"
#include "task_layers.h"

/* A worker's gradient or evaluation: which it is, and where it is computed. */
struct task_turn {
    size_t worker, local; /* its number among all workers, and among those of this rank */
    uint64_t step;        /* of a gradient */
    int thread;           /* below base.threads */
    sg_scope *scope;      /* of the thread; its remaining tensors are freed afterwards */
};

/* What the task itself does; neither is NULL. */
struct task_net_ops {
    /* g [d] <- the gradient. On entry g is zeros, unless the task returns its touched ranges. loss [parts] <- the parts
     * of the batch's loss, in the kernels' memory. */
    sg_status (*gradient)(sg_task *t, const struct task_turn *turn, float *g, float *loss, struct sg_error *err);
    /* share [n_shares], zeros on entry <- the worker's sums for an evaluation. Workers call it at once, on different
     * threads. */
    sg_status (*share)(sg_task *t, const struct task_turn *turn, double *share, struct sg_error *err);
};

struct task_net {
    size_t parts;      /* numbers whose sum in double, one after another, is a batch's loss */
    sg_scope **scope;  /* [threads] */
    float *batch_loss; /* [count][parts] of the last gradients, in the kernels' memory */
    float *loss;       /* [count][parts], those that have arrived */
};

/* Called by a task's `open` once the network is known, whose layers must stay where they are. Fills in the facts that
 * all networks have, and their first constants, d and n, and opens a scope for each thread. */
sg_status task_net_open(sg_task *t, struct task_layers *layers, size_t n_shares, size_t parts, struct sg_error *err);
void task_net_close(sg_task *t);

/* n floats in the kernels' memory; NULL = there is none. */
float *task_net_floats(const sg_task *t, size_t n);
/* Copies n floats out of the kernels' memory and into it. An error of the device is ignored, because the trainer finds
 * it when it reads its own vectors. */
void task_net_get(const sg_task *t, void *host, const float *from, size_t n);
void task_net_put(const sg_task *t, float *to, const void *host, size_t n);

/* Scales the gradient g [d] down to the norm `most` if it is longer, as PyTorch's clip_grad_norm_ does. A gradient that
 * is not finite stays so. */
sg_status task_net_clip(const sg_task *t, sg_scope *scope, float *g, double most, struct sg_error *err);

/* For a task that says info.by_parts, whose gradients come from one sg_backward and stay as they are: called after the
 * sg_scope_begin of that pass. */
void task_net_watch(const sg_task *t, const struct task_turn *turn);

/* Of struct sg_task_ops. */
sg_status task_net_gradient(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err);
double task_net_batch_loss(const sg_task *t, size_t worker);
sg_status task_net_evaluate_shares(sg_task *t, double *share, struct sg_error *err);

/* What all networks have in their struct sg_task_ops. */
#define TASK_NET_OPS(own)                                                                                              \
    .size = sizeof(struct sg_task), .gpu = true, .net = &(own), .gradient = task_net_gradient,                         \
    .batch_loss = task_net_batch_loss

/* sum [n_shares] <- the sum of all workers' shares, in worker order. */
void task_net_sum_shares(const sg_task *t, const double *share, double *sum);

#endif
