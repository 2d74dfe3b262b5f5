/* dataset_find.h: where the files of a data set lie; private to lib/data. */
#ifndef DATASET_FIND_H
#define DATASET_FIND_H

#include <stdbool.h>

#include "dataset_descriptor.h"
#include "sg_dataset.h"
#include "sg_status.h"

/* *out <- the path of the set's file, plain or packed, in the places that sg_dataset.h names; NULL = it is in none. */
SG_CHECKED sg_status dataset_find_file(char **out, const struct sg_dataset_request *request, const char *file,
                                       struct sg_error *err);

/* Compares `sha256`, that of the text at `path`, with the descriptor's for `file`; *out is the answer. If the
 * descriptor has none, compares it with the one that datasets/fetch wrote to SHA256SUMS beside the file.
 * SG_ERR_MISMATCH: it differs from the latter or, with `strict`, from the former. */
SG_CHECKED sg_status dataset_verify(enum sg_verified *out, const char *path, const char *set,
                                    const struct descriptor *descriptor, const char *file, const char *sha256,
                                    bool strict, struct sg_error *err);

/* Fills in source, path, checksum and `verified` for a set that is one file, without parsing it. */
SG_CHECKED sg_status dataset_file_identify(struct sg_provenance *from, const char *path, const char *set,
                                           const struct descriptor *descriptor, const char *file, bool strict,
                                           const char *data_dir, struct sg_error *err);
void dataset_generated_identify(struct sg_provenance *from, const char *generator);

/* What the user can have instead of the files. */
struct dataset_remedies {
    const char *stand_in; /* a generator of the same kind of data; NULL = there is none */
    bool path;            /* the path of a file is taken in place of the set's name */
};

/* SG_ERR_MISSING: names the file, the places, and every remedy. */
sg_status dataset_fail_missing(const struct sg_dataset_request *request, const char *file,
                               const struct dataset_remedies *remedies, struct sg_error *err);

#endif
