/* dataset_descriptor.h: what the loader needs of datasets/NAME.yaml; private to lib/data. */
#ifndef DATASET_DESCRIPTOR_H
#define DATASET_DESCRIPTOR_H

#include <stddef.h>

#include "sg_status.h"

enum { DESCRIPTOR_FILES = 8 };

struct descriptor {
    char format[16]; /* "libsvm", "cifar-10", "cifar-100", "tokens", "movielens"; "" = not given */
    size_t features; /* 0 = as in the file */
    size_t files;    /* at least 1; the first is the one to train on */
    struct descriptor_file {
        char name[128];  /* without a packing suffix */
        char sha256[65]; /* of its text; "" = none is pinned, and the first fetch is trusted */
    } file[DESCRIPTOR_FILES];
};

/* The checksum of the file `name`; NULL when there is none. */
const char *descriptor_pin(const struct descriptor *descriptor, const char *name);

/* Strict: unknown, repeated or ill-typed keys are SG_ERR_FORMAT with file:line:column. */
SG_CHECKED sg_status descriptor_parse(struct descriptor *out, const char *text, size_t length, const char *name,
                                      struct sg_error *err);

/* Looks in the places that sg_dataset.h names. A set without descriptor is described by its name alone. */
SG_CHECKED sg_status descriptor_find(struct descriptor *out, const char *set, struct sg_error *err);

/* Path of a script that can fetch the set, malloc'ed: ./datasets/fetch, or that of the program's own tree or of the
 * installed copy. NULL if no script can fetch the set. */
SG_CHECKED sg_status descriptor_fetch_script(char **out, const char *set, struct sg_error *err);

#endif
