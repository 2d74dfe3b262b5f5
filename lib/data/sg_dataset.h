/* sg_dataset.h: finding, checking and generating data sets.
 *
 * datasets/NAME.yaml describes a set: its files, their addresses, SHA-256 where pinned, number of features, licence. It
 * is looked for in $SPARSE_DATASETS, ./datasets and the installed copy; a set without one works too, its file has the
 * set's name. Search order of the files: the folder given with --data, $SPARSE_DATA, datasets/cache; each may hold
 * NAME/FILE or FILE, plain or packed (.xz, .bz2, .gz).
 *
 * A parsed file is remembered as a binary matrix in the cache folder. Its key is path, size and modification time of
 * the file, so that a later start maps it without reading, let alone hashing, the text; the text's SHA-256 is carried
 * along in it and is what results name. A cache has a checksum over all of it, compared whenever it is mapped. The SHA-256 is compared with the descriptor's, and where the publisher gives
 * none with the one that datasets/fetch wrote to SHA256SUMS beside the file when it first fetched it. */
#ifndef SG_DATASET_H
#define SG_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_status.h"

/* Whether the files are the publisher's, by the SHA-256 that the description pins. */
enum sg_verified { SG_VERIFIED_NOT = 0, SG_VERIFIED_SAME, SG_VERIFIED_DIFFERENT }; /* NOT: nothing to compare with */

/* Where a set came from, as it goes into results. */
struct sg_provenance {
    char name[64];      /* "madelon" */
    char source[16];    /* "file" or "generated" */
    char generator[64]; /* "gisette-like" or "" */
    char sha256[65];    /* of the data file's text (unpacked), or of the generated matrix */
    char *path;         /* the data file, malloc'ed; NULL when generated */
    enum sg_verified verified;
};

cJSON *sg_provenance_json(const struct sg_provenance *p); /* The members by name; verified: true, false or null. */
void sg_provenance_free(struct sg_provenance *p);

/* What tells data apart, of the "dataset" of a result's header: "file" and the SHA-256, or "generated" and the generator.
 * Equal texts mean the same data to the same cell of the same program. Returns out. */
enum { SG_DATASET_IDENTITY = 88 };
char *sg_dataset_identity(char out[SG_DATASET_IDENTITY], const cJSON *dataset);

struct sg_matrix;

struct sg_dataset_request {
    const char *name;     /* recipe's task.dataset; a path containing '/' is read as a LIBSVM file directly */
    const char *stand_in; /* generator to use when the set is missing, or NULL */
    const char *data_dir; /* --data, or NULL */
    uint64_t seed;        /* of the generator; part of the stand-in's identity, not the run's seed */
    void (*notice)(const char *message); /* told of a damaged cache, which is made again; may be NULL */
};

/* Load a labelled matrix (labels -1/+1), see above. A missing set with a stand-in is generated; without one it is
 * SG_ERR_MISSING and the message names every remedy. A checksum that differs from the pinned one is
 * SG_ERR_MISMATCH. */
SG_CHECKED sg_status sg_dataset_load(struct sg_matrix *out, struct sg_provenance *from,
                                     const struct sg_dataset_request *request, struct sg_error *err);

/* Where sg_dataset_load would read from now, without parsing: the same search, the same provenance (but `sha256` is "" for
 * what would be generated) and the same errors; SG_ERR_MISSING where there is neither file nor stand-in. Checksums of files
 * are remembered in the cache folder, so that this takes no time but the first. The other kinds of sets have the like. */
SG_CHECKED sg_status sg_dataset_identify(struct sg_provenance *from, const struct sg_dataset_request *request,
                                         struct sg_error *err);

/* Folder for what is derived from data (parsed matrices, x*), created if needed; malloc'ed. `derived` in the data
 * folder (data_dir, else $SPARSE_DATA, else datasets/cache where ./datasets exists) or, where that cannot be written,
 * $XDG_CACHE_HOME/sparsegrad or ~/.cache/sparsegrad. NULL when there is no such place: go on without. */
SG_CHECKED sg_status sg_dataset_cache_folder(char **out, const char *data_dir, struct sg_error *err);

#endif
