/* Workers with parameters of their own in the trainer, on the spy task: where gradients are taken, what all workers
 * share, what is evaluated, what is recorded, and checkpoints; against plain loops in double precision. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spy_run.h"

/* The entry of largest magnitude of a layer moves from p to sent. */
static void top1_of_layer(int l, double *p, double *sent) {
    size_t best = three_layers[l];
    for (size_t j = best + 1; j < three_layers[l + 1]; j++)
        best = fabs(p[j]) > fabs(p[best]) ? j : best;
    sent[best] += p[best];
    p[best] = 0;
}

static void top1_of_layers(double *p, double *sent) {
    for (int l = 0; l < 3; l++)
        top1_of_layer(l, p, sent);
}

/* What a rule makes of 40 steps: x of all, worker 0's own x, the mean of the squared residuals, bits a worker. */
struct by_hand {
    double x[MOST + 1][D], own[MOST + 1][D], error[MOST + 1], bits[MOST + 1];
};

static void begin_by_hand(struct by_hand *r) {
    memset(r, 0, sizeof *r);
    for (int j = 0; j < D; j++)
        r->x[0][j] = j - 5;
}

/* own <- the worker's parameters, x less its way, and g <- its gradient there. */
static void gradient_at_own(struct by_hand *r, uint32_t t, size_t w, const double *way, double *own, float *g) {
    for (int j = 0; j < D; j++)
        own[j] = r->x[t][j] - way[j];
    if (w == 0)
        memcpy(r->own[t], own, sizeof r->own[t]);
    valley(g, w, t, own);
}

/* CSER with Top-1 of each layer, and at resets all of e (k >= 5) or Top-1 of it. */
static void cser_by_hand(struct by_hand *r, uint64_t interval, bool all, double momentum) {
    static double e[WORKERS][D], u[WORKERS][D];
    memset(e, 0, sizeof e);
    memset(u, 0, sizeof u);
    begin_by_hand(r);
    for (uint32_t t = 0; t < 40; t++) {
        const bool resets = (t + 1) % interval == 0;
        double sent[D] = {0};
        for (size_t w = 0; w < WORKERS; w++) {
            double own[D], p[D];
            float g[D];
            gradient_at_own(r, t, w, e[w], own, g);
            for (int j = 0; j < D; j++)
                p[j] = GAMMA * (u[w][j] = momentum * u[w][j] + (double)g[j]);
            top1_of_layers(p, sent);
            for (int j = 0; j < D; j++)
                e[w][j] += p[j];
            if (resets && !all)
                top1_of_layers(e[w], sent);
            for (int j = 0; j < D; j++) {
                sent[j] += resets && all ? e[w][j] : 0;
                e[w][j] = resets && all ? 0 : e[w][j];
                r->error[t + 1] += e[w][j] * e[w][j] / WORKERS;
            }
        }
        r->bits[t + 1] = r->bits[t] + 64 * 3 + (resets ? 64 * (all ? D : 3) : 0);
        for (int j = 0; j < D; j++)
            r->x[t + 1][j] = r->x[t][j] - sent[j] / WORKERS;
    }
}

/* Local steps: Top-1 of each layer goes at every `steps`-th step, or, if steps = 0, where the workers' ways are longer
 * than the threshold, which costs 32 bits at every step. */
static void local_by_hand(struct by_hand *r, uint64_t steps, double threshold) {
    static double e[WORKERS][D], way[WORKERS][D];
    memset(e, 0, sizeof e);
    memset(way, 0, sizeof way);
    begin_by_hand(r);
    for (uint32_t t = 0; t < 40; t++) {
        double sent[D] = {0}, square = 0;
        for (size_t w = 0; w < WORKERS; w++) {
            double own[D];
            float g[D];
            gradient_at_own(r, t, w, way[w], own, g);
            for (int j = 0; j < D; j++) {
                way[w][j] += GAMMA * (double)g[j];
                square += way[w][j] * way[w][j] / WORKERS;
            }
        }
        const bool sends = steps > 0 ? (t + 1) % steps == 0 : square > threshold * threshold;
        for (size_t w = 0; w < WORKERS; w++) {
            for (int j = 0; j < D; j++) {
                e[w][j] += sends ? way[w][j] : 0;
                way[w][j] = sends ? 0 : way[w][j];
            }
            if (sends)
                top1_of_layers(e[w], sent);
            for (int j = 0; j < D; j++)
                r->error[t + 1] += e[w][j] * e[w][j] / WORKERS;
        }
        r->bits[t + 1] = r->bits[t] + (sends ? 64 * 3 : 0) + (steps > 0 ? 0 : 32);
        for (int j = 0; j < D; j++)
            r->x[t + 1][j] = r->x[t][j] - sent[j] / WORKERS;
    }
}

