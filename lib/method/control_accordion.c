/* control_accordion.c: ACCORDION (Agarwal et al., MLSys 2021): `high` in critical regimes, `low` elsewhere, for each
 * layer by itself.
 *
 * A layer is critical if this is the first decision, the learning rate fell since the last one, or the norm of its
 * gradient on worker 0 changed by at least `threshold` of what it was, or was 0. Two rules for when and which gradient:
 *   accumulate 0  as the paper of the project compares it: at the first step of the epochs 0, interval, 2 interval, …,
 *                 that step's gradient
 *   accumulate 1  as the code of ACCORDION's authors: after the epochs 0, interval, 2 interval, … the sum of that
 *                 epoch's gradients; and where the learning rate falls at any other epoch all layers become critical
 *                 until the next decision */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>

enum { LOW, HIGH, THRESHOLD, INTERVAL, ACCUMULATE, N_PARAMS };

/* The state is two arrays of [layers], the norms at the last decision and 1 where a layer is critical, then gamma. */
static double *critical(double *state, size_t layers) {
    return state + layers;
}

static double *last_gamma(double *state, size_t layers) {
    return state + 2 * layers;
}

static size_t doubles(size_t layers) {
    return 2 * layers + 1;
}

static void start(double *state, size_t layers) {
    for (size_t l = 0; l < layers; l++)
        critical(state, layers)[l] = 1;
}

/* Returns whether the epoch of this step is a multiple of interval. */
static bool in_interval_epoch(const double *param, const struct sg_facts *f, uint64_t step) {
    return step / f->steps_per_epoch % (uint64_t)param[INTERVAL] == 0;
}

static bool is_due(const double *param, const struct sg_facts *f) {
    return f->step % f->steps_per_epoch == 0 && (param[ACCUMULATE] > 0 || in_interval_epoch(param, f, f->step));
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)state;
    const bool accumulates = param[ACCUMULATE] > 0;
    unsigned wanted = 0;
    if (!f)
        return accumulates ? SG_ASK_LEAD_SUM | SG_ASK_RESTART | SG_ASK_ADD : SG_ASK_LEAD_NOW;
    if (!accumulates)
        return is_due(param, f) ? SG_ASK_LEAD_NOW : 0;
    if (is_due(param, f) && f->step > 0 && in_interval_epoch(param, f, f->step - 1))
        wanted |= SG_ASK_LEAD_SUM;
    if (in_interval_epoch(param, f, f->step))
        wanted |= is_due(param, f) ? SG_ASK_ADD | SG_ASK_RESTART : SG_ASK_ADD;
    return wanted;
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    const bool is_first = f->step == (param[ACCUMULATE] > 0 ? f->steps_per_epoch : 0);
    const bool fell = f->gamma < *last_gamma(state, f->layers), due = is_due(param, f);
    const double low = isnan(param[LOW]) ? out->own : param[LOW];
    for (size_t l = 0; l < f->layers; l++) {
        double *norm = &state[l], *is_critical = &critical(state, f->layers)[l];
        if (f->lead_square) {
            const double now = sqrt(f->lead_square[l]);
            *is_critical = is_first || fell || fabs(*norm - now) >= param[THRESHOLD] * *norm;
            *norm = now;
        } else if (due && fell) {
            *is_critical = 1;
        }
        out->knob[l] = *is_critical > 0 ? param[HIGH] : low;
    }
    if (due)
        *last_gamma(state, f->layers) = f->gamma;
}

static const double *modes(const double *state, size_t layers) {
    return state + layers;
}

static const struct sg_parameter params[N_PARAMS] = {
    [LOW] = {"low", 0, 1e18, NAN, false, "the knob of other layers, by default the method's own"},
    [HIGH] = {"high", 0, 1e18, NAN, false, "the knob of a critical layer"},
    [THRESHOLD] = SG_ACCORDION_THRESHOLD,
    [INTERVAL] = SG_ACCORDION_INTERVAL,
    [ACCUMULATE] = SG_ACCORDION_ACCUMULATE,
};

static sg_status check(const double *param, const struct sg_facts *run, struct sg_error *err) {
    (void)run;
    return isnan(param[HIGH]) ? sg_fail(err, SG_ERR_ARGUMENT, "accordion needs 'high'") : SG_OK;
}

const struct sg_controller_ops sg_control_accordion = {
    .name = "accordion",
    .summary = "two values of the knob: for layers whose gradients change fast, and for others",
    .source = "Agarwal et al., MLSys 2021",
    .params = params,
    .n_params = N_PARAMS,
    .n_knobs = HIGH + 1,
    .check = check,
    .doubles = doubles,
    .start = start,
    .ask = ask,
    .decide = decide,
    .modes = modes,
};
