/* grid_lock.c: lets several sparsebench work in one folder: each cell has a lock.
 *
 * A cell's lock is a byte of the file FOLDER/.lock, at an offset of the cell's own. Record locks of a file description
 * (F_OFD_SETLK) serve, because NFS and most file systems of clusters keep those for all hosts. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sg_grid.h"
#include "sg_memory.h"
#include "sg_text.h"

/* A part of the cell's key as file offset. It does not depend on the label, so equal runs have one lock. */
static off_t offset_of(const struct sg_cell *cell) {
    enum { DIGITS = 15 };
    char digits[DIGITS + 1] = "";
    memcpy(digits, cell->key, DIGITS);
    return (off_t)strtoull(digits, NULL, 16);
}

static int set_lock(int fd, short type, off_t start) {
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    int code;
    do
        code = fcntl(fd, F_OFD_SETLK, &range);
    while (code != 0 && errno == EINTR);
    return code;
}

static bool taken(void) {
    return errno == EAGAIN || errno == EACCES;
}

static sg_status no_locks(struct sg_error *err) {
    return sg_fail_errno(err, SG_ERR_IO, "cannot lock cells: put --folder on a file system with locks");
}

/* The descriptor stays open across exec: a child that outlives a killed sparsebench keeps its cell locked until the
 * child ends. */
sg_status sg_grid_lock(int *out, const char *folder, struct sg_error *err) {
    char *path;
    path = sg_format("%s/.lock", folder);
    sg_status status = SG_OK;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == ELOOP)
        status = sg_fail(err, SG_ERR_IO, "%s is a symbolic link: remove it", path);
    else if (fd < 0)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write to folder %s", folder);
    free(path);
    if (status == SG_OK)
        *out = fd;
    return status;
}

sg_status sg_grid_lock_cell(bool *ours, int lock, const struct sg_cell *cell, struct sg_error *err) {
    *ours = set_lock(lock, F_WRLCK, offset_of(cell)) == 0;
    return *ours || taken() ? SG_OK : no_locks(err);
}

void sg_grid_unlock_cell(int lock, const struct sg_cell *cell) {
    set_lock(lock, F_UNLCK, offset_of(cell));
}
