/* matrix_layout.h: where the arrays of a matrix lie; private to lib/data.
 *
 * In memory and in a cache file alike: SG_MATRIX_HEADER_BYTES of header, then label, and then the values of dense
 * storage, or start, column and value of CSR; every array begins at a multiple of 64 bytes. The values come last, so
 * that a matrix can be narrowed in place. */
#ifndef MATRIX_LAYOUT_H
#define MATRIX_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_matrix.h"

enum { SG_MATRIX_HEADER_BYTES = 256 };

struct sg_matrix_layout {
    size_t label, start, column, value; /* offsets in bytes */
    size_t total;
};

/* False when the sizes do not fit into memory at all. */
bool sg_matrix_layout(struct sg_matrix_layout *out, enum sg_storage storage, size_t m, size_t d, size_t entries);

/* Set the arrays of *out in `base`, which it then owns. */
void sg_matrix_point(struct sg_matrix *out, enum sg_storage storage, size_t m, size_t d, void *base,
                     const struct sg_matrix_layout *layout);

#endif
