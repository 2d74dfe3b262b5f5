/* sg_tensor.h: tensors with automatic differentiation over libtorch, as much as the models need.
 *
 * A scope owns every tensor made in it. An operation returns a handle borrowed from its scope, or NULL after a failure.
 * After the first failure all further operations of the scope do nothing and return NULL; sg_scope_status returns that
 * failure. So a model is a chain of calls that is checked once. Only one thread at a time may use a scope; several
 * scopes may be used at once.
 *
 * Tensors and arithmetic are float32 in a scope of precision "fp32". In one of "tf32" a GPU rounds the factors of
 * convolutions and matrix products to 11 significant bits. In one of "bf16" those factors and results are bfloat16, and
 * so is what relu, pooling, batch-norm and sums make of such results alone. The LSTM rounds as with "tf32" then. In
 * every scope losses, softmax, layer-norm, statistics, parameters, gradients and what is read are float32.
 *
 * Images have the shape [count, channels, height, width]. Their channels lie innermost in memory, which is fastest for
 * convolutions on every device.
 *
 * On a CPU the same operations on the same number of threads give the same bits. Another number of threads splits sums
 * differently and may change the last bits. Inside an OpenMP parallel region each operation runs on its calling thread
 * alone. On a GPU an operation may return before it is done; it runs in order with the kernels of sg_cuda.h. cuDNN and
 * cuBLAS are set up to give the same bits again on the same GPU with the same libraries. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TENSOR_H
#define SG_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"
#include "sg_rng.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sg_scope sg_scope;
typedef struct sg_tensor sg_tensor;

/* The version of the libtorch in use, "1.13.0". */
const char *sg_tensor_library(void);

/* device: "cpu", "cuda" or "cuda:N"; precision: "fp32", "tf32" or "bf16". "tf32" does nothing on a CPU. On a GPU
 * the last scope that is opened decides for all of the process whether factors are rounded as with "tf32".
 * SG_ERR_UNSUPPORTED: libtorch cannot use the device. */
SG_CHECKED sg_status sg_scope_open(sg_scope **out, const char *device, const char *precision, struct sg_error *err);
void sg_scope_close(sg_scope *s); /* NULL-safe */
/* Sets the table that draws the masks of dropout, which fails without one, and its GPU (sg_exec.device). The scope's
 * tensors lie in memory that this table writes to. */
void sg_scope_use(sg_scope *s, const struct sg_kernels *kernels, void *gpu);

/* Frees all tensors and resets the status to SG_OK. The operations that follow run on `threads` threads (>= 1). With
 * `gradients` they keep what sg_backward needs. */
void sg_scope_begin(sg_scope *s, int threads, bool gradients);
/* From now to the next begin, sg_backward calls `added` as soon as it has added a parameter's gradient [n], which must
 * then be complete: the parameter has one handle, and there is one sg_backward. On a CPU the caller's own thread calls
 * it. `of` and `number` are the caller's. */
typedef void sg_gradient_fn(void *of, size_t number, const float *gradient, size_t n);
void sg_scope_watch(sg_scope *s, sg_gradient_fn *added, void *of, size_t number);
/* SG_OK, or the first failure since sg_scope_begin in libtorch's words: SG_ERR_MEMORY, SG_ERR_UNSUPPORTED (the device
 * failed) or SG_ERR_ARGUMENT. */
SG_CHECKED sg_status sg_scope_status(const sg_scope *s, struct sg_error *err);

/* A view of data, without a copy. The data are contiguous, of shape [rank], in memory of the scope's device, and must
 * outlive the scope's next begin. */
sg_tensor *sg_tensor_view(sg_scope *s, float *data, const int64_t *shape, size_t rank);
/* A view for which sg_backward computes a gradient: it ADDS to `gradient`, which has the same shape. gradient NULL = a
 * constant. */
