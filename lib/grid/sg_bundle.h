/* sg_bundle.h: a result with all that it was made of in one folder, which a stranger can check.
 *
 * A bundle is a folder with exactly these regular files:
 *   SHA256SUMS         the SHA-256 of each file below, as `sha256sum -c` reads it
 *   SHA256SUMS.sha256  that of the list, which stands for the whole bundle; it is written last
 *   bundle.json        {"schema":"sparsebench-bundle/1","name","recipe":{"path","sha256","set"},"dataset","program",
 *                      "identities","libraries","tolerance","cells":[{"label","seed","trial","status","cell_key",
 *                      "identity","kernels","processor","file"}]}; `tolerance` is that of sg_audit.h by column, null
 *                      without one, as is the trial of a cell that is none
 *   cells/NAME.ndjson  the series of each finished cell, the bytes that sparsetrain wrote
 *   recipe.yaml        the bytes of the recipe
 *   result.json        the bytes of the result
 * A result and its cells give the same bytes whenever and wherever they are bundled. `tar` makes one file of it. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_BUNDLE_H
#define SG_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sg_document.h"
#include "sg_status.h"

#define SG_SCHEMA_BUNDLE "sparsebench-bundle/1"

struct sg_bundle_file {
    char *name; /* "cells/SGD-seed1-0123456789ab.ndjson" */
    char *data; /* [length], and a NUL behind */
    size_t length;
};

struct sg_bundle {
    struct sg_bundle_file *file; /* [n] */
    size_t n;
    char sha256[65]; /* of the list of checksums */
    cJSON *about;    /* bundle.json */
};

/* Parses a result whose cells can be run again; the caller frees it. SG_ERR_ARGUMENT: it has times of kernels. */
SG_CHECKED sg_status sg_bundle_result(struct sg_document *out, const char *text, size_t length, const char *path,
                                      struct sg_error *err);

/* Makes the bundle of the result at `path`, in memory. Cells are read from `folder`, or if that is NULL from where the
 * result says. SG_ERR_ARGUMENT: the file is no result of a grid with finished cells. SG_ERR_MISSING: a cell is not
 * there. SG_ERR_MISMATCH: the recipe's file has changed since. SG_ERR_FORMAT: a cell is damaged, unfinished or another
 * run than the result says. */
SG_CHECKED sg_status sg_bundle_make(struct sg_bundle *out, const char *path, const char *folder, struct sg_error *err);

/* Writes it into a folder that is not there yet or is empty; `replace`: or is a bundle. On failure nothing is left of
 * it, and what a killed process leaves is no bundle. SG_ERR_ARGUMENT: the folder has other files. */
SG_CHECKED sg_status sg_bundle_write(const struct sg_bundle *bundle, const char *folder, bool replace,
                                     struct sg_error *err);

/* Reads the bundle in the folder `path` and checks it. SG_ERR_FORMAT: it is none: a bit is not as it was written, or
 * there is another file, or a link. */
SG_CHECKED sg_status sg_bundle_read(struct sg_bundle *out, const char *path, struct sg_error *err);
/* The file of this name; NULL = there is none. */
const struct sg_bundle_file *sg_bundle_file(const struct sg_bundle *bundle, const char *name);
void sg_bundle_close(struct sg_bundle *bundle); /* zeroes it */

#endif
