/* lockstep_text.h: the text on which language models train beside PyTorch's. A golden header comes before this one. */
/* SPDX-License-Identifier: MIT */
#ifndef LOCKSTEP_TEXT_H
#define LOCKSTEP_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sg_rng.h"
#include "temporary.h"

/* lockstep.py's words(), some to a line, as the data set `steps`. A test text must be there, but no step reads it. */
static void write_text(void) {
    temporary_make();
    setenv("SPARSE_DATA", temporary, 1);
    setenv("SPARSE_DATASETS", temporary, 1);
    char text[8 * GOLDEN_WORDS];
    size_t length = 0;
    sg_rng rng = sg_rng_open(GOLDEN_SEED, SG_RNG_TEST, 1, 0);
    for (unsigned i = 0; i < GOLDEN_WORDS; i++) {
        const uint32_t number = sg_rng_u32(&rng), rare = number >> 28, other = number >> 24 & 15;
        length += (size_t)snprintf(text + length, sizeof text - length, "w%u%c", rare < other ? rare : other,
                                   i % GOLDEN_LINE == GOLDEN_LINE - 1 ? '\n' : ' ');
    }
    mkdir(temporary_path("steps"), 0777);
    temporary_write("steps/train.txt", text, length);
    temporary_write("steps/valid.txt", text, length);
}

/* A recipe of ten steps of the transformer up to its methods, with this error feedback. */
#define GPT_STEPS(feedback)                                                                                            \
    "schema: 1\n"                                                                                                      \
    "name: steps\n"                                                                                                    \
    "task: {kind: gpt, dataset: steps, layers: 2, heads: 2, width: 8, context: 6, clip: 2}\n"                          \
    "workers: 8\n"                                                                                                     \
    "batch: 2\n"                                                                                                       \
    "steps: 10\n"                                                                                                      \
    "optimizer: {kind: adamw, learning-rate: 0.0625, beta1: 0.75, beta2: 0.875, epsilon: 0.0009765625,\n"              \
    "            weight-decay: 0.5, warm-up-epochs: 0.5, warm-up-from: 0.25, decay: cosine, decay-to: 0.125}\n"        \
    "error-feedback: " feedback "\n"                                                                                   \
    "seeds: [1]\n"                                                                                                     \
    "record: {every: 1, evaluate: 0, series: [train-loss, error-norm, density]}\n"                                     \
    "methods:\n"

#endif
