/* file_map.c: reads a file as if it were in memory, by mmap. */
/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_file.h"

sg_status sg_file_map(void **out, size_t *length, const char *path, struct sg_error *err) {
    struct stat info;
    int fd;
    sg_status status = sg_file_open(&fd, path, err);
    if (status != SG_OK)
        return status;
    const bool known = fstat(fd, &info) == 0;
    void *at = known && info.st_size > 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (!known || at == MAP_FAILED)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
    close(fd);
    if (status != SG_OK)
        return status;
    *out = at;
    *length = (size_t)info.st_size;
    return SG_OK;
}

void sg_file_unmap(void *data, size_t length) {
    if (data)
        munmap(data, length);
}
