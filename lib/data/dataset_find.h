/* dataset_find.h: where the files of a data set lie; private to lib/data. */
#ifndef DATASET_FIND_H
#define DATASET_FIND_H

#include <stdbool.h>

#include "dataset_descriptor.h"
#include "sg_dataset.h"
#include "sg_status.h"

/* Path of the set's file, plain or packed, in the places that sg_dataset.h names; NULL when it is in none. */
SG_CHECKED sg_status dataset_find_file(char **out, const struct sg_dataset_request *request, const char *file,
                                       struct sg_error *err);

/* Compares `sha256` of the text at `path` with the descriptor's for `file`, which gives *out, and where that settles
 * nothing with the one that datasets/fetch wrote to SHA256SUMS beside the file. Different from the latter, or with
 * `strict` from the former, is SG_ERR_MISMATCH. */
SG_CHECKED sg_status dataset_verify(enum sg_verified *out, const char *path, const char *set,
                                    const struct descriptor *descriptor, const char *file, const char *sha256,
                                    bool strict, struct sg_error *err);

/* Source, path, checksum and whether verified, of a set that is one file, without parsing it. */
SG_CHECKED sg_status dataset_file_identify(struct sg_provenance *from, const char *path, const char *set,
                                           const struct descriptor *descriptor, const char *file, bool strict,
                                           const char *data_dir, struct sg_error *err);
void dataset_generated_identify(struct sg_provenance *from, const char *generator);

/* What else than the files would do. */
struct dataset_remedies {
    const char *stand_in; /* a generator of the same kind of data; NULL = there is none */
    bool path;            /* the path of a file is taken in place of the set's name */
};

/* SG_ERR_MISSING: names the file, the places, and every remedy. */
sg_status dataset_fail_missing(const struct sg_dataset_request *request, const char *file,
                               const struct dataset_remedies *remedies, struct sg_error *err);

#endif
