/* sg_matrix.h: a labelled data matrix and the LIBSVM text format. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_MATRIX_H
#define SG_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_cache.h"
#include "sg_status.h"

/* m rows (samples) by d columns (features), row-major. A dense matrix is stored in the narrowest of 16-bit integers
 * (madelon), float and double that holds every value exactly. If less than a quarter of the values is non-zero, it is
 * stored as compressed rows (CSR) of doubles. Exactly one of i16, f32, f64, csr_value is not NULL. Each array starts at
 * a multiple of 64 bytes. */
struct sg_matrix {
    size_t m, d;
    const int16_t *i16;         /* [m * d] */
    const float *f32;           /* [m * d] */
    const double *f64;          /* [m * d] */
    const double *csr_value;    /* [csr_start[m]], none is zero */
    const uint32_t *csr_column; /* [csr_start[m]] ascending in a row */
    const uint64_t *csr_start;  /* [m + 1] */
    const double *label;        /* [m], -1 or +1 */
    void *base;                 /* owned: one mapping (mmap) that holds all arrays */
    size_t base_bytes;
};

void sg_matrix_free(struct sg_matrix *a); /* zeroes it */

/* Value j of row i of a dense matrix. */
static inline double sg_matrix_dense_value(const struct sg_matrix *a, size_t i, size_t j) {
    const size_t at = i * a->d + j;
    return a->i16 ? (double)a->i16[at] : a->f32 ? (double)a->f32[at] : a->f64[at];
}

/* Parses LIBSVM text as LIBSVM reads it: "label index:value …" a line, with ascending indices from 1; '#' starts a
 * comment, and a byte-order mark in front is skipped. Labels
 * {-1,+1}, {0,1} or {1,2} become -1/+1. d = 0: d becomes the largest index; d > 0: an index beyond d is an error. Every
 * value is the double nearest to its decimal text. `name` begins messages, which give line and column. SG_ERR_FORMAT:
 * empty input, an index of 0, a repeated or descending index, a NaN
 * or Inf value, a malformed number, more than two classes, a NUL byte. The numeric locale must be "C", as it is in a
 * program that never calls setlocale. */
SG_CHECKED sg_status sg_libsvm_parse(struct sg_matrix *out, const char *text, size_t length, size_t d, const char *name,
                                     struct sg_error *err);

/* The cache file of a matrix (sg_cache.h, lib/FORMATS.md); `sha256` is stored with it. Mapping fails as sg_cache_map,
 * and with SG_ERR_FORMAT if the file does not hold a matrix. */
bool sg_matrix_keep(const struct sg_matrix *a, const struct sg_cache *cache, const char *sha256);
SG_CHECKED sg_status sg_matrix_map(struct sg_matrix *out, const struct sg_cache *cache, char sha256[65],
                                   struct sg_error *err);

/* The SHA-256 that names a matrix by its bytes: that of its shape and of the SHA-256 of each row, in order. */
void sg_matrix_sha256(const struct sg_matrix *a, char sha256[65]);

/* Makes a matrix of zeros for a caller who fills it. Every array of the chosen storage is writable through *room; the
 * other pointers are NULL. `entries` counts CSR entries. */
enum sg_storage { SG_STORAGE_F32 = 1, SG_STORAGE_F64 = 2, SG_STORAGE_CSR = 3, SG_STORAGE_I16 = 4 };
struct sg_matrix_room {
    int16_t *i16;
    float *f32;
    double *f64, *csr_value, *label;
    uint32_t *csr_column;
    uint64_t *csr_start;
};
SG_CHECKED sg_status sg_matrix_allocate(struct sg_matrix *out, struct sg_matrix_room *room, enum sg_storage storage,
                                        size_t m, size_t d, size_t entries, struct sg_error *err);

/* Generators of stand-ins. "gisette-like" is 6000 x 5000, shaped after gisette: sparse pixels, products of pixels, and
 * probes; results/README.md says how close it is. "two-clouds" is 240 x 40 for smoke tests: two normal clouds with a
 * few wrong labels. The same seed gives the same bytes; SG_GENERATOR_REVISION is raised whenever they change. Any other
 * name is SG_ERR_ARGUMENT. */
enum { SG_GENERATOR_REVISION = 1 };
SG_CHECKED sg_status sg_generator_check(const char *name, struct sg_error *err);
SG_CHECKED sg_status sg_generate(struct sg_matrix *out, const char *generator, uint64_t seed, struct sg_error *err);

#endif
