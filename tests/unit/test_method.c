/* Controllers on compressors: ACCORDION by either name, on any knob; schedules, resets and levels by hand-calculated
 * values; what has no knob refuses; state in checkpoints. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_case.h"
#include "method_private.h"
#include "sg_drive.h"
#include "sg_rng.h"
#include "tap.h"

enum { D = 600, WORKERS = 3, STEPS = 60, PER_EPOCH = 5 };

static const size_t offset[] = {0, 100, 400, D};
static struct sg_error err;

static sg_method *opened_by(struct sg_feedback rule, const char *compressor, const double *param,
                            const char *controller, const double *controller_param) {
    return open_method((struct sg_method_config){.compressor = sg_compressor_find(compressor),
                                                 .feedback = rule,
                                                 .param = param,
                                                 .controller = controller ? sg_controller_find(controller) : NULL,
                                                 .controller_param = controller_param,
                                                 .layout = {3, offset, NULL, NULL},
                                                 .seed = 3,
                                                 .count = WORKERS,
                                                 .steps_per_epoch = PER_EPOCH,
                                                 .steps = STEPS},
                       &err);
}

static sg_method *opened(const char *compressor, const double *param, const char *controller,
                         const double *controller_param) {
    return opened_by((struct sg_feedback){0}, compressor, param, controller, controller_param);
}

/* A layer's gradients change their size at steps of its own; the learning rate falls at step 40. */
static void gradient(float *g, size_t w, uint64_t step) {
    sg_rng r = sg_rng_open(9, SG_RNG_TEST, (uint32_t)w, step);
    for (size_t l = 0; l < 3; l++)
        for (size_t i = offset[l]; i < offset[l + 1]; i++)
            g[i] = (float)(sg_rng_normal(&r) * (step / (7 + 5 * l) % 2 ? 4 : 1));
}

/* Steps from..to-1; sum [D] += what was sent, entries [STEPS] <- entries a worker sent. */
static bool run(sg_method *m, float (*e)[D], uint64_t from, uint64_t to, float *sum, double *entries) {
    bool fine = m != NULL;
    for (uint64_t t = from; fine && t < to; t++) {
        float g[WORKERS][D], step_sum[D], *to_sum = step_sum;
        struct sg_message message[WORKERS];
        struct sg_play play = {.part = &m, .parts = 1, .d = D, .g = *g, .e = *e, .sum = &to_sum, .message = message};
        for (size_t w = 0; w < WORKERS; w++)
            gradient(g[w], w, t);
        fine = sg_method_play(&play, t, t < 40 ? 0.5 : 0.05, &err) == SG_OK;
        for (size_t i = 0; i < D; i++)
            sum[i] += step_sum[i];
        entries[t] = play.entries / WORKERS;
    }
    return fine;
}

/* Two methods that mean the same: the same bits at every step. */
static void alike(const char *what, sg_method *a, sg_method *b) {
    static float e[2][WORKERS][D], sum[2][D];
    double entries[2][STEPS];
    memset(e, 0, sizeof e);
    memset(sum, 0, sizeof sum);
    const bool fine = run(a, e[0], 0, STEPS, sum[0], entries[0]) && run(b, e[1], 0, STEPS, sum[1], entries[1]);
    double low = INFINITY, high = 0;
    for (size_t t = 0; fine && t < STEPS; t++) {
        low = fmin(low, entries[0][t]);
        high = fmax(high, entries[0][t]);
    }
    ok(fine && memcmp(e[0], e[1], sizeof e[0]) == 0 && memcmp(sum[0], sum[1], sizeof sum[0]) == 0 && low < high,
       "%s: the same bits, and %g to %g entries", what, low, high);
    sg_method_close(a);
    sg_method_close(b);
}

