/* cache.c: reads and writes the files of sg_cache.h. The magic, read as bytes, and the version, read as a number, tell
 * another byte order. */
/* SPDX-License-Identifier: MIT */
#include "sg_cache.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

struct header {
    char magic[8];
    uint32_t version, zero;
    uint64_t file_bytes;
    char key[64], unused[40];
    char checksum[64];
};
_Static_assert(sizeof(struct header) == SG_CACHE_HEADER, "the header has its size");
_Static_assert(offsetof(struct header, checksum) == SG_CACHE_CHECKSUM_AT, "the checksum has its place");

enum { VERSION = 1, BLOCK_BYTES = 1 << 20, ALIGNMENT = 64 };
static const char magic[8] = {'S', 'G', 'C', 'A', 'C', 'H', 'E', '\n'};

void sg_cache_open(struct sg_cache *out, const char *data_dir, const char *name, const char *place,
                   const char *question) {
    char *folder = sg_cache_folder(data_dir), tag[65];
    sg_sha256_of(question, strlen(question), out->key);
    sg_sha256_of(place ? place : question, strlen(place ? place : question), tag);
    out->path = folder ? sg_format("%s/%.64s-%.16s.cache", folder, name, tag) : NULL;
    free(folder);
}

void sg_cache_close(struct sg_cache *c) {
    free(c->path);
    *c = (struct sg_cache){0};
}

/* The checksum of bytes from..to-1 of the parts, as if they lay one behind the other. */
static void hash_block(char hex[65], const struct sg_cache_part *part, size_t from, size_t to) {
    sg_sha256 s;
    sg_sha256_start(&s);
    for (size_t begin = 0; begin < to; begin += part->bytes, part++) {
        const size_t first = from > begin ? from - begin : 0, end = to - begin < part->bytes ? to - begin : part->bytes;
        if (first < end)
            sg_sha256_add(&s, (const char *)part->data + first, end - first);
    }
    sg_sha256_end(&s, hex);
}

static void hash_parts(char hex[65], const void *header, const struct sg_cache_part *part, size_t length) {
    const size_t blocks = (length + BLOCK_BYTES - 1) / BLOCK_BYTES;
    char(*block)[65] = sg_calloc(blocks + 1, sizeof *block);
#pragma omp parallel for schedule(dynamic, 1) if (blocks > 1)
    for (size_t i = 0; i < blocks; i++)
        hash_block(block[i], part, i * BLOCK_BYTES, i + 1 < blocks ? (i + 1) * BLOCK_BYTES : length);
    sg_sha256 all;
    sg_sha256_start(&all);
    sg_sha256_add(&all, header, SG_CACHE_CHECKSUM_AT);
    sg_sha256_add(&all, block, blocks * sizeof *block);
    sg_sha256_end(&all, hex);
    free(block);
}

void sg_cache_checksum(char hex[65], const void *file, size_t bytes) {
    SG_ASSERT(bytes >= SG_CACHE_HEADER);
    const struct sg_cache_part all = {(const char *)file + SG_CACHE_HEADER, bytes - SG_CACHE_HEADER};
    hash_parts(hex, file, &all, all.bytes);
}

bool sg_cache_keep(const struct sg_cache *c, const struct sg_cache_part *part, size_t n) {
    static const char zeros[ALIGNMENT];
    struct sg_cache_part padded[2 * SG_CACHE_PARTS];
    struct header h = {.version = VERSION, .file_bytes = sizeof h};
    struct sg_file_writer w = {0};
    struct sg_error unused;
    char checksum[65];
    SG_ASSERT(n <= SG_CACHE_PARTS);
    for (size_t i = 0; i < n; i++) {
        padded[2 * i] = (struct sg_cache_part){zeros, -h.file_bytes % ALIGNMENT};
        padded[2 * i + 1] = part[i];
        h.file_bytes += padded[2 * i].bytes + part[i].bytes;
    }
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.key, c->key, sizeof h.key);
    if (!c->path || sg_file_make_way(c->path, &unused) != SG_OK || sg_file_begin(&w, c->path, true, &unused) != SG_OK)
        return false;
    hash_parts(checksum, &h, padded, h.file_bytes - sizeof h);
    memcpy(h.checksum, checksum, sizeof h.checksum);
    fwrite(&h, sizeof h, 1, w.stream); /* a short write shows in ferror at commit */
    for (size_t i = 0; i < 2 * n; i++)
        fwrite(padded[i].data, 1, padded[i].bytes, w.stream);
    return sg_file_commit(&w, &unused) == SG_OK;
}

static sg_status check(const struct header *h, size_t bytes, const struct sg_cache *c, struct sg_error *err) {
    char checksum[65];
    if (bytes < sizeof *h)
        return sg_fail(err, SG_ERR_FORMAT, "%s: truncated", c->path);
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: not a cache", c->path);
    if (h->version != VERSION)
        return sg_fail(err, SG_ERR_MISMATCH, "%s: a cache of another version of the program", c->path);
    if (h->file_bytes != bytes)
        return sg_fail(err, SG_ERR_FORMAT, "%s: truncated: %zu bytes, expected %llu", c->path, bytes,
                       (unsigned long long)h->file_bytes);
    sg_cache_checksum(checksum, h, bytes);
    if (memcmp(checksum, h->checksum, sizeof h->checksum) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: damaged: its bytes do not have its checksum", c->path);
    if (memcmp(h->key, c->key, sizeof h->key) != 0)
        return sg_fail(err, SG_ERR_MISMATCH, "%s: made from another source", c->path);
    return SG_OK;
}

sg_status sg_cache_map(void **base, size_t *bytes, const struct sg_cache *c, struct sg_error *err) {
    void *file;
    size_t size;
    if (!c->path)
        return sg_fail(err, SG_ERR_MISSING, "there is no folder for caches");
    sg_status status = sg_file_map(&file, &size, c->path, err);
    if (status != SG_OK)
        return status;
    if ((status = check(file, size, c, err)) != SG_OK) {
        sg_file_unmap(file, size);
        return status;
    }
    *base = file;
    *bytes = size;
    return SG_OK;
}

void sg_cache_tell(const struct sg_error *err, void (*notice)(const char *message)) {
    char message[sizeof err->msg + 64];
    if (!notice || err->status == SG_ERR_MISSING || err->status == SG_ERR_MISMATCH)
        return;
    snprintf(message, sizeof message, "%s; what it holds is made again", err->msg);
    notice(message);
}

bool sg_cache_recall(const struct sg_cache *c, void *out, size_t bytes, void (*notice)(const char *message)) {
    struct sg_error trouble;
    void *base;
    size_t mapped;
    sg_status status = sg_cache_map(&base, &mapped, c, &trouble);
    if (status == SG_OK) {
        if (mapped == SG_CACHE_HEADER + bytes)
            memcpy(out, (const char *)base + SG_CACHE_HEADER, bytes);
        else
            status = sg_fail(&trouble, SG_ERR_FORMAT, "%s: of another length", c->path);
        munmap(base, mapped);
    }
    if (status != SG_OK)
        sg_cache_tell(&trouble, notice);
    return status == SG_OK;
}
