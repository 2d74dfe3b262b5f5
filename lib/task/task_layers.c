/* task_layers.c: the parameter tensors of a network: their names, offsets and start values. */
/* SPDX-License-Identifier: MIT */
#include "task_layers.h"

#include <stdarg.h>
#include <stdio.h>

#include "sg_debug.h"

void task_layers_add(struct task_layers *layers, size_t rows, size_t columns, const char *name, ...) {
    SG_ASSERT(layers->n < TASK_LAYERS && rows > 0 && columns > 0);
    const size_t i = layers->n++;
    va_list args;
    va_start(args, name);
    vsnprintf(layers->text[i], sizeof layers->text[i], name, args);
    va_end(args);
    layers->rows[i] = rows;
    layers->hidden[i] = rows > 1 && columns > 1;
    layers->offset[i + 1] = layers->offset[i] + rows * columns;
}

void task_layers_outer(struct task_layers *layers, size_t i) {
    SG_ASSERT(i < layers->n);
    layers->hidden[i] = false;
}

struct sg_layout task_layers_layout(struct task_layers *layers) {
    for (size_t i = 0; i < layers->n; i++)
        layers->name[i] = layers->text[i];
    return (struct sg_layout){layers->n, layers->offset, layers->name, layers->rows};
}

void task_layers_draw(const struct task_layers *layers, size_t i, double bound, uint64_t seed, float *x) {
    sg_rng rng = sg_rng_open(seed, SG_RNG_INIT, (uint32_t)i, 0);
    for (size_t j = layers->offset[i]; j < layers->offset[i + 1]; j++)
        x[j] = (float)(bound * (2 * sg_rng_uniform(&rng) - 1));
}

void task_layers_draw_normal(const struct task_layers *layers, size_t i, double deviation, uint64_t seed, float *x) {
    sg_rng rng = sg_rng_open(seed, SG_RNG_INIT, (uint32_t)i, 0);
    for (size_t j = layers->offset[i]; j < layers->offset[i + 1]; j++)
        x[j] = (float)(deviation * sg_rng_normal(&rng));
}

sg_tensor *task_layers_tensor(const struct task_layers *layers, size_t i, sg_scope *s, float *x, float *g, int64_t rows,
                              int64_t columns) {
    const size_t at = layers->offset[i];
    SG_ASSERT(i < layers->n && layers->offset[i + 1] - at == (size_t)(rows * (columns ? columns : 1)));
    return sg_tensor_parameter(s, x + at, g ? g + at : NULL, (const int64_t[]){rows, columns}, columns ? 2 : 1);
}
