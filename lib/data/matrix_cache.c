/* matrix_cache.c: a parsed matrix kept in a file, which later runs map instead of parsing the text again.
 *
 * lib/FORMATS.md maps its bytes. The magic, read as bytes, and the version, read as a number, tell another byte order.
 * The checksum covers every other byte of the file and is compared each time the file is mapped. A verdict remembered
 * by size and change time would not see what a failing disk does to the bytes, because neither changes then. All
 * threads hash blocks; one core with SHA instructions opens 120 MB in 70 ms. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix_layout.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_matrix.h"

struct header {
    char magic[8];
    uint32_t version, storage;
    uint64_t m, d, entries, file_bytes;
    char key[64], sha256[64], unused[16];
    char checksum[64];
};
_Static_assert(sizeof(struct header) == SG_MATRIX_HEADER_BYTES, "the header has its size");
_Static_assert(offsetof(struct header, checksum) == SG_MATRIX_CHECKSUM_AT, "the checksum has its place");

static const char magic[8] = {'S', 'G', 'M', 'A', 'T', 'R', 'X', '\n'};
enum { version = 3, BLOCK_BYTES = 1 << 20 };

sg_status sg_matrix_checksum(char hex[65], const void *file, size_t bytes, struct sg_error *err) {
    SG_ASSERT(bytes >= SG_MATRIX_HEADER_BYTES);
    const char *arrays = (const char *)file + SG_MATRIX_HEADER_BYTES;
    const size_t length = bytes - SG_MATRIX_HEADER_BYTES, blocks = (length + BLOCK_BYTES - 1) / BLOCK_BYTES;
    char(*block)[65] = calloc(blocks + 1, sizeof *block);
    if (!block)
        return sg_fail_memory(err, "the checksums of a matrix cache");
#pragma omp parallel for schedule(dynamic, 1) if (blocks > 1)
    for (size_t i = 0; i < blocks; i++) {
        const size_t at = i * BLOCK_BYTES, rest = length - at;
        sg_sha256_of(arrays + at, rest < BLOCK_BYTES ? rest : BLOCK_BYTES, block[i]);
    }
    sg_sha256 all;
    sg_sha256_start(&all);
    sg_sha256_add(&all, file, SG_MATRIX_CHECKSUM_AT);
    sg_sha256_add(&all, block, blocks * sizeof *block);
    sg_sha256_end(&all, hex);
    free(block);
    return SG_OK;
}

static enum sg_storage storage_of(const struct sg_matrix *a) {
    return a->i16 ? SG_STORAGE_I16 : a->f32 ? SG_STORAGE_F32 : a->f64 ? SG_STORAGE_F64 : SG_STORAGE_CSR;
}

/* Writes `bytes` at file offset `offset`, zeros before it; *at is the current position. */
static bool write_at(FILE *f, size_t *at, size_t offset, const void *data, size_t bytes) {
    static const char zeros[SG_MATRIX_HEADER_BYTES];
    SG_ASSERT(offset >= *at && offset - *at <= sizeof zeros);
    bool good = fwrite(zeros, 1, offset - *at, f) == offset - *at && fwrite(data, 1, bytes, f) == bytes;
    *at = offset + bytes;
    return good;
}

static bool write_arrays(FILE *f, const struct sg_matrix *a, const struct sg_matrix_layout *l, size_t at) {
    SG_ASSERT(at == SG_MATRIX_HEADER_BYTES);
    bool good = write_at(f, &at, l->label, a->label, a->m * sizeof *a->label);
    if (a->i16)
        return good && write_at(f, &at, l->value, a->i16, l->total - l->value);
    if (a->f32)
        return good && write_at(f, &at, l->value, a->f32, l->total - l->value);
    if (a->f64)
        return good && write_at(f, &at, l->value, a->f64, l->total - l->value);
    size_t entries = (size_t)a->csr_start[a->m];
    return good && write_at(f, &at, l->start, a->csr_start, (a->m + 1) * sizeof *a->csr_start) &&
           write_at(f, &at, l->column, a->csr_column, entries * sizeof *a->csr_column) &&
           write_at(f, &at, l->value, a->csr_value, entries * sizeof *a->csr_value);
}

/* Completes a file that is written except for the checksum in its header. */
static sg_status seal(struct header *h, const struct sg_file_writer *w, size_t bytes, struct sg_error *err) {
    const char *path = w->temporary ? w->temporary : w->path;
    char checksum[65];
    int fd = -1;
    void *file = MAP_FAILED;
    if (fflush(w->stream) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "%s: cannot write", w->path);
    sg_status status = sg_file_open(&fd, path, err);
    if (status == SG_OK) {
        file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        status = file == MAP_FAILED ? sg_fail_errno(err, SG_ERR_IO, "%s: cannot map", w->path)
                                    : sg_matrix_checksum(checksum, file, bytes, err);
    }
    if (file != MAP_FAILED)
        munmap(file, bytes);
    if (fd >= 0)
        close(fd);
    if (status != SG_OK)
        return status;
    memcpy(h->checksum, checksum, sizeof h->checksum);
    if (fseek(w->stream, 0, SEEK_SET) != 0 || fwrite(h, sizeof *h, 1, w->stream) != 1)
        return sg_fail_errno(err, SG_ERR_IO, "%s: cannot write", w->path);
    return SG_OK;
}

