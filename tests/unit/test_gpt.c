/* The transformer: its sizes and start values, and what a token may see. test_gpt_steps.c holds its training against
 * PyTorch's. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt_net.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sg_error err;

static void sizes(void) {
    static const struct {
        struct gpt_shape shape;
        size_t d;
    } wanted[] = {
        {{50257, 768, 12, 1024, 12}, 124439808},  /* GPT-2, small */
        {{50257, 1024, 16, 1024, 24}, 354823168}, /* medium */
        {{10, 4, 2, 3, 1}, 10 * 4 + 3 * 4 + 12 * 4 * 4 + 13 * 4 + 2 * 4},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        struct gpt_net net;
        if (!ok(gpt_net_open(&net, &wanted[i].shape, &err) == SG_OK, "a model of %zu layers", wanted[i].shape.layers))
            continue;
        ok(net.d == wanted[i].d && net.layers.n == 12 * wanted[i].shape.layers + 4, "%zu parameters", net.d);
        ok(strcmp(net.layers.text[0], "transformer.wte.weight") == 0 &&
               strcmp(net.layers.text[4], "transformer.h.0.attn.c_attn.weight") == 0 &&
               strcmp(net.layers.text[net.layers.n - 1], "transformer.ln_f.bias") == 0,
           "with nanoGPT's names");
    }
    struct gpt_net net;
    ok(gpt_net_open(&net, &(struct gpt_shape){10, 4, 2, 4, 25}, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "25"),
       "too many layers");
    ok(gpt_net_open(&net, &(struct gpt_shape){10, 4, 3, 4, 1}, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "3 heads"),
       "heads that do not divide the width");
}

static void starts(void) {
    struct gpt_net net;
    if (gpt_net_open(&net, &(struct gpt_shape){100, 32, 4, 16, 2}, &err) != SG_OK)
        exit(1);
    float *x = malloc(net.d * sizeof *x);
    gpt_net_start(&net, 1, x);
    for (size_t i = 0; i < net.layers.n; i++) {
        const char *name = net.layers.text[i];
        const bool vector = net.layers.rows[i] == 1, one = vector && strstr(name, ".weight");
        const double wanted = vector ? 0 : strstr(name, "c_proj") ? 0.01 : 0.02; /* 0.02 / sqrt(2 2) */
        const double n = (double)(net.layers.offset[i + 1] - net.layers.offset[i]), mean = one ? 1 : 0;
        double squares = 0, sum = 0;
        for (size_t j = net.layers.offset[i]; j < net.layers.offset[i + 1]; j++) {
            sum += (double)x[j] - mean;
            squares += pow((double)x[j] - mean, 2);
        }
        ok(fabs(sqrt(squares / n) - wanted) <= 5 * wanted / sqrt(2 * n) && fabs(sum) <= 5 * wanted * sqrt(n) &&
               net.no_decay[i] == vector,
           "%s begins with deviation %g around %g", name, wanted, mean);
    }
    free(x);
}

/* ---- one pass ---------------------------------------------------------------------------------------------------- */

enum { WORDS = 11, LENGTH = 5, LOGITS = LENGTH * WORDS };

static const struct gpt_shape small = {WORDS, 8, 2, LENGTH + 2, 2};

/* Logits of one window that is shorter than the context. */
static bool logits_of(float out[LOGITS], const struct gpt_net *net, sg_scope *scope, float *x, const int64_t *id,
                      double dropout) {
    struct gpt_pass pass = {.net = net,
                            .scope = scope,
                            .x = x,
                            .batch = 1,
                            .length = LENGTH,
                            .id = id,
                            .dropout = dropout,
                            .rng = sg_rng_open(1, SG_RNG_DROPOUT, 0, 0)};
    sg_scope_begin(scope, 1, false);
    return sg_tensor_read(scope, gpt_net_forward(&pass), out, LOGITS, &err) == SG_OK;
}

static void passes(void) {
    int64_t id[LENGTH] = {3, 1, 4, 1, 5};
    float before[LOGITS], after[LOGITS], dropped[LOGITS];
    struct gpt_net net;
    sg_scope *scope;
    if (gpt_net_open(&net, &small, &err) != SG_OK || sg_scope_open(&scope, "cpu", "fp32", &err) != SG_OK)
        exit(1);
    sg_scope_use(scope, sg_kernels_cpu(NULL), NULL);
    float *x = malloc(net.d * sizeof *x);
    gpt_net_start(&net, 1, x);
    bool done = logits_of(before, &net, scope, x, id, 0);
    id[3] = 9;
    done &= logits_of(after, &net, scope, x, id, 0);
    ok(done && memcmp(before, after, 3 * WORDS * sizeof *before) == 0, "no token sees a later one");
    bool changed = true;
    for (size_t i = 3; i < LENGTH; i++)
        changed &= memcmp(before + i * WORDS, after + i * WORDS, WORDS * sizeof *before) != 0;
    ok(changed, "every token sees those before it");
    done = logits_of(dropped, &net, scope, x, id, 0.5);
    ok(done && memcmp(dropped, after, sizeof dropped) != 0, "dropout takes part");
    ok(logits_of(before, &net, scope, x, id, 0.5) && memcmp(before, dropped, sizeof dropped) == 0,
       "the same each time");
    sg_scope_close(scope);
    free(x);
}

int main(void) {
    sizes();
    starts();
    passes();
    return tap_done();
}
