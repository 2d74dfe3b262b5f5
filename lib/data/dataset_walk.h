/* dataset_walk.h: how a data set of any kind is found, verified and read, or generated; private to lib/data.
 *
 * A kind of sets (images, texts, ratings, labelled rows) has a struct that begins with a struct dataset, into which the
 * functions of its dataset_kind cast. */
/* SPDX-License-Identifier: MIT */
#ifndef DATASET_WALK_H
#define DATASET_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_dataset.h"
#include "sg_status.h"

/* ---- data_text.c: the bytes of a file, unpacked ---- */

/* A private mapping, not to be written to. An empty file has at == NULL. */
struct data_text {
    char *at;
    size_t length, bytes; /* bytes: of the mapping */
};

/* Maps a regular file; .gz, .bz2 and .xz are piped through gzip, bzip2, xz -dc (an error names a missing package). */
SG_CHECKED sg_status data_text_open(struct data_text *out, const char *path, struct sg_error *err);
void data_text_free(struct data_text *t); /* zeroes it */

/* ---- dataset_descriptor.c: what is needed of datasets/NAME.yaml ---- */

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
char *descriptor_fetch_script(const char *set);

/* ---- dataset_walk.c ---- */

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

/* Compares the part's checksum with the description's. If that has none, compares it with those that SHA256SUMS beside
 * the file has for it, as datasets/fetch or sha256sum wrote it; a notice says that the file is not in it.
 * SG_ERR_MISMATCH: it differs from the latter or, in a strict kind, from the former. SG_ERR_FORMAT: a line names the
 * file, and is no line that sha256sum -c reads. */
SG_CHECKED sg_status dataset_verify(const struct dataset *d, struct dataset_part *part, struct sg_error *err);

/* SG_ERR_MISSING: names the file, the places, and every remedy. */
sg_status dataset_fail_missing(const struct dataset *d, const char *file, struct sg_error *err);

#endif
