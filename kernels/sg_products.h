/* sg_products.h: the products of a matrix M with thin matrices, which low-rank compression consists of.
 *
 * M has `rows` rows of `columns` floats that lie one behind the other. P [rank][rows] and Q [rank][columns] hold their
 * columns one behind the other. All sums are in double and are rounded once. A product of two floats is exact in double,
 * so only the order of a sum decides its bits. Every table and number of threads gives the same ones:
 *   times        element j of a row is added in lane j mod SG_KERNEL_LANES, and then the lanes one after another
 *   transposed   the rows of M in ascending order
 *   outer        the columns of P and Q in ascending order
 * NaN and Inf propagate. Arrays do not overlap. threads >= 1. */
#ifndef SG_PRODUCTS_H
#define SG_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sg_shape {
    size_t rows, columns, rank;
};

struct sg_products {
    const char *name; /* "c", "avx2", "avx512" */
    /* p <- M Q */
    void (*times)(float *p, const float *m, const float *q, const struct sg_shape *s, int threads);
    /* q <- M' P */
    void (*transposed)(float *q, const float *m, const float *p, const struct sg_shape *s, int threads);
    /* m <- P Q'; with `subtract` m <- M - P Q', where the difference is rounded too. */
    void (*outer)(float *m, const float *p, const float *q, const struct sg_shape *s, bool subtract, int threads);
};

/* The table of the instruction set that sg_kernels_cpu(name) chooses; NULL if that returns NULL. */
const struct sg_products *sg_products_cpu(const char *name);

#ifdef __cplusplus
}
#endif
#endif
