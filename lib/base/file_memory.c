/* file_memory.c: memory that lies in a file without a name, and files that are read as memory, both by mmap. */
#include "sg_file_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_text.h"

/* Vectors of an eighth of a chunk and more have one of their own each, of whole steps, which whole pages make up. So
 * vectors of one length leave no more than an eighth of the file over. */
enum { CHUNK_BYTES = 1 << 26, STEP_BYTES = 1 << 16, ALIGNMENT = 64 };

/* A part of the file that is mapped. */
struct chunk {
    struct chunk *before;
    char *at;
    size_t bytes, used;
};

struct sg_file_memory {
    int fd;
    off_t length;
    struct chunk *latest;
    char *folder;
    struct sg_error error; /* of the first vector that found no room; its status is SG_OK before that */
};

/* A file system that has no files without a name gets one whose name is removed at once. */
static int open_nameless(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    char *name = sg_format("%s/sparsegrad-XXXXXX", folder);
    fd = name ? mkostemp(name, O_CLOEXEC) : -1;
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

sg_status sg_file_memory_open(sg_file_memory **out, const char *folder, struct sg_error *err) {
    struct statfs system;
    const int fd = open_nameless(folder);
    if (fd < 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot make a file in %s", folder);
    if (fstatfs(fd, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) {
        close(fd);
        return sg_fail(err, SG_ERR_ARGUMENT, "files in %s lie in memory (tmpfs): name a folder on a disk", folder);
    }
    sg_file_memory *m = calloc(1, sizeof *m);
    if (!m || !(m->folder = strdup(folder))) {
        close(fd);
        free(m);
        return sg_fail_memory(err, folder);
    }
    m->fd = fd;
    *out = m;
    return SG_OK;
}

/* Reserves and maps the next part of the file; NULL = there is no room, and errno says why. */
static struct chunk *add_chunk(sg_file_memory *m, size_t least) {
    struct chunk *c = malloc(sizeof *c);
    const size_t bytes = least < CHUNK_BYTES / 8 ? CHUNK_BYTES : (least + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    const int failed = c ? posix_fallocate(m->fd, m->length, (off_t)bytes) : ENOMEM;
    char *at = failed ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, m->length);
    if (at == MAP_FAILED) {
        free(c);
        errno = failed ? failed : errno;
        return NULL;
    }
    *c = (struct chunk){.before = m->latest, .at = at, .bytes = bytes};
    m->length += (off_t)bytes;
    return m->latest = c;
}

void *sg_file_memory_take(sg_file_memory *m, size_t bytes) {
    const size_t whole = bytes / ALIGNMENT * ALIGNMENT + (bytes % ALIGNMENT > 0 ? ALIGNMENT : 0);
    struct chunk *c = m->latest;
    if ((!c || c->bytes - c->used < whole) && !(c = add_chunk(m, whole))) {
        if (m->error.status == SG_OK)
            sg_fail_errno(&m->error, SG_ERR_IO, "a file in %s cannot grow beyond %lld bytes", m->folder,
                          (long long)m->length);
        return NULL;
    }
    char *out = c->at + c->used;
    c->used += whole;
    SG_ASSERT(c->used <= c->bytes);
    return out;
}

sg_status sg_file_memory_status(const sg_file_memory *m, struct sg_error *err) {
    if (m->error.status != SG_OK)
        *err = m->error;
    return m->error.status;
}

void sg_file_memory_close(sg_file_memory *m) {
    if (!m)
        return;
    for (struct chunk *c = m->latest, *before; c; c = before) {
        before = c->before;
        munmap(c->at, c->bytes);
        free(c);
    }
    close(m->fd);
    free(m->folder);
    free(m);
}

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
