/* cpu_update.c: the end of a step, the same in every table: mean, optimizer, parameters. The loops of the optimizers
 * here are their specification; lib/core declares their parameters. */
/* SPDX-License-Identifier: MIT */
#include "cpu_isa.h"

#include <math.h>
#include <string.h>

enum { PARALLEL_PIECES = 16 }; /* from here on a second thread saves more than it costs */

/* g <- (float)(g + decay x), of the range's elements. */
static void add_weight_decay(const struct sg_update *u, const struct sg_piece *p, double decay) {
    float *restrict g = u->sum;
    if (!p->decays || !(decay > 0))
        return;
    if (u->dtype == SG_FLOAT32) {
        const float *restrict x = u->x;
        for (size_t i = p->begin; i < p->end; i++)
            g[i] = (float)((double)g[i] + decay * (double)x[i]);
    } else {
        const double *restrict x = u->x;
        for (size_t i = p->begin; i < p->end; i++)
            g[i] = (float)((double)g[i] + decay * x[i]);
    }
}

/* Weight decay, momentum, learning rate, in that order (the order of the paper's released trainer). m <- mu m + g, and
 * the step is along `of_g` g + `of_m` m. Each assignment computes in double and rounds once. The state of zeros makes
 * m = g at the first step. */
static void momentum_step(const struct sg_update *u, const struct sg_piece *p, double mu, double of_g, double of_m,
                          double decay) {
    const double rate = u->learning_rate;
    const size_t n = p->end - p->begin;
    float *restrict delta = u->sum + p->begin;
    add_weight_decay(u, p, decay);
    if (!(mu > 0)) {
        for (size_t i = 0; i < n; i++)
            delta[i] = (float)(rate * (double)delta[i]);
        return;
    }
    float *restrict m = u->state + p->begin;
    for (size_t i = 0; i < n; i++) {
        m[i] = (float)(mu * (double)m[i] + (double)delta[i]);
        delta[i] = (float)(rate * (of_g * (double)delta[i] + of_m * (double)m[i]));
    }
}

static void sgd_step(const struct sg_update *u, const struct sg_piece *p) {
    enum { MOMENTUM, NESTEROV, WEIGHT_DECAY }; /* NESTEROV is 0 or 1 */
    momentum_step(u, p, u->param[MOMENTUM], u->param[NESTEROV], 1, u->param[WEIGHT_DECAY]);
}

/* Nesterov's momentum as PyTorch has it: along g + mu m. */
static void nesterov_step(const struct sg_update *u, const struct sg_piece *p) {
    enum { MOMENTUM, WEIGHT_DECAY };
    momentum_step(u, p, u->param[MOMENTUM], 1, u->param[MOMENTUM], u->param[WEIGHT_DECAY]);
}

enum { BETA1, BETA2, EPSILON, ADAM_DECAY };

/* gamma m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon), t from 1 (Kingma and Ba, ICLR 2015, as PyTorch has
 * it). The state is m [d], then v [d]. Each assignment computes in double and rounds once. */
static void adam_moments(const struct sg_update *u, const struct sg_piece *p) {
    const double beta1 = u->param[BETA1], beta2 = u->param[BETA2], epsilon = u->param[EPSILON];
    const double t = (double)u->step + 1, rate = u->learning_rate / (1 - pow(beta1, t));
    const double correction = 1 / sqrt(1 - pow(beta2, t));
    const size_t n = p->end - p->begin;
    float *restrict delta = u->sum + p->begin, *restrict m = u->state + p->begin,
                    *restrict v = u->state + u->d + p->begin;
    for (size_t i = 0; i < n; i++) {
        const double g = (double)delta[i];
        m[i] = (float)(beta1 * (double)m[i] + (1 - beta1) * g);
        v[i] = (float)(beta2 * (double)v[i] + (1 - beta2) * g * g);
        delta[i] = (float)(rate * (double)m[i] / (sqrt((double)v[i]) * correction + epsilon));
    }
}

static void adam_step(const struct sg_update *u, const struct sg_piece *p) {
    add_weight_decay(u, p, u->param[ADAM_DECAY]);
    adam_moments(u, p);
}

/* x <- x - gamma decay x - Adam's step (Loshchilov and Hutter, ICLR 2019, as PyTorch has it). */
static void adamw_step(const struct sg_update *u, const struct sg_piece *p) {
    adam_moments(u, p);
    add_weight_decay(u, p, u->learning_rate * u->param[ADAM_DECAY]);
}

enum {
    MUON_MOMENTUM,
    MUON_NESTEROV, /* 0 or 1 */
    MUON_DECAY,
    MUON_TIMES,
    MUON_MATCHES_RMS, /* 0 or 1 */
    MUON_VECTOR_RATE
};

/* What is no matrix of a hidden layer moves by AdamW. `rest` has the optimizer's vector-rate, beta1, beta2 and epsilon,
 * which are its last parameters. */