/* DiLoCo: the workers' own steps are AdamW's, and x moves by Nesterov's momentum, as PyTorch has both. Top-1 of each
 * layer goes at every third step. The second half of the run has another inner learning rate. */
static const char adamw[] = "optimizer={kind: adamw, learning-rate: 0.25, beta1: 0.5, beta2: 0.75, epsilon: 0.125, "
                            "weight-decay: 0.25, decay-at: [2], decay-factor: 0.5}";

/* Streaming DiLoCo: a fragment sends at steps of its own, and moves x `delay` steps later. of_layer: the fragment of
 * each layer. */
struct stream {
    uint32_t steps, fragments, delay;
    double mixing;
    uint32_t of_layer[3];
};

static uint32_t fragment_at(const struct stream *s, uint32_t t) {
    uint32_t p = 0;
    while (p < s->fragments && p * s->steps / s->fragments != (t + 1) % s->steps)
        p++;
    return p;
}

/* A worker's step by AdamW from its own parameters. */
static void adamw_by_hand(double *way, double *m, double *v, const double *own, const float *g, uint32_t t) {
    const double rate = t >= 2 * EPOCH ? 0.125 : 0.25;
    for (int j = 0; j < D; j++) {
        m[j] = 0.5 * m[j] + 0.5 * (double)g[j];
        v[j] = 0.75 * v[j] + 0.25 * (double)g[j] * (double)g[j];
        const double mean = m[j] / (1 - pow(0.5, t + 1)), square = v[j] / (1 - pow(0.75, t + 1));
        way[j] += rate * (mean / (sqrt(square) + 0.125) + 0.25 * own[j]);
    }
}

static void diloco_by_hand(struct by_hand *r, const struct stream *s) {
    static double e[WORKERS][D], way[WORKERS][D], m[WORKERS][D], v[WORKERS][D];
    double outer[D] = {0}, sent[D];
    memset(e, 0, sizeof e);
    memset(way, 0, sizeof way);
    memset(m, 0, sizeof m);
    memset(v, 0, sizeof v);
    begin_by_hand(r);
    for (uint32_t t = 0; t < 40; t++) {
        const uint32_t sends = fragment_at(s, t), moves = t >= s->delay ? fragment_at(s, t - s->delay) : s->fragments;
        memcpy(r->x[t + 1], r->x[t], sizeof r->x[t]);
        r->bits[t + 1] = r->bits[t];
        for (size_t w = 0; w < WORKERS; w++) {
            double own[D];
            float g[D];
            gradient_at_own(r, t, w, way[w], own, g);
            adamw_by_hand(way[w], m[w], v[w], own, g, t);
        }
        for (int l = 0; l < 3; l++) {
            for (size_t j = three_layers[l]; j < three_layers[l + 1] && s->of_layer[l] == sends; j++) {
                sent[j] = 0;
                for (size_t w = 0; w < WORKERS; w++)
                    e[w][j] = 0.5 * e[w][j] + way[w][j];
            }
            for (size_t w = 0; w < WORKERS && s->of_layer[l] == sends; w++)
                top1_of_layer(l, e[w], sent);
            r->bits[t + 1] += s->of_layer[l] == sends ? 64 : 0;
            for (size_t j = three_layers[l]; j < three_layers[l + 1] && s->of_layer[l] == moves; j++) {
                outer[j] = 0.75 * outer[j] + sent[j] / WORKERS;
                const double step = 0.5 * (sent[j] / WORKERS + 0.75 * outer[j]);
                r->x[t + 1][j] -= step;
                for (size_t w = 0; w < WORKERS; w++)
                    way[w][j] = s->mixing * (way[w][j] - step);
            }
        }
        for (size_t w = 0; w < WORKERS; w++)
            for (int j = 0; j < D; j++)
                r->error[t + 1] += e[w][j] * e[w][j] / WORKERS;
    }
}

