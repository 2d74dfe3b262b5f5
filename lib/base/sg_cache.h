/* sg_cache.h: files of computed data, such as a parsed matrix. A text, the question, determines the data, its answer.
 *
 * A cache file is a header and then the parts of the answer; lib/FORMATS.md maps its bytes. It is written whole or not
 * at all. Its checksum covers every other byte and is compared whenever the file is read: neither size nor times of a
 * file change when a failing disk changes its bytes. All threads hash blocks; one core with SHA instructions opens 120
 * MB in 70 ms. An unusable file counts as absent, and a file that cannot be written only costs time. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_CACHE_H
#define SG_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

enum {
    SG_CACHE_HEADER = 192,
    SG_CACHE_CHECKSUM_AT = 128,
    SG_CACHE_PARTS = 8
}; /* two sizes in bytes; the maximum number of parts */

/* Where an answer is kept. */
struct sg_cache {
    char *path;   /* NULL = it is not kept */
    char key[65]; /* the SHA-256 of the question */
};

/* The folder for what is derived from data; it is created if needed, and the caller frees the name. It is `derived` in
 * the data folder (data_dir, else $SPARSE_DATA, else datasets/cache if ./datasets exists). If that cannot be written,
 * it is that of sg_cache_own. NULL: there is no such place, and the caller does without a cache. */
char *sg_cache_folder(const char *data_dir);

/* The user's own folder, $XDG_CACHE_HOME/sparsegrad or ~/.cache/sparsegrad, made if needed. NULL: there is none. */
char *sg_cache_own(void);

/* Names the file NAME-TAG.cache in that folder. TAG is of the SHA-256 of `place`, so that a new question about the same
 * place replaces the old answer; place = NULL: of the question itself. */
void sg_cache_open(struct sg_cache *out, const char *data_dir, const char *name, const char *place,
                   const char *question);
void sg_cache_close(struct sg_cache *c); /* zeroes it */

/* Writes the answer, replacing an older file or a symbolic link. Each part begins at the next multiple of 64 bytes in
 * the file, with zeros before it. False if it is not kept, for whatever reason. */
struct sg_cache_part {
    const void *data;
    size_t bytes;
};
bool sg_cache_keep(const struct sg_cache *c, const struct sg_cache_part *part, size_t n);

/* Maps the file, read-only and shared between processes: `base` [bytes], which the caller unmaps (munmap), with the
 * first part at base + SG_CACHE_HEADER. SG_ERR_MISSING: there is none. SG_ERR_MISMATCH: it is whole, but of another
 * question or another version of the program. SG_ERR_FORMAT: it is damaged. SG_ERR_ARGUMENT: it is no regular file. */
SG_CHECKED sg_status sg_cache_map(void **base, size_t *bytes, const struct sg_cache *c, struct sg_error *err);

/* Copies the answer to out [bytes], if it has one part of exactly this length. Calls `notice` if the file is damaged.
 * False: there is no usable file. */
bool sg_cache_recall(const struct sg_cache *c, void *out, size_t bytes, void (*notice)(const char *message));

/* Calls `notice`, which may be NULL, about a file that will be made again because reading it failed with `err`. A
 * missing file and one of another question are not reported. */
void sg_cache_tell(const struct sg_error *err, void (*notice)(const char *message));

/* The checksum that belongs at SG_CACHE_CHECKSUM_AT of the file [bytes >= SG_CACHE_HEADER]: the SHA-256 of the header
 * before that place and of the SHA-256 of each MiB behind the header. */
void sg_cache_checksum(char hex[65], const void *file, size_t bytes);

#endif