sg_tensor *sg_tensor_parameter(sg_scope *s, float *data, float *gradient, const int64_t *shape, size_t rank);
/* Images that lie as [count][height][width][channels] in host memory; `shape` is [count, channels, height, width] here,
 * too. On a CPU this is a view. */
sg_tensor *sg_tensor_images(sg_scope *s, const float *data, const int64_t shape[4]);
/* Images that lie as bytes [count][channels][height][width] in host memory. Byte v of channel c becomes table[c][v];
 * the table [channels][256] lies in memory of the scope's device. */
sg_tensor *sg_tensor_image_bytes(sg_scope *s, const uint8_t *data, const int64_t shape[4], float *table);

/* Kernel sizes are those of weight [out, in, height, width]; bias [out] or NULL. */
sg_tensor *sg_conv2d(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, int64_t stride, int64_t padding);
/* Per channel: (x - mean) / sqrt(var + epsilon) * weight + bias. In training, mean and var are the batch's, and running
 * <- (1 - momentum) running + momentum batch's (with the unbiased variance). Otherwise they are the running ones. */
sg_tensor *sg_batch_norm(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, sg_tensor *running_mean,
                         sg_tensor *running_var, bool training, double momentum, double epsilon);
/* Works in place and returns x. The old value of x must not be needed to differentiate another result. */
sg_tensor *sg_relu(sg_scope *s, sg_tensor *x);
/* a <- a + b, in place like sg_relu. */
sg_tensor *sg_add(sg_scope *s, sg_tensor *a, sg_tensor *b);
/* x <- factor x, in place like sg_relu. */
sg_tensor *sg_scale(sg_scope *s, sg_tensor *x, double factor);
sg_tensor *sg_mul(sg_scope *s, sg_tensor *a, sg_tensor *b); /* broadcasts [n, c, 1, 1] over [n, c, h, w] */
sg_tensor *sg_sigmoid(sg_scope *s, sg_tensor *x);
sg_tensor *sg_gelu(sg_scope *s, sg_tensor *x); /* x Phi(x), with the normal distribution itself and not by tanh */
/* Over the last dimension, which weight and bias have: (x - mean) / sqrt(var + epsilon) * weight + bias. */
sg_tensor *sg_layer_norm(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, double epsilon);
sg_tensor *sg_max_pool(sg_scope *s, sg_tensor *x, int64_t kernel, int64_t stride, int64_t padding);
sg_tensor *sg_avg_pool(sg_scope *s, sg_tensor *x, int64_t kernel, int64_t stride);
sg_tensor *sg_cat(sg_scope *s, sg_tensor *const *part, size_t count); /* along the channels */
sg_tensor *sg_reshape(sg_scope *s, sg_tensor *x, const int64_t *shape, size_t rank);
sg_tensor *sg_linear(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias); /* x weight^T + bias */
/* Row numbers for sg_embedding, or labels. They are row-major and in host memory that outlives sg_backward. */
sg_tensor *sg_tensor_ids(sg_scope *s, const int64_t *id, const int64_t *shape, size_t rank);
/* Rows `id` [shape...] of weight [rows, width], as [shape..., width]. The ids are below rows. */
sg_tensor *sg_embedding(sg_scope *s, sg_tensor *weight, sg_tensor *id);
/* One LSTM layer over all steps of x [steps, batch, in], from hidden and cell state [1, batch, out]. Returns the hidden
 * states [steps, batch, out]; *last_hidden and *last_cell receive the state after the last step. The rows of the
 * weights belong to the input, forget, cell and output gate, in this order. */
struct sg_lstm_weights {
    sg_tensor *input, *hidden;           /* [4 out, in], [4 out, out] */
    sg_tensor *input_bias, *hidden_bias; /* [4 out] */
};
sg_tensor *sg_lstm(sg_scope *s, sg_tensor *x, sg_tensor *hidden, sg_tensor *cell, const struct sg_lstm_weights *w,
                   sg_tensor **last_hidden, sg_tensor **last_cell);
