/* tune_search.h: the search over one knob of a method: values are tried in runs, and what these send, or how good they
 * are, tells which to try next. */
#ifndef TUNE_SEARCH_H
#define TUNE_SEARCH_H

#include "tune_private.h"

enum { TUNE_GOALS = TUNE_DENSITIES, TUNE_POINTS = 1024 };

/* A value of the knob that was tried. */
struct tune_point {
    double value;
    double amount;        /* sent at a step, in the unit of the search: mean over the seeds */
    bool estimated;       /* amount: that of the first seed, times what all seeds sent of another value's first */
    size_t seeds;         /* the first ones of the recipe, over which these are means */
    double quality;       /* mean of the metric; NaN = a run diverged, or it is not looked at */
    double base;          /* the baseline's, at this length and these seeds */
    const char *spelling; /* as the recipe spells its own value; NULL = four digits, or a whole number */
};

/* An amount that is wanted. */
struct tune_goal {
    const char *label; /* where it comes from, for messages; may be NULL */
    double target;
    double value;      /* the nearest value so far, and the next one to try */
    double reached;    /* its amount at all seeds; 0 = it was not tried at all seeds */
    bool done, missed; /* nothing more is to be tried; missed: although it is not within the tolerance */
    int repeats;       /* how often another value had the same amount */
};

/* In what a search counts what a worker sends at a step. */
enum tune_unit { TUNE_ENTRIES, TUNE_BYTES };

struct tune_search {
    struct sg_tune *t;
    void *arg;                          /* of the action that searches */
    const struct tune_changes *changes; /* of all trials; NULL = none */
    enum tune_unit unit;
    double tolerance, d, steps_per_epoch;
    size_t seeds;
    const char *metric;      /* by which runs are judged, which may diverge then; NULL = by nothing */
    bool higher;             /* larger values of it are better */
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
    double slope; /* of ln amount over -ln value, as far as it is known */
    double mean_of_first, pilot_steps;
    cJSON *trials;
};

/* Zeroes it but for what every search of an action needs; tolerance: the action's own. */
void tune_search_open(struct tune_search *s, struct sg_tune *t, enum tune_unit unit, double tolerance);
/* Begins the search of another method, that of `cell`. key: the knob, of which `parameter` may be NULL. */
void tune_search_start(struct tune_search *s, const struct sg_cell *cell, const char *key,
                       const struct sg_parameter *parameter);

/* The value that is nearest to x among those that the knob can have and a recipe can spell. */
double tune_possible(const struct tune_search *s, double x);
/* Tries p [n], possible values, each another one: fills in what is measured, and adds a trial to the evidence for each.
 * Runs shorter than `length` are pilots. */
SG_CHECKED sg_status tune_measure(struct tune_search *s, struct tune_point *p, size_t n, double steps, size_t seeds,
                                  struct sg_error *err);
/* The knob gets the values of p [n]. */
void tune_change_values(struct tune_changes *c, const struct tune_search *s, const struct tune_point *p, size_t n);
/* Does the quality of a point come within the tolerance of its baseline's? */
bool tune_reaches(const struct tune_search *s, const struct tune_point *p);
/* The steps of a pilot of this share of a run. */
double tune_pilot_steps(const struct tune_search *s, double share, double least);

/* ---- stages: each forgets the points of the one before ---- */

/* Tries each goal's value, if `spread` as two around it, and solves for the next. fit: the slope of these points is
 * kept, else the one that is known serves. */
SG_CHECKED sg_status tune_pilot(struct tune_search *s, double steps, bool spread, bool fit, struct sg_error *err);
/* Tries `start` and a value that is far from it at the first seed: which way does the amount go, and about where are
 * the goals? */
SG_CHECKED sg_status tune_find_direction(struct tune_search *s, double start, double steps, struct sg_error *err);

struct tune_refine {
    double steps;
    size_t first, seeds; /* values that are near their goal at the `first` seeds are tried at all these `seeds` */
    double near;         /* relative: that is near, beside what is within the tolerance */
    int turns;
    bool middle_first; /* one goal's error of extrapolation helps the others */
    bool strict;       /* stops at the first goal that is missed; else each gets the nearest value */
    bool goes_on;      /* with the points of the stage before, which had the same steps */
};
/* Tries and solves until all goals are within the tolerance, or cannot be. */
SG_CHECKED sg_status tune_refine(struct tune_search *s, const struct tune_refine *how, struct sg_error *err);

/* {"method","run_steps","pilot_steps","trials"}; takes the trials. */
cJSON *tune_search_json(struct tune_search *s);
/* Makes room in f for n values of the method, all 0; f->n counts those that are filled in. */
SG_CHECKED sg_status tune_found_open(struct tune_found *f, const struct tune_search *s, size_t n, struct sg_error *err);

/* ---- all methods ---- */

/* What an action that fills in a recipe does for each method that it tunes. */
struct tune_matching {
    const char *action, *targets; /* "match-bytes", "budgets" */
    const char *compressor;       /* of the cells in its evidence; NULL = any */
    tune_key_fn *key_of;
    /* found, evidence <- of the method of `cell` */
    sg_status (*method)(struct tune_search *s, const struct sg_cell *cell, struct tune_found *found, cJSON **evidence,
                        struct sg_error *err);
    sg_status (*judge)(const struct tune_search *s, const struct tune_found *found, size_t n, struct sg_error *err);
};
/* Runs it and makes the recipe and the evidence, {"action","tolerance","methods":[…]} and what take_tune has. */
SG_CHECKED sg_status tune_match_methods(struct tune_search *s, const struct tune_matching *how, cJSON *take_tune,
                                        struct sg_error *err);

/* ---- the curve, from points whose amount falls ---- */

/* The value at which `target` is sent, from points: interpolated between the two that enclose it, else extrapolated
 * from the nearest, along amount ~ value^-slope. */
double tune_solve(const struct tune_point *points, size_t n, double target, double slope);
/* The slope of ln amount over -ln value, by least squares over the points, kept within [0.5, 4]. If the points do not
 * tell, it is 2, the slope of a random walk that leaves at lambda. */
double tune_slope(const struct tune_point *points, size_t n);
/* The same slope through the two points nearest to the target; n >= 1. */
double tune_secant(const struct tune_point *points, size_t n, double target);

#endif
