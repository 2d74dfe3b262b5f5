/* sg_dataset.h: finding, checking and generating data sets.
 *
 * datasets/NAME.yaml describes a set: its files and their addresses, SHA-256 where it is pinned, number of features,
 * licence. Descriptions are looked for in $SPARSE_DATASETS, ./datasets and the installed copy. A set without one works
 * too; its file then has the set's name. Files are looked for in the folder given with --data, in $SPARSE_DATA, and in
 * datasets/cache. Each may hold NAME/FILE or FILE, plain or packed (.xz, .bz2, .gz).
 *
 * A parsed file is kept in a cache (sg_cache.h) by its path, size and change time, so a later start maps the matrix
 * without reading the text. The matrix carries the text's SHA-256, which is what results name.
 *
 * The text's SHA-256 is compared with the one in the description. If the publisher gives none, it is compared with the
 * one in SHA256SUMS beside the file, which datasets/fetch wrote when it first fetched it, or anybody with sha256sum. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_DATASET_H
#define SG_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_status.h"

/* Whether the files have the SHA-256 that the set's description pins. */
enum sg_verified { SG_VERIFIED_NOT = 0, SG_VERIFIED_SAME, SG_VERIFIED_DIFFERENT }; /* NOT: no SHA-256 is pinned */

/* Where a set came from, as it goes into results. */
struct sg_provenance {
    char name[64];      /* "madelon" */
    char source[16];    /* "file" or "generated" */
    char generator[64]; /* "gisette-like" or "" */
    char sha256[65];    /* of the data file's unpacked text, or of the generated matrix */
    char *path;         /* the data file, malloc'ed; NULL when generated */
    enum sg_verified verified;
};

/* Has the members by name, with "verified" true, false or null. */
cJSON *sg_provenance_json(const struct sg_provenance *p);
void sg_provenance_free(struct sg_provenance *p);

struct sg_matrix;

struct sg_dataset_request {
    const char *name;                    /* the recipe's task.dataset; a name with a '/' is the path of a LIBSVM file */
    const char *stand_in;                /* the generator for a set that is missing, or NULL */
    const char *data_dir;                /* --data, or NULL */
    uint64_t seed;                       /* of the generator; not the run's seed */
    void (*notice)(const char *message); /* called when a cache is damaged and is made again; may be NULL */
};

/* Loads a matrix with labels -1 and +1, as the head of this file says. SG_ERR_MISSING: the set is not there and has no
 * stand-in; the message names every remedy. SG_ERR_MISMATCH: the SHA-256 is not the pinned one. */
SG_CHECKED sg_status sg_dataset_load(struct sg_matrix *out, struct sg_provenance *from,
                                     const struct sg_dataset_request *request, struct sg_error *err);

/* Identifies what sg_dataset_load would read now, without parsing it. The search, the provenance and the errors are the
 * same, but `sha256` is "" for data that would be generated. Checksums of files are remembered in the cache folder, so
 * only the first call for a file is slow. Each other kind of sets has such a function too. */
SG_CHECKED sg_status sg_dataset_identify(struct sg_provenance *from, const struct sg_dataset_request *request,
                                         struct sg_error *err);

/* out <- the described data set (datasets/NAME.yaml) whose name is nearest to `set`, if it begins with `set` or differs
 * in at most two letters. False = there is none, or `set` itself is described. */
bool sg_dataset_suggest(char out[64], const char *set);

#endif
