/* memory.c: memory that a program gets, or ends without. */
/* SPDX-License-Identifier: MIT */
#include "sg_memory.h"

#include <stdlib.h>
#include <string.h>

static void (*on_end)(void);

void sg_memory_on_end(void (*end)(void)) {
    on_end = end;
}

void sg_memory_end(void) {
    if (on_end)
        on_end();
    abort();
}

static void *needed(void *memory) {
    if (!memory)
        sg_memory_end();
    return memory;
}

void *sg_malloc(size_t bytes) {
    return needed(malloc(bytes));
}

void *sg_calloc(size_t count, size_t bytes) {
    return needed(calloc(count, bytes));
}

void *sg_realloc(void *memory, size_t bytes) {
    return needed(realloc(memory, bytes));
}

void *sg_aligned_alloc(size_t alignment, size_t bytes) {
    return needed(aligned_alloc(alignment, bytes));
}

char *sg_strdup(const char *text) {
    return needed(strdup(text));
}

char *sg_strndup(const char *text, size_t length) {
    return needed(strndup(text, length));
}

FILE *sg_memstream(char **text, size_t *size) {
    return needed(open_memstream(text, size));
}