static void test_accordion(void) {
    for (int accumulate = 0; accumulate <= 1; accumulate++) {
        const double own[] = {2, NAN, 20, NAN, 0.5, 2, accumulate}, topk[] = {2, NAN};
        const double control[] = {NAN, 20, 0.5, 2, accumulate};
        alike(accumulate ? "ACCORDION by sums" : "ACCORDION", opened("accordion", own, NULL, NULL),
              opened("topk", topk, "accordion", control));
    }
    const double density[] = {NAN, 0.01}, control[] = {NAN, 0.1, 0.5, 1, 0};
    sg_method *m = opened("randomk", (const double[]){NAN, 0.01, NAN, NAN, NAN}, "accordion", control);
    ok(m && sg_method_modes(m) && sg_method_modes(m)[0] == 1, "ACCORDION steers random-k's density too");
    sg_method_close(m);
    m = opened("topk", density, NULL, NULL);
    ok(m && !sg_method_modes(m) && !method_leads(m, 0, 1) && sg_method_common_bytes(m) == 0,
       "without a controller there are no modes and no state");
    sg_method_close(m);
}

/* Entries a worker sends in each epoch, the last one's in all that follow. */
static void test_schedule(const char *what, const char *compressor, const double *param, const char *controller,
                          const double *control, const double *wanted, size_t epochs) {
    static float e[WORKERS][D], sum[D];
    double entries[STEPS];
    sg_method *m = opened(compressor, param, controller, control);
    memset(e, 0, sizeof e);
    bool fine = run(m, e, 0, STEPS, sum, entries);
    for (size_t t = 0; t < STEPS; t++) {
        const size_t epoch = t / PER_EPOCH;
        fine &= entries[t] == wanted[epoch < epochs ? epoch : epochs - 1];
    }
    ok(fine, "%s", what);
    sg_method_close(m);
}

static void test_schedules(void) {
    const double k2[] = {2, NAN};
    test_schedule("a warm-up from 16 to 2 entries of every layer over 3 epochs", "topk", k2, "warm-up",
                  (const double[]){16, 3}, (const double[]){48, 24, 12, 6}, 4);
    test_schedule("entries that double every second epoch, up to 7", "topk", k2, "doubling", (const double[]){7, 2},
                  (const double[]){6, 6, 12, 12, 21}, 5);
    sg_method *m = opened("topk", k2, "warm-up", (const double[]){0, 3});
    ok(!m && strstr(err.msg, "above 0"), "%s", err.msg);
}

/* After so many epochs a knob that doubles is more than any integer, and acts as the largest that there is. */
static void test_long_doubling(void) {
    static const double share[][2] = {{3, NAN}, {NAN, 0.01}};
    for (int i = 0; i < 2; i++) {
        static float g[WORKERS][D], e[WORKERS][D], sum[D];
        float *to_sum = sum;
        struct sg_message message[WORKERS];
        sg_method *m = opened("topk", share[i], "doubling", (const double[]){NAN, 1});
        struct sg_play play = {.part = &m, .parts = 1, .d = D, .g = *g, .e = *e, .sum = &to_sum, .message = message};
        ok(m && sg_method_play(&play, 100 * PER_EPOCH, 1, &err) == SG_OK && play.entries == WORKERS * D,
           "a %s that doubled 100 times", i ? "density" : "k");
        sg_method_close(m);
    }
}

/* Steps at which nothing is sent, as all those that `refresh` divides, leave no threshold old: every message is the
 * first one after such a step, and has the k largest. */
static void test_refresh_between_messages(void) {
    static float e[WORKERS][D], sum[D];
    const double param[] = {5, NAN, 4};
    const struct sg_feedback rule = {sg_feedback_find("local-steps"), 1, {4, NAN, NAN, NAN, NAN}};
    double entries[STEPS];
    sg_method *m = opened_by(rule, "topk-reuse", param, NULL, NULL);
    bool fine = run(m, e, 0, STEPS, sum, entries);
    for (size_t t = 0; t < STEPS; t++)
        fine &= entries[t] == (t % 4 == 3 ? 15 : 0);
    ok(fine, "topk-reuse takes the k largest of a step after the one at which nothing was sent");
    sg_method_close(m);
}

/* The knob of layer 0 at the step of f, after which the controller learns square. */
static double knob_of(const struct sg_controller_ops *ops, const double *param, double *state, const struct sg_facts *f,
                      double own, double square) {
    double knob[3] = {own, own, own};
    struct sg_settings out = {.own = own, .knob = knob};
    ops->decide(param, state, f, &out);
    ops->learn(param, state, f, &(struct sg_spent){.largest = square});
    return knob[0] == knob[1] && knob[0] == knob[2] ? knob[0] : NAN;
}

