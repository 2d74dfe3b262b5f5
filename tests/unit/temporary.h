/* temporary.h: a folder for a test's files, removed with all in it at the end. */
/* SPDX-License-Identifier: MIT */
#ifndef TEMPORARY_H
#define TEMPORARY_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char temporary[256];

static int temporary_unlink(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void temporary_remove(void) {
    nftw(temporary, temporary_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

static void temporary_make(void) {
    const char *base = getenv("TMPDIR");
    snprintf(temporary, sizeof temporary, "%s/sparsegrad-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(temporary)) {
        perror(temporary);
        exit(1);
    }
    atexit(temporary_remove);
}

/* Path of a file there; good until the eighth call after. */
__attribute__((unused)) static const char *temporary_path(const char *name) {
    static char path[8][512];
    static int next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", temporary, name);
    return p;
}

__attribute__((unused)) static void temporary_write(const char *name, const void *data, size_t length) {
    const char *path = temporary_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, length, f) != length || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

#endif
