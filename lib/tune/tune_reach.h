/* tune_reach.h: what the files of --reach-baseline share. */
#ifndef TUNE_REACH_H
#define TUNE_REACH_H

#include "tune_search.h"

enum { REACH_POINTS = 64 };

struct reach {
    struct tune_search search; /* its points are the whole runs */
    const char *baseline;
    double base_steps;                    /* the baseline's length */
    const struct sg_node *given;          /* the method's lambda in the recipe: a number is replaced, a list is kept */
    const struct tune_point *best, *next; /* what was found, and the smallest larger lambda that fails (NULL: none) */
};

/* Makes the evidence: all whole runs at all seeds, Top-k's too, as a result with a plot of metric over volume. */
SG_CHECKED sg_status reach_document(struct reach *r, struct sg_error *err);

#endif
