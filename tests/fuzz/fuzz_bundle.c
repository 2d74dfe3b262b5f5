/* A bundle from hostile bytes: a folder whose files a stranger wrote. What is read must be what stands there, its
 * checksums must be right, and what is written again must be read as the same. A fuzzer cannot guess checksums: an odd
 * first byte has them put in. The files are the other bytes, cut at 0xff, in the order of `name`. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay.h"
#include "sg_bundle.h"
#include "sg_file.h"

enum { FILES = 6, PATH = 96 };
static const char *const name[FILES] = {"bundle.json",      "recipe.yaml", "result.json",
                                        "cells/SGD.ndjson", "SHA256SUMS",  "SHA256SUMS.sha256"};

static void must(bool so) {
    if (!so)
        abort();
}

static void put(const char *folder, const char *file, const void *data, size_t length) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *out = fopen(path, "wb");
    must(out && fwrite(data, 1, length, out) == length && fclose(out) == 0);
}

static void empty(const char *folder) {
    char path[PATH];
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        (void)!unlink(path);
    }
    snprintf(path, sizeof path, "%s/cells", folder);
    (void)!rmdir(path);
    (void)!rmdir(folder);
}

/* The checksums of the first `n` files, as the list has them, ordered by name. */
static void put_sums(const char *folder, const uint8_t *const *data, const size_t *length, int n) {
    static const int order[] = {0, 3, 1, 2};
    char list[FILES * 128] = "", hex[65], sum[128];
    for (int i = 0; i < 4; i++)
        if (order[i] < n) {
            sg_sha256_of(data[order[i]], length[order[i]], hex);
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s  %s\n", hex, name[order[i]]);
        }
    put(folder, name[4], list, strlen(list));
    sg_sha256_of(list, strlen(list), hex);
    snprintf(sum, sizeof sum, "%s  %s\n", hex, name[4]);
    put(folder, name[5], sum, strlen(sum));
}

static void same(const struct sg_bundle *a, const struct sg_bundle *b) {
    must(a->n == b->n && strcmp(a->sha256, b->sha256) == 0 && cJSON_Compare(a->about, b->about, true));
    for (size_t i = 0; i < a->n; i++)
        must(strcmp(a->file[i].name, b->file[i].name) == 0 && a->file[i].length == b->file[i].length &&
             memcmp(a->file[i].data, b->file[i].data, a->file[i].length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char folder[] = "/tmp/fuzz-bundle-XXXXXX", again[] = "/tmp/fuzz-bundle-XXXXXX", cells[PATH];
    const uint8_t *part[FILES], *end = data + size, *at = data + 1;
    size_t length[FILES];
    int n = 0;
    if (size == 0)
        return 0;
    must(mkdtemp(folder) && mkdtemp(again));
    snprintf(cells, sizeof cells, "%s/cells", folder);
    must(mkdir(cells, 0700) == 0);
    for (; n < FILES; n++) {
        const uint8_t *cut = at < end ? memchr(at, 0xff, (size_t)(end - at)) : NULL;
        part[n] = at;
        length[n] = (size_t)((cut ? cut : end) - at);
        put(folder, name[n], at, length[n]);
        at = cut ? cut + 1 : end;
        if (!cut && ++n)
            break;
    }
    if (data[0] & 1)
        put_sums(folder, part, length, n);
    struct sg_bundle bundle, copy;
    struct sg_document result;
    struct sg_error err = {0};
    if (sg_bundle_read(&bundle, folder, &err) != SG_OK) {
        must(err.msg[0] != '\0');
    } else {
        for (int i = 0; i < n && i < 4; i++) {
            const struct sg_bundle_file *f = sg_bundle_file(&bundle, name[i]);
            must(f && f->length == length[i] && memcmp(f->data, part[i], length[i]) == 0);
        }
        must(sg_bundle_write(&bundle, again, false, &err) == SG_OK && sg_bundle_read(&copy, again, &err) == SG_OK);
        same(&bundle, &copy);
        const struct sg_bundle_file *f = sg_bundle_file(&bundle, "result.json");
        if (sg_bundle_result(&result, f->data, f->length, "result.json", &err) == SG_OK)
            sg_document_free(&result);
        sg_bundle_close(&copy);
        sg_bundle_close(&bundle);
    }
    empty(folder);
    empty(again);
    return 0;
}
