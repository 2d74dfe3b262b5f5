/* sg_rules.h: thresholds by the paper's rules (section 6, "How to tune the hard-threshold?").
 *
 *   simple     lambda = 1 / (2 sqrt k)
 *   estimated  lambda = (2 / sqrt k) sqrt((2 d / k + M) zeta^2 + sigma^2)
 * with k the elements that Top-k sends a step of all d, and M, zeta^2, sigma^2 from a pilot (sg_noise.h). */
#ifndef SG_RULES_H
#define SG_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "sg_noise.h"
#include "sg_recipe.h"
#include "sg_status.h"

double sg_rule_simple(double k);
/* *error (may be NULL) <- its standard error by the delta method, from those of the constants taken as independent; at lambda =
 * 0, where that has none, how far one standard error of what is under the root moves it. zeta^2 and sigma^2 count also where
 * they are held at 0; M does not where zeta^2 is 0, for there it is multiplied by that. NaN where an error it needs is. */
double sg_rule_estimated(double k, double d, const struct sg_noise_constants *constants, double *error);

/* A Top-k of the recipe, the first that sends so much, and the thresholds in its place. */
struct sg_rule {
    const struct sg_cell *cell;
    double k; /* elements a step over all layers */
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
    const struct sg_recipe *recipe; /* of the pilot: as long as the pilot is to be */
    const struct sg_cell *pilot;    /* a cell of it */
    const char *data_dir, *device;
    int threads;    /* 0 = cores */
    size_t points;  /* along the pilot, >= 1: at its steps i T / points */
    size_t repeats; /* draws of each worker at each point, >= SG_NOISE_REPEATS; 0 = exactly, where the task can */
    int (*stop)(void);
    void (*progress)(const char *what, double done, double total);
    void (*notice)(const char *message);
};

/* Run the pilot and fit. cells [count]: of the recipe whose Top-k methods are wanted, borrowed; SG_ERR_ARGUMENT if it has
 * none. */
SG_CHECKED sg_status sg_rules_measure(struct sg_rules *out, const struct sg_cell *cells, size_t count,
                                      const struct sg_rules_options *options, struct sg_error *err);
/* {"pilot":{"method","seed","steps","repeats"},"d","M":…,"rules":[{"of","k","lambda_simple","lambda_estimated",
 *  "standard_error"}]} with the members of sg_noise_json; NULL = no memory. */
cJSON *sg_rules_json(const struct sg_rules *rules);
void sg_rules_free(struct sg_rules *rules); /* zeroes it */

#endif
