/* file.c: reads files whole and writes them whole or not at all. */
#include "sg_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sg_debug.h"

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "folder"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
           : S_ISBLK(mode)  ? "block device"
                            : "device";
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

/* `name` is for messages. */
static sg_status read_stream(char **out, size_t *length, FILE *in, const char *name, size_t max_bytes,
                             struct sg_error *err) {
    sg_status status = SG_OK;
    size_t used = 0, capacity = 1 << 16;
    char *data = malloc(capacity + 1);
    while (data) {
        size_t got = fread(data + used, 1, capacity - used, in);
        used += got;
        if (used > max_bytes) {
            status = sg_fail(err, SG_ERR_FORMAT, "%s: larger than %zu bytes", name, max_bytes);
            break;
        }
        if (got == 0)
            break;
        if (used == capacity) {
            capacity *= 2;
            char *larger = realloc(data, capacity + 1);
            if (!larger)
                free(data);
            data = larger;
        }
    }
    if (!data)
        status = sg_fail_memory(err, name);
    else if (status == SG_OK && ferror(in))
        status = sg_fail_errno(err, SG_ERR_IO, "cannot read %s", name);
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

sg_status sg_file_read(char **out, size_t *length, const char *path, size_t max_bytes, struct sg_error *err) {
    if (strcmp(path, "-") == 0)
        return read_stream(out, length, stdin, "<stdin>", max_bytes, err);
    FILE *in = fopen(path, "rb");
    if (!in)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "cannot read %s", path);
    sg_status status = read_stream(out, length, in, path, max_bytes, err);
    fclose(in);
    return status;
}

sg_status sg_file_read_regular(char **out, size_t *length, const char *path, size_t max_bytes, struct sg_error *err) {
    int fd;
    sg_status status = sg_file_open(&fd, path, err);
    if (status != SG_OK)
        return status;
    FILE *in = fdopen(fd, "rb");
    if (!in) {
        close(fd);
        return sg_fail_memory(err, path);
    }
    status = read_stream(out, length, in, path, max_bytes, err);
    fclose(in);
    return status;
}

enum { ROOM = 16 }; /* characters added to the name of a file that is not complete yet */

/* Is there room for a temporary name beside `path`? It is asked before a run, because the run would find out only at
 * its end. */
static sg_status check_length(const char *path, struct sg_error *err) {
    char *copy[] = {strdup(path), strdup(path)};
    sg_status status = copy[0] && copy[1] ? SG_OK : sg_fail_memory(err, path);
    if (status == SG_OK) {
        const long most = pathconf(dirname(copy[0]), _PC_NAME_MAX), name_max = (most > 0 ? most : NAME_MAX) - ROOM;
        if (strlen(path) + ROOM >= PATH_MAX || (long)strlen(basename(copy[1])) > name_max)
            status = sg_fail(err, SG_ERR_ARGUMENT, "%.200s…: the name is too long: at most %ld bytes, in a path of %d",
                             path, name_max, PATH_MAX - ROOM - 1);
    }
    free(copy[0]);
    free(copy[1]);
    return status;
}

sg_status sg_file_target(bool *device, const char *path, bool replace, struct sg_error *err) {
    struct stat info;
    bool there = stat(path, &info) == 0;
    if (*path == '\0')
        return sg_fail(err, SG_ERR_ARGUMENT, "the name of a file to write is empty");
    if (check_length(path, err) != SG_OK)
        return err->status;
    if (there && S_ISDIR(info.st_mode))
        return sg_fail(err, SG_ERR_IO, "%s is a folder: name a file", path);
    *device = there && !S_ISREG(info.st_mode);
    return there && !*device && !replace
               ? sg_fail(err, SG_ERR_ARGUMENT, "%s exists: choose another name or add --force", path)
               : SG_OK;
}

/* Sleeps between attempts, because open would start to wait again after a signal, and a sleep does not. */
sg_status sg_file_device(FILE **out, const char *path, struct sg_error *err) {
    const struct timespec moment = {.tv_nsec = 20000000};
    struct stat info;
    const bool waits = stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
    int fd;
    while ((fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0 && waits && errno == ENXIO)
        if (nanosleep(&moment, NULL) != 0)
            return sg_fail(err, SG_ERR_INTERRUPTED, "stopped by a signal while nobody read the pipe %s", path);
    if (fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 && (*out = fdopen(fd, "w")))
        return SG_OK;
    sg_fail_errno(err, SG_ERR_IO, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return err->status;
}

bool sg_file_same(const char *a, const char *b) {
    char *copy[] = {strdup(a), strdup(b), strdup(a), strdup(b)};
    struct stat folder[2];
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
    sg_status status = sg_file_target(&device, path, replace, err);
    if (status != SG_OK)
        return status;
    if (!(w->path = strdup(path)))
        return sg_fail_memory(err, path);
    if (device) {
        status = sg_file_device(&w->stream, path, err);
    } else {
        sg_file_sweep(path);
        status = sg_file_temporary(&w->stream, &w->temporary, path, err);
    }
    if (status != SG_OK)
        sg_file_abandon(w);
    return status;
}

/* Makes a rename durable. Errors are ignored, because some file systems refuse fsync of a folder. */
static void sync_folder_of(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

sg_status sg_file_publish(FILE *stream, const char *from, const char *to, struct sg_error *err) {
    SG_ASSERT(stream != NULL && strcmp(from, to) != 0);
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
    SG_ASSERT(w->stream != NULL && w->path != NULL);
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
    sg_status status = sg_file_begin(&w, path, true, err);
    if (status != SG_OK)
        return status;
    fwrite(data, 1, length, w.stream); /* a short write shows in ferror at commit */
    return sg_file_commit(&w, err);
}

sg_status sg_folder_make(const char *path, struct sg_error *err) {
    char *copy = strdup(path);
    if (!copy)
        return sg_fail_memory(err, path);
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
