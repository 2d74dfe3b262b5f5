/* flat.c: selections of one vector, and its entries as bytes, in calls without structs; and the library's version. */
/* SPDX-License-Identifier: MIT */
#include "sg_flat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "method_private.h"
#include "sg_wire.h"
#include "sparsegrad.h"

#define TEXT_OF(number) #number
#define AS_TEXT(number) TEXT_OF(number)
#define DOTTED(a, b, c) AS_TEXT(a) "." AS_TEXT(b) "." AS_TEXT(c)

const char *sg_library_version(void) {
    return DOTTED(SPARSEGRAD_MAJOR, SPARSEGRAD_MINOR, SPARSEGRAD_PATCH);
}

/* ---- processes that fork ---- */

/* A child of fork() has none of the threads that OpenMP keeps for its next parallel region, and would wait for them for
 * ever. */
static bool forked;

static void note_fork(void) {
    forked = true;
}

__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, note_fork); /* without memory for it, a child must not use threads */
}

int flat_threads(int threads) {
    return forked ? 1 : threads;
}

/* ---- selections ---- */

static sg_status check(size_t n, int threads, const struct sg_kernels *kernels, struct sg_error *err) {
    if (n > UINT32_MAX)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%zu elements: indices are 32 bits wide", n);
    if (threads < 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "%d threads: at least one works", threads);
    if (!kernels)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                       getenv("SG_CPU"));
    return SG_OK;
}

static sg_status status_of(int kernel_status, struct sg_error *err) {
    switch (kernel_status) {
    case SG_KERNEL_OK:
        return SG_OK;
    case SG_KERNEL_NONFINITE:
        return sg_fail(err, SG_ERR_NONFINITE, "the gradient or what error feedback adds to it is NaN or Inf");
    default:
        return sg_fail_memory(err, "selecting elements");
    }
}

sg_status sg_topk(const float *g, float *e, size_t n, size_t k, int threads, uint32_t *index, float *value,
                  struct sg_error *err) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    const struct sg_exec exec = {flat_threads(threads), NULL};
    const size_t offset[] = {0, n};
    size_t count;
    if (check(n, threads, kernels, err) != SG_OK)
        return err->status;
    if (k > n)
        return sg_fail(err, SG_ERR_ARGUMENT, "k = %zu of %zu elements", k, n);
    if (n == 0)
        return SG_OK;
    uint32_t *room = malloc(n * (sizeof *index + sizeof *value)); /* kernels write behind the k entries, too */
    if (!room)
        return sg_fail_memory(err, "selecting elements");
    const struct sg_select s = {&exec, 1, offset, g, e, 1, 1, room, (float *)(room + n), &count};
    const sg_status status = status_of(kernels->select_topk(&s, &k, NULL), err);
    if (status == SG_OK && k > 0) {
        memcpy(index, s.index, k * sizeof *index);
        memcpy(value, s.value, k * sizeof *value);
    }
    free(room);
    return status;
}

sg_status sg_hard_threshold(const float *g, float *e, size_t n, float lambda, int threads, uint32_t *index,
                            float *value, size_t *count, struct sg_error *err) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    const struct sg_exec exec = {flat_threads(threads), NULL};
    const size_t offset[] = {0, n};
    size_t found;
    if (check(n, threads, kernels, err) != SG_OK)
        return err->status;
    if (!(lambda >= 0))
        return sg_fail(err, SG_ERR_ARGUMENT, "lambda = %g is no number from 0 on", (double)lambda);
    const struct sg_select s = {&exec, 1, offset, g, e, 1, 1, index, value, &found};
    const sg_status status = status_of(kernels->select_threshold(&s, &lambda), err);
    if (status == SG_OK)
        *count = found;
    return status;
}

/* ---- bytes ---- */

size_t sg_encode_bound(size_t n, size_t count) {
    return sg_wire_bound(n, count, count * sizeof(float));
}

sg_status sg_encode(uint8_t *out, size_t capacity, size_t *bytes, size_t n, const uint32_t *index, const float *value,
                    size_t count, struct sg_error *err) {
    struct sg_wire_plan plan;
    const struct sg_message m = {
        .code = &sg_code_fp32, .n = n, .count = count, .index = index, .data = value, .bytes = count * sizeof *value};
    sg_status status = sg_wire_plan(&plan, NULL, &m, err);
    SG_DO(status, sg_wire_encode(out, capacity, &plan, err));
    if (status == SG_OK)
        *bytes = plan.bytes;
    return status;
}
