/* The threshold that spends a budget: the controller on made worlds, and through the compressor. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compressor_private.h"
#include "sg_rng.h"
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

/* Relative miss of the budget after `steps` steps of a world with scale^2 world(x) / lambda^2 entries a step, in bursts
 * of `burst` entries on average (0 = smooth). *held: share of the steps that lambda was not changed at. */
static double spend(double (*world)(double), double scale, double all, uint64_t steps, double burst, double *held) {
    struct sg_threshold_budget b;
    sg_rng r = sg_rng_open(7, SG_RNG_TEST, 0, 0);
    double sent = 0;
    uint64_t kept = 0;
    sg_threshold_budget_start(&b, all, steps, scale * scale * world(0));
    for (uint64_t t = 1; t < steps; t++) { /* the first step started it */
        const double lambda = b.lambda,
                     wanted = isinf(lambda) ? 0 : scale * scale * world((double)t / (double)steps) / (lambda * lambda);
        double entries = wanted;
        if (burst > 0)
            entries = sg_rng_uniform(&r) < fmin(1, wanted / burst) ? fmax(burst, wanted) : 0;
        sent += entries;
        sg_threshold_budget_learn(&b, all, steps, t, entries);
        kept += b.lambda == lambda;
    }
    *held = (double)kept / (double)steps;
    return sent / all - 1;
}

static void worlds(void) {
    static const struct {
        const char *name;
        double (*world)(double);
    } cases[] = {{"even", even}, {"transient", transient}, {"decays", decays}, {"grows", grows}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t steps = 300; steps <= 30000; steps *= 10) {
            double held;
            const double miss = spend(cases[i].world, 1e-3, 10.0 * (double)steps, steps, 0, &held);
            ok(fabs(miss) <= 0.02, "%s, %d steps: the budget is met within 2 %% (%.2f %%)", cases[i].name, (int)steps,
               100 * miss);
            ok(held >= 0.5, "and lambda held at half of the steps or more (%.0f %%)", 100 * held);
        }
    double held;
    for (double burst = 5; burst <= 80; burst *= 4) {
        const double miss = spend(transient, 3, 3000 * 1.5, 3000, burst, &held);
        ok(fabs(miss) <= 0.02, "bursts of %.0f at once, 1.8 %% of the budget at most: %.2f %%", burst, 100 * miss);
    }
}

static void edges(void) {
    struct sg_threshold_budget b;
    sg_threshold_budget_start(&b, 100, 10, 0);
    ok(b.lambda == INFINITY && b.sent == 0, "no gradient, no lambda");
    sg_threshold_budget_start(&b, 100, 10, 1000);
    ok(b.lambda == 10, "lambda starts at |g| / sqrt(entries a step)");
    sg_threshold_budget_learn(&b, 100, 10, 1, 100);
    ok(b.lambda == INFINITY && b.sent == 100, "nothing more is sent once all is spent");
    sg_threshold_budget_learn(&b, 100, 10, 2, 0);
    ok(b.lambda == INFINITY, "to the end");
}

/* ---- through the compressor ---- */

enum { D = 400, WORKERS = 3, STEPS = 400 };

static sg_compressor *opened(double lambda, double budget, uint64_t steps, uint32_t worker, struct sg_error *err) {
    static const size_t offset[] = {0, 100, D};
    const double param[] = {lambda, budget};
    const struct sg_compressor_config config = {.ops = sg_compressor_find("hard-threshold"),
                                                .param = param,
                                                .layout = {2, offset, NULL},
                                                .feedback = {SG_FEEDBACK_GRADIENT, 1},
                                                .worker = worker,
                                                .steps = steps,
                                                .exec = {.threads = 1}};
    sg_compressor *c = NULL;
    err->status = sg_compressor_open(&c, &config, err);
    return c;
}

