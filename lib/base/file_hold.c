/* file_hold.c: files that one process at a time writes. The process that writes holds a lock (flock). On a file system
 * without locks only the last check remains: whether the file still has its name when it gets its final one. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { TRIES = 1000 };

static bool is_still(int fd, int folder, const char *name) {
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && fstatat(folder, name, &there, 0) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

bool sg_file_is_still(FILE *stream, const char *path) {
    return is_still(fileno(stream), AT_FDCWD, path);
}

sg_status sg_file_hold(FILE **out, const char *path, bool make, struct sg_error *err) {
    for (int i = 0; i < TRIES; i++) {
        struct stat info;
        const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (make ? O_CREAT : 0), 0666);
        if (fd < 0 && errno == ELOOP)
            return sg_fail(err, SG_ERR_ARGUMENT, "%s is a symbolic link, not a plain file: remove it", path);
        if (fd < 0)
            return sg_fail_errno(err, errno == ENOENT && !make ? SG_ERR_MISSING : SG_ERR_IO, "cannot write %s", path);
        if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
            close(fd);
            return sg_fail(err, SG_ERR_ARGUMENT, "%s is not a plain file", path);
        }
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(fd);
            return sg_fail(err, SG_ERR_IO,
                           "another sparsetrain writes %s: wait until it has ended, or choose another name", path);
        }
        if (!is_still(fd, AT_FDCWD, path)) { /* another process renamed it before this one locked it */
            close(fd);
            continue;
        }
        if (!(*out = fdopen(fd, "r+"))) {
            close(fd);
            return sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
        }
        return SG_OK;
    }
    return sg_fail(err, SG_ERR_IO, "%s is another file whenever it is looked at: choose another name", path);
}

bool sg_file_is_temporary(const char *ending) {
    const size_t digits = ending[0] == '.' ? strspn(ending + 1, "0123456789") : 0;
    return digits > 0 && strcmp(ending + 1 + digits, ".tmp") == 0;
}

/* A writer that has made its file but does not hold it yet can lose it here. It notices and makes another one. */
void sg_file_sweep(const char *path) {
    char *copy[] = {sg_strdup(path), sg_strdup(path)};
    DIR *folder = opendir(dirname(copy[0]));
    const char *name = folder ? basename(copy[1]) : "";
    const size_t length = strlen(name);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, name, length) != 0 || !sg_file_is_temporary(entry->d_name + length))
            continue;
        const int fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still(fd, dirfd(folder), entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
        close(fd);
    }
    if (folder)
        closedir(folder);
    free(copy[0]);
    free(copy[1]);
}

/* NUMBER is this process's id, or the next one if a process of another host has the same. */
sg_status sg_file_temporary(FILE **out, char **name, const char *path, struct sg_error *err) {
    for (long i = 0; i < TRIES; i++) {
        char *text = sg_format("%s.%ld.tmp", path, (long)getpid() + i);
        const int fd = open(text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        const bool ours =
            fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && is_still(fd, AT_FDCWD, text);
        if (ours && (*out = fdopen(fd, "r+"))) {
            *name = text;
            return SG_OK;
        }
        const int why = errno;
        const bool again = fd >= 0 ? !ours : why == EEXIST;
        free(text);
        if (fd >= 0) {
            close(fd);
            sg_file_sweep(path); /* it may still be there if it could not be looked at */
        }
        errno = why;
        if (!again)
            break;
    }
    return sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
}
