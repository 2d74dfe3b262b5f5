/* tune_search.h: the search over one knob of a method. It tries values in runs, and chooses the next value from the
 * amount that these runs send, or from their quality. */
/* SPDX-License-Identifier: MIT */
#ifndef TUNE_SEARCH_H
#define TUNE_SEARCH_H

#include "sg_lambda_rules.h"
#include "tune_private.h"

enum { TUNE_GOALS = 64, TUNE_POINTS = 1024 };

/* A value of the knob that was tried. */
struct tune_point {
    double value;
    double amount;  /* sent at a step, in the unit of the search: mean over the seeds */
    bool estimated; /* amount is that of the first seed, times the ratio of all seeds to the first at another value */
    size_t seeds;   /* the first ones of the recipe, over which these are means */
    double quality; /* mean of the metric; NaN = a run diverged, or no metric is used */
    /* Of a pilot by the law: entries a step of a whole run, all entries of the pilot itself, |g_i|^2 in the mean. */
    double entries, entries_once, gradient;
    double base;          /* the baseline's, at this length and these seeds */
    const char *spelling; /* of a value that the recipe gives; NULL = written as four digits, or as a whole number */
};

/* An amount that is wanted. */
struct tune_goal {
    char label[128]; /* of the cell that sends as much; "" = none */
    double target;
    double guess;      /* a first value, which sends about as much */
    double share;      /* the target as a share of 32 bits for every element */
    double bytes;      /* that the cell of `label` sends in its whole run; 0 = the share is given */
    double value;      /* the nearest value so far, and the next one to try */
    double reached;    /* the amount of `value` at all seeds; 0 = not tried at all seeds */
    bool done, missed; /* done: the search for it has ended; missed: outside the tolerance */
    int repeats;       /* how often another value had the same amount */
};

/* The unit of the amount that a worker sends at a step. */
enum tune_unit { TUNE_ENTRIES, TUNE_BYTES };

struct tune_search {
    struct sg_tune *t;
    const struct tune_changes *changes; /* of all trials; NULL = none */
    enum tune_unit unit;
    double tolerance, d, steps_per_epoch;
    size_t seeds;
    const char *metric; /* measures the quality of runs, which may then diverge; NULL = quality is not measured */
    bool higher;        /* larger values of it are better */
    struct tune_margin margin;
    double base, base_first; /* the baseline's value of it at this length: mean over the seeds, and at the first */
    /* of the method */
    const char *name, *key;
    bool integer, rises; /* the knob takes whole numbers; the amount rises with it */
    double min, max;
    struct tune_length length;
    struct tune_goal goal[TUNE_GOALS];
    size_t n_goals;
    struct tune_point point[TUNE_POINTS]; /* of this stage, each value once */
    size_t n_points;
    bool by_law;            /* the knob is a lambda for which the law holds; its pilot sets the next two */
    struct sg_walk_law law; /* of noise alone, from the gradients of the pilot */
    double law_unit;        /* amount of an entry */
    double slope;           /* of ln amount over -ln value, the current estimate */
    double mean_of_first, pilot_steps;
    cJSON *trials;
};

/* Sets the members that all searches of an action share, and zeroes the others. tolerance: the action's default. */
void tune_search_open(struct tune_search *s, struct sg_tune *t, enum tune_unit unit, double tolerance);
/* Runs one step of every Top-k method, and makes what each sends a goal, in recipe order and once. It sets d and
 * steps_per_epoch, too. It is an error if there is no Top-k. */
SG_CHECKED sg_status tune_topk_goals(struct tune_search *s, struct sg_error *err);
/* Starts the search for the method of `cell`. key: the name of the knob; `parameter`: its row, or NULL. */
void tune_search_start(struct tune_search *s, const struct sg_cell *cell, const char *key,
                       const struct sg_parameter *parameter);

/* Rounds x to the nearest value that is valid for the knob and can be written in a recipe. */
double tune_possible(const struct tune_search *s, double x);
/* Tries p [n], distinct valid values: fills in the measured members, and adds a trial to the evidence for each. Runs
 * shorter than `length` are pilots. */
