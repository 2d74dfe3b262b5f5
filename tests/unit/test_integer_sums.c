/* Compressors whose workers' integers are added: SwitchML, IntSGD, Global-QSGD. The sum is within their promise of that
 * of all p, residuals hold what is missing, and the bits are the published ones. */
/* SPDX-License-Identifier: MIT */
#include "method_case.h"
#include "method_private.h"
#include "sg_drive.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { D = 1000, LAYERS = 3, WORKERS = 4, MOST_PARAMS = 4 };

static const size_t offset[] = {0, 600, 600, D};
static float g[WORKERS][D], e[WORKERS][D], sum[D];
static struct sg_error err;

struct setting {
    const char *name;
    double param[MOST_PARAMS];
    const struct sg_feedback_rule *rule;
};

static sg_method *opened(const struct setting *s, int threads) {
    return open_method((struct sg_method_config){.compressor = sg_compressor_find(s->name),
                                                 .param = s->param,
                                                 .layout = {LAYERS, offset, NULL, NULL},
                                                 .feedback = {s->rule, 1, {0}},
                                                 .seed = 3,
                                                 .count = WORKERS,
                                                 .exec = {.threads = threads}},
                       &err);
}

struct seen {
    bool valid;
    double bits; /* of worker 0 */
};

static sg_status see(void *of, size_t worker, unsigned round, const struct sg_message *m, struct sg_error *error) {
    struct seen *seen = of;
    (void)round, (void)error;
    seen->valid &= m->code->valid(m);
    seen->bits += worker == 0 ? m->bits : 0;
    return SG_OK;
}

/* One step of all workers, with residuals in e if it `keeps` any. */
static bool step(sg_method *m, uint64_t t, bool keeps, double *bits) {
    struct sg_message message[WORKERS];
    struct seen seen = {true, 0};
    float *to = sum;
    struct sg_play play = {.part = &m,
                           .parts = 1,
                           .d = D,
                           .g = *g,
                           .e = keeps ? *e : NULL,
                           .sum = &to,
                           .message = message,
                           .sent = see,
                           .of = &seen};
    const bool fine = sg_method_play(&play, t, 0.5, &err) == SG_OK;
    *bits = seen.bits;
    return fine && seen.valid;
}

static void draw(uint64_t t) {
    for (size_t w = 0; w < WORKERS; w++)
        sg_pattern_fill(g[w], D, SG_PATTERN_NORMAL, 10 * t + w);
}

/* The sum and the residuals are all that came in, but for rounding. */
static void test_nothing_is_lost(const struct setting *s) {
    sg_method *m = opened(s, 1);
    double in[D], off = 0, bits;
    bool fine = m != NULL;
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; fine && t < 4; t++) {
        draw(t);
        for (size_t i = 0; i < D; i++) {
            in[i] = 0;
            for (size_t w = 0; w < WORKERS; w++)
                in[i] += (double)e[w][i] + (double)g[w][i];
        }
        fine = step(m, t, true, &bits);
        for (size_t i = 0; i < D; i++) {
            double out = (double)sum[i];
            for (size_t w = 0; w < WORKERS; w++)
                out += (double)e[w][i];
            off = fmax(off, fabs(in[i] - out));
        }
    }
    ok(fine && off <= 1e-5, "%s: sum and residuals are what came in (%.2g)", s->name, off);
    sg_method_close(m);
}

/* The mean of the sum over many steps, each with other draws, within 5 standard deviations of the mean of DRAWS. A
 * worker rounds to multiples of `unit`; 0: not to multiples, so the deviation is that of what is drawn. */
