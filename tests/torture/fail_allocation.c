/* Preloaded into a program: its FAIL_AT-th allocation fails. Says so by making the file FAIL_MARK, and at the end
 * writes the number of allocations into FAIL_COUNT. Those before main are not counted: they are of runtimes, and CUDA's
 * does not live through one that fails. */
/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static long count, fail_at = -2;
static int in_main;
static int (*own_main)(int argc, char **argv, char **environment);

static int begin(int argc, char **argv, char **environment) {
    in_main = 1;
    return own_main(argc, argv, environment);
}

typedef int start_fn(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                     void *);

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*end)(void), void *stack) {
    own_main = main;
    return ((start_fn *)dlsym(RTLD_NEXT, "__libc_start_main"))(begin, argc, argv, init, fini, end, stack);
}

static int fails(void) {
    if (!in_main)
        return 0;
    const long now = __sync_add_and_fetch(&count, 1);
    if (fail_at == -2) {
        const char *text = getenv("FAIL_AT");
        fail_at = text ? atol(text) : -1;
    }
    if (now != fail_at)
        return 0;
    const char *mark = getenv("FAIL_MARK");
    if (mark)
        close(open(mark, O_CREAT | O_WRONLY, 0644));
    return 1;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("FAIL_COUNT");
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", count);
    const int file = path ? open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644) : -1;
    if (file >= 0 && write(file, text, (size_t)length) != length)
        abort();
    if (file >= 0)
        close(file);
}
