/* matrix_cache.c: a parsed matrix kept in a cache file, which later runs map instead of parsing the text again. Its
 * parts are struct facts and then the arrays of matrix_layout.h. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "matrix_layout.h"
#include "sg_debug.h"

struct facts {
    uint32_t storage, zero;
    uint64_t m, d, entries;
    char sha256[64];
};
_Static_assert(SG_CACHE_HEADER + sizeof(struct facts) == SG_MATRIX_HEADER_BYTES, "the facts have their size");

static enum sg_storage storage_of(const struct sg_matrix *a) {
    return a->i16 ? SG_STORAGE_I16 : a->f32 ? SG_STORAGE_F32 : a->f64 ? SG_STORAGE_F64 : SG_STORAGE_CSR;
}

bool sg_matrix_keep(const struct sg_matrix *a, const struct sg_cache *cache, const char *sha256) {
    const size_t entries = a->csr_start ? (size_t)a->csr_start[a->m] : 0;
    const void *const dense = a->i16 ? (const void *)a->i16 : a->f32 ? (const void *)a->f32 : a->f64;
    struct facts facts = {.storage = storage_of(a), .m = a->m, .d = a->d, .entries = entries};
    struct sg_matrix_layout l;
    SG_ASSERT(strlen(sha256) == sizeof facts.sha256);
    if (!sg_matrix_layout(&l, storage_of(a), a->m, a->d, entries))
        return false;
    memcpy(facts.sha256, sha256, sizeof facts.sha256);
    const struct sg_cache_part part[] = {{&facts, sizeof facts},
                                         {a->label, a->m * sizeof *a->label},
                                         {dense ? dense : a->csr_start, dense ? l.total - l.value : l.column - l.start},
                                         {a->csr_column, entries * sizeof *a->csr_column},
                                         {a->csr_value, entries * sizeof *a->csr_value}};
    return sg_cache_keep(cache, part, dense ? 3 : 5);
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

sg_status sg_matrix_map(struct sg_matrix *out, const struct sg_cache *cache, char sha256[65], struct sg_error *err) {
    void *base;
    size_t bytes;
    struct facts f;
    struct sg_matrix_layout l;
    sg_status status = sg_cache_map(&base, &bytes, cache, err);
    if (status != SG_OK)
        return status;
    struct sg_matrix a = {.base = base, .base_bytes = bytes};
    if (bytes < SG_MATRIX_HEADER_BYTES)
        status = sg_fail(err, SG_ERR_FORMAT, "%s: not the cache of a matrix", cache->path);
    else
        memcpy(&f, (const char *)base + SG_CACHE_HEADER, sizeof f);
    if (status == SG_OK &&
        (f.storage < SG_STORAGE_F32 || f.storage > SG_STORAGE_I16 ||
         !sg_matrix_layout(&l, (enum sg_storage)f.storage, (size_t)f.m, (size_t)f.d, (size_t)f.entries) ||
         l.total != bytes))
        status = sg_fail(err, SG_ERR_FORMAT, "%s: the header is corrupt", cache->path);
    if (status == SG_OK)
        sg_matrix_point(&a, (enum sg_storage)f.storage, (size_t)f.m, (size_t)f.d, base, &l);
    if (status == SG_OK && a.csr_start && !csr_is_sound(&a, (size_t)f.entries))
        status = sg_fail(err, SG_ERR_FORMAT, "%s: corrupt row positions", cache->path);
    if (status != SG_OK) {
        sg_matrix_free(&a);
        return status;
    }
    *out = a;
    snprintf(sha256, 65, "%.64s", f.sha256);
    return SG_OK;
}
