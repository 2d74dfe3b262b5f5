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

/* Paths of all `n` files, or of none where there is a stand-in and not one file is there. `stand_in` is for the message
 * about a missing one. */
SG_CHECKED sg_status dataset_parts_find(struct dataset_part *part, size_t n, const struct sg_dataset_request *request,
                                        const char *stand_in, struct sg_error *err);

/* The checksum of the part's text, compared. A copy that is not the publisher's may be used, and results say so; one that
 * datasets/fetch brought must be as it was. */
SG_CHECKED sg_status dataset_part_verify(struct dataset_part *part, const char *set,
                                         const struct descriptor *descriptor, struct sg_error *err);

/* Source, path, checksum and whether verified, of verified parts. The set's checksum is that of the lines which sha256sum
 * prints for its files. */
SG_CHECKED sg_status dataset_parts_describe(struct sg_provenance *from, const struct dataset_part *part, size_t n,
                                            struct sg_error *err);

/* What would be read of a set of several files, without parsing: of those that dataset_parts_find finds, the same as their
 * describing gives, else of the stand-in. `from` has its name already. */
SG_CHECKED sg_status dataset_parts_identify(struct sg_provenance *from, struct dataset_part *part, size_t n,
                                            const struct sg_dataset_request *request, const char *stand_in,
                                            struct sg_error *err);

void dataset_parts_free(struct dataset_part *part, size_t n);

#endif
