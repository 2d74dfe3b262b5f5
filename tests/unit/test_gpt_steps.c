/* Ten training steps of the transformer with error feedback beside PyTorch's (tests/golden/gpt_steps_golden.py): none,
 * Top-k and hard-threshold, clipping, AdamW without decay of vectors, a cosine behind a warm-up. */
#include "../golden/gpt_steps_golden.h"
#include "lockstep.h"
#include "lockstep_text.h"

static const char recipe[] =
    "schema: 1\n"
    "name: steps\n"
    "task: {kind: gpt, dataset: steps, layers: 2, heads: 2, width: 8, context: 6, clip: 2}\n"
    "workers: 8\n"
    "batch: 2\n"
    "steps: 10\n"
    "optimizer: {kind: adamw, learning-rate: 0.0625, beta1: 0.75, beta2: 0.875, epsilon: 0.0009765625,\n"
    "            weight-decay: 0.5, warm-up-epochs: 0.5, warm-up-from: 0.25, decay: cosine, decay-to: 0.125}\n"
    "error-feedback: gradient\n"
    "seeds: [1]\n"
    "record: {every: 1, evaluate: 0, series: [train-loss, error-norm, density]}\n"
    "methods:\n"
    "  - {name: AdamW, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.05}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.0625}\n";
static const char *const method[GOLDEN_METHODS] = {"AdamW", "Top-k", "Hard-threshold"};

int main(void) {
    write_text();
    against_pytorch(recipe, method, 0);
    return tap_done();
}
