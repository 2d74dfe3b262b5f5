/* sg_file_memory.h: files used as memory: vectors that lie in a file without a name, for what this host's memory cannot
 * hold, and files that are read as if they were in memory. The kernel keeps as much of both in memory as it has room
 * for, and may drop it again. Linux only. */
#ifndef SG_FILE_MEMORY_H
#define SG_FILE_MEMORY_H

#include <stddef.h>

#include "sg_status.h"

/* Memory in a file of its own that has no name, so that nothing is left of it when the process ends. Not for several
 * threads at once. */
typedef struct sg_file_memory sg_file_memory;

/* Makes the file in `folder`. SG_ERR_IO: that cannot be written. SG_ERR_ARGUMENT: its files lie in memory (tmpfs). */
SG_CHECKED sg_status sg_file_memory_open(sg_file_memory **out, const char *folder, struct sg_error *err);
/* Zeros, at an address that is a multiple of 64, valid until close. Room for them is reserved on the disk, 64 MiB for
 * short ones together, so that a disk that is full is found here and not when they are written. NULL: there is none, or
 * no address; sg_file_memory_status then says why, and is SG_OK as long as nothing failed. */
void *sg_file_memory_take(sg_file_memory *m, size_t bytes);
SG_CHECKED sg_status sg_file_memory_status(const sg_file_memory *m, struct sg_error *err);
/* NULL is fine. */
void sg_file_memory_close(sg_file_memory *m);

/* A regular file as it is now, to be read until it is unmapped; NULL if it is empty. Nobody may shorten it meanwhile;
 * it may be replaced by another of its name. Errors as of sg_file_open. */
SG_CHECKED sg_status sg_file_map(void **out, size_t *length, const char *path, struct sg_error *err);
void sg_file_unmap(void *data, size_t length);

#endif
