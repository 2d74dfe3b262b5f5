/* A small residual network trained on a GPU, or on an emulated one. */
/* SPDX-License-Identifier: MIT */
#include "network_run.h"

static const char text[] =
    "schema: 1\n"
    "name: cnn\n"
    "task: {kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like, train-images: 24, test-images: 12}\n"
    "workers: 2\n"
    "batch: 4\n"
    "steps: 4\n"
    "optimizer: {learning-rate: 0.05, momentum: 0.9, nesterov: 1, weight-decay: 1e-4}\n"
    "error-feedback: gradient\n"
    "record: {every: 1, evaluate: 1, series: [train-loss, test-loss, test-loss-averaged, error-norm, density]}\n"
    "methods:\n"
    "  - {name: SGD, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.01}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.02}\n"
    "  - {name: QSGD, compressor: qsgd}\n"
    "  - {name: Budget, compressor: hard-threshold, budget: 0.0002}\n";

extern const struct sg_task_ops sg_cnn_ops;

int main(void) {
    return test_network(&(struct network){&sg_cnn_ops,
                                          text,
                                          {"SGD", "Top-k", "Hard-threshold"},
                                          .test_loss = "test_loss",
                                          .bound = 1e-2,
                                          .code = "QSGD",
                                          .graph = true,
                                          .budget = "Budget"});
}
