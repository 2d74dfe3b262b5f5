/* checksum.c: SHA-256 of data files, which are remembered in the folder of caches. */
#include "checksum.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "data_text.h"
#include "sg_file.h"
#include "sg_text.h"

enum { SETTLED_S = 2, MOST_BYTES = 16384 };

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* A remembered checksum is the text of memory_text: which file, its SHA-256, and the SHA-256 of both. */
struct memory {
    char *path;     /* where it is remembered; NULL = nowhere */
    char *question; /* names the file as it is now */
};

sg_status dataset_file_now(char **out, const char *what, const char *path, const struct stat *st,
                           struct sg_error *err) {
    char *whole = realpath(path, NULL);
    *out = whole ? sg_format("%s\n%s\n%jd %jd.%09ld %ju\n", what, whole, (intmax_t)st->st_size,
                             (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec, (uintmax_t)st->st_ino)
                 : NULL;
    free(whole);
    return !whole ? sg_fail_errno(err, SG_ERR_IO, "%s", path) : *out ? SG_OK : sg_fail_memory(err, path);
}

static sg_status memory_open(struct memory *m, const char *path, const struct stat *st, const char *folder,
                             struct sg_error *err) {
    *m = (struct memory){NULL, NULL};
    char place[65], *whole = folder ? realpath(path, NULL) : NULL;
    if (!whole)
        return SG_OK;
    sg_sha256_of(whole, strlen(whole), place);
    free(whole);
    m->path = sg_format("%s/checksum-%.16s.txt", folder, place);
    return m->path ? dataset_file_now(&m->question, "sparsegrad checksum 1", path, st, err) : sg_fail_memory(err, path);
}

static char *memory_text(const struct memory *m, const char *sha256) {
    char check[65], *said = sg_format("%s%.64s\n", m->question, sha256), *text = NULL;
    if (said) {
        sg_sha256_of(said, strlen(said), check);
        text = sg_format("%s%s\n", said, check);
    }
    free(said);
    return text;
}

static bool memory_recall(const struct memory *m, char sha256[65]) {
    struct sg_error unused;
    char *text, *expected = NULL;
    size_t length;
    if (!m->path || sg_file_read_regular(&text, &length, m->path, MOST_BYTES, &unused) != SG_OK)
        return false;
    const size_t before = strlen(m->question);
    bool good = length > before + 64 && (expected = memory_text(m, text + before)) != NULL &&
                length == strlen(expected) && memcmp(text, expected, length) == 0;
    if (good)
        snprintf(sha256, 65, "%.64s", text + before);
    free(expected);
    free(text);
    return good;
}

/* Ignores errors: if the folder cannot be written, the next run takes longer and nothing else. */
static void memory_keep(const struct memory *m, const char *sha256) {
    struct sg_error unused;
    char *text = m->path ? memory_text(m, sha256) : NULL;
    sg_status ignored = text ? sg_file_replace(m->path, text, strlen(text), &unused) : SG_OK;
    (void)ignored;
    free(text);
}

static sg_status hash_text(char sha256[65], const char *path, struct sg_error *err) {
    struct data_text text = {0};
    sg_status status = data_text_open(&text, path, err);
    if (status == SG_OK)
        sg_sha256_of(text.at ? text.at : "", text.length, sha256);
    data_text_free(&text);
    return status;
}

sg_status dataset_checksum(char sha256[65], const char *path, const char *folder, struct sg_error *err) {
    struct stat before, after;
    struct memory m;
    char found[65];
    if (stat(path, &before) != 0)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "%s", path);
    if (!S_ISREG(before.st_mode))
        return sg_fail(err, SG_ERR_IO, "%s: not a regular file", path);
    sg_status status = memory_open(&m, path, &before, folder, err);
    if (status == SG_OK && !memory_recall(&m, found)) {
        status = hash_text(found, path, err);
        if (status == SG_OK && stat(path, &after) == 0 && same_file(&before, &after) &&
            after.st_ctim.tv_sec + SETTLED_S < time(NULL))
            memory_keep(&m, found);
    }
    if (status == SG_OK)
        memcpy(sha256, found, sizeof found);
    free(m.path);
    free(m.question);
    return status;
}
