/* A small language model of two LSTM layers trained on a GPU, or on an emulated one. */
/* SPDX-License-Identifier: MIT */
#include "network_run.h"

static const char text[] =
    "schema: 1\n"
    "name: lm\n"
    "task: {kind: lm, dataset: wikitext-2, stand-in: text-like, train-tokens: 600, test-tokens: 300, vocabulary: 60,\n"
    "       embedding: 8, hidden: 12, layers: 2, bptt: 5, dropout: 0.3, clip: 0.5}\n"
    "workers: 2\n"
    "batch: 3\n"
    "steps: 4\n"
    "optimizer: {learning-rate: 5, momentum: 0.5}\n"
    "error-feedback: gradient\n"
    "record: {every: 1, evaluate: 1, series: [train-loss, test-loss, error-norm, density]}\n"
    "methods:\n"
    "  - {name: SGD, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.01}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.01}\n";

extern const struct sg_task_ops sg_lm_ops;

int main(void) {
    return test_network(&(struct network){
        &sg_lm_ops, text, {"SGD", "Top-k", "Hard-threshold"}, .test_loss = "test_loss", .bound = 1e-3, .clips = true});
}