static void test_unbiased(const struct setting *s, double unit) {
    enum { DRAWS = 4096 };
    static double mean[D], squares[D];
    sg_method *m = opened(s, 1);
    double bits, worst = 0;
    bool fine = m != NULL;
    memset(mean, 0, sizeof mean);
    memset(squares, 0, sizeof squares);
    draw(0);
    for (uint64_t t = 0; fine && t < DRAWS; t++) {
        fine = step(m, t, false, &bits);
        for (size_t i = 0; i < D; i++)
            mean[i] += (double)sum[i] / DRAWS, squares[i] += (double)sum[i] * (double)sum[i] / DRAWS;
    }
    for (size_t i = 0; i < D; i++) {
        double right = 0;
        for (size_t w = 0; w < WORKERS; w++)
            right += (double)g[w][i];
        const double deviation = unit > 0 ? unit / 2 * sqrt(WORKERS) : sqrt(squares[i] - mean[i] * mean[i]);
        worst = fmax(worst, fabs(mean[i] - right) / (deviation / sqrt(DRAWS)));
    }
    ok(fine && worst <= 5, "%s: the mean sum is right (%.2f sigma)", s->name, worst);
    sg_method_close(m);
}

/* Half a unit of 1 / f for each worker, the published bits, and every q within its share of the integer. */
static void test_switchml(double integer_bits, double blocks) {
    const struct setting s = {"switchml", {integer_bits, 100}, &sg_feedback_none};
    sg_method *m = opened(&s, 1);
    double bits = 0, worst = 0;
    draw(1);
    memset(g[2], 0, sizeof g[2]);
    bool fine = m != NULL && step(m, 0, false, &bits);
    for (size_t at = 0; at < D; at += 100) {
        double largest = 0;
        int exponent;
        for (size_t i = at; i < at + 100; i++)
            for (size_t w = 0; w < WORKERS; w++)
                largest = fmax(largest, fabs((double)g[w][i]));
        (void)frexp(largest, &exponent);
        const double f = (exp2(integer_bits - 1) - 1) / WORKERS * exp2(-exponent);
        for (size_t i = at; i < at + 100; i++) {
            double right = 0;
            for (size_t w = 0; w < WORKERS; w++)
                right += (double)g[w][i];
            worst = fmax(worst, (fabs((double)sum[i] - right) - fabs(right) * 0x1p-24) * 2 * f / WORKERS);
            fine &= fabs((double)sum[i] * f) <= exp2(integer_bits - 1) - 1;
        }
    }
    ok(fine && worst <= 1 && bits == integer_bits * D + 8 * blocks,
       "switchml, %g bits: %.3g of the error that is allowed, %g bits", integer_bits, worst, bits);
    sg_method_close(m);
}

static void test_intsgd(void) {
    const struct setting s = {"intsgd", {8, 0.9, 1}, &sg_feedback_none};
    sg_method *m = opened(&s, 1);
    double bits = 0;
    draw(1);
    bool fine = m != NULL && step(m, 0, false, &bits) && bits == 32.0 * D;
    float right[D] = {0};
    double square = 0, worst = 0;
    for (size_t i = 0; i < D; i++) {
        for (size_t w = 0; w < WORKERS; w++)
            right[i] += g[w][i];
        square += (double)right[i] * (double)right[i] / WORKERS / WORKERS;
    }
    ok(fine && memcmp(right, sum, sizeof sum) == 0, "intsgd: the first step is exact");
    const double alpha = sqrt(D) / sqrt(2 * WORKERS * square);
    fine = fine && step(m, 1, false, &bits) && bits == 8.0 * D;
    for (size_t i = 0; i < D; i++)
        worst = fmax(worst, fabs((double)sum[i] - (double)right[i]) * alpha / WORKERS);
    ok(fine && worst < 1 && worst > 0.5, "intsgd: then every worker is within 1 / alpha (%.3f)", worst);
    sg_method_close(m);
}

/* Workers' large floats, with both signs at every place, over some steps. */
static void test_largest(struct setting s, float magnitude, uint64_t steps) {
    static float big[WORKERS][D], kept[WORKERS][D], total[D];
    double bits;
    bool fine = true;
    sg_method *m = opened(&s, WORKERS);
    memset(kept, 0, sizeof kept);
    for (size_t i = 0; i < WORKERS * D; i++)
        big[i / D][i % D] = i % 3 ? magnitude : -magnitude;
    for (uint64_t t = 0; t < steps; t++) {
        fine = fine && m && sg_verify_step(&m, 1, t, 1, big[0], s.rule->keeps ? kept[0] : NULL, D, total, &bits);
        for (size_t i = 0; i < WORKERS * D; i++)
            fine = fine && isfinite(total[i % D]) && isfinite(kept[i / D][i % D]);
    }
    ok(fine, "%s of %g bits: sums of +-%g are finite, and so are the residuals", s.name, s.param[0], (double)magnitude);
    sg_method_close(m);
}

