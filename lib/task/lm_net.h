/* lm_net.h: private to lib/task. The language model of the paper (Figure 2b): embedding, LSTM layers, and a decoder
 * whose weight is the embedding's.
 *
 * Parameter tensors have the names and the order of the PyTorch model in tests/golden: encoder.weight, then of each
 * layer rnn.weight_ih, rnn.weight_hh, rnn.bias_ih, rnn.bias_hh, then decoder.bias. */
/* SPDX-License-Identifier: MIT */
#ifndef LM_NET_H
#define LM_NET_H

#include <stddef.h>
#include <stdint.h>

#include "sg_rng.h"
#include "sg_status.h"
#include "sg_tensor.h"
#include "task_layers.h"

/* What makes a model. The last layer is as wide as the embedding, the others `hidden`. */
struct lm_shape {
    int64_t vocabulary, embedding, hidden;
    size_t layers; /* 1 to LM_LAYERS */
};
enum { LM_LAYERS = 16 };

struct lm_net {
    struct lm_shape shape;
    struct task_layers layers; /* 4 shape.layers + 2 tensors */
    size_t d;
    size_t column_state; /* numbers carried from step to step for one column of text: hidden and cell of every layer */
    double token_flops;  /* multiplications and additions of one token, forward */
};

SG_CHECKED sg_status lm_net_open(struct lm_net *out, const struct lm_shape *shape, struct sg_error *err);

/* x [d]: embedding uniform on +-0.1, decoder's bias 0, LSTM uniform on +-1/sqrt(its width); one stream a tensor. */
void lm_net_start(const struct lm_net *net, uint64_t seed, float *x);

/* One run of `steps` steps over `batch` columns of text. All arrays are the caller's. */
struct lm_pass {
    const struct lm_net *net;
    sg_scope *scope;
    float *x; /* [d] */
    float *g; /* [d] gradients are added to it; NULL = none wanted */
    int64_t steps, batch;
    const int64_t *id;             /* [steps][batch] */
    float *state;                  /* [batch column_state] what the columns carry; outlives sg_backward, read only */
    double dropout;                /* rate, 0 in evaluation */
    sg_rng rng;                    /* masks come from it */
    sg_tensor *last[LM_LAYERS][2]; /* out: hidden and cell after the last step */
};

/* Logits [steps batch, vocabulary] in p->scope. */
sg_tensor *lm_net_forward(struct lm_pass *p);
/* The state after the last step into out [batch column_state], the scope's memory; before sg_backward, which frees it.
 * out may be p->state where no gradients are wanted. */
SG_CHECKED sg_status lm_net_carry(struct lm_pass *p, float *out, struct sg_error *err);

#endif
