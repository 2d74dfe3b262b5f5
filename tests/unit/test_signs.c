/* The codes and compressors of signs: what they make of a vector whose values were computed from their publications'
 * formulas with NumPy 2.4, and bytes that `valid` refuses. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_case.h"
#include "sg_drive.h"
#include "sg_rng.h"
#include "tap.h"

enum { N = 8 };

static const size_t whole[] = {0, N};
static const float p[N] = {0.5F, -1.25F, 2, -0.125F, 0, 3, -2.5F, 0.75F};

static const struct sg_kernels *kernels; /* NULL = the best ones */

static sg_method *opened(const char *name, const double *param, const struct sg_feedback_rule *rule, size_t workers) {
    return open_method((struct sg_method_config){.compressor = sg_compressor_find(name),
                                                 .param = param,
                                                 .layout = {1, whole, NULL, NULL},
                                                 .feedback = {rule, 1, {NAN, NAN, NAN, NAN}},
                                                 .count = workers,
                                                 .kernels = kernels},
                       NULL);
}

/* ---- golden values ---- */

#define MEAN 1.265625
#define RMS  1.644712137
#define LOW  (-1.2916666667)

static const struct golden {
    const char *compressor;
    double param[4], sent[N], error, bits;
} golden[] = {
    {"ef-signsgd", {NAN}, {MEAN, -MEAN, MEAN, -MEAN, MEAN, MEAN, -MEAN, MEAN}, 8.826171875, N + 32},
    {"sign-l2", {NAN}, {RMS, -RMS, RMS, -RMS, RMS, RMS, -RMS, RMS}, 9.975829, N + 32},
    {"onebit", {NAN}, {1.25, LOW, 1.25, LOW, 1.25, 1.25, LOW, 1.25}, 8.822916667, N + 64},
    {"strom", {1}, {0, -1, 1, 0, 0, 1, -1, 0}, 8.140625, 4 * 4}, /* 1 bit and 3 for the position */
    {"signtopk", {3, NAN}, {0, 0, 2.5, 0, 0, 2.5, -2.5, 0}, 2.890625, 3 * 4 + 32},
    {"dryden", {0.5}, {0, 0, 2.5, 0, 0, 2.5, -2.5, 0}, 2.890625, 3 * 4 + 64},
};

static void test_golden(const struct golden *want) {
    if (left_out(sg_compressor_find(want->compressor)))
        return;
    struct sg_error err = {.msg = ""};
    struct sg_message message;
    float sent[N] = {0};
    sg_method *m = opened(want->compressor, want->param, &sg_feedback_none, 1);
    bool right = m != NULL && sg_verify_send(m, (struct sg_verify_at){0, 1, 0, NULL}, p, NULL, &message, &err) == SG_OK;
    double error = 0;
    if (right)
        sg_message_add(sent, &message, 1, &(struct sg_exec){.threads = 1});
    for (size_t i = 0; i < N; i++) {
        right &= fabs((double)sent[i] - want->sent[i]) <= 1e-6;
        error += ((double)p[i] - (double)sent[i]) * ((double)p[i] - (double)sent[i]);
    }
    ok(right && fabs(error - want->error) <= 1e-6 * want->error, "%s: as computed elsewhere, and an error of %.9g",
       want->compressor, error);
    ok(right && message.bits == want->bits, "%s: %g bits", want->compressor, want->bits);
    sg_method_close(m);
}

/* TernGrad's probabilities and variance on the same vector: every element is 0 or 3 with its sign. */
static void test_terngrad(void) {
    enum { DRAWS = 4096 };
    static const double share[N] = {1 / 6.0, 5 / 12.0, 2 / 3.0, 1 / 24.0, 0, 1, 5 / 6.0, 0.25};
    struct sg_error err = {.msg = ""};
    sg_method *m = opened("terngrad", (const double[]){0}, &sg_feedback_none, 1);
    size_t sent[N] = {0};
    double error = 0;
    bool right = m != NULL;
    for (uint64_t t = 0; right && t < DRAWS; t++) {
        struct sg_message message;
        float c[N] = {0};
        right = sg_verify_send(m, (struct sg_verify_at){0, 1, t, NULL}, p, NULL, &message, &err) == SG_OK &&
                message.bits == 2 * N + 32;
        sg_message_add(c, &message, 1, &(struct sg_exec){.threads = 1});
        for (size_t i = 0; i < N; i++) {
            right &= c[i] == 0 || c[i] == copysignf(3, p[i]);
            sent[i] += c[i] != 0;
            error += ((double)p[i] - (double)c[i]) * ((double)p[i] - (double)c[i]) / DRAWS;
        }
    }
    for (size_t i = 0; i < N; i++)
        right &= fabs((double)sent[i] / DRAWS - share[i]) <= 5 * sqrt(share[i] * (1 - share[i]) / DRAWS);
    ok(right && fabs(error - 8.734375) < 0.5, "terngrad: probabilities, bits, and a mean error of %.3f", error);
    sg_method_close(m);
}

