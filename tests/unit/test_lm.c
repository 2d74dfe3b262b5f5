/* The language model: its size, and PyTorch's outputs, state and gradients (tests/golden/lm_golden.py). */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/lm_golden.h"
#include "lm_net.h"
#include "open_task.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sg_error err;

static void sizes(void) {
    static const struct {
        struct lm_shape shape;
        size_t d, state;
    } wanted[] = {
        {{28869, 650, 650, 3}, 28949319, 6 * 650}, /* the paper's */
        {{10, 4, 7, 1}, 10 * 4 + 16 * (4 + 4 + 2) + 10, 8},
        {{10, 4, 7, 2}, 10 * 4 + 28 * (4 + 7 + 2) + 16 * (7 + 4 + 2) + 10, 2 * 7 + 2 * 4},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        struct lm_net net;
        if (!ok(lm_net_open(&net, &wanted[i].shape, &err) == SG_OK, "a model of %zu layers", wanted[i].shape.layers))
            continue;
        ok(net.d == wanted[i].d && net.column_state == wanted[i].state &&
               net.layers.n == 4 * wanted[i].shape.layers + 2,
           "%zu parameters, %zu numbers of state", net.d, net.column_state);
        ok(strcmp(net.layers.text[0], "encoder.weight") == 0 && strcmp(net.layers.text[2], "rnn.weight_hh_l0") == 0 &&
               strcmp(net.layers.text[net.layers.n - 1], "decoder.bias") == 0,
           "in PyTorch's order");
    }
    struct lm_net net;
    ok(lm_net_open(&net, &(struct lm_shape){10, 4, 4, 17}, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "17"),
       "too many layers");
}

static void starts(void) {
    struct lm_net net;
    const struct lm_shape shape = {.vocabulary = 50, .embedding = 16, .hidden = 25, .layers = 2};
    if (lm_net_open(&net, &shape, &err) != SG_OK)
        exit(1);
    float *x = malloc(net.d * sizeof *x);
    lm_net_start(&net, 1, x);
    static const double bound[] = {0.1, 0.2, 0.2, 0.2, 0.2, 0.25, 0.25, 0.25, 0.25, 0}; /* 1/sqrt(25), 1/sqrt(16) */
    for (size_t i = 0; i < net.layers.n; i++) {
        double largest = 0, sum = 0;
        for (size_t j = net.layers.offset[i]; j < net.layers.offset[i + 1]; j++) {
            largest = fmax(largest, fabs((double)x[j]));
            sum += (double)x[j];
        }
        const double n = (double)(net.layers.offset[i + 1] - net.layers.offset[i]);
        ok(largest <= bound[i] && largest >= 0.9 * bound[i] && fabs(sum) <= 5 * bound[i] * sqrt(n / 3),
           "%s begins uniform on +-%g", net.layers.text[i], bound[i]);
    }
    free(x);
}

/* ---- against PyTorch --------------------------------------------------------------------------------------------- */

struct run {
    struct lm_net net;
    sg_scope *scope;
    float *x, *g, *state, *next;
    size_t n_state;
};

static bool open_run(struct run *r) {
    const struct lm_shape shape = {GOLDEN_WORDS, GOLDEN_EMBEDDING, GOLDEN_HIDDEN, GOLDEN_LAYERS};
    *r = (struct run){0};
    if (lm_net_open(&r->net, &shape, &err) != SG_OK || sg_scope_open(&r->scope, "cpu", "fp32", &err) != SG_OK)
        return false;
    sg_scope_use(r->scope, sg_kernels_cpu(NULL), NULL);
    r->n_state = GOLDEN_BATCH * r->net.column_state;
    r->x = malloc(r->net.d * sizeof *r->x);
    r->g = malloc(r->net.d * sizeof *r->g);
    r->state = calloc(r->n_state, sizeof *r->state);
    r->next = calloc(r->n_state, sizeof *r->next);
    if (!r->x || !r->g || !r->state || !r->next)
        return false;
    lm_net_start(&r->net, GOLDEN_SEED, r->x);
    for (size_t j = 0; j < GOLDEN_WORDS; j++) /* the bias away from 0 */
        r->x[r->net.d - GOLDEN_WORDS + j] = ((float)(j % 5) - 2) / 8;
    return true;
}

static void close_run(struct run *r) {
    sg_scope_close(r->scope);
    free(r->x);
    free(r->g);
    free(r->state);
    free(r->next);
}

enum { TOKENS = GOLDEN_STEPS * GOLDEN_BATCH, LOGITS = TOKENS * GOLDEN_WORDS };

/* lm_golden.py's tokens(): step s of column c. */
static int64_t token(int64_t step, int64_t s, int64_t c) {
    return (7 * (step * GOLDEN_STEPS + s) + 5 * c * c + s * c) % GOLDEN_WORDS;
}

