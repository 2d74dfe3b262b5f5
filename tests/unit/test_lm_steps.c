/* Ten training steps of the language model with error feedback beside PyTorch's (tests/golden/lm_steps_golden.py):
 * none, Top-k and hard-threshold, clipping, state carried from step to step, SGD with warm-up and decay. */
#include "../golden/lm_steps_golden.h"
#include "lockstep.h"

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

/* lm_steps_golden.py's words(), some to a line. A test text must be there, but no step reads it. */
static void write_text(void) {
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

int main(void) {
    temporary_make();
    setenv("SPARSE_DATA", temporary, 1);
    setenv("SPARSE_DATASETS", temporary, 1);
    write_text();
    against_pytorch(recipe, method, 0);
    return tap_done();
}