/* Squares 4, 1, 16, 0 after steps 0 to 3: norms of 1, 1, 1/2, 2 and 0 times the first. With alpha = 1 and 15 levels
 * these are 15, 15, 7.5, 30 and 0 levels, log2(s + 1) = 4, 4, 3.09, 4.95 and 0; with alpha = 1/4 and 4 steps to come
 * at first 15 / 16, 15 / 8, 7.5 / 4, 30 / 2 and 0, log2(s + 1) = 0.95, 1.52, 1.52, 4 and 0. Never below one level. */
static void test_dqsgd(void) {
    static const double square[] = {4, 1, 16, 0, 9}, wanted[2][5] = {{15, 15, 7, 31, 1}, {1, 3, 3, 15, 1}};
    const struct sg_controller_ops *ops = sg_controller_find("dqsgd");
    for (int i = 0; i < 2; i++) {
        double state[2] = {0}, knob[5];
        bool fine = ops->doubles(3) == 2;
        for (uint64_t t = 0; t < 5; t++) {
            const struct sg_facts f = {.step = t, .steps = 4, .steps_per_epoch = 1, .layers = 3};
            knob[t] = knob_of(ops, (const double[]){i ? 0.25 : 1}, state, &f, 15, square[t]);
            fine &= knob[t] == wanted[i][t];
        }
        ok(fine, "levels by the norm, alpha %g: %g %g %g %g %g", i ? 0.25 : 1, knob[0], knob[1], knob[2], knob[3],
           knob[4]);
    }
    double state[2] = {0};
    const struct sg_facts f = {.steps = 4, .layers = 3};
    ok(knob_of(ops, (const double[]){1}, state, &f, 7, 0) == 7 &&
           knob_of(ops, (const double[]){1}, state, &f, 7, 3) == 7 && state[0] == 3,
       "gradients of 0 do not count as the first");
}

/* Epochs of two steps with |g|^2 = 10, so q = 10. Where |sum|^2 = 4 |m|^2 is 32, 8, 8, 40, 0.4 and 0.4, the ratio
 * sqrt(|m|^2 / (q - |m|^2)) is 2, 1/2, 1/2, infinite, 0.1005 and 0.1005. The knob doubles at the second and third
 * decision, because 1/2 is at most half of 2 and half of 1, and at the last two, because 0.1005 is below half of 1/2
 * and half of 1/4; `most` cuts 48 to 40. */
static void test_adaqs(void) {
    static const double sum[] = {32, 8, 8, 40, 0.4, 0.4}, wanted[] = {3, 3, 6, 12, 12, 24, 40};
    const struct sg_controller_ops *ops = sg_controller_find("adaqs");
    const double param[] = {40, 1, 0.5};
    double state[4] = {0}, knob[7];
    bool fine = ops->doubles(3) == 4;
    for (uint64_t t = 0; t < 14; t++) {
        struct sg_facts f = {.step = t, .steps_per_epoch = 2, .layers = 3};
        const double lead[] = {0, t > 1 ? sum[t / 2 - 1] / 4 : 0, t > 1 ? sum[t / 2 - 1] * 3 / 4 : 0};
        const bool due = t > 0 && t % 2 == 0;
        fine &= ops->ask(param, state, &f) ==
                (SG_ASK_ADD | SG_ASK_LEAD_AFTER | (due ? SG_ASK_LEAD_SUM | SG_ASK_RESTART : 0));
        f.lead_square = due ? lead : NULL;
        knob[t / 2] = knob_of(ops, param, state, &f, 3, 10);
        fine &= knob[t / 2] == (t < 2 ? 3 : wanted[t / 2]);
    }
    ok(fine, "a knob that doubles as the mean falls: %g %g %g %g %g %g %g", knob[0], knob[1], knob[2], knob[3], knob[4],
       knob[5], knob[6]);
}