/* Steps from..to-1 of all workers, as the trainer takes them; false when they come to different lambdas. */
static bool run(sg_compressor **c, float (*e)[D], uint64_t from, uint64_t to, double *sent) {
    bool alike = true;
    for (uint64_t t = from; t < to; t++) {
        double mean = 0, note = 0;
        for (uint32_t w = 0; w < WORKERS; w++) {
            float g[D];
            struct sg_message m;
            struct sg_error err;
            sg_rng r = sg_rng_open(1, SG_RNG_TEST, w, t);
            for (size_t j = 0; j < D; j++)
                g[j] = (float)(sg_rng_normal(&r) * (1 + (double)(j % 7)));
            alike = sg_compressor_run(c[w], 1, t, g, e[w], &m, &err) == SG_OK && alike;
            alike = alike && (w == 0 || sg_compressor_threshold(c[w]) == sg_compressor_threshold(c[0]));
            mean += (double)m.count / WORKERS;
            note = fmax(note, sg_compressor_note(c[w]));
        }
        for (uint32_t w = 0; w < WORKERS; w++)
            sg_compressor_learn(c[w], t, mean, note);
        *sent += mean;
    }
    return alike;
}

static void compressors(void) {
    static float e[WORKERS][D], again[WORKERS][D];
    sg_compressor *c[WORKERS], *late[WORKERS];
    struct sg_error err;
    double sent = 0;
    bool fine = true;
    for (uint32_t w = 0; w < WORKERS; w++) {
        c[w] = opened(NAN, 0.02, STEPS, w, &err);
        late[w] = opened(NAN, 0.02, STEPS, w, &err);
        fine = fine && c[w] && late[w];
    }
    ok(fine && isnan(sg_compressor_threshold(c[0])), "a budget opens; no lambda before the first step");
    ok(fine && run(c, e, 0, 150, &sent), "all workers have the same lambda");
    for (uint32_t w = 0; fine && w < WORKERS; w++) {
        char state[256];
        fine = sg_compressor_state_bytes(c[w], w) <= sizeof state;
        sg_compressor_state_save(c[w], state);
        sg_compressor_state_load(late[w], state);
        memcpy(again[w], e[w], sizeof e[w]);
    }
    double sent_late = sent;
    fine = fine && run(c, e, 150, STEPS, &sent) && run(late, again, 150, STEPS, &sent_late);
    ok(fine && sent == sent_late && memcmp(e, again, sizeof e) == 0, "a resumed run ends with the same bits");
    ok(fabs(sent / (0.02 * D * STEPS) - 1) <= 0.02, "and the budget is met (%.2f %%)",
       100 * (sent / (0.02 * D * STEPS) - 1));
    for (uint32_t w = 0; w < WORKERS; w++) {
        sg_compressor_close(c[w]);
        sg_compressor_close(late[w]);
    }
    sg_compressor *all = opened(NAN, 0.9, 10, 0, &err);
    ok(all && sg_compressor_budget(all) == 3600, "every entry of every step but the first may be asked for");
    sg_compressor_close(all);
    sg_compressor *constant = opened(2, NAN, 0, 0, &err);
    ok(constant && sg_compressor_state_bytes(constant, 0) == 0 && sg_compressor_note(constant) == 0 &&
           isnan(sg_compressor_budget(constant)),
       "a constant lambda keeps no state and no budget");
    sg_compressor_close(constant);
}

static void refused(double lambda, double budget, uint64_t steps, const char *what) {
    struct sg_error err = {.status = SG_OK};
    sg_compressor *c = opened(lambda, budget, steps, 0, &err);
    ok(c == NULL && strstr(err.msg, what), "refused: %s", err.msg);
    sg_compressor_close(c);
}

int main(void) {
    worlds();
    edges();
    compressors();
    refused(1, 0.1, 10, "one of them");
    refused(NAN, NAN, 10, "needs 'lambda' or 'budget'");
    refused(NAN, 0, 10, "must be above 0");
    refused(NAN, 0.1, 0, "needs the number of steps");
    refused(NAN, 3601, 10, "a budget of 3601 entries, where a worker can send at most 3600 (0.9 of all)");
    refused(NAN, 1, 10, "a budget of 4000 entries");
    refused(NAN, 1e-6, 1, "at most 0 (0 of all): the first of 1 steps sends nothing");
    return tap_done();
}