/* Each element becomes 0 with probability `rate` (0 <= rate < 1, taken as a multiple of 2^-32), else x / (1 - rate).
 * rng is drawn from in row-major order. Rate 0: returns x itself, and draws nothing. */
sg_tensor *sg_dropout(sg_scope *s, sg_tensor *x, double rate, sg_rng *rng);
/* Each of `heads` heads of width w: softmax(q k^T / sqrt(w), over the keys up to the query's own) v. The rows of
 * qkv [batch, length, 3 heads w] are the queries of all heads, then their keys, then their values. Returns [batch,
 * length, heads w]. With rate > 0 the weights of the softmax are dropped out as sg_dropout does. */
sg_tensor *sg_causal_attention(sg_scope *s, sg_tensor *qkv, int64_t heads, double rate, sg_rng *rng);
/* Like sg_dropout, for one of several tensors with the same number of rows, whose masks are drawn in chunks of `rows`
 * rows (the last may be shorter). A chunk draws for its rows of the first tensor, then of the second, and so on. One
 * row of all tensors draws `all` numbers, `before` of them for tensors before x. rng stands at the first chunk and does
 * not move. */
struct sg_chunks {
    size_t rows, before, all;
};
sg_tensor *sg_dropout_chunks(sg_scope *s, sg_tensor *x, double rate, const sg_rng *rng, const struct sg_chunks *chunks);
/* The mean over the rows of logits [n, classes] of the softmax cross-entropy with label [n]. */
sg_tensor *sg_cross_entropy(sg_scope *s, sg_tensor *logits, sg_tensor *label);
/* The sum over all logits z of log(1 + exp(-z)) where the label is 1 and log(1 + exp(z)) where it is 0, divided by
 * `divisor`. There is one label for each logit, in host memory. */
sg_tensor *sg_binary_cross_entropy(sg_scope *s, sg_tensor *logits, const float *label, double divisor);

/* Copies all elements, row-major as the shape says, to out [count] on the host; count is the shape's. On a GPU this
 * waits for all earlier operations. */
SG_CHECKED sg_status sg_tensor_read(sg_scope *s, sg_tensor *x, float *out, size_t count, struct sg_error *err);
/* Like sg_tensor_read, into memory of the scope's device, without waiting. */
SG_CHECKED sg_status sg_tensor_store(sg_scope *s, sg_tensor *x, float *out, size_t count, struct sg_error *err);

/* Adds d loss / d parameter to every parameter's gradient; loss has one element. All other tensors of the scope are
 * freed first, so that each activation is freed as soon as it is used. The value of loss stays. */
SG_CHECKED sg_status sg_backward(sg_scope *s, sg_tensor *loss, struct sg_error *err);

/* Computes a loss from inputs, which have no gradients. */
typedef sg_tensor *sg_pass_fn(void *of, sg_tensor *const *input);
/* Returns loss(of, input) after an sg_backward of it. The gradients of all parameters lie in g. */
sg_tensor *sg_pass(sg_scope *s, sg_pass_fn *loss, void *of, sg_tensor *const *input, size_t inputs, float *g);
/* Repeats every sg_pass of the scope by one launch, as a CUDA graph. `before` passes, 2 or more, run before one is
 * recorded, so that nothing is set up in the recording. Passes may differ in what their inputs hold and in where g
 * lies. All else must be the same: what `loss` does, and the addresses and shapes of the views and parameters that it
 * makes. An sg_pass with inputs of other shapes runs as without a graph. `loss` fails if it reads memory of the host or
 * draws masks of dropout, and sg_scope_watch is not heard.
 * SG_ERR_UNSUPPORTED: the device or libtorch has no graphs. With `before` SIZE_MAX nothing is ever recorded, which any
 * device can. */
SG_CHECKED sg_status sg_scope_use_graph(sg_scope *s, size_t before, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
