/* grid_lock.c: locks a folder, so that one sparsebench at a time works in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "sg_grid.h"

/* The descriptor is left open across exec: a child that outlives a killed sparsebench keeps the folder locked until it
 * stopped too. */
sg_status sg_grid_lock(int *out, const char *folder, struct sg_error *err) {
    char *path, owner[32];
    if (asprintf(&path, "%s/.lock", folder) < 0)
        return sg_fail_memory(err, "a path");
    sg_status status = SG_OK;
    int length = snprintf(owner, sizeof owner, "%ld\n", (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == ELOOP)
        status = sg_fail(err, SG_ERR_IO, "%s is a symbolic link: remove it", path);
    else if (fd < 0)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write to folder %s", folder);
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        status = errno == EWOULDBLOCK
                     ? sg_fail(err, SG_ERR_IO, "another sparsebench works in %s: wait for it, or use another --folder",
                               folder)
                     : sg_fail_errno(err, SG_ERR_IO, "cannot lock %s", path);
    else if (ftruncate(fd, 0) != 0 || write(fd, owner, (size_t)length) != length)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write to folder %s", folder);
    free(path);
    if (status == SG_OK)
        *out = fd;
    else if (fd >= 0)
        close(fd);
    return status;
}
