/* Preloaded into a program: its FAIL_AT-th allocation fails. Says so by making the file FAIL_MARK, and at the end writes the
 * number of allocations into FAIL_COUNT. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static long count, fail_at = -2;

static int fails(void) {
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
