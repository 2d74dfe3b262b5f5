/* Compressors of several rounds through the method, as a trainer plays it: nothing is lost between workers, their
 * residuals and the sum; PowerSGD finds a matrix of its rank exactly, goes on from where it was, and never gets stuck;
 * same bits for any split of the workers over ranks and any threads, and after a checkpoint. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_case.h"
#include "sg_rng.h"
#include "tap.h"

enum { WORKERS = 4, LAYERS = 5, N = 40 * 30, TINY = 4, D = N + 50 + TINY + 600 };

static const size_t offset[LAYERS + 1] = {0, N, N + 50, N + 50, N + 50 + TINY, D};
static const size_t rows[LAYERS] = {40, 1, 1, 2, 20}; /* a matrix, a vector, nothing, one too small, a matrix */

struct run {
    const char *compressor;
    const struct sg_feedback_rule *rule;
    double rank, local;
    const struct sg_controller_ops *controller;
    const double *controller_param;
};

static sg_method *open_part(const void *of, size_t first, size_t count, int threads) {
    const struct run *run = of;
    const struct sg_compressor_ops *ops = sg_compressor_find(run->compressor);
    double param[8] = {run->rank, NAN, run->local};
    for (size_t i = 0; i < ops->n_params && strcmp(run->compressor, "powersgd") != 0; i++)
        param[i] = strcmp(ops->params[i].name, "k") == 0 ? 9 : ops->params[i].preset;
    return open_method((struct sg_method_config){.compressor = ops,
                                                 .param = param,
                                                 .controller = run->controller,
                                                 .controller_param = run->controller_param,
                                                 .layout = {LAYERS, offset, NULL, rows},
                                                 .feedback = {run->rule, 1, {NAN, NAN, NAN, NAN}},
                                                 .seed = 9,
                                                 .workers = WORKERS,
                                                 .first = first,
                                                 .count = count,
                                                 .exec = {.threads = threads}},
                       NULL);
}

/* Gradients that share a part, as those of workers do; layer 0 has rank `rank` if that is not 0. */
static void draw(float *g, size_t worker, uint64_t step, size_t rank) {
    sg_rng own = sg_rng_open(3, SG_RNG_TEST, (uint32_t)worker, step), common = sg_rng_open(3, SG_RNG_TEST, 1000, 0);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)(sg_rng_normal(&common) + 0.3 * sg_rng_normal(&own));
    for (size_t i = 0; i < N && rank > 0; i++) {
        g[i] = 0;
        for (size_t k = 0; k < rank; k++)
            g[i] += sinf((float)(i / 30 + 1) * (float)(k + 1)) * cosf((float)(i % 30 + k * worker));
    }
}

static bool step(sg_method **part, size_t parts, uint64_t t, float (*g)[D], float (*e)[D], float *sum, double *bits) {
    return sg_verify_step(part, parts, t, t % 3 ? 0.1 : 0.2, *g, e ? *e : NULL, D, sum, bits);
}

static float g[WORKERS][D], e[WORKERS][D], sum[D];

static double square_of(const float *x, size_t n) {
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)x[i] * (double)x[i];
    return s;
}

static void test_nothing_is_lost(double local) {
    const struct run run = {"powersgd", &sg_feedback_gradient, 2, local, NULL, NULL};
    sg_method *m = open_part(&run, 0, WORKERS, 1);
    bool fine = m != NULL, late = fine && sg_method_keeps_late(m);
    double worst = 0, most = 0, bits = 0;
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; fine && t < 40; t++) {
        static double before[D];
        memset(before, 0, sizeof before);
        for (size_t w = 0; w < WORKERS; w++) {
            draw(g[w], w, t, 0);
            for (size_t i = 0; i < D; i++)
                before[i] += (double)(e[w][i] + g[w][i]);
        }
        fine = step(&m, 1, t, g, e, sum, &bits);
        for (size_t i = 0; i < D; i++) {
            double after = (double)sum[i];
            for (size_t w = 0; w < WORKERS; w++)
                after += (double)e[w][i];
            worst = fmax(worst, fabs(after - before[i]));
        }
        most = fmax(most, square_of(e[0], D));
    }
    ok(fine && late && worst < 1e-3, "local %g: sum + residuals = all p (off by %.2g at most)", local, worst);
    ok(most > 1 && most < 400 * square_of(g[0], D), "local %g: the residual stays bounded (%.3g)", local, most);
    ok(bits == WORKERS * 32.0 * (2 * (40 + 30) + 50 + TINY + 2 * (20 + 30)), "local %g: bits (%.0f)", local, bits);
    bool whole = true;
    for (size_t i = N; i < N + 50 + TINY; i++)
        whole &= e[0][i] == 0;
    ok(whole, "local %g: a vector and a matrix too small are sent as they are", local);
    sg_method_close(m);
}

