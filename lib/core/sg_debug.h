/* sg_debug.h: assertions of internal preconditions, and traces of a running program. Not installed.
 *
 * SG_ASSERT(condition) states a precondition of our own code or an invariant. It is active in builds with
 * -DSG_ASSERTS=1, that is in every MODE except release: if the condition is false, it prints file, line and condition,
 * and aborts. In other builds the condition is compiled but never evaluated, so it may be slow but must not have side
 * effects. Input from users, files or other ranks is never asserted; if it is wrong, the function returns an error.
 *
 * SG_TRACE(level, format, ...) prints one line to stderr where the build has -DSG_TRACE_LEVEL=N with N >= level (make
 * TRACE=N). Elsewhere it is compiled away, but its arguments are still checked against the format.
 *     level 1: once for each run or file; 2: for each step or cell; 3: for each message or layer */
/* SPDX-License-Identifier: MIT */
#ifndef SG_DEBUG_H
#define SG_DEBUG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sg_status.h"

#ifndef SG_ASSERTS
#define SG_ASSERTS 0
#endif
#ifndef SG_TRACE_LEVEL
#define SG_TRACE_LEVEL 0
#endif

#if SG_ASSERTS
#define SG_ASSERT(condition) ((condition) ? (void)0 : sg_assert_failed(__FILE__, __LINE__, __func__, #condition))
#else
#define SG_ASSERT(condition) ((void)(0 && (condition)))
#endif

#define SG_TRACE(level, ...) ((level) <= SG_TRACE_LEVEL ? sg_trace(__FILE__, __LINE__, __VA_ARGS__) : (void)0)

static inline void sg_assert_failed(const char *file, int line, const char *function, const char *condition) {
    fprintf(stderr, "%s:%d: %s: this does not hold: %s\n", file, line, function, condition);
    abort();
}

static inline void sg_trace(const char *file, int line, const char *format, ...) SG_PRINTF(3, 4);
static inline void sg_trace(const char *file, int line, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s:%d: %s\n", file, line, text); /* one call, so that lines of threads do not mix */
}

/* ---- conditions that need a loop ---- */

/* Returns whether every index is below n and larger than the one before it. */
static inline bool sg_ascending_below(const uint32_t *index, size_t count, uint64_t n) {
    for (size_t j = 0; j < count; j++)
        if (index[j] >= n || (j > 0 && index[j] <= index[j - 1]))
            return false;
    return true;
}

/* Returns whether all numbers of x [n] are finite. */
static inline bool sg_all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0))
            return false;
    return true;
}

/* Returns whether offset [n_parts + 1] starts at 0 and never descends. */
static inline bool sg_are_offsets(const size_t *offset, size_t n_parts) {
    if (offset[0] != 0)
        return false;
    for (size_t l = 0; l < n_parts; l++)
        if (offset[l + 1] < offset[l])
            return false;
    return true;
}

#endif
