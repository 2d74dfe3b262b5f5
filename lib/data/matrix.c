/* matrix.c: where the arrays of a matrix lie in its one block of memory, narrower and sparse storage, and the SHA-256
 * of its values. */
/* SPDX-License-Identifier: MIT */
#include "sg_matrix.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix_layout.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"

/* Adds `count` items of `size` bytes at the next multiple of 64; false when that exceeds the address space. */
static bool append(size_t *offset, size_t *end, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_add_overflow(*end, (size_t)63, offset))
        return false;
    *offset &= ~(size_t)63;
    return !__builtin_mul_overflow(count, size, &bytes) && !__builtin_add_overflow(*offset, bytes, end);
}

static size_t cell_bytes(enum sg_storage storage) {
    SG_ASSERT(storage != SG_STORAGE_CSR);
    return storage == SG_STORAGE_I16 ? sizeof(int16_t) : storage == SG_STORAGE_F32 ? sizeof(float) : sizeof(double);
}

bool sg_matrix_layout(struct sg_matrix_layout *out, enum sg_storage storage, size_t m, size_t d, size_t entries) {
    struct sg_matrix_layout l = {.total = SG_MATRIX_HEADER_BYTES};
    size_t cells;
    if (m == SIZE_MAX || !append(&l.label, &l.total, m, sizeof(double)))
        return false;
    bool fits;
    if (storage == SG_STORAGE_CSR)
        fits = append(&l.start, &l.total, m + 1, sizeof(uint64_t)) &&
               append(&l.column, &l.total, entries, sizeof(uint32_t)) &&
               append(&l.value, &l.total, entries, sizeof(double));
    else
        fits = !__builtin_mul_overflow(m, d, &cells) && append(&l.value, &l.total, cells, cell_bytes(storage));
    if (fits)
        *out = l;
    return fits;
}

void sg_matrix_point(struct sg_matrix *out, enum sg_storage storage, size_t m, size_t d, void *base,
                     const struct sg_matrix_layout *l) {
    SG_ASSERT((uintptr_t)base % 64 == 0 && l->label % 64 == 0 && l->total >= SG_MATRIX_HEADER_BYTES);
    const char *at = base;
    *out = (struct sg_matrix){.m = m, .d = d, .base = base, .base_bytes = l->total};
    out->label = (const double *)(const void *)(at + l->label);
    if (storage == SG_STORAGE_I16) {
        out->i16 = (const int16_t *)(const void *)(at + l->value);
    } else if (storage == SG_STORAGE_F32) {
        out->f32 = (const float *)(const void *)(at + l->value);
    } else if (storage == SG_STORAGE_F64) {
        out->f64 = (const double *)(const void *)(at + l->value);
    } else {
        out->csr_start = (const uint64_t *)(const void *)(at + l->start);
        out->csr_column = (const uint32_t *)(const void *)(at + l->column);
        out->csr_value = (const double *)(const void *)(at + l->value);
    }
}

