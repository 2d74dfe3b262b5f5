/* deviation_measure.c: what a setting of a compressor loses, on a gradient that is the same everywhere: in single
 * steps, each with an empty residual, and of all that came in over a sequence of steps with residuals.
 *
 * The gradient has a matrix of 48 x 80 with heavy tails around two outer products that all workers share, one of 40 x
 * 25 that is smaller and normal, and a vector of 100 numbers below 0. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deviations.h"
#include "released.h"
#include "sg_drive.h"
#include "sg_flat.h"
#include "sg_rng.h"

enum { LARGE = 48 * 80, SMALL = 40 * 25, VECTOR = 100, D = LARGE + SMALL + VECTOR, LAYERS = 3, WORKERS = 4 };
enum { SEQUENCE = 100 }; /* steps */

static const size_t offset[LAYERS + 1] = {0, LARGE, LARGE + SMALL, D}, rows[LAYERS] = {48, 40, 1};

struct example {
    float g[WORKERS][D], e[WORKERS][D], sum[D];
    double p[D];               /* the mean of g */
    double mean[D];            /* the sum over steps of C - p */
    double all[D], arrived[D]; /* the sums over the steps of a sequence and over workers */
    struct sg_method_config config;
    double numbers[SG_TEXT_NUMBERS]; /* those of the configuration */
};

/* The gradients of other steps share the outer products. */
static void draw(float *g, uint32_t worker, uint64_t step) {
    sg_rng own = sg_rng_open(1, SG_RNG_TEST, worker, step), common = sg_rng_open(1, SG_RNG_TEST, WORKERS, 0);
    double left[2][48], right[2][80];
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 48; i++)
            left[k][i] = sg_rng_normal(&common);
        for (size_t j = 0; j < 80; j++)
            right[k][j] = sg_rng_normal(&common);
    }
    for (size_t i = 0; i < D; i++) {
        const double x = sg_rng_normal(&own), y = sg_rng_normal(&own);
        const size_t row = i / 80, column = i % 80;
        g[i] =
            (float)(i < LARGE ? 0.01 * (left[0][row] * right[0][column] + 0.5 * left[1][row] * right[1][column] + x * y)
                    : i < LARGE + SMALL ? 0.002 * x
                                        : -0.005 * fabs(x));
    }
}

/* One step; adds what every worker's messages cost. */
static sg_status run_step(struct example *x, sg_method *m, uint64_t t, struct deviation_measure *out,
                          struct sg_error *err) {
    const double workers = (double)x->config.count;
    struct sg_message message[WORKERS];
    float *sum = x->sum;
    struct sg_play play = {
        .part = &m, .parts = 1, .d = D, .g = *x->g, .e = *x->e, .sum = &sum, .message = message, .optimizes = true};
    const sg_status status = sg_method_play(&play, t, 1, err);
    out->bits += play.bits / D / workers;
    out->sent += play.entries / workers;
    return status;
}

/* What this step lost; its bias is returned. */
static double compare(struct example *x, struct deviation_measure *out) {
    const double workers = (double)x->config.count;
    double all = 0, error = 0, bias = 0;
    for (size_t i = 0; i < D; i++) {
        const double off = (double)x->sum[i] / workers - x->p[i];
        all += x->p[i] * x->p[i];
        x->mean[i] += off;
        error += off * off;
        bias += off * x->p[i];
    }
    out->error += error / all;
    return bias / all;
}

/* |mean of C - p|^2 / |p|^2 without what the draws of n steps leave in it. */
static double systematic(const struct example *x, double error, double n) {
    double all = 0, off = 0;
    for (size_t i = 0; i < D; i++) {
        all += x->p[i] * x->p[i];
        off += x->mean[i] / n * (x->mean[i] / n);
    }
    return n > 1 ? (n * off / all - error) / (n - 1) : error;
}

/* *lost <- |sum of g - sum of what was sent - e| / |sum of g| after a sequence of steps; NaN for a compressor that is
 * not meant for residuals. */
static sg_status run_sequence(double *lost, struct example *x, struct sg_error *err) {
    struct deviation_measure unused = {0};
    double square = 0, gone = 0;
    sg_method *m;
    sg_status status = sg_method_open(&m, &x->config, err);
    memset(x->e, 0, sizeof x->e);
    const bool keeps = status == SG_OK && sg_method_traits(m) & SG_TRAIT_WANTS_FEEDBACK;
    for (uint64_t t = 0; status == SG_OK && keeps && t < SEQUENCE; t++) {
        for (uint32_t w = 0; w < x->config.count; w++) {
            draw(x->g[w], w, t);
            for (size_t i = 0; i < D; i++)
                x->all[i] += (double)x->g[w][i];
        }
        status = run_step(x, m, t, &unused, err);
        for (size_t i = 0; i < D; i++)
            x->arrived[i] += (double)x->sum[i];
    }
    sg_method_close(m);
    for (size_t i = 0; i < D; i++) {
        double rest = x->all[i] - x->arrived[i];
        for (size_t w = 0; w < x->config.count; w++)
            rest -= (double)x->e[w][i];
        square += x->all[i] * x->all[i];
        gone += rest * rest;
    }
    *lost = keeps ? sqrt(gone / square) : (double)NAN;
    return status;
}

static sg_status measure(struct deviation_measure *out, struct example *x, size_t steps, struct sg_error *err) {
    sg_method *m = NULL;
    double squares = 0;
    sg_status status = sg_method_open(&m, &x->config, err);
    for (uint64_t t = 0; status == SG_OK && t < steps; t++) {
        memset(x->e, 0, sizeof x->e);
        status = run_step(x, m, t, out, err);
        const double bias = status == SG_OK ? compare(x, out) : 0;
        out->bias += bias;
        squares += bias * bias;
    }
    sg_method_close(m);
    const double n = (double)steps;
    out->error /= n;
    out->systematic = systematic(x, out->error, n);
    out->bias /= n;
    out->bias_stderr = sqrt(fmax(0, squares / n - out->bias * out->bias) / n);
    out->bits /= n;
    out->sent /= n;
    SG_DO(status, run_sequence(&out->lost, x, err));
    return status;
}

sg_status deviation_measure(struct deviation_measure *out, const char *setting, size_t workers, size_t steps,
                            struct sg_error *err) {
    struct example *x = calloc(1, sizeof *x);
    *out = (struct deviation_measure){0};
    if (x == NULL || workers < 1 || workers > WORKERS || steps < 1) {
        free(x);
        return x == NULL ? sg_fail_memory(err, "an example")
                         : sg_fail(err, SG_ERR_ARGUMENT, "1 to %d workers", WORKERS);
    }
    x->config = (struct sg_method_config){.size = sizeof(struct sg_method_config),
                                          .layout = {LAYERS, offset, NULL, rows},
                                          .feedback = {&sg_feedback_gradient, 1, {0}},
                                          .seed = 1,
                                          .count = workers,
                                          .steps_per_epoch = 1,
                                          .kernels = sg_kernels_cpu(NULL),
                                          .exec = {.threads = 1}};
    for (uint32_t w = 0; w < workers; w++) {
        draw(x->g[w], w, 0);
        for (size_t i = 0; i < D; i++)
            x->p[i] += (double)x->g[w][i] / (double)workers;
    }
    sg_status status = released_add(err);
    SG_DO(status, sg_method_read_text(&x->config, x->numbers, setting, err));
    SG_DO(status, measure(out, x, steps, err));
    free(x);
    return status == SG_OK ? SG_OK : sg_prefix(err, "%s: ", setting);
}
