/* control_l_greco.c: L-GreCo (Alimohammadi, Markov, Frantar, Alistarh, MLSys 2024): every so many steps, the knobs of
 * all layers that cost the fewest bits and together lose no more than the method's own knob in every layer would.
 *
 * What is lost is measured on the sum of worker 0's gradients since the last choice. The least cost is found by dynamic
 * programming over the layers: of all choices for the first l layers whose losses add up to b bins, the cheapest. A bin
 * is a part of the loss that is allowed, and every loss is rounded up to bins, so the sum keeps below what is allowed.
 * Where that finds nothing cheaper, all layers have the method's own knob.
 *
 * The error that is bounded is absolute: |x - C(x)|^2 of the sum x of one worker's gradients, added over the layers,
 * without residuals. For a selector <x - C(x), x> = |x - C(x)|^2, because what is sent stays as it is. So in each layer
 * the lag along x, as a share of |x|^2, is the relative error, and both differ from this by a weight of 1 / |x|^2 of
 * the layer, which counts a loss as a share of its layer (results/WHY.md compares such choices). */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "sg_controller.h"

enum { LEAST, MOST, VALUES, EVERY, BINS, PARAMS };

static sg_status check(const double *param, const struct sg_facts *run, struct sg_error *err) {
    (void)run;
    return param[LEAST] > 0 && param[MOST] >= param[LEAST]
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "l-greco needs 'least' above 0, and 'most', which is not below it");
}

static size_t doubles(size_t layers) {
    return 1 + layers; /* was a choice made? and the knobs */
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)state;
    if (!f)
        return SG_ASK_LEAD_SUM | SG_ASK_RESTART | SG_ASK_ADD;
    return f->step > 0 && f->step % (uint64_t)param[EVERY] == 0 ? SG_ASK_LEAD_SUM | SG_ASK_RESTART | SG_ASK_ADD
                                                                : SG_ASK_ADD;
}

/* The same factor lies between neighbours. */
static size_t candidates(const double *param, double own, bool whole, double *value) {
    const size_t n = (size_t)param[VALUES];
    (void)own;
    for (size_t i = 0; i < n; i++) {
        const double x = param[LEAST] * pow(param[MOST] / param[LEAST], (double)i / (double)(n - 1));
        value[i] = fmin(fmax(whole ? rint(x) : x, param[LEAST]), param[MOST]);
    }
    return n;
}

/* What a choice may lose, all layers together: what the own knob loses everywhere. */
static double allowed(const struct sg_choice *c, double *size) {
    double error = 0;
    *size = 0;
    for (size_t l = 0; l < c->layers; l++) {
        error += c->error[l * c->count + c->own];
        *size += c->size[l * c->count + c->own];
    }
    return error;
}

/* How many bins value i loses in layer l, rounded up; bins + 1 = too many. */
static size_t bins_of(const struct sg_choice *c, size_t l, size_t i, double most, size_t bins) {
    const double share = ceil(c->error[l * c->count + i] * (double)bins / most);
    return share <= (double)bins ? (size_t)share : bins + 1;
}

static void choose(const double *param, const struct sg_choice *c, double *knob) {
    const size_t bins = (size_t)param[BINS];
    double own_size, most = allowed(c, &own_size);
    double *room = malloc(2 * (bins + 1) * sizeof *room), *cost = room, *next = room + (room ? bins + 1 : 0);
    unsigned char *choice = malloc(c->layers * (bins + 1)); /* which value, [layers][bins + 1] */
    for (size_t l = 0; l < c->layers; l++)
        knob[l] = c->value[c->own];
    if (!room || !choice || !(most > 0 && isfinite(most)))
        goto out;
    for (size_t b = 0; b <= bins; b++)
        cost[b] = b == 0 ? 0 : INFINITY;
    for (size_t l = 0; l < c->layers; l++) {
        for (size_t b = 0; b <= bins; b++)
            next[b] = INFINITY;
        for (size_t i = 0; i < c->count; i++) {
            const size_t share = bins_of(c, l, i, most, bins);
            const double size = c->size[l * c->count + i];
            for (size_t b = share; b <= bins; b++)
                if (cost[b - share] + size < next[b]) {
                    next[b] = cost[b - share] + size;
                    choice[l * (bins + 1) + b] = (unsigned char)i;
                }
        }
        double *last = cost;
        cost = next;
        next = last;
    }
    size_t best = 0;
    for (size_t b = 1; b <= bins; b++)
        best = cost[b] < cost[best] ? b : best;
    for (size_t l = cost[best] < own_size ? c->layers : 0; l-- > 0;) {
        const size_t i = choice[l * (bins + 1) + best];
        knob[l] = c->value[i];
        best -= bins_of(c, l, i, most, bins);
    }
out:
    free(room);
    free(choice);
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    (void)param;
    for (size_t l = 0; l < f->layers; l++) {
        if (f->lead_square)
            state[1 + l] = f->lead_square[l];
        out->knob[l] = f->lead_square || state[0] > 0 ? state[1 + l] : out->own;
    }
    state[0] = f->lead_square || state[0] > 0;
}

static const struct sg_parameter params[PARAMS] = {
    [LEAST] = {"least", 0, 1e18, NAN, false, "smallest value compared, above 0"},
    [MOST] = {"most", 0, 1e18, NAN, false, "largest value"},
    [VALUES] = {"values", 2, SG_CANDIDATES - 1, 16, true, "values compared beside the method's own"},
    [EVERY] = {"every", 1, 1e9, 100, true, "steps between choices"},
    [BINS] = {"bins", 10, 1e6, 10000, true, "parts of the allowed error"},
};

const struct sg_controller_ops sg_control_l_greco = {
    .name = "l-greco",
    .summary = "knobs of layers with the fewest bits at the error of the method's own",
    .source = "Alimohammadi et al., MLSys 2024",
    .params = params,
    .n_params = PARAMS,
    .n_knobs = MOST + 1,
    .check = check,
    .doubles = doubles,
    .ask = ask,
    .candidates = candidates,
    .choose = choose,
    .decide = decide,
};
