/* cnn_net.h: private to lib/task. Convolutional networks, described once.
 *
 * A model is one C function that applies layers to a value. Run without a scope it declares the network: layers get
 * names, shapes and places in the flat parameter vector, in the order of the calls. Run with a scope it computes,
 * taking its parameters in the same order. Layer names and order are those of the PyTorch models in tests/golden. */
/* SPDX-License-Identifier: MIT */
#ifndef CNN_NET_H
#define CNN_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_rng.h"
#include "sg_status.h"
#include "sg_tensor.h"
#include "task_layers.h"

enum cnn_role { CNN_WEIGHT, CNN_BIAS, CNN_NORM_WEIGHT, CNN_NORM_BIAS };

/* One parameter tensor, such as "layer1.0.conv1.weight". */
struct cnn_layer {
    enum cnn_role role;
    int64_t shape[4];
    size_t rank, size;
    int64_t fan_in; /* of a weight and its bias; 0 of batch-norms */
};

struct cnn_net {
    const struct cnn_model *model;
    int64_t classes;
    double width; /* multiple of the model's channels */
    struct task_layers layers;
    struct cnn_layer layer[TASK_LAYERS];
    bool no_decay[TASK_LAYERS]; /* batch-norm: weight decay skips it */
    bool dropout;               /* training draws masks */
    size_t d, n_statistics;     /* parameters; running means and variances of all batch-norms */
    double image_flops;         /* multiplications and additions of one image, forward */
    double image_values;        /* numbers of one image that the backward pass needs */
    double most_values;         /* of one image in the largest layer */
};

/* One run through a network. All arrays are the caller's. */
struct cnn_pass {
    struct cnn_net *net;
    sg_scope *scope;   /* NULL = declaring */
    float *x;          /* [d] */
    float *g;          /* [d] gradients are added to it; NULL = none wanted */
    float *statistics; /* [n_statistics]; updated in training */
    bool training;
    int64_t count;  /* images */
    sg_rng dropout; /* masks come from it */

    size_t next_layer, next_statistic; /* from here on private to cnn_net.c */
    char prefix[24];
};

/* What flows through a network: [count, channels, size, size]; [count, channels] after cnn_linear (size 1). */
typedef struct cnn_value {
    sg_tensor *tensor;
    int64_t channels, size;
} cnn_value;

struct cnn_model {
    const char *name;
    cnn_value (*build)(struct cnn_pass *p, cnn_value images, int64_t classes); /* returns logits */
};

void cnn_net_open(struct cnn_net *out, const struct cnn_model *model, double width, int64_t classes);
/* The network of the model that has this name, from cnn_models.c, with `width` times its channels. */
SG_CHECKED sg_status cnn_model_open(struct cnn_net *out, const char *name, double width, int64_t classes,
                                    struct sg_error *err);

/* x [d] as PyTorch initialises by default: weights and biases uniform on +-1/sqrt(fan in), batch-norms 1 and 0; one
 * random stream a layer. statistics [n_statistics]: means 0, variances 1. */
void cnn_net_start(const struct cnn_net *net, uint64_t seed, float *x);
void cnn_net_start_statistics(const struct cnn_net *net, float *statistics);

/* Images [p->count, 3, 32, 32] in p->scope: of floats [count][32][32][3] in host memory, or of bytes [count][3][32][32]
 * there and a table [3][256], in memory of the scope's device, of what they become. */
sg_tensor *cnn_net_images(const struct cnn_pass *p, const float *images);
sg_tensor *cnn_net_image_bytes(const struct cnn_pass *p, const uint8_t *images, float *table);
/* Logits [count, classes] of such images. */
sg_tensor *cnn_net_forward(struct cnn_pass *p, sg_tensor *images);

/* ---- for the models ---- */

/* Following layers are called PREFIX.name. */
void cnn_in(struct cnn_pass *p, const char *prefix, ...) SG_PRINTF(2, 3);

struct cnn_conv {
    int64_t channels, kernel;
    int64_t stride; /* 0 = 1 */
    bool bias;
};
/* Padded so that stride 1 keeps the size. */
cnn_value cnn_conv(struct cnn_pass *p, const char *name, cnn_value x, struct cnn_conv shape);
cnn_value cnn_norm(struct cnn_pass *p, const char *name, cnn_value x);
cnn_value cnn_linear(struct cnn_pass *p, const char *name, cnn_value x, int64_t channels); /* x of size 1 */
cnn_value cnn_relu(struct cnn_pass *p, cnn_value x);                                       /* in place, as sg_relu */
cnn_value cnn_add(struct cnn_pass *p, cnn_value a, cnn_value b);                           /* into a, as sg_add */
cnn_value cnn_gate(struct cnn_pass *p, cnn_value x, cnn_value w); /* x times sigmoid(w), w one number a channel */
cnn_value cnn_cat(struct cnn_pass *p, const cnn_value *part, size_t count);
cnn_value cnn_max_pool(struct cnn_pass *p, cnn_value x, int64_t stride); /* 3x3, padding 1 */
cnn_value cnn_mean(struct cnn_pass *p, cnn_value x);                     /* over each channel */
cnn_value cnn_dropout(struct cnn_pass *p, cnn_value x, double rate);     /* x of size 1 */

#endif