sg_status sg_matrix_save(const struct sg_matrix *a, const char *path, const char *key, const char *sha256,
                         struct sg_error *err) {
    struct header h = {.version = version, .storage = storage_of(a), .m = a->m, .d = a->d};
    struct sg_matrix_layout l;
    h.entries = a->csr_start ? a->csr_start[a->m] : 0;
    if (strlen(key) != sizeof h.key || strlen(sha256) != sizeof h.sha256)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: the key of a cache is 64 hex digits", path);
    if (!sg_matrix_layout(&l, storage_of(a), a->m, a->d, (size_t)h.entries))
        return sg_fail_memory(err, "the data matrix");
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.key, key, sizeof h.key);
    memcpy(h.sha256, sha256, sizeof h.sha256);
    h.file_bytes = l.total;

    struct sg_file_writer w;
    sg_status status = sg_file_make_way(path, err);
    SG_DO(status, sg_file_begin(&w, path, true, err));
    if (status != SG_OK)
        return status;
    if (fwrite(&h, sizeof h, 1, w.stream) != 1 || !write_arrays(w.stream, a, &l, sizeof h))
        status = sg_fail_errno(err, SG_ERR_IO, "%s: cannot write", path);
    SG_DO(status, seal(&h, &w, l.total, err));
    SG_DO(status, sg_file_commit(&w, err));
    sg_file_abandon(&w);
    return status;
}

/* CSR positions are followed as pointers, so they are checked beside the checksum. */
static bool csr_is_sound(const struct sg_matrix *a, size_t entries) {
    if (a->csr_start[0] != 0 || a->csr_start[a->m] != entries)
        return false;
    for (size_t i = 0; i < a->m; i++) {
        if (a->csr_start[i] > a->csr_start[i + 1] || a->csr_start[i + 1] > entries)
            return false;
        for (size_t j = (size_t)a->csr_start[i]; j < (size_t)a->csr_start[i + 1]; j++)
            if (a->csr_column[j] >= a->d)
                return false;
    }
    return true;
}

/* Checks what the header tells before the file is mapped. Sizes that fit the file make mapping safe. */
static sg_status check_header(const struct header *h, struct sg_matrix_layout *l, uint64_t file_bytes, const char *path,
                              struct sg_error *err) {
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: not a matrix cache", path);
    if (h->version != version)
        return sg_fail(err, SG_ERR_MISMATCH, "%s: a matrix cache of another version of the program", path);
    if (h->storage < SG_STORAGE_F32 || h->storage > SG_STORAGE_I16 ||
        !sg_matrix_layout(l, (enum sg_storage)h->storage, (size_t)h->m, (size_t)h->d, (size_t)h->entries))
        return sg_fail(err, SG_ERR_FORMAT, "%s: the header is corrupt", path);
    if (l->total != h->file_bytes || file_bytes != h->file_bytes)
        return sg_fail(err, SG_ERR_FORMAT, "%s: truncated: %llu bytes, expected %llu", path,
                       (unsigned long long)file_bytes, (unsigned long long)h->file_bytes);
    return SG_OK;
}

static sg_status check_matrix(const struct sg_matrix *a, const struct header *h, const char *path, const char *key,
                              struct sg_error *err) {
    char checksum[65];
    sg_status status = sg_matrix_checksum(checksum, a->base, a->base_bytes, err);
    if (status != SG_OK)
        return status;
    if (memcmp(checksum, h->checksum, sizeof h->checksum) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: damaged: its bytes do not have its checksum", path);
    if (memcmp(h->key, key, sizeof h->key) != 0)
        return sg_fail(err, SG_ERR_MISMATCH, "%s: made from another source", path);
    if (a->csr_start && !csr_is_sound(a, (size_t)h->entries))
        return sg_fail(err, SG_ERR_FORMAT, "%s: corrupt row positions", path);
    return SG_OK;
}

static sg_status map_and_check(struct sg_matrix *out, int fd, char sha256[65], const char *path, const char *key,
                               struct sg_error *err) {
    struct header h;
    struct sg_matrix_layout l;
    struct sg_matrix a;
    struct stat st;
    if (fstat(fd, &st) != 0 || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h)
        return sg_fail(err, SG_ERR_FORMAT, "%s: truncated", path);
    sg_status status = check_header(&h, &l, (uint64_t)st.st_size, path, err);
    if (status != SG_OK)
        return status;
    void *base = mmap(NULL, l.total, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return sg_fail_errno(err, SG_ERR_IO, "%s: cannot map", path);
    sg_matrix_point(&a, (enum sg_storage)h.storage, (size_t)h.m, (size_t)h.d, base, &l);
    status = check_matrix(&a, &h, path, key, err);
    if (status != SG_OK) {
        sg_matrix_free(&a);
        return status;
    }
    *out = a;
    memcpy(sha256, h.sha256, sizeof h.sha256);
    sha256[sizeof h.sha256] = '\0';
    return SG_OK;
}

sg_status sg_matrix_map(struct sg_matrix *out, const char *path, const char *key, char sha256[65],
                        struct sg_error *err) {
    int fd;
    if (strlen(key) != sizeof((struct header *)0)->key)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: the key of a cache is 64 hex digits", path);
    sg_status status = sg_file_open(&fd, path, err);
    if (status != SG_OK)
        return status;
    status = map_and_check(out, fd, sha256, path, key, err);
    close(fd);
    return status;
}
