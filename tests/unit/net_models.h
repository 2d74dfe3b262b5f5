/* net_models.h: the parameters of published models in the order of the backward pass, with an estimate of how the
 * backward pass divides among them: by multiplications, with a tenth spread evenly. Nobody published measured times of
 * these models' layers, so tests that use the estimate say so. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_MODELS_H
#define NET_MODELS_H

#include <stddef.h>

struct net_model {
    const char *name;
    size_t layers;
    double numbers[512], work[512]; /* of each parameter tensor */
    double rows[512], columns[512]; /* as a matrix, of PowerSGD; 0 rows = a vector */
    double backward_s[512], bytes[512], all_numbers;
};

static void net_put(struct net_model *m, double rows, double columns, double work) {
    const size_t l = m->layers++;
    m->rows[l] = columns > 1 ? rows : 0;
    m->columns[l] = columns;
    m->numbers[l] = rows * columns;
    m->work[l] = work;
}

static void net_conv(struct net_model *m, double in, double out, double side, double image) {
    net_put(m, out, in * side * side, out * in * side * side * image * image);
    net_put(m, out, 1, 0); /* batch normalization */
    net_put(m, out, 1, 0);
}

/* He et al., CVPR 2016, as torchvision has it: 161 tensors, 25,557,032 numbers. */
__attribute__((unused)) static void net_resnet50(struct net_model *m) {
    static const struct {
        int blocks;
        double width, image;
    } stage[] = {{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}};
    *m = (struct net_model){.name = "ResNet-50"};
    net_conv(m, 3, 64, 7, 112);
    double in = 64;
    for (int s = 0; s < 4; s++)
        for (int b = 0; b < stage[s].blocks; b++) {
            const double w = stage[s].width, image = stage[s].image;
            net_conv(m, in, w, 1, b == 0 && s > 0 ? 2 * image : image);
            net_conv(m, w, w, 3, image);
            net_conv(m, w, 4 * w, 1, image);
            if (b == 0)
                net_conv(m, in, 4 * w, 1, image);
            in = 4 * w;
        }
    net_put(m, 1000, 2048, 2048e3);
    net_put(m, 1000, 1, 0);
}

/* Devlin et al., 2018, with both heads of its pre-training and tied embeddings: 398 tensors and 336,226,108 numbers
 * with 24 layers of width 1024, 206 and 110,106,428 with 12 of 768. */
__attribute__((unused)) static void net_bert(struct net_model *m, const char *name, int layers, double width) {
    const double words = 30522;
    *m = (struct net_model){.name = name};
    net_put(m, words, width, 0);
    net_put(m, 512, width, 0);
    net_put(m, 2, width, 0);
    net_put(m, width, 1, 0);
    net_put(m, width, 1, 0);
    for (int l = 0; l < layers; l++) {
        for (int k = 0; k < 4; k++) { /* query, key, value, output */
            net_put(m, width, width, width * width);
            net_put(m, width, 1, 0);
        }
        net_put(m, width, 1, 0);
        net_put(m, width, 1, 0);
        net_put(m, 4 * width, width, 4 * width * width);
        net_put(m, 4 * width, 1, 0);
        net_put(m, width, 4 * width, 4 * width * width);
        for (int k = 0; k < 3; k++)
            net_put(m, width, 1, 0);
    }
    net_put(m, width, width, 0);
    net_put(m, width, 1, 0);
    net_put(m, words, 1, words * width); /* its product with the tied embeddings comes first */
    net_put(m, width, width, width * width);
    for (int k = 0; k < 3; k++)
        net_put(m, width, 1, 0);
    net_put(m, 2, width, 0);
    net_put(m, 2, 1, 0);
}

/* Turns the model round, and divides a backward pass of so many seconds. */
__attribute__((unused)) static void net_backward(struct net_model *m, double backward_s) {
    static struct net_model forward;
    double work = 0;
    forward = *m;
    m->all_numbers = 0;
    for (size_t l = 0; l < m->layers; l++)
        work += m->work[l];
    for (size_t l = 0; l < m->layers; l++) {
        const size_t f = m->layers - 1 - l;
        m->numbers[l] = forward.numbers[f];
        m->work[l] = forward.work[f];
        m->rows[l] = forward.rows[f];
        m->columns[l] = forward.columns[f];
        m->bytes[l] = 4 * m->numbers[l];
        m->backward_s[l] = backward_s * (0.9 * m->work[l] / work + 0.1 / (double)m->layers);
        m->all_numbers += m->numbers[l];
    }
}

#endif
