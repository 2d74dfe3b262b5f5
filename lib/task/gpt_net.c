/* gpt_net.c: the tensors of the transformer, their start values and its forward pass. */
/* SPDX-License-Identifier: MIT */
#include "gpt_net.h"

#include <math.h>
#include <string.h>

#include "sg_debug.h"

/* Tensors of the model before the blocks, and of a block: a weight and a bias each. */
enum { WORDS, POSITIONS, BLOCKS };
enum { NORM_1 = 0, ATTENTION = 2, ATTENTION_END = 4, NORM_2 = 6, INNER = 8, INNER_END = 10, BLOCK = 12 };
static const double DEVIATION = 0.02, NORM_EPSILON = 1e-5;

static void put_pair(struct gpt_net *net, size_t rows, size_t columns, const char *name) {
    struct task_layers *layers = &net->layers;
    const bool norm = columns == 0;
    net->no_decay[layers->n] = norm;
    task_layers_add(layers, norm ? 1 : rows, norm ? rows : columns, "transformer.%s.weight", name);
    net->no_decay[layers->n] = true;
    task_layers_add(layers, 1, rows, "transformer.%s.bias", name);
    net->token_flops += 2 * (double)(rows * columns);
}

static void put_block(struct gpt_net *net, size_t i) {
    const size_t width = (size_t)net->shape.width;
    const struct {
        const char *name;
        size_t rows, columns; /* columns 0: a layer norm */
    } part[] = {{"ln_1", width, 0}, {"attn.c_attn", 3 * width, width}, {"attn.c_proj", width, width},
                {"ln_2", width, 0}, {"mlp.c_fc", 4 * width, width},    {"mlp.c_proj", width, 4 * width}};
    for (size_t j = 0; j < sizeof part / sizeof *part; j++) {
        char name[32];
        snprintf(name, sizeof name, "h.%zu.%s", i, part[j].name);
        put_pair(net, part[j].rows, part[j].columns, name);
    }
    net->token_flops += 4 * (double)net->shape.context * (double)width; /* q k^T, and its product with v */
}

sg_status gpt_net_open(struct gpt_net *out, const struct gpt_shape *shape, struct sg_error *err) {
    const size_t words = (size_t)shape->vocabulary, width = (size_t)shape->width;
    if (shape->layers < 1 || shape->layers > GPT_LAYERS)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu layers: there are 1 to %d", shape->layers, GPT_LAYERS);
    if (shape->heads < 1 || shape->width % shape->heads != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a width of %lld is no multiple of %lld heads", (long long)shape->width,
                       (long long)shape->heads);
    *out = (struct gpt_net){.shape = *shape};
    task_layers_add(&out->layers, words, width, "transformer.wte.weight");
    task_layers_add(&out->layers, (size_t)shape->context, width, "transformer.wpe.weight");
    task_layers_outer(&out->layers, WORDS);
    task_layers_outer(&out->layers, POSITIONS);
    for (size_t i = 0; i < shape->layers; i++)
        put_block(out, i);
    put_pair(out, width, 0, "ln_f");
    out->token_flops += 2 * (double)(words * width);
    out->d = out->layers.offset[out->layers.n];
    return SG_OK;
}

void gpt_net_start(const struct gpt_net *net, uint64_t seed, float *x) {
    const struct task_layers *layers = &net->layers;
    for (size_t i = 0; i < layers->n; i++) {
        const bool ends = strstr(layers->text[i], "c_proj") != NULL, norm = strstr(layers->text[i], "ln_") != NULL;
        const bool bias = strstr(layers->text[i], ".bias") != NULL;
        if (norm || bias)
            for (size_t j = layers->offset[i]; j < layers->offset[i + 1]; j++)
                x[j] = !bias;
        else
            task_layers_draw_normal(layers, i, ends ? DEVIATION / sqrt(2 * (double)net->shape.layers) : DEVIATION, seed,
                                    x);
    }
}

/* Parameter tensor i; columns 0: a vector. */
static sg_tensor *parameter(struct gpt_pass *p, size_t i, int64_t rows, int64_t columns) {
    return task_layers_tensor(&p->net->layers, i, p->scope, p->x, p->g, rows, columns);
}

static sg_tensor *norm(struct gpt_pass *p, size_t i, sg_tensor *x) {
    const int64_t width = p->net->shape.width;
    return sg_layer_norm(p->scope, x, parameter(p, i, width, 0), parameter(p, i + 1, width, 0), NORM_EPSILON);
}

static sg_tensor *linear(struct gpt_pass *p, size_t i, sg_tensor *x, int64_t out, int64_t in) {
    return sg_linear(p->scope, x, parameter(p, i, out, in), parameter(p, i + 1, out, 0));
}

/* x + attention(norm(x)), and of that y + perceptron(norm(y)). A branch's end is new, so that x is added in place. */
static sg_tensor *block(struct gpt_pass *p, size_t i, sg_tensor *x) {
    const struct gpt_shape *s = &p->net->shape;
    const size_t at = BLOCKS + BLOCK * i;
    sg_tensor *y = linear(p, at + ATTENTION, norm(p, at + NORM_1, x), 3 * s->width, s->width);
    y = sg_causal_attention(p->scope, y, s->heads, p->dropout, &p->rng);
    y = linear(p, at + ATTENTION_END, y, s->width, s->width);
    x = sg_add(p->scope, sg_dropout(p->scope, y, p->dropout, &p->rng), x);
    y = sg_gelu(p->scope, linear(p, at + INNER, norm(p, at + NORM_2, x), 4 * s->width, s->width));
    y = linear(p, at + INNER_END, y, s->width, 4 * s->width);
    return sg_add(p->scope, sg_dropout(p->scope, y, p->dropout, &p->rng), x);
}

sg_tensor *gpt_net_forward(struct gpt_pass *p) {
    const struct gpt_shape *s = &p->net->shape;
    const size_t positions = p->net->layers.offset[POSITIONS];
    SG_ASSERT(p->length >= 1 && p->length <= s->context);
    sg_tensor *words = parameter(p, WORDS, s->vocabulary, s->width);
    sg_tensor *id = sg_tensor_ids(p->scope, p->id, (const int64_t[]){p->batch, p->length}, 2);
    sg_tensor *first = sg_tensor_parameter(p->scope, p->x + positions, p->g ? p->g + positions : NULL,
                                           (const int64_t[]){p->length, s->width}, 2);
    sg_tensor *x = sg_add(p->scope, sg_embedding(p->scope, words, id), first);
    x = sg_dropout(p->scope, x, p->dropout, &p->rng);
    for (size_t i = 0; i < s->layers; i++)
        x = block(p, i, x);
    x = norm(p, BLOCKS + BLOCK * s->layers, x);
    x = sg_reshape(p->scope, x, (const int64_t[]){p->batch * p->length, s->width}, 2);
    return sg_linear(p->scope, x, words, NULL);
}
