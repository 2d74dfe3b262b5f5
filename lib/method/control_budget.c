/* control_budget.c: a threshold that is steered so that a worker sends a given number of entries, or of bits, over the
 * run (threshold_budget.c has the rule).
 *
 * The error that it keeps small is the total error, the sum of |e|^2 over steps, for which Lemma 3 finds a constant
 * lambda. The relative error sum |e|^2 / sum |g|^2 has the same least. If each step's error is divided by its own
 * |g|^2, the least has lambda in proportion to the gradient's root mean square, by the law of a random walk: then each
 * step sends as many entries as any other, which is Top-k of the model. The lag <mean e, mean g> has the products of
 * every worker's residual with every other's gradient, and a controller sees what all ranks know, no vectors.
 *
 * A budget of entries is never exceeded, because a message can be cut to its largest. A budget of bits is for messages
 * whose entries do not tell their size, and they are sent as they are: it is missed by what the last steps send. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>
#include <string.h>

enum { TOTAL, BITS, N_PARAMS };

enum { DOUBLES = sizeof(struct sg_threshold_budget) / sizeof(double) };

/* How many entries, or bits, a worker may send over the whole run. */
static double total(const double *param, const struct sg_facts *f) {
    const double all = (double)f->d * (double)f->steps * (param[BITS] > 0 ? 32 : 1);
    return param[TOTAL] <= 1 ? param[TOTAL] * all : param[TOTAL];
}

static sg_status check(const double *param, const struct sg_facts *run, struct sg_error *err) {
    const double d = (double)run->d, steps = (double)run->steps;
    const double most = d * (steps - 1), all = total(param, run); /* the first step sends nothing */
    if (!(param[TOTAL] > 0))
        return sg_fail(err, SG_ERR_ARGUMENT, "budget needs 'total', which must be above 0");
    if (run->d == 0)
        return SG_OK;
    if (run->steps == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a budget needs the number of steps");
    if (param[BITS] == 0 && !(all <= most))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "a budget of %.15g entries, where a worker can send at most %.15g (%g of all): the first of "
                       "%.0f steps sends nothing",
                       all, most, floor(1e6 * most / (d * steps)) / 1e6, steps);
    return SG_OK;
}

static double entries_of(const double *param, const struct sg_facts *f) {
    return param[BITS] > 0 ? NAN : total(param, f);
}

static size_t doubles(size_t layers) {
    (void)layers;
    return DOUBLES;
}

static struct sg_threshold_budget load(const double *state) {
    struct sg_threshold_budget b;
    memcpy(&b, state, sizeof b);
    return b;
}

static void store(double *state, const struct sg_threshold_budget *b) {
    memcpy(state, b, sizeof *b);
}

static void start(double *state, size_t layers) {
    (void)layers;
    store(state, &(struct sg_threshold_budget){.lambda = INFINITY, .rate = NAN});
}

/* Returns whether the sizes of gradients are still unknown. */
static bool is_to_start(const double *state) {
    const struct sg_threshold_budget b = load(state);
    return b.lambda == INFINITY && b.sent == 0;
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)param;
    return !f || is_to_start(state) ? SG_ASK_LARGEST : 0;
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    struct sg_threshold_budget b = load(state);
    out->most = sg_threshold_budget_begin(&b, total(param, f), f->steps, f->step, f->unit, param[BITS] > 0);
    for (size_t l = 0; l < f->layers; l++)
        out->knob[l] = b.lambda;
    store(state, &b);
}

static void learn(const double *param, double *state, const struct sg_facts *f, const struct sg_spent *spent) {
    enum { ENTRY = 64 }; /* the bits of an entry, for a first guess */
    struct sg_threshold_budget b = load(state);
    if (is_to_start(state))
        sg_threshold_budget_start(&b, total(param, f) / (param[BITS] > 0 ? ENTRY : 1), f->steps, spent->largest);
    else
        sg_threshold_budget_learn(&b, total(param, f), f->steps, f->step,
                                  param[BITS] > 0 ? spent->bits : spent->entries);
    store(state, &b);
}

static const struct sg_parameter params[N_PARAMS] = {
    [TOTAL] = {"total", 0, 1e18, NAN, false,
               "what a worker sends in the run, up to 1 as average density, above 1 in entries"},
    [BITS] = {"bits", 0, 1, 0, true, "1: total counts bits, up to 1 as a fraction of 32 bits an element"},
};

const struct sg_controller_ops sg_control_budget = {
    .name = "budget",
    .summary = "steers a threshold to a number of entries in the run",
    .source = "section 4 of the paper asks for a constant threshold; this one is held as long as the budget is met",
    .params = params,
    .n_params = N_PARAMS,
    .finds_threshold = true,
    .check = check,
    .doubles = doubles,
    .start = start,
    .ask = ask,
    .decide = decide,
    .learn = learn,
    .budget = entries_of,
};
