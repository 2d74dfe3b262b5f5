/* Two rounds of DiLoCo with the transformer beside PyTorch's (tests/golden/gpt_diloco_golden.py): five steps of AdamW
 * on each worker's own parameters, with clipping and a cosine behind a warm-up, and Nesterov's momentum for what all
 * share; everything is sent, or Top-k or hard-threshold of it with a residual. */
/* SPDX-License-Identifier: MIT */
#include "../golden/gpt_diloco_golden.h"
#include "lockstep.h"
#include "lockstep_text.h"

static const char recipe[] = GPT_STEPS(
    "{form: diloco, steps: 5, decay: 0.75}") "  - {name: DiLoCo, compressor: none}\n"
                                             "  - {name: Top-k, compressor: topk, density: 0.05}\n"
                                             "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 2}\n";
static const char *const method[GOLDEN_METHODS] = {"DiLoCo", "Top-k", "Hard-threshold"};

int main(void) {
    write_text();
    against_pytorch(recipe, method, 0);
    return tap_done();
}
