/* Feedback rules against their publications' own pseudocode, in double precision: momentum correction with factor
 * masking, EF21, EF21-SGDM, EControl, the low-pass filter; sequences that were worked out by hand; the residual's
 * correction for a new learning rate; the table; what they refuse. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_case.h"
#include "method_private.h"
#include "sg_method.h"
#include "sg_rng.h"
#include "tap.h"

enum { D = 300, WORKERS = 3, STEPS = 50, K = 20 };

static const size_t offset[] = {0, 100, D};

static sg_method *opened(const struct sg_feedback *feedback, const struct sg_code *code, struct sg_error *err) {
    const double param[] = {K, NAN};
    return open_method((struct sg_method_config){.compressor = sg_compressor_find("topk"),
                                                 .param = param,
                                                 .layout = {2, offset, NULL, NULL},
                                                 .feedback = *feedback,
                                                 .code = code,
                                                 .count = WORKERS,
                                                 .exec = {.threads = 2}},
                       err);
}

static void draw(float *g, size_t worker, uint64_t t) {
    sg_rng r = sg_rng_open(4, SG_RNG_TEST, (uint32_t)worker, t);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)(cos((double)(i * (worker + 1))) + 0.5 * sg_rng_normal(&r));
}

/* What the publication says of worker w's step: from g and the worker's state to what is sent of p [D]. */
struct reference {
    double e[WORKERS][D], u[WORKERS][D], h[WORKERS][D], sum_h[D];
    double x[WORKERS][D]; /* what the residual has beside p - C(p) */
    uint64_t step;
};

/* A rule with its parameters, and what its publication says. */
struct rule_case {
    const char *name;
    double param[4];
    void (*form)(struct reference *r, size_t w, const float *g, double *p);
    bool estimates; /* is the optimizer given the sum of all h? */
    double share;   /* of p - C(p) that enters the residual */
};

/* DGC, algorithm 1 with momentum correction and factor masking: u <- m u + g; v <- v + u; send and clear both. */
static void momentum_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++) {
        r->u[w][i] = 0.8 * r->u[w][i] + (double)g[i];
        p[i] = r->e[w][i] + r->u[w][i];
    }
}

/* The authors' code with Nesterov's momentum: u <- m (u + g); v <- v + u + g; the gradient clipped to 3 / sqrt(P). */
static void nesterov_p(struct reference *r, size_t w, const float *g, double *p) {
    double norm = 0;
    for (size_t i = 0; i < D; i++)
        norm += (double)g[i] * (double)g[i];
    const double clip = fmin(1, 3 / sqrt(WORKERS) / sqrt(norm));
    for (size_t i = 0; i < D; i++) {
        const double x = clip * (double)g[i];
        r->u[w][i] = 0.8 * (r->u[w][i] + x);
        p[i] = r->e[w][i] + r->u[w][i] + x;
    }
}

/* EF21-SGDM: EF21 of v <- (1 - eta) v + eta g, from v = g on. */
static void sgdm_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++) {
        r->x[w][i] = r->step > 0 ? 0.75 * r->x[w][i] + 0.25 * (double)g[i] : (double)g[i];
        p[i] = r->x[w][i] - r->h[w][i];
    }
}

/* EControl: c = C(eta e + g - h); e <- e + g - h - c; h <- h + c. */
static void econtrol_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++) {
        p[i] = 0.3 * r->e[w][i] + (double)g[i] - r->h[w][i];
        r->x[w][i] = 0.7 * r->e[w][i];
    }
}

/* ScaleCom: e <- (1 - beta) e + beta (e + g - C(e + g)). */
static void low_pass_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++) {
        p[i] = r->e[w][i] + (double)g[i];
        r->x[w][i] = 0.8 * r->e[w][i];
    }
}

/* EF21: c = C(g - h); h <- h + c. */
static void ef21_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++)
        p[i] = (double)g[i] - r->h[w][i];
}