static void test_rank(void) {
    const struct run run = {"powersgd", &sg_feedback_none, 2, 0, NULL, NULL};
    sg_method *m = open_part(&run, 0, WORKERS, 1);
    double bits;
    bool fine = m != NULL;
    for (size_t w = 0; w < WORKERS; w++)
        draw(g[w], 0, 0, 2); /* the sum is of rank 2 too */
    double off = INFINITY, first = INFINITY;
    for (uint64_t t = 0; fine && t < 30; t++) {
        fine = step(&m, 1, t, g, NULL, sum, &bits);
        float lost[D];
        for (size_t i = 0; i < D; i++)
            lost[i] = sum[i] - WORKERS * g[0][i];
        off = sqrt(square_of(lost, N) / square_of(g[0], N)) / WORKERS;
        first = t == 0 ? off : first;
        if (t == 0) /* layer 4 is of full rank: its best of rank 2 is what the iteration comes to */
            first = square_of(lost + N + 50 + TINY, 600);
        else if (t == 29)
            ok(square_of(lost + N + 50 + TINY, 600) < first, "a warm start comes nearer to the best of the rank");
    }
    ok(fine && off < 1e-6, "a sum of rank 2 is found exactly (off by %.2g)", off);
    /* A layer without gradients for some steps */
    memset(g, 0, sizeof g);
    for (uint64_t t = 30; fine && t < 33; t++)
        fine = step(&m, 1, t, g, NULL, sum, &bits) && square_of(sum, D) == 0;
    for (size_t w = 0; w < WORKERS; w++)
        draw(g[w], 0, 0, 2);
    fine = fine && step(&m, 1, 33, g, NULL, sum, &bits);
    ok(fine && square_of(sum, N) > square_of(g[0], N), "gradients of 0 send 0, and no column gets stuck there");
    sg_method_close(m);
}

static void draw_all(uint64_t t) {
    for (size_t w = 0; w < WORKERS; w++)
        draw(g[w], w, t, 0);
}

static void test_splits(const char *compressor, const struct sg_feedback_rule *rule,
                        const struct sg_controller_ops *controller, double local) {
    const double high[8] = {1, 4, 0.5, 2, 0};
    const struct run run = {compressor, rule, 2, local, controller, high};
    const bool mean = strcmp(compressor, "demo") == 0 && rule->in_updates;
    if (mean || rule->resets) {
        sg_method *m = open_part(&run, 0, WORKERS, 1);
        ok(m == NULL, "%s, %s: refused, for %s", compressor, rule->name,
           mean ? "its mean over senders is not in updates" : "residuals cannot be sent in rounds");
        sg_method_close(m);
        return;
    }
    const struct split split = {.open = open_part,
                                .of = &run,
                                .count = (const size_t[]){1, 2, 1},
                                .parts = 3,
                                .d = D,
                                .steps = 12,
                                .saved = 5,
                                .gamma = 0.1,
                                .keeps = rule->keeps};
    ok(splits(&split, *g, draw_all),
       "%s, %s%s, local %g: the same bits by one rank and by three, with 1 and 3 threads, after a checkpoint",
       compressor, rule->name, controller ? ", accordion on the rank" : "", local);
}

/* Of P and Q a step leaves Q of the two matrices, whose rows are 30 long, to the next one. */
static void test_kept(void) {
    const struct run run = {"powersgd", &sg_feedback_gradient, 2, 0, NULL, NULL};
    sg_method *m = open_part(&run, 0, WORKERS, 1);
    const size_t bytes = m ? sg_method_common_bytes(m) : 0;
    ok(bytes == (size_t)2 * (30 + 30) * sizeof(float), "powersgd keeps %zu bytes of a model of %d numbers", bytes, D);
    sg_method_close(m);
}

static void test_refusals(void) {
    static const size_t wrong[LAYERS] = {41, 1, 1, 2, 20};
    const double param[] = {2, NAN, NAN, NAN}, high[] = {30, NAN, NAN, NAN};
    struct sg_error err = {.msg = ""};
    sg_method *m;
    struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                      .compressor = sg_compressor_find("powersgd"),
                                      .param = param,
                                      .layout = {LAYERS, offset, NULL, NULL},
                                      .feedback = {&sg_feedback_none, 1, {0}},
                                      .count = 1,
                                      .exec = {.threads = 1}};
    ok(sg_method_open(&m, &config, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "no layer is a matrix"), "refused: %s",
       err.msg);
    config.layout.rows = wrong;
    ok(sg_method_open(&m, &config, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "41 rows"), "refused: %s", err.msg);
    config.layout.rows = rows;
    config.param = high;
    ok(sg_method_open(&m, &config, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "smaller"), "refused: %s", err.msg);
    config.param = param;
    config.code = &sg_code_fp16;
    ok(sg_method_open(&m, &config, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "'fp16'"), "refused: %s", err.msg);
    config.code = NULL;
    ok(sg_method_open(&m, &config, &err) == SG_OK, "and without these it opens");
    static float bad[D];
    struct sg_message out;
    bad[N + 20] = NAN;
    sg_method_begin(m, 3, 0.1, NULL);
    ok(sg_method_send(m, 0, 0, bad, NULL, NULL, &out, &err) == SG_ERR_NONFINITE && strstr(err.msg, "layer 1"),
       "a gradient that is not finite: %s", err.msg);
    sg_method_close(m);
}

int main(void) {
    test_nothing_is_lost(0);
    test_nothing_is_lost(1);
    test_rank();
    for (size_t i = 0; sg_feedback_at(i); i++)
        for (size_t j = 0; sg_compressor_at(j); j++)
            if (sg_compressor_at(j)->rounds)
                test_splits(sg_compressor_at(j)->name, sg_feedback_at(i), NULL, (double)(i % 2));
    test_splits("powersgd", &sg_feedback_gradient, sg_controller_find("accordion"), 0);
    test_kept();
    test_refusals();
    return tap_done();
}
