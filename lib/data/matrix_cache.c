#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix_layout.h"
#include "sg_file.h"
#include "sg_matrix.h"

/* The file: this header, padded to SG_MATRIX_HEADER_BYTES, then the arrays as in matrix_layout.h. Native byte order;
 * the magic, read as bytes, and the version, read as a number, tell another order apart. `check` covers every field
 * before it. */
struct header {
    char magic[8];
    uint32_t version, storage;
    uint64_t m, d, entries, file_bytes;
    char key[64], sha256[64];
    uint64_t check;
};
_Static_assert(sizeof(struct header) <= SG_MATRIX_HEADER_BYTES, "the header fits");

static const char magic[8] = {'S', 'G', 'M', 'A', 'T', 'R', 'X', '\n'};
enum { version = 2 };

static uint64_t fnv1a(const void *data, size_t length) {
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static enum sg_storage storage_of(const struct sg_matrix *a) {
    return a->i16 ? SG_STORAGE_I16 : a->f32 ? SG_STORAGE_F32 : a->f64 ? SG_STORAGE_F64 : SG_STORAGE_CSR;
}

/* Writes `bytes` at file offset `offset`, zeros before it; *at is the current position. */
static bool write_at(FILE *f, size_t *at, size_t offset, const void *data, size_t bytes) {
    static const char zeros[SG_MATRIX_HEADER_BYTES];
    bool good = fwrite(zeros, 1, offset - *at, f) == offset - *at && fwrite(data, 1, bytes, f) == bytes;
    *at = offset + bytes;
    return good;
}

static bool write_arrays(FILE *f, const struct sg_matrix *a, const struct sg_matrix_layout *l, size_t at) {
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
    h.check = fnv1a(&h, offsetof(struct header, check));

    struct sg_file_writer w;
    sg_status status = sg_file_begin(&w, path, true, err);
    if (status)
        return status;
    if (fwrite(&h, sizeof h, 1, w.stream) != 1 || !write_arrays(w.stream, a, &l, sizeof h))
        status = sg_fail_errno(err, SG_ERR_IO, "%s: cannot write", path);
    else
        status = sg_file_commit(&w, err);
    sg_file_abandon(&w);
    return status;
}

/* CSR positions are followed as pointers, so they are checked; values and labels can do no harm. */
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

static sg_status check_header(const struct header *h, struct sg_matrix_layout *l, uint64_t file_bytes, const char *path,
                              const char *key, struct sg_error *err) {
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->version != version)
        return sg_fail(err, SG_ERR_FORMAT, "%s: not a matrix cache of this version", path);
    if (h->check != fnv1a(h, offsetof(struct header, check)))
        return sg_fail(err, SG_ERR_FORMAT, "%s: the header is corrupt", path);
    if (memcmp(h->key, key, sizeof h->key) != 0)
        return sg_fail(err, SG_ERR_MISMATCH, "%s: made from another source", path);
    if (h->storage < SG_STORAGE_F32 || h->storage > SG_STORAGE_I16 ||
        !sg_matrix_layout(l, (enum sg_storage)h->storage, (size_t)h->m, (size_t)h->d, (size_t)h->entries))
        return sg_fail(err, SG_ERR_FORMAT, "%s: the header is corrupt", path);
    if (l->total != h->file_bytes || file_bytes != h->file_bytes)
        return sg_fail(err, SG_ERR_FORMAT, "%s: truncated: %llu bytes, expected %llu", path,
                       (unsigned long long)file_bytes, (unsigned long long)h->file_bytes);
    return SG_OK;
}

sg_status sg_matrix_map(struct sg_matrix *out, const char *path, const char *key, char sha256[65],
                        struct sg_error *err) {
    struct header h;
    struct sg_matrix_layout l;
    struct stat st;
    if (strlen(key) != sizeof h.key)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: the key of a cache is 64 hex digits", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "%s", path);
    sg_status status;
    if (fstat(fd, &st) != 0 || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h)
        status = sg_fail(err, SG_ERR_FORMAT, "%s: truncated", path);
    else
        status = check_header(&h, &l, (uint64_t)st.st_size, path, key, err);
    if (status == SG_OK) {
        void *base = mmap(NULL, l.total, PROT_READ, MAP_SHARED, fd, 0);
        struct sg_matrix a;
        if (base == MAP_FAILED) {
            status = sg_fail_errno(err, SG_ERR_IO, "%s: cannot map", path);
        } else {
            sg_matrix_point(&a, (enum sg_storage)h.storage, (size_t)h.m, (size_t)h.d, base, &l);
            if (a.csr_start && !csr_is_sound(&a, (size_t)h.entries)) {
                status = sg_fail(err, SG_ERR_FORMAT, "%s: corrupt row positions", path);
                sg_matrix_free(&a);
            } else {
                *out = a;
                memcpy(sha256, h.sha256, sizeof h.sha256);
                sha256[sizeof h.sha256] = '\0';
            }
        }
    }
    close(fd);
    return status;
}
