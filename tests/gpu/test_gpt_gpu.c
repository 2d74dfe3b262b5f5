/* A small transformer of two blocks trained on a GPU, or on an emulated one. */
/* SPDX-License-Identifier: MIT */
#include "network_run.h"

static const char text[] =
    "schema: 1\n"
    "name: gpt\n"
    "task: {kind: gpt, dataset: wikitext-2, stand-in: text-like, train-tokens: 600, test-tokens: 300, vocabulary: 60,\n"
    "       layers: 2, heads: 2, width: 8, context: 5, dropout: 0.3, clip: 0.5}\n"
    "workers: 2\n"
    "batch: 3\n"
    "steps: 4\n"
    "optimizer: {kind: adamw, learning-rate: 0.01, weight-decay: 0.1, decay: cosine}\n"
    "error-feedback: gradient\n"
    "record: {every: 1, evaluate: 1, series: [train-loss, test-loss, error-norm, density]}\n"
    "methods:\n"
    "  - {name: AdamW, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.01}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.01}\n";

extern const struct sg_task_ops sg_gpt_ops;

int main(void) {
    return test_network(&(struct network){&sg_gpt_ops,
                                          text,
                                          {"AdamW", "Top-k", "Hard-threshold"},
                                          .test_loss = "test_loss",
                                          .bound = 1e-3,
                                          .clips = true});
}
