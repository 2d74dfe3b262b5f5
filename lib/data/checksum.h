/* checksum.h: SHA-256 of data files, remembered; private to lib/data. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <sys/stat.h>

#include "sg_status.h"

/* SHA-256 of the text of the file at `path` (unpacked, as data_text_open reads it). It is remembered in `folder` (NULL =
 * not) by the file's absolute path, size, time of change in nanoseconds and inode, so that asking again reads nothing; a
 * file that was written to in the last seconds is not remembered, as the time might not tell its next change, and a
 * damaged memory is as none. SG_ERR_MISSING: there is no such file. SG_ERR_IO: it is no regular file or cannot be read. */
SG_CHECKED sg_status dataset_checksum(char sha256[65], const char *path, const char *folder, struct sg_error *err);

/* `what` and the file as it is now, by its absolute path, size, time of change and inode; malloc'ed, NULL on failure. */
SG_CHECKED sg_status dataset_file_now(char **out, const char *what, const char *path, const struct stat *st,
                                      struct sg_error *err);

#endif
