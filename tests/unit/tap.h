/* tap.h: unit tests that speak TAP. The plan is printed last, so a crash is a failure.
 *     int main(void) { ok(1 + 1 == 2, "sum"); return tap_done(); } */
/* SPDX-License-Identifier: MIT */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <stdlib.h>

static int tap_count, tap_failed;

#define ok(condition, ...) tap_result(!!(condition), __FILE__, __LINE__, __VA_ARGS__)
#define skip(...)          tap_skip(__VA_ARGS__)

__attribute__((format(printf, 4, 5), unused)) static int tap_result(int passed, const char *file, int line,
                                                                    const char *format, ...) {
    char name[512];
    __builtin_va_list args;
    __builtin_va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    __builtin_va_end(args);
    printf("%sok %d - %s\n", passed ? "" : "not ", ++tap_count, name);
    if (!passed) {
        tap_failed++;
        printf("#   at %s:%d\n", file, line);
    }
    fflush(stdout);
    return passed;
}

__attribute__((format(printf, 1, 2), unused)) static void tap_skip(const char *format, ...) {
    char why[512];
    __builtin_va_list args;
    __builtin_va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    __builtin_va_end(args);
    printf("ok %d # SKIP %s\n", ++tap_count, why);
}

/* A build with ZOO=0 lacks the rows of lib/zoo, and a test of one is left out there. */
#define no_zoo()      (!sg_compressor_find("gtopk"))
#define left_out(row) (no_zoo() && !(row))

/* For tests that need a GPU and have none, for this reason: a skip, or with SG_REQUIRE_GPU=1 a failure. */
__attribute__((unused)) static void tap_no_gpu(const char *why) {
    if (getenv("SG_REQUIRE_GPU") != NULL)
        tap_result(0, __FILE__, __LINE__, "a GPU is required: %s", why);
    else
        tap_skip("%s", why);
}

__attribute__((unused)) static int tap_done(void) {
    printf("1..%d\n", tap_count);
    if (fflush(stdout) != 0)
        return 1;
    return tap_failed ? 1 : 0;
}
#endif
