/* sg_lambda_rules.h: thresholds by the paper's rules (section 6, "How to tune the hard-threshold?"), and the one that
 * sends as much as Top-k.
 *
 *   simple     lambda = 1 / (2 sqrt k)
 *   estimated  lambda = (2 / sqrt k) sqrt((2 d / k + M) zeta^2 + sigma^2)
 *   noise      lambda = sqrt(mean |g_i|^2 / k)
 * k is how many of all d elements Top-k sends at a step. A pilot run measures M, zeta^2, sigma^2 (sg_gradient_noise.h)
 * and mean |g_i|^2 = mean |grad f_i|^2 + E|xi_i|^2 of stochastic gradients.
 *
 * The rule `noise` is the law of a random walk. Under error feedback on the gradient's scale and with noise that is
 * large beside the mean, an entry of the residual is a sum of gradients, which is sent and set to 0 when it leaves
 * (-lambda, lambda). From 0 a walk with variance v a step takes lambda^2 / v steps to leave, so a step sends
 * mean |g_i|^2 / lambda^2 entries. Between two messages its square is lambda^2 / 6 in the mean, so error_norm is
 * d lambda^2 / 6, where every entry has gradients. The law needs lambda to be large beside the noise of a step; a k
 * near d is out of its reach. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_LAMBDA_RULES_H
#define SG_LAMBDA_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "sg_gradient_noise.h"
#include "sg_recipe.h"
#include "sg_status.h"
#include "sg_theory.h"

/* ---- the law of a whole run ---- */

/* What the law of a random walk says of a run that starts with no residual.
 *
 * After s mean times between two messages an entry has sent s - 1/6 in the mean: the first walk begins at 0 as all
 * others do, and the square of such a time is 5/3 of its mean's in the mean (renewal theory). Before, it has sent what
 * leaves at all, 2 erfc(1 / sqrt(2 s)) in the mean. A step ends beyond lambda, by 0.5826 of its noise in the mean where
 * this is Gaussian (Siegmund, Sequential Analysis, 1985), so lambda + 0.5826 sqrt(v) counts. An entry whose gradients
 * also have a mean mu leaves after (lambda / mu) tanh(mu lambda / v) steps, where v is their variance, which is the
 * exit time of a Brownian motion with drift. With mu lambda / v = drift lambda, one number for all entries, it sends
 * drift lambda / tanh(drift lambda) times as often as without a mean: as 1 / lambda^2 while drift lambda is small, and
 * as 1 / lambda where it is large. */
struct sg_walk_law {
    double gradient; /* mean |g_i|^2 over the run, > 0 */
    double drift;    /* mu / v, >= 0; 0 = noise alone */
    double d, steps; /* elements, and steps of the run, >= 1 */
};
/* The entries that a worker sends at a step, in the mean over the run; lambda > 0. It falls with lambda. */
double sg_walk_sent(const struct sg_walk_law *law, double lambda);
/* Makes the law send `sent` > 0 entries a step at lambda > 0: more than noise alone is a drift, less is less noise.
 * More than d cannot be sent, and counts as d. */
void sg_walk_fit(struct sg_walk_law *law, double lambda, double sent);
/* The lambda that sends `sent` > 0 entries a step. */
double sg_walk_lambda(const struct sg_walk_law *law, double sent);

/* ---- the rules ---- */

double sg_rule_simple(double k);
/* gradient: mean |g_i|^2. */
double sg_rule_noise(double k, double gradient);
/* *error <- the standard error of the result, by the delta method, with the errors of the constants taken as
 * independent; error may be NULL. At lambda = 0 the delta method gives none; then *error is how far one standard error
 * of the expression under the root moves lambda. Errors of zeta^2 and sigma^2 count even if these are held at 0. The
 * error of M does not count if zeta^2 is 0, because M is multiplied by it. *error is NaN if an error that counts is
 * NaN. */
double sg_rule_estimated(double k, double d, const struct sg_noise_constants *constants, double *error);

/* The first Top-k of the recipe that sends k elements, and the thresholds that may replace it. */
struct sg_rule {
    const struct sg_cell *cell;
    double k;                                                      /* elements sent at a step, over all layers */
    double simple, estimated, estimated_error, noise, noise_error; /* errors are standard errors */
};

struct sg_rules {
    const struct sg_cell *pilot;
    uint64_t pilot_steps;
    size_t d, repeats;
    struct sg_noise_points points;
    struct sg_noise_constants constants;
    double gradient, gradient_error; /* mean |g_i|^2 over points and workers; its standard error over the points */
    struct sg_rule *rule;            /* [count] in recipe order, one for each k */
    size_t count;
};

struct sg_rules_options {
    struct sg_theory_options how; /* its recipe is the pilot's, and determines the length of the pilot */
    const struct sg_cell *pilot;  /* a cell of this recipe */
    size_t points;                /* points along the pilot, >= 1, at its steps i T / points */
    size_t repeats; /* draws of each worker at each point, >= SG_NOISE_REPEATS; 0 = exactly, if the task can */
};

/* Runs the pilot and fits the constants. cells [count] are those of the recipe whose Top-k methods are wanted; they are
 * borrowed. */
SG_CHECKED sg_status sg_rules_measure(struct sg_rules *out, const struct sg_cell *cells, size_t count,
                                      const struct sg_rules_options *options, struct sg_error *err);
/* {"pilot":{"method","seed","steps","repeats"},"d","M":…,"rules":[{"of","k","lambda_simple","lambda_estimated",
 * "standard_error","lambda_noise","noise_error","error_norm"}],"gradient_norm":…}, and the members of sg_noise_json.
 * "error_norm" is what the law predicts of lambda_noise. */
cJSON *sg_rules_json(const struct sg_rules *rules);
void sg_rules_free(struct sg_rules *rules); /* zeroes it */

#endif
