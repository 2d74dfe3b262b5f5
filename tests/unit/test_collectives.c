/* Compressors whose sum is not that of the messages (clt-k, gtopk, ok-topk, demo): whole numbers are conserved exactly
 * and others to rounding, for any number of workers; the published feedback of gtopk loses what the tree drops; same
 * bits for any split of the workers over ranks and after a checkpoint; what ok-topk sends stays near k; demo's
 * transform. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "method_case.h"
#include "sg_rng.h"
#include "tap.h"

enum { WORKERS = SG_VERIFY_WORKERS, LAYERS = 4, D = 500, STEPS = 40 };

static const size_t offset[LAYERS + 1] = {0, 1, 1, 200, D};
static float g[WORKERS][D], e[WORKERS][D], sum[D];

struct setting {
    const char *compressor;
    double param[4]; /* k, density, and what the compressor adds */
    bool conserves;
};

static const struct setting settings[] = {
    {"clt-k", {7, NAN, NAN, NAN}, true}, {"clt-k", {NAN, 1, NAN, NAN}, true},   {"gtopk", {7, NAN, 1, NAN}, true},
    {"gtopk", {NAN, 0.2, 1, NAN}, true}, {"gtopk", {7, NAN, 0, NAN}, false},    {"ok-topk", {7, NAN, 8, 5}, true},
    {"ok-topk", {NAN, 0.2, 1, 3}, true}, {"ok-topk", {7, NAN, NAN, NAN}, true},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* A setting with a feedback rule, on some of the workers. */
struct setup {
    const struct setting *setting;
    const char *rule;
    size_t workers;
};

static sg_method *open_part(const void *of, size_t first, size_t count, int threads) {
    const struct setup *s = of;
    return open_method((struct sg_method_config){.compressor = sg_compressor_find(s->setting->compressor),
                                                 .param = s->setting->param,
                                                 .layout = {LAYERS, offset, NULL, NULL},
                                                 .feedback = {sg_feedback_find(s->rule), 1, {NAN, NAN, NAN, NAN}},
                                                 .seed = 9,
                                                 .workers = s->workers,
                                                 .first = first,
                                                 .count = count,
                                                 .exec = {.threads = threads}},
                       NULL);
}

static sg_method *opened(const struct setting *s, size_t workers) {
    return open_part(&(struct setup){s, "gradient", workers}, 0, workers, 1);
}

/* Gradients that share a part, heavy-tailed; whole numbers if asked for. */
static void draw(size_t workers, uint64_t t, bool whole) {
    for (size_t w = 0; w < workers; w++) {
        sg_rng own = sg_rng_open(3, SG_RNG_TEST, (uint32_t)w, t), common = sg_rng_open(3, SG_RNG_TEST, 1000, 0);
        for (size_t i = 0; i < D; i++) {
            const double x = pow(sg_rng_normal(&common), 3) + pow(sg_rng_normal(&own), 3);
            g[w][i] = (float)(whole ? rint(8 * x) : x);
        }
    }
}

/* The largest difference that some steps leave between all p, and the sum with the residuals. */
static double lost(const struct setting *s, size_t workers, bool whole, bool *fine) {
    sg_method *m = opened(s, workers);
    double worst = 0, bits;
    *fine = m != NULL && sg_method_keeps_late(m) && !sg_method_splits(m);
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; *fine && t < STEPS; t++) {
        double before[D] = {0};
        draw(workers, t, whole);
        for (size_t w = 0; w < workers; w++)
            for (size_t i = 0; i < D; i++)
                before[i] += (double)(e[w][i] + g[w][i]);
        *fine = sg_verify_step(&m, 1, t, 0.1, *g, *e, D, sum, &bits) && bits > 0;
        size_t entries = 0;
        for (size_t i = 0; i < D; i++) {
            double after = (double)sum[i];
            for (size_t w = 0; w < workers; w++)
                after += (double)e[w][i];
            worst = fmax(worst, fabs(after - before[i]));
            entries += sum[i] != 0;
        }
        *fine &= entries > 0;
    }
    sg_method_close(m);
    return worst;
}

static void test_nothing_is_lost(const struct setting *s) {
    double exact = 0, rounded = 0;
    bool fine = true, once;
    for (size_t workers = 1; workers <= 9; workers++) {
        exact = fmax(exact, lost(s, workers, true, &once));
        fine &= once;
        rounded = fmax(rounded, lost(s, workers, false, &once));
        fine &= once;
    }
    if (s->conserves) /* sums of up to 9 numbers, below 2^14 in magnitude, whose roundings are halves of 2^-10 */
        ok(fine && exact == 0 && rounded < 9 * 0x1p-10,
           "%s %g: 1 to 9 workers lose nothing of whole numbers, %.2g else", s->compressor, s->param[0], rounded);
    else
        ok(fine && exact > 1, "%s as published: up to %g is lost where one branch drops what another keeps",
           s->compressor, exact);
}

