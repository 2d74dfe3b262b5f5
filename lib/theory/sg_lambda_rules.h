/* sg_lambda_rules.h: thresholds by the paper's rules (section 6, "How to tune the hard-threshold?").
 *
 *   simple     lambda = 1 / (2 sqrt k)
 *   estimated  lambda = (2 / sqrt k) sqrt((2 d / k + M) zeta^2 + sigma^2)
 * k is how many of all d elements Top-k sends at a step. A pilot run measures M, zeta^2 and sigma^2
 * (sg_gradient_noise.h). */
#ifndef SG_LAMBDA_RULES_H
#define SG_LAMBDA_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "sg_gradient_noise.h"
#include "sg_recipe.h"
#include "sg_status.h"
#include "sg_theory.h"

double sg_rule_simple(double k);
/* *error <- the standard error of the result, by the delta method, with the errors of the constants taken as
 * independent; error may be NULL. At lambda = 0 the delta method gives none; then *error is how far one standard error
 * of the expression under the root moves lambda. Errors of zeta^2 and sigma^2 count even if these are held at 0. The
 * error of M does not count if zeta^2 is 0, because M is multiplied by it. *error is NaN if an error that counts is
 * NaN. */
double sg_rule_estimated(double k, double d, const struct sg_noise_constants *constants, double *error);

/* The first Top-k of the recipe that sends k elements, and the thresholds that may replace it. */
struct sg_rule {
    const struct sg_cell *cell;
    double k; /* elements sent at a step, over all layers */
    double simple, estimated, estimated_error;
};

struct sg_rules {
    const struct sg_cell *pilot;
    uint64_t pilot_steps;
    size_t d, repeats;
    struct sg_noise_points points;
    struct sg_noise_constants constants;
    struct sg_rule *rule; /* [count] in recipe order, one for each k */
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
 * "standard_error"}]}, and the members of sg_noise_json. NULL = no memory. */
cJSON *sg_rules_json(const struct sg_rules *rules);
void sg_rules_free(struct sg_rules *rules); /* zeroes it */

#endif
