/* control_dqsgd.c: DQ-SGD (Yan, Huang, Lan, Song, "DQ-SGD: Dynamic Quantization in SGD for Communication-Efficient
 * Distributed Learning", arXiv 2107.14575): the levels of every step, from the gradient's norm and the steps to come.
 *
 * Step n of N has s_n = k alpha^((N - n) / 2) |g_n| levels, which are B_n = log2(s_n + 1) + 1 bits an element. For an
 * L-smooth and mu-strongly convex function alpha = 1 - 2 mu gamma + L mu gamma^2, the factor by which a step shrinks
 * earlier noise; for other functions alpha = 1. These are equations (18) and (20) of the same authors' earlier version
 * ("DQSGD", submitted to ICLR 2021). Of the arXiv version only the abstract was at hand: it takes "the desired model
 * performance, the remaining number of iterations, and the norm of gradients" into account.
 *
 * Ours: k makes the method's own levels those of the first step under alpha = 1, so k = own / |g_0|; B_n is rounded to
 * the nearest whole number, and is at least 2; and |g_n| is the largest norm over the workers at the step before,
 * because all messages of a step have the same levels and workers do not communicate before they send. The first step
 * has |g_0| for it. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_controller.h"

/* The state: the largest |g_i|^2 at the first step where it was not 0 (0: none yet), and at the last step. */
enum { FIRST, LAST, DOUBLES };

static sg_status check(const double *param, const struct sg_facts *run, struct sg_error *err) {
    if (!(param[0] > 0))
        return sg_fail(err, SG_ERR_ARGUMENT, "the 'alpha' of dqsgd must be above 0");
    return param[0] == 1 || run->d == 0 || run->steps > 0
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "dqsgd with an 'alpha' below 1 needs the number of steps");
}

static size_t doubles(size_t layers) {
    (void)layers;
    return DOUBLES;
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)param, (void)state, (void)f;
    return SG_ASK_LARGEST;
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    const double norm = state[FIRST] > 0 ? sqrt(state[LAST] / state[FIRST]) : 1;
    const double levels = out->own * pow(param[0], ((double)f->steps - (double)f->step) / 2) * norm;
    const double whole = exp2(fmax(1, rint(log2(levels + 1)))) - 1;
    for (size_t l = 0; l < f->layers; l++)
        out->knob[l] = whole;
}

static void learn(const double *param, double *state, const struct sg_facts *f, const struct sg_spent *spent) {
    (void)param, (void)f;
    state[LAST] = spent->largest;
    state[FIRST] = state[FIRST] > 0 ? state[FIRST] : spent->largest;
}

static const struct sg_parameter params[] = {
    {"alpha", 0, 1, 1, false, "factor on earlier noise at a step, as 1 - 2*l2*gamma + L*l2*gamma*gamma; 1: not convex"},
};

const struct sg_controller_ops sg_control_dqsgd = {
    .name = "dqsgd",
    .summary = "levels in proportion to the gradient's norm, fewer early in the run (DQ-SGD)",
    .source = "Yan et al., arXiv 2107.14575",
    .params = params,
    .n_params = 1,
    .sets_levels = true,
    .check = check,
    .doubles = doubles,
    .ask = ask,
    .decide = decide,
    .learn = learn,
};
