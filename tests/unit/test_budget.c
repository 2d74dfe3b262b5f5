/* The threshold that spends a budget: the controller on made worlds, and through the compressor. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_case.h"
#include "method_private.h"
#include "sg_rng.h"
#include "message_values.h"
#include "sg_drive.h"
#include "tap.h"

/* ---- worlds: what is sent at lambda at time x of the run, 0..1 ---- */

static double even(double x) {
    (void)x;
    return 1;
}

static double transient(double x) { /* a run far from the optimum: 30 times as much at first */
    return 1 + 29 * exp(-x / 0.01);
}

static double decays(double x) { /* a learning rate that falls twice */
    return x < 0.5 ? 4 : x < 0.75 ? 1 : 0.5;
}

static double grows(double x) {
    return 0.5 + 2 * x;
}

/* Share of the budget that is left to the last of `steps` steps of a world with scale^2 world(x) / lambda^2 entries a
 * step, in bursts of `burst` entries on average (0 = smooth). *held: share of the steps that lambda was not changed
 * at. */
static double leave(double (*world)(double), double scale, double all, uint64_t steps, double burst, double *held) {
    struct sg_threshold_budget b = {.lambda = INFINITY, .rate = NAN};
    sg_rng r = sg_rng_open(7, SG_RNG_TEST, 0, 0);
    double sent = 0;
    uint64_t kept = 0;
    sg_threshold_budget_begin(&b, all, steps, 0, 1, false);
    sg_threshold_budget_start(&b, all, steps, scale * scale * world(0));
    for (uint64_t t = 1; t < steps - 1; t++) { /* the first step started it */
        const double lambda = b.lambda, most = sg_threshold_budget_begin(&b, all, steps, t, 1, false),
                     wanted = scale * scale * world((double)t / (double)steps) / (b.lambda * b.lambda);
        double entries = wanted;
        if (burst > 0)
            entries = sg_rng_uniform(&r) < fmin(1, wanted / burst) ? fmax(burst, wanted) : 0;
        sent += fmin(entries, most);
        sg_threshold_budget_learn(&b, all, steps, t, fmin(entries, most));
        kept += b.lambda == lambda;
    }
    *held = (double)kept / (double)steps;
    return 1 - sent / all;
}

static void worlds(void) {
    static const struct {
        const char *name;
        double (*world)(double);
    } cases[] = {{"even", even}, {"transient", transient}, {"decays", decays}, {"grows", grows}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t steps = 300; steps <= 30000; steps *= 10) {
            double held;
            const double left = leave(cases[i].world, 1e-3, 10.0 * (double)steps, steps, 0, &held);
            ok(left >= 0 && left <= 0.02, "%s, %d steps: at most 2 %% are left to the last step (%.2f %%)",
               cases[i].name, (int)steps, 100 * left);
            ok(held >= 0.5, "and lambda held at half of the steps or more (%.0f %%)", 100 * held);
        }
    double held;
    for (double burst = 5; burst <= 320; burst *= 4) {
        const double left = leave(transient, 3, 3000 * 1.5, 3000, burst, &held);
        ok(left >= 0 && left <= 0.02, "bursts of %.0f at once, %.1f %% of the budget: %.2f %%", burst, burst / 45,
           100 * left);
    }
}

static void edges(void) {
    struct sg_threshold_budget b = {.lambda = INFINITY, .rate = NAN};
    sg_threshold_budget_start(&b, 100, 10, 0);
    ok(b.lambda == INFINITY && b.sent == 0, "no gradient, no lambda");
    sg_threshold_budget_start(&b, 100, 10, 1000);
    ok(b.lambda == 10, "lambda starts at |g| / sqrt(entries a step)");
    ok(sg_threshold_budget_begin(&b, 100, 10, 1, 0.5, false) == 100 && b.lambda == 10, "all may be sent at once");
    sg_threshold_budget_learn(&b, 100, 10, 1, 1.5);
    const double lambda = b.lambda, rate = b.rate;
    ok(sg_threshold_budget_begin(&b, 100, 10, 2, 0.125, false) == 98 && b.lambda == 4 * lambda && b.rate == rate / 4,
       "where gamma falls lambda rises as much, and the rate is taken to fall");
    ok(sg_threshold_budget_begin(&b, 100, 10, 3, 1, false) == 98 && b.lambda == 4 * lambda,
       "where it rises nothing happens");
    struct sg_threshold_budget last = b;
    ok(sg_threshold_budget_begin(&last, 100, 10, 9, 1, false) == 98 && last.lambda == 0,
       "the last step may send all the rest");
    sg_threshold_budget_learn(&b, 100, 10, 3, 98.25);
    ok(sg_threshold_budget_begin(&b, 100, 10, 4, 1, false) == 0 && b.lambda == INFINITY,
       "nothing more is sent once less than an entry is left");
    ok(sg_threshold_budget_begin(&b, 100, 10, 9, 1, false) == 0 && b.lambda == INFINITY, "to the end");
}

