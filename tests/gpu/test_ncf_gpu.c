/* NeuMF trained on a GPU, or on an emulated one: whole tables there, gathered rows on the CPU. */
/* SPDX-License-Identifier: MIT */
#include "network_run.h"

static const char text[] =
    "schema: 1\n"
    "name: ncf\n"
    "task: {kind: ncf, dataset: ml-100k, stand-in: ratings-like, users: 30, factors: 4, mlp: 8-6-4, dropout: 0.3}\n"
    "workers: 2\n"
    "batch: 100\n"
    "steps: 4\n"
    "optimizer: {kind: adam, learning-rate: 0.0045, beta1: 0.25, beta2: 0.5, weight-decay: 1e-5}\n"
    "error-feedback: gradient\n"
    "record: {every: 1, evaluate: 1, series: [train-loss, hit-rate, ndcg, error-norm, density]}\n"
    "methods:\n"
    "  - {name: Adam, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.01}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 3e-4}\n";

extern const struct sg_task_ops sg_ncf_ops;

int main(void) {
    return test_network(&(struct network){&sg_ncf_ops, text, {"Adam", "Top-k", "Hard-threshold"}, .bound = 1e-3});
}