SG_CHECKED sg_status tune_measure(struct tune_search *s, struct tune_point *p, size_t n, double steps, size_t seeds,
                                  struct sg_error *err);
/* Adds the change that gives the knob the values of p [n]. */
void tune_change_values(struct tune_changes *c, const struct tune_search *s, const struct tune_point *p, size_t n);
/* True if the quality of a point is within the margin of its baseline's. */
bool tune_reaches(const struct tune_search *s, const struct tune_point *p);
/* The steps of a pilot of this share of a run. */
double tune_pilot_steps(const struct tune_search *s, double share, double least);

/* ---- stages: each starts without the points of the previous stage ---- */

/* Tries each goal's value, or with `spread` two values around it, and solves for the next value. fit: the slope is
 * fitted to these points and kept; else the current slope is used. */
SG_CHECKED sg_status tune_pilot(struct tune_search *s, double steps, bool spread, bool fit, struct sg_error *err);
/* True if the law of a random walk is that of this method: hard-threshold with a lambda of its own, whose residual is a
 * sum of gradients. */
bool tune_law_holds(const struct sg_cell *cell);
/* Tries the value of the middle goal, and solves for all goals by the law. by_law is true, and d is known. */
SG_CHECKED sg_status tune_law_pilot(struct tune_search *s, double steps, struct sg_error *err);
/* Tries `start` and a distant value at the first seed, to find whether the amount rises or falls with the knob, and
 * about where the goals are. */
SG_CHECKED sg_status tune_find_direction(struct tune_search *s, double start, double steps, struct sg_error *err);

struct tune_refine {
    double steps;
    size_t first, seeds; /* values near their goal at the `first` seeds are tried at all `seeds` */
    double near;         /* relative distance that counts as near; within the tolerance is near, too */
    int turns;
    bool middle_first; /* the middle goal runs first, and its extrapolation error corrects the others */
    bool strict;       /* stops at the first goal that is missed; else each gets the nearest value */
    bool goes_on;      /* keeps the points of the previous stage, which had the same number of steps */
};
/* Tries and solves until all goals are within the tolerance, or cannot be. */
SG_CHECKED sg_status tune_refine(struct tune_search *s, const struct tune_refine *how, struct sg_error *err);

/* {"method","run_steps","pilot_steps","trials"}; takes the trials. */
cJSON *tune_search_json(struct tune_search *s);
/* Makes room in f for n values of the method, all 0; f->n counts those that are filled in. */
void tune_found_open(struct tune_found *f, const struct tune_search *s, size_t n);

/* ---- all methods ---- */

/* The steps of an action that fills in a recipe. */
struct tune_matching {
    const char *action, *targets; /* "match-bytes", "budgets" */
    const char *compressor;       /* of the cells in its evidence; NULL = any */
    tune_key_fn *key_of;
    /* found, evidence <- of the method of `cell` */
    sg_status (*method)(struct tune_search *s, const struct sg_cell *cell, struct tune_found *found, cJSON **evidence,
                        struct sg_error *err);
    sg_status (*judge)(const struct tune_search *s, const struct tune_found *found, size_t n, struct sg_error *err);
};
/* Runs the action, and makes the recipe and the evidence: {"action","tolerance","methods":[…]} added to take_tune. */
SG_CHECKED sg_status tune_match_methods(struct tune_search *s, const struct tune_matching *how, cJSON *take_tune,
                                        struct sg_error *err);

/* ---- the curve, from points whose amount falls ---- */

/* The value at which `target` is sent, from points: interpolated between the two that enclose it, else extrapolated
 * from the nearest, along amount ~ value^-slope. */
double tune_solve(const struct tune_point *points, size_t n, double target, double slope);
/* The slope of ln amount over -ln value, by least squares over the points, clipped to [0.5, 4]. If the points determine
 * no slope, it is 2, the slope of a random walk that is sent when it reaches lambda. */
double tune_slope(const struct tune_point *points, size_t n);
/* The slope of ln amount over -ln value through the two points nearest to the target; n >= 1. */
double tune_secant(const struct tune_point *points, size_t n, double target);

#endif