/* Roundings to float: at most 10 a step, of numbers below 2^5, which the valley damps. */
static const double BOUND = 40 * 10 * 32 * 0x1p-24;

static void test_run(const char *form, const char *optimizer, const struct by_hand *r) {
    double gap = 0, apart_by = 0;
    char set[160];
    snprintf(set, sizeof set, "error-feedback={form: %s}", form);
    in_valley();
    struct sg_run run = whole("Top-k", SET(set, optimizer));
    const double *error = sg_run_series(&run, "error_norm"), *bits = sg_run_series(&run, "bits"),
                 *bytes = sg_run_series(&run, "bytes_sent"), *first = sg_run_series(&run, "suboptimality");
    size_t wrong = run.n_points != 41;
    for (size_t t = 0; t <= 40; t++) {
        for (int j = 0; j < D && t < 40; j++) {
            gap = fmax(gap, fabs(r->own[t][j] - spy.x[t][j]));
            apart_by = fmax(apart_by, fabs(r->own[t][j] - r->x[t][j]));
        }
        gap = fmax(gap, fabs(r->x[t][0] - first[t]));
        gap = fmax(gap, fabs(r->error[t] - error[t]) / 64);
        wrong += bits[t] != r->bits[t] || (t > 0 && (bytes[t] > bytes[t - 1]) != (bits[t] > bits[t - 1]));
    }
    for (int j = 0; j < D; j++)
        gap = fmax(gap, fabs(r->x[40][j] - spy.x[40][j]));
    ok(wrong == 0 && gap <= BOUND && apart_by > 0.1,
       "%s: gradients at a worker's own x, evaluation at what all share, as by hand: %g apart", form, gap);
    sg_run_free(&run);
}

/* Of one worker nothing is lost: its own x goes the way of plain SGD, whatever it sends. */
static void test_one_worker(const char *form) {
    double x[MOST][D], gap = 0;
    char set[128];
    snprintf(set, sizeof set, "error-feedback={form: %s}", form);
    in_valley();
    struct sg_run sgd = whole("SGD", SET("workers=1")), run;
    memcpy(x, spy.x, sizeof x);
    in_valley();
    run = whole("Top-k", SET("workers=1", set));
    for (int t = 0; t < 40; t++)
        for (int j = 0; j < D; j++)
            gap = fmax(gap, fabs(x[t][j] - spy.x[t][j]));
    ok(gap <= BOUND, "%s: one worker's own x goes the way of SGD: %g apart", form, gap);
    sg_run_free(&sgd);
    sg_run_free(&run);
}

/* One fragment that moves x at once and is taken over is DiLoCo, as a recipe without these keys has it. */
static void test_plain_stream(void) {
    in_valley();
    struct sg_run plain = whole("Top-k", SET("error-feedback={form: diloco, steps: 3}", adamw));
    in_valley();
    struct sg_run stream = whole("Top-k", SET("error-feedback={form: diloco, steps: 3, fragments: 1, delay: 0, mixing: "
                                              "0, strided: 0}",
                                              adamw));
    ok(same_points(&plain, &stream), "one fragment without delay and mixing is diloco");
    sg_run_free(&plain);
    sg_run_free(&stream);
}