/* Plays the rule beside its definition. The message's positions are taken over; its values must be p there. */
static void test_rule(const struct rule_case *c, const struct sg_code *code) {
    static struct reference r;
    static float g[D], e[WORKERS][D], sum[D];
    struct sg_feedback feedback = {sg_feedback_find(c->name), 1, {0}};
    if (left_out(feedback.rule))
        return;
    memcpy(feedback.param, c->param, sizeof feedback.param);
    struct sg_error err = {.msg = ""};
    sg_method *m = opened(&feedback, code, &err);
    const struct sg_exec exec = {.threads = 1};
    const bool has_rest = c->form == econtrol_p || c->form == low_pass_p;
    double worst = 0, last = 0;
    bool fine = m != NULL;
    memset(&r, 0, sizeof r);
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; fine && t < STEPS; t++) {
        double want[D] = {0};
        struct sg_message message[WORKERS];
        sg_method_begin(m, t, 0.1, NULL);
        for (size_t w = 0; fine && w < WORKERS; w++) {
            double p[D];
            float value[D] = {0};
            draw(g, w, t);
            r.step = t;
            c->form(&r, w, g, p);
            fine = sg_method_send(m, w, 0, g, e[w], NULL, &message[w], &err) == SG_OK && message[w].count == 2 * K;
            sg_message_add(value, &message[w], 1, &exec);
            for (size_t i = 0, j = 0; fine && i < D; i++) {
                const bool sent = j < message[w].count && message[w].index[j] == i;
                const double now = sent ? (double)value[i] : 0; /* C(p), to its rounding */
                j += sent;
                worst = fmax(worst, code || !sent ? 0 : fabs(now - p[i]));
                want[i] += now;
                r.e[w][i] = c->share * (p[i] - now) + (has_rest ? r.x[w][i] : 0);
                r.u[w][i] = sent ? 0 : r.u[w][i];
                r.h[w][i] += now;
                worst = fmax(worst, fabs((double)e[w][i] - r.e[w][i]));
            }
        }
        for (size_t i = 0; i < D; i++)
            want[i] = c->estimates ? r.sum_h[i] += want[i] : want[i];
        memset(sum, 0, sizeof sum);
        sg_message_add_all(sum, D, message, WORKERS, sg_kernels_cpu(NULL), &exec);
        method_receive(m, 0, sum);
        method_end(m, sum, &(struct sg_spent){0});
        for (size_t i = 0; i < D; i++)
            worst = fmax(worst, fabs((double)sum[i] - want[i]));
        for (size_t i = 0; i < D; i++)
            last = fmax(last, fabs((double)sum[i]));
    }
    ok(fine && worst < 1e-3 && last != 0, "%s%s: as published, to rounding (off by %.2g)", c->name,
       code ? ", values in levels" : "", worst);
    sg_method_close(m);
}

static const struct rule_case cases[] = {
    {"dgc-momentum", {0.8, NAN, NAN, NAN}, momentum_p, false, 1},
    {"dgc", {0.8, NAN, NAN, NAN}, momentum_p, false, 1},
    {"dgc", {0.8, 1, 3, NAN}, nesterov_p, false, 1},
    {"ef21", {NAN, NAN, NAN, NAN}, ef21_p, true, 1},
    {"ef21-sgdm", {0.25, NAN, NAN, NAN}, sgdm_p, true, 1},
    {"econtrol", {0.3, NAN, NAN, NAN}, econtrol_p, true, 1},
    {"scalecom-lpf", {0.2, NAN, NAN, NAN}, low_pass_p, false, 0.2},
};

/* ---- sequences by hand: the gradient is (3, 2, 1) at every step, Top-1, one worker ---- */

enum { GOLDEN = 3, GOLDEN_STEPS = 4 };

struct golden {
    const char *name;
    double param[4];
    float sum[GOLDEN_STEPS][GOLDEN]; /* what the optimizer is given: what was sent, or the estimate */
    float e[GOLDEN_STEPS][GOLDEN];
};