/* Strom's threshold sends tau at a step, so what is above it at every step stays, and the residual grows without bound:
 * no bound may be declared. */
static void test_strom(void) {
    static const float g[N] = {3, 2, 1}, sent[4][3] = {{2, 2, 0}, {2, 2, 2}, {2, 2, 0}, {2, 2, 2}};
    float e[N] = {0};
    struct sg_error err = {.msg = ""};
    sg_method *m = opened("strom", (const double[]){2}, &sg_feedback_gradient, 1);
    bool right = m != NULL && sg_compressor_find("strom")->bound == NULL;
    for (uint64_t t = 0; right && t < 100; t++) {
        struct sg_message message;
        float c[N] = {0};
        right = sg_verify_send(m, (struct sg_verify_at){0, 1, t, NULL}, g, e, &message, &err) == SG_OK;
        sg_message_add(c, &message, 1, &(struct sg_exec){.threads = 1});
        right &= memcmp(c, sent[t % 4], sizeof *sent) == 0 && e[0] == (float)(t + 1);
    }
    ok(right && !(sg_compressor_find("strom")->traits & SG_TRAIT_ABSOLUTE), "strom: a residual without bound");
    sg_method_close(m);
    const double none[] = {NAN, NAN}, zero[] = {0, 0};
    for (size_t i = 0; i < 4; i++) {
        const char *name = i % 2 ? "dryden" : "strom";
        ok(sg_compressor_check(sg_compressor_find(name), i < 2 ? none : zero, 0, &err) == SG_ERR_ARGUMENT,
           "refused: %s", err.msg);
    }
}

/* ---- votes ---- */

/* One step of all workers; sum [N] is what the optimizer is given. */
static bool step(sg_method *m, uint64_t t, float (*g)[N], float (*e)[N], float *sum) {
    struct sg_message message[8];
    struct sg_error err;
    struct sg_play play = {.part = &m,
                           .parts = 1,
                           .d = N,
                           .g = *g,
                           .e = e ? *e : NULL,
                           .sum = &sum,
                           .message = message,
                           .optimizes = true};
    return sg_method_play(&play, t, 1, &err) == SG_OK;
}

static void test_ties(void) {
    static const float want[2][N] = {{0, -2, 2, 2, 0, 2, 0, 2}, {2, -2, 2, 2, 2, 2, 2, 2}};
    static float g[2][N] = {{1, -1, 9, 0, -1e-30F, 3, -4, 1}, {-1, -5, 1, 0, 1e30F, 0, 4, 7}};
    for (int tie = 0; tie <= 1; tie++) {
        float sum[N];
        sg_method *m = opened("signsgd", (const double[]){tie}, &sg_feedback_none, 2);
        ok(m != NULL && step(m, 0, g, NULL, sum) && memcmp(sum, want[tie], sizeof sum) == 0,
           "a vote of two: ties are %s", tie ? "plus" : "zero");
        sg_method_close(m);
    }
}

/* Signum: every worker's running mean votes, so one gradient of another sign does not turn the vote. */
static void test_signum(void) {
    enum { WORKERS = 3, STEPS = 40 };
    double mean[WORKERS][N] = {{0}};
    sg_method *m = opened("signsgd", (const double[]){0}, sg_feedback_find("momentum"), WORKERS);
    bool right = m != NULL;
    size_t others = 0;
    for (uint64_t t = 0; right && t < STEPS; t++) {
        float g[WORKERS][N], sum[N];
        int votes[N] = {0}, plain[N] = {0};
        for (size_t w = 0; w < WORKERS; w++) {
            sg_rng r = sg_rng_open(8, SG_RNG_TEST, (uint32_t)w, t);
            for (size_t i = 0; i < N; i++) {
                g[w][i] = (float)(sg_rng_normal(&r) + cos((double)i));
                mean[w][i] = 0.9 * mean[w][i] + (1 - 0.9) * (double)g[w][i];
                votes[i] += mean[w][i] < 0 ? -1 : 1;
                plain[i] += g[w][i] < 0 ? -1 : 1;
            }
        }
        right = step(m, t, g, NULL, sum);
        for (size_t i = 0; i < N; i++) {
            right &= sum[i] == (votes[i] > 0 ? WORKERS : -WORKERS);
            others += (votes[i] > 0) != (plain[i] > 0);
        }
    }
    ok(right && others > 10, "signum: the votes of running means (%zu differ from those of the gradients)", others);
    sg_method_close(m);
}

/* What is compressed twice: all gradients are in what the optimizer was given, in the workers' residuals or, once for
 * every worker, in the residual that the ranks share. */
