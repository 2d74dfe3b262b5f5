/* Ten training steps of the transformer with error feedback beside PyTorch's (tests/golden/gpt_steps_golden.py): none,
 * Top-k and hard-threshold, clipping, AdamW without decay of vectors, a cosine behind a warm-up. */
/* SPDX-License-Identifier: MIT */
#include "../golden/gpt_steps_golden.h"
#include "lockstep.h"
#include "lockstep_text.h"

static const char recipe[] =
    GPT_STEPS("gradient") "  - {name: AdamW, compressor: none}\n"
                          "  - {name: Top-k, compressor: topk, density: 0.05}\n"
                          "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.0625}\n";
static const char *const method[GOLDEN_METHODS] = {"AdamW", "Top-k", "Hard-threshold"};

int main(void) {
    write_text();
    against_pytorch(recipe, method, 0);
    return tap_done();
}