static const struct golden golden[] = {
    {"gradient",
     {NAN, NAN, NAN, NAN},
     {{3, 0, 0}, {0, 4, 0}, {6, 0, 0}, {0, 4, 0}},
     {{0, 2, 1}, {3, 0, 2}, {0, 2, 3}, {3, 0, 4}}},
    {"ef21",
     {NAN, NAN, NAN, NAN},
     {{3, 0, 0}, {3, 2, 0}, {3, 2, 1}, {3, 2, 1}},
     {{0, 2, 1}, {0, 0, 1}, {0, 0, 0}, {0, 0, 0}}},
    {"econtrol",
     {1, NAN, NAN, NAN},
     {{3, 0, 0}, {3, 4, 0}, {3, 4, 3}, {3, 0, 3}},
     {{0, 2, 1}, {0, 0, 2}, {0, -2, 0}, {0, 0, -2}}},
    {"econtrol",
     {0.5, NAN, NAN, NAN},
     {{3, 0, 0}, {3, 3, 0}, {3, 3, 2}, {3, 2, 2}},
     {{0, 2, 1}, {0, 1, 2}, {0, 0, 1}, {0, 0, 0}}},
    {"dgc-momentum",
     {0.9, NAN, NAN, NAN},
     {{3, 0, 0}, {0, 5.8F, 0}, {8.7F, 0, 0}, {0, 0, 9.049F}},
     {{0, 2, 1}, {3, 0, 2.9F}, {0, 2, 5.61F}, {3, 5.8F, 0}}},
    {"dgc",
     {0.9, 1, NAN, NAN},
     {{5.7F, 0, 0}, {0, 9.22F, 0}, {13.83F, 0, 0}, {0, 0, 0}},
     {{0, 3.8F, 1.9F}, {5.7F, 0, 4.61F}, {0, 3.8F, 8.049F}, {0, 0, 0}}},
};

static void test_golden(void) {
    static const size_t whole[] = {0, GOLDEN};
    static const float g[GOLDEN] = {3, 2, 1};
    for (size_t c = 0; c < sizeof golden / sizeof *golden; c++) {
        const double param[] = {1, NAN};
        struct sg_feedback feedback = {sg_feedback_find(golden[c].name), 1, {0}};
        if (left_out(feedback.rule))
            continue;
        memcpy(feedback.param, golden[c].param, sizeof golden[c].param);
        sg_method *m = open_method((struct sg_method_config){.compressor = sg_compressor_find("topk"),
                                                             .param = param,
                                                             .layout = {1, whole, NULL, NULL},
                                                             .feedback = feedback},
                                   NULL);
        struct sg_error err;
        struct sg_message message;
        float e[GOLDEN] = {0};
        double worst = 0;
        bool fine = m != NULL;
        for (uint64_t t = 0; fine && t < GOLDEN_STEPS; t++) {
            float sum[GOLDEN] = {0};
            if (golden[c].param[1] > 0 && t == GOLDEN_STEPS - 1)
                break; /* three steps are given */
            sg_method_begin(m, t, 1, NULL);
            fine = sg_method_send(m, 0, 0, g, e, NULL, &message, &err) == SG_OK;
            sg_message_add(sum, &message, 1, &(struct sg_exec){.threads = 1});
            method_receive(m, 0, sum);
            method_end(m, sum, &(struct sg_spent){0});
            for (size_t i = 0; i < GOLDEN; i++)
                worst = fmax(worst, fmax(fabs((double)(sum[i] - golden[c].sum[t][i])),
                                         fabs((double)(e[i] - golden[c].e[t][i]))));
        }
        ok(fine && worst < 1e-5, "%s %g: the sequence worked out by hand (off by %.2g)", golden[c].name,
           golden[c].param[0], worst);
        sg_method_close(m);
    }
}

/* ---- a learning rate that changes ---- */