static void test_twice(const char *name, const double *param, size_t count, double bits) {
    enum { WORKERS = 3, STEPS = 60 };
    static float g[WORKERS][N], e[WORKERS][N];
    double left[N] = {0}, worst = 0, shared = 0;
    if (left_out(sg_compressor_find(name)))
        return;
    sg_method *m = opened(name, param, &sg_feedback_gradient, WORKERS);
    bool right = m != NULL && sg_method_splits(m) && sg_method_common_bytes(m) == N * sizeof(float);
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; right && t < STEPS; t++) {
        float sum[N], common[N];
        for (size_t w = 0; w < WORKERS; w++)
            for (size_t i = 0; i < N; i++) {
                sg_rng r = sg_rng_open(9, SG_RNG_TEST, (uint32_t)(w * N + i), t);
                g[w][i] = (float)sg_rng_normal(&r);
                left[i] += (double)g[w][i];
            }
        right = step(m, t, g, e, sum);
        const struct sg_message *again = sg_method_again(m);
        right &= again != NULL && again->count == count && again->bits == bits;
        sg_method_common_save(m, common);
        for (size_t i = 0; i < N; i++) {
            double kept = WORKERS * (double)common[i];
            for (size_t w = 0; w < WORKERS; w++)
                kept += (double)e[w][i];
            left[i] -= (double)sum[i];
            worst = fmax(worst, fabs(left[i] - kept));
            shared += fabs((double)common[i]) / STEPS / N;
        }
    }
    ok(right && worst < 1e-4 && shared > 0.01,
       "%s: nothing is lost (off by %.2g), receivers keep %.2g, and the second message counts", name, worst, shared);
    sg_method_close(m);
}

/* ---- no memory ---- */

static int no_topk(const struct sg_select *s, const size_t *k, float *guess) {
    (void)s, (void)k, (void)guess;
    return SG_KERNEL_MEMORY;
}

static int no_threshold(const struct sg_select *s, const float *tau) {
    (void)s, (void)tau;
    return SG_KERNEL_MEMORY;
}

/* A selection that finds no memory stops the run: nothing of it is sent. */
static void test_no_memory(void) {
    static const char *const name[] = {"strom", "signtopk", "dryden"};
    static const double param[][2] = {{1, NAN}, {3, NAN}, {0.5, NAN}};
    struct sg_kernels poor = *sg_kernels_cpu(NULL);
    poor.select_topk = no_topk;
    poor.select_threshold = no_threshold;
    kernels = &poor;
    for (size_t i = 0; i < 3; i++) {
        struct sg_error err = {.msg = ""};
        struct sg_message message;
        sg_method *m = opened(name[i], param[i], &sg_feedback_none, 1);
        ok(m != NULL &&
               sg_verify_send(m, (struct sg_verify_at){0, 1, 0, NULL}, p, NULL, &message, &err) == SG_ERR_MEMORY,
           "%s: %s", name[i], err.msg);
        sg_method_close(m);
    }
    kernels = NULL;
}

/* ---- hostile bytes ---- */

/* Of what a message says of its parts no wrong bit is taken; bytes that are cut off are tried with every code. */
static void test_damage(void) {
    enum { COUNT = 21, SIZE = 4 + 3 * 12 + 3 };
    static const size_t part[] = {5, 0, COUNT - 5};
    float value[COUNT], out[COUNT];
    uint8_t data[SIZE];
    double bits;
    for (size_t i = 0; i < COUNT; i++)
        value[i] = i % 3 ? (float)i : -(float)i;
    const struct sg_numbers numbers = {
        .value = value, .count = COUNT, .part = part, .parts = 3, .kernels = sg_kernels_cpu(NULL), .threads = 1};
    struct sg_message m = {.code = &sg_code_two_means, .n = COUNT, .count = COUNT, .data = data};
    m.bytes = m.code->encode(data, &numbers, &bits);
    ok(m.bytes == SIZE && m.code->valid(&m) && bits == COUNT + 4 * 32, "an empty part has no values to send");
    bool right = true;
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * SIZE; bit++) {
        data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (m.code->valid(&m)) {
            m.code->decode(out, &m, 0, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                right &= isfinite(out[i]);
        } else {
            refused++;
        }
        data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    ok(right && refused >= 4 * 32 + 3, "one bit wrong: refused, or finite numbers (%zu of %d refused)", refused,
       8 * SIZE);
}

int main(void) {
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
        test_golden(&golden[i]);
    test_terngrad();
    if (!no_zoo()) {
        test_strom();
        test_no_memory();
    }
    test_ties();
    test_signum();
    test_twice("topk-twice", (const double[]){3, NAN}, 3, 3 * 64);
    test_twice("stc", (const double[]){3, NAN}, 3, 3 * (1 + 3) + 32);
    test_twice("sign-l2-twice", (const double[]){NAN}, N, N + 32);
    test_twice("ef-signsgd-twice", (const double[]){NAN}, N, N + 32);
    test_damage();
    return tap_done();
}
