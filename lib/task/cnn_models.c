/* cnn_models.c: the networks of the paper's image experiments (its Appendix C), and two small ones. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cnn_net.h"

/* A model's number of channels times the width of this network; at least one. */
static int64_t scaled(const struct cnn_pass *p, int64_t channels) {
    return (int64_t)fmax(1, rint(p->net->width * (double)channels));
}

static cnn_value conv(struct cnn_pass *p, const char *name, cnn_value x, int64_t channels, int64_t kernel,
                      int64_t stride) {
    return cnn_conv(p, name, x, (struct cnn_conv){.channels = channels, .kernel = kernel, .stride = stride});
}

static cnn_value conv_biased(struct cnn_pass *p, const char *name, cnn_value x, int64_t channels, int64_t kernel,
                             int64_t stride) {
    return cnn_conv(p, name, x,
                    (struct cnn_conv){.channels = channels, .kernel = kernel, .stride = stride, .bias = true});
}

/* ---- residual networks (He et al., CVPR 2016) -------------------------------------------------------------------- */

typedef cnn_value block(struct cnn_pass *p, cnn_value x, int64_t channels, int64_t stride);

static bool changes_shape(cnn_value x, int64_t channels, int64_t stride) {
    return stride != 1 || x.channels != channels;
}

static cnn_value basic_block(struct cnn_pass *p, cnn_value x, int64_t channels, int64_t stride) {
    cnn_value y = cnn_norm(p, "bn1", conv(p, "conv1", x, channels, 3, stride));
    y = cnn_norm(p, "bn2", conv(p, "conv2", cnn_relu(p, y), channels, 3, 1));
    if (changes_shape(x, channels, stride))
        x = cnn_norm(p, "shortcut.1", conv(p, "shortcut.0", x, channels, 1, stride));
    return cnn_relu(p, cnn_add(p, y, x));
}

/* Stages of `repeat` blocks; each stage but the first halves the size. */
static cnn_value stages(struct cnn_pass *p, cnn_value x, block *build, const int64_t *channels, int count, int repeat) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < repeat; j++) {
            cnn_in(p, "layer%d.%d.", i + 1, j);
            x = build(p, x, scaled(p, channels[i]), i > 0 && j == 0 ? 2 : 1);
        }
    cnn_in(p, "%s", "");
    return x;
}

static cnn_value residual_net(struct cnn_pass *p, cnn_value x, int64_t classes, block *build, const int64_t *channels,
                              int count, int repeat) {
    x = cnn_relu(p, cnn_norm(p, "bn1", conv(p, "conv1", x, scaled(p, channels[0]), 3, 1)));
    x = stages(p, x, build, channels, count, repeat);
    return cnn_linear(p, "linear", cnn_mean(p, x), classes);
}

static const int64_t WIDE[] = {64, 128, 256, 512}, NARROW[] = {16, 32, 64};

static cnn_value resnet8(struct cnn_pass *p, cnn_value x, int64_t classes) {
    return residual_net(p, x, classes, basic_block, NARROW, 3, 1);
}

static cnn_value resnet20(struct cnn_pass *p, cnn_value x, int64_t classes) {
    return residual_net(p, x, classes, basic_block, NARROW, 3, 3);
}

static cnn_value resnet18(struct cnn_pass *p, cnn_value x, int64_t classes) {
    return residual_net(p, x, classes, basic_block, WIDE, 4, 2);
}

/* ---- squeeze and excitation (Hu et al., CVPR 2018) --------------------------------------------------------------- */

/* Channels of the layer in the middle of a gate. */
static int64_t squeezed(int64_t channels) {
    return channels > 16 ? channels / 16 : 1;
}

/* Pre-activation; the gate's layers are 1x1 convolutions. */
static cnn_value senet_block(struct cnn_pass *p, cnn_value x, int64_t channels, int64_t stride) {
    cnn_value active = cnn_relu(p, cnn_norm(p, "bn1", x));
    cnn_value y = cnn_relu(p, cnn_norm(p, "bn2", conv(p, "conv1", active, channels, 3, stride)));
    y = conv(p, "conv2", y, channels, 3, 1);
    if (changes_shape(x, channels, stride))
        x = conv(p, "shortcut.0", active, channels, 1, stride);
    cnn_value w = cnn_relu(p, conv_biased(p, "fc1", cnn_mean(p, y), squeezed(channels), 1, 1));
    return cnn_add(p, cnn_gate(p, y, conv_biased(p, "fc2", w, channels, 1, 1)), x);
}

static cnn_value senet18(struct cnn_pass *p, cnn_value x, int64_t classes) {
    return residual_net(p, x, classes, senet_block, WIDE, 4, 2);
}

/* PAPER: biases in the convolutions, a ReLU after the second batch-norm and 516 channels are as in the reference. */
static cnn_value seresnet_block(struct cnn_pass *p, cnn_value x, int64_t channels, int64_t stride) {
    cnn_value y = cnn_relu(p, cnn_norm(p, "residual.1", conv_biased(p, "residual.0", x, channels, 3, stride)));
    y = cnn_relu(p, cnn_norm(p, "residual.4", conv_biased(p, "residual.3", y, channels, 3, 1)));
    if (changes_shape(x, channels, stride))
        x = cnn_norm(p, "shortcut.1", conv_biased(p, "shortcut.0", x, channels, 1, stride));
    cnn_value w = cnn_relu(p, cnn_linear(p, "excitation.0", cnn_mean(p, y), squeezed(channels)));
    w = cnn_linear(p, "excitation.2", w, channels);
    return cnn_relu(p, cnn_add(p, cnn_gate(p, y, w), x));
}

