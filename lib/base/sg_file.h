/* sg_file.h: files that are written whole or not at all, locks on files, and SHA-256. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_FILE_H
#define SG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "sg_status.h"

/* True if `path`, after symbolic links, is a regular file. */
bool sg_file_is_regular(const char *path);

/* Opens a regular file for reading; *fd is closed on exec. Any other kind (a folder, device, socket or named pipe) is
 * refused at once with SG_ERR_ARGUMENT, because opening a pipe would wait for its writer. */
SG_CHECKED sg_status sg_file_open(int *fd, const char *path, struct sg_error *err);
SG_CHECKED sg_status sg_file_stream(FILE **out, const char *path, struct sg_error *err);

/* Reads exactly `bytes` at the offset `at` of an open file, whose position stays; `path` is for messages. SG_ERR_IO if
 * it cannot be read or is too short. Several threads may read one file at once. */
SG_CHECKED sg_status sg_file_read_at(int fd, void *out, size_t bytes, off_t at, const char *path, struct sg_error *err);

/* Reads all of `path` ("-" = stdin), at most max_bytes, into a buffer that ends in NUL; the caller frees it. A pipe is
 * read to its end, so the shell's <(...) works; the wait for its writer and data ends at a caught signal with
 * SG_ERR_INTERRUPTED. A device that gives more than 16 MiB is refused as one without an end. */
SG_CHECKED sg_status sg_file_read(char **out, size_t *length, const char *path, size_t max_bytes, struct sg_error *err);

/* Like sg_file_read, but only for regular files (sg_file_open); "-" is an ordinary file name here. */
SG_CHECKED sg_status sg_file_read_regular(char **out, size_t *length, const char *path, size_t max_bytes,
                                          struct sg_error *err);

/* Checks that the user's name `path` may be written. A symbolic link is followed: *out, which the caller frees, is the
 * name at its end, which need not exist; NULL = not wanted. *device is set if that is no regular file, such as a named
 * pipe, or an open file of a process, such as /dev/stdout: it is written directly, and there is nothing to replace,
 * rename or resume. SG_ERR_ARGUMENT: the path is a file and !replace, or it is empty, or it is too long for the names
 * of its temporary files, or it is a device and `device` is NULL. SG_ERR_IO: it is a folder, or cannot be reached. */
SG_CHECKED sg_status sg_file_target(char **out, bool *device, const char *path, bool replace, struct sg_error *err);

/* Opens such a device, a name at the end of links, for writing. Opening a named pipe waits until somebody reads it; a
 * caught signal ends the wait with SG_ERR_INTERRUPTED. */
SG_CHECKED sg_status sg_file_device(FILE **out, const char *path, struct sg_error *err);

/* Makes way for a file whose name the program chose, such as a cache: a symbolic link in its place is removed and not
 * followed, and anything else but a regular file is refused with SG_ERR_ARGUMENT. */
SG_CHECKED sg_status sg_file_make_way(const char *path, struct sg_error *err);

/* True if two paths name one file, that is, after links the same last part in the same folder. It need not exist. */
bool sg_file_same(const char *a, const char *b);

/* Opens the plain file `path` for reading and writing, at its begin, and locks it (flock) until the stream is closed. A
 * symbolic link is refused: it could lead to a file of somebody else.
 * Another sparsetrain, also on another host if the file system shares locks, then gets SG_ERR_IO at once. If the file
 * is not there, `make` creates it empty; without `make` it is SG_ERR_MISSING. */
SG_CHECKED sg_status sg_file_hold(FILE **out, const char *path, bool make, struct sg_error *err);

/* True if `path` still names the file that `stream` has open. (Another process may have renamed or removed it.) */
bool sg_file_is_still(FILE *stream, const char *path);

/* Flushes `stream`, which writes the file `from`, to the disk and renames the file to `to`, durably. The stream stays
 * open. SG_ERR_IO if `from` is no longer the name of that file. */
SG_CHECKED sg_status sg_file_publish(FILE *stream, const char *from, const char *to, struct sg_error *err);

/* A file that appears under `path` complete or not at all. It is written beside it as path.NUMBER.tmp, a name that no
 * other process has; commit flushes it to the disk (fsync of file and folder) and renames it. Begin fails early if the
 * folder is not writable, or as sg_file_target says; a device is written directly. Begin also removes temporary files
 * of killed writers of the same path. */
struct sg_file_writer {
    FILE *stream; /* write here */
    char *path, *temporary;
};
SG_CHECKED sg_status sg_file_begin(struct sg_file_writer *w, const char *path, bool replace, struct sg_error *err);
SG_CHECKED sg_status sg_file_commit(struct sg_file_writer *w, struct sg_error *err);
void sg_file_abandon(struct sg_file_writer *w); /* removes the temporary file; does nothing after commit */

/* True if `ending` is the part of a temporary file's name after the path: .NUMBER.tmp. */
bool sg_file_is_temporary(const char *ending);
/* Removes the temporary files of `path` that no process holds. */
void sg_file_sweep(const char *path);
/* Makes, opens and locks a temporary file of `path`. The caller frees *name. */
SG_CHECKED sg_status sg_file_temporary(FILE **out, char **name, const char *path, struct sg_error *err);

/* Make way, begin, write `data` [length] and commit in one call; replaces an existing file. */
SG_CHECKED sg_status sg_file_replace(const char *path, const void *data, size_t length, struct sg_error *err);

/* A regular file as it is now, to be read until it is unmapped; NULL if it is empty. Nobody may shorten it meanwhile;
 * it may be replaced by another of its name. The kernel keeps as much of it in memory as it has room for. Errors as of
 * sg_file_open. */
SG_CHECKED sg_status sg_file_map(void **out, size_t *length, const char *path, struct sg_error *err);
void sg_file_unmap(void *data, size_t length);

/* Makes the folder and its parents, as mkdir -p. */
SG_CHECKED sg_status sg_folder_make(const char *path, struct sg_error *err);

/* SHA-256 as 64 hex digits. */
typedef struct sg_sha256 {
    unsigned h[8];
    unsigned char block[64];
    unsigned long long length;
} sg_sha256;
void sg_sha256_start(sg_sha256 *s);
void sg_sha256_add(sg_sha256 *s, const void *data, size_t length);
void sg_sha256_end(sg_sha256 *s, char hex[65]);
void sg_sha256_of(const void *data, size_t length, char hex[65]);

#endif
