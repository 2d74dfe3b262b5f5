/* sg_feedback_oracle.h: the least error that error feedback can leave of given gradients, for a number of entries sent.
 *
 * Gradients g_i(t) of n workers are given, and do not depend on what is sent. An entry's residual is e + g before a
 * message; one that is sent becomes 0, any other stays. Which entries are sent at which steps is free, and may be
 * chosen with all gradients known. Of all choices that send K entries, over all workers and steps, two errors are asked
 * for:
 *
 *   own   sum over t of (1/n) sum_i |e_i|^2
 *   mean  sum over t of |(1/n) sum_i e_i|^2
 *
 * Of `own` the entries of all workers are independent but for K. With a price for every entry sent, the best steps of
 * one entry come from dynamic programming over the step of its last message, in T^2 / 2 operations. The sum over all
 * entries less price * K is a lower bound for every price (weak duality), and at the best price no more than one
 * entry's steps from what can be attained: `attained` is the error of the choice for the lowest price that sends at
 * most K.
 *
 * Of `mean` the workers' choices for one entry depend on each other, and the best is not known. The bound lets every
 * message add any number to the mean residual, where really it takes away e_i / n of the worker that sends. It is then
 * the best approximation of the sum of the mean gradients by a function of as many jumps, by the same programming
 * (optimal partitioning; Jackson et al., IEEE Signal Processing Letters 2005). `attained` is a rule that looks at the
 * residuals of all workers, but at no later gradient: at every step, while a worker's message of an entry makes the
 * square of the mean residual smaller by a threshold or more, the one that makes it smallest is sent. Both derivations
 * are the project's own. */
#ifndef SG_FEEDBACK_ORACLE_H
#define SG_FEEDBACK_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"

struct sg_feedback_gradients {
    uint64_t steps;
    size_t workers, d;
    /* g [d] <- the gradient of a worker at a step, which is asked for more than once */
    sg_status (*read)(void *of, uint64_t step, size_t worker, float *g, struct sg_error *err);
    void *of;
};

struct sg_feedback_error {
    double bound, bound_price; /* no choice of at most K entries has less; the price that shows it, in squares summed
                                  over workers, or of the mean */
    double attained;           /* the least error of a choice that was found, */
    uint64_t attained_sent;    /* how many entries it sends, K at most, */
    double attained_price;     /* and the price or the threshold of the rule */
};

struct sg_feedback_least {
    uint64_t sent; /* K; set by the caller */
    struct sg_feedback_error own, mean;
};

struct sg_feedback_options {
    int threads;       /* >= 1; has no influence on results */
    int (*stop)(void); /* returns the number of a pending signal or 0; may be NULL */
    void (*progress)(const char *what, double done, double total); /* may be NULL */
};

/* Fills in least [n]. *square <- the sum over t of (1/n) sum_i |g_i|^2. Needs 256 MiB, or for each step and worker 64
 * bytes if that is more; gradients that do not fit are read once for each part of them and round of prices. Gradients
 * that are not finite are SG_ERR_NONFINITE. */
SG_CHECKED sg_status sg_feedback_oracle(struct sg_feedback_least *least, size_t n, double *square,
                                        const struct sg_feedback_gradients *gradients,
                                        const struct sg_feedback_options *options, struct sg_error *err);

#endif
