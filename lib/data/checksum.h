/* checksum.h: SHA-256 of data files, remembered; private to lib/data. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <sys/stat.h>

#include "sg_status.h"

/* The SHA-256 of the text of the file at `path`, unpacked as data_text_open does. It is remembered in `folder` (NULL =
 * it is not) by the file's absolute path, size, inode and change time (ctime, in nanoseconds), so asking again reads
 * nothing. Programs can set the modification time back after an edit, but not the change time. A file that was written in the last seconds is not remembered, because its time might not tell the next change. A
 * file that changes while it is read is not remembered either. */
SG_CHECKED sg_status dataset_checksum(char sha256[65], const char *path, const char *folder, struct sg_error *err);

/* `what` and the file as it is now, by its absolute path, size, change time and inode; malloc'ed, NULL on failure. */
SG_CHECKED sg_status dataset_file_now(char **out, const char *what, const char *path, const struct stat *st,
                                      struct sg_error *err);

#endif
