/* dataset_parts.h: sets that are several files; private to lib/data. */
#ifndef DATASET_PARTS_H
#define DATASET_PARTS_H

#include "data_text.h"
#include "dataset_find.h"
#include "dataset_descriptor.h"
#include "sg_dataset.h"
#include "sg_status.h"

/* One file of a set. */
struct dataset_part {
    const char *file; /* its name, the caller's */
    char *path;       /* NULL = generated instead */
    struct data_text text;
    char sha256[65];
    enum sg_verified verified;
};

/* Finds the paths of all `n` files. If there is a stand-in and none of the files is there, all paths are NULL.
 * `stand_in` is named in the message about a missing file. */
SG_CHECKED sg_status dataset_parts_find(struct dataset_part *part, size_t n, const struct sg_dataset_request *request,
                                        const char *stand_in, struct sg_error *err);

/* Compares the checksum of the part's text. A copy that is not the publisher's may be used, and results say so; a file
 * that datasets/fetch brought must be as it was. */
SG_CHECKED sg_status dataset_part_verify(struct dataset_part *part, const char *set,
                                         const struct descriptor *descriptor, struct sg_error *err);

/* Fills in source, path, checksum and `verified` from verified parts. The set's checksum is that of the lines that
 * sha256sum prints for its files. */
SG_CHECKED sg_status dataset_parts_describe(struct sg_provenance *from, const struct dataset_part *part, size_t n,
                                            struct sg_error *err);

/* Tells what would be read of a set of several files, without parsing: the files that dataset_parts_find finds, else
 * the stand-in. `from` has its name already. */
SG_CHECKED sg_status dataset_parts_identify(struct sg_provenance *from, struct dataset_part *part, size_t n,
                                            const struct sg_dataset_request *request, const char *stand_in,
                                            struct sg_error *err);

void dataset_parts_free(struct dataset_part *part, size_t n);

#endif