/* A local step before every message is Algorithm 1, and one that sends everything is local SGD: nothing waits. */
static void test_special_cases(void) {
    in_valley();
    struct sg_run update = whole("Top-k", NULL);
    in_valley();
    struct sg_run local = whole("Top-k", SET("error-feedback={form: local-steps, steps: 1}"));
    ok(same_points(&update, &local), "local-steps with steps 1 is update");
    sg_run_free(&local);
    in_valley();
    local = whole("Top-k", SET("error-feedback={form: diloco, steps: 1, outer: {learning-rate: 1}}"));
    ok(same_points(&update, &local), "diloco with steps 1 and an outer step along the mean is update");
    sg_run_free(&local);
    test_plain_stream();
    in_valley();
    local = whole("Top-k", SET("error-feedback=dynamic-averaging"));
    const double *own = sg_run_series(&local, "bits"), *plain = sg_run_series(&update, "bits");
    bool more = local.n_points == update.n_points;
    for (size_t t = 0; more && t < local.n_points; t++)
        more = own[t] == plain[t] + 32 * (double)t &&
               sg_run_series(&local, "suboptimality")[t] == sg_run_series(&update, "suboptimality")[t];
    ok(more, "dynamic-averaging with a threshold of 0 is update, and a float a step");
    sg_run_free(&update);
    sg_run_free(&local);
    in_valley();
    local = whole("SGD", SET("error-feedback={form: local-steps, steps: 4}"));
    const double *error = sg_run_series(&local, "error_norm"), *bits = sg_run_series(&local, "bits");
    size_t wrong = local.n_points != 41;
    for (size_t t = 0; t < local.n_points; t++)
        wrong += error[t] != 0 || bits[t] != (double)(32 * D * (t / 4));
    ok(wrong == 0, "local SGD sends everything at every fourth step");
    sg_run_free(&local);
}

#define OUTER "outer: {kind: nesterov, learning-rate: 0.5, momentum: 0.75}"

int main(void) {
    static struct by_hand r;
    temporary_make();
    unsetenv("OMPI_COMM_WORLD_SIZE");
    cser_by_hand(&r, 4, true, 0);
    test_run("cser, interval: 4, reset: 12", NULL, &r);
    cser_by_hand(&r, 3, false, 0.5);
    test_run("cser, interval: 3, momentum: 0.5", NULL, &r);
    local_by_hand(&r, 3, 0);
    test_run("local-steps, steps: 3", NULL, &r);
    local_by_hand(&r, 0, 3);
    const double sent = (r.bits[40] - 40 * 32) / (64 * 3);
    ok(sent >= 4 && sent <= 30, "a threshold that is exceeded at %g of 40 steps", sent);
    test_run("dynamic-averaging, threshold: 3", NULL, &r);
    diloco_by_hand(&r, &(struct stream){3, 1, 0, 0, {0}});
    test_run("diloco, steps: 3, decay: 0.5, " OUTER, adamw, &r);
    diloco_by_hand(&r, &(struct stream){6, 1, 4, 0.25, {0}});
    test_run("diloco, steps: 6, delay: 4, mixing: 0.25, decay: 0.5, " OUTER, adamw, &r);
    diloco_by_hand(&r, &(struct stream){6, 2, 0, 0, {0, 1, 0}});
    test_run("diloco, steps: 6, fragments: 2, decay: 0.5, " OUTER, adamw, &r);
    diloco_by_hand(&r, &(struct stream){6, 2, 0, 0, {0, 0, 1}});
    test_run("diloco, steps: 6, fragments: 2, strided: 0, decay: 0.5, " OUTER, adamw, &r);
    diloco_by_hand(&r, &(struct stream){7, 3, 2, 0.5, {0, 1, 2}});
    test_run("diloco, steps: 7, fragments: 3, delay: 2, mixing: 0.5, decay: 0.5, " OUTER, adamw, &r);
    test_one_worker("cser, interval: 5, reset: 2");
    test_special_cases();
    test_resume("Top-k", SET("error-feedback={form: local-steps, steps: 3}"), in_valley);
    test_resume("Top-k", SET("error-feedback={form: dynamic-averaging, threshold: 3}"), in_valley);
    test_resume("Top-k", SET("error-feedback={form: diloco, steps: 3}", adamw), in_valley);
    test_resume("Top-k", SET("error-feedback={form: diloco, steps: 6, fragments: 3, delay: 4, mixing: 0.5}", adamw),
                in_valley);
    test_resume("Top-k",
                SET("error-feedback={form: dynamic-averaging, threshold: 3, outer: {kind: adam, learning-rate: 0.1}}",
                    "optimizer={learning-rate: 0.25, momentum: 0.5, weight-decay: 0.125}"),
                in_valley);
    test_resume("Top-k",
                SET("error-feedback={form: local-steps, steps: 3, outer: {kind: adam, learning-rate: 0.1}}", adamw,
                    "participation=0.5", "record.series=[loss, bits]"),
                in_valley);
    test_resume("Top-k", SET("error-feedback={form: cser, interval: 4, reset: 2, momentum: 0.5}"), in_valley);
    return tap_done();
}
