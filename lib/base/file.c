/* file.c: reads files whole and writes them whole or not at all. */
/* SPDX-License-Identifier: MIT */
#include "sg_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_text.h"

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "folder"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
           : S_ISBLK(mode)  ? "block device"
                            : "device";
}

bool sg_file_is_regular(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

sg_status sg_file_open(int *fd, const char *path, struct sg_error *err) {
    struct stat info;
    if (stat(path, &info) != 0)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "cannot read %s", path);
    int opened = S_ISREG(info.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (S_ISREG(info.st_mode) && (opened < 0 || fstat(opened, &info) != 0)) {
        sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
        if (opened >= 0)
            close(opened);
        return err->status;
    }
    if (!S_ISREG(info.st_mode)) { /* asked of what was opened: the name may mean something else by now */
        if (opened >= 0)
            close(opened);
        return sg_fail(err, SG_ERR_ARGUMENT, "%s is a %s, not a regular file", path, kind_of(info.st_mode));
    }
    *fd = opened;
    return SG_OK;
}

sg_status sg_file_read_at(int fd, void *out, size_t bytes, off_t at, const char *path, struct sg_error *err) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(fd, (char *)out + done, bytes - done, at + (off_t)done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0)
            return sg_fail(err, SG_ERR_IO, "%s: %zu bytes are wanted at byte %lld, and it ends after %zu: was it cut?",
                           path, bytes, (long long)at, done);
        else if (errno != EINTR)
            return sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
    }
    return SG_OK;
}

/* Waits until there is something to read, or the end. A signal ends the wait, and would not end that of read(). */
static sg_status await_data(int fd, const char *name, struct sg_error *err) {
    enum { LOOK_MS = 100 }; /* the signal may have come just before poll */
    struct pollfd in = {.fd = fd, .events = POLLIN};
    while (!sg_signal_pending())
        if (poll(&in, 1, LOOK_MS) > 0)
            return SG_OK;
    return sg_fail(err, SG_ERR_INTERRUPTED, "stopped by a signal while %s was read", name);
}

/* Reads an open file to its end; `name` is for messages. */
static sg_status read_all(char **out, size_t *length, int fd, const char *name, size_t max_bytes,
                          struct sg_error *err) {
    enum { STEP = 1 << 20, MOST_OF_DEVICE = 1 << 24 };
    struct stat info;
    sg_status status = SG_OK;
    size_t used = 0, capacity = 1 << 16;
    char *data = sg_malloc(capacity + 1);
    const bool known = fstat(fd, &info) == 0, device = known && S_ISCHR(info.st_mode);
    const bool waits =
        !known || !S_ISREG(info.st_mode); /* regular files are read behind a signal, too, to say how far */
    while (data && status == SG_OK) {     /* a run came */
        status = waits ? await_data(fd, name, err) : SG_OK;
        if (status != SG_OK)
            break;
        const ssize_t got = read(fd, data + used, capacity - used < STEP ? capacity - used : STEP);
        if (got == 0)
            break;
        if (got < 0) {
            if (errno != EINTR && errno != EAGAIN)
                status = sg_fail_errno(err, SG_ERR_IO, "cannot read %s", name);
            continue;
        }
        used += (size_t)got;
        if (used > max_bytes)
            status = sg_fail(err, SG_ERR_FORMAT, "%s: larger than %zu bytes", name, max_bytes);
        else if (device && used > MOST_OF_DEVICE)
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s is a device without an end: name a file", name);
        else if (used == capacity) {
            capacity *= 2;
            data = sg_realloc(data, capacity + 1);
        }
    }
    if (status != SG_OK) {
        free(data);
        return status;
    }
    SG_ASSERT(used <= capacity);
    data[used] = '\0';
    SG_TRACE(1, "read %zu bytes of %s", used, name);
    *out = data;
    *length = used;
    return SG_OK;
}

/* A pipe without a writer is opened at once; the wait for one is that for data. */
sg_status sg_file_read(char **out, size_t *length, const char *path, size_t max_bytes, struct sg_error *err) {
    if (strcmp(path, "-") == 0)
        return read_all(out, length, STDIN_FILENO, "<stdin>", max_bytes, err);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "cannot read %s", path);
    sg_status status = read_all(out, length, fd, path, max_bytes, err);
    close(fd);
    return status;
}

sg_status sg_file_stream(FILE **out, const char *path, struct sg_error *err) {
    int fd;
    sg_status status = sg_file_open(&fd, path, err);
    if (status == SG_OK && !(*out = fdopen(fd, "rb"))) {
        close(fd);
        status = sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
    }
    return status;
}

sg_status sg_file_read_regular(char **out, size_t *length, const char *path, size_t max_bytes, struct sg_error *err) {
    int fd;
    sg_status status = sg_file_open(&fd, path, err);
    if (status != SG_OK)
        return status;
    status = read_all(out, length, fd, path, max_bytes, err);
    close(fd);
    return status;
}

