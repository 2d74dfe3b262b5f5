/* matrix_layout.h: where the arrays of a matrix lie; private to lib/data.
 *
 * In memory and in a cache file alike: SG_MATRIX_HEADER_BYTES of header, then label, and then the values of dense
 * storage, or start, column and value of CSR; every array begins at a multiple of 64 bytes. The values come last, so
 * that a matrix can be narrowed in place. */
/* SPDX-License-Identifier: MIT */
#ifndef MATRIX_LAYOUT_H
#define MATRIX_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_matrix.h"

enum { SG_MATRIX_HEADER_BYTES = SG_CACHE_HEADER + 96 };

struct sg_matrix_layout {
    size_t label, start, column, value; /* offsets in bytes */
    size_t total;
};

/* False when the sizes do not fit into memory at all. */
bool sg_matrix_layout(struct sg_matrix_layout *out, enum sg_storage storage, size_t m, size_t d, size_t entries);

/* Set the arrays of *out in `base`, which it then owns. */
void sg_matrix_point(struct sg_matrix *out, enum sg_storage storage, size_t m, size_t d, void *base,
                     const struct sg_matrix_layout *layout);

/* Turns dense doubles into 16-bit integers or floats, which all of them are, in place. */
void sg_matrix_narrow(struct sg_matrix *a, enum sg_storage storage);
/* Turns dense doubles, `nonzero` of which are not 0, into a sparse matrix. */
SG_CHECKED sg_status sg_matrix_compress(struct sg_matrix *a, size_t nonzero, struct sg_error *err);

/* sg_libsvm_parse of text in a private mapping that starts at `text`: what was read is released to the system, so that
 * text and matrix are never in memory together. The text is undefined afterwards. */
SG_CHECKED sg_status sg_libsvm_consume(struct sg_matrix *out, char *text, size_t length, size_t d, const char *name,
                                       struct sg_error *err);

#endif
