/* sg_file.h: whole files or none. */
#ifndef SG_FILE_H
#define SG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_status.h"

/* Open a regular file for reading: *fd, closed on exec. Whatever else the path names (a folder, device, socket, named
 * pipe) is refused at once with SG_ERR_ARGUMENT: to open a pipe would wait for somebody who writes to it. */
SG_CHECKED sg_status sg_file_open(int *fd, const char *path, struct sg_error *err);

/* Read all of `path` ("-" = stdin) up to max_bytes into a malloc'ed, NUL-terminated buffer. A pipe, as the shell's <(...)
 * gives it, is read to its end. */
SG_CHECKED sg_status sg_file_read(char **out, size_t *length, const char *path, size_t max_bytes, struct sg_error *err);

/* The same of a regular file only, as sg_file_open says; "-" is a file of that name. */
SG_CHECKED sg_status sg_file_read_regular(char **out, size_t *length, const char *path, size_t max_bytes,
                                          struct sg_error *err);

/* May `path` be written? SG_ERR_ARGUMENT when it is a file and !replace, when it is empty, or when it is so long that the
 * names of the temporary files beside it would be too long; SG_ERR_IO when it is a folder. *device: it is there and is
 * neither (/dev/stdout, a named pipe), so it is written straight: nothing to replace, rename or resume. */
SG_CHECKED sg_status sg_file_target(bool *device, const char *path, bool replace, struct sg_error *err);

/* Open such a device for writing. A named pipe is waited for until somebody reads it; a signal that is caught ends that
 * with SG_ERR_INTERRUPTED. */
SG_CHECKED sg_status sg_file_device(FILE **out, const char *path, struct sg_error *err);

/* Do two paths name the same file, be it there or not: the same last part in the same folder? */
bool sg_file_same(const char *a, const char *b);

/* Open the plain file `path` for reading and writing, at its begin, and hold it: until the stream is closed, no other
 * process can hold the file of that name, on other hosts neither where their file system shares its locks (flock).
 * SG_ERR_IO at once when another sparsetrain holds it. make: create it, empty, when it is not there; else that is
 * SG_ERR_MISSING. */
SG_CHECKED sg_status sg_file_hold(FILE **out, const char *path, bool make, struct sg_error *err);

/* Is `path` still the name of the file that `stream` has open? */
bool sg_file_is_still(FILE *stream, const char *path);

/* Flush `stream`, which writes the file `from`, to the disk and give it the name `to`, durably. It stays open. SG_ERR_IO
 * when `from` has become the name of another file. */
SG_CHECKED sg_status sg_file_publish(FILE *stream, const char *from, const char *to, struct sg_error *err);

/* A file that appears under `path` complete or not at all: written beside it as path.NUMBER.tmp, which no other process
 * has, flushed to the disk (fsync of file and folder) and renamed by commit. Opening fails early when the folder is not
 * writable, or as sg_file_target says; a device is written straight. Opening also removes what writers of the same path
 * left when they were killed. */
struct sg_file_writer {
    FILE *stream; /* write here */
    char *path, *temporary;
};
SG_CHECKED sg_status sg_file_begin(struct sg_file_writer *w, const char *path, bool replace, struct sg_error *err);
SG_CHECKED sg_status sg_file_commit(struct sg_file_writer *w, struct sg_error *err);
void sg_file_abandon(struct sg_file_writer *w); /* harmless after commit */

/* Is this what follows a file's name in that of its temporary file: .NUMBER.tmp? */
bool sg_file_is_temporary(const char *ending);
/* Remove the temporary files of `path` whose writers are gone: those that nobody holds. */
void sg_file_sweep(const char *path);
/* Make and open a temporary file of `path`, held as above. *name is malloc'ed. */
SG_CHECKED sg_status sg_file_temporary(FILE **out, char **name, const char *path, struct sg_error *err);

/* The same in one call. */
SG_CHECKED sg_status sg_file_replace(const char *path, const void *data, size_t length, struct sg_error *err);

/* mkdir -p. */
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
