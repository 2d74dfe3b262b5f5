/* cnn_net.c: layers of convolutional networks: their parameters, where they begin in x, and their forward pass. */
/* SPDX-License-Identifier: MIT */
#include "cnn_net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sg_debug.h"

enum { IMAGE_CHANNELS = 3, IMAGE_SIZE = 32 };
static const double NORM_MOMENTUM = 0.1, NORM_EPSILON = 1e-5; /* PyTorch's defaults */

static bool declaring(const struct cnn_pass *p) {
    return p->scope == NULL;
}

static void declare(struct cnn_pass *p, const char *name, const char *part, const struct cnn_layer *layer) {
    struct cnn_net *net = p->net;
    const size_t i = net->layers.n, rows = layer->rank > 1 ? (size_t)layer->shape[0] : 1;
    SG_ASSERT(i < TASK_LAYERS);
    net->layer[i] = *layer;
    net->layer[i].size = 1;
    for (size_t k = 0; k < layer->rank; k++)
        net->layer[i].size *= (size_t)layer->shape[k];
    net->no_decay[i] = layer->role >= CNN_NORM_WEIGHT;
    task_layers_add(&net->layers, rows, net->layer[i].size / rows, "%s%s.%s", p->prefix, name, part);
}

/* Gives the next parameter tensor. In a declaring pass it is added to the network. */
static sg_tensor *parameter(struct cnn_pass *p, const char *name, const char *part, const struct cnn_layer *layer) {
    if (declaring(p)) {
        declare(p, name, part, layer);
        return NULL;
    }
    size_t i = p->next_layer++, at = p->net->layers.offset[i];
    SG_ASSERT(i < p->net->layers.n && strcmp(strrchr(p->net->layers.text[i], '.') + 1, part) == 0);
    SG_ASSERT(layer->rank == p->net->layer[i].rank &&
              memcmp(layer->shape, p->net->layer[i].shape, layer->rank * sizeof *layer->shape) == 0);
    return sg_tensor_parameter(p->scope, p->x + at, p->g ? p->g + at : NULL, layer->shape, layer->rank);
}

/* A weight [channels, in, ...], or of rank 1 its bias or a parameter of a batch-norm. */
static struct cnn_layer weight_shape(enum cnn_role role, int64_t fan_in, size_t rank, const int64_t *shape) {
    SG_ASSERT(rank >= 1 && rank <= 4);
    struct cnn_layer layer = {.role = role, .rank = rank, .fan_in = fan_in};
    memcpy(layer.shape, shape, rank * sizeof *shape);
    return layer;
}

static sg_tensor *statistic(struct cnn_pass *p, int64_t channels) {
    SG_ASSERT(declaring(p) || p->next_statistic + (size_t)channels <= p->net->n_statistics);
    size_t at = p->next_statistic;
    p->next_statistic += (size_t)channels;
    return declaring(p) ? NULL : sg_tensor_view(p->scope, p->statistics + at, &channels, 1);
}

void cnn_in(struct cnn_pass *p, const char *prefix, ...) {
    va_list args;
    va_start(args, prefix);
    vsnprintf(p->prefix, sizeof p->prefix, prefix, args);
    va_end(args);
}

static void count_flops(struct cnn_pass *p, double multiplications) {
    if (declaring(p))
        p->net->image_flops += 2 * multiplications;
}

/* Counts the memory of a layer's output, `copies` times its numbers. */
static void count_values(struct cnn_pass *p, cnn_value y, double copies) {
    const double values = (double)(y.channels * y.size * y.size);
    if (!declaring(p))
        return;
    p->net->image_values += copies * values;
    p->net->most_values = fmax(p->net->most_values, values);
}