/* ---- through the method ---- */

enum { D = 400, WORKERS = 3, STEPS = 400 };

static const size_t offset[] = {0, 100, D};

static sg_method *opened_as(const struct sg_feedback_rule *form, double lambda, double budget, uint64_t steps,
                            size_t workers, struct sg_error *err) {
    const double param[] = {lambda, budget, NAN};
    return open_method((struct sg_method_config){.compressor = sg_compressor_find("hard-threshold"),
                                                 .param = param,
                                                 .layout = {2, offset, NULL, NULL},
                                                 .feedback = {form, 1, {0}},
                                                 .count = workers,
                                                 .steps = steps},
                       err);
}

static sg_method *opened(double lambda, double budget, uint64_t steps, size_t workers, struct sg_error *err) {
    return opened_as(&sg_feedback_gradient, lambda, budget, steps, workers, err);
}

/* What is looked at in a step before it ends. */
struct seen {
    const sg_method *m;
    bool threshold;       /* is there one? */
    double entries, bits; /* of a worker, on average */
};

static void see_threshold(void *of) {
    struct seen *seen = of;
    seen->threshold = !isnan(sg_method_threshold(seen->m));
}

/* One step; drift: all elements of a worker grow alike, so that they come to lambda together: the worst bursts there
 * are.
 * *seen <- what it sent. */
static bool step(sg_method *m, float (*e)[D], uint64_t t, double gamma, bool drift, struct seen *seen) {
    float g[WORKERS][D], sum[D], *to = sum;
    struct sg_message message[WORKERS];
    struct sg_error err;
    struct sg_play play = {.part = &m,
                           .parts = 1,
                           .d = D,
                           .g = *g,
                           .e = *e,
                           .sum = &to,
                           .message = message,
                           .arrived = see_threshold,
                           .of = seen};
    seen->m = m;
    for (uint32_t w = 0; w < WORKERS; w++) {
        sg_rng r = sg_rng_open(1, SG_RNG_TEST, w, t);
        for (size_t j = 0; j < D; j++)
            g[w][j] = (float)(drift ? 1 + 0.5 * sg_rng_normal(&r) : sg_rng_normal(&r) * (1 + (double)(j % 7)));
    }
    const bool fine = sg_method_play(&play, t, gamma, &err) == SG_OK;
    seen->entries = play.entries / WORKERS;
    seen->bits = play.bits / WORKERS;
    return fine;
}

/* Steps from..to-1 of all workers at learning rate gamma. */
static bool run(sg_method *m, float (*e)[D], uint64_t from, uint64_t to, double gamma, bool drift, double *sent) {
    bool fine = true;
    struct seen seen;
    for (uint64_t t = from; t < to; t++) {
        fine = step(m, e, t, gamma, drift, &seen) && fine && (seen.threshold || t + 1 == STEPS);
        *sent += seen.entries;
    }
    return fine;
}

