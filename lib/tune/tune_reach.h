/* tune_reach.h: what the files of --reach-baseline share. */
#ifndef TUNE_REACH_H
#define TUNE_REACH_H

#include "tune_private.h"

enum { REACH_POINTS = 64 };

/* A lambda that was run. */
struct reach_point {
    double lambda, value, entries; /* value NaN = the run diverged; entries of a step */
    double base;                   /* the baseline's value at this length and these seeds */
    size_t seeds;                  /* the first ones of the recipe, over which these are means */
    const char *spelling;          /* as the recipe spells its own lambda; NULL = four digits */
};

struct reach {
    struct sg_tune *t;
    const char *metric, *name, *baseline;
    bool higher;                        /* larger values are better */
    double tolerance, base, base_first; /* the baseline's value at this length, mean over the seeds and at the first */
    double base_steps;                  /* its length */
    size_t seeds;
    const struct sg_node *given; /* the method's lambda in the recipe: one to replace, or a list that is kept */
    struct tune_targets topk;
    struct tune_length length;
    struct reach_point whole[REACH_POINTS];
    size_t n_whole;
    const struct reach_point *best, *next; /* what was found, and the smallest larger lambda that fails (NULL: none) */
    cJSON *trials;
};

/* Within the tolerance of the baseline's value `base`? */
bool reach_is_near(const struct reach *r, double value, double base);
/* "methods.NAME.lambda=[…]" of p [n]. false = no memory. */
bool reach_set_lambdas(struct tune_sets *sets, const struct reach *r, const struct reach_point *p, size_t n);
/* Opens and runs the cells of method `name` (NULL = of all), for `steps` steps (NaN = whole runs). */
SG_CHECKED sg_status reach_run(struct tune_trials *b, struct reach *r, struct tune_sets *sets, const char *name,
                               double steps, size_t seeds, struct sg_error *err);

/* Makes the evidence: all whole runs at all seeds, Top-k's too, as a result with a plot of metric over volume. Adds
 * r->trials. */
SG_CHECKED sg_status reach_document(struct reach *r, struct sg_error *err);

#endif
