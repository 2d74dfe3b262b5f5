/* Ten training steps of the language model with error feedback beside PyTorch's (tests/golden/lm_steps_golden.py):
 * none, Top-k and hard-threshold, clipping, state carried from step to step, SGD with warm-up and decay. */
/* SPDX-License-Identifier: MIT */
#include "../golden/lm_steps_golden.h"
#include "lockstep.h"
#include "lockstep_text.h"

static const char recipe[] =
    "schema: 1\n"
    "name: steps\n"
    "task: {kind: lm, dataset: steps, embedding: 4, hidden: 5, layers: 2, dropout: 0, bptt: 4, clip: 0.4}\n"
    "workers: 8\n"
    "batch: 2\n"
    "steps: 10\n"
    "optimizer: {kind: sgd, learning-rate: 0.5, scale: 4, warm-up-epochs: 0.5, decay-at: [1], decay-factor: 0.25}\n"
    "error-feedback: gradient\n"
    "seeds: [1]\n"
    "record: {every: 1, evaluate: 0, series: [train-loss, error-norm, density]}\n"
    "methods:\n"
    "  - {name: SGD, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.05}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.0625}\n";
static const char *const method[GOLDEN_METHODS] = {"SGD", "Top-k", "Hard-threshold"};

int main(void) {
    write_text();
    against_pytorch(recipe, method, 0);
    return tap_done();
}