cnn_value cnn_conv(struct cnn_pass *p, const char *name, cnn_value x, struct cnn_conv c) {
    int64_t stride = c.stride ? c.stride : 1, padding = c.kernel / 2, fan_in = x.channels * c.kernel * c.kernel;
    struct cnn_layer weight =
        weight_shape(CNN_WEIGHT, fan_in, 4, (const int64_t[]){c.channels, x.channels, c.kernel, c.kernel});
    struct cnn_layer bias = weight_shape(CNN_BIAS, fan_in, 1, &c.channels);
    sg_tensor *w = parameter(p, name, "weight", &weight);
    sg_tensor *b = c.bias ? parameter(p, name, "bias", &bias) : NULL;
    cnn_value y = {NULL, c.channels, (x.size + 2 * padding - c.kernel) / stride + 1};
    count_flops(p, (double)(y.size * y.size * y.channels * fan_in));
    count_values(p, y, 1);
    if (!declaring(p))
        y.tensor = sg_conv2d(p->scope, x.tensor, w, b, stride, padding);
    return y;
}

cnn_value cnn_norm(struct cnn_pass *p, const char *name, cnn_value x) {
    struct cnn_layer weight = weight_shape(CNN_NORM_WEIGHT, 0, 1, &x.channels);
    struct cnn_layer bias = weight_shape(CNN_NORM_BIAS, 0, 1, &x.channels);
    sg_tensor *w = parameter(p, name, "weight", &weight);
    sg_tensor *b = parameter(p, name, "bias", &bias);
    sg_tensor *mean = statistic(p, x.channels), *var = statistic(p, x.channels);
    count_values(p, x, 1);
    if (!declaring(p))
        x.tensor = sg_batch_norm(p->scope, x.tensor, w, b, mean, var, p->training, NORM_MOMENTUM, NORM_EPSILON);
    return x;
}

cnn_value cnn_linear(struct cnn_pass *p, const char *name, cnn_value x, int64_t channels) {
    SG_ASSERT(x.size == 1);
    struct cnn_layer weight = weight_shape(CNN_WEIGHT, x.channels, 2, (const int64_t[]){channels, x.channels});
    struct cnn_layer bias = weight_shape(CNN_BIAS, x.channels, 1, &channels);
    sg_tensor *w = parameter(p, name, "weight", &weight);
    sg_tensor *b = parameter(p, name, "bias", &bias);
    count_flops(p, (double)(x.channels * channels));
    cnn_value y = {NULL, channels, 1};
    if (!declaring(p)) {
        sg_tensor *rows = sg_reshape(p->scope, x.tensor, (const int64_t[]){p->count, x.channels}, 2);
        y.tensor = sg_linear(p->scope, rows, w, b);
    }
    return y;
}

cnn_value cnn_relu(struct cnn_pass *p, cnn_value x) {
    if (!declaring(p))
        x.tensor = sg_relu(p->scope, x.tensor);
    return x;
}

cnn_value cnn_add(struct cnn_pass *p, cnn_value a, cnn_value b) {
    SG_ASSERT(a.channels == b.channels && a.size == b.size);
    if (!declaring(p))
        a.tensor = sg_add(p->scope, a.tensor, b.tensor);
    return a;
}

cnn_value cnn_gate(struct cnn_pass *p, cnn_value x, cnn_value w) {
    SG_ASSERT(w.channels == x.channels && w.size == 1);
    count_values(p, x, 1);
    if (!declaring(p)) {
        sg_tensor *open = sg_sigmoid(p->scope, w.tensor);
        open = sg_reshape(p->scope, open, (const int64_t[]){p->count, w.channels, 1, 1}, 4);
        x.tensor = sg_mul(p->scope, x.tensor, open);
    }
    return x;
}

cnn_value cnn_cat(struct cnn_pass *p, const cnn_value *part, size_t count) {
    enum { MOST = 8 };
    sg_tensor *tensor[MOST];
    cnn_value y = {NULL, 0, part[0].size};
    SG_ASSERT(count >= 1 && count <= MOST);
    for (size_t i = 0; i < count && i < MOST; i++) {
        tensor[i] = part[i].tensor;
        y.channels += part[i].channels;
    }
    count_values(p, y, 1);
    if (!declaring(p))
        y.tensor = sg_cat(p->scope, tensor, count);
    return y;
}

