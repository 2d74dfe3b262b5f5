/* Ten training steps of NeuMF with error feedback beside PyTorch's (tests/golden/ncf_steps_golden.py): none, Top-k and
 * hard-threshold, Adam, three epochs with negatives of their own. At the first step some biases' gradients are exactly
 * as large as the threshold, and are sent. */
/* SPDX-License-Identifier: MIT */
#include "../golden/ncf_steps_golden.h"
#include "lockstep.h"

static const char recipe[] =
    "schema: 1\n"
    "name: steps\n"
    "task: {kind: ncf, dataset: ml-100k-steps, factors: 3, mlp: 8-6-4, dropout: 0, negatives: 2, test-negatives: 1}\n"
    "workers: 8\n"
    "batch: 16\n"
    "steps: 10\n"
    "optimizer: {kind: adam, learning-rate: 0.125, beta1: 0.25, beta2: 0.5, epsilon: 1e-8}\n"
    "error-feedback: gradient\n"
    "seeds: [5]\n"
    "record: {every: 1, evaluate: 0, series: [train-loss, error-norm, density]}\n"
    "methods:\n"
    "  - {name: Adam, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.05}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.0625}\n";
static const char *const method[GOLDEN_METHODS] = {"Adam", "Top-k", "Hard-threshold"};

/* ncf_steps_golden.py's ratings(), each at a time of its own. */
static void write_ratings(void) {
    char text[GOLDEN_USERS * GOLDEN_ITEMS * 16];
    size_t length = 0;
    for (unsigned user = 0; user < GOLDEN_USERS; user++)
        for (unsigned item = 0; item < GOLDEN_ITEMS; item++)
            if ((item + 2 * user) % 5 != 0)
                length +=
                    (size_t)snprintf(text + length, sizeof text - length, "%u\t%u\t3\t%u\n", user + 1, item + 1, item);
    mkdir(temporary_path("ml-100k-steps"), 0777);
    temporary_write("ml-100k-steps/u.data", text, length);
}

int main(void) {
    temporary_make();
    setenv("SPARSE_DATA", temporary, 1);
    setenv("SPARSE_DATASETS", temporary, 1);
    write_ratings();
    against_pytorch(recipe, method, GOLDEN_LAST);
    return tap_done();
}