static void methods(void) {
    static float e[WORKERS][D], again[WORKERS][D];
    struct sg_error err;
    double sent = 0;
    sg_method *m = opened(NAN, 0.02, STEPS, WORKERS, &err), *late = opened(NAN, 0.02, STEPS, WORKERS, &err);
    bool fine = m && late;
    ok(fine && isnan(sg_method_threshold(m)), "a budget opens; no lambda before the first step");
    ok(fine && run(m, e, 0, 150, 1, false, &sent), "every step but the last has a lambda");
    if (fine) {
        char state[256];
        fine = sg_method_common_bytes(m) <= sizeof state && sg_method_worker_bytes(m, 0) == 0;
        sg_method_common_save(m, state);
        sg_method_common_load(late, state);
        memcpy(again, e, sizeof e);
    }
    double sent_late = sent;
    fine = fine && run(m, e, 150, STEPS, 1, false, &sent) && run(late, again, 150, STEPS, 1, false, &sent_late);
    ok(fine && sent == sent_late && memcmp(e, again, sizeof e) == 0, "a resumed run ends with the same bits");
    ok(fabs(sent / (0.02 * D * STEPS) - 1) <= 0.02, "and the budget is met (%.2f %%)",
       100 * (sent / (0.02 * D * STEPS) - 1));
    sg_method_close(m);
    sg_method_close(late);
    sg_method *all = opened(NAN, 0.9, 10, 1, &err);
    ok(all && sg_method_budget(all) == 3600, "every entry of every step but the first may be asked for");
    sg_method_close(all);
    sg_method *constant = opened(2, NAN, 0, 1, &err);
    ok(constant && sg_method_common_bytes(constant) == 0 && sg_method_worker_bytes(constant, 0) == 0 &&
           sg_method_note(constant, 0) == 0 && isnan(sg_method_budget(constant)),
       "a constant lambda keeps no state and no budget");
    sg_method_close(constant);
}

/* The learning rate falls to a tenth at half of the run. */
static void bursts(const struct sg_feedback_rule *form, double budget) {
    static float e[WORKERS][D];
    const char *name = form == &sg_feedback_update ? "update" : "gradient";
    struct sg_error err;
    double sent = 0, at_fall = 0;
    memset(e, 0, sizeof e);
    sg_method *m = opened_as(form, NAN, budget, STEPS, WORKERS, &err);
    bool fine = m && run(m, e, 0, STEPS / 2, 1, true, &sent);
    const double lambda = fine ? sg_method_threshold(m) : NAN;
    fine = fine && run(m, e, STEPS / 2, STEPS / 2 + 1, 0.1, true, &at_fall);
    const double after = fine ? sg_method_threshold(m) : NAN;
    sent += at_fall;
    fine = fine && run(m, e, STEPS / 2 + 1, STEPS, 0.1, true, &sent);
    ok(fine && sent <= budget + 1e-9 && sent > budget - 1, "a budget of %.0f, %s form: %.2f were sent", budget, name,
       sent);
    if (form == &sg_feedback_update && budget > 3) /* else all is spent by then */
        ok(after > 5 * lambda && at_fall < D / 10.0, "a falling learning rate: lambda %g, then %g; %.1f leave", lambda,
           after, at_fall);
    sg_method_close(m);
}

/* ---- the last step, against the definition ---- */

static float p[D];

static int larger(const void *a, const void *b) {
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const float x = fabsf(p[i]), y = fabsf(p[j]);
    return x != y ? (x > y ? -1 : 1) : i < j ? -1 : 1;
}

static int ascending(const void *a, const void *b) {
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    return i < j ? -1 : i > j;
}

/* Whole numbers, many of them equal, the first `zeros` of them 0. What was sent before is said to be nothing. */
static void last_step(const struct sg_feedback_rule *form, size_t most, size_t zeros) {
    enum { LAST = 2 };
    float g[D], e[D] = {0}, *residual = form == &sg_feedback_none ? NULL : e;
    uint32_t order[D];
    struct sg_message m;
    struct sg_error err;
    sg_method *c = opened_as(form, NAN, (double)most + 0.5, LAST + 1, 1, &err);
    bool fine = c != NULL;
    for (size_t j = 0; j < D; j++)
        g[j] = j < zeros ? 0 : (float)((j * 37 + 11) % 101) - 50.5F;
    for (uint64_t t = 0; fine && t < LAST; t++) {
        fine = sg_verify_send(c, (struct sg_verify_at){0, 1, t, NULL}, g, residual, &m, &err) == SG_OK && m.count == 0;
        method_end(c, NULL, &(struct sg_spent){.largest = 1e12});
    }
    for (uint32_t j = 0; j < D; j++) {
        order[j] = j;
        p[j] = e[j] + g[j];
    }
    fine = fine && sg_verify_send(c, (struct sg_verify_at){0, 1, LAST, NULL}, g, residual, &m, &err) == SG_OK;
    const size_t expected = most < D - zeros ? most : D - zeros;
    qsort(order, D, sizeof *order, larger);
    qsort(order, expected, sizeof *order, ascending);
    fine = fine && m.count == expected && m.layer_count[0] + m.layer_count[1] == expected &&
           memcmp(m.index, order, expected * sizeof *order) == 0;
    for (size_t j = 0, k = 0; fine && j < D; j++) {
        const bool sent = k < expected && order[k] == j;
        fine = (!sent || (values_of(&m)[k] == p[j] && (j < offset[1]) == (k < m.layer_count[0]))) &&
               (residual == NULL || e[j] == (sent ? 0 : p[j]));
        k += sent;
    }
    ok(fine, "the last step sends the %zu largest and keeps the rest (%s)", expected, form->name);
    sg_method_close(c);
}

