/* Every compressor of the table, tried in every way that lib/verify knows, on vectors of up to 2^20 + 1 elements. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_verify.h"
#include "tap.h"

#ifndef __has_feature
#define __has_feature(x) 0 /* gcc has no ThreadSanitizer that knows OpenMP */
#endif
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = __has_feature(thread_sanitizer) };
#endif

/* The longest vectors, of 2^20 + 1 elements, take minutes with a sanitizer and most of the time without one. Each push
 * has those that all threads share, and sanitizers the shortest that threads share at all; AddressSanitizer sees the
 * longest at night. */
static size_t longest(void) {
    const char *level = getenv("SPARSE_TEST_LEVEL");
    const bool push = level != NULL && strcmp(level, "all") == 0;
    const bool night = level != NULL && strcmp(level, "nightly") == 0 && !__has_feature(thread_sanitizer);
    if (SANITIZED && !night)
        return (1 << 16) + 3;
    return push ? (1 << 18) + 3 : SG_VERIFY_LONG;
}

int main(void) {
    const struct sg_compressor_ops *ops;
    struct sg_verdict verdict[SG_VERIFY_PROPERTIES];
    size_t applies[SG_VERIFY_PROPERTIES] = {0};
    sg_verify *v = sg_verify_open(longest());
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        ok(sg_compressor_find(ops->name) == ops && (ops->also == NULL || sg_compressor_find(ops->also) == ops),
           "%s is found by its names", ops->name);
        sg_verify_compressor(v, ops, verdict);
        for (int p = 0; p < SG_VERIFY_PROPERTIES; p++) {
            ok(!verdict[p].untested, "%s, %s: %s", ops->name, sg_verify_meaning[p].name, verdict[p].example);
            applies[p] += verdict[p].runs > 0;
            if (verdict[p].runs > 0)
                ok(verdict[p].failed == 0, "%s, %s: %zu of %zu runs fail%s%s", ops->name, sg_verify_meaning[p].name,
                   verdict[p].failed, verdict[p].runs, verdict[p].failed ? ": " : "", verdict[p].example);
        }
    }
    for (int p = 0; p < SG_VERIFY_PROPERTIES; p++)
        ok(applies[p] >= 3, "%s was tried of %zu compressors", sg_verify_meaning[p].name, applies[p]);
    sg_verify_close(v);
    return tap_done();
}
