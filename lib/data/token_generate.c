/* token_generate.c: generates text-like tokens, which sg_tokens.h describes. It uses integer arithmetic, so every
 * machine makes the same tokens. */
/* SPDX-License-Identifier: MIT */

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_rng.h"
#include "sg_tokens.h"

enum { STREAM_FOLLOWERS = 24, STREAM_TEXT = 25 }; /* apart from those of the other generators */
enum { FOLLOWERS = 4 };

struct chain {
    size_t vocabulary;
    uint64_t
        *until; /* [vocabulary] sums of weights: word i is drawn by a number from until[i - 1] to before until[i] */
    uint32_t *follower; /* [vocabulary][FOLLOWERS] */
};

static uint32_t draw_word(const struct chain *c, sg_rng *rng) {
    const uint64_t x = sg_rng_below(rng, c->until[c->vocabulary - 1]);
    size_t low = 0, high = c->vocabulary - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (x < c->until[middle])
            high = middle;
        else
            low = middle + 1;
    }
    SG_ASSERT(x < c->until[low] && (low == 0 || x >= c->until[low - 1]));
    return (uint32_t)low;
}

static void draw_chain(struct chain *c, uint64_t seed) {
    c->until = sg_malloc(c->vocabulary * sizeof *c->until);
    c->follower = sg_malloc(c->vocabulary * FOLLOWERS * sizeof *c->follower);
    uint64_t sum = 0;
    for (size_t i = 0; i < c->vocabulary; i++)
        c->until[i] = sum += ((uint64_t)1 << 40) / (i + 16);
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_FOLLOWERS, 0);
    for (size_t i = 0; i < c->vocabulary * FOLLOWERS; i++)
        c->follower[i] = draw_word(c, &rng);
}

sg_status sg_tokens_generate(struct sg_tokens *out, size_t count, size_t vocabulary, uint64_t seed, unsigned part,
                             struct sg_error *err) {
    struct chain c = {.vocabulary = vocabulary};
    uint32_t last = SG_TOKEN_END;
    if (vocabulary < 2 || vocabulary > UINT32_MAX)
        return sg_fail(err, SG_ERR_ARGUMENT, "a generated text has a vocabulary of 2 words or more, not %zu",
                       vocabulary);
    uint32_t *id = sg_malloc(count * sizeof *id + 1);
    draw_chain(&c, seed);
    sg_rng rng = sg_rng_open(seed, SG_RNG_GENERATE, STREAM_TEXT + part, 0);
    for (size_t i = 0; i < count; i++) {
        const uint32_t way = sg_rng_u32(&rng) >> 16;
        id[i] = last = way % 4 ? c.follower[last * (size_t)FOLLOWERS + way / 4 % FOLLOWERS] : draw_word(&c, &rng);
    }
    *out = (struct sg_tokens){id, count};
    free(c.until);
    free(c.follower);
    return SG_OK;
}

void sg_tokens_free(struct sg_tokens *tokens) {
    free(tokens->id);
    *tokens = (struct sg_tokens){0};
}
