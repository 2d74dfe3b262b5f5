/* ncf_net.h: private to lib/task. NeuMF (He et al., "Neural Collaborative Filtering", WWW 2017; Figure 2c).
 *
 * A user and an item each have `factors` numbers, multiplied element by element, and half of the perceptron's input
 * each; both paths end in one linear layer that gives the logit. Layers are, in this order (users * factors and so on):
 *     mf_user.weight mf_item.weight mlp_user.weight mlp_item.weight mlp.0.weight mlp.0.bias ... final.weight final.bias
 *
 * On a CPU the rows of the four tables that a batch needs are gathered into a small tensor of their own, so that
 * libtorch never sees the tables; the gradients of the rows are added to the tables' gradient in the order of the
 * examples, which is the order in which PyTorch's embedding adds them. On a GPU, or wherever `dense` is set, libtorch
 * looks the rows up and adds a gradient of whole tables: with one chunk, and on a CPU, the same bits. */
/* SPDX-License-Identifier: MIT */
#ifndef NCF_NET_H
#define NCF_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_rng.h"
#include "sg_status.h"
#include "sg_tensor.h"
#include "task_layers.h"

enum { NCF_MOST_MLP = 8, NCF_TABLES = 4 };
/* Examples that go through the network at once: enough for a CPU, and what they need stays in its cache. A GPU takes a
 * whole batch. The numbers for masks of dropout are everywhere those of chunks of this length. */
enum { NCF_CHUNK = 2048 };

struct ncf_net {
    size_t users, items, factors;
    size_t mlp[NCF_MOST_MLP], n_mlp; /* sizes: the input, which is even, then the layers; n_mlp >= 2 */
    double dropout;
    bool dense;   /* libtorch sees whole tables; else x and g are in host memory */
    size_t chunk; /* examples that go through the network at once, a multiple of NCF_CHUNK */

    struct task_layers layers;
    size_t d;
    double example_flops; /* multiplications and additions of one example, forward */
};

/* out: users, items, factors, dropout, dense are set. mlp: "256-256-128-64". A chunk is NCF_CHUNK; where dense, it is
 * long enough for `batch` examples. */
SG_CHECKED sg_status ncf_net_open(struct ncf_net *out, const char *mlp, size_t batch, struct sg_error *err);

/* x [d], in host memory: tables normal with deviation 0.01, the perceptron's weights uniform on +-sqrt(6 / (in + out))
 * (Glorot), the last layer's on +-sqrt(3 / in) (LeCun), biases on +-1/sqrt(in) as PyTorch's; one random stream a
 * layer. */
void ncf_net_start(const struct ncf_net *net, uint64_t seed, float *x);

/* Buffers for one thread's passes, in host memory. */
struct ncf_room {
    float *rows, *gradient; /* [chunk][ncf_net_row] of a batch and their gradients; NULL where dense */
    int64_t *user, *item;   /* [chunk] of a batch; NULL where not */
};
size_t ncf_net_row(const struct ncf_net *net); /* floats of one example */
void ncf_room_open(struct ncf_room *out, const struct ncf_net *net);
void ncf_room_close(struct ncf_room *room);

/* One run through the network. All arrays are the caller's; x and g lie in memory of the scope's device, the rest in
 * the host's. */
struct ncf_pass {
    const struct ncf_net *net;
    struct ncf_room *room;
    sg_scope *scope;
    float *x;        /* [d] */
    sg_rng *dropout; /* masks come from it; NULL = none, as in evaluation */
};

/* Chunks of a batch of `count`. */
size_t ncf_net_chunks(const struct ncf_net *net, size_t count);

/* logit [count]. */
SG_CHECKED sg_status ncf_net_score(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item, size_t count,
                                   float *logit, struct sg_error *err);

/* Mean binary cross-entropy of a batch; its gradient is added to g [d]. loss [ncf_net_chunks], in memory of the scope's
 * device, receives each chunk's part, whose sum in double, one after another, is the batch's. On a GPU the call does
 * not wait. The caller's scope is empty afterwards. */
SG_CHECKED sg_status ncf_net_gradient(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item,
                                      const float *label, size_t count, float *g, float *loss, struct sg_error *err);

#endif
