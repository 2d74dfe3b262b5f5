/* deviations.h: where released code does something else than its publication, which setting does the same here, and
 * what that costs on an example. */
/* SPDX-License-Identifier: MIT */
#ifndef DEVIATIONS_H
#define DEVIATIONS_H

#include <stddef.h>

#include "sg_status.h"

/* What the deviation changes, with its direction. */
enum deviation_effect {
    DEVIATION_MORE_ERROR,
    DEVIATION_LESS_ERROR,
    DEVIATION_BIAS, /* more of the error stays in the mean of many draws */
    DEVIATION_FEWER_BITS,
    DEVIATION_MORE_SENT,
    DEVIATION_FEWER_SENT,
    DEVIATION_MORE_LOST
};

/* A setting is the compressor's name and its parameters: "dgc-grace density=0.01". Those of released
 * code are rows that only tests have (released.h). */
struct deviation {
    const char *published, *released;
    size_t workers, steps; /* of the example */
    enum deviation_effect effect;
    const char *repository, *commit, *file; /* as read */
    const char *what;
};
/* The i-th one; NULL past the end. */
const struct deviation *deviation_at(size_t i);

/* A deviation that no setting reproduces, and why. */
struct deviation_left_out {
    const char *repository, *commit, *file, *what;
};
const struct deviation_left_out *deviation_left_out_at(size_t i);

/* Over the steps of the example, at each of which every worker compresses the same gradient with an empty residual: p
 * is the mean gradient, C the mean of what was sent. */
struct deviation_measure {
    double error;             /* mean of |C - p|^2 / |p|^2 */
    double systematic;        /* the same of the mean of C over the steps, without what is left of its draws */
    double bias, bias_stderr; /* mean of <C - p, p> / |p|^2, and the standard error of that mean */
    double bits, sent;        /* by element of a worker; numbers of a worker in a step */
    /* The share of the gradients that is neither sent nor kept after 100 steps with residuals and gradients that share
     * outer products: its norm over that of their sum. NaN for a compressor that is not meant for residuals. */
    double lost;
};
/* SG_ERR_ARGUMENT: there is no such compressor or parameter. */
SG_CHECKED sg_status deviation_measure(struct deviation_measure *out, const char *setting, size_t workers, size_t steps,
                                       struct sg_error *err);

#endif
