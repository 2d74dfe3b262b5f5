/* tune_bytes.h: what the files of --match-bytes share: a search, and what is kept of it. */
#ifndef TUNE_BYTES_H
#define TUNE_BYTES_H

#include "tune_private.h"

enum { BUDGETS = 8, POINTS = 64 };

struct goal {
    double target; /* bytes of a worker at a step */
    double value, bytes;
    int repeats; /* how often another value gave no other bytes */
};

struct search {
    struct sg_tune *t;
    double tolerance, budget[BUDGETS]; /* as shares of what 32 bits for every element take */
    size_t n, seeds;
    double d;
    /* the method being tuned */
    const char *name, *key;
    const struct sg_parameter *parameter;
    double start;
    bool rises; /* do the bytes rise with the value? */
    struct tune_length length;
    struct goal goal[BUDGETS];
    struct tune_point point[POINTS]; /* what was measured at this stage, values as in `mapped` */
    size_t n_points;
    double slope, pilot_steps;
    cJSON *trials;
};

/* Are these bytes within the tolerance of the goal? */
bool bytes_hits(const struct search *s, const struct goal *goal, double bytes);

/* *f <- what was found for the method of the search. */
SG_CHECKED sg_status bytes_keep(struct tune_found *f, const struct search *s, struct sg_error *err);
/* *f <- that nothing was found, for this reason. Where the recipe's method says `match` it gets the value that the
 * search began with. */
SG_CHECKED sg_status bytes_keep_failed(struct tune_found *f, const struct search *s, const struct sg_node *method,
                                       const char *reason, struct sg_error *err);
/* The evidence of a method, which takes s->trials; failed: why nothing was found, or NULL. */
cJSON *bytes_json(const struct search *s, const char *failed);
/* Fails where nothing was found for any of the n methods; else t->failed says how many have nothing. */
SG_CHECKED sg_status bytes_judge(struct sg_tune *t, const struct tune_found *found, size_t n, struct sg_error *err);

#endif