/* Noise of deviation 1, 2 and 4 in the layers: the error of the residuals times the volume, means over steps. */
static double error_times_volume(sg_method *m, size_t *first_entries) {
    enum { LONG = 6000, WARM = 2000 };
    static float e[WORKERS][D], sum[D];
    double error = 0, volume = 0;
    memset(e, 0, sizeof e);
    bool fine = m != NULL;
    for (uint64_t t = 0; fine && t < LONG; t++) {
        float g[WORKERS][D], *to_sum = sum;
        struct sg_message message[WORKERS];
        struct sg_play play = {.part = &m, .parts = 1, .d = D, .g = *g, .e = *e, .sum = &to_sum, .message = message};
        for (size_t w = 0; w < WORKERS; w++) {
            sg_rng r = sg_rng_open(11, SG_RNG_TEST, (uint32_t)w, t);
            for (size_t l = 0; l < 3; l++)
                for (size_t i = offset[l]; i < offset[l + 1]; i++)
                    g[w][i] = (float)(sg_rng_normal(&r) * (double)(1 << l));
        }
        fine = sg_method_play(&play, t, 1, &err) == SG_OK;
        if (t == 0)
            *first_entries = (size_t)(play.entries + 0.5);
        for (size_t i = 0; i < D && t >= WARM; i++)
            error += (double)e[0][i] * (double)e[0][i] / (LONG - WARM);
        volume += t >= WARM ? play.entries / WORKERS / (LONG - WARM) : 0;
    }
    sg_method_close(m);
    return fine ? error * volume : NAN;
}

/* The threshold of a layer is sigma^power of worker 0's first gradient. */
static void test_thresholds(double power) {
    size_t first = 0, by_hand = 0;
    sg_method *m = opened("hard-threshold", (const double[]){1, NAN}, "noise", (const double[]){10, 5, power, 0, 0});
    error_times_volume(m, &first);
    for (size_t l = 0; l < 3; l++) {
        double square = 0, lambda;
        for (size_t w = 0; w < WORKERS; w++) {
            sg_rng r = sg_rng_open(11, SG_RNG_TEST, (uint32_t)w, 0);
            for (size_t i = 0; i < offset[l + 1]; i++) {
                const double x = (double)(float)(sg_rng_normal(&r) * (double)(1 << l));
                square += w == 0 && i >= offset[l] ? x * x : 0;
            }
        }
        lambda = pow(square / (double)(offset[l + 1] - offset[l]), power / 2);
        for (size_t w = 0; w < WORKERS; w++) {
            sg_rng r = sg_rng_open(11, SG_RNG_TEST, (uint32_t)w, 0);
            for (size_t i = 0; i < offset[l + 1]; i++)
                by_hand += fabs(sg_rng_normal(&r) * (double)(1 << l)) >= lambda && i >= offset[l];
        }
    }
    ok(first == by_hand && first > 0, "power %g: the first step sends %zu entries, by hand %zu", power, first, by_hand);
}

/* Layers of deviation 1, 2 and 4, a learning rate of 0.04 and an own threshold of 8. */
static void test_exponents(void) {
    static const double square[] = {100, 1200, 3200},
                        param[][5] = {{10, 5, -0.5, 0, 0},
                                      {10, 5, 0, 0.25, 0},
                                      {10, 5, 0, 0, 0.5},
                                      {10, 5, -0.5, 0.01, 0.5}},
                        wanted[][3] = {{8, 8 * M_SQRT1_2, 4}, {2, 4, 8}, {40, 40, 40}, {10, 20, 20}};
    const struct sg_facts f = {.layers = 3, .d = D, .offset = offset, .gamma = 0.04, .lead_square = square};
    for (size_t i = 0; i < 4; i++) {
        double state[4] = {0}, knob[3];
        struct sg_settings out = {.own = 8, .knob = knob};
        bool fine = true;
        sg_controller_find("noise")->decide(param[i], state, &f, &out);
        for (size_t l = 0; l < 3; l++)
            fine &= fabs(knob[l] / wanted[i][l] - 1) < 1e-14;
        ok(fine, "power %g, floor %g, rate power %g: thresholds %g %g %g", param[i][2], param[i][3], param[i][4],
           knob[0], knob[1], knob[2]);
    }
    const double tiny = 1e-308, steep[] = {10, 5, -2, 0, 2};
    const struct sg_facts few = {.layers = 1, .d = 100, .offset = offset, .gamma = 1e-200, .lead_square = &tiny};
    double state[2] = {0}, knob = NAN;
    struct sg_settings none = {.own = 0, .knob = &knob};
    sg_controller_find("noise")->decide(steep, state, &few, &none);
    ok(knob == 0, "a threshold of 0 stays 0 where its factor overflows: %g", knob);
}