static void vector_step(const struct sg_update *u, const struct sg_piece *p, double decay, const double rest[4]) {
    const double adam[] = {[BETA1] = rest[1], [BETA2] = rest[2], [EPSILON] = rest[3], [ADAM_DECAY] = decay};
    struct sg_update apart = *u;
    apart.param = adam;
    apart.learning_rate *= rest[0];
    adamw_step(&apart, p);
}

/* A matrix gets its momentum here, m <- mu m + (1 - mu) g and with Nesterov (1 - mu) g + mu m, of which turn_weights
 * makes a step. The state is m [d], then v [d]. */
static void muon_step(const struct sg_update *u, const struct sg_piece *p) {
    const double *param = u->param, mu = param[MUON_MOMENTUM];
    float *restrict delta = u->sum, *restrict m = u->state;
    if (!p->in_weight) {
        vector_step(u, p, param[MUON_DECAY], param + MUON_VECTOR_RATE);
        return;
    }
    for (size_t i = p->begin; i < p->end; i++) {
        const double own = (1 - mu) * (double)delta[i];
        m[i] = (float)(mu * (double)m[i] + own);
        delta[i] = param[MUON_NESTEROV] > 0 ? (float)(own + mu * (double)m[i]) : m[i];
    }
}

enum { DION_DECAY, DION_VECTOR_RATE };

/* The mean of a matrix is a direction, of which turn_weights makes a step. */
static void dion_step(const struct sg_update *u, const struct sg_piece *p) {
    if (!p->in_weight)
        vector_step(u, p, u->param[DION_DECAY], u->param + DION_VECTOR_RATE);
}

typedef void step_function(const struct sg_update *u, const struct sg_piece *p);

static step_function *find_step(const char *name) {
    static const struct {
        const char *name;
        step_function *step;
    } steps[] = {{"sgd", sgd_step},     {"nesterov", nesterov_step}, {"adam", adam_step},
                 {"adamw", adamw_step}, {"muon", muon_step},         {"dion", dion_step}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, name) == 0)
            return steps[i].step;
    return NULL;
}

bool cpu_has_optimizer(const char *name) {
    return find_step(name) != NULL;
}

static void subtract(const struct sg_update *u, const struct sg_piece *p) {
    const float *restrict delta = u->sum;
    if (u->dtype == SG_FLOAT32) {
        float *restrict x = u->x;
        for (size_t i = p->begin; i < p->end; i++)
            x[i] -= delta[i];
    } else {
        double *restrict x = u->x;
        for (size_t i = p->begin; i < p->end; i++)
            x[i] -= (double)delta[i];
    }
}

/* sum <- the step of a matrix. Muon's is gamma sqrt(max(1, rows / columns)) times its turned momentum (Jordan), or 0.2
 * gamma sqrt(max(rows, columns)) times it, as far as by AdamW (Liu et al., arXiv 2502.16982). Dion's is gamma sqrt(rows
 * / columns) times its direction. */
static void turn_weight(const struct sg_exec *exec, const struct sg_update *u, const struct sg_products *products,
                        const struct sg_weight *w, bool muon) {
    const double rows = (double)w->rows, columns = (double)w->columns, rate = u->learning_rate;
    float *restrict step = u->sum + w->offset;
    if (muon) {
        const double factor =
            u->param[MUON_MATCHES_RMS] > 0 ? 0.2 * sqrt(fmax(rows, columns)) : sqrt(fmax(1, rows / columns));
        cpu_muon(exec, products, step, w, (int)u->param[MUON_TIMES], rate * factor, u->scratch);
        return;
    }
    for (size_t i = 0; i < w->rows * w->columns; i++)
        step[i] = (float)(rate * sqrt(rows / columns) * (double)step[i]);
}

static void turn_weights(const struct sg_exec *exec, const struct sg_update *u, const struct sg_products *products,
                         bool muon) {
    const double decay = u->param[muon ? MUON_DECAY : DION_DECAY];
    for (size_t i = 0; i < u->n_weights; i++) {
        const struct sg_weight *w = &u->weight[i];
        const struct sg_piece whole = {w->offset, w->offset + w->rows * w->columns, w->decays, true};
        turn_weight(exec, u, products, w, muon);
        add_weight_decay(u, &whole, u->learning_rate * decay);
        subtract(u, &whole);
    }
}

/* A piece stays in the cache from the mean to x. */
void cpu_update(const struct sg_exec *exec, const struct sg_update *u, const struct sg_products *products) {
    step_function *const step = u->optimizer ? find_step(u->optimizer) : NULL;
    const bool muon = step == muon_step, turns = muon || step == dion_step;
    const float workers = u->workers;
    float *sum = u->sum;
#pragma omp parallel for schedule(static) num_threads(exec->threads) if (u->n_pieces >= PARALLEL_PIECES)
    for (size_t i = 0; i < u->n_pieces; i++) {
        const struct sg_piece *p = &u->piece[i];
        for (size_t j = p->begin; j < p->end; j++)
            sum[j] /= workers;
        if (step)
            step(u, p);
        if (!turns || !p->in_weight)
            subtract(u, p);
    }
    if (turns)
        turn_weights(exec, u, products, muon);
}
