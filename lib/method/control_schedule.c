/* control_schedule.c: knobs that follow a schedule: the warm-up of Deep Gradient Compression (Lin et al., ICLR 2018)
 * and periodic doubling, as section 2 of the paper describes AdaQS (Guo et al., ICASSP 2020; control_adaqs.c has its
 * trigger). */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "method_private.h"

static uint64_t epoch_of(const struct sg_facts *f) {
    return f->step / f->steps_per_epoch;
}

static void set_all(const struct sg_facts *f, struct sg_settings *out, double knob) {
    for (size_t l = 0; l < f->layers; l++)
        out->knob[l] = knob;
}

/* ---- warm-up ---- */

enum { FROM, EPOCHS, WARM_UP_PARAMS };

/* From `from` to the method's own value by the same factor every epoch: 25 %, 6.3 %, 1.6 %, 0.4 %, then 0.1 %. */
static void warm_up(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    (void)state;
    const double done = fmin(1, (double)epoch_of(f) / param[EPOCHS]);
    set_all(f, out, done < 1 ? param[FROM] * pow(out->own / param[FROM], done) : out->own);
}

static const struct sg_parameter warm_up_params[WARM_UP_PARAMS] = {
    [FROM] = {"from", 0, 1e18, 0.25, false, "the knob in the first epoch, above 0"},
    [EPOCHS] = {"epochs", 1, 1e9, 4, true, "epochs until the method's own value"},
};

static sg_status check_warm_up(const double *param, const struct sg_facts *run, struct sg_error *err) {
    (void)run;
    return param[FROM] > 0 ? SG_OK : sg_fail(err, SG_ERR_ARGUMENT, "the controller 'warm-up' starts from above 0");
}

const struct sg_controller_ops sg_control_warm_up = {
    .name = "warm-up",
    .summary = "moves the knob to the method's own value, by the same factor every epoch",
    .source = "Lin et al., ICLR 2018",
    .params = warm_up_params,
    .n_params = WARM_UP_PARAMS,
    .n_knobs = 1,
    .check = check_warm_up,
    .decide = warm_up,
};

/* ---- doubling ---- */

enum { MOST, INTERVAL, DOUBLING_PARAMS };

static void doubling(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    (void)state;
    set_all(f, out, fmin(param[MOST], ldexp(out->own, (int)fmin(1000, floor((double)epoch_of(f) / param[INTERVAL])))));
}

static const struct sg_parameter doubling_params[DOUBLING_PARAMS] = {
    [MOST] = {"most", 0, 1e18, NAN, false, "largest value of the knob"},
    [INTERVAL] = {"interval", 1, 1e9, 10, true, "epochs between doublings"},
};

const struct sg_controller_ops sg_control_doubling = {
    .name = "doubling",
    .summary = "doubles the knob at intervals",
    .source = "Guo et al., ICASSP 2020",
    .params = doubling_params,
    .n_params = DOUBLING_PARAMS,
    .n_knobs = 1,
    .decide = doubling,
};