/* With lambda^2 in proportion to sigma the product is (sum n sigma)^2 / 6, with one lambda (sum n sigma^2) d / 6, up to
 * what a step overshoots the threshold. */
static void test_noise(void) {
    const double by_noise = pow(100 * 1 + 300 * 2 + 200 * 4, 2) / 6,
                 constant = (100 * 1 + 300 * 4 + 200 * 16) * 600.0 / 6;
    size_t first = 0;
    sg_method *m = opened("hard-threshold", (const double[]){30, NAN}, NULL, NULL);
    const double one = error_times_volume(m, &first);
    m = opened("hard-threshold", (const double[]){15, NAN}, "noise", (const double[]){10, 5, 0.5, 0, 0});
    const double follows = error_times_volume(m, &first);
    ok(fabs(one / constant - 1) < 0.1 && fabs(follows / by_noise - 1) < 0.1,
       "error times volume: %.4g with one threshold (law %.4g), %.4g by noise (law %.4g)", one, constant, follows,
       by_noise);
    for (size_t i = 0; i < 2; i++)
        test_thresholds(i == 0 ? 0.5 : 1);
    test_exponents();
    m = opened("topk", (const double[]){2, NAN}, "noise", (const double[]){10, 5, 0.5, 0, 0});
    ok(!m && strstr(err.msg, "'noise' scales a threshold, and topk has none"), "%s", err.msg);
}

/* A controller that finds the threshold makes lambda superfluous. */
static void test_budget(void) {
    alike("a budget by either name", opened("hard-threshold", (const double[]){NAN, 0.1, NAN}, NULL, NULL),
          opened("hard-threshold", (const double[]){NAN, NAN, NAN}, "budget", (const double[]){0.1, 0}));
}

