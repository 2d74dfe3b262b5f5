/* sg_tensor.h: tensors with automatic differentiation, as much as the models need, over libtorch.
 *
 * A scope owns every tensor made in it. An operation returns a handle borrowed from its scope, or NULL after a failure;
 * the first failure sticks: later operations of the scope do nothing and return NULL, until sg_scope_status tells it.
 * So a model is a chain of calls, checked once. A scope serves one thread at a time, several may be used at once.
 *
 * Tensors are float32, and so is the arithmetic: no TF32. Images have the shape [count, channels, height, width] and lie
 * in memory with the channels innermost, which convolutions on a CPU like best; on a GPU, as the shape says.
 *
 * On a CPU the same operations on the same number of threads give the same bits; another number of threads cuts sums
 * elsewhere and may change the last ones. Inside an OpenMP parallel region each operation runs on its calling thread
 * alone. On a GPU operations are only begun, in order with what the kernels of sg_cuda.h do there; the same GPU and
 * libraries give the same bits again (cuDNN and cuBLAS are told to). */
#ifndef SG_TENSOR_H
#define SG_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_rng.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sg_scope sg_scope;
typedef struct sg_tensor sg_tensor;

/* "1.13.0": the libtorch in use. */
const char *sg_tensor_library(void);

/* device: "cpu", "cuda" or "cuda:N"; SG_ERR_UNSUPPORTED where libtorch cannot use it. */
SG_CHECKED sg_status sg_scope_open(sg_scope **out, const char *device, struct sg_error *err);
void sg_scope_close(sg_scope *s); /* NULL-safe */

/* Free all tensors, forget a failure. What follows runs on `threads` threads (>= 1), and remembers what sg_backward needs
 * where `gradients` is set. */
void sg_scope_begin(sg_scope *s, int threads, bool gradients);
/* SG_OK, or the first failure since sg_scope_begin: SG_ERR_MEMORY, SG_ERR_UNSUPPORTED of a device that
 * failed, or SG_ERR_ARGUMENT, with libtorch's words. */
SG_CHECKED sg_status sg_scope_status(const sg_scope *s, struct sg_error *err);

/* Views: no copy. Data lies in memory of the scope's device and must outlive the scope's next begin. shape [rank],
 * contiguous. */
sg_tensor *sg_tensor_view(sg_scope *s, float *data, const int64_t *shape, size_t rank);
/* A tensor to differentiate by: sg_backward ADDS to gradient, of the same shape; NULL = a constant. */
sg_tensor *sg_tensor_parameter(sg_scope *s, float *data, float *gradient, const int64_t *shape, size_t rank);
/* Images whose bytes lie [count][height][width][channels] in host memory; shape as above: [count, channels, height, width].
 * On a CPU a view, too. */
sg_tensor *sg_tensor_images(sg_scope *s, const float *data, const int64_t shape[4]);

/* kernel sizes are the weight's: [out, in, height, width]; bias [out] or NULL. */
sg_tensor *sg_conv2d(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, int64_t stride, int64_t padding);
/* Per channel: (x - mean) / sqrt(var + epsilon) * weight + bias. In training mean and variance are the batch's and
 * running <- (1 - momentum) running + momentum batch's (variance unbiased there); else the running ones are used. */
sg_tensor *sg_batch_norm(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias, sg_tensor *running_mean,
                         sg_tensor *running_var, bool training, double momentum, double epsilon);
/* In place: x itself holds the result. x must not be an operand whose value is needed to differentiate another result. */
sg_tensor *sg_relu(sg_scope *s, sg_tensor *x);
/* a <- a + b, the same way. */
sg_tensor *sg_add(sg_scope *s, sg_tensor *a, sg_tensor *b);
/* x <- factor x, the same way. */
sg_tensor *sg_scale(sg_scope *s, sg_tensor *x, double factor);
sg_tensor *sg_mul(sg_scope *s, sg_tensor *a, sg_tensor *b); /* broadcasts [n, c, 1, 1] over [n, c, h, w] */
sg_tensor *sg_sigmoid(sg_scope *s, sg_tensor *x);
sg_tensor *sg_max_pool(sg_scope *s, sg_tensor *x, int64_t kernel, int64_t stride, int64_t padding);
sg_tensor *sg_avg_pool(sg_scope *s, sg_tensor *x, int64_t kernel, int64_t stride);
sg_tensor *sg_cat(sg_scope *s, sg_tensor *const *part, size_t count); /* along the channels */
sg_tensor *sg_reshape(sg_scope *s, sg_tensor *x, const int64_t *shape, size_t rank);
sg_tensor *sg_linear(sg_scope *s, sg_tensor *x, sg_tensor *weight, sg_tensor *bias); /* x weight^T + bias */
/* Rows `id` of weight [rows, width]: [shape..., width]; id row-major, below rows, host memory that
 * outlives sg_backward. */
sg_tensor *sg_embedding(sg_scope *s, sg_tensor *weight, const int64_t *id, const int64_t *shape, size_t rank);
/* One LSTM layer over all steps of x [steps, batch, in], from hidden and cell state [1, batch, out]: the hidden states
 * [steps, batch, out]; *last_hidden and *last_cell receive the state after the last step. The weights' rows are those of
 * the input, forget, cell and output gate, in this order. */
struct sg_lstm_weights {
    sg_tensor *input, *hidden;           /* [4 out, in], [4 out, out] */
    sg_tensor *input_bias, *hidden_bias; /* [4 out] */
};
sg_tensor *sg_lstm(sg_scope *s, sg_tensor *x, sg_tensor *hidden, sg_tensor *cell, const struct sg_lstm_weights *w,
                   sg_tensor **last_hidden, sg_tensor **last_cell);
/* Each element is 0 with probability `rate` (0 <= rate < 1), else x / (1 - rate); draws come from rng in row-major order. */
sg_tensor *sg_dropout(sg_scope *s, sg_tensor *x, double rate, sg_rng *rng);
/* Mean over the rows of logits [n, classes] of the softmax cross-entropy with label [n], host memory. */
sg_tensor *sg_cross_entropy(sg_scope *s, sg_tensor *logits, const int64_t *label);
/* The sum over the logits' elements of log(1 + exp(-z)) for a label of 1 and log(1 + exp(z)) for 0, over `divisor`; label,
 * host memory, has as many. */
sg_tensor *sg_binary_cross_entropy(sg_scope *s, sg_tensor *logits, const float *label, double divisor);

/* Copy all elements (row-major, as the shape says) to the host: out [count], count as the shape has. On a GPU this waits
 * for all that was begun before. */
SG_CHECKED sg_status sg_tensor_read(sg_scope *s, sg_tensor *x, float *out, size_t count, struct sg_error *err);
/* The same into memory of the scope's device, without waiting. */
SG_CHECKED sg_status sg_tensor_store(sg_scope *s, sg_tensor *x, float *out, size_t count, struct sg_error *err);

/* Add d loss / d parameter to every parameter's gradient; loss has one element. All other tensors of the scope are freed
 * first, so that activations go as soon as they are used; the value of loss stays. */
SG_CHECKED sg_status sg_backward(sg_scope *s, sg_tensor *loss, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
