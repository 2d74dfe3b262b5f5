/* control_noise.c: thresholds that follow the noise of gradients: lambda_l = own sigma_l^power / gamma^rate-power, by
 * layer and time, with gamma the learning rate.
 *
 * sigma_l is the standard deviation of an entry of the layer: sigma_l^2 is a moving mean of |g_l|^2 / n_l of worker 0's
 * gradients, measured every so many steps. Under the law of a random walk (lib/theory/sg_lambda_rules.h) a layer of n_l
 * entries with threshold lambda_l sends n_l sigma_l^2 / lambda_l^2 of them a step and keeps a squared error of
 * n_l lambda_l^2 / 6. Of all thresholds that send as much over all layers and steps, lambda_l^2 in proportion to
 * sigma_l has the least error: the derivatives of error and volume are in one proportion. A constant threshold has the
 * least for given vectors without feedback (Lemma 3). So `power` is 1/2.
 *
 * Which squares count depends on what an error does. x moves by gamma e_l when it is sent, so let ||gamma e_l||^2
 * count, and let a layer's curvature be in proportion to sigma_l^2, as it is where the Hessian is near the Fisher
 * matrix. The least sum of gamma^2 sigma_l^(2 m) n_l lambda_l^2 / 6 is at lambda_l^2 in proportion to
 * sigma_l^(1 - m) / gamma: `power` (1 - m) / 2 and `rate-power` 1/2. Without weights of layers, m = 0, `power` is 1/2.
 * For what e costs of the loss, e' H e, m = 1 and `power` is 0: one threshold. For what it changes of the gradient,
 * |H e|^2, m = 2 and `power` is -1/2. Adam divides g by the root of a mean of g^2, so that an error counts by its size
 * over sigma_l: m = -1 and `power` 1, under which every layer sends the same share.
 *
 * Where one threshold never reaches a layer, nothing of it is sent. `floor` is the least share of a layer's entries
 * that it sends under the law: no lambda_l is above sigma_l / sqrt(floor). These derivations are the project's own,
 * without a publication. That a threshold should follow the step size is gamma-FedHT's (arXiv 2505.12479). */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "method_private.h"

enum { EVERY, MEMORY, POWER, FLOOR, RATE, PARAMS };

/* The state: how many measurements were made, then sigma_l^2 [layers]. */
static size_t doubles(size_t layers) {
    return 1 + layers;
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)state;
    return !f || f->step % (uint64_t)param[EVERY] == 0 ? SG_ASK_LEAD_NOW : 0;
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    double *seen = state, *variance = state + 1, whole = 0;
    if (f->lead_square)
        *seen += 1;
    for (size_t l = 0; l < f->layers; l++) {
        const double n = (double)(f->offset[l + 1] - f->offset[l]);
        if (f->lead_square && n > 0) /* a plain mean until there are `memory` measurements */
            variance[l] += (f->lead_square[l] / n - variance[l]) / fmin(*seen, param[MEMORY]);
        whole += variance[l] * n / (double)f->d;
    }
    for (size_t l = 0; l < f->layers; l++) { /* a layer without gradients so far has the model's mean */
        if (out->own == 0) {                 /* whatever its factor, which may be infinite */
            out->knob[l] = 0;
            continue;
        }
        const double sigma = sqrt(variance[l] > 0 ? variance[l] : whole);
        const double scale = param[POWER] == 0.5 ? sqrt(sigma) : pow(sigma, param[POWER]);
        out->knob[l] = sigma > 0 ? out->own * scale : out->own;
        if (param[RATE] != 0 && f->gamma > 0)
            out->knob[l] *= pow(f->gamma, -param[RATE]);
        if (sigma > 0 && param[FLOOR] > 0)
            out->knob[l] = fmin(out->knob[l], sigma / sqrt(param[FLOOR]));
    }
}

static const struct sg_parameter params[PARAMS] = {
    [EVERY] = {"every", 1, 1e9, 10, true, "steps between measurements"},
    [POWER] = {"power", -2, 2, 0.5, false, "exponent of sigma_l: 0 = one threshold, 1 = one density"},
    [FLOOR] = {"floor", 0, 1, 0, false, "least density of a layer under the law"},
    [RATE] = {"rate-power", -2, 2, 0, false, "exponent of 1 / learning rate, a second factor"},
    [MEMORY] = {"memory", 1, 1e9, 5, true, "measurements in the moving mean"},
};

const struct sg_controller_ops sg_control_noise = {
    .name = "noise",
    .summary = "multiplies a layer's threshold by a power of its entries' noise sigma_l",
    .source = "the project's own, from the law of a random walk between -lambda and lambda",
    .params = params,
    .n_params = PARAMS,
    .needs_threshold = true,
    .doubles = doubles,
    .ask = ask,
    .decide = decide,
};
