/* sg_deviations.h: where released code does something else than its publication, which setting does the same here, and what
 * that costs on an example. */
#ifndef SG_DEVIATIONS_H
#define SG_DEVIATIONS_H

#include <stddef.h>
#include <stdio.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the deviation changes, with its direction. */
enum sg_deviation_effect {
    SG_DEVIATION_MORE_ERROR,
    SG_DEVIATION_LESS_ERROR,
    SG_DEVIATION_BIAS, /* more of the error stays in the mean of many draws */
    SG_DEVIATION_FEWER_BITS,
    SG_DEVIATION_MORE_SENT,
    SG_DEVIATION_FEWER_SENT,
    SG_DEVIATION_MORE_LOST
};

/* A setting is the compressor's name and its parameters: "dgc density=0.01 quirk=grace". */
struct sg_deviation {
    const char *published, *released;
    size_t workers, steps; /* of the example */
    enum sg_deviation_effect effect;
    const char *repository, *commit, *file; /* as read */
    const char *what;
};
/* The i-th one; NULL past the end. */
const struct sg_deviation *sg_deviation_at(size_t i);

/* A deviation that no setting reproduces, and why. */
struct sg_deviation_left_out {
    const char *repository, *commit, *file, *what;
};
const struct sg_deviation_left_out *sg_deviation_left_out_at(size_t i);

/* Over the steps of the example, at each of which every worker compresses the same gradient with an empty residual: p is
 * the mean gradient, C the mean of what was sent. */
struct sg_deviation_measure {
    double error;          /* mean of |C - p|^2 / |p|^2 */
    double systematic;     /* the same of the mean of C over the steps, without what is left of its draws */
    double bias, bias_off; /* mean of <C - p, p> / |p|^2, and the standard error of that mean */
    double bits, sent;     /* by element of a worker; numbers of a worker in a step */
    /* After 100 steps with residuals and gradients that share outer products: |x| / |sum of g|, x what of that sum is
     * neither sent nor in a residual; NaN for a compressor that is not meant for residuals. */
    double lost;
};
/* SG_ERR_ARGUMENT: there is no such compressor or parameter. */
SG_CHECKED sg_status sg_deviation_measure(struct sg_deviation_measure *out, const char *setting, size_t workers,
                                          size_t steps, struct sg_error *err);

/* Prints results/DEVIATIONS.md. */
SG_CHECKED sg_status sg_deviations_print(FILE *out, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
