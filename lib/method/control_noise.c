/* control_noise.c: thresholds that follow the noise of gradients: lambda_l = own sigma_l^power, by layer and time.
 *
 * sigma_l is the standard deviation of an entry of the layer: sigma_l^2 is a moving mean of |g_l|^2 / n_l of worker 0's
 * gradients, measured every so many steps. Under the law of a random walk (lib/theory/sg_lambda_rules.h) a layer of n_l
 * entries with threshold lambda_l sends n_l sigma_l^2 / lambda_l^2 of them a step and keeps a squared error of
 * n_l lambda_l^2 / 6. Of all thresholds that send as much over all layers and steps, lambda_l^2 in proportion to
 * sigma_l has the least error: the derivatives of error and volume are in one proportion. A constant threshold has the
 * least for given vectors without feedback (Lemma 3). So `power` is 1/2.
 *
 * Adam moves x by g over the root of a mean of g^2, so that an error counts by its size over sigma_l. Of the thresholds
 * above, lambda_l in proportion to sigma_l has the least sum of n_l lambda_l^2 / (6 sigma_l^2): `power` 1, under which
 * every layer sends the same share. These derivations are the project's own, without a publication. */
#include <math.h>

#include "method_private.h"

enum { EVERY, MEMORY, POWER, PARAMS };

/* The state: how many measurements were made, then sigma_l^2 [layers]. */
static size_t doubles(size_t layers) {
    return 1 + layers;
}

static unsigned ask(const double *param, const double *state, const struct sg_facts *f) {
    (void)state;
    return f == NULL || f->step % (uint64_t)param[EVERY] == 0 ? SG_ASK_LEAD_NOW : 0;
}

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    double *seen = state, *variance = state + 1, whole = 0;
    if (f->lead_square != NULL)
        *seen += 1;
    for (size_t l = 0; l < f->layers; l++) {
        const double n = (double)(f->offset[l + 1] - f->offset[l]);
        if (f->lead_square != NULL && n > 0) /* a plain mean until there are `memory` measurements */
            variance[l] += (f->lead_square[l] / n - variance[l]) / fmin(*seen, param[MEMORY]);
        whole += variance[l] * n / (double)f->d;
    }
    for (size_t l = 0; l < f->layers; l++) { /* a layer without gradients so far has the model's mean */
        const double sigma = sqrt(variance[l] > 0 ? variance[l] : whole);
        const double scale = param[POWER] == 0.5 ? sqrt(sigma) : pow(sigma, param[POWER]);
        out->knob[l] = sigma > 0 ? out->own * scale : out->own;
    }
}

static const struct sg_parameter params[PARAMS] = {
    [EVERY] = {"every", 1, 1e9, 10, true, "steps between two measurements"},
    [POWER] = {"power", 0, 2, 0.5, false,
               "exponent of sigma_l; 1 is for optimizers that divide by the gradient's size"},
    [MEMORY] = {"memory", 1, 1e9, 5, true, "measurements that the moving mean goes back"},
};

const struct sg_controller_ops sg_control_noise = {
    .name = "noise",
    .summary = "a threshold that follows the noise: in each layer the method's own times a power of an entry's sigma",
    .source = "the project's own, from the law of a random walk between -lambda and lambda",
    .params = params,
    .n_params = PARAMS,
    .needs_threshold = true,
    .doubles = doubles,
    .ask = ask,
    .decide = decide,
};
