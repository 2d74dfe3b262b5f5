/* Two rounds of DiLoCo with the transformer beside PyTorch's (tests/golden/gpt_diloco_golden.py): five steps of AdamW on
 * each worker's own parameters, with clipping and a cosine behind a warm-up, and Nesterov's momentum for what all share;
 * everything is sent, or Top-k or hard-threshold of it with a residual. */
#include "../golden/gpt_diloco_golden.h"
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
    "error-feedback: {form: diloco, steps: 5, decay: 0.75}\n"
    "seeds: [1]\n"
    "record: {every: 1, evaluate: 0, series: [train-loss, error-norm, density]}\n"
    "methods:\n"
    "  - {name: DiLoCo, compressor: none}\n"
    "  - {name: Top-k, compressor: topk, density: 0.05}\n"
    "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 2}\n";
static const char *const method[GOLDEN_METHODS] = {"DiLoCo", "Top-k", "Hard-threshold"};

int main(void) {
    write_text();
    against_pytorch(recipe, method, 0);
    return tap_done();
}