static void test_refused(void) {
    const double total[] = {0.1}, low_only[] = {1, NAN, 0.5, 1, 0};
    sg_method *m = opened("none", NULL, "budget", total);
    ok(!m && strstr(err.msg, "nothing that the controller 'budget' could change"), "%s", err.msg);
    m = opened("topk", (const double[]){3, NAN}, "accordion", low_only);
    ok(!m && strstr(err.msg, "needs 'high'"), "%s", err.msg);
    m = opened("hard-threshold", (const double[]){1, NAN, NAN}, "budget", (const double[]){0, 0});
    ok(!m && strstr(err.msg, "must be above 0"), "%s", err.msg);
    static const struct {
        const char *compressor;
        double param[3];
        const char *controller;
        double controller_param[5];
        const char *words;
    } refused[] = {
        {"topk", {3, NAN}, "budget", {0.1}, "controller: 'budget' finds a threshold, and topk has none"},
        {"hard-threshold", {NAN, 0.1}, "budget", {0.1}, "has the controller 'budget' already"},
        {"svd-threshold", {3}, "budget", {0.1}, "counts entries, and a message of svd-threshold has all of them"},
        {"topk",
         {3, NAN},
         "accordion",
         {NAN, 2.5, 0.5, 1, 0},
         "controller.high: topk: 'k' = 2.5 is not a whole number"},
        {"topk", {NAN, 0.1}, "accordion", {0, 0.2, 0.5, 1, 0}, "controller.low: topk: 'density' must be above 0"},
        {"topk", {3, NAN}, "accordion", {3, D + 1, 0.5, 1, 0}, "controller.high: topk: 'k' = 601 is more than"},
        {"topk", {3, NAN}, "accordion", {3, 4, 0.5, 1.5, 0}, "controller: accordion: 'interval' = 1.5 is not a whole"},
        {"topk", {3, NAN}, "dqsgd", {1}, "controller: 'dqsgd' sets levels, and topk has none"},
        {"qsgd", {3, 512, 0}, "dqsgd", {0}, "the 'alpha' of dqsgd must be above 0"},
        {"qsgd", {3, 512, 0}, "adaqs", {0.5, 1, 0.5}, "controller.most: qsgd: 'levels' = 0.5 is not between"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (left_out(sg_compressor_find(refused[i].compressor)) || left_out(sg_controller_find(refused[i].controller)))
            continue;
        m = opened(refused[i].compressor, refused[i].param, refused[i].controller, refused[i].controller_param);
        ok(!m && strstr(err.msg, refused[i].words), "%s", err.msg);
    }
    ok(sg_controller_find("accordion") == sg_controller_at(0) && !sg_controller_find("no such"), "the table");
}

static void test_resume(const char *what, const char *compressor, const double *param, const char *controller,
                        const double *control) {
    static float e[2][WORKERS][D], sum[2][D];
    double entries[STEPS];
    if (left_out(sg_compressor_find(compressor)) || left_out(!controller || sg_controller_find(controller)))
        return;
    char common[4096], *worker = malloc(WORKERS * (D * sizeof(float)));
    sg_method *whole = opened(compressor, param, controller, control);
    sg_method *late = opened(compressor, param, controller, control);
    memset(e, 0, sizeof e);
    memset(sum, 0, sizeof sum);
    bool fine = worker && run(whole, e[0], 0, 23, sum[0], entries) && late &&
                sg_method_common_bytes(whole) + sg_method_worker_bytes(whole, 0) > 0 &&
                sg_method_common_bytes(whole) <= sizeof common;
    if (fine) {
        sg_method_common_save(whole, common);
        sg_method_common_load(late, common);
        for (size_t w = 0; w < WORKERS; w++) {
            fine &= sg_method_worker_bytes(whole, w) <= D * sizeof(float);
            sg_method_worker_save(whole, w, worker);
            sg_method_worker_load(late, w, worker);
        }
        memcpy(e[1], e[0], sizeof e[0]);
        memcpy(sum[1], sum[0], sizeof sum[0]);
    }
    fine = fine && run(whole, e[0], 23, STEPS, sum[0], entries) && run(late, e[1], 23, STEPS, sum[1], entries);
    ok(fine && memcmp(e[0], e[1], sizeof e[0]) == 0 && memcmp(sum[0], sum[1], sizeof sum[0]) == 0,
       "%s goes on from its saved state with the same bits", what);
    sg_method_close(whole);
    sg_method_close(late);
    free(worker);
}

int main(void) {
    test_accordion();
    test_schedules();
    test_long_doubling();
    if (!no_zoo()) {
        test_refresh_between_messages();
        test_dqsgd();
        test_adaqs();
    }
    test_noise();
    test_budget();
    test_refused();
    test_resume("ACCORDION", "accordion", (const double[]){2, NAN, 20, NAN, 0.5, 1, 0}, NULL, NULL);
    test_resume("ACCORDION by sums", "accordion", (const double[]){2, NAN, 20, NAN, 0.5, 1, 1}, NULL, NULL);
    test_resume("a budget", "hard-threshold", (const double[]){NAN, 0.05, NAN}, NULL, NULL);
    test_resume("adapted stages", "sidco-e", (const double[]){NAN, 0.02, NAN, NAN, NAN}, NULL, NULL);
    test_resume("shared stages", "sidco-p", (const double[]){NAN, 0.02, NAN, NAN, 1}, NULL, NULL);
    test_resume("a kept threshold", "topk-reuse", (const double[]){7, NAN, 20}, NULL, NULL);
    test_resume("DQ-SGD", "qsgd", (const double[]){31, 64, 0}, "dqsgd", (const double[]){0.95});
    test_resume("AdaQS", "qsgd", (const double[]){3, 64, 0}, "adaqs", (const double[]){NAN, 1, 0.8});
    test_resume("AdaQS that doubles", "qsgd", (const double[]){3, 64, 0}, "adaqs", (const double[]){NAN, 2, 1});
    return tap_done();
}
