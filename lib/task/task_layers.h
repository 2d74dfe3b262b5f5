/* task_layers.h: the parameter tensors of a network, one behind the other in x; private to lib/task. */
/* SPDX-License-Identifier: MIT */
#ifndef TASK_LAYERS_H
#define TASK_LAYERS_H

#include "sg_compressor.h"
#include "sg_tensor.h"

enum { TASK_LAYERS = 320 }; /* the maximum number of tensors of a network */

struct task_layers {
    size_t n;
    size_t offset[TASK_LAYERS + 1]; /* into x */
    size_t rows[TASK_LAYERS];       /* of a matrix; 1 = a vector */
    bool hidden[TASK_LAYERS];       /* matrices but for embeddings and heads */
    char text[TASK_LAYERS][48];     /* names */
    const char *name[TASK_LAYERS];  /* of the layout: they point to text */
};

/* Adds a tensor of rows x columns numbers. */
void task_layers_add(struct task_layers *layers, size_t rows, size_t columns, const char *name, ...) SG_PRINTF(4, 5);
/* Tensor i is an embedding or a head. */
void task_layers_outer(struct task_layers *layers, size_t i);
/* The layers as the trainer uses them; valid as long as *layers, which must not move. */
struct sg_layout task_layers_layout(struct task_layers *layers);

/* x [d]: the numbers of tensor i <- uniform on +-bound, from a random stream of the tensor's own. */
void task_layers_draw(const struct task_layers *layers, size_t i, double bound, uint64_t seed, float *x);
/* The same, normal with mean 0. */
void task_layers_draw_normal(const struct task_layers *layers, size_t i, double deviation, uint64_t seed, float *x);
/* Tensor i of x in the scope; its gradient is added to g [d], NULL = none is wanted. columns 0: it is a vector. */
sg_tensor *task_layers_tensor(const struct task_layers *layers, size_t i, sg_scope *s, float *x, float *g, int64_t rows,
                              int64_t columns);

#endif