/* lr-correction with plain SGD is the feedback in updates, whatever the learning rate does. */
static void test_rate(void) {
    static float g[D], e[2][WORKERS][D], sum[2][D];
    static const double rate[] = {0.5, 0.5, 0.125, 1, 0.25, 0.25};
    const struct sg_exec exec = {.threads = 1};
    const struct sg_feedback rule[2] = {{&sg_feedback_update, 1, {0}}, {sg_feedback_find("lr-correction"), 1, {0}}};
    struct sg_error err;
    sg_method *m[2] = {opened(&rule[0], NULL, &err), opened(&rule[1], NULL, &err)};
    bool same = m[0] && m[1];
    for (uint64_t t = 0; same && t < sizeof rate / sizeof *rate; t++) {
        for (int k = 0; k < 2; k++) {
            struct sg_message message[WORKERS];
            sg_method_begin(m[k], t, rate[t], NULL);
            for (size_t w = 0; w < WORKERS; w++) {
                draw(g, w, t);
                same &= sg_method_send(m[k], w, 0, g, e[k][w], NULL, &message[w], &err) == SG_OK;
            }
            memset(sum[k], 0, sizeof sum[k]);
            sg_message_add_all(sum[k], D, message, WORKERS, sg_kernels_cpu(NULL), &exec);
            method_end(m[k], sum[k], &(struct sg_spent){0});
        }
        for (size_t i = 0; i < D; i++) /* the rates are powers of 2, so no rounding differs */
            same &= sum[0][i] == (float)rate[t] * sum[1][i] && e[0][1][i] == (float)rate[t] * e[1][1][i];
    }
    ok(same, "lr-correction: what waits keeps the learning rate of its own step, bit for bit");
    sg_method_close(m[0]);
    sg_method_close(m[1]);
}

/* A filter that lets everything through is the common feedback. */
static void test_low_pass_of_one(void) {
    static float g[D], e[2][D];
    const struct sg_feedback rule[2] = {{&sg_feedback_gradient, 1, {0}}, {sg_feedback_find("scalecom-lpf"), 1, {1}}};
    struct sg_error err;
    sg_method *m[2] = {opened(&rule[0], NULL, &err), opened(&rule[1], NULL, &err)};
    bool same = m[0] && m[1];
    for (uint64_t t = 0; same && t < STEPS; t++) {
        struct sg_message message;
        draw(g, 0, t);
        for (int k = 0; k < 2; k++) {
            sg_method_begin(m[k], t, 1, NULL);
            same &= sg_method_send(m[k], 0, 0, g, e[k], NULL, &message, &err) == SG_OK;
        }
        same &= memcmp(e[0], e[1], sizeof e[0]) == 0;
    }
    ok(same, "scalecom-lpf with beta 1: the common feedback, bit for bit");
    sg_method_close(m[0]);
    sg_method_close(m[1]);
}

/* Workers that decide by how far they came do not decide by a number that is none. */
static void test_nothing_to_decide_by(void) {
    static float g[D], e[D];
    const struct sg_feedback rule = {sg_feedback_find("dynamic-averaging"), 1, {0}};
    struct sg_error err = {.msg = ""};
    struct sg_message message;
    sg_method *m = opened(&rule, NULL, &err);
    g[offset[1] + 7] = NAN;
    if (m)
        sg_method_begin(m, 3, 1, NULL);
    ok(m && !sg_method_sends(m) && sg_method_send(m, 1, 0, g, e, NULL, &message, &err) == SG_ERR_NONFINITE &&
           strstr(err.msg, "worker 1, step 3, layer 1"),
       "dynamic-averaging: %s", err.msg);
    sg_method_close(m);
}

int main(void) {
    struct sg_error err = {.msg = ""};
    for (size_t i = 0; sg_feedback_at(i); i++)
        ok(sg_feedback_find(sg_feedback_at(i)->name) == sg_feedback_at(i), "%s is found by its name",
           sg_feedback_at(i)->name);
    ok(!sg_feedback_find("no such") && !sg_feedback_at(99), "no other rules");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_rule(&cases[i], NULL);
        test_rule(&cases[i], &sg_code_levels);
    }
    test_golden();
    test_rate();
    if (!no_zoo())
        test_low_pass_of_one();
    test_nothing_to_decide_by();
    const struct sg_feedback wrong = {sg_feedback_find("dgc-momentum"), 1, {1.5, NAN, NAN, NAN}};
    ok(!opened(&wrong, NULL, &err) && strstr(err.msg, "'momentum' = 1.5"), "refused: %s", err.msg);
    return tap_done();
}
