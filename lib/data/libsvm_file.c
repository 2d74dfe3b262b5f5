#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sg_file.h"
#include "matrix_layout.h"
#include "sg_matrix.h"

extern char **environ;

static const struct packer {
    const char *suffix, *tool, *package;
} packers[] = {{".gz", "gzip", "gzip"}, {".bz2", "bzip2", "bzip2"}, {".xz", "xz", "xz-utils"}};

static const struct packer *packer_of(const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
        size_t suffix = strlen(packers[i].suffix);
        if (length > suffix && strcmp(path + length - suffix, packers[i].suffix) == 0)
            return &packers[i];
    }
    return NULL;
}

/* Text of a file, one mapping; bytes is what to give munmap. */
struct text {
    char *at;
    size_t length, bytes;
};

static void text_free(struct text *t) {
    if (t->at)
        munmap(t->at, t->bytes);
}

static sg_status text_map(struct text *out, int fd, const char *path, struct sg_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "%s", path);
    if (!S_ISREG(st.st_mode))
        return sg_fail(err, SG_ERR_IO, "%s: not a regular file", path);
    if (st.st_size == 0)
        return SG_OK;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return sg_fail_errno(err, SG_ERR_IO, "%s: cannot map", path);
    *out = (struct text){.at = at, .length = (size_t)st.st_size, .bytes = (size_t)st.st_size};
    return SG_OK;
}

/* All of a pipe. */
static sg_status text_drain(struct text *out, int fd, const char *path, struct sg_error *err) {
    struct text t = {.bytes = (size_t)16 << 20};
    t.at = mmap(NULL, t.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t.at == MAP_FAILED)
        return sg_fail_memory(err, path);
    for (;;) {
        if (t.length == t.bytes) {
            char *more = mremap(t.at, t.bytes, 2 * t.bytes, MREMAP_MAYMOVE);
            if (more == MAP_FAILED) {
                text_free(&t);
                return sg_fail_memory(err, path);
            }
            t.at = more;
            t.bytes *= 2;
        }
        ssize_t got = read(fd, t.at + t.length, t.bytes - t.length);
        if (got > 0) {
            t.length += (size_t)got;
        } else if (got == 0) {
            *out = t;
            return SG_OK;
        } else if (errno != EINTR) {
            sg_status status = sg_fail_errno(err, SG_ERR_IO, "%s", path);
            text_free(&t);
            return status;
        }
    }
}

/* The tool reads the file as its standard input, so that no path is ever taken for an option. */
static int start_tool(pid_t *pid, const char *tool, int input, int output) {
    char *argv[] = {(char *)tool, "-dc", NULL};
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawnp(pid, tool, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static sg_status text_unpack(struct text *out, int fd, const struct packer *packer, const char *path,
                             struct sg_error *err) {
    int ends[2], exit_status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "%s: cannot make a pipe", path);
    int failed = start_tool(&pid, packer->tool, fd, ends[1]);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: cannot run %s to unpack it (apt-get install %s): %s", path,
                       packer->tool, packer->package, strerror(failed));
    }
    struct text t = {0};
    sg_status status = text_drain(&t, ends[0], path, err);
    close(ends[0]);
    while (waitpid(pid, &exit_status, 0) < 0 && errno == EINTR)
        ;
    if (status == SG_OK && (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0))
        status = sg_fail(err, SG_ERR_FORMAT, "%s: %s could not unpack it: the file is truncated or corrupt", path,
                         packer->tool);
    if (status)
        text_free(&t);
    else
        *out = t;
    return status;
}

sg_status sg_libsvm_read(struct sg_matrix *out, const char *path, size_t d, char sha256[65], struct sg_error *err) {
    struct text t = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "%s", path);
    const struct packer *packer = packer_of(path);
    sg_status status = packer ? text_unpack(&t, fd, packer, path, err) : text_map(&t, fd, path, err);
    close(fd);
    if (status)
        return status;

    char hex[65];
    sg_sha256_of(t.at ? t.at : "", t.length, hex); /* first: parsing gives the text back */
    status = t.at ? sg_libsvm_consume(out, t.at, t.length, d, path, err) : sg_libsvm_parse(out, "", 0, d, path, err);
    text_free(&t);
    if (status == SG_OK)
        memcpy(sha256, hex, sizeof hex);
    return status;
}
