/* tune_advise_replay.c: replays the recorded gradients with a method, step by step in this process. It measures the
 * errors and the time of compression, and compares the error with the smallest that as many bytes allow (Lemma 3). */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_clock.h"
#include "sg_drive.h"
#include "sg_magnitude_ranks.h"
#include "sg_memory.h"
#include "sg_replay.h"
#include "sg_stats.h"
#include "tune_advise.h"

/* The largest count of numbers that a pass compresses. Of a longer recording only the first steps are used. */
static const double MOST_NUMBERS = 1e9;
enum { LEAST_STEPS = 10 };

/* A method and all its workers. */
struct replay {
    struct advise *a;
    struct sg_method_config config;
    struct sg_replay_room room;
    size_t steps;
    sg_method *method;
    struct sg_message *message; /* [workers] */
    float *g, *e, *sum, *lost;  /* [workers][d], [workers][d], [d], [d] */
    double *late, *before;      /* [d] the sums over workers of what this step and the one before lost */
    double *drift;              /* [d] of all steps so far: the sums of gradients less what the optimizer was given */
    sg_magnitudes *magnitudes;  /* of this pass; `see` is called with each input */
    void (*see)(sg_magnitudes *, const float *, size_t);
    double *encode_s, *add_s;       /* [2 steps] */
    double lost_square, own_square; /* of all steps: of what was lost, and of the gradients */
    double late_square, along;      /* of all steps: |sum of lost|^2; <sum of lost, sum of the next gradients> */
    double sum_square, far_square;  /* of all steps: |sum of gradients|^2; |drift|^2 */
    double bits;                    /* of all messages */
    size_t timed;
};

/* ---- a step ---- */

static sg_status read_step(struct replay *r, size_t step, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t w = 0; status == SG_OK && w < r->a->workers; w++)
        status = sg_gradients_read(r->a->gradients, step, w, r->g + w * r->a->d, err);
    return status;
}

/* Adds the sums over workers of this step to the measures of the pass, in the order of the elements. */
static void see_sums(struct replay *r) {
    const size_t d = r->a->d;
    for (size_t j = 0; j < d; j++) {
        double g = 0;
        for (size_t w = 0; w < r->a->workers; w++)
            g += (double)r->g[w * d + j];
        r->sum_square += g * g;
        r->along += r->before[j] * g;
        r->late_square += r->late[j] * r->late[j];
        r->before[j] = r->late[j];
        r->late[j] = 0;
    }
}

/* Adds the workers' inputs, and their parts that are lost, to the measures of the pass. */
static void see_inputs(void *of) {
    struct replay *r = of;
    const struct sg_exec exec = {.threads = 1};
    const size_t d = r->a->d;
    for (size_t w = 0; w < r->a->workers; w++) {
        r->see(r->magnitudes, sg_method_input(r->method, w), d);
        sg_method_lost(r->method, w, &r->message[w], r->sum, r->lost);
        r->lost_square += r->config.kernels->sum_squares(&exec, r->lost, d);
        r->own_square += r->config.kernels->sum_squares(&exec, r->g + w * d, d);
        for (size_t j = 0; j < d; j++)
            r->late[j] += (double)r->lost[j];
    }
    see_sums(r);
}

/* Adds a step's gradients, in units of the sum, less the sum that the optimizer is given. */
static void see_result(struct replay *r, double unit) {
    for (size_t j = 0; j < r->a->d; j++) {
        for (size_t w = 0; w < r->a->workers; w++)
            r->drift[j] += unit * (double)r->g[w * r->a->d + j];
        r->drift[j] -= (double)r->sum[j];
        r->far_square += r->drift[j] * r->drift[j];
    }
}

static sg_status run_step(struct replay *r, size_t step, double gamma, struct sg_error *err) {
    struct sg_play play = {.part = &r->method,
                           .parts = 1,
                           .d = r->a->d,
                           .g = r->g,
                           .e = r->e,
                           .sum = &r->sum,
                           .message = r->message,
                           .optimizes = true,
                           .arrived = see_inputs,
                           .of = r,
                           .clock_s = advise_times_coding(r->a) ? sg_clock_s : NULL};
    sg_status status = read_step(r, step, err);
    SG_DO(status, sg_method_play(&play, step, gamma, err));
    r->encode_s[r->timed] += play.encode_s;
    r->add_s[r->timed] += play.decode_s;
    r->bits += play.bits;
    if (status == SG_OK)
        see_result(r, r->config.feedback.rule->in_updates ? gamma : 1);
    return status;
}

/* ---- a pass ---- */

