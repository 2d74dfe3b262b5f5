/* lm_net.c: the layers of the LSTM language model, their start values and its forward pass. */
/* SPDX-License-Identifier: MIT */
#include "lm_net.h"

#include <math.h>

#include "sg_debug.h"

enum { GATES = 4, LAYER_PARTS = 4 };
static const double EMBEDDING_RANGE = 0.1;

/* Width of LSTM layer `layer`'s input, and of its output where layer + 1 is asked for. */
static int64_t width(const struct lm_shape *s, size_t layer) {
    SG_ASSERT(layer <= s->layers);
    return layer == 0 || layer == s->layers ? s->embedding : s->hidden;
}

static void put_lstm(struct lm_net *net, size_t layer) {
    static const char *const part[LAYER_PARTS] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    const size_t in = (size_t)width(&net->shape, layer), out = (size_t)width(&net->shape, layer + 1);
    const size_t rows[LAYER_PARTS] = {GATES * out, GATES * out, 1, 1};
    const size_t columns[LAYER_PARTS] = {in, out, GATES * out, GATES * out};
    for (size_t i = 0; i < LAYER_PARTS; i++)
        task_layers_add(&net->layers, rows[i], columns[i], "rnn.%s_l%zu", part[i], layer);
    net->column_state += 2 * out;
    net->token_flops += 2 * (double)(GATES * out * (in + out));
}

sg_status lm_net_open(struct lm_net *out, const struct lm_shape *shape, struct sg_error *err) {
    const size_t words = (size_t)shape->vocabulary, embedding = (size_t)shape->embedding;
    if (shape->layers < 1 || shape->layers > LM_LAYERS)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu layers: there are 1 to %d", shape->layers, LM_LAYERS);
    *out = (struct lm_net){.shape = *shape};
    task_layers_add(&out->layers, words, embedding, "encoder.weight");
    task_layers_outer(&out->layers, 0);
    for (size_t i = 0; i < shape->layers; i++)
        put_lstm(out, i);
    task_layers_add(&out->layers, 1, words, "decoder.bias");
    out->token_flops += 2 * (double)(words * embedding);
    out->d = out->layers.offset[out->layers.n];
    return SG_OK;
}

static double range(const struct lm_net *net, size_t tensor) {
    if (tensor == 0)
        return EMBEDDING_RANGE;
    if (tensor + 1 == net->layers.n)
        return 0;
    return 1 / sqrt((double)width(&net->shape, (tensor - 1) / LAYER_PARTS + 1));
}

void lm_net_start(const struct lm_net *net, uint64_t seed, float *x) {
    for (size_t i = 0; i < net->layers.n; i++)
        task_layers_draw(&net->layers, i, range(net, i), seed, x);
}

/* Parameter tensor i; columns 0: a vector. */
static sg_tensor *parameter(struct lm_pass *p, size_t i, int64_t rows, int64_t columns) {
    return task_layers_tensor(&p->net->layers, i, p->scope, p->x, p->g, rows, columns);
}

/* Layer `layer`; *state is where its part of the state begins, and moves past it. */
static sg_tensor *lstm(struct lm_pass *p, size_t layer, sg_tensor *x, float **state) {
    const int64_t in = width(&p->net->shape, layer), out = width(&p->net->shape, layer + 1);
    const int64_t shape[] = {1, p->batch, out};
    const size_t first = 1 + LAYER_PARTS * layer;
    struct sg_lstm_weights w = {.input = parameter(p, first, GATES * out, in),
                                .hidden = parameter(p, first + 1, GATES * out, out),
                                .input_bias = parameter(p, first + 2, GATES * out, 0),
                                .hidden_bias = parameter(p, first + 3, GATES * out, 0)};
    sg_tensor *start[2];
    for (size_t i = 0; i < 2; i++, *state += p->batch * out)
        start[i] = sg_tensor_view(p->scope, *state, shape, 3);
    return sg_lstm(p->scope, x, start[0], start[1], &w, &p->last[layer][0], &p->last[layer][1]);
}

sg_tensor *lm_net_forward(struct lm_pass *p) {
    const struct lm_shape *s = &p->net->shape;
    float *state = p->state;
    sg_tensor *weight = parameter(p, 0, s->vocabulary, s->embedding);
    sg_tensor *id = sg_tensor_ids(p->scope, p->id, (const int64_t[]){p->steps, p->batch}, 2);
    sg_tensor *x = sg_dropout(p->scope, sg_embedding(p->scope, weight, id), p->dropout, &p->rng);
    for (size_t i = 0; i < s->layers; i++)
        x = sg_dropout(p->scope, lstm(p, i, x, &state), p->dropout, &p->rng);
    SG_ASSERT(state == p->state + (size_t)p->batch * p->net->column_state);
    x = sg_reshape(p->scope, x, (const int64_t[]){p->steps * p->batch, s->embedding}, 2);
    return sg_linear(p->scope, x, weight, parameter(p, p->net->layers.n - 1, s->vocabulary, 0));
}

sg_status lm_net_carry(struct lm_pass *p, float *out, struct sg_error *err) {
    SG_ASSERT(out != p->state || !p->g);
    sg_status status = SG_OK;
    for (size_t i = 0; i < p->net->shape.layers && status == SG_OK; i++) {
        const size_t n = (size_t)(p->batch * width(&p->net->shape, i + 1));
        for (size_t j = 0; j < 2 && status == SG_OK; j++, out += n)
            status = sg_tensor_store(p->scope, p->last[i][j], out, n, err);
    }
    return status;
}