static void draw_six(uint64_t t) {
    draw(6, t, false);
}

static void test_splits(const struct setting *s, const char *rule) {
    const struct setup setup = {s, rule, 6};
    const struct split split = {.open = open_part,
                                .of = &setup,
                                .count = (const size_t[]){2, 3, 1},
                                .parts = 3,
                                .d = D,
                                .steps = 20,
                                .saved = 9,
                                .gamma = 0.1,
                                .keeps = sg_feedback_find(rule)->keeps};
    ok(splits(&split, *g, draw_six), "%s %g, %s: the same bits by one rank and by three, after a checkpoint",
       s->compressor, s->param[0], rule);
}

/* How many sums of ok-topk arrive between the steps of exact thresholds, and what they cost. */
static void test_near_k(void) {
    const struct setting s = {"ok-topk", {30, NAN, NAN, NAN}, true};
    const size_t workers = 8, k = 1 + 30 + 30;
    sg_method *m = opened(&s, workers);
    double all = 0, cost = 0, bits;
    bool fine = m != NULL;
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; fine && t < 100; t++) {
        draw(workers, t, false);
        fine = sg_verify_step(&m, 1, t, 0.1, *g, *e, D, sum, &bits);
        for (size_t i = 0; i < D; i++)
            all += sum[i] != 0;
        cost += bits;
    }
    const double mean = all / 100 / (double)k, words = cost / 100 / (double)workers / 32 / (double)k;
    ok(fine && mean > 0.5 && mean < 2 && words < 6 * mean,
       "ok-topk: %.2f of k arrive, for %.2f words a worker and entry of k", mean, words);
    sg_method_close(m);
}

/* One chunk worked out by hand: of the DCT-II of 8 numbers 2 coefficients are sent. */
static void test_transform(void) {
    static const float x[8] = {0.5F, -1.25F, 2, -0.125F, 0, 3, -2.5F, 0.75F},
                       right[8] = {0.34375F, -2.1875F, 2.1875F, -0.34375F, -0.34375F, 2.1875F, -2.1875F, 0.34375F};
    static const size_t whole[] = {0, 8};
    for (int sign = 0; sign < 2; sign++) {
        const double param[] = {2, NAN, sign};
        sg_method *m = open_method((struct sg_method_config){.compressor = sg_compressor_find("demo"),
                                                             .param = param,
                                                             .layout = {1, whole, NULL, NULL},
                                                             .feedback = {&sg_feedback_gradient, 0.999, {0}}},
                                   NULL);
        float residual[8] = {0}, out[8];
        double off = 0, kept = 0, bits = 0;
        const bool fine = m != NULL && sg_verify_step(&m, 1, 0, 1, x, residual, 8, out, &bits);
        for (size_t i = 0; i < 8; i++) {
            off = fmax(off, fabs((double)out[i] - (sign ? copysign(1, (double)right[i]) : (double)right[i])));
            kept += (double)residual[i] * (double)residual[i];
        }
        ok(fine && off < 1e-6 && fabs(kept - 2.027344) < 1e-5 && bits == 2 * (32 + 3),
           "demo, sign %d: 2 coefficients of 8 (off by %.2g)", sign, off);
        sg_method_close(m);
    }
    struct sg_error err = {.msg = ""};
    ok(!open_method((struct sg_method_config){.compressor = sg_compressor_find("demo"),
                                              .layout = {1, whole, NULL, NULL},
                                              .feedback = {&sg_feedback_update, 1, {0}}},
                    &err) &&
           err.status == SG_ERR_ARGUMENT && strstr(err.msg, "use 'gradient'"),
       "refused: %s", err.msg);
}

int main(void) {
    const struct setting demo = {"demo", {7, NAN, NAN, NAN}, false},
                         sparseloco = {"sparseloco", {7, 8, NAN, NAN}, false};
    if (no_zoo()) {
        skip("all of this is about lib/zoo");
        return tap_done();
    }
    for (size_t i = 0; i < SETTINGS; i++)
        test_nothing_is_lost(&settings[i]);
    for (size_t i = 0; i < SETTINGS; i++) {
        test_splits(&settings[i], "gradient");
        test_splits(&settings[i], "none");
        test_splits(&settings[i], "scalecom-lpf");
    }
    test_splits(&sparseloco, "gradient");
    test_splits(&demo, "gradient");
    test_splits(&demo, "none");
    test_near_k();
    test_transform();
    return tap_done();
}