static sg_status pass(struct replay *r, double gamma, sg_magnitudes *m,
                      void (*see)(sg_magnitudes *, const float *, size_t), struct sg_error *err) {
    const struct sg_grid_options *grid = &r->a->t->grid;
    sg_status status = sg_method_open(&r->method, &r->config, err);
    const bool residuals = status == SG_OK && sg_method_has_residuals(r->method);
    r->lost_square = r->own_square = r->bits = 0;
    r->late_square = r->along = r->sum_square = r->far_square = 0;
    memset(r->before, 0, r->a->d * sizeof *r->before);
    memset(r->drift, 0, r->a->d * sizeof *r->drift);
    r->magnitudes = m;
    r->see = see;
    free(r->e);
    r->e = residuals ? sg_calloc(r->a->workers * r->a->d, sizeof *r->e) : NULL;
    for (size_t t = 0; status == SG_OK && t < r->steps; t++) {
        status = run_step(r, t, gamma, err);
        r->timed += status == SG_OK;
        if (status == SG_OK && grid->stop && grid->stop())
            status = sg_fail(err, SG_ERR_INTERRUPTED, "stopped while replaying the gradients");
    }
    sg_method_close(r->method);
    r->method = NULL;
    return status;
}

static sg_status two_passes(struct replay *r, struct advise_candidate *c, double gamma, struct sg_error *err) {
    sg_magnitudes *m = NULL;
    sg_magnitudes_open(&m);
    sg_status status = pass(r, gamma, m, sg_magnitudes_count, err);
    if (status == SG_OK) {
        /* The number of entries that cost as many bits, with 32 bits for the value and 32 for the position. */
        const uint64_t total = sg_magnitudes_total(m), rank = (uint64_t)fmin((double)total, floor(r->bits / 64));
        status = sg_magnitudes_ask(m, &rank, 1, err);
    }
    SG_DO(status, pass(r, gamma, m, sg_magnitudes_refine, err));
    if (status == SG_OK) {
        const double least = sg_magnitudes_rank(m, 0).lost;
        c->error_over_least = least > 0 ? r->lost_square / least : NAN;
        if (advise_times_coding(r->a)) {
            c->encode_s = sg_stats_median(r->encode_s, r->timed);
            c->add_s = sg_stats_median(r->add_s, r->timed);
        }
        const double unit = r->config.feedback.rule->in_updates ? gamma : 1;
        c->error[ADVISE_RELATIVE] = r->lost_square / r->own_square / (unit * unit);
        if (r->config.feedback.rule == &sg_feedback_gradient) /* then the run has the error of all steps */
            c->error[ADVISE_RELATIVE] = sg_run_last(&c->outcome->run, "total_error") / r->a->square;
        c->error[ADVISE_MEAN] = r->sum_square > 0 ? r->late_square / r->sum_square / (unit * unit) : 0;
        c->error[ADVISE_LAG] = r->sum_square > 0 ? fabs(r->along) / r->sum_square / unit : 0;
        c->error[ADVISE_DRIFT] = r->sum_square > 0 ? r->far_square / r->sum_square / (unit * unit) : 0;
    }
    sg_magnitudes_close(m);
    return status;
}

/* ---- set-up ---- */

static sg_status configure(struct replay *r, const struct advise_candidate *c, struct sg_error *err) {
    const struct advise *a = r->a;
    const struct sg_gradients_facts *f = sg_gradients_look(a->gradients);
    r->config = (struct sg_method_config){
        .layout = {.n_layers = f->n_layers, .offset = f->offset, .name = f->name, .rows = f->rows},
        .workers = a->workers,
        .count = a->workers,
        .steps_per_epoch = f->steps_per_epoch,
        .steps = a->steps,
        .kernels = sg_kernels_cpu(NULL),
        .exec = {.threads = a->threads},
        .inputs = true};
    return sg_replay_method(&r->config, &r->room, c->cell, sg_json_get(c->outcome->run.header, "constants"), err);
}

sg_status advise_replay(struct advise *a, struct advise_candidate *c, struct sg_error *err) {
    const double numbers = (double)a->workers * (double)a->d;
    const double gamma = sg_json_number(c->outcome->run.header, "constants.gamma", 1);
    struct replay r = {.a = a, .steps = (size_t)fmin((double)a->steps, fmax(LEAST_STEPS, MOST_NUMBERS / numbers))};
    sg_status status = configure(&r, c, err);
    c->hook = status == SG_OK ? advise_hook_text(&r.config) : NULL;
    r.message = sg_calloc(a->workers, sizeof *r.message);
    r.g = sg_calloc((a->workers + 2) * a->d, sizeof *r.g);
    r.sum = r.g + a->workers * a->d;
    r.lost = r.sum + a->d;
    r.late = sg_calloc(3 * a->d + 4 * r.steps, sizeof *r.late);
    r.before = r.late + a->d;
    r.drift = r.before + a->d;
    r.encode_s = r.drift + a->d;
    r.add_s = r.encode_s + 2 * r.steps;
    SG_DO(status, two_passes(&r, c, gamma > 0 ? gamma : 1, err));
    free(r.message);
    free(r.g);
    free(r.e);
    free(r.late);
    return status == SG_OK || status == SG_ERR_INTERRUPTED ? status : sg_prefix(err, "method '%s': ", c->cell->label);
}
