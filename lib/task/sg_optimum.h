/* sg_optimum.h: L and x* of a logistic regression, computed once and kept on disk.
 *
 * The caches (sg_cache.h) are named by the data's SHA-256 and l2. What is read back has the same bits as what was
 * computed. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_OPTIMUM_H
#define SG_OPTIMUM_H

#include <stddef.h>

#include "sg_logreg.h"
#include "sg_matrix.h"
#include "sg_status.h"

struct sg_optimum {
    double *x; /* [d] malloc'ed */
    double value, gradient_norm;
};

/* How and where to find them. */
struct sg_optimum_options {
    const char *sha256;   /* of the data */
    const char *data_dir; /* --data, or NULL */
    int threads;
    void (*progress)(const char *what, double done, double total); /* what is computed and how far it is; may be NULL */
    void (*notice)(const char *message); /* called when a damaged file is computed again; may be NULL */
};

void sg_optimum_lipschitz(struct sg_logreg_constants *out, const struct sg_matrix *a,
                          const struct sg_optimum_options *options);
SG_CHECKED sg_status sg_optimum_solve(struct sg_optimum *out, const struct sg_matrix *a, double l2,
                                      const struct sg_optimum_options *options, struct sg_error *err);
void sg_optimum_free(struct sg_optimum *best); /* zeroes it */

#endif
