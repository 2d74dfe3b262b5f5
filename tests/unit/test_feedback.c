/* Feedback rules against their publications' own pseudocode, in double precision: momentum correction with factor
 * masking, EF21; the table; what they refuse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_method.h"
#include "sg_rng.h"
#include "tap.h"

enum { D = 300, WORKERS = 3, STEPS = 50, K = 20 };

static const size_t offset[] = {0, 100, D};

static sg_method *opened(const struct sg_feedback *feedback, const struct sg_code *code, struct sg_error *err) {
    const double param[] = {K, NAN};
    const struct sg_method_config config = {.compressor = sg_compressor_find("topk"),
                                            .param = param,
                                            .layout = {2, offset, NULL, NULL},
                                            .feedback = *feedback,
                                            .code = code,
                                            .count = WORKERS,
                                            .exec = {.threads = 2}};
    sg_method *m = NULL;
    err->status = sg_method_open(&m, &config, err);
    return m;
}

static void draw(float *g, size_t worker, uint64_t t) {
    sg_rng r = sg_rng_open(4, SG_RNG_TEST, (uint32_t)worker, t);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)(cos((double)(i * (worker + 1))) + 0.5 * sg_rng_normal(&r));
}

/* What the publication says of worker w's step: from g and the worker's state to what is sent of p [D]. */
struct reference {
    double e[WORKERS][D], u[WORKERS][D], h[WORKERS][D], sum_h[D];
};

/* DGC, algorithm 1 with momentum correction and factor masking: u <- m u + g; v <- v + u; send and clear both. */
static void momentum_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++) {
        r->u[w][i] = 0.8 * r->u[w][i] + (double)g[i];
        p[i] = r->e[w][i] + r->u[w][i];
    }
}

/* EF21: c = C(g - h); h <- h + c. */
static void ef21_p(struct reference *r, size_t w, const float *g, double *p) {
    for (size_t i = 0; i < D; i++)
        p[i] = (double)g[i] - r->h[w][i];
}

/* Plays the rule beside its definition. The message's positions are taken over; its values must be p there. */
static void test_rule(const char *name, double parameter, const struct sg_code *code,
                      void (*form)(struct reference *r, size_t w, const float *g, double *p)) {
    static struct reference r;
    static float g[D], e[WORKERS][D], sum[D];
    const struct sg_feedback feedback = {sg_feedback_find(name), 1, {parameter, NAN, NAN, NAN}};
    struct sg_error err = {.msg = ""};
    sg_method *m = opened(&feedback, code, &err);
    const struct sg_exec exec = {.threads = 1};
    const bool is_ef21 = form == ef21_p;
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
            form(&r, w, g, p);
            fine = sg_method_send(m, w, 0, g, e[w], NULL, &message[w], &err) == SG_OK && message[w].count == 2 * K;
            sg_message_add(value, &message[w], 1, &exec);
            for (size_t i = 0, j = 0; fine && i < D; i++) {
                const bool sent = j < message[w].count && message[w].index[j] == i;
                const double now = sent ? (double)value[i] : 0; /* C(p), to its rounding */
                j += sent;
                worst = fmax(worst, code || !sent ? 0 : fabs(now - p[i]));
                want[i] += now;
                r.e[w][i] = p[i] - now;
                r.u[w][i] = sent ? 0 : r.u[w][i];
                r.h[w][i] += now;
                worst = fmax(worst, fabs((double)e[w][i] - r.e[w][i]));
            }
        }
        for (size_t i = 0; i < D; i++)
            want[i] = is_ef21 ? r.sum_h[i] += want[i] : want[i];
        memset(sum, 0, sizeof sum);
        sg_message_add_all(sum, D, message, WORKERS, sg_kernels_cpu(NULL), &exec);
        sg_method_receive(m, 0, sum);
        sg_method_end(m, sum, 0, 0);
        for (size_t i = 0; i < D; i++)
            worst = fmax(worst, fabs((double)sum[i] - want[i]));
        for (size_t i = 0; i < D; i++)
            last = fmax(last, fabs((double)sum[i]));
    }
    ok(fine && worst < 1e-3 && last != 0, "%s%s: as published, to rounding (off by %.2g)", name,
       code ? ", values in levels" : "", worst);
    sg_method_close(m);
}

int main(void) {
    struct sg_error err = {.msg = ""};
    for (size_t i = 0; sg_feedback_at(i); i++)
        ok(sg_feedback_find(sg_feedback_at(i)->name) == sg_feedback_at(i), "%s is found by its name",
           sg_feedback_at(i)->name);
    ok(!sg_feedback_find("no such") && !sg_feedback_at(99), "no other rules");
    test_rule("dgc-momentum", 0.8, NULL, momentum_p);
    test_rule("dgc-momentum", 0.8, &sg_code_levels, momentum_p);
    test_rule("ef21", NAN, NULL, ef21_p);
    test_rule("ef21", NAN, &sg_code_levels, ef21_p);
    const struct sg_feedback wrong = {sg_feedback_find("dgc-momentum"), 1, {1.5, NAN, NAN, NAN}};
    ok(!opened(&wrong, NULL, &err) && strstr(err.msg, "'momentum' = 1.5"), "refused: %s", err.msg);
    return tap_done();
}
