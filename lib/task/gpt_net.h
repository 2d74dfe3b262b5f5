/* gpt_net.h: private to lib/task. A decoder of transformer blocks as GPT-2 has it: learned positions, layer norms
 * before attention and perceptron, GELU, and a head whose weight is the embedding's.
 *
 * Parameter tensors have the names, shapes and order of nanoGPT's PyTorch model: transformer.wte.weight,
 * transformer.wpe.weight, of each block transformer.h.I.{ln_1, attn.c_attn, attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj},
 * weight and bias each, and transformer.ln_f. Rows of c_attn belong to queries, keys and values, in this order. */
/* SPDX-License-Identifier: MIT */
#ifndef GPT_NET_H
#define GPT_NET_H

#include <stddef.h>
#include <stdint.h>

#include "sg_rng.h"
#include "sg_status.h"
#include "sg_tensor.h"
#include "task_layers.h"

/* What makes a model. The perceptron's inner layer is four times as wide as the model. */
struct gpt_shape {
    int64_t vocabulary, width, heads, context;
    size_t layers; /* 1 to GPT_LAYERS */
};
enum { GPT_LAYERS = 24 };

struct gpt_net {
    struct gpt_shape shape;
    struct task_layers layers;  /* 12 shape.layers + 4 tensors */
    bool no_decay[TASK_LAYERS]; /* vectors: weight decay skips biases and layer norms */
    size_t d;
    double token_flops; /* multiplications and additions of one token of a full context, forward */
};

/* SG_ERR_ARGUMENT: the width is no multiple of the heads, or there are too many layers. */
SG_CHECKED sg_status gpt_net_open(struct gpt_net *out, const struct gpt_shape *shape, struct sg_error *err);

/* x [d]: matrices normal with deviation 0.02, those that end a residual branch (c_proj) 0.02 / sqrt(2 layers); weights
 * of layer norms 1, biases 0 (Radford et al., 2019, section 2.3, with the numbers of nanoGPT). One stream a tensor. */
void gpt_net_start(const struct gpt_net *net, uint64_t seed, float *x);

/* One pass over `batch` windows of `length` tokens, at most the context. All arrays are the caller's. */
struct gpt_pass {
    const struct gpt_net *net;
    sg_scope *scope;
    float *x; /* [d] */
    float *g; /* [d] gradients are added to it; NULL = none wanted */
    int64_t batch, length;
    const int64_t *id; /* [batch][length] */
    double dropout;    /* rate, 0 in evaluation: of the embedding, of attention's weights, of each branch's end */
    sg_rng rng;        /* masks come from it */
};

/* Logits [batch length, vocabulary] in p->scope. */
sg_tensor *gpt_net_forward(struct gpt_pass *p);

#endif
