/* sg_products.h: the products of a matrix M with thin matrices, which low-rank compression consists of.
 *
 * M has `rows` rows of `columns` floats that lie one behind the other. P [rank][rows] and Q [rank][columns] hold their
 * columns one behind the other. All sums are in double and are rounded once. A product of two floats is exact in
 * double, so only the order of a sum decides its bits. Every table and number of threads gives the same ones, a GPU's
 * too:
 *   times        element j of a row is added in lane j mod SG_KERNEL_LANES, and then the lanes one after another
 *   transposed   the rows of M in ascending order
 *   outer        the columns of P and Q in ascending order
 * NaN and Inf propagate. Arrays do not overlap and lie in the memory of exec's
 * kernels. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PRODUCTS_H
#define SG_PRODUCTS_H

#include "sg_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_shape {
    size_t rows, columns, rank;
};

struct sg_products {
    const char *name; /* "c", "avx2", "avx512", "cuda" */
    /* p <- M Q */
    void (*times)(const struct sg_exec *exec, float *p, const float *m, const float *q, const struct sg_shape *s);
    /* q <- M' P */
    void (*transposed)(const struct sg_exec *exec, float *q, const float *m, const float *p, const struct sg_shape *s);
    /* m <- P Q'; with `subtract` m <- M - P Q', where the difference is rounded too. */
    void (*outer)(const struct sg_exec *exec, float *m, const float *p, const float *q, const struct sg_shape *s,
                  bool subtract);
};

/* A step of Newton and Schulz: X <- a X + (b G + c G G) X with G = X X' and of = {a, b, c}. A few of them bring the
 * singular values of X near 1 if none is above 1. X is [rows][columns] with rows <= columns; squares [2 rows rows] and
 * y [rows columns] are scratch. All arrays are in host memory. G and G G are symmetric, so their columns are their
 * rows. Products are rounded to floats; both sums are computed in double and rounded once. */
void sg_newton_schulz(const struct sg_exec *exec, const struct sg_products *products, float *x, size_t rows,
                      size_t columns, const double of[3], float *squares, float *y);

#ifdef __cplusplus
}
#endif
#endif
