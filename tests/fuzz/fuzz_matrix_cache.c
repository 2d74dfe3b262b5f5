/* A binary matrix from a hostile cache file. Every accepted CSR position is followed. The file's checksum would stop
 * a fuzzer at the door, so inputs are repaired first: byte 0 says whether to. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay.h"
#include "sg_cache.h"
#include "sg_matrix.h"

enum { PREFIX = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sg_cache cache = {.key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
    char path[64], sha256[65], checksum[65];
    struct sg_error err;
    struct sg_matrix a;
    if (size < PREFIX)
        return 0;
    size_t length = size - PREFIX;
    uint8_t *file = malloc(length + 1);
    int fd = memfd_create("fuzz", 0);
    if (!file || fd < 0)
        abort();
    memcpy(file, data + PREFIX, length);
    if (data[0] & 1 && length >= SG_CACHE_HEADER) {
        sg_cache_checksum(checksum, file, length);
        memcpy(file + SG_CACHE_CHECKSUM_AT, checksum, 64);
    }
    if (write(fd, file, length) != (ssize_t)length)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cache.path = path;
    if (sg_matrix_map(&a, &cache, sha256, &err) == SG_OK) {
        double sum = 0;
        for (size_t i = 0; i < a.m; i++)
            sum += a.label[i];
        for (size_t i = 0; i < a.m && !a.csr_start; i++)
            for (size_t j = 0; j < a.d; j++)
                sum += sg_matrix_dense_value(&a, i, j);
        for (size_t j = 0; a.csr_start && j < a.csr_start[a.m]; j++)
            sum += a.csr_column[j] < a.d ? a.csr_value[j] : (abort(), 0);
        volatile double sink = sum;
        (void)sink;
        sg_matrix_free(&a);
    }
    close(fd);
    free(file);
    return 0;
}