cnn_value cnn_max_pool(struct cnn_pass *p, cnn_value x, int64_t stride) {
    cnn_value y = {NULL, x.channels, (x.size - 1) / stride + 1};
    count_values(p, y, 3); /* it keeps 64-bit positions */
    if (!declaring(p))
        y.tensor = sg_max_pool(p->scope, x.tensor, 3, stride, 1);
    return y;
}

cnn_value cnn_mean(struct cnn_pass *p, cnn_value x) {
    cnn_value y = {NULL, x.channels, 1};
    if (!declaring(p))
        y.tensor = sg_avg_pool(p->scope, x.tensor, x.size, x.size);
    return y;
}

cnn_value cnn_dropout(struct cnn_pass *p, cnn_value x, double rate) {
    SG_ASSERT(x.size == 1 && rate >= 0 && rate < 1);
    if (declaring(p))
        p->net->dropout = true;
    if (declaring(p) || !p->training)
        return x;
    x.tensor = sg_dropout(p->scope, x.tensor, rate, &p->dropout);
    return x;
}

/* ---- the network ------------------------------------------------------------------------------------------------ */

void cnn_net_open(struct cnn_net *out, const struct cnn_model *model, double width, int64_t classes) {
    struct cnn_pass p = {.net = out};
    *out = (struct cnn_net){.model = model, .width = width, .classes = classes};
    model->build(&p, (cnn_value){NULL, IMAGE_CHANNELS, IMAGE_SIZE}, classes);
    task_layers_outer(&out->layers, out->layers.n - 2); /* every model ends in the weight and bias of a linear layer */
    out->n_statistics = p.next_statistic;
    out->d = out->layers.offset[out->layers.n];
}

void cnn_net_start(const struct cnn_net *net, uint64_t seed, float *x) {
    for (size_t i = 0; i < net->layers.n; i++) {
        const struct cnn_layer *layer = &net->layer[i];
        if (layer->fan_in > 0)
            task_layers_draw(&net->layers, i, 1 / sqrt((double)layer->fan_in), seed, x);
        for (size_t j = 0; layer->fan_in == 0 && j < layer->size; j++)
            x[net->layers.offset[i] + j] = layer->role == CNN_NORM_WEIGHT;
    }
}

/* A batch-norm has its means and then its variances, each as long as its weight. */
void cnn_net_start_statistics(const struct cnn_net *net, float *statistics) {
    for (size_t i = 0; i < net->layers.n; i++)
        for (size_t j = 0; net->layer[i].role == CNN_NORM_WEIGHT && j < 2 * net->layer[i].size; j++)
            *statistics++ = j < net->layer[i].size ? 0 : 1;
}

sg_tensor *cnn_net_images(const struct cnn_pass *p, const float *images) {
    return sg_tensor_images(p->scope, images, (const int64_t[4]){p->count, IMAGE_CHANNELS, IMAGE_SIZE, IMAGE_SIZE});
}

sg_tensor *cnn_net_image_bytes(const struct cnn_pass *p, const uint8_t *images, float *table) {
    return sg_tensor_image_bytes(p->scope, images, (const int64_t[4]){p->count, IMAGE_CHANNELS, IMAGE_SIZE, IMAGE_SIZE},
                                 table);
}

sg_tensor *cnn_net_forward(struct cnn_pass *p, sg_tensor *images) {
    SG_ASSERT(p->scope && p->x && p->count > 0);
    p->next_layer = p->next_statistic = 0;
    cnn_value x = {images, IMAGE_CHANNELS, IMAGE_SIZE};
    return p->net->model->build(p, x, p->net->classes).tensor;
}
