/* checksum.c: SHA-256 of data files, stored in caches. */
/* SPDX-License-Identifier: MIT */
#include "checksum.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "dataset_walk.h"
#include "sg_file.h"
#include "sg_text.h"

enum { SETTLED_S = 2 };

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

void dataset_file_cache(struct sg_cache *out, const char *data_dir, const char *name, const char *what,
                        const char *path, const struct stat *st) {
    char *whole = realpath(path, NULL); /* NULL: it has no name, because it was removed while open */
    const char *place = whole ? whole : path;
    char *question = sg_format("%s\n%s\n%jd %jd.%09ld %ju\n", what, place, (intmax_t)st->st_size,
                               (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec, (uintmax_t)st->st_ino);
    sg_cache_open(out, data_dir, name, place, question);
    free(question);
    free(whole);
}

static sg_status hash_text(char sha256[65], const char *path, struct sg_error *err) {
    struct data_text text = {0};
    sg_status status = data_text_open(&text, path, err);
    if (status == SG_OK)
        sg_sha256_of(text.at ? text.at : "", text.length, sha256);
    data_text_free(&text);
    return status;
}

sg_status dataset_checksum(char sha256[65], const char *path, const char *data_dir, struct sg_error *err) {
    struct stat before, after;
    struct sg_cache cache = {0};
    char found[65] = "";
    if (stat(path, &before) != 0)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "%s", path);
    if (!S_ISREG(before.st_mode))
        return sg_fail(err, SG_ERR_IO, "%s: not a regular file", path);
    dataset_file_cache(&cache, data_dir, "checksum", "checksum 1", path, &before);
    sg_status status = SG_OK;
    if (!sg_cache_recall(&cache, found, 64, NULL)) {
        status = hash_text(found, path, err);
        if (status == SG_OK && stat(path, &after) == 0 && same_file(&before, &after) &&
            after.st_ctim.tv_sec + SETTLED_S < time(NULL))
            sg_cache_keep(&cache, &(struct sg_cache_part){found, 64}, 1);
    }
    if (status == SG_OK)
        memcpy(sha256, found, sizeof found);
    sg_cache_close(&cache);
    return status;
}