static cnn_value seresnet18(struct cnn_pass *p, cnn_value x, int64_t classes) {
    static const int64_t channels[] = {64, 128, 256, 516};
    x = cnn_relu(p, cnn_norm(p, "pre.1", conv_biased(p, "pre.0", x, scaled(p, 64), 3, 1)));
    x = stages(p, x, seresnet_block, channels, 4, 2);
    return cnn_linear(p, "linear", cnn_mean(p, x), classes);
}

/* ---- GoogLeNet (Szegedy et al., CVPR 2015), with batch-norm, the 5x5 branch as two 3x3 --------------------------- */

struct inception {
    const char *name;
    int64_t one, reduce_three, three, reduce_five, five, pool;
    bool halve; /* the size first, by a max-pool */
};

static const struct inception INCEPTION[] = {
    {"a3", 64, 96, 128, 16, 32, 32, false},     {"b3", 128, 128, 192, 32, 96, 64, false},
    {"a4", 192, 96, 208, 16, 48, 64, true},     {"b4", 160, 112, 224, 24, 64, 64, false},
    {"c4", 128, 128, 256, 24, 64, 64, false},   {"d4", 112, 144, 288, 32, 64, 64, false},
    {"e4", 256, 160, 320, 32, 128, 128, false}, {"a5", 256, 160, 320, 32, 128, 128, true},
    {"b5", 384, 192, 384, 48, 128, 128, false},
};

/* Layers i and i + 1 of a sequence: convolution and batch-norm. */
static cnn_value unit(struct cnn_pass *p, const char *sequence, int i, cnn_value x, struct cnn_conv shape) {
    char first[24], second[24];
    snprintf(first, sizeof first, "%s.%d", sequence, i);
    snprintf(second, sizeof second, "%s.%d", sequence, i + 1);
    shape.channels = scaled(p, shape.channels);
    return cnn_relu(p, cnn_norm(p, second, cnn_conv(p, first, x, shape)));
}

static cnn_value inception(struct cnn_pass *p, cnn_value x, const struct inception *m) {
    cnn_in(p, "%s.", m->name);
    cnn_value part[4];
    part[0] = unit(p, "b1", 0, x, (struct cnn_conv){.channels = m->one, .kernel = 1, .bias = true});
    part[1] = unit(p, "b2", 0, x, (struct cnn_conv){.channels = m->reduce_three, .kernel = 1, .bias = true});
    part[1] = unit(p, "b2", 3, part[1], (struct cnn_conv){.channels = m->three, .kernel = 3, .bias = true});
    part[2] = unit(p, "b3", 0, x, (struct cnn_conv){.channels = m->reduce_five, .kernel = 1, .bias = true});
    part[2] = unit(p, "b3", 3, part[2], (struct cnn_conv){.channels = m->five, .kernel = 3, .bias = true});
    part[2] = unit(p, "b3", 6, part[2], (struct cnn_conv){.channels = m->five, .kernel = 3, .bias = true});
    part[3] =
        unit(p, "b4", 1, cnn_max_pool(p, x, 1), (struct cnn_conv){.channels = m->pool, .kernel = 1, .bias = true});
    return cnn_cat(p, part, 4);
}

static cnn_value inceptions(struct cnn_pass *p, cnn_value x) {
    for (size_t i = 0; i < sizeof INCEPTION / sizeof *INCEPTION; i++)
        x = inception(p, INCEPTION[i].halve ? cnn_max_pool(p, x, 2) : x, &INCEPTION[i]);
    cnn_in(p, "%s", "");
    return cnn_mean(p, x);
}

static cnn_value googlenet(struct cnn_pass *p, cnn_value x, int64_t classes) {
    x = unit(p, "pre_layers", 0, x, (struct cnn_conv){.channels = 192, .kernel = 3, .bias = true});
    return cnn_linear(p, "linear", inceptions(p, x), classes);
}

/* PAPER: the reference's file for CIFAR-100, with a deeper stem, which halves the size, and dropout before its head.
 * The parameters and thresholds that the paper gives for CIFAR-100 are those of `googlenet` with 100 classes. */
static cnn_value googlenet_deep(struct cnn_pass *p, cnn_value x, int64_t classes) {
    x = unit(p, "prelayer", 0, x, (struct cnn_conv){.channels = 64, .kernel = 3});
    x = unit(p, "prelayer", 3, x, (struct cnn_conv){.channels = 64, .kernel = 3});
    x = unit(p, "prelayer", 6, x, (struct cnn_conv){.channels = 192, .kernel = 3});
    x = inceptions(p, cnn_max_pool(p, x, 2));
    return cnn_linear(p, "linear", cnn_dropout(p, x, 0.4), classes);
}

static const struct cnn_model MODEL[] = {
    {"resnet8", resnet8},
    {"resnet20", resnet20},
    {"resnet18", resnet18},
    {"googlenet", googlenet},
    {"googlenet-deep", googlenet_deep},
    {"senet18", senet18},
    {"seresnet18", seresnet18},
};

sg_status cnn_model_open(struct cnn_net *out, const char *name, double width, int64_t classes, struct sg_error *err) {
    for (size_t i = 0; i < sizeof MODEL / sizeof *MODEL; i++)
        if (strcmp(MODEL[i].name, name) == 0) {
            cnn_net_open(out, &MODEL[i], width, classes);
            return SG_OK;
        }
    return sg_fail(err, SG_ERR_ARGUMENT, "unknown model '%s'", name);
}