static sg_status pass(struct run *r, int64_t step, bool training, float *logits, float *loss) {
    int64_t id[TOKENS], label[TOKENS];
    for (int64_t i = 0; i < TOKENS; i++) {
        id[i] = token(step, i / GOLDEN_BATCH, i % GOLDEN_BATCH);
        label[i] = token(step, i / GOLDEN_BATCH + 1, i % GOLDEN_BATCH);
    }
    struct lm_pass p = {.net = &r->net,
                        .scope = r->scope,
                        .x = r->x,
                        .g = training ? r->g : NULL,
                        .steps = GOLDEN_STEPS,
                        .batch = GOLDEN_BATCH,
                        .id = id,
                        .state = r->state,
                        .dropout = training ? GOLDEN_RATE : 0,
                        .rng = sg_rng_open(GOLDEN_SEED, SG_RNG_DROPOUT, 0, (uint64_t)step)};
    memset(r->g, 0, r->net.d * sizeof *r->g);
    sg_scope_begin(r->scope, 1, training);
    sg_tensor *wanted = sg_tensor_ids(r->scope, label, (const int64_t[]){TOKENS}, 1);
    sg_tensor *out = lm_net_forward(&p), *mean = sg_cross_entropy(r->scope, out, wanted);
    sg_status status = sg_tensor_read(r->scope, out, logits, LOGITS, &err);
    SG_DO(status, sg_tensor_read(r->scope, mean, loss, 1, &err));
    SG_DO(status, lm_net_carry(&p, r->next, &err));
    if (status == SG_OK && training)
        status = sg_backward(r->scope, mean, &err);
    memcpy(r->state, r->next, r->n_state * sizeof *r->state);
    return status;
}

static double vector_error(const float *ours, const double *golden, size_t n) {
    double difference = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)ours[i] - golden[i], 2);
        length += pow(golden[i], 2);
    }
    return sqrt(difference / length);
}

static void against_pytorch(void) {
    struct run r;
    float logits[LOGITS], loss;
    if (!ok(open_run(&r), "the golden model opens") ||
        !ok(r.net.d == COUNT(golden_gradient) && r.n_state == COUNT(golden_state) && LOGITS == COUNT(golden_logits),
            "as large as PyTorch's: %zu parameters", r.net.d) ||
        !ok(pass(&r, 0, true, logits, &loss) == SG_OK && pass(&r, 1, true, logits, &loss) == SG_OK, "two steps"))
        goto out;
    double error = vector_error(logits, golden_logits, LOGITS);
    ok(error <= 1e-5, "logits are PyTorch's, off by %.1e", error);
    error = fabs((double)loss - golden_loss) / golden_loss;
    ok(error <= 1e-6, "so is the loss, off by %.1e", error);
    error = vector_error(r.state, golden_state, r.n_state);
    ok(error <= 1e-5, "so is the carried state, off by %.1e", error);
    for (size_t i = 0; i < r.net.layers.n; i++) {
        const size_t at = r.net.layers.offset[i];
        error = vector_error(r.g + at, golden_gradient + at, r.net.layers.offset[i + 1] - at);
        ok(error <= 1e-5, "so is the gradient by %s, off by %.1e", r.net.layers.text[i], error);
    }
    const bool tested = pass(&r, 2, false, logits, &loss) == SG_OK;
    error = vector_error(logits, golden_tested, LOGITS);
    ok(tested && error <= 1e-5, "so are the logits in evaluation, off by %.1e", error);
out:
    close_run(&r);
}

/* ---- the task ---------------------------------------------------------------------------------------------------- */

extern const struct sg_task_ops sg_lm_ops;

/* Training reads window after window; the steps beyond it any of them, whatever the step before read. */
static void windows(void) {
    enum { WINDOWS = 9, DRAWS = 18 };
    struct sg_node key[] = {{.kind = SG_NODE_STRING, .key = "dataset", .string = "no-such-text"},
                            {.kind = SG_NODE_STRING, .key = "stand-in", .string = "text-like"},
                            {.kind = SG_NODE_NUMBER, .key = "train-tokens", .number = 2 * (5 * WINDOWS + 1)},
                            {.kind = SG_NODE_NUMBER, .key = "test-tokens", .number = 100},
                            {.kind = SG_NODE_NUMBER, .key = "vocabulary", .number = 60},
                            {.kind = SG_NODE_NUMBER, .key = "embedding", .number = 4},
                            {.kind = SG_NODE_NUMBER, .key = "hidden", .number = 4},
                            {.kind = SG_NODE_NUMBER, .key = "layers", .number = 1},
                            {.kind = SG_NODE_NUMBER, .key = "bptt", .number = 5}};
    const struct sg_node root = {.kind = SG_NODE_MAP, .child = key, .count = COUNT(key)};
    sg_task *t;
    if (!ok(open_task(&t, &sg_lm_ops, &root, 1, 2, &err) == SG_OK && sg_task_info(t)->steps_per_epoch == WINDOWS,
            "the task opens"))
        return;
    float *g = malloc(sg_task_info(t)->d * sizeof *g);
    void *zeros = calloc(1, sg_lm_ops.state_bytes(t));
    double loss[WINDOWS];
    size_t last = 0, unknown = 0, in_turn = 0;
    for (size_t i = 0; i < WINDOWS + DRAWS; i++) {
        const uint64_t step = i < WINDOWS ? i : SG_STEP_BEYOND + i * (WINDOWS + 1);
        size_t w = 0;
        sg_lm_ops.state_load(t, 0, zeros);
        const bool done = sg_lm_ops.gradient(t, 0, step, g, &err) == SG_OK;
        const double now = done ? sg_lm_ops.batch_loss(t, 0) : (double)NAN;
        if (i < WINDOWS)
            loss[i] = now;
        while (w < (i < WINDOWS ? i : WINDOWS) && loss[w] != now)
            w++;
        unknown += w == WINDOWS;
        in_turn += i > WINDOWS && w == (last + 1) % WINDOWS;
        last = w;
    }
    ok(unknown == 0, "steps beyond training read its windows");
    ok(in_turn < DRAWS / 2, "at random: %zu of %d are the next one", in_turn, DRAWS);
    free(g);
    free(zeros);
    sg_task_close(t);
}

int main(void) {
    sizes();
    windows();
    starts();
    against_pytorch();
    return tap_done();
}
