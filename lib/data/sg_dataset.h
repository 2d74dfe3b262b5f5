/* sg_dataset.h: finding, checking and generating data sets.
 *
 * datasets/NAME.yaml describes a set: files, addresses, SHA-256 where pinned, licence, format. Search order of the files:
 * the folder given with --data, $SPARSE_DATA, datasets/cache; each may hold NAME/FILE or FILE. */
#ifndef SG_DATASET_H
#define SG_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_matrix.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a set came from, as it goes into results. */
struct sg_provenance {
    char name[64];      /* "madelon" */
    char source[16];    /* "file" or "generated" */
    char generator[64]; /* "gisette-like" or "" */
    char sha256[65];    /* of the data file's bytes, or of the generated matrix */
    char *path;         /* file read or cache used; malloc'ed */
};

cJSON *sg_provenance_json(const struct sg_provenance *p); /* {"name","source","generator","sha256","path"} */
void sg_provenance_free(struct sg_provenance *p);

struct sg_dataset_request {
    const char *name;     /* recipe's task.dataset; a path containing '/' is read as a LIBSVM file directly */
    const char *stand_in; /* generator to use when the set is missing, or NULL */
    const char *data_dir; /* --data, or NULL */
    uint64_t seed;        /* of the generator; part of the stand-in's identity, not the run's seed */
};

/* Load a labelled matrix (labels -1/+1). The parsed matrix is cached as a binary file beside the data
 * (NAME.sgm, keyed by the text's hash) and mapped read-only, so that later runs start in milliseconds and share
 * memory. A missing set is SG_ERR_MISSING and names the fetch command and the stand-in. */
SG_CHECKED sg_status sg_dataset_load(struct sg_matrix *out, struct sg_provenance *from,
                                     const struct sg_dataset_request *request, struct sg_error *err);

/* Folder for derived caches (x*, parsed matrices) for this set, created if needed; malloc'ed. */
SG_CHECKED sg_status sg_dataset_cache_folder(char **out, const char *data_dir, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
