/* dataset_walk.h: how a data set of any kind is found, verified and read, or generated; private to lib/data.
 *
 * A kind of sets (images, texts, ratings, labelled rows) has a struct that begins with a struct dataset, into which the
 * functions of its dataset_kind cast. */
#ifndef DATASET_WALK_H
#define DATASET_WALK_H

#include <stdbool.h>

#include "data_text.h"
#include "dataset_descriptor.h"
#include "sg_dataset.h"
#include "sg_status.h"

/* One file of a set. */
struct dataset_part {
    char file[128]; /* its name, without a packing suffix */
    char *path;     /* NULL = it is not here */
    struct data_text text;
    char sha256[65]; /* of its text */
    enum sg_verified verified;
};

struct dataset {
    const struct dataset_kind *kind;
    const struct sg_dataset_request *request;
    const char *stand_in; /* the generator that a message about missing files names; NULL = there is none */
    struct descriptor descriptor;
    struct sg_provenance from;
    struct dataset_part part[DESCRIPTOR_FILES];
    size_t parts;
};

struct dataset_kind {
    const char *what;     /* "images" */
    const char *format;   /* of descriptions; NULL = the set's name determines it */
    const char *stand_in; /* the generator of this kind; NULL = each set has its own */
    bool strict;          /* true = refuse files that are not the publisher's; false = use them and record it */
    const char *by_path;  /* what a path in place of the set's name is of, with an example; NULL = none is allowed */
    /* Reads a file and fills in its sha256. Threads read several files at once. */
    sg_status (*read)(struct dataset *d, struct dataset_part *part, struct sg_error *err);
    /* Makes the set of its files, which are read and verified. */
    sg_status (*finish)(struct dataset *d, struct sg_error *err);
    /* Makes the set without files, and from.sha256. */
    sg_status (*generate)(struct dataset *d, struct sg_error *err);
};

/* Checks the request and reads the set's description. The caller then names the parts. */
SG_CHECKED sg_status dataset_open(struct dataset *d, const struct dataset_kind *kind,
                                  const struct sg_dataset_request *request, struct sg_error *err);

/* dataset_load: finds the set's files, where part.path is not known yet, and reads them; or, if none of several is
 * there and the request names a stand-in, generates it. dataset_identify only identifies what would be loaded: it
 * parses nothing, and leaves sha256 empty for a set that would be generated. Both free the parts. The checksum of a set
 * is that of its file, or for several files that of the lines that sha256sum prints for them. */
SG_CHECKED sg_status dataset_load(struct dataset *d, struct sg_provenance *from, struct sg_error *err);
SG_CHECKED sg_status dataset_identify(struct dataset *d, struct sg_provenance *from, struct sg_error *err);

/* Opens the text of a part, and fills in its checksum. */
SG_CHECKED sg_status dataset_part_open(struct dataset_part *part, struct sg_error *err);

/* True if a set of this name has the files of the set `known`: its name is `known` or `known`-SOMETHING. */
bool dataset_is_like(const char *set, const char *known);

/* `count`, or `most` if that is less and not 0. */
size_t dataset_at_most(size_t count, size_t most);

/* ---- dataset_find.c ---- */

/* *out <- the path of the set's file, plain or packed, in the places that sg_dataset.h names; NULL = it is in none. */
SG_CHECKED sg_status dataset_find_file(char **out, const struct sg_dataset_request *request, const char *file,
                                       struct sg_error *err);

/* Compares the part's checksum with the description's. If that has none, compares it with the one that datasets/fetch
 * wrote to SHA256SUMS beside the file. SG_ERR_MISMATCH: it differs from the latter or, in a strict kind, from the
 * former. */
SG_CHECKED sg_status dataset_verify(const struct dataset *d, struct dataset_part *part, struct sg_error *err);

/* SG_ERR_MISSING: names the file, the places, and every remedy. */
sg_status dataset_fail_missing(const struct dataset *d, const char *file, struct sg_error *err);

#endif