sg_status sg_matrix_allocate(struct sg_matrix *out, struct sg_matrix_room *room, enum sg_storage storage, size_t m,
                             size_t d, size_t entries, struct sg_error *err) {
    struct sg_matrix_layout l;
    if (!sg_matrix_layout(&l, storage, m, d, entries))
        return sg_fail_memory(err, "the data matrix");
    char *base = mmap(NULL, l.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return sg_fail(err, SG_ERR_MEMORY, "out of memory for the data matrix: %zu x %zu need %zu bytes", m, d,
                       l.total);
    sg_matrix_point(out, storage, m, d, base, &l);
    /* The block is writable; struct sg_matrix promises its readers not to. */
    *room = (struct sg_matrix_room){.i16 = (int16_t *)(uintptr_t)out->i16,
                                    .f32 = (float *)(uintptr_t)out->f32,
                                    .f64 = (double *)(uintptr_t)out->f64,
                                    .csr_value = (double *)(uintptr_t)out->csr_value,
                                    .label = (double *)(uintptr_t)out->label,
                                    .csr_column = (uint32_t *)(uintptr_t)out->csr_column,
                                    .csr_start = (uint64_t *)(uintptr_t)out->csr_start};
    return SG_OK;
}

void sg_matrix_free(struct sg_matrix *a) {
    if (a->base)
        munmap(a->base, a->base_bytes);
    *a = (struct sg_matrix){0};
}

/* The narrower value i ends before the double i + 1 begins. */
void sg_matrix_narrow(struct sg_matrix *a, enum sg_storage storage) {
    SG_ASSERT(a->f64 && (storage == SG_STORAGE_I16 || storage == SG_STORAGE_F32));
    char *to = (char *)a->base + ((const char *)a->f64 - (const char *)a->base);
    for (size_t i = 0; i < a->m * a->d; i++) {
        const double value = a->f64[i];
        const int16_t whole = storage == SG_STORAGE_I16 ? (int16_t)value : 0;
        const float f = (float)value;
        if (storage == SG_STORAGE_I16)
            memcpy(to + i * sizeof whole, &whole, sizeof whole);
        else
            memcpy(to + i * sizeof f, &f, sizeof f);
    }
    struct sg_matrix_layout l;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!sg_matrix_layout(&l, storage, a->m, a->d, 0)) /* cannot fail, because the doubles fitted */
        return;
    size_t keep = (l.total + page - 1) / page * page, had = (a->base_bytes + page - 1) / page * page;
    if (keep < had)
        munmap((char *)a->base + keep, had - keep);
    sg_matrix_point(a, storage, a->m, a->d, a->base, &l);
}

sg_status sg_matrix_compress(struct sg_matrix *a, size_t nonzero, struct sg_error *err) {
    SG_ASSERT(a->f64);
    struct sg_matrix sparse;
    struct sg_matrix_room room;
    sg_status status = sg_matrix_allocate(&sparse, &room, SG_STORAGE_CSR, a->m, a->d, nonzero, err);
    if (status)
        return status;
    memcpy(room.label, a->label, a->m * sizeof *room.label);
    size_t at = 0;
    for (size_t i = 0; i < a->m; i++) {
        for (size_t j = 0; j < a->d; j++)
            if (a->f64[i * a->d + j] != 0) {
                room.csr_column[at] = (uint32_t)j;
                room.csr_value[at++] = a->f64[i * a->d + j];
            }
        room.csr_start[i + 1] = at;
    }
    SG_ASSERT(at == nonzero);
    sg_matrix_free(a);
    *a = sparse;
    return SG_OK;
}

static void hash_row(const struct sg_matrix *a, size_t i, char hex[65]) {
    sg_sha256 s;
    sg_sha256_start(&s);
    sg_sha256_add(&s, &a->label[i], sizeof a->label[i]);
    if (a->i16)
        sg_sha256_add(&s, a->i16 + i * a->d, a->d * sizeof *a->i16);
    if (a->f32)
        sg_sha256_add(&s, a->f32 + i * a->d, a->d * sizeof *a->f32);
    if (a->f64)
        sg_sha256_add(&s, a->f64 + i * a->d, a->d * sizeof *a->f64);
    if (a->csr_value) {
        size_t from = (size_t)a->csr_start[i], count = (size_t)a->csr_start[i + 1] - from;
        sg_sha256_add(&s, a->csr_column + from, count * sizeof *a->csr_column);
        sg_sha256_add(&s, a->csr_value + from, count * sizeof *a->csr_value);
    }
    sg_sha256_end(&s, hex);
}

void sg_matrix_sha256(const struct sg_matrix *a, char sha256[65]) {
    char(*row)[65] = sg_calloc(a->m ? a->m : 1, sizeof *row);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < a->m; i++)
        hash_row(a, i, row[i]);
    sg_sha256 s;
    char shape[96];
    int length = snprintf(shape, sizeof shape, "sparsegrad matrix %s %zu x %zu\n",
                          a->i16   ? "i16"
                          : a->f32 ? "f32"
                          : a->f64 ? "f64"
                                   : "csr",
                          a->m, a->d);
    sg_sha256_start(&s);
    sg_sha256_add(&s, shape, (size_t)length);
    sg_sha256_add(&s, row, a->m * sizeof *row);
    sg_sha256_end(&s, sha256);
    free(row);
}
