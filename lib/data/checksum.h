/* checksum.h: SHA-256 of data files, stored in a cache; private to lib/data. */
/* SPDX-License-Identifier: MIT */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <sys/stat.h>

#include "sg_cache.h"
#include "sg_status.h"

/* The SHA-256 of the text of the file at `path`, unpacked as data_text_open does. It is stored in a cache (sg_cache.h)
 * by the file's absolute path, size, inode and change time (ctime, in nanoseconds), so a later call does not read the
 * file. Programs can set the modification time back after an edit, but not the change time. The checksum is not stored
 * if the file was written in the last seconds, because a further change may leave the change time equal, or if the file
 * changes while it is read. */
SG_CHECKED sg_status dataset_checksum(char sha256[65], const char *path, const char *data_dir, struct sg_error *err);

/* The cache NAME-TAG.cache of what is derived from the file as it is now (`st`). Its question is `what` and the file's
 * absolute path, size, change time and inode; the path alone makes the tag. */
void dataset_file_cache(struct sg_cache *out, const char *data_dir, const char *name, const char *what,
                        const char *path, const struct stat *st);

#endif
