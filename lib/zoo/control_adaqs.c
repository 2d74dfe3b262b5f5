/* control_adaqs.c: AdaQS (Guo, Liu, Wang, Han, Li, Lu, Hu, "Accelerating distributed deep learning by adaptive gradient
 * quantization", ICASSP 2020): the knob doubles as the ratio of the gradient's mean to its standard deviation falls.
 *
 * The publication was not at hand. What others write of it: the bits follow the gradient's mean to standard deviation
 * ratio (MSDR), and are few in early epochs and more in later ones ("DQSGD", submitted to ICLR 2021); the quantization
 * states are doubled (the paper of the project, section 2). The rule by which they are is ours:
 *
 *     every `interval` epochs, of worker 0's gradients g_1 .. g_T since the last time and over all layers,
 *     MSDR = |m| / sqrt(q - |m|^2) with m = (1/T) sum g_t and q = (1/T) sum |g_t|^2
 *     the knob doubles if this is at most `ratio` of what it was, and what it was becomes `ratio` of that
 *
 * So a deep fall doubles the knob at as many decisions as it has halvings, and the knob is about as 1 / MSDR. A ratio
 * without a value, because the gradients did not vary, changes nothing. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_controller.h"

enum { MOST, INTERVAL, RATIO, PARAMS };
enum { SQUARES, STEPS, WAS, DOUBLED, DOUBLES }; /* of the state: T q, T, what the ratio was (0 = unknown), doublings */

static size_t doubles(size_t layers) {
    (void)layers;
    return DOUBLES;
}

static bool is_due(const double *param, const struct sg_facts *f) {
    return f->step > 0 && f->step % f->steps_per_epoch == 0 &&
           f->step / f->steps_per_epoch % (uint64_t)param[INTERVAL] == 0;
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)state;
    return SG_ASK_ADD | SG_ASK_LEAD_AFTER | (!f || is_due(param, f) ? SG_ASK_LEAD_SUM | SG_ASK_RESTART : 0);
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    if (f->lead_square) {
        double mean = 0;
        for (size_t l = 0; l < f->layers; l++)
            mean += f->lead_square[l] / (state[STEPS] * state[STEPS]);
        const double ratio = sqrt(mean / fmax(0, state[SQUARES] / state[STEPS] - mean));
        if (isfinite(ratio) && state[WAS] == 0) {
            state[WAS] = ratio;
        } else if (ratio <= param[RATIO] * state[WAS]) {
            state[WAS] *= param[RATIO];
            state[DOUBLED]++;
        }
        state[SQUARES] = state[STEPS] = 0;
    }
    for (size_t l = 0; l < f->layers; l++)
        out->knob[l] = fmin(param[MOST], ldexp(out->own, (int)fmin(1000, state[DOUBLED])));
}

static void learn(const double *param, double *state, const struct sg_facts *f, const struct sg_spent *spent) {
    (void)param, (void)f;
    state[SQUARES] += spent->largest;
    state[STEPS]++;
}

static const struct sg_parameter params[PARAMS] = {
    [MOST] = {"most", 0, 1e18, NAN, false, "largest value of the knob"},
    [INTERVAL] = {"interval", 1, 1e9, 1, true, "epochs between decisions"},
    [RATIO] = {"ratio", 0, 1, 0.5, false, "doubles when mean / standard deviation fell by this factor"},
};

const struct sg_controller_ops sg_control_adaqs = {
    .name = "adaqs",
    .summary = "doubles the knob as the gradient's mean / standard deviation falls (after AdaQS)",
    .source = "Guo et al., ICASSP 2020",
    .params = params,
    .n_params = PARAMS,
    .n_knobs = 1,
    .doubles = doubles,
    .ask = ask,
    .decide = decide,
    .learn = learn,
};
