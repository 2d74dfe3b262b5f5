/* data_text.c: maps a data file, or the text that a tool unpacks from it. */
/* SPDX-License-Identifier: MIT */
#include "dataset_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_text.h"

extern char **environ;

static const struct packer {
    const char *begins; /* the first bytes of a packed file */
    const char *suffix, *tool, *package;
} packers[] = {{"\x1f\x8b", ".gz", "gzip", "gzip"},
               {"BZh", ".bz2", "bzip2", "bzip2"},
               {"\xfd"
                "7zXZ",
                ".xz", "xz", "xz-utils"},
               {"\x28\xb5\x2f\xfd", ".zst", "zstd", "zstd"},
               {"PK\x03\x04", ".zip", NULL, NULL}};

/* Its first bytes count, and its name where these say nothing, because it is damaged then. */
static const struct packer *packer_of(const char *path, int fd) {
    char first[8] = "";
    const ssize_t got = pread(fd, first, sizeof first, 0);
    for (int by_name = 0; by_name < 2; by_name++)
        for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
            const size_t length = strlen(packers[i].begins);
            if (by_name ? sg_ends_in(path, packers[i].suffix)
                        : got >= (ssize_t)length && memcmp(first, packers[i].begins, length) == 0)
                return &packers[i];
        }
    return NULL;
}

void data_text_free(struct data_text *t) {
    if (t->at)
        munmap(t->at, t->bytes);
    *t = (struct data_text){0};
}

static sg_status text_map(struct data_text *out, int fd, const char *path, struct sg_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "%s", path);
    if (st.st_size == 0)
        return SG_OK;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return sg_fail_errno(err, SG_ERR_IO, "%s: cannot map", path);
    *out = (struct data_text){.at = at, .length = (size_t)st.st_size, .bytes = (size_t)st.st_size};
    return SG_OK;
}

/* Reads a pipe to its end. */
static sg_status text_drain(struct data_text *out, int fd, const char *path, struct sg_error *err) {
    struct data_text t = {.bytes = (size_t)16 << 20};
    t.at = mmap(NULL, t.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t.at == MAP_FAILED)
        return sg_fail_memory(err, path);
    for (;;) {
        if (t.length == t.bytes) {
            char *more = mremap(t.at, t.bytes, 2 * t.bytes, MREMAP_MAYMOVE);
            if (more == MAP_FAILED) {
                data_text_free(&t);
                return sg_fail_memory(err, path);
            }
            t.at = more;
            t.bytes *= 2;
        }
        SG_ASSERT(t.length < t.bytes);
        ssize_t got = read(fd, t.at + t.length, t.bytes - t.length);
        if (got > 0) {
            t.length += (size_t)got;
        } else if (got == 0) {
            *out = t;
            return SG_OK;
        } else if (errno != EINTR) {
            sg_status status = sg_fail_errno(err, SG_ERR_IO, "%s", path);
            data_text_free(&t);
            return status;
        }
    }
}

/* The tool reads the file as its standard input, so that it cannot mistake a path for an option. */
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

static sg_status text_unpack(struct data_text *out, int fd, const struct packer *packer, const char *path,
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
    struct data_text t = {0};
    sg_status status = text_drain(&t, ends[0], path, err);
    close(ends[0]);
    while (waitpid(pid, &exit_status, 0) < 0 && errno == EINTR)
        ;
    if (status == SG_OK && (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0))
        status = sg_fail(err, SG_ERR_FORMAT, "%s: %s could not unpack it: the file is truncated or corrupt", path,
                         packer->tool);
    if (status)
        data_text_free(&t);
    else
        *out = t;
    return status;
}

sg_status data_text_open(struct data_text *out, const char *path, struct sg_error *err) {
    struct data_text t = {0};
    int fd;
    sg_status status = sg_file_open(&fd, path, err);
    if (status != SG_OK)
        return status;
    const struct packer *packer = packer_of(path, fd);
    if (packer && !packer->tool)
        status = sg_fail(err, SG_ERR_FORMAT, "%s is a zip archive: unpack it, and name the file in it", path);
    else
        status = packer ? text_unpack(&t, fd, packer, path, err) : text_map(&t, fd, path, err);
    close(fd);
    if (status == SG_OK)
        *out = t;
    return status;
}