static void last_steps(void) {
    static const size_t most[] = {1, 7, 255, 256, 257, 399, 400};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        for (size_t f = 0; f < 3; f++)
            last_step(sg_feedback_at(f), most[i], 0);
    last_step(&sg_feedback_gradient, 300, 150);
}

/* ---- budgets of bits, for messages whose entries do not tell their size ---- */

static void bits(const char *name, double share) {
    static const size_t rows[] = {10, 15};
    static float e[WORKERS][D];
    const struct sg_compressor_ops *ops = sg_compressor_find(name);
    double param[SG_METHOD_PARAMS], sent = 0, first = 0;
    if (left_out(ops))
        return;
    for (size_t i = 0; i < ops->n_params; i++)
        param[i] = NAN;
    struct sg_method_config config = {.compressor = ops,
                                      .param = param,
                                      .controller = sg_controller_find("budget"),
                                      .controller_param = (const double[]){share, 1},
                                      .layout = {2, offset, NULL, rows},
                                      .count = WORKERS,
                                      .steps = STEPS};
    struct sg_error err;
    sg_method *m = open_method(config, NULL);
    memset(e, 0, sizeof e);
    bool fine = m != NULL && isnan(sg_method_budget(m));
    for (uint64_t t = 0; fine && t < STEPS; t++) {
        struct seen seen;
        fine = step(m, e, t, 1, false, &seen);
        first = t == 0 ? seen.bits : first;
        sent += seen.bits;
    }
    const double off = sent / (share * 32 * D * STEPS) - 1;
    ok(fine && fabs(off) <= 0.03 && first < 0.2 * share * 32 * D, "%s meets a budget of bits, a share of %g (%.2f %%)",
       name, share, 100 * off);
    sg_method_close(m);
    config.controller_param = (const double[]){share, 0};
    m = open_method(config, &err);
    const bool counts = !(ops->traits & SG_TRAIT_DENSE);
    ok((m != NULL) == counts && (counts || strstr(err.msg, "with 'bits: 1'")), "%s: a budget of entries is %s", name,
       counts ? "another" : err.msg);
    sg_method_close(m);
}

static void refused(double lambda, double budget, uint64_t steps, const char *what) {
    struct sg_error err = {.status = SG_OK};
    sg_method *c = opened(lambda, budget, steps, 1, &err);
    ok(c == NULL && strstr(err.msg, what), "refused: %s", err.msg);
    sg_method_close(c);
}

int main(void) {
    worlds();
    edges();
    methods();
    for (size_t f = 0; f < 2; f++) /* of D elements that come at once */
        for (double budget = 3; budget <= 3000; budget *= 10)
            bursts(sg_feedback_at(f), budget);
    last_steps();
    for (double share = 0.05; share <= 0.2; share *= 4) {
        bits("hard-threshold", share);
        bits("block-threshold", share);
        bits("grid", share);
        bits("svd-threshold", share);
    }
    refused(1, 0.1, 10, "one of them");
    refused(NAN, NAN, 10, "needs 'lambda' or 'budget'");
    refused(NAN, 0, 10, "must be above 0");
    refused(NAN, 0.1, 0, "needs the number of steps");
    refused(NAN, 3601, 10, "a budget of 3601 entries, where a worker can send at most 3600 (0.9 of all)");
    refused(NAN, 1, 10, "a budget of 4000 entries");
    refused(NAN, 1e-6, 1, "at most 0 (0 of all): the first of 1 steps sends nothing");
    return tap_done();
}