/* What a worker sends in the second round is valid, whatever another one sent as its largest numbers. */
static void test_damaged(struct setting s) {
    static float kept[WORKERS][D], agreed[D];
    static const float wrong[] = {0, 1e-45F, 1e-30F, INFINITY, NAN};
    bool fine = true;
    draw(0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sg_method *m = opened(&s, 1);
        struct sg_message message, heard[WORKERS];
        memset(kept, 0, sizeof kept);
        for (size_t j = 0; j < D; j++)
            agreed[j] = wrong[i];
        if (m)
            sg_method_begin(m, 0, 1, NULL);
        fine = fine && m && sg_method_send(m, 0, 0, g[0], kept[0], NULL, &message, &err) == SG_OK;
        for (size_t w = 0; fine && w < WORKERS; w++)
            heard[w] = message;
        if (fine && sg_method_hears(m))
            method_hear(m, heard);
        if (fine)
            method_receive(m, 0, agreed);
        fine = fine && sg_method_send(m, 0, 1, NULL, kept[0], NULL, &message, &err) == SG_OK &&
               message.code->valid(&message);
        sg_method_close(m);
    }
    ok(fine, "%s: a message is valid also where the agreed numbers are damaged", s.name);
}

static void refused(const char *why, struct setting s) {
    s.rule = &sg_feedback_none;
    sg_method *m = opened(&s, 1);
    ok(m == NULL && strstr(err.msg, why) != NULL, "refused: %s", err.msg);
    sg_method_close(m);
}

int main(void) {
    const struct setting switchml = {"switchml", {32, 256}, &sg_feedback_gradient},
                         coarse = {"switchml", {8, 64}, &sg_feedback_gradient},
                         intsgd = {"intsgd", {8, 0.9, 1}, &sg_feedback_gradient},
                         global = {"global-qsgd", {8}, &sg_feedback_gradient};
    const struct setting *all[] = {&switchml, &coarse, &intsgd, &global};
    if (no_zoo()) {
        skip("all of this is about lib/zoo");
        return tap_done();
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_nothing_is_lost(all[i]);
    test_switchml(32, 10);
    test_switchml(16, 10);
    test_intsgd();
    draw(0);
    double largest = 0;
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t i = 0; i < D; i++)
            largest = fmax(largest, fabs((double)g[w][i]));
    test_unbiased(&(struct setting){"global-qsgd", {8}, &sg_feedback_none}, WORKERS * largest / 127);
    for (double bits = 3; bits <= 8; bits += 5)
        test_unbiased(&(struct setting){"global-qsgd-exp", {bits}, &sg_feedback_none}, 0);
    test_largest((struct setting){"global-qsgd", {2}, &sg_feedback_gradient}, 0x1p127F, 1);
    test_largest((struct setting){"global-qsgd-exp", {4}, &sg_feedback_gradient}, 0x1p127F, 1);
    test_largest(intsgd, 0x1p125F, 4);
    test_damaged((struct setting){"global-qsgd", {8}, &sg_feedback_gradient});
    test_damaged((struct setting){"global-qsgd-exp", {8}, &sg_feedback_gradient});
    refused("too few for the sum of 4 workers", (struct setting){"global-qsgd-exp", {2}, NULL});
    refused("too few for the sum", (struct setting){"switchml", {3, 256}, NULL});
    refused("at most 24, or 32", (struct setting){"switchml", {30, 256}, NULL});
    refused("needs more than 1000 parameters", (struct setting){"switchml", {32, 2}, NULL});
    refused("too few for the sum", (struct setting){"intsgd", {3, 0.9, 1}, NULL});
    return tap_done();
}
