/* test_matrix_cache.c: matrices that go to a file and come back, and files that were damaged. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "sg_cache.h"
#include "sg_file.h"
#include "sg_matrix.h"
#include "tap.h"
#include "temporary.h"

static struct sg_error err;
static char sha256[65];

/* The cache `name` in the test's folder of the answer to `question`; it lasts until the next call. */
static const struct sg_cache *cache(const char *name, const char *question) {
    static struct sg_cache c;
    c.path = (char *)(uintptr_t)temporary_path(name);
    sg_sha256_of(question, strlen(question), c.key);
    return &c;
}

static const char *const texts[] = {"1 1:1 2:2 3:4\n-1 2:5\n1 3:7\n", "1 1:0.5 2:2 3:4\n-1 2:5\n1 3:7\n",
                                    "1 1:0.1 2:2 3:4\n-1 2:5\n1 3:7\n", "1 1:1 9:2\n-1 4:0.3\n1\n"};
static const char *const storage[] = {"integer", "float", "double", "CSR"};

static int same(const struct sg_matrix *a, const struct sg_matrix *b) {
    char left[65], right[65];
    sg_matrix_sha256(a, left);
    sg_matrix_sha256(b, right);
    return a->m == b->m && a->d == b->d && !a->i16 == !b->i16 && !a->f32 == !b->f32 && !a->f64 == !b->f64 &&
           memcmp(a->label, b->label, a->m * sizeof *a->label) == 0 && strcmp(left, right) == 0;
}

static void test_round_trip(void) {
    for (size_t i = 0; i < 4; i++) {
        struct sg_matrix a, b;
        char back[65];
        if (!ok(sg_libsvm_parse(&a, texts[i], strlen(texts[i]), 0, "t", &err) == SG_OK &&
                    sg_matrix_keep(&a, cache("a", "key"), sha256) &&
                    sg_matrix_map(&b, cache("a", "key"), back, &err) == SG_OK,
                "%s: saved and mapped", storage[i]))
            exit(tap_done());
        ok(same(&a, &b) && strcmp(back, sha256) == 0 && (size_t)b.label % 64 == 0, "%s: the same matrix comes back",
           storage[i]);
        ok(sg_matrix_map(&b, cache("a", "other"), back, &err) == SG_ERR_MISMATCH, "%s: refused under another key",
           storage[i]);
        sg_matrix_free(&a);
        sg_matrix_free(&b);
    }
    struct sg_matrix b;
    char back[65];
    ok(sg_matrix_map(&b, cache("none", "key"), back, &err) == SG_ERR_MISSING, "an absent cache is missing");
}

/* Each byte of the file changed by one bit, in turn another of the eight. Only the four bytes of the version, 8 to 11,
 * may make it a whole file of another version. */
static size_t count_accepted(char *bytes, size_t length) {
    size_t accepted = 0;
    for (size_t at = 0; at < length; at++) {
        struct sg_matrix b;
        char back[65], bit = (char)(1 << (at + at / 8) % 8);
        bytes[at] ^= bit;
        temporary_write("b", bytes, length);
        bytes[at] ^= bit;
        const sg_status status = sg_matrix_map(&b, cache("b", "key"), back, &err);
        accepted += status != (at / 4 == 2 ? SG_ERR_MISMATCH : SG_ERR_FORMAT);
        if (status == SG_OK)
            sg_matrix_free(&b);
    }
    return accepted;
}

/* Writes `bytes` with the checksum that belongs to them: what only the checks behind the checksum can find. */
static void write_sealed(char *bytes, size_t length) {
    char checksum[65];
    sg_cache_checksum(checksum, bytes, length);
    memcpy(bytes + SG_CACHE_CHECKSUM_AT, checksum, 64);
    temporary_write("b", bytes, length);
}

/* Lengths from nothing to too long, and positions that lead out of the arrays. */
static void test_corruption(void) {
    for (size_t i = 0; i < 4; i++) {
        struct sg_matrix a, b;
        char *bytes, back[65];
        size_t length, accepted = 0;
        if (sg_libsvm_parse(&a, texts[i], strlen(texts[i]), 0, "t", &err) != SG_OK ||
            !sg_matrix_keep(&a, cache("a", "key"), sha256) ||
            sg_file_read(&bytes, &length, temporary_path("a"), 1 << 20, &err) != SG_OK)
            exit(tap_done());
        ok(count_accepted(bytes, length) == 0, "%s: no flipped bit in any of %zu bytes is accepted", storage[i],
           length);
        for (size_t size = 0; size < length; size += size < 400 ? 50 : 13) {
            temporary_write("b", bytes, size);
            accepted += sg_matrix_map(&b, cache("b", "key"), back, &err) != SG_ERR_FORMAT;
        }
        char *longer = calloc(1, length + 1);
        memcpy(longer, bytes, length);
        temporary_write("b", longer, length + 1);
        accepted += sg_matrix_map(&b, cache("b", "key"), back, &err) != SG_ERR_FORMAT;
        ok(accepted == 0, "%s: only the exact size is accepted", storage[i]);
        if (a.csr_value) {
            size_t column = (size_t)((const char *)a.csr_column - (const char *)a.base);
            size_t start = (size_t)((const char *)a.csr_start - (const char *)a.base);
            bytes[column] = 9; /* d = 9: the first column that is none */
            write_sealed(bytes, length);
            accepted +=
                sg_matrix_map(&b, cache("b", "key"), back, &err) != SG_ERR_FORMAT || !strstr(err.msg, "row positions");
            bytes[column] = 0;
            bytes[start + 8] = 99;
            write_sealed(bytes, length);
            accepted +=
                sg_matrix_map(&b, cache("b", "key"), back, &err) != SG_ERR_FORMAT || !strstr(err.msg, "row positions");
            ok(accepted == 0, "CSR: positions out of range are refused");
        }
        free(longer);
        free(bytes);
        sg_matrix_free(&a);
    }
}

/* Several blocks, so that all threads take part. */
static void test_large(void) {
    struct sg_matrix a, b;
    struct sg_matrix_room room;
    char *bytes, back[65];
    size_t length;
    if (sg_matrix_allocate(&a, &room, SG_STORAGE_F32, 1000, 700, 0, &err) != SG_OK)
        exit(tap_done());
    for (size_t i = 0; i < 700000; i++)
        room.f32[i] = (float)i;
    ok(sg_matrix_keep(&a, cache("large", "key"), sha256) &&
           sg_matrix_map(&b, cache("large", "key"), back, &err) == SG_OK && same(&a, &b),
       "a matrix of several MiB comes back");
    sg_matrix_free(&a);
    sg_matrix_free(&b);
    if (sg_file_read(&bytes, &length, temporary_path("large"), 1 << 24, &err) != SG_OK)
        exit(tap_done());
    size_t accepted = 0;
    for (size_t at = 400; at < length; at += 200003) {
        bytes[at] ^= 4;
        temporary_write("b", bytes, length);
        bytes[at] ^= 4;
        accepted += sg_matrix_map(&b, cache("b", "key"), back, &err) != SG_ERR_FORMAT;
    }
    ok(accepted == 0, "a flipped bit in any block is found");
    free(bytes);
}

int main(void) {
    temporary_make();
    sg_sha256_of("text", 4, sha256);
    test_round_trip();
    test_corruption();
    test_large();
    return tap_done();
}