enum { ROOM = 16 }; /* characters added to the name of a file that is not complete yet */

/* Checks that a temporary name of `path` is not too long. A run would find this out only at its end. */
static sg_status check_length(const char *path, struct sg_error *err) {
    char *copy[] = {sg_strdup(path), sg_strdup(path)};
    const long most = pathconf(dirname(copy[0]), _PC_NAME_MAX), name_max = (most > 0 ? most : NAME_MAX) - ROOM;
    sg_status status = SG_OK;
    if (strlen(path) + ROOM >= PATH_MAX || (long)strlen(basename(copy[1])) > name_max)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%.200s…: the name is too long: at most %ld bytes, in a path of %d",
                         path, name_max, PATH_MAX - ROOM - 1);
    free(copy[0]);
    free(copy[1]);
    return status;
}

/* A link of /proc, such as /proc/self/fd/1, is an open file. Its text is no name that could be written instead. */
static bool is_open_file(const char *path) {
    struct statfs system;
    struct stat info;
    char *copy = sg_strdup(path);
    const bool in_proc = statfs(dirname(copy), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    free(copy);
    return in_proc && lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* The name at the end of a chain of links, which need not exist; a link that is an open file ends the chain. */
static sg_status follow(char **out, const char *path, struct sg_error *err) {
    enum { MOST_LINKS = 40 };
    char *name = sg_strdup(path), target[PATH_MAX];
    struct stat info;
    for (int i = 0; lstat(name, &info) == 0 && S_ISLNK(info.st_mode) && !is_open_file(name); i++) {
        const ssize_t length = readlink(name, target, sizeof target);
        if (i == MOST_LINKS || length < 0 || length == sizeof target) {
            free(name);
            return sg_fail(err, SG_ERR_IO, "cannot write %s: too many or too long symbolic links", path);
        }
        const char *slash = strrchr(name, '/');
        const int folder = *target != '/' && slash ? (int)(slash + 1 - name) : 0;
        char *next = sg_format("%.*s%.*s", folder, name, (int)length, target);
        free(name);
        name = next;
    }
    *out = name;
    return SG_OK;
}

sg_status sg_file_target(char **out, bool *device, const char *path, bool replace, struct sg_error *err) {
    struct stat info;
    char *end;
    if (*path == '\0')
        return sg_fail(err, SG_ERR_ARGUMENT, "the name of a file to write is empty");
    /* stat comes first, because the system may forbid following a link. */
    const bool there = stat(path, &info) == 0;
    if (!there && errno != ENOENT && errno != ENAMETOOLONG)
        return sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
    if (there && S_ISDIR(info.st_mode))
        return sg_fail(err, SG_ERR_IO, "%s is a folder: name a file", path);
    sg_status status = follow(&end, path, err);
    if (status != SG_OK)
        return status;
    const bool direct = is_open_file(end) || (there && !S_ISREG(info.st_mode));
    if (direct && !device)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s is not a plain file", path);
    else if (there && !direct && !replace)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s exists: choose another name or add --force", path);
    else
        status = check_length(end, err);
    if (status == SG_OK && device)
        *device = direct;
    if (status == SG_OK && out)
        *out = end;
    else
        free(end);
    return status;
}

/* The descriptor of this process that `path` names, or -1. */
static int descriptor_of(const char *path, const struct stat *info) {
    struct stat mine;
    char *end;
    const char *number = strrchr(path, '/');
    const long fd = number && is_open_file(path) ? strtol(number + 1, &end, 10) : -1;
    return fd >= 0 && fd <= INT_MAX && *end == '\0' && fstat((int)fd, &mine) == 0 && mine.st_dev == info->st_dev &&
                   mine.st_ino == info->st_ino
               ? (int)fd
               : -1;
}

/* A descriptor of this process is duplicated and not opened again: it then keeps the shell's position and append mode,
 * and may be a socket. The wait for a reader sleeps between attempts, because open would start to wait again after a
 * signal, and a sleep does not; a signal may also have come before. */
sg_status sg_file_device(FILE **out, const char *path, struct sg_error *err) {
    const struct timespec moment = {.tv_nsec = 20000000};
    struct stat info;
    const bool there = stat(path, &info) == 0, waits = there && S_ISFIFO(info.st_mode);
    const int keep = there && S_ISREG(info.st_mode) ? O_APPEND : 0, mine = there ? descriptor_of(path, &info) : -1;
    int fd = mine >= 0 ? fcntl(mine, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) { /* a closed standard output, for one */
        close(fd);
        errno = EBADF;
        return sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
    }
    while (mine < 0 && (fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | keep)) < 0 && waits &&
           errno == ENXIO)
        if (sg_signal_pending() || nanosleep(&moment, NULL) != 0)
            return sg_fail(err, SG_ERR_INTERRUPTED, "stopped by a signal while nobody read the pipe %s", path);
    if (fd >= 0 && (mine >= 0 || fcntl(fd, F_SETFL, keep) == 0) && (*out = fdopen(fd, "w")))
        return SG_OK;
    sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return err->status;
}

sg_status sg_file_make_way(const char *path, struct sg_error *err) {
    struct stat info;
    if (lstat(path, &info) != 0 || S_ISREG(info.st_mode))
        return SG_OK;
    if (!S_ISLNK(info.st_mode))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s is a %s, not a regular file: remove it", path, kind_of(info.st_mode));
    return unlink(path) == 0 ? SG_OK : sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
}

bool sg_file_same(const char *a, const char *b) {
    struct sg_error unused;
    struct stat folder[2];
    char *end[2] = {NULL, NULL};
    const bool known = follow(&end[0], a, &unused) == SG_OK && follow(&end[1], b, &unused) == SG_OK;
    char *copy[] = {known ? sg_strdup(end[0]) : NULL, known ? sg_strdup(end[1]) : NULL, end[0], end[1]};
    bool same = copy[0] && copy[1] && copy[2] && copy[3] && strcmp(basename(copy[0]), basename(copy[1])) == 0 &&
                stat(dirname(copy[2]), &folder[0]) == 0 && stat(dirname(copy[3]), &folder[1]) == 0 &&
                folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino;
    for (size_t i = 0; i < sizeof copy / sizeof *copy; i++)
        free(copy[i]);
    return same;
}

sg_status sg_file_begin(struct sg_file_writer *w, const char *path, bool replace, struct sg_error *err) {
    bool device;
    *w = (struct sg_file_writer){0};
    sg_status status = sg_file_target(&w->path, &device, path, replace, err);
    if (status != SG_OK)
        return status;
    if (device) {
        status = sg_file_device(&w->stream, w->path, err);
    } else {
        sg_file_sweep(w->path);
        status = sg_file_temporary(&w->stream, &w->temporary, w->path, err);
    }
    if (status != SG_OK)
        sg_file_abandon(w);
    return status;
}

/* Makes a rename durable. Errors are ignored, because some file systems refuse fsync of a folder. */
static void sync_folder_of(const char *path) {
    char *copy = sg_strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

sg_status sg_file_publish(FILE *stream, const char *from, const char *to, struct sg_error *err) {
    SG_ASSERT(stream && strcmp(from, to) != 0);
    if (!sg_file_is_still(stream, from))
        return sg_fail(err, SG_ERR_IO, "%s is no longer the file that was written under this name: %s is not replaced",
                       from, to);
    if (fflush(stream) != 0 || ferror(stream) || fsync(fileno(stream)) != 0 || rename(from, to) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot write %s", to);
    SG_TRACE(1, "%s is whole", to);
    sync_folder_of(to);
    return SG_OK;
}

sg_status sg_file_commit(struct sg_file_writer *w, struct sg_error *err) {
    SG_ASSERT(w->stream && w->path);
    sg_status status = SG_OK;
    if (w->temporary)
        status = sg_file_publish(w->stream, w->temporary, w->path, err);
    else if (fflush(w->stream) != 0 || ferror(w->stream))
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write %s", w->path);
    if (status == SG_OK) { /* nothing temporary is left to remove */
        free(w->temporary);
        w->temporary = NULL;
    }
    sg_file_abandon(w);
    return status;
}

void sg_file_abandon(struct sg_file_writer *w) {
    if (w->temporary) {
        if (sg_file_is_still(w->stream, w->temporary))
            unlink(w->temporary);
        free(w->temporary);
    }
    if (w->stream)
        fclose(w->stream);
    free(w->path);
    *w = (struct sg_file_writer){0};
}

sg_status sg_file_replace(const char *path, const void *data, size_t length, struct sg_error *err) {
    struct sg_file_writer w;
    sg_status status = sg_file_make_way(path, err);
    SG_DO(status, sg_file_begin(&w, path, true, err));
    if (status != SG_OK)
        return status;
    fwrite(data, 1, length, w.stream); /* a short write shows in ferror at commit */
    return sg_file_commit(&w, err);
}

sg_status sg_folder_make(const char *path, struct sg_error *err) {
    char *copy = sg_strdup(path);
    sg_status status = SG_OK;
    for (char *c = copy; status == SG_OK; c++) {
        if (*c != '/' && *c != '\0')
            continue;
        bool last = *c == '\0';
        *c = '\0';
        if (*copy && mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = sg_fail_errno(err, SG_ERR_IO, "cannot create folder %s", copy);
        if (last)
            break;
        *c = '/';
    }
    struct stat info;
    if (status == SG_OK && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)))
        status = sg_fail(err, SG_ERR_IO, "%s is not a folder", path);
    free(copy);
    return status;
}
